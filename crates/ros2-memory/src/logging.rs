//! Logs on standard error: standard output belongs to answers and to MCP.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::cli::LogFormat;

/// What is logged when `RUST_LOG` does not say: the MCP library reports each notification.
const SERVER_FILTER: &str = "info,rmcp=error";
/// Commands that end by themselves say what they did on their own.
const COMMAND_FILTER: &str = "warn";

pub(crate) fn start(format: LogFormat, is_server: bool) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_unset| {
        EnvFilter::new(if is_server { SERVER_FILTER } else { COMMAND_FILTER })
    });
    let is_json = match format {
        LogFormat::Json => true,
        LogFormat::Pretty => false,
        LogFormat::Auto => !stderr().is_terminal(),
    };
    let registry = tracing_subscriber::registry().with(filter);
    if is_json {
        let layer = fmt::layer().json().flatten_event(true).with_writer(stderr);
        registry.with(layer).init();
    } else {
        let has_colour = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        registry.with(fmt::layer().with_ansi(has_colour).with_writer(stderr)).init();
    }
}
