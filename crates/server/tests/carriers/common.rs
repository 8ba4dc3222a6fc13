//! A memory that is none, a server over it, and just enough HTTP to ask it.

use std::{
    borrow::Cow,
    net::SocketAddr,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ros2_memory_query::{CallContext, ErrorCode, Metric, Progress, Reply};
use ros2_memory_server::{Port, ServerError, Settings, ToolListing, bind, serve_http};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// What no step of a test may take.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// A memory whose tools show what the carriers do with them.
#[derive(Clone, Default)]
pub(crate) struct FakePort(Arc<Counts>);

#[derive(Default)]
pub(crate) struct Counts {
    /// Slow calls and streams that are running.
    pub(crate) running: AtomicUsize,
    /// Those that were told to stop.
    pub(crate) stopped: AtomicUsize,
    /// Samples that were handed over.
    pub(crate) samples: AtomicUsize,
}

impl FakePort {
    pub(crate) fn counts(&self) -> &Counts {
        &self.0
    }

    pub(crate) async fn until_running(&self, running: usize) {
        until(|| self.0.running.load(Ordering::SeqCst) == running).await;
    }

    /// Works until it is told to stop, or `steps` of 10 ms are done.
    fn slow(&self, steps: u64, context: &CallContext) -> Reply {
        self.0.running.fetch_add(1, Ordering::SeqCst);
        let mut done = 0;
        while done < steps && !context.should_stop() {
            std::thread::sleep(Duration::from_millis(10));
            done += 1;
            if let Some(progress) = &context.progress {
                progress(Progress { done, total: steps });
            }
        }
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        if done == steps {
            return Reply::answer(json!({"steps": done}));
        }
        self.0.stopped.fetch_add(1, Ordering::SeqCst);
        Reply::error(ErrorCode::Timeout, &format!("{done} of {steps} steps"), None)
    }
}

pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < SOON, "it does not come to hold");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn listing(name: &'static str, required: &[&str]) -> ToolListing {
    let schema = json!({"type": "object", "properties": {}, "required": required});
    ToolListing {
        name: Cow::Borrowed(name),
        title: Cow::Owned(name.to_uppercase()),
        description: Cow::Borrowed("For tests"),
        input_schema: schema.as_object().unwrap().clone(),
    }
}

/// How many tools the port has.
pub(crate) const N_TOOLS: usize = 6;

impl Port for FakePort {
    fn tools(&self) -> Vec<ToolListing> {
        vec![
            listing("list", &[]),
            listing("echo", &["text"]),
            listing("slow", &["steps"]),
            listing("fail", &["code"]),
            listing("panic", &["really"]),
            listing("memory_card", &[]),
        ]
    }

    fn instructions(&self) -> Cow<'static, str> {
        Cow::Borrowed("Ask with echo")
    }

    fn call(&self, tool: &str, arguments: Map<String, Value>, context: &CallContext) -> Reply {
        match tool {
            "list" => Reply::answer(json!(["a", "b"])),
            "memory_card" => Reply::answer(json!({"topics": 3})),
            "echo" => Reply::answer(Value::Object(arguments)),
            "slow" => self.slow(arguments["steps"].as_u64().unwrap(), context),
            "fail" => match arguments["code"].as_str() {
                Some("no_data") => Reply::error(ErrorCode::NoData, "nothing there", None),
                Some("busy") => Reply::error(ErrorCode::Busy, "too many", None),
                Some("unknown_topic") => Reply::error(ErrorCode::UnknownTopic, "none", None),
                _ => Reply::error(ErrorCode::BadArgument, "no such code", Some("no_data")),
            },
            _ => panic!("as asked"),
        }
    }

    fn stream_samples(
        &self,
        arguments: Map<String, Value>,
        context: &CallContext,
        sink: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Reply {
        let topic = arguments["topic"].as_str().unwrap();
        if topic == "/unknown" {
            return Reply::error(ErrorCode::UnknownTopic, "no bag holds it", None);
        }
        self.0.running.fetch_add(1, Ordering::SeqCst);
        let max = arguments.get("max_samples").and_then(Value::as_u64).unwrap_or(u64::MAX);
        for index in 0..max {
            if topic == "/slow" {
                std::thread::sleep(Duration::from_millis(10));
            }
            let sample = json!({"index": index, "arguments": arguments});
            if context.should_stop() || sink(sample).is_break() {
                self.0.stopped.fetch_add(1, Ordering::SeqCst);
                break;
            }
            self.0.samples.fetch_add(1, Ordering::SeqCst);
        }
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        if topic == "/breaks" {
            return Reply::error(ErrorCode::DecodeFailed, "offset 7", None);
        }
        Reply::answer(Value::Null)
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric { name: "bags", help: "Bags that are known", is_counter: false, value: 3.0 },
            Metric {
                name: "damaged_total",
                help: "Chunks that failed",
                is_counter: true,
                value: 2.0,
            },
        ]
    }

    fn is_indexing(&self) -> bool {
        true
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        port: 0,
        allowed_hosts: vec!["robot.local".into()],
        version: "1.2.3".into(),
        ..Settings::default()
    }
}

/// A server over HTTP.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) port: FakePort,
    pub(crate) shutdown: CancellationToken,
    pub(crate) serving: JoinHandle<Result<(), ServerError>>,
}

impl Server {
    pub(crate) async fn start(settings: Settings) -> Self {
        let port = FakePort::default();
        let listener = bind(&settings).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(serve_http(port.clone(), settings, listener, shutdown.clone()));
        Self { address, port, shutdown, serving }
    }

    /// How long the server takes to end.
    pub(crate) async fn stop(self) -> Duration {
        let started = Instant::now();
        self.shutdown.cancel();
        timeout(SOON, self.serving).await.unwrap().unwrap().unwrap();
        started.elapsed()
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], b"").await
    }

    pub(crate) async fn post_json(&self, path: &str, body: &str) -> Response {
        self.send("POST", path, &[("content-type", "application/json")], body.as_bytes()).await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let mut open = self.open(method, path, headers, body).await;
        let mut body = Vec::new();
        timeout(SOON, open.input.read_to_end(&mut body)).await.unwrap().unwrap();
        if open.header("transfer-encoding").is_some() {
            body = unchunked(&body);
        }
        open.body = String::from_utf8(body).unwrap();
        open
    }

    /// Sends a request and reads the head of its answer; the body stays to be read.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let own = self.address.to_string();
        let length = body.len().to_string();
        let mut lines = vec![format!("{method} {path} HTTP/1.1")];
        let is_host_given = headers.iter().any(|(name, _)| *name == "host");
        let own_host = (!is_host_given).then_some(("host", own.as_str()));
        let ours = [("connection", "close"), ("content-length", length.as_str())];
        let all = headers.iter().chain(&ours).copied().chain(own_host);
        lines.extend(all.map(|(name, value)| format!("{name}: {value}")));
        let head = lines.join("\r\n") + "\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        // A server that refuses before it has read the whole body may close it.
        socket.write_all(body).await.ok();
        Response::read(BufReader::new(socket)).await
    }

    /// The value of one line of `/metrics`.
    pub(crate) async fn metric(&self, line: &str) -> String {
        let text = self.get("/metrics").await.body;
        let found = text.lines().find_map(|of| of.strip_prefix(line)?.strip_prefix(' '));
        found.unwrap_or("absent").to_owned()
    }
}

/// An answer; the body, unless it was read whole, is still to come.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    input: BufReader<TcpStream>,
}

impl Response {
    async fn read(mut input: BufReader<TcpStream>) -> Self {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            timeout(SOON, input.read_line(&mut line)).await.unwrap().unwrap();
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_owned()),
            }
        }
        let status = head.first().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        let headers = head.iter().skip(1).filter_map(|line| line.split_once(": "));
        Self {
            status: status.parse().unwrap(),
            headers: headers.map(|(k, v)| (k.to_ascii_lowercase(), v.to_owned())).collect(),
            body: String::new(),
            input,
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|(of, value)| (of == name).then_some(value.as_str()))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The next line of the body that is more than a chunk's size; `None` at the end.
    pub(crate) async fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            let read = timeout(SOON, self.input.read_line(&mut line)).await.expect("a line");
            // A connection that is cut off ends the body too.
            if read.unwrap_or(0) == 0 {
                return None;
            }
            let line = line.trim_end();
            if !line.is_empty() && !line.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Some(line.to_owned());
            }
        }
    }

    /// The data of the next event that has any; `None` at the end.
    pub(crate) async fn event(&mut self) -> Option<String> {
        loop {
            if let Some(data) = self.line().await?.strip_prefix("data:")
                && !data.trim().is_empty()
            {
                return Some(data.trim().to_owned());
            }
        }
    }

    /// The next event as a message.
    pub(crate) async fn message(&mut self) -> Value {
        serde_json::from_str(&self.event().await.expect("an event")).unwrap()
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        body = &body[end + 2..];
        whole.extend_from_slice(&body[..size]);
        body = &body[size + 2..];
        if size == 0 {
            break;
        }
    }
    whole
}

pub(crate) fn initialize(id: u64, revision: &str) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "initialize",
        "params": {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        },
    })
    .to_string()
}

pub(crate) fn initialized() -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()
}

pub(crate) fn request(id: u64, method: &str, params: impl Into<Value>) -> String {
    let params = params.into();
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

pub(crate) fn call(id: u64, tool: &str, arguments: impl Into<Value>) -> String {
    let arguments = arguments.into();
    request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

pub(crate) fn cancelled(id: u64) -> String {
    json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": id, "reason": "test"},
    })
    .to_string()
}
