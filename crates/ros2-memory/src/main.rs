//! `ros2-memory`: a robot's episodic memory.
//!
//! This binary parses the command line, wires the crates together, sets up logging and decides
//! exit codes. It holds no logic of its own.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod exit;
mod logging;
mod progress;
mod setup;

use clap::Parser;

use crate::{cli::Cli, exit::Outcome};

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    logging::start(cli.log_format, cli.command.is_server());
    let outcome = commands::run(cli.command);
    if let Err(error) = &outcome {
        progress::say(&format!("error: {error:#}"));
    }
    outcome.unwrap_or_else(|error| Outcome::of_error(&error)).into()
}
