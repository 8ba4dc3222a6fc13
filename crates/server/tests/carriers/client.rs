//! The server as `rmcp`'s own client sees it.

use crate::common::{FakePort, N_TOOLS, settings};
use rmcp::{ServiceExt, model::CallToolRequestParams};
use ros2_memory_server::serve_lines;
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn the_sdk_client_lists_and_calls() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(far);
    let shutdown = CancellationToken::new();
    let serving =
        tokio::spawn(serve_lines(FakePort::default(), settings(), input, output, shutdown));

    let client = ().serve(near).await.unwrap();
    assert_eq!(client.peer_info().unwrap().server_info.as_ref().unwrap().name, "episodic");
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), N_TOOLS);
    let arguments = json!({"text": "hi"}).as_object().unwrap().clone();
    let result = client
        .call_tool(CallToolRequestParams::new("echo").with_arguments(arguments))
        .await
        .unwrap();
    assert_eq!(result.structured_content, Some(json!({"text": "hi"})));
    assert!(client.call_tool(CallToolRequestParams::new("nope")).await.is_err());

    client.cancel().await.unwrap();
    serving.await.unwrap().unwrap();
}
