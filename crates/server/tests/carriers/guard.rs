//! Who may ask: the `Host` and `Origin` headers on every route.

use crate::common::{Server, settings};

const ROUTES: [&str; 9] = [
    "/mcp",
    "/messages",
    "/messages/",
    "/api/v1/tools",
    "/api/v1/tools/list",
    "/api/v1/topics/a/samples?max_samples=1",
    "/healthz",
    "/metrics",
    "/no/such/route",
];

/// An open `/sse` stream never ends, so it is asked with methods that open none.
const SSE: &str = "/sse";

/// `Host`, `Origin` and whether they may ask. `*` stands for the server's own address.
const HEADERS: [(&str, Option<&str>, bool); 27] = [
    ("*", None, true),
    ("localhost", None, true),
    ("LOCALHOST:1", None, true),
    ("[::1]:9203", None, true),
    ("robot.local", None, true),
    ("Robot.Local:80", Some("https://robot.local"), true),
    ("*", Some("http://localhost:3000"), true),
    ("*", Some("HTTP://LocalHost"), true),
    ("*", Some("http://[::1]:5173"), true),
    ("evil.example", None, false),
    ("evil.example:9203", None, false),
    ("localhost.", None, false),
    ("localhost.evil.example", None, false),
    ("localhost:80@evil.example", None, false),
    ("user@localhost", None, false),
    ("127.0.0.1.", None, false),
    ("127.0.0.2", None, false),
    ("[::ffff:127.0.0.1]", None, false),
    ("[::]", None, false),
    ("0.0.0.0:9203", None, false),
    ("", None, false),
    ("*", Some("null"), false),
    ("*", Some("http://evil.example"), false),
    ("*", Some("http://localhost."), false),
    ("*", Some("http://localhost@evil.example"), false),
    ("*", Some("http://localhost.evil.example:9203"), false),
    ("evil.example", Some("http://localhost"), false),
];

#[tokio::test]
async fn foreign_hosts_and_origins_get_403_on_every_route_and_method() {
    let server = Server::start(settings()).await;
    let own = server.address.to_string();
    let mut asked = 0;
    for (host, origin, may_ask) in HEADERS {
        let host = if host == "*" { own.as_str() } else { host };
        let mut headers = vec![("host", host), ("content-type", "application/json")];
        headers.extend(origin.map(|origin| ("origin", origin)));
        let mut targets: Vec<_> = ROUTES
            .into_iter()
            .flat_map(|route| ["GET", "POST", "DELETE", "OPTIONS"].map(|method| (method, route)))
            .collect();
        targets.extend(["POST", "DELETE", "OPTIONS"].map(|method| (method, SSE)));
        if !may_ask {
            targets.push(("GET", SSE));
        }
        for (method, route) in targets {
            let answer = server.send(method, route, &headers, b"").await;
            let what = format!("{method} {route} host {host} origin {origin:?}");
            assert_eq!(answer.status != 403, may_ask, "{what}: {}", answer.status);
            assert!(
                !answer.headers.iter().any(|(name, _)| name.starts_with("access-control")),
                "{what}"
            );
            asked += 1;
        }
    }
    assert!(asked > 1000, "{asked}");
}

#[tokio::test]
async fn a_host_or_origin_given_twice_is_foreign() {
    let server = Server::start(settings()).await;
    let twice = [("host", "localhost"), ("host", "localhost")];
    assert_eq!(server.send("GET", "/healthz", &twice, b"").await.status, 403);
    let twice = [("origin", "http://localhost"), ("origin", "http://localhost")];
    assert_eq!(server.send("GET", "/healthz", &twice, b"").await.status, 403);
}

#[tokio::test]
async fn a_foreign_name_in_the_request_target_counts() {
    let server = Server::start(settings()).await;
    let local = [("host", "localhost")];
    assert_eq!(server.send("GET", "http://evil.example/healthz", &local, b"").await.status, 403);
    assert_eq!(server.send("GET", "http://localhost/healthz", &local, b"").await.status, 200);
}
