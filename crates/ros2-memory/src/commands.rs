//! The commands, one file each.

mod cat;
mod config;
mod demo;
mod doctor;
mod index;
mod info;
mod query;
mod serve;

use std::io::{BufWriter, StdoutLock, stdout};

use crate::{cli::Command, exit::Outcome};

pub(crate) fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Serve(args) => serve::run(&args),
        Command::Index(args) => index::run(&args),
        Command::Query(args) => query::run(args),
        Command::Info(args) => info::run(&args),
        Command::Cat(args) => cat::run(args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Config(args) => config::run(args.command),
        Command::Demo(args) => demo::run(args),
    }
}

/// Standard output, written in large pieces.
fn output() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(stdout().lock())
}

/// Writes to standard output; a reader that has closed the pipe is no failure.
fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = output();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
