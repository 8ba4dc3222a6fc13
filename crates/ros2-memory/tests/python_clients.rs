//! Python's own MCP client, in both of its major versions, gets right answers to every tool over
//! every transport. `clients/mcp_clients.py` asks and checks; this runs it.
//!
//! Each version lives in a virtual environment that is kept between runs. Without Python, or
//! without a package index to install from, the tests say so and pass; where `CI` is set and
//! there is a Python, they fail instead.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests, and what they skip"
)]

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use ros2_memory_testkit::python::{environment, run, words};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ros2-memory");
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");

/// How long a server may take until it answers.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// How long all questions of one client may take. The client gives up before.
const ASKED_WITHIN: Duration = Duration::from_secs(900);

#[test]
fn the_first_major_version_gets_right_answers_over_every_transport() {
    gets_right_answers(1, &[]);
}

#[test]
fn the_second_major_version_gets_right_answers_over_every_transport() {
    gets_right_answers(2, &[]);
}

#[test]
fn a_client_without_handshake_gets_right_answers_over_every_transport() {
    gets_right_answers(2, &["--newest"]);
}

fn gets_right_answers(major: u32, options: &[&str]) {
    let requirements = Path::new(CLIENTS).join(format!("requirements-{major}.txt"));
    let name = format!("python-clients-{major}");
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(python) = environment(&name, &requirements, kept) else { return };
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("history");
    write_history(&history);
    let server = Server::start(&history);
    let asking = Command::new(&python)
        .arg(Path::new(CLIENTS).join("mcp_clients.py"))
        .args(["--server", PROGRAM, "--url", &server.url(), "--dir"])
        .arg(&history)
        .args(options)
        .current_dir(folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // The questions go to this machine, whatever the way out of it is.
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::null())
        .stdout(File::create(folder.path().join("out")).unwrap())
        .stderr(File::create(folder.path().join("err")).unwrap())
        .spawn()
        .map(Guard)
        .expect("the interpreter of the environment runs");
    let is_right = ends_well(asking);
    let said = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    println!("{}", said("out"));
    assert!(is_right, "a client was not answered right, see above; it said:\n{}", said("err"));
}

/// Twenty minutes of a robot, the same in every run.
fn write_history(history: &Path) {
    let made = run(program()
        .args(["demo", "--write-only", "--hours", "0.333334", "--seed", "7"])
        .args(["--start", "2026-03-01T08:00:00Z", "--dir"])
        .arg(history));
    assert!(made.status.success(), "{}", words(&made));
}

/// A server on a port of its own, ended when dropped.
struct Server {
    port: u16,
    _running: Guard,
}

impl Server {
    fn start(history: &Path) -> Self {
        // Another program may take the port between its choice and its use.
        (0..5).find_map(|_| Self::try_start(history)).expect("one of five ports stays free")
    }

    fn try_start(history: &Path) -> Option<Self> {
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let child = program()
            .args(["serve", "--transport", "http", "--port", &port.to_string()])
            .args(["-o", "recorder=none", "--bag-dir"])
            .arg(history)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut running = Guard(child);
        let start = Instant::now();
        while running.0.try_wait().unwrap().is_none() {
            if is_healthy(port) {
                return Some(Self { port, _running: running });
            }
            assert!(start.elapsed() < STARTS_WITHIN, "the server does not answer on port {port}");
            sleep(Duration::from_millis(50));
        }
        None
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn is_healthy(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let request =
        format!("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    let mut reply = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut reply).is_ok()
        && reply.starts_with("HTTP/1.1 200")
}

/// A process that does not outlive the test.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // It may have ended by itself.
        if self.0.kill().is_ok() && self.0.wait().is_err() {
            println!("process {} cannot be waited for", self.0.id());
        }
    }
}

fn ends_well(mut process: Guard) -> bool {
    let start = Instant::now();
    loop {
        if let Some(status) = process.0.try_wait().unwrap() {
            return status.success();
        }
        assert!(start.elapsed() < ASKED_WITHIN, "the client does not end");
        sleep(Duration::from_millis(100));
    }
}

/// The program, without what the caller's environment says of it.
fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    for variable in [
        "MCP_TRANSPORT",
        "MCP_PORT",
        "MEMORY_BAG_DIR",
        "MEMORY_CONFIG_OVERRIDES",
        "MEMORY_DEPLOYMENT",
    ] {
        command.env_remove(variable);
    }
    command
}
