//! Why bytes were not read.

use thiserror::Error;

/// Bytes that were not read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    /// The document declares entities, which can make it grow without bound or reach outside.
    #[error("the document declares XML entities, which are never expanded")]
    Entities,
    /// The root element is neither a feed's nor a sitemap's.
    #[error("the document begins with <{name}>, which is the root of no known format")]
    UnknownRoot {
        /// The root element, truncated to a few characters.
        name: String,
    },
    /// There is no root element.
    #[error("the document holds no XML element")]
    NoRoot,
    /// The document is too large.
    #[error("the document has more than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Broken compression.
    #[error("the document is compressed with gzip and damaged")]
    BadGzip,
    /// Broken JSON.
    #[error("the document is no JSON: {why}")]
    BadJson {
        /// The JSON parser's message.
        why: String,
    },
}

impl Refused {
    /// Its name in metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Entities => "xml-entities",
            Self::UnknownRoot { .. } => "unknown-root",
            Self::NoRoot => "no-root",
            Self::TooLarge { .. } => "too-large",
            Self::BadGzip => "bad-gzip",
            Self::BadJson { .. } => "bad-json",
        }
    }
}
