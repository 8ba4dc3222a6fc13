//! Bodies that are too large or too slow, and peers that stall.

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::common::{SOON, Server, settings};

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn a_body_over_the_limit_gets_413_on_every_route() {
    let server = Server::start(settings()).await;
    let text = "x".repeat(5 << 20);
    let body = json!({"text": text}).to_string();
    for route in ["/mcp", "/messages/?session_id=1", "/api/v1/tools/echo", "/healthz", "/nope"] {
        let answer = server.send("POST", route, &[JSON], body.as_bytes()).await;
        assert_eq!(answer.status, 413, "{route}");
        assert_eq!(answer.json()["error"], "too_large");
    }
    let expecting = [JSON, ("expect", "100-continue")];
    let answer = server.send("POST", "/mcp", &expecting, body.as_bytes()).await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn a_body_at_the_limit_is_taken() {
    let server = Server::start(settings()).await;
    let mut body = json!({"text": "x".repeat((4 << 20) - 11)}).to_string();
    assert_eq!(body.len(), 4 << 20);
    assert_eq!(server.post_json("/api/v1/tools/echo", &body).await.status, 200);
    body.push(' ');
    assert_eq!(server.post_json("/api/v1/tools/echo", &body).await.status, 413);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_is_cut_off() {
    let server = Server::start(settings()).await;
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let (mut output, mut input) = socket.split();
    let trickle = async {
        // The paused clock runs ahead, so this is 100 s to the server and none to the test.
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if input.write_all(b"x").await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        read = output.read_to_end(&mut answer) => drop(read),
        () = trickle => {}
    }
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_stream_does_not_hold_up_the_end() {
    let server = Server::start(settings()).await;
    let _unread = server.open("GET", "/api/v1/topics/fast/samples", &[], b"").await;
    server.port.until_running(1).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let port = server.port.clone();
    let took = server.stop().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    port.until_running(0).await;
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_the_server_goes_on() {
    let server = Server::start(settings()).await;
    for bytes in [&b"\x16\x03\x01\x02\x00"[..], b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nhost\r\n\r\n"] {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        socket.write_all(bytes).await.unwrap();
        socket.shutdown().await.unwrap();
        let mut answer = Vec::new();
        timeout(SOON, socket.read_to_end(&mut answer)).await.unwrap().unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    assert_eq!(server.get("/healthz").await.status, 200);
}
