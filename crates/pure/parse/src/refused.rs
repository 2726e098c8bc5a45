//! Why bytes were not read.

use thiserror::Error;

/// Bytes that were not read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    /// The document declares entities, which can make it grow without bound or reach outside.
    #[error("the document declares XML entities, which are never expanded")]
    Entities,
    /// Neither a feed nor a sitemap begins like this.
    #[error("the document begins with <{name}>, which is the root of no known format")]
    UnknownRoot {
        /// The root element, cut to a few characters.
        name: String,
    },
    /// There is no root element at all.
    #[error("the document holds no XML element")]
    NoRoot,
    /// More bytes than are looked at.
    #[error("the document has more than {limit} bytes")]
    TooLarge {
        /// The most that is read.
        limit: usize,
    },
    /// Broken compression.
    #[error("the document is compressed with gzip and damaged")]
    BadGzip,
    /// Broken JSON.
    #[error("the document is no JSON: {why}")]
    BadJson {
        /// What the reader says.
        why: String,
    },
}

impl Refused {
    /// A short name to count by.
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
