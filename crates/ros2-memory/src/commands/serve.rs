use std::time::Duration;

use anyhow::Context;
use ros2_memory_config::{Loaded, Transport};
use ros2_memory_query::Memory;
use ros2_memory_server::{Settings, bind, serve_http, serve_stdio};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{cli::ServeArgs, exit::Outcome, progress::say, setup};

/// However a stream hangs, the process is gone this long after it was told to end.
const END_WITHIN: Duration = Duration::from_secs(4);

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<Outcome> {
    let loaded = setup::load(&args.config, &args.transport, &[])?;
    let memory = setup::open(&loaded, true)?;
    serve(&loaded, memory)
}

/// Serves until the peer or a signal ends it.
pub(crate) fn serve(loaded: &Loaded, memory: Memory) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("server")
        .build()
        .context("cannot start the server's threads")?;
    let outcome = runtime.block_on(serve_until_signal(loaded, memory));
    // Standard input may be read by a thread that nothing wakes: do not wait for it.
    runtime.shutdown_background();
    outcome.map(|()| Outcome::Well)
}

async fn serve_until_signal(loaded: &Loaded, memory: Memory) -> anyhow::Result<()> {
    let server = &loaded.config.server;
    let settings = Settings {
        time_limit: loaded.query_settings().time_limit,
        reply_bytes: server.reply_bytes,
        max_sessions: server.max_sessions,
        allowed_hosts: server.allowed_hosts.clone(),
        host: server.host,
        port: server.port,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let shutdown = CancellationToken::new();
    let serving = async {
        match server.transport {
            Transport::Stdio => serve_stdio(memory, settings, shutdown.clone()).await,
            Transport::Http => {
                let listener = bind(&settings).await?;
                say(&format!(
                    "serving {} at http://{}:{}  (/mcp, /sse, /api/v1, /healthz, /metrics)",
                    loaded.config.recording.bag_dir.display(),
                    settings.host,
                    settings.port
                ));
                serve_http(memory, settings, listener, shutdown.clone()).await
            }
        }
    };
    tokio::pin!(serving);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        outcome = &mut serving => return outcome.map_err(Into::into),
        _ = terminate.recv() => tracing::info!("told to end by SIGTERM"),
        _ = interrupt.recv() => tracing::info!("told to end by SIGINT"),
    }
    shutdown.cancel();
    match tokio::time::timeout(END_WITHIN, serving).await {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(_late) => {
            tracing::warn!("a stream did not end in time and was cut");
            Ok(())
        }
    }
}
