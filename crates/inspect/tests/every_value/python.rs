//! A Python that has the other readers, in an environment that is kept between runs.

use std::{
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

/// Why there are no other readers.
pub(crate) enum Missing {
    /// No interpreter.
    Python(String),
    /// No environments in this Python, or nowhere to install from.
    Readers(String),
}

/// The interpreter of the environment, which is made when it is not there or for other
/// requirements.
pub(crate) fn interpreter(requirements: &Path) -> Result<PathBuf, Missing> {
    let version = Command::new("python3").arg("-VV").output();
    let version = version.map_err(|error| Missing::Python(format!("no python3: {error}")))?;
    let mut wanted = fs::read(requirements).unwrap();
    wanted.extend(version.stdout);

    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let home = kept.join("python-readers");
    // One run installs; others that are started meanwhile wait and find it done.
    let lock = File::create(kept.join("python-readers.lock")).unwrap();
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
        return Err(Missing::Readers(format!("python3 makes no environments: {}", words(&made))));
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    let installed = run(pip.args(["--retries", "2", "-r"]).arg(requirements));
    if !installed.status.success() {
        let why = words(&installed);
        let is_unreachable = UNREACHABLE.iter().any(|sign| why.contains(sign));
        assert!(is_unreachable, "{} cannot be installed: {why}", requirements.display());
        return Err(Missing::Readers(why));
    }
    fs::write(made_for, wanted).unwrap();
    Ok(python)
}

pub(crate) fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().expect("the command runs")
}

pub(crate) fn words(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}
