use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::Response,
};

use super::{Web, hosts::Hosts, problem};

/// Refuses requests that name a foreign host or come from a foreign origin, on every route.
pub(super) async fn check(State(web): State<Arc<Web>>, request: Request, next: Next) -> Response {
    let Err(header) = permitted(&web.hosts, &request) else { return next.run(request).await };
    tracing::warn!(header, "refused a request from elsewhere");
    let detail = format!("the {header} header does not name this server");
    problem::response(StatusCode::FORBIDDEN, "forbidden", &detail)
}

/// Says which header is wrong.
fn permitted(hosts: &Hosts, request: &Request) -> Result<(), &'static str> {
    let host = single(request.headers(), &header::HOST);
    // A request target may name a host too (RFC 9112, 3.2.2), and then it counts.
    let target = request.uri().authority().map(axum::http::uri::Authority::as_str);
    let is_host = matches!(host, Ok(Some(host)) if hosts.allow_host(host));
    if !is_host || target.is_some_and(|target| !hosts.allow_host(target)) {
        return Err("Host");
    }
    match single(request.headers(), &header::ORIGIN) {
        Ok(None) => Ok(()),
        Ok(Some(origin)) if hosts.allow_origin(origin) => Ok(()),
        _ => Err("Origin"),
    }
}

/// A header that may stand once; twice, or no text, is an error.
fn single<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match (value.to_str(), values.next()) {
        (Ok(value), None) => Ok(Some(value)),
        _ => Err(()),
    }
}
