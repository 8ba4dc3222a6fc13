//! The older HTTP+SSE pair, `/sse` and `/messages`.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{
    N_TOOLS, Response, Server, call, cancelled, initialize, initialized, request, settings, until,
};

/// Opens a stream; gives it with the path to post to.
async fn open(server: &Server) -> (Response, String) {
    let mut stream = server.open("GET", "/sse", &[], b"").await;
    assert_eq!(stream.status, 200);
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_eq!(stream.header("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    assert_eq!(stream.line().await.as_deref(), Some("event: endpoint"));
    let endpoint = stream.event().await.unwrap();
    (stream, endpoint)
}

/// Opens a stream and initializes its session.
async fn session(server: &Server) -> (Response, String) {
    let (mut stream, endpoint) = open(server).await;
    assert_eq!(server.post_json(&endpoint, &initialize(0, "2024-11-05")).await.status, 202);
    assert_eq!(stream.message().await["result"]["serverInfo"]["name"], "episodic");
    assert_eq!(server.post_json(&endpoint, &initialized()).await.status, 202);
    (stream, endpoint)
}

#[tokio::test]
async fn a_session_lists_and_calls() {
    let server = Server::start(settings()).await;
    let (mut stream, endpoint) = session(&server).await;
    assert!(endpoint.starts_with("/messages/?session_id="), "{endpoint}");
    server.post_json(&endpoint, &request(1, "tools/list", json!({}))).await;
    assert_eq!(stream.message().await["result"]["tools"].as_array().unwrap().len(), N_TOOLS);
    // A carriage return or a line separator must not end an event.
    let text = "a\r\nb\u{2028}c";
    server.post_json(&endpoint, &call(2, "echo", json!({"text": text}))).await;
    let reply = stream.message().await;
    let echoed = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(echoed).unwrap(), json!({"text": text}));
}

#[tokio::test]
async fn a_session_id_is_taken_in_every_spelling() {
    let server = Server::start(settings()).await;
    let (mut stream, endpoint) = session(&server).await;
    let id = endpoint.rsplit_once('=').unwrap().1;
    assert_eq!(id.len(), 32, "{id}");
    let dashed =
        format!("{}-{}-{}-{}-{}", &id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]);
    let mut next = 1;
    for path in ["/messages", "/messages/"] {
        for name in ["session_id", "sessionId"] {
            for id in [id, dashed.as_str(), &id.to_uppercase()] {
                let target = format!("{path}?{name}={id}");
                let ping = request(next, "ping", json!({}));
                assert_eq!(server.post_json(&target, &ping).await.status, 202, "{target}");
                assert_eq!(stream.message().await["id"], next);
                next += 1;
            }
        }
    }
}

#[tokio::test]
async fn wrong_posts_are_refused_and_the_session_goes_on() {
    let server = Server::start(settings()).await;
    let (mut stream, endpoint) = session(&server).await;
    let ping = request(1, "ping", json!({}));
    assert_eq!(server.post_json("/messages/", &ping).await.status, 400);
    assert_eq!(server.post_json("/messages/?session_id=nope", &ping).await.status, 400);
    let other = "/messages/?session_id=00000000000000000000000000000000";
    assert_eq!(server.post_json(other, &ping).await.status, 404);
    for body in ["", "{", "[]", "null", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#] {
        assert_eq!(server.post_json(&endpoint, body).await.status, 400, "{body}");
    }
    let deep = "[".repeat(10_000);
    assert_eq!(server.post_json(&endpoint, &deep).await.status, 400);
    let form = [("content-type", "text/plain")];
    assert_eq!(server.send("POST", &endpoint, &form, ping.as_bytes()).await.status, 415);
    assert_eq!(server.post_json(&endpoint, &ping).await.status, 202);
    assert_eq!(stream.message().await["id"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_and_leaving_stop_the_work_within_a_second() {
    let server = Server::start(settings()).await;
    let (stream, endpoint) = session(&server).await;
    server.post_json(&endpoint, &call(1, "slow", json!({"steps": 2000}))).await;
    server.port.until_running(1).await;
    let started = Instant::now();
    server.post_json(&endpoint, &cancelled(1)).await;
    server.port.until_running(0).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());

    server.post_json(&endpoint, &call(2, "slow", json!({"steps": 2000}))).await;
    server.port.until_running(1).await;
    let started = Instant::now();
    drop(stream);
    server.port.until_running(0).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(server.post_json(&endpoint, &cancelled(2)).await.status, 404);
}

#[tokio::test]
async fn progress_arrives_over_the_stream() {
    let server = Server::start(settings()).await;
    let (mut stream, endpoint) = session(&server).await;
    let params = json!({"name": "slow", "arguments": {"steps": 5}, "_meta": {"progressToken": 9}});
    server.post_json(&endpoint, &request(1, "tools/call", params)).await;
    let first = stream.message().await;
    assert_eq!(first["method"], "notifications/progress", "{first}");
    assert_eq!(first["params"]["progressToken"], 9);
}

#[tokio::test]
async fn sessions_over_the_cap_get_503_until_one_ends() {
    let server =
        Server::start(ros2_memory_server::Settings { max_sessions: 2, ..settings() }).await;
    let first = open(&server).await;
    let _second = open(&server).await;
    let refused = server.get("/sse").await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["error"], "busy");
    drop(first);
    let started = Instant::now();
    loop {
        let answer = server.open("GET", "/sse", &[], b"").await;
        if answer.status == 200 {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(1), "the place is not given back");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connecting_and_leaving_leaves_no_session() {
    let server = Server::start(settings()).await;
    let mut opened = 0;
    while opened < 300 {
        match server.open("GET", "/sse", &[], b"").await.status {
            200 => opened += 1,
            // Clients that leave faster than their sessions end come to the cap.
            status => assert_eq!(status, 503),
        }
    }
    let started = Instant::now();
    while server.metric(r#"ros2_memory_sessions{carrier="sse"}"#).await != "0" {
        assert!(started.elapsed() < Duration::from_secs(5), "sessions are left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let _stream = open(&server).await;
    assert_eq!(server.metric(r#"ros2_memory_sessions{carrier="sse"}"#).await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_loses_its_session() {
    let server = Server::start(settings()).await;
    let (stream, endpoint) = session(&server).await;
    let text = "x".repeat(500_000);
    let started = Instant::now();
    let mut id = 1;
    loop {
        let echo = call(id, "echo", json!({"text": text}));
        let status = server.post_json(&endpoint, &echo).await.status;
        if status == 404 {
            break;
        }
        assert!(status == 202 || status == 503, "{status}");
        assert!(started.elapsed() < Duration::from_secs(20), "it is served on and on");
        id += 1;
    }
    assert_eq!(server.metric(r#"ros2_memory_sessions{carrier="sse"}"#).await, "0");
    drop(stream);
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_ends_open_streams() {
    let server = Server::start(settings()).await;
    let (mut idle, _) = session(&server).await;
    let (mut working, endpoint) = session(&server).await;
    server.post_json(&endpoint, &call(1, "slow", json!({"steps": 2000}))).await;
    server.port.until_running(1).await;
    let port = server.port.clone();
    let took = server.stop().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    until(|| port.counts().running.load(std::sync::atomic::Ordering::SeqCst) == 0).await;
    assert_eq!(idle.event().await, None);
    while working.event().await.is_some() {}
}
