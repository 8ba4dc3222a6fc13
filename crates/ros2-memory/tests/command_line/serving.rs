use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{demo, program};

/// A server that is ended with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = program(&["serve", "--transport", "http", "--port", &port.to_string()])
            .args(["--bag-dir", demo(), "-o", "recorder=none"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(20), "the server did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// The status line and body of one request.
    fn ask(&self, method: &str, path: &str, body: &str) -> (String, String) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        );
        let mut answer = String::new();
        self.send(&request).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }

    fn terminate(&mut self) -> Duration {
        let started = Instant::now();
        let pid = self.child.id().to_string();
        assert!(
            std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success()
        );
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0));
        started.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn http_answers_tools_samples_health_and_metrics() {
    let server = Server::start();
    let (status, body) =
        server.ask("POST", "/api/v1/tools/get_position_seconds_ago", r#"{"seconds_ago": 5}"#);
    assert_eq!(status, "HTTP/1.1 200 OK");
    let reply: Value = serde_json::from_str(body.trim()).unwrap();
    assert!(reply["x"].is_f64(), "{reply}");
    let (status, _) = server.ask("POST", "/api/v1/tools/get_position_at", "{}");
    assert_eq!(status, "HTTP/1.1 400 Bad Request");
    let (status, body) = server.ask("GET", "/healthz", "");
    assert!(status.ends_with("200 OK") && body.contains("version"), "{body}");
    let (status, body) = server.ask("GET", "/metrics", "");
    assert!(status.ends_with("200 OK") && body.contains("ros2_memory_bags 12"), "{body}");
    let (status, body) =
        server.ask("GET", "/api/v1/topics/odom/samples?start=-10s&end=now&max_samples=7", "");
    assert!(status.ends_with("200 OK"), "{status}");
    let samples = body.lines().filter(|line| line.contains("timestamp_ns")).count();
    assert_eq!(samples, 7, "{body}");
}

#[test]
fn it_ends_within_five_seconds_of_sigterm_with_streams_open() {
    let mut server = Server::start();
    let request = format!(
        "GET /sse HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: text/event-stream\r\n\r\n",
        server.port
    );
    let stream = server.send(&request);
    let mut lines = BufReader::new(&stream).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("data: /messages")));
    let took = server.terminate();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn on_stdio_every_line_is_json_rpc_and_the_end_of_input_ends_it() {
    let mut child = program(&["serve", "--bag-dir", demo(), "-o", "recorder=none"])
        .env("RUST_LOG", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"data_time_range","arguments":{}}}"#;
    writeln!(input, "{hello}\n{ready}\n{call}").unwrap();
    let started = Instant::now();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(output.status.code(), Some(0));
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.iter().all(|line| line["jsonrpc"] == "2.0"));
    assert_eq!(lines[0]["result"]["serverInfo"]["name"], "episodic");
    let answer = lines.iter().find(|line| line["id"] == 2).unwrap();
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("earliest"));
}
