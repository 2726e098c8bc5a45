//! Errors of starting a web.

use std::io;

/// Errors of starting a web.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// A URL of the trace cannot be served.
    #[error("page {page} of the trace cannot be served: {url} {why}")]
    Url {
        /// The page's id in the trace's file.
        page: u64,
        /// Its URL.
        url: String,
        /// The problem.
        why: String,
    },
    /// The trace is invalid.
    #[error(transparent)]
    Trace(#[from] tidewatch_trace::TraceError),
    /// The trace's start is not a date.
    #[error("the trace starts at '{0}', which is not a date like 2026-01-31T12:00:00Z")]
    Start(String),
    /// No address could be bound.
    #[error(
        "cannot listen on {address}: {source}; close other programs or lower the limit on listeners"
    )]
    Listen {
        /// The address tried.
        address: std::net::SocketAddr,
        /// The cause.
        source: io::Error,
    },
}
