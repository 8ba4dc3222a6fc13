//! MCP over a pair of pipes, which are in-memory ones here.

use std::time::{Duration, Instant};

use crate::common::{FakePort, SOON, call, cancelled, initialize, initialized, request, settings};
use ros2_memory_server::{ServerError, serve_lines};
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
    },
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

struct Pipes {
    port: FakePort,
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), ServerError>>,
}

impl Pipes {
    fn start() -> Self {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (output, input) = tokio::io::split(near);
        let (far_input, far_output) = tokio::io::split(far);
        let port = FakePort::default();
        let shutdown = CancellationToken::new();
        let serving =
            serve_lines(port.clone(), settings(), far_input, far_output, shutdown.clone());
        let serving = tokio::spawn(serving);
        Self { port, input, output: BufReader::new(output), shutdown, serving }
    }

    /// A session that is initialized.
    async fn session(revision: &str) -> Self {
        let mut pipes = Self::start();
        pipes.send(&initialize(0, revision)).await;
        let reply = pipes.message().await;
        assert_eq!(reply["result"]["protocolVersion"], revision, "{reply}");
        pipes.send(&initialized()).await;
        pipes
    }

    async fn send(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn message(&mut self) -> Value {
        let mut line = String::new();
        timeout(SOON, self.output.read_line(&mut line)).await.expect("a line").unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Ends the input and gives everything that is still written, and how long that took.
    async fn end(mut self) -> (Vec<Value>, Duration) {
        let started = Instant::now();
        self.input.shutdown().await.unwrap();
        timeout(SOON, self.serving).await.expect("an end").unwrap().unwrap();
        let took = started.elapsed();
        let mut rest = String::new();
        drop(self.input);
        timeout(SOON, self.output.read_to_string(&mut rest)).await.unwrap().unwrap();
        (rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), took)
    }
}

#[tokio::test]
async fn the_server_says_who_it_is_and_what_it_has() {
    let mut pipes = Pipes::start();
    pipes.send(&initialize(1, "2025-06-18")).await;
    let result = pipes.message().await["result"].clone();
    assert_eq!(result["serverInfo"]["name"], "episodic");
    assert_eq!(result["serverInfo"]["version"], "1.2.3");
    assert_eq!(result["instructions"], "Ask with echo");
    assert_eq!(result["capabilities"], json!({"resources": {}, "tools": {}}));
}

#[tokio::test]
async fn tools_are_listed_in_order_and_marked_harmless() {
    let mut pipes = Pipes::session("2025-11-25").await;
    pipes.send(&request(1, "tools/list", json!({}))).await;
    let reply = pipes.message().await;
    let tools = reply["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["list", "echo", "slow", "fail", "panic", "memory_card"]);
    for tool in tools {
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], true);
        assert_eq!(hints["idempotentHint"], true);
        assert_eq!(hints["destructiveHint"], false);
        assert_eq!(hints["openWorldHint"], false);
        assert_eq!(hints["title"], tool["title"]);
        assert_eq!(tool["inputSchema"]["type"], "object");
    }
}

#[tokio::test]
async fn what_the_memory_holds_is_a_resource() {
    let mut pipes = Pipes::session("2025-11-25").await;
    pipes.send(&request(1, "resources/list", json!({}))).await;
    let reply = pipes.message().await;
    let resources = reply["result"]["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 1, "{reply}");
    assert_eq!(resources[0]["uri"], "episodic://card");
    assert_eq!(resources[0]["mimeType"], "application/json");
    pipes.send(&request(2, "resources/read", json!({"uri": "episodic://card"}))).await;
    let reply = pipes.message().await;
    let contents = &reply["result"]["contents"][0];
    assert_eq!(contents["text"], r#"{"topics":3}"#, "{reply}");
    pipes.send(&request(3, "resources/read", json!({"uri": "file:///etc/passwd"}))).await;
    let reply = pipes.message().await;
    assert!(reply["error"]["message"].as_str().unwrap().contains("unknown resource"), "{reply}");
}

#[tokio::test]
async fn a_reply_is_one_compact_text_block_and_structured_where_allowed() {
    for (revision, structured) in
        [("2024-11-05", false), ("2025-03-26", false), ("2025-06-18", true), ("2025-11-25", true)]
    {
        let mut pipes = Pipes::session(revision).await;
        pipes.send(&call(1, "echo", json!({"text": "hi\nthere"}))).await;
        let result = pipes.message().await["result"].clone();
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        assert_eq!(result["content"][0]["text"], r#"{"text":"hi\nthere"}"#);
        assert_eq!(result["isError"], false);
        assert_eq!(result.get("structuredContent").is_some(), structured, "{revision}");

        pipes.send(&call(2, "list", json!({}))).await;
        let result = pipes.message().await["result"].clone();
        assert_eq!(result["content"][0]["text"], r#"["a","b"]"#);
        assert_eq!(result.get("structuredContent"), None, "{revision}");
    }
}

#[tokio::test]
async fn a_peer_without_a_handshake_gets_arrays_structured() {
    let mut pipes = Pipes::start();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "list", "arguments": {}, "_meta": meta});
    pipes.send(&request(1, "tools/call", params)).await;
    let result = pipes.message().await["result"].clone();
    assert_eq!(result["structuredContent"], json!(["a", "b"]));
}

#[tokio::test]
async fn faults_are_error_results_and_absence_is_not() {
    let mut pipes = Pipes::session("2025-11-25").await;
    for (id, code, is_error) in [(1, "no_data", false), (2, "other", true)] {
        pipes.send(&call(id, "fail", json!({"code": code}))).await;
        let result = pipes.message().await["result"].clone();
        assert_eq!(result["isError"], is_error, "{code}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(r#""error":"#));
    }
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error_that_names_it() {
    let mut pipes = Pipes::session("2025-11-25").await;
    pipes.send(&call(1, "nope", json!({}))).await;
    let error = pipes.message().await["error"].clone();
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("nope"), "{error}");
}

#[tokio::test]
async fn a_panic_ends_one_call_and_no_more() {
    let mut pipes = Pipes::session("2025-11-25").await;
    pipes.send(&call(1, "panic", json!({}))).await;
    let result = pipes.message().await["result"].clone();
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("internal"));
    pipes.send(&call(2, "list", json!({}))).await;
    assert_eq!(pipes.message().await["id"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_grows_and_ends_before_the_answer() {
    let mut pipes = Pipes::session("2025-11-25").await;
    let params = json!({
        "name": "slow", "arguments": {"steps": 10}, "_meta": {"progressToken": "p1"},
    });
    pipes.send(&request(1, "tools/call", params)).await;
    let mut last = 0.0;
    let mut seen = 0;
    loop {
        let message = pipes.message().await;
        if message["id"] == 1 {
            break;
        }
        let params = &message["params"];
        assert_eq!(message["method"], "notifications/progress");
        assert_eq!(params["progressToken"], "p1");
        assert_eq!(params["total"], 10.0);
        let progress = params["progress"].as_f64().unwrap();
        assert!(progress > last, "{progress} after {last}");
        last = progress;
        seen += 1;
    }
    assert!(seen >= 5, "{seen} of 10");
    assert!((last - 10.0).abs() < f64::EPSILON);
    let (rest, _) = pipes.end().await;
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_stops_the_work_within_a_second() {
    let mut pipes = Pipes::session("2025-11-25").await;
    pipes.send(&call(1, "slow", json!({"steps": 2000}))).await;
    pipes.port.until_running(1).await;
    let started = Instant::now();
    pipes.send(&cancelled(1)).await;
    pipes.port.until_running(0).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    pipes.send(&call(2, "list", json!({}))).await;
    assert_eq!(pipes.message().await["id"], 2, "a cancelled request is not answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_over_the_bound_wait_and_cheap_ones_pass_them() {
    let mut pipes = Pipes::session("2025-11-25").await;
    for id in 1..=20 {
        pipes.send(&call(id, "slow", json!({"steps": 100}))).await;
    }
    pipes.port.until_running(8).await;
    let started = Instant::now();
    pipes.send(&call(99, "list", json!({}))).await;
    assert_eq!(pipes.message().await["id"], 99);
    assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
    for _ in 1..=20 {
        let reply = pipes.message().await;
        assert_eq!(reply["result"]["structuredContent"]["steps"], 100, "{reply}");
    }
}

#[tokio::test]
async fn too_many_requests_are_told_so() {
    let mut pipes = Pipes::session("2025-11-25").await;
    for id in 1..=70 {
        pipes.send(&call(id, "slow", json!({"steps": 20}))).await;
    }
    let mut busy = 0;
    for _ in 1..=70 {
        let reply = pipes.message().await;
        if let Some(text) = reply["error"]["message"].as_str() {
            assert!(text.starts_with("busy"), "{text}");
            busy += 1;
        }
    }
    assert!(busy >= 1, "none of 70 was refused");
}

#[tokio::test]
async fn a_line_over_the_limit_is_an_error_and_the_next_one_works() {
    let mut pipes = Pipes::session("2025-11-25").await;
    let part = vec![b'x'; 1 << 20];
    for _ in 0..5 {
        pipes.input.write_all(&part).await.unwrap();
    }
    pipes.send("").await;
    let error = pipes.message().await;
    assert_eq!(error["error"]["code"], -32600, "{error}");
    pipes.send(&call(1, "list", json!({}))).await;
    assert_eq!(pipes.message().await["id"], 1);
}

#[tokio::test]
async fn what_is_no_message_is_an_error_and_the_next_one_works() {
    let mut pipes = Pipes::session("2025-11-25").await;
    let deep = "[".repeat(10_000);
    let cases = [
        ("no json", -32700),
        ("{\"jsonrpc\":\"2.0\",", -32700),
        (deep.as_str(), -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600),
        (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, -32600),
    ];
    for (line, code) in cases {
        pipes.send(line).await;
        let reply = pipes.message().await;
        assert_eq!(reply["error"]["code"], code, "{reply}");
    }
    pipes.input.write_all(b"\xff\xfe\n\r\n\n").await.unwrap();
    assert_eq!(pipes.message().await["error"]["code"], -32700);
    pipes.send(r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{}}"#).await;
    pipes.send(&call(1, "list", json!({}))).await;
    assert_eq!(pipes.message().await["id"], 1);
}

#[tokio::test]
async fn requests_before_the_end_of_the_input_are_answered_first() {
    let mut pipes = Pipes::session("2025-11-25").await;
    for id in 1..=10 {
        pipes.send(&call(id, "echo", json!({"text": "x"}))).await;
    }
    // The last line lacks its newline.
    let last = call(11, "slow", json!({"steps": 20}));
    pipes.input.write_all(last.as_bytes()).await.unwrap();
    let (replies, took) = pipes.end().await;
    let mut ids: Vec<_> = replies.iter().map(|reply| reply["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=11).collect::<Vec<_>>());
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn a_long_call_does_not_keep_the_server_after_the_input_ended() {
    let mut pipes = Pipes::session("2025-11-25").await;
    pipes.send(&call(1, "slow", json!({"steps": 2000}))).await;
    pipes.port.until_running(1).await;
    let port = pipes.port.clone();
    let (replies, took) = pipes.end().await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(replies[0]["result"]["content"][0]["text"].as_str().unwrap().contains("timeout"));
    port.until_running(0).await;
}

#[tokio::test]
async fn an_input_that_is_empty_ends_well() {
    let (replies, took) = Pipes::start().end().await;
    assert!(replies.is_empty());
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[tokio::test]
async fn shutdown_ends_a_session_that_waits_and_one_that_works() {
    for steps in [0, 2000] {
        let mut pipes = Pipes::session("2025-11-25").await;
        if steps > 0 {
            pipes.send(&call(1, "slow", json!({"steps": steps}))).await;
            pipes.port.until_running(1).await;
        }
        let started = Instant::now();
        pipes.shutdown.cancel();
        timeout(SOON, pipes.serving).await.expect("an end").unwrap().unwrap();
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        pipes.port.until_running(0).await;
    }
}
