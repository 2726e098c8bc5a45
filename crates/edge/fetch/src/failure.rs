//! Why a fetch failed, with stable names.

use std::time::Duration;

use thiserror::Error;
use tidewatch_core::Reason;
use tidewatch_core::url::UrlRefused;

use crate::address::Special;

/// Why a fetch has no complete response. A failure is an outcome, not an error: it is
/// counted under [`Failure::reason`] and the crawl goes on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    /// The address policy refuses the host's address.
    #[error("{address} is a {} address, which configuration does not allow", kind.name())]
    BlockedAddress {
        /// The address.
        address: std::net::IpAddr,
        /// Its kind.
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
    /// The connection timed out.
    #[error("no connection within {limit:?}")]
    ConnectTimeout {
        /// The limit.
        limit: Duration,
    },
    /// The connection was refused or broke before the response began.
    #[error("no connection: {why}")]
    Connect {
        /// What the system says.
        why: String,
    },
    /// The proxy refused.
    #[error("the proxy refused: {why}")]
    Proxy {
        /// Its answer.
        why: String,
    },
    /// The TLS handshake failed, for instance because of the certificate.
    #[error("no secure connection: {why}")]
    Tls {
        /// What is wrong.
        why: String,
    },
    /// This process has too many files and sockets open. The host is not to blame.
    #[error("this process has too many files and sockets open; raise the limit with `ulimit -n`")]
    TooManyOpen,
    /// The response is not HTTP.
    #[error("the answer is malformed: {why}")]
    Protocol {
        /// What is wrong.
        why: String,
    },
    /// Too many or too large header fields.
    #[error("the head of the answer is too large")]
    HeadTooLarge,
    /// No byte arrived within the idle limit.
    #[error("nothing came for {limit:?}")]
    IdleTimeout {
        /// The limit.
        limit: Duration,
    },
    /// The whole fetch timed out.
    #[error("not done within {limit:?}")]
    TotalTimeout {
        /// The limit.
        limit: Duration,
    },
    /// The transfer was too slow.
    #[error("fewer than {min_bytes_per_s} bytes a second came for {window:?}")]
    TooSlow {
        /// The minimum rate.
        min_bytes_per_s: u64,
        /// The time over which the rate was measured.
        window: Duration,
    },
    /// The connection ended inside the body.
    #[error("the connection ended before the answer did")]
    Incomplete,
    /// Too many content encodings.
    #[error("the body is encoded {count} times; at most {limit} are taken off")]
    TooManyEncodings {
        /// How many there are.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// An unsupported content encoding.
    #[error("the body's encoding {name} is not known")]
    UnknownEncoding {
        /// Its name, truncated.
        name: String,
    },
    /// The body does not decode: damaged, truncated, or needing too much memory.
    #[error("the body does not decode as {coding}: {why}")]
    BadEncoding {
        /// The encoding.
        coding: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Too many redirects.
    #[error("more than {limit} redirects")]
    TooManyRedirects {
        /// The limit.
        limit: usize,
    },
    /// A redirect without a target.
    #[error("a redirect without a place to go")]
    RedirectWithoutLocation,
    /// A redirect to a refused URL.
    #[error("a redirect to a refused URL: {0}")]
    RedirectRefused(UrlRefused),
}

impl Failure {
    /// The reason to count the failure under.
    pub fn reason(&self) -> Reason {
        match self {
            Self::BlockedAddress { .. } => Reason::BlockedAddress,
            Self::NoAddress { .. } => Reason::NoAddress,
            Self::Dns { .. } => Reason::Dns,
            Self::ConnectTimeout { .. } => Reason::ConnectTimeout,
            Self::Connect { .. } => Reason::Connect,
            Self::Proxy { .. } => Reason::Proxy,
            Self::TooManyOpen => Reason::OwnStop,
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

    /// Whether it may concern a response's body alone, so that status and headers are still good.
    pub(crate) fn is_of_body(&self) -> bool {
        matches!(
            self,
            Self::Protocol { .. }
                | Self::IdleTimeout { .. }
                | Self::TotalTimeout { .. }
                | Self::TooSlow { .. }
                | Self::Incomplete
                | Self::TooManyEncodings { .. }
                | Self::UnknownEncoding { .. }
                | Self::BadEncoding { .. }
        )
    }

    /// The failure that a hyper error stands for.
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
