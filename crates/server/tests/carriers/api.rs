//! The tools as plain HTTP, samples as lines, health and metrics.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::common::{N_TOOLS, Server, settings};

#[tokio::test]
async fn tools_are_listed_with_their_schemas() {
    let server = Server::start(settings()).await;
    let tools = server.get("/api/v1/tools").await.json();
    assert_eq!(tools.as_array().unwrap().len(), N_TOOLS);
    assert_eq!(tools[1]["name"], "echo");
    assert_eq!(tools[1]["input_schema"]["required"], json!(["text"]));
}

#[tokio::test]
async fn a_call_answers_with_the_tools_json_and_the_status_of_its_error() {
    let server = Server::start(settings()).await;
    let answer = server.post_json("/api/v1/tools/echo", r#"{"text":"x"}"#).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"text":"x"}"#));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    for (code, status) in
        [("no_data", 200), ("busy", 503), ("unknown_topic", 404), ("bad_argument", 400)]
    {
        let body = json!({"code": code}).to_string();
        let answer = server.post_json("/api/v1/tools/fail", &body).await;
        assert_eq!(answer.status, status, "{code}");
        assert_eq!(answer.json()["error"], code);
    }
    let answer = server.post_json("/api/v1/tools/panic", "{}").await;
    assert_eq!((answer.status, answer.json()["error"].clone()), (500, json!("internal")));
}

#[tokio::test]
async fn a_body_that_is_no_object_of_arguments_is_refused() {
    let server = Server::start(settings()).await;
    assert_eq!(server.send("POST", "/api/v1/tools/list", &[], b"").await.status, 200);
    for body in ["{", "[]", "1", "null", "\u{0}"] {
        assert_eq!(server.post_json("/api/v1/tools/echo", body).await.status, 400, "{body}");
    }
    assert_eq!(server.send("POST", "/api/v1/tools/echo", &[], b"{}").await.status, 415);
    assert_eq!(server.post_json("/api/v1/tools/nope", "{}").await.status, 404);
    assert_eq!(server.get("/api/v1/tools/list").await.status, 405);
    assert_eq!(server.get("/api/v1/nope").await.status, 404);
}

#[tokio::test]
async fn samples_are_lines_and_the_query_is_the_arguments() {
    let server = Server::start(settings()).await;
    let query = "start=1700000000.5&end=1700000000123456789&max_samples=2&note=-10s";
    for topic in ["vision/scene/scene_objects", "%2Fvision%2Fscene%2Fscene_objects"] {
        let answer = server.get(&format!("/api/v1/topics/{topic}/samples?{query}")).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        let lines: Vec<Value> =
            answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["index"], 1);
        let arguments = json!({
            "topic": "/vision/scene/scene_objects",
            "start": 1_700_000_000.5,
            "end": 1_700_000_000_123_456_789_u64,
            "max_samples": 2,
            "note": "-10s",
        });
        assert_eq!(lines[0]["arguments"], arguments);
    }
}

#[tokio::test]
async fn samples_that_cannot_be_read_have_a_status_or_a_last_line() {
    let server = Server::start(settings()).await;
    let answer = server.get("/api/v1/topics/unknown/samples").await;
    assert_eq!((answer.status, answer.json()["error"].clone()), (404, json!("unknown_topic")));
    let answer = server.get("/api/v1/topics/breaks/samples?max_samples=3").await;
    assert_eq!(answer.status, 200);
    let last = answer.body.lines().last().unwrap();
    assert_eq!(serde_json::from_str::<Value>(last).unwrap()["error"], "decode_failed");
    assert_eq!(answer.body.lines().count(), 4);
    assert_eq!(server.get("/api/v1/topics/a/samples?max_samples=0").await.body, "");
    assert_eq!(server.get("/api/v1/topics/a/samples?end=1&end=2").await.status, 400);
    assert_eq!(server.get("/api/v1/topics/a").await.status, 404);
    assert_eq!(server.get("/api/v1/topics/a%FF/samples").await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_come_as_they_are_read_and_a_client_that_leaves_stops_them() {
    let server = Server::start(settings()).await;
    let mut stream = server.open("GET", "/api/v1/topics/slow/samples", &[], b"").await;
    for index in 0..5 {
        let line: Value = serde_json::from_str(&stream.line().await.unwrap()).unwrap();
        assert_eq!(line["index"], index);
    }
    let counts = server.port.counts();
    assert_eq!(counts.running.load(Ordering::SeqCst), 1, "it is still reading");
    let started = Instant::now();
    drop(stream);
    server.port.until_running(0).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(counts.stopped.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_a_stream_no_longer_than_the_time_limit() {
    let limit = Duration::from_millis(500);
    let server =
        Server::start(ros2_memory_server::Settings { time_limit: limit, ..settings() }).await;
    let started = Instant::now();
    let _stream = server.open("GET", "/api/v1/topics/fast/samples", &[], b"").await;
    server.port.until_running(1).await;
    server.port.until_running(0).await;
    assert!(started.elapsed() < limit * 4, "{:?}", started.elapsed());
    let handed = server.port.counts().samples.load(Ordering::SeqCst);
    assert!(handed < 1_000_000, "{handed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_stops_its_call() {
    let server = Server::start(settings()).await;
    let asking = {
        let server = Server { address: server.address, ..Server::start(settings()).await };
        tokio::spawn(async move {
            server.post_json("/api/v1/tools/slow", r#"{"steps":2000}"#).await.status
        })
    };
    server.port.until_running(1).await;
    let started = Instant::now();
    asking.abort();
    server.port.until_running(0).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn health_says_version_and_whether_it_is_indexing() {
    let server = Server::start(settings()).await;
    let health = server.get("/healthz").await.json();
    assert_eq!(health, json!({"status": "ok", "version": "1.2.3", "indexing": true}));
}

#[tokio::test]
async fn metrics_count_calls_and_show_the_memorys_numbers() {
    let server = Server::start(settings()).await;
    server.post_json("/api/v1/tools/echo", "{}").await;
    server.post_json("/api/v1/tools/echo", "{}").await;
    server.post_json("/api/v1/tools/fail", r#"{"code":"no_data"}"#).await;
    let echo = r#"ros2_memory_calls_total{tool="echo",carrier="http",outcome="ok"}"#;
    assert_eq!(server.metric(echo).await, "2");
    let fail = r#"ros2_memory_calls_total{tool="fail",carrier="http",outcome="no_data"}"#;
    assert_eq!(server.metric(fail).await, "1");
    assert_eq!(server.metric(r#"ros2_memory_call_duration_seconds_count{tool="echo"}"#).await, "2");
    assert_eq!(server.metric("ros2_memory_bags").await, "3.0");
    assert_eq!(server.metric("ros2_memory_damaged_total").await, "2.0");
    let answer = server.get("/metrics").await;
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(answer.body.ends_with("# EOF\n"));
}
