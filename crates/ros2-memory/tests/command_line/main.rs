//! The program from outside: help, exit codes, what goes to which stream, and how it ends.

#![cfg(test)]

mod help;
mod outcomes;
mod serving;

use std::{
    path::Path,
    process::{Command, Output},
    sync::OnceLock,
};

/// A command of the program that no configuration or environment of this machine reaches.
fn program(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ros2-memory"));
    command.args(words).current_dir(env!("CARGO_TARGET_TMPDIR"));
    for variable in [
        "MCP_TRANSPORT",
        "MCP_PORT",
        "MEMORY_BAG_DIR",
        "MEMORY_CONFIG_OVERRIDES",
        "MEMORY_DEPLOYMENT",
        "ROS_VISION_INTERFACES_PATH",
        "RUST_LOG",
    ] {
        command.env_remove(variable);
    }
    command
}

fn run(words: &[&str]) -> Output {
    program(words).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Two minutes of history that all tests share.
fn demo() -> &'static str {
    static DEMO: OnceLock<(tempfile::TempDir, String)> = OnceLock::new();
    let (_, path) = DEMO.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("demo").to_str().unwrap().to_owned();
        let two_minutes = ["--hours", "0.0334", "--start", "2026-11-30T10:00:00Z"];
        let output = program(&["demo", "--write-only", "--dir", &dir]).args(two_minutes).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        (folder, dir)
    });
    path
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}
