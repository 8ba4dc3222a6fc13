use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use ros2_memory_query::Reply;
use serde_json::json;

/// An error of the carrier itself, in the shape in which the tools give theirs.
pub(super) fn response(status: StatusCode, code: &str, detail: &str) -> Response {
    (status, Json(json!({"error": code, "detail": detail}))).into_response()
}

/// What a tool answered, with the status of its error.
pub(super) fn reply(reply: Reply) -> Response {
    let status = reply.error.map_or(200, ros2_memory_query::ErrorCode::http_status);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(reply.value)).into_response()
}
