//! Pythons that have other people's packages, to compare with.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// What pip says when it cannot reach an index, in contrast to one that lacks a package.
const UNREACHABLE: &[&str] = &[
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "NameResolutionError",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "Connection refused",
    "Connection reset",
];

/// The interpreter of the environment `name`, which has what `requirements` lists: made in the
/// folder `kept` when it is not there or for others, and kept between runs.
///
/// Without Python, or without an index to install from, it says on standard output that the test
/// is skipped, and returns `None`.
///
/// # Panics
///
/// When an index is there and lacks a package, and, where `CI` is set and there is a Python, when
/// the packages cannot be installed.
#[expect(clippy::print_stdout, reason = "what a test skips")]
pub fn environment(name: &str, requirements: &Path, kept: &Path) -> Option<PathBuf> {
    match interpreter(name, requirements, kept) {
        Ok(python) => Some(python),
        Err(Missing::Python(why)) => {
            println!("skipped: {why}");
            None
        }
        Err(Missing::Packages(why)) => {
            assert!(env::var_os("CI").is_none(), "{name} cannot be installed: {why}");
            println!("skipped: {name} cannot be installed: {why}");
            None
        }
    }
}

/// Why there is nothing to compare with.
enum Missing {
    /// No interpreter.
    Python(String),
    /// No environments in this Python, or nowhere to install from.
    Packages(String),
}

#[expect(clippy::unwrap_used, reason = "a folder of tests that can be written to")]
fn interpreter(name: &str, requirements: &Path, kept: &Path) -> Result<PathBuf, Missing> {
    let version = Command::new("python3").arg("-VV").output();
    let version = version.map_err(|error| Missing::Python(format!("no python3: {error}")))?;
    let mut wanted = fs::read(requirements).unwrap();
    wanted.extend(version.stdout);

    let home = kept.join(name);
    // One run installs; others that are started meanwhile wait and find it done.
    let lock = File::create(kept.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let made_for = home.join("made-for.txt");
    let python = home.join("bin/python");
    if fs::read(&made_for).is_ok_and(|made_for| made_for == wanted) && python.exists() {
        return Ok(python);
    }
    if home.exists() {
        fs::remove_dir_all(&home).unwrap();
    }
    let made = run(Command::new("python3").args(["-m", "venv"]).arg(&home));
    if !made.status.success() {
        return Err(Missing::Packages(format!("python3 makes no environments: {}", words(&made))));
    }
    let options = ["--quiet", "--disable-pip-version-check", "--retries", "2", "-r"];
    let installed =
        run(Command::new(&python).args(["-m", "pip", "install"]).args(options).arg(requirements));
    if !installed.status.success() {
        let why = words(&installed);
        let is_unreachable = UNREACHABLE.iter().any(|sign| why.contains(sign));
        assert!(is_unreachable, "{} cannot be installed: {why}", requirements.display());
        return Err(Missing::Packages(why));
    }
    fs::write(made_for, wanted).unwrap();
    Ok(python)
}

/// Runs a command to its end, with nothing to read.
///
/// # Panics
///
/// When there is no such program.
#[expect(clippy::expect_used, reason = "a test names programs that are there")]
pub fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().expect("the command runs")
}

/// What a command said, on both outputs.
pub fn words(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}
