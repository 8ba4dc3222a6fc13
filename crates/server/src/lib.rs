//! MCP and HTTP over the tools.
//!
//! Two ways in: [`serve_stdio`] speaks MCP over a pair of pipes, [`serve_http`] serves one port
//! with `/mcp` (streamable HTTP), `/sse` and `/messages` (the older HTTP+SSE pair), `/api/v1`,
//! `/healthz` and `/metrics`. Nothing is decided here: a name and a JSON object go in at a
//! [`Port`], a JSON value comes out, and this crate carries both.
//!
//! What holds whatever a peer sends:
//!
//! - A call ends by its time limit, and soon after its caller went away.
//! - Calls run on the blocking pool, few at a time; those that find no place are told `busy`.
//! - Lines, bodies, queues, sessions and connections are bounded.
//! - Over HTTP a foreign `Host` or `Origin` gets 403 on every route, before anything else.
//! - Over pipes nothing but JSON-RPC is written.

#![forbid(unsafe_code)]

mod port;
mod settings;

mod http;
mod stdio;

mod account;
mod calls;
mod handler;
mod metrics;
mod relay;
mod transport;

mod error;
mod lines;

pub use error::ServerError;
pub use http::{bind, serve_http};
pub use port::{Port, ToolListing};
pub use settings::Settings;
pub use stdio::{serve_lines, serve_stdio};
