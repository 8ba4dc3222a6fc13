use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio_stream::StreamExt;

use super::problem;

/// The largest body that is taken.
pub(super) const BODY_BYTES: usize = 4 << 20;

/// What is read and thrown away of a larger one, so that its sender gets to read the answer: it
/// would see a reset connection if it were still sending.
const DISCARDED_BYTES: u64 = 256 << 20;

/// How long a whole body may take.
const BODY_LIMIT: Duration = Duration::from_secs(30);

/// Reads a request's body before its route sees it: 413 over the limit, 408 for a slow one.
pub(super) async fn limit(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if asks_to_continue(&parts.headers) && announced(&parts.headers) > Some(BODY_BYTES as u64) {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match tokio::time::timeout(BODY_LIMIT, read(body)).await {
        Ok(Ok(body)) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Ok(Err(status)) => refuse(status),
        Err(_elapsed) => refuse(StatusCode::REQUEST_TIMEOUT),
    }
}

async fn read(body: Body) -> Result<Bytes, StatusCode> {
    let mut frames = body.into_data_stream();
    let mut whole = Vec::new();
    let mut discarded = 0_u64;
    while let Some(frame) = frames.next().await {
        let frame = frame.map_err(|error| {
            tracing::debug!(%error, "a request broke off");
            StatusCode::BAD_REQUEST
        })?;
        if discarded == 0 && whole.len() + frame.len() <= BODY_BYTES {
            whole.extend_from_slice(&frame);
            continue;
        }
        whole = Vec::new();
        discarded += frame.len() as u64;
        if discarded > DISCARDED_BYTES {
            break;
        }
    }
    if discarded > 0 { Err(StatusCode::PAYLOAD_TOO_LARGE) } else { Ok(whole.into()) }
}

fn asks_to_continue(headers: &HeaderMap) -> bool {
    headers
        .get(header::EXPECT)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn refuse(status: StatusCode) -> Response {
    let (code, detail) = match status {
        StatusCode::PAYLOAD_TOO_LARGE => ("too_large", "the body is larger than 4 MiB"),
        StatusCode::REQUEST_TIMEOUT => ("too_slow", "the body took longer than 30 s"),
        _ => ("bad_request", "the body broke off"),
    };
    let close = [(header::CONNECTION, "close")];
    (close, problem::response(status, code, detail)).into_response()
}
