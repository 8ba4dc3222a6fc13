use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
        ResourceContents, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use ros2_memory_query::Reply;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    calls::{Caller, Calls, Carrier},
    port::ToolListing,
    relay::Relay,
};

/// The name by which clients know this server.
const NAME: &str = "episodic";

/// What this memory holds, as a resource: what the tool of that name answers.
const CARD: &str = "episodic://card";
const CARD_TOOL: &str = "memory_card";
const JSON: &str = "application/json";

/// The largest text that is given again as structured content.
const STRUCTURED_BYTES: usize = 4096;

/// One MCP session's view of the calls.
#[derive(Clone)]
pub(crate) struct Handler {
    calls: Arc<Calls>,
    carrier: Carrier,
    /// Cancelled when the session's connection ends; calls of the session stop then.
    connection: CancellationToken,
}

impl Handler {
    pub(crate) fn new(calls: Arc<Calls>, carrier: Carrier, connection: CancellationToken) -> Self {
        Self { calls, carrier, connection }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        Caller {
            carrier: self.carrier,
            request_id: context.id.to_string(),
            request: context.ct.clone(),
            connection: self.connection.clone(),
            progress: None,
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let version = self.calls.settings.version.clone();
        let server = Implementation::new(NAME, version).with_title("Episodic memory");
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let info = ServerConfig::new(capabilities).with_server_info(server);
        match self.calls.port().instructions() {
            instructions if instructions.is_empty() => info,
            instructions => info.with_instructions(instructions),
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        first_page(request, "tools")?;
        Ok(ListToolsResult::with_all_items(self.calls.tools().iter().map(tool).collect()))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        first_page(request, "resources")?;
        let card = self.calls.tool(CARD_TOOL).map(|tool| {
            Resource::new(CARD, CARD_TOOL)
                .with_title(tool.title.clone())
                .with_description(tool.description.clone())
                .with_mime_type(JSON)
        });
        Ok(ListResourcesResult::with_all_items(card.into_iter().collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let tool = self.calls.tool(CARD_TOOL).filter(|_| request.uri == CARD);
        let Some(tool) = tool else {
            let uri: String = request.uri.chars().take(128).collect();
            return Err(ErrorData::resource_not_found(format!("unknown resource: {uri}"), None));
        };
        let reply = self.calls.run(tool, Map::new(), self.caller(&context)).await;
        let text = ResourceContents::text(reply.value.to_string(), CARD).with_mime_type(JSON);
        Ok(ReadResourceResult::new(vec![text]).into())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.calls.tool(&request.name) else {
            // A name is at most 128 characters; what is longer is not worth repeating whole.
            let name: String = request.name.chars().take(128).collect();
            return Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None));
        };
        let revision = context.protocol_version();
        let (progress, relay) = match context.meta.get_progress_token() {
            Some(token) => {
                let (sink, relay) = Relay::new(context.peer.clone(), token);
                (Some(sink), Some(relay))
            }
            None => (None, None),
        };
        let caller = Caller { progress, ..self.caller(&context) };
        let answer = self.calls.run(tool, request.arguments.unwrap_or_default(), caller);
        let reply = match relay {
            Some(relay) => relay.along(answer).await,
            None => answer.await,
        };
        Ok(result(reply, revision.as_ref(), self.calls.settings.reply_bytes).into())
    }
}

fn tool(listing: &ToolListing) -> Tool {
    let annotations = ToolAnnotations::with_title(listing.title.clone())
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(listing.name.clone(), listing.description.clone(), listing.input_schema.clone())
        .with_title(listing.title.clone())
        .with_annotations(annotations)
}

/// The reply as one block of compact JSON, and as structured content where that is allowed.
fn result(reply: Reply, revision: Option<&ProtocolVersion>, reply_bytes: usize) -> CallToolResult {
    let text = reply.value.to_string();
    let is_small = text.len() <= STRUCTURED_BYTES && text.len().saturating_mul(2) <= reply_bytes;
    let is_error = reply.is_error_result();
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.is_error = Some(is_error);
    if is_small && takes_structured(revision, &reply.value) {
        result.structured_content = Some(reply.value);
    }
    result
}

/// Objects since 2025-06-18, any value since 2026-07-28.
fn takes_structured(revision: Option<&ProtocolVersion>, value: &Value) -> bool {
    // Revisions are dates, and sort as text.
    let since = if value.is_object() {
        ProtocolVersion::V_2025_06_18
    } else {
        ProtocolVersion::V_2026_07_28
    };
    revision.is_some_and(|revision| revision.as_str() >= since.as_str())
}

/// A list is one page: a cursor is none that we gave.
fn first_page(request: Option<PaginatedRequestParams>, what: &str) -> Result<(), ErrorData> {
    if request.is_some_and(|request| request.cursor.is_some()) {
        return Err(ErrorData::invalid_params(format!("all {what} are on the first page"), None));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ros2_memory_query::ErrorCode;
    use serde_json::json;

    use super::*;

    #[test]
    fn structured_content_follows_the_revision_and_the_kind() {
        let object = json!({"a": 1});
        let array = json!([1]);
        let cases = [
            (None, false, false),
            (Some(ProtocolVersion::V_2024_11_05), false, false),
            (Some(ProtocolVersion::V_2025_03_26), false, false),
            (Some(ProtocolVersion::V_2025_06_18), true, false),
            (Some(ProtocolVersion::V_2025_11_25), true, false),
            (Some(ProtocolVersion::V_2026_07_28), true, true),
        ];
        for (revision, objects, others) in cases {
            assert_eq!(takes_structured(revision.as_ref(), &object), objects, "{revision:?}");
            assert_eq!(takes_structured(revision.as_ref(), &array), others, "{revision:?}");
            assert_eq!(takes_structured(revision.as_ref(), &Value::Null), others, "{revision:?}");
        }
    }

    #[test]
    fn a_large_reply_is_given_once() {
        let revision = ProtocolVersion::V_2025_11_25;
        let object = |bytes: usize| Reply::answer(json!({"a": "x".repeat(bytes - 8)}));
        let structured =
            |reply, budget| result(reply, Some(&revision), budget).structured_content.is_some();
        assert!(structured(object(4096), 20_000));
        assert!(!structured(object(4097), 20_000));
        assert!(!structured(object(1000), 1999));
    }

    #[test]
    fn only_faults_are_error_results() {
        let of = |code| result(Reply::error(code, "d", None), None, 20_000).is_error;
        assert_eq!(of(ErrorCode::NoData), Some(false));
        assert_eq!(of(ErrorCode::Busy), Some(false));
        assert_eq!(of(ErrorCode::BadArgument), Some(true));
        assert_eq!(of(ErrorCode::Internal), Some(true));
    }
}
