//! Errors that stop the server from starting.

use std::net::SocketAddr;

/// Why the server cannot start. Messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Other machines can reach the address, and there is no token.
    #[error(
        "{0} can be reached from other machines, so a token is needed: put at least 16 characters \
         into a file and name it with --token-file, or listen on 127.0.0.1"
    )]
    NoToken(SocketAddr),
    /// The token can be guessed.
    #[error("the token is too short to be safe; use at least 16 characters")]
    ShortToken,
    /// The address is in use or not this machine's.
    #[error("cannot serve on {address}: {source} (--listen takes another address)")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
}
