//! The HTTP+SSE transport of MCP revision 2024-11-05.
//!
//! `GET /sse` opens a session: its first event, `endpoint`, names the path to post to, and each
//! message of the server follows as an event `message`. `POST /messages/?session_id=ID` brings
//! one message and is answered 202; the reply comes over the stream.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    body::Bytes,
    extract::{Query, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use rmcp::{ServiceExt, model::ClientJsonRpcMessage};
use tokio::sync::mpsc;
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Web, api, problem, until::Until};
use crate::{
    calls::Carrier,
    handler::Handler,
    transport::{ChannelTransport, Ends},
};

/// Between comments on an idle stream. Proxies cut streams after 30 to 60 s of silence, and a
/// write is what notices a peer that vanished.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How long a client may take to initialize.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// How long a message may wait for a client that does not read, before its session ends.
const SEND_LIMIT: Duration = Duration::from_secs(3);

/// How long a posted message may wait for its session.
const POST_LIMIT: Duration = Duration::from_secs(5);

/// Requests of one session at a time.
const MAX_IN_FLIGHT: usize = 16;

/// The sessions that are open, by id.
pub(super) struct Sessions {
    /// Held only to look up, add or remove; never across an await.
    open: Mutex<HashMap<Uuid, mpsc::Sender<ClientJsonRpcMessage>>>,
    max: usize,
}

impl Sessions {
    pub(super) fn new(max: usize) -> Self {
        Self { open: Mutex::new(HashMap::new()), max }
    }

    pub(super) fn open(&self) -> usize {
        self.lock().len()
    }

    fn add(&self, id: Uuid, messages: mpsc::Sender<ClientJsonRpcMessage>) -> bool {
        let mut open = self.lock();
        let has_room = open.len() < self.max;
        if has_room {
            open.insert(id, messages);
        }
        has_room
    }

    fn get(&self, id: &Uuid) -> Option<mpsc::Sender<ClientJsonRpcMessage>> {
        self.lock().get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, mpsc::Sender<ClientJsonRpcMessage>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a session. Both the task that serves it and the body of its stream hold one: a body that
/// cannot be flushed is not dropped, and a client that leaves does not end the task by itself.
struct EndSession {
    web: Arc<Web>,
    id: Uuid,
    session: CancellationToken,
}

impl Drop for EndSession {
    fn drop(&mut self) {
        self.web.sse.lock().remove(&self.id);
        self.session.cancel();
    }
}

/// `GET /sse`.
pub(super) async fn open(State(web): State<Arc<Web>>) -> Response {
    let id = Uuid::new_v4();
    let session = web.stop.child_token();
    let (transport, ends) = ChannelTransport::new(session.clone(), MAX_IN_FLIGHT, Some(SEND_LIMIT));
    let Ends { messages, replies, .. } = ends;
    if !web.sse.add(id, messages) {
        let detail = format!("{} sessions are open already", web.sse.max);
        return problem::response(StatusCode::SERVICE_UNAVAILABLE, "busy", &detail);
    }
    let end = || EndSession { web: web.clone(), id, session: session.clone() };
    let handler = Handler::new(web.calls.clone(), Carrier::Sse, session.clone());
    // Not awaited: the handshake comes with a later POST, to the address in the first event.
    tokio::spawn(serve(handler, transport, end()));

    let endpoint =
        Event::default().event("endpoint").data(format!("/messages/?session_id={}", id.simple()));
    let replies = ReceiverStream::new(replies).filter_map(|reply| {
        let event = Event::default().event("message").json_data(&reply);
        event.map(Ok::<_, Infallible>).inspect_err(|error| tracing::error!(%error, "no JSON")).ok()
    });
    let events = tokio_stream::once(Ok(endpoint)).chain(replies);
    let events = Until::new(events, session.clone(), end());
    let headers = [
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        // Tells nginx not to collect events.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("ping");
    (headers, Sse::new(events).keep_alive(keep_alive)).into_response()
}

async fn serve(handler: Handler, transport: ChannelTransport, end: EndSession) {
    let handshake = handler.serve_with_ct(transport, end.session.clone());
    match tokio::time::timeout(HANDSHAKE, handshake).await {
        Ok(Ok(session)) => match session.waiting().await {
            Ok(reason) => tracing::debug!(?reason, "session over"),
            Err(error) => tracing::error!(%error, "session broke off"),
        },
        Ok(Err(error)) => tracing::debug!(%error, "no session"),
        Err(_elapsed) => tracing::debug!("no handshake in time"),
    }
}

/// The session's id, in either spelling that clients use.
#[derive(serde::Deserialize)]
pub(super) struct SessionQuery {
    #[serde(alias = "sessionId")]
    session_id: String,
}

/// `POST /messages`.
pub(super) async fn message(
    State(web): State<Arc<Web>>,
    query: Result<Query<SessionQuery>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let session_id = query.ok().and_then(|query| Uuid::parse_str(&query.session_id).ok());
    let Some(session_id) = session_id else {
        let detail = "session_id is missing, or is none";
        return problem::response(StatusCode::BAD_REQUEST, "bad_request", detail);
    };
    if !api::is_json(&headers) {
        return api::not_json();
    }
    let Some(session) = web.sse.get(&session_id) else {
        return problem::response(StatusCode::NOT_FOUND, "not_found", "no such session");
    };
    let message = match serde_json::from_slice(&body) {
        Ok(message) => message,
        Err(error) => {
            let detail = format!("no JSON-RPC message: {error}");
            return problem::response(StatusCode::BAD_REQUEST, "bad_request", &detail);
        }
    };
    match tokio::time::timeout(POST_LIMIT, session.send(message)).await {
        Ok(Ok(())) => (StatusCode::ACCEPTED, "Accepted").into_response(),
        Ok(Err(_closed)) => {
            problem::response(StatusCode::NOT_FOUND, "not_found", "the session is over")
        }
        Err(_elapsed) => {
            problem::response(StatusCode::SERVICE_UNAVAILABLE, "busy", "the session is busy")
        }
    }
}
