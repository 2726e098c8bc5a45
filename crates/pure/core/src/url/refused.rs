//! Why a URL is refused.

use thiserror::Error;

use super::MAX_URL_BYTES;

/// How much of a refused scheme or host is quoted; hostile ones can be long.
const QUOTED_CHARS: usize = 80;

/// Why a string is no canonical URL.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlRefused {
    /// Nothing but white space.
    #[error("The URL is empty.")]
    Empty,
    /// Longer than [`MAX_URL_BYTES`].
    #[error("The URL has {bytes} bytes; at most {MAX_URL_BYTES} are accepted.")]
    TooLong {
        /// Length of the canonical form, or of the input if that alone was too long.
        bytes: usize,
    },
    /// Any scheme but http and https.
    #[error("The scheme `{scheme}` is not crawled; only http and https are.")]
    BadScheme {
        /// The scheme, shortened if very long.
        scheme: String,
    },
    /// A relative reference where an absolute URL is needed.
    #[error("The URL has no scheme; write it in full, beginning with http:// or https://.")]
    NoScheme,
    /// `http://` and nothing that could be a host.
    #[error("The URL names no host.")]
    NoHost,
    /// A host that is neither an IP address nor a name DNS could resolve.
    #[error(
        "The host `{host}` is neither an IP address nor a domain name of 1-63 letters, digits, \
         hyphens or underscores a label and at most 253 in all."
    )]
    BadHost {
        /// The host as written or as parsed, shortened if very long.
        host: String,
    },
    /// A port that is no number of 1 to 65535.
    #[error("The port is not a number from 1 to 65535.")]
    BadPort,
    /// Anything else the URL standard calls failure.
    #[error("The URL cannot be parsed.")]
    Unparsable,
}

impl UrlRefused {
    /// A stable short name for logs, counters and tests.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong { .. } => "too-long",
            Self::BadScheme { .. } => "bad-scheme",
            Self::NoScheme => "no-scheme",
            Self::NoHost => "no-host",
            Self::BadHost { .. } => "bad-host",
            Self::BadPort => "bad-port",
            Self::Unparsable => "unparsable",
        }
    }

    pub(super) fn bad_scheme(scheme: &str) -> Self {
        let scheme = quoted(scheme).to_ascii_lowercase();
        Self::BadScheme { scheme }
    }

    pub(super) fn bad_host(host: &str) -> Self {
        let host = quoted(host);
        Self::BadHost { host }
    }
}

fn quoted(text: &str) -> String {
    text.chars().take(QUOTED_CHARS).collect()
}
