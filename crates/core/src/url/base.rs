//! Resolving the references of a page.

use super::{CanonicalUrl, UrlRefused, read, whatwg::Parsed};

/// A page's address, parsed once to resolve all its references against.
///
/// It need not be canonical: a page's own address after redirects, or its
/// `<base href>`, resolves references as it stands.
#[derive(Debug, Clone)]
pub struct Base {
    parsed: Parsed,
}

impl Base {
    /// Takes an absolute http(s) URL as it stands.
    pub fn parse(input: &str) -> Result<Self, UrlRefused> {
        let parsed = read(input, None)?;
        CanonicalUrl::of(&parsed)?;
        Ok(Self { parsed })
    }

    /// Takes a canonical URL.
    pub(super) fn of(url: &CanonicalUrl) -> Result<Self, UrlRefused> {
        let parsed = read(url.as_str(), None)?;
        Ok(Self { parsed })
    }

    /// A base written on the page (`<base href>`), itself relative to this one.
    pub fn rebase(&self, href: &str) -> Result<Self, UrlRefused> {
        let parsed = read(href, Some(&self.parsed))?;
        CanonicalUrl::of(&parsed)?;
        Ok(Self { parsed })
    }

    /// The canonical URL a reference points to.
    pub fn join(&self, reference: &str) -> Result<CanonicalUrl, UrlRefused> {
        CanonicalUrl::of(&read(reference, Some(&self.parsed))?)
    }
}
