use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Number, Value, json};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;

use super::{Web, problem, until::Until};
use crate::calls::{Caller, Carrier, Line, Lines};

/// `GET /api/v1/tools`: every tool with the schema of its arguments.
pub(super) async fn tools(State(web): State<Arc<Web>>) -> Json<Value> {
    let tools = web.calls.tools().iter().map(|tool| {
        json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "input_schema": tool.input_schema,
        })
    });
    Json(Value::Array(tools.collect()))
}

/// `POST /api/v1/tools/{tool}`: a JSON object of arguments in, the tool's JSON out.
pub(super) async fn call(
    State(web): State<Arc<Web>>,
    Path(tool): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(tool) = web.calls.tool(&tool) else {
        let detail = "no such tool; GET /api/v1/tools lists them";
        return problem::response(StatusCode::NOT_FOUND, "not_found", detail);
    };
    let arguments = if body.is_empty() {
        Map::new()
    } else if !is_json(&headers) {
        return not_json();
    } else {
        match serde_json::from_slice(&body) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => return bad_argument("the body is no JSON object"),
            Err(error) => return bad_argument(&format!("the body is no JSON: {error}")),
        }
    };
    problem::reply(web.calls.run(tool, arguments, caller(&web)).await)
}

/// `GET /api/v1/topics/{topic}/samples`: one JSON line a sample, as they are read.
///
/// The topic is percent-encoded, or stands as it is without its first slash. The query gives the
/// other arguments of `get_topic_in_range`; what reads as a number is one.
pub(super) async fn samples(
    State(web): State<Arc<Web>>,
    Path(topic): Path<String>,
    Query(query): Query<Vec<(String, String)>>,
) -> Response {
    let Some(topic) = topic.strip_suffix("/samples") else { return super::no_route().await };
    let mut arguments = Map::new();
    let topic = format!("/{}", topic.trim_start_matches('/'));
    arguments.insert("topic".into(), Value::String(topic));
    for (name, text) in query {
        let value =
            serde_json::from_str::<Number>(&text).map_or(Value::String(text), Value::Number);
        if arguments.insert(name.clone(), value).is_some() {
            return bad_argument(&format!("{name} is given twice"));
        }
    }
    match web.calls.stream(arguments, caller(&web)).await {
        Ok(lines) => {
            let lines = Until::new(NdJson(lines), web.stop.clone(), ());
            let headers = [
                (header::CONTENT_TYPE, "application/x-ndjson"),
                (header::CACHE_CONTROL, "no-store, no-transform"),
            ];
            (headers, Body::from_stream(lines)).into_response()
        }
        Err(reply) => problem::reply(reply),
    }
}

fn caller(web: &Web) -> Caller {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Caller {
        carrier: Carrier::Http,
        request_id: NEXT.fetch_add(1, Ordering::Relaxed).to_string(),
        // A client that leaves drops the future, and that stops the call.
        request: CancellationToken::new(),
        connection: web.stop.clone(),
        progress: None,
    }
}

/// Whether a body says that it is JSON, which a page's form cannot.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

pub(super) fn not_json() -> Response {
    let detail = "the content type is not application/json";
    problem::response(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", detail)
}

fn bad_argument(detail: &str) -> Response {
    problem::response(StatusCode::BAD_REQUEST, "bad_argument", detail)
}

/// The lines with their ends.
struct NdJson(Lines);

impl Stream for NdJson {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next(cx).map(|line| {
            let mut text = match line? {
                Line::Sample(text) => text,
                Line::Failed(reply) => reply.value.to_string(),
            };
            text.push('\n');
            Some(Ok(text.into()))
        })
    }
}
