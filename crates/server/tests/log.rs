//! The log line of a call. In a program of its own, because a subscriber is for a whole process.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    borrow::Cow,
    io,
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::Duration,
};

use ros2_memory_query::{CallContext, CallStats, Metric, Reply};
use ros2_memory_server::{Port, Settings, ToolListing, serve_lines};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

struct OneTool;

impl Port for OneTool {
    fn tools(&self) -> Vec<ToolListing> {
        vec![ToolListing {
            name: Cow::Borrowed("where"),
            title: Cow::Borrowed("Where"),
            description: Cow::Borrowed("For tests"),
            input_schema: Map::new(),
        }]
    }

    fn instructions(&self) -> Cow<'static, str> {
        Cow::Borrowed("")
    }

    fn call(&self, _tool: &str, _arguments: Map<String, Value>, _context: &CallContext) -> Reply {
        let stats = CallStats {
            duration: Duration::ZERO,
            bags_opened: 2,
            chunks_read: 3,
            messages_scanned: 4,
            ..CallStats::default()
        };
        Reply { stats, ..Reply::answer(Value::Null) }
    }

    fn stream_samples(
        &self,
        _arguments: Map<String, Value>,
        _context: &CallContext,
        _sink: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Reply {
        Reply::answer(Value::Null)
    }

    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn is_indexing(&self) -> bool {
        false
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_call_logs_once_what_it_cost_and_nothing_but_json_rpc_is_written() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .init();

    let (mut near, far) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(far);
    let shutdown = CancellationToken::new();
    let serving = serve_lines(OneTool, Settings::default(), input, output, shutdown);
    let serving = tokio::spawn(serving);
    let client = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    });
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "id": "q-7", "method": "tools/call", "params": {"name": "where"}}),
    ] {
        near.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    near.shutdown().await.unwrap();
    let mut output = String::new();
    near.read_to_string(&mut output).await.unwrap();
    serving.await.unwrap().unwrap();
    assert_eq!(output.lines().count(), 2);
    for line in output.lines() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["jsonrpc"], "2.0");
    }

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended: Vec<_> = events.filter(|event| event["fields"]["message"] == "call ended").collect();
    assert_eq!(ended.len(), 1);
    let (level, fields, span) = (&ended[0]["level"], &ended[0]["fields"], &ended[0]["span"]);
    assert_eq!(level, "INFO");
    assert_eq!(fields["outcome"], "ok");
    assert_eq!(fields["bags_opened"], 2);
    assert_eq!(fields["chunks_read"], 3);
    assert_eq!(fields["messages_scanned"], 4);
    assert!(fields["duration_ms"].is_u64());
    assert_eq!(span["name"], "call");
    assert_eq!(span["tool"], "where");
    assert_eq!(span["request_id"], "q-7");
    assert_eq!(span["transport"], "stdio");
}
