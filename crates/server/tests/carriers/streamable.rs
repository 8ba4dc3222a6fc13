//! Streamable HTTP at `/mcp`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{
    N_TOOLS, Response, Server, call, cancelled, initialize, initialized, request, settings,
};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

/// Opens a session; gives its id.
async fn session(server: &Server) -> String {
    let body = initialize(0, "2025-06-18");
    let mut answer = server.open("POST", "/mcp", &[ACCEPT, JSON], body.as_bytes()).await;
    assert_eq!(answer.status, 200);
    let id = answer.header("mcp-session-id").expect("a session id").to_owned();
    assert_eq!(answer.message().await["result"]["serverInfo"]["name"], "episodic");
    assert_eq!(post(server, &id, &initialized()).await.status, 202);
    id
}

async fn post(server: &Server, session: &str, body: &str) -> Response {
    let headers = [ACCEPT, JSON, ("mcp-session-id", session)];
    server.open("POST", "/mcp", &headers, body.as_bytes()).await
}

/// Posts a request of revision 2026-07-28, which has no sessions.
async fn post_alone(server: &Server, id: u64, tool: &str, arguments: Value) -> Response {
    let params = json!({
        "name": tool,
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let headers = [
        ACCEPT,
        JSON,
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    server.open("POST", "/mcp", &headers, request(id, "tools/call", params).as_bytes()).await
}

#[tokio::test]
async fn a_session_lists_and_calls_and_outlives_its_stream() {
    let server = Server::start(settings()).await;
    let id = session(&server).await;
    let listen = [("accept", "text/event-stream"), ("mcp-session-id", id.as_str())];
    let stream = server.open("GET", "/mcp", &listen, b"").await;
    assert_eq!(stream.status, 200);
    drop(stream);
    for request_id in [1, 2] {
        let list = request(request_id, "tools/list", json!({}));
        let reply = post(&server, &id, &list).await.message().await;
        assert_eq!(reply["result"]["tools"].as_array().unwrap().len(), N_TOOLS);
    }
    let reply = post(&server, &id, &call(3, "echo", json!({"text": "x"}))).await.message().await;
    assert_eq!(reply["result"]["structuredContent"], json!({"text": "x"}));
}

#[tokio::test]
async fn a_request_without_a_session_stands_alone() {
    let server = Server::start(settings()).await;
    let mut answer = post_alone(&server, 1, "list", json!({})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("mcp-session-id"), None);
    assert_eq!(answer.message().await["result"]["structuredContent"], json!(["a", "b"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_and_leaving_stop_the_work_within_a_second() {
    let server = Server::start(settings()).await;
    let id = session(&server).await;
    let _answer = post(&server, &id, &call(1, "slow", json!({"steps": 2000}))).await;
    server.port.until_running(1).await;
    let started = Instant::now();
    assert_eq!(post(&server, &id, &cancelled(1)).await.status, 202);
    server.port.until_running(0).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());

    let _answer = post(&server, &id, &call(2, "slow", json!({"steps": 2000}))).await;
    server.port.until_running(1).await;
    let started = Instant::now();
    let headers = [("mcp-session-id", id.as_str())];
    assert_eq!(server.send("DELETE", "/mcp", &headers, b"").await.status, 202);
    server.port.until_running(0).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());

    // Without a session nobody can come back for the answer.
    let address = server.address;
    let asking = {
        let server = Server { address, ..Server::start(settings()).await };
        tokio::spawn(async move { post_alone(&server, 3, "slow", json!({"steps": 2000})).await })
    };
    server.port.until_running(1).await;
    let started = Instant::now();
    asking.abort();
    server.port.until_running(0).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn progress_arrives_before_the_answer_on_the_same_stream() {
    let server = Server::start(settings()).await;
    let id = session(&server).await;
    let params = json!({"name": "slow", "arguments": {"steps": 5}, "_meta": {"progressToken": 9}});
    let mut stream = post(&server, &id, &request(1, "tools/call", params)).await;
    let first = stream.message().await;
    assert_eq!(first["method"], "notifications/progress", "{first}");
    let mut last = first;
    while last["id"] != 1 {
        last = stream.message().await;
    }
    assert_eq!(last["result"]["structuredContent"]["steps"], 5);
}

#[tokio::test]
async fn sessions_over_the_cap_get_503_until_one_ends() {
    let server =
        Server::start(ros2_memory_server::Settings { max_sessions: 2, ..settings() }).await;
    let first = session(&server).await;
    let _second = session(&server).await;
    assert_eq!(server.metric(r#"ros2_memory_sessions{carrier="mcp"}"#).await, "2");
    let body = initialize(0, "2025-06-18");
    let refused = server.send("POST", "/mcp", &[ACCEPT, JSON], body.as_bytes()).await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["error"], "busy");
    // What needs no session is answered still.
    assert_eq!(post_alone(&server, 1, "list", json!({})).await.status, 200);

    let headers = [("mcp-session-id", first.as_str())];
    assert_eq!(server.send("DELETE", "/mcp", &headers, b"").await.status, 202);
    assert_eq!(post(&server, &first, &request(1, "ping", json!({}))).await.status, 404);
    session(&server).await;
}

#[tokio::test]
async fn a_session_that_did_not_come_about_keeps_no_place() {
    let server = Server::start(settings()).await;
    for body in ["{", "[]", &request(1, "tools/list", json!({})), &initialized()] {
        let answer = server.send("POST", "/mcp", &[ACCEPT, JSON], body.as_bytes()).await;
        assert!((400..500).contains(&answer.status), "{body}: {}", answer.status);
    }
    assert_eq!(server.metric(r#"ros2_memory_sessions{carrier="mcp"}"#).await, "0");
}

#[tokio::test]
async fn a_malformed_body_is_a_bad_request_and_a_wrong_type_is_not() {
    let server = Server::start(settings()).await;
    let id = session(&server).await;
    for body in ["", "{", "null", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#] {
        assert_eq!(post(&server, &id, body).await.status, 400, "{body}");
    }
    let headers = [ACCEPT, ("content-type", "text/plain"), ("mcp-session-id", id.as_str())];
    let ping = request(1, "ping", json!({}));
    assert_eq!(server.send("POST", "/mcp", &headers, ping.as_bytes()).await.status, 415);
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_ends_open_streams() {
    let server = Server::start(settings()).await;
    let id = session(&server).await;
    let listen = [("accept", "text/event-stream"), ("mcp-session-id", id.as_str())];
    let mut stream = server.open("GET", "/mcp", &listen, b"").await;
    let _working = post(&server, &id, &call(1, "slow", json!({"steps": 2000}))).await;
    server.port.until_running(1).await;
    let port = server.port.clone();
    let took = server.stop().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    port.until_running(0).await;
    while stream.line().await.is_some() {}
}
