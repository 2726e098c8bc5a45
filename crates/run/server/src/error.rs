//! Why there is no server.

use std::net::SocketAddr;

/// Why a server cannot begin. Messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Others can reach it, and nothing would keep them from changing things.
    #[error(
        "{0} can be reached from other machines, so a token is needed: put at least 16 characters \
         into a file and name it with --token-file, or listen on 127.0.0.1"
    )]
    NoToken(SocketAddr),
    /// A token that can be guessed is none.
    #[error("the token is too short to be safe; use at least 16 characters")]
    ShortToken,
    /// The address is taken or not ours.
    #[error("cannot serve on {address}: {source} (--listen takes another address)")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}
