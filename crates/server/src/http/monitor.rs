use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{Web, problem};
use crate::{calls::Carrier, metrics::CONTENT_TYPE};

pub(super) async fn health(State(web): State<Arc<Web>>) -> Json<Value> {
    Json(json!({
        "status": "ok",
        "version": web.calls.settings.version,
        "indexing": web.calls.port().is_indexing(),
    }))
}

pub(super) async fn metrics(State(web): State<Arc<Web>>) -> Response {
    let metrics = &web.calls.metrics;
    metrics.set_sessions(Carrier::Mcp.as_str(), web.mcp.open_sessions());
    metrics.set_sessions(Carrier::Sse.as_str(), web.sse.open());
    let calls = web.calls.clone();
    // The memory may have to look at its disk.
    match tokio::task::spawn_blocking(move || calls.metrics.render()).await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        _ => problem::response(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the metrics could not be written",
        ),
    }
}
