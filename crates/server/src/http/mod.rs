//! One port: MCP in both its HTTP forms, the tools as plain HTTP, health and metrics.

mod api;
mod body;
mod connections;
mod guard;
mod hosts;
mod monitor;
mod problem;
mod sse;
mod streamable;
mod until;

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::StatusCode,
    middleware,
    response::Response,
    routing::{any, get, post},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{calls::Calls, error::ServerError, port::Port, settings::Settings};

/// What the routes share.
struct Web {
    calls: Arc<Calls>,
    hosts: hosts::Hosts,
    mcp: streamable::Mcp,
    sse: sse::Sessions,
    stop: CancellationToken,
}

/// Listens on the address that the settings name.
///
/// # Errors
///
/// An address that is taken, not of this machine, or not permitted.
pub async fn bind(settings: &Settings) -> Result<TcpListener, ServerError> {
    let address = SocketAddr::new(settings.host, settings.port);
    TcpListener::bind(address).await.map_err(|source| ServerError::Listen { address, source })
}

/// Serves every route on `listener` until `shutdown` is cancelled, and at most 3 s longer.
///
/// # Errors
///
/// A listener that has no address.
pub async fn serve_http(
    memory: impl Port,
    settings: Settings,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServerError> {
    let address = listener.local_addr().map_err(|source| ServerError::Listener { source })?;
    if !address.ip().is_loopback() {
        tracing::warn!(%address, "listening where other machines can reach it");
    }
    tracing::info!(%address, "listening");
    // Ends the sessions also when this future is dropped instead of shut down.
    let stop = shutdown.child_token();
    let _ends_with_this = stop.clone().drop_guard();
    let calls = Calls::new(memory, settings);
    connections::serve(listener, router(&calls, &stop), stop).await;
    tracing::info!(%address, "stopped listening");
    Ok(())
}

fn router(calls: &Arc<Calls>, stop: &CancellationToken) -> Router {
    let settings = &calls.settings;
    let hosts = hosts::Hosts::new(&settings.allowed_hosts);
    let web = Arc::new(Web {
        calls: calls.clone(),
        mcp: streamable::Mcp::new(calls, &hosts, stop),
        sse: sse::Sessions::new(settings.max_sessions),
        hosts,
        stop: stop.clone(),
    });
    Router::new()
        .route("/mcp", any(streamable::serve))
        .route("/sse", get(sse::open))
        .route("/messages", post(sse::message))
        .route("/messages/", post(sse::message))
        .route("/api/v1/tools", get(api::tools))
        .route("/api/v1/tools/{tool}", post(api::call))
        .route("/api/v1/topics/{*topic}", get(api::samples))
        .route("/healthz", get(monitor::health))
        .route("/metrics", get(monitor::metrics))
        .fallback(no_route)
        // The body has been read by then, under a limit of our own.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn(body::limit))
        .layer(middleware::from_fn_with_state(web.clone(), guard::check))
        .with_state(web)
}

async fn no_route() -> Response {
    problem::response(StatusCode::NOT_FOUND, "not_found", "no such route")
}
