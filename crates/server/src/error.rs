use std::{io, net::SocketAddr};

/// Why serving could not start, or broke off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The peer's input could not be read.
    #[error("cannot read from the peer")]
    Read {
        /// What the system said.
        source: io::Error,
    },
    /// An answer could not be written.
    #[error("cannot write to the peer")]
    Write {
        /// What the system said.
        source: io::Error,
    },
    /// The listener has no address, so it is not one.
    #[error("the listener has no address")]
    Listener {
        /// What the system said.
        source: io::Error,
    },
}
