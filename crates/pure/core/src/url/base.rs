//! Resolving the references of a page.

use super::{CanonicalUrl, MAX_URL_BYTES, UrlRefused, path, read, whatwg::Parsed};

/// A page's address, parsed once to resolve all its references against.
///
/// It need not be canonical: a page's own address after redirects, or its
/// `<base href>`, resolves references as it stands.
#[derive(Debug, Clone)]
pub struct Base {
    parsed: Parsed,
    /// Its normal form, whose origin most references share.
    normal: CanonicalUrl,
}

impl Base {
    /// Takes an absolute http(s) URL as it stands.
    pub fn parse(input: &str) -> Result<Self, UrlRefused> {
        Self::of_parsed(read(input, None)?)
    }

    /// Takes a canonical URL.
    pub fn of(url: &CanonicalUrl) -> Result<Self, UrlRefused> {
        let parsed = read(url.as_str(), None)?;
        Ok(Self { parsed, normal: url.clone() })
    }

    /// A base written on the page (`<base href>`), itself relative to this one.
    pub fn rebase(&self, href: &str) -> Result<Self, UrlRefused> {
        Self::of_parsed(read(href, Some(&self.parsed))?)
    }

    fn of_parsed(parsed: Parsed) -> Result<Self, UrlRefused> {
        let normal = CanonicalUrl::of(&parsed)?;
        Ok(Self { parsed, normal })
    }

    /// The canonical URL a reference points to.
    pub fn join(&self, reference: &str) -> Result<CanonicalUrl, UrlRefused> {
        match self.join_plain(reference) {
            Some(url) => Ok(url),
            None => CanonicalUrl::of(&read(reference, Some(&self.parsed))?),
        }
    }

    /// Where a path that is written in its normal form leads: most links of the web are such, and
    /// need no parser. The slow way gives the same.
    fn join_plain(&self, reference: &str) -> Option<CanonicalUrl> {
        let origin = self.normal.origin();
        let fits = origin.len() + reference.len() <= MAX_URL_BYTES;
        if !fits || !path::is_plain_reference(reference) {
            return None;
        }
        let mut text = String::with_capacity(origin.len() + reference.len());
        text.push_str(origin);
        text.push_str(reference);
        let CanonicalUrl { host_start, host_end, path_start, .. } = self.normal;
        Some(CanonicalUrl { text, host_start, host_end, path_start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_quick_way_leads_where_the_slow_way_does(
            base in "https?://(u@)?[a-z]{1,3}(\\.|xn--a)[a-z]{2}(:80|:81)?/[a-z./]{0,6}",
            reference in "/[a-z/.:;?#%@=\\\\ é]{0,8}",
        ) {
            let Ok(base) = Base::parse(&base) else { return Ok(()) };
            let slow = read(&reference, Some(&base.parsed)).and_then(|parsed| CanonicalUrl::of(&parsed));
            if let Some(quick) = base.join_plain(&reference) {
                prop_assert_eq!(Ok(quick), slow);
            }
        }
    }

    #[test]
    fn plain_paths_take_the_quick_way() {
        let base = Base::parse("http://a.example:8080/x/y?z").unwrap();
        for plain in ["/", "/a", "/a/b-c_d.html", "/a@b:c/", "/a.b/..c"] {
            let quick = base.join_plain(plain);
            assert_eq!(quick.is_some(), plain != "/a.b/..c", "{plain}");
            assert_eq!(base.join(plain).unwrap().as_str(), format!("http://a.example:8080{plain}"));
        }
        for other in
            ["", "a", "//b", "/\\b", "/a/../b", "/a?b", "/a#b", "/a;b", "/%61", "/a//b", " /a"]
        {
            assert_eq!(base.join_plain(other), None, "{other}");
        }
        let long = format!("/{}", "a".repeat(MAX_URL_BYTES));
        assert_eq!(base.join_plain(&long), None);
        assert!(base.join(&long).is_err());
    }
}
