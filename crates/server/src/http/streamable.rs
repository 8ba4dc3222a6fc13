//! Streamable HTTP at `/mcp`, by `rmcp`, with a cap on the sessions it keeps.
//!
//! Peers before revision 2026-07-28 have sessions; later ones do not, and each of their requests
//! stands alone.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{Method, StatusCode},
    response::Response,
};
use rmcp::{
    model::{ClientJsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::{
            ServerSseMessage, SessionId, SessionManager,
            local::{LocalSessionManager, LocalSessionManagerError},
        },
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::Stream;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Web, api, body::BODY_BYTES, hosts::Hosts, problem};
use crate::{
    calls::{Calls, Carrier},
    handler::Handler,
};

tokio::task_local! {
    /// The place that a request may open a session in.
    static PLACE: Mutex<Option<Place>>;
}

/// Room for one session, which ends when the place is given back.
struct Place {
    _permit: OwnedSemaphorePermit,
    session: CancellationToken,
    _end: DropGuard,
}

impl Place {
    fn new(permit: OwnedSemaphorePermit, stop: &CancellationToken) -> Self {
        let session = stop.child_token();
        Self { _permit: permit, _end: session.clone().drop_guard(), session }
    }
}

/// Does something with the place of the request that is being served, if it has one.
fn with_place<T>(act: impl FnOnce(&mut Option<Place>) -> Option<T>) -> Option<T> {
    PLACE.try_with(|place| act(&mut place.lock().unwrap_or_else(PoisonError::into_inner))).ok()?
}

/// The `/mcp` service.
pub(super) struct Mcp {
    service: StreamableHttpService<Handler, CappedSessions>,
    places: Arc<Semaphore>,
    max_sessions: usize,
}

impl Mcp {
    pub(super) fn new(calls: &Arc<Calls>, hosts: &Hosts, stop: &CancellationToken) -> Self {
        // The guard in front checks both headers on every route; this is the second lock.
        let origins = hosts
            .names()
            .flat_map(|name| [format!("http://{name}:*"), format!("https://{name}:*")]);
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts.names())
            .with_allowed_origins(origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(BODY_BYTES)
            .with_cancellation_token(stop.child_token());
        let sessions = Arc::new(CappedSessions::default());
        let max_sessions = calls.settings.max_sessions;
        let (calls, stop) = (calls.clone(), stop.clone());
        // A request that opens a session gets a handler of that session.
        let handler = move || {
            let session = with_place(|place| Some(place.as_ref()?.session.clone()));
            let connection = session.unwrap_or_else(|| stop.clone());
            Ok(Handler::new(calls.clone(), Carrier::Mcp, connection))
        };
        Self {
            service: StreamableHttpService::new(handler, sessions, config),
            places: Arc::new(Semaphore::new(max_sessions)),
            max_sessions,
        }
    }

    pub(super) fn open_sessions(&self) -> usize {
        self.max_sessions.saturating_sub(self.places.available_permits())
    }
}

/// Any request to `/mcp`.
pub(super) async fn serve(State(web): State<Arc<Web>>, request: Request) -> Response {
    let place = if may_open_session(&request) {
        let Ok(permit) = web.mcp.places.clone().try_acquire_owned() else {
            let detail = format!("{} sessions are open already", web.mcp.max_sessions);
            return problem::response(StatusCode::SERVICE_UNAVAILABLE, "busy", &detail);
        };
        Some(Place::new(permit, &web.stop))
    } else {
        None
    };
    let is_json = api::is_json(request.headers());
    let serving = web.mcp.service.handle(request);
    let mut response = PLACE.scope(Mutex::new(place), serving).await.map(Body::new);
    // A body that is announced as JSON and is none is a bad request, not an unknown type.
    if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}

/// Whether `rmcp` may answer a request by opening a session.
fn may_open_session(request: &Request) -> bool {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    // Revisions are dates, and sort as text.
    let has_sessions = header("mcp-protocol-version")
        .is_none_or(|revision| revision < ProtocolVersion::NO_INITIALIZE.as_str());
    request.method() == Method::POST && header("mcp-session-id").is_none() && has_sessions
}

/// Sessions in memory, each of which holds its place until it is closed.
#[derive(Default)]
struct CappedSessions {
    sessions: LocalSessionManager,
    /// Held only to add or remove; never across an await.
    places: Mutex<HashMap<SessionId, Place>>,
}

impl CappedSessions {
    fn places(&self) -> MutexGuard<'_, HashMap<SessionId, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, thiserror::Error)]
enum SessionError {
    #[error("a session without a place")]
    NoPlace,
    #[error(transparent)]
    Session(#[from] LocalSessionManagerError),
}

impl SessionManager for CappedSessions {
    type Error = SessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        let place = with_place(Option::take).ok_or(SessionError::NoPlace)?;
        let (id, transport) = self.sessions.create_session().await?;
        self.places().insert(id.clone(), place);
        Ok((id, transport))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        // Before the rest, so that calls stop now and not once they were waited for.
        drop(self.places().remove(id));
        Ok(self.sessions.close_session(id).await?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        Ok(self.sessions.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.sessions.has_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.sessions.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        Ok(self.sessions.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.sessions.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        Ok(self.sessions.resume(id, last_event_id).await?)
    }
}
