//! What a person wants to know of one URL.

use std::fmt;

use super::CanonicalUrl;

/// The faces of a canonical URL, ready to print: one `name: value` a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlDescription {
    /// The canonical form.
    pub canonical: String,
    /// The SURT key.
    pub surt: String,
    /// The host; IPv6 in brackets.
    pub host: String,
    /// The registrable domain, where there is one.
    pub registrable_domain: Option<String>,
}

impl CanonicalUrl {
    /// All faces of this URL at once.
    pub fn describe(&self) -> UrlDescription {
        UrlDescription {
            canonical: self.as_str().to_owned(),
            surt: self.surt(),
            host: self.host().to_owned(),
            registrable_domain: self.registrable_domain().map(str::to_owned),
        }
    }
}

impl fmt::Display for UrlDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let domain = self.registrable_domain.as_deref().unwrap_or("none");
        writeln!(f, "canonical: {}", self.canonical)?;
        writeln!(f, "surt: {}", self.surt)?;
        writeln!(f, "host: {}", self.host)?;
        write!(f, "registrable domain: {domain}")
    }
}
