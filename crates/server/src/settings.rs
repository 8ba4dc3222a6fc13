use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

/// How the tools are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long one call may take, its waiting for a place included.
    pub time_limit: Duration,
    /// What a reply may weigh. A result carries its value a second time as structured content
    /// only where both copies fit.
    pub reply_bytes: usize,
    /// Sessions at a time on `/mcp`, and again on `/sse`; the next one gets 503.
    pub max_sessions: usize,
    /// Host names beside the loopback ones that `Host` and `Origin` may name, without a port.
    pub allowed_hosts: Vec<String>,
    /// The address that HTTP is bound to.
    pub host: IpAddr,
    /// The port that HTTP is bound to; 0 lets the system choose.
    pub port: u16,
    /// The program's version, as peers are told.
    pub version: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            time_limit: Duration::from_secs(25),
            reply_bytes: 20_000,
            max_sessions: 64,
            allowed_hosts: Vec::new(),
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 9203,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
