//! Canonical URLs: one name for one page.
//!
//! A link's text goes through two stages. [`whatwg`] parses it as browsers do;
//! then it is brought to our normal form, which maps the many spellings of a
//! page's address to one without merging different pages:
//!
//! | part | normal form |
//! |---|---|
//! | scheme | `http` or `https`; all others are refused |
//! | user and password | dropped: the fetcher sends none, and a page that needs them is not public |
//! | host | lower-case ASCII (IDNA) without the root's dot; a resolvable name or an IP address |
//! | port | dropped if the scheme's default; 0 is refused |
//! | path | `/` if empty; no dot segments, session parameters or runs of slashes |
//! | query | order kept; no tracking or session parameters; no `?` if nothing is left |
//! | fragment | dropped: it is never sent |
//! | percent-encoding | unreserved bytes decoded, upper-case digits |
//!
//! `http` and `https` stay different, as do `www.` and the bare domain: they are
//! the same page on most sites only, and redirects tell.
//!
//! Invariants of [`CanonicalUrl`]: ASCII, at most [`MAX_URL_BYTES`] bytes, and its
//! own normal form: parsing it again gives the same value.

mod base;
mod describe;
mod domain;
mod path;
mod percent;
mod query;
mod refused;
mod surt;
pub mod whatwg;

use std::fmt::{self, Write as _};
use std::str::FromStr;

use ::url::ParseError;

pub use self::{base::Base, describe::UrlDescription, refused::UrlRefused};

use self::whatwg::Parsed;

/// Longest canonical URL, in bytes.
pub const MAX_URL_BYTES: usize = 4096;

/// Longest text that is looked at. More than [`MAX_URL_BYTES`], because a fragment
/// and parameters may fall away; bounded, because links are written by strangers.
pub const MAX_INPUT_BYTES: usize = 4 * MAX_URL_BYTES;

/// A piece of a path or query in the percent-encoding of canonical URLs.
pub fn percent_normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    percent::push_normal(&mut out, text);
    out
}

/// An http(s) URL in normal form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CanonicalUrl {
    text: String,
    // Offsets into `text`; they fit because of MAX_URL_BYTES.
    host_start: u16,
    host_end: u16,
    path_start: u16,
}

impl CanonicalUrl {
    /// Parses an absolute URL and brings it to normal form.
    pub fn parse(input: &str) -> Result<Self, UrlRefused> {
        Self::of(&read(input, None)?)
    }

    /// Resolves a reference found on this page. For many references of one page use [`Base`].
    pub fn join(&self, reference: &str) -> Result<Self, UrlRefused> {
        Base::of(self)?.join(reference)
    }

    /// The normal form of a parsed URL.
    fn of(parsed: &Parsed) -> Result<Self, UrlRefused> {
        let scheme = parsed.scheme();
        if !whatwg::is_http(scheme) {
            return Err(UrlRefused::bad_scheme(scheme));
        }
        let host = normal_host(parsed)?;
        let path = parsed.path();
        let query = parsed.query().unwrap_or_default();
        let room = "https://:65535?".len() + host.len() + path.len() + query.len();
        let mut text = String::with_capacity(room);
        text.push_str(scheme);
        text.push_str("://");
        let host_start = text.len();
        text.push_str(host);
        let host_end = text.len();
        push_port(&mut text, parsed.port())?;
        let path_start = text.len();
        path::push_normal(&mut text, path);
        query::push_normal(&mut text, query);
        if text.len() > MAX_URL_BYTES {
            return Err(UrlRefused::TooLong { bytes: text.len() });
        }
        Ok(Self {
            text,
            host_start: host_start as u16,
            host_end: host_end as u16,
            path_start: path_start as u16,
        })
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The canonical text, owned.
    pub fn into_string(self) -> String {
        self.text
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &str {
        if self.is_https() { "https" } else { "http" }
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.text.as_bytes()[4] == b's'
    }

    /// The host: a domain in ASCII, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.text[usize::from(self.host_start)..self.host_end()]
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        let digits = self.text[self.host_end()..self.path_start()].strip_prefix(':');
        let default = if self.is_https() { 443 } else { 80 };
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(default)
    }

    /// Scheme, host and port, without a closing slash: what a robots.txt governs.
    pub fn origin(&self) -> &str {
        &self.text[..self.path_start()]
    }

    /// The path, which begins with `/`, without the query.
    pub fn path(&self) -> &str {
        let (path, _) = self.split_query();
        path
    }

    /// The query without its `?`.
    pub fn query(&self) -> Option<&str> {
        let (_, query) = self.split_query();
        query
    }

    /// Path and query: what a request line carries.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.path_start()..]
    }

    fn split_query(&self) -> (&str, Option<&str>) {
        let target = self.path_and_query();
        match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        }
    }

    fn host_end(&self) -> usize {
        usize::from(self.host_end)
    }

    fn path_start(&self) -> usize {
        usize::from(self.path_start)
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AsRef<str> for CanonicalUrl {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl std::hash::Hash for CanonicalUrl {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // The offsets follow from the text.
        self.text.hash(state);
    }
}

impl FromStr for CanonicalUrl {
    type Err = UrlRefused;

    fn from_str(input: &str) -> Result<Self, UrlRefused> {
        Self::parse(input)
    }
}

/// Parses hostile text, with a named reason where that fails.
fn read(input: &str, base: Option<&Parsed>) -> Result<Parsed, UrlRefused> {
    if input.len() > MAX_INPUT_BYTES {
        return Err(refusal_of_long(input));
    }
    whatwg::parse(input, base).map_err(|error| refusal(error, input, base))
}

/// Long data: and javascript: links are refused for what they are, not for their length.
fn refusal_of_long(input: &str) -> UrlRefused {
    let head = &input[..input.floor_char_boundary(MAX_INPUT_BYTES)];
    let bytes = input.len();
    foreign_scheme(head).unwrap_or(UrlRefused::TooLong { bytes })
}

fn refusal(error: ParseError, input: &str, base: Option<&Parsed>) -> UrlRefused {
    if let Some(refused) = foreign_scheme(input) {
        return refused;
    }
    match error {
        ParseError::RelativeUrlWithoutBase if whatwg::strip(input).is_empty() => UrlRefused::Empty,
        ParseError::RelativeUrlWithoutBase => UrlRefused::NoScheme,
        ParseError::EmptyHost => UrlRefused::NoHost,
        ParseError::InvalidPort => UrlRefused::BadPort,
        ParseError::IdnaError
        | ParseError::InvalidDomainCharacter
        | ParseError::InvalidIpv4Address
        | ParseError::InvalidIpv6Address => {
            UrlRefused::bad_host(&whatwg::host_as_written(input, base))
        }
        _ => UrlRefused::Unparsable,
    }
}

fn foreign_scheme(input: &str) -> Option<UrlRefused> {
    let input = whatwg::strip(input);
    let (scheme, _) = whatwg::split_scheme(&input)?;
    (!whatwg::is_http(scheme)).then(|| UrlRefused::bad_scheme(scheme))
}

fn normal_host(parsed: &Parsed) -> Result<&str, UrlRefused> {
    let host = parsed.host().ok_or(UrlRefused::NoHost)?;
    if parsed.host_is_ip() { Ok(host) } else { domain::resolvable_name(host) }
}

fn push_port(text: &mut String, port: Option<u16>) -> Result<(), UrlRefused> {
    match port {
        None => Ok(()),
        Some(0) => Err(UrlRefused::BadPort),
        Some(port) => write!(text, ":{port}").map_err(|_| UrlRefused::Unparsable),
    }
}
