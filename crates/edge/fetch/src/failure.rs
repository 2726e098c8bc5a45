//! Why a fetch failed, by names that stay the same.

use std::time::Duration;

use thiserror::Error;
use tidewatch_core::Reason;
use tidewatch_core::url::UrlRefused;

use crate::address::Special;

/// Why a fetch brought no whole answer. A failure is an outcome, not an error: it is
/// counted under [`Failure::reason`] and the crawl goes on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    /// The host resolves to an address that must not be connected to.
    #[error("{address} is a {} address, which configuration does not allow", kind.name())]
    BlockedAddress {
        /// The address.
        address: std::net::IpAddr,
        /// What it is.
        kind: Special,
    },
    /// The name does not exist or has no address.
    #[error("the name {host} has no address")]
    NoAddress {
        /// The name.
        host: String,
    },
    /// The name could not be looked up.
    #[error("the name {host} could not be looked up: {why}")]
    Dns {
        /// The name.
        host: String,
        /// What the resolver says.
        why: String,
    },
    /// No connection was made in time.
    #[error("no connection within {limit:?}")]
    ConnectTimeout {
        /// The limit.
        limit: Duration,
    },
    /// The connection was refused or broke before an answer began.
    #[error("no connection: {why}")]
    Connect {
        /// What the system says.
        why: String,
    },
    /// The proxy refused.
    #[error("the proxy refused: {why}")]
    Proxy {
        /// What it said.
        why: String,
    },
    /// No secure connection, for instance because of the certificate.
    #[error("no secure connection: {why}")]
    Tls {
        /// What is wrong.
        why: String,
    },
    /// The answer is no HTTP.
    #[error("the answer is malformed: {why}")]
    Protocol {
        /// What is wrong.
        why: String,
    },
    /// Too many or too large header fields.
    #[error("the head of the answer is too large")]
    HeadTooLarge,
    /// Nothing came for too long.
    #[error("nothing came for {limit:?}")]
    IdleTimeout {
        /// The limit.
        limit: Duration,
    },
    /// All of it took too long.
    #[error("not done within {limit:?}")]
    TotalTimeout {
        /// The limit.
        limit: Duration,
    },
    /// Bytes came too slowly to wait for.
    #[error("fewer than {min_bytes_per_s} bytes a second came for {window:?}")]
    TooSlow {
        /// The least that is waited for.
        min_bytes_per_s: u64,
        /// How long it was watched.
        window: Duration,
    },
    /// The connection ended inside the body.
    #[error("the connection ended before the answer did")]
    Incomplete,
    /// More encodings on top of each other than are taken off.
    #[error("the body is encoded {count} times; at most {limit} are taken off")]
    TooManyEncodings {
        /// How many there are.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// An encoding that was not asked for.
    #[error("the body's encoding {name} is not known")]
    UnknownEncoding {
        /// Its name, cut.
        name: String,
    },
    /// The body does not decode: damaged, cut off, or wanting too much memory.
    #[error("the body does not decode as {coding}: {why}")]
    BadEncoding {
        /// The encoding.
        coding: &'static str,
        /// What is wrong.
        why: String,
    },
    /// One redirect too many.
    #[error("more than {limit} redirects")]
    TooManyRedirects {
        /// The limit.
        limit: usize,
    },
    /// A redirect to nowhere.
    #[error("a redirect without a place to go")]
    RedirectWithoutLocation,
    /// A redirect to what is no URL of ours.
    #[error("a redirect to a refused URL: {0}")]
    RedirectRefused(UrlRefused),
}

impl Failure {
    /// The reason to count it under.
    pub fn reason(&self) -> Reason {
        match self {
            Self::BlockedAddress { .. } => Reason::BlockedAddress,
            Self::NoAddress { .. } => Reason::NoAddress,
            Self::Dns { .. } => Reason::Dns,
            Self::ConnectTimeout { .. } => Reason::ConnectTimeout,
            Self::Connect { .. } => Reason::Connect,
            Self::Proxy { .. } => Reason::Proxy,
            Self::Tls { .. } => Reason::Tls,
            Self::Protocol { .. } => Reason::Protocol,
            Self::HeadTooLarge => Reason::HeadTooLarge,
            Self::IdleTimeout { .. } => Reason::IdleTimeout,
            Self::TotalTimeout { .. } => Reason::TotalTimeout,
            Self::TooSlow { .. } => Reason::TooSlow,
            Self::Incomplete => Reason::Incomplete,
            Self::TooManyEncodings { .. } => Reason::TooManyEncodings,
            Self::UnknownEncoding { .. } => Reason::UnknownEncoding,
            Self::BadEncoding { .. } => Reason::BadEncoding,
            Self::TooManyRedirects { .. } => Reason::TooManyRedirects,
            Self::RedirectWithoutLocation => Reason::RedirectWithoutLocation,
            Self::RedirectRefused(_) => Reason::RedirectRefused,
        }
    }

    /// What an exchange that broke means.
    pub(crate) fn of_hyper(error: &hyper::Error) -> Self {
        use std::error::Error as _;
        use std::io::{self, ErrorKind};
        let source = error.source();
        let kind = source.and_then(|source| source.downcast_ref()).map(io::Error::kind);
        let ended = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        let has_ended = error.is_incomplete_message() || error.is_closed() || error.is_canceled();
        if error.is_parse_too_large() {
            Self::HeadTooLarge
        } else if has_ended || kind.is_some_and(|kind| ended.contains(&kind)) {
            Self::Incomplete
        } else {
            let why = source.map_or_else(|| error.to_string(), ToString::to_string);
            Self::Protocol { why }
        }
    }
}
