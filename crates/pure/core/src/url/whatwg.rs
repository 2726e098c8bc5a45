//! URL parsing as the WHATWG URL Standard has it, before any opinion of ours.
//!
//! The `url` crate does the work. For http(s) it departs from today's standard
//! in two places, both of which it refuses where browsers do not; this module
//! mends them without a second parser:
//!
//! 1. **Too many slashes.** `///host` against an http(s) base means `//host`
//!    ("special authority ignore slashes state").
//! 2. **ASCII hosts are not judged by IDNA.** "Domain to ASCII" only lower-cases
//!    a domain that is ASCII after percent-decoding, so `xn--` labels which are
//!    not valid Punycode pass. The `url` crate cannot hold such a host, so it is
//!    given a stand-in of the same length (`xn--` becomes `xx--`) and the real
//!    host is kept beside it.
//!
//! Both cases end in an error of the `url` crate, so a URL it accepts is never
//! looked at twice: the mending costs nothing on the common road.
//!
//! Invariant: `host` is `Some` only when `url` carries the stand-in, which has
//! the same length and stands at the same place.

use std::borrow::Cow;

use ::url::{Host, ParseError, Position, Url};

/// The label prefix the `url` crate insists on understanding.
const ACE_PREFIX: &str = "xn--";
/// What stands in for it: same length, no meaning to IDNA, never a number.
const STAND_IN_PREFIX: &str = "xx--";

/// A URL as the WHATWG standard parses it, of any scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    url: Url,
    /// The real host, where `url` holds a stand-in.
    host: Option<String>,
}

impl Parsed {
    /// The scheme, lower-case, without the colon.
    pub fn scheme(&self) -> &str {
        self.url.scheme()
    }

    /// The serialised host (IPv6 in brackets), or `None` where there is none.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref().or_else(|| self.url.host_str())
    }

    /// Whether the host is an IPv4 or IPv6 address.
    pub fn host_is_ip(&self) -> bool {
        matches!(self.url.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)))
    }

    /// The port, unless it is the scheme's default.
    pub fn port(&self) -> Option<u16> {
        self.url.port()
    }

    /// The path, percent-encoded.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// The query without its question mark, percent-encoded.
    pub fn query(&self) -> Option<&str> {
        self.url.query()
    }

    /// The serialised URL, `href` in the standard.
    pub fn href(&self) -> Cow<'_, str> {
        match &self.host {
            None => Cow::Borrowed(self.url.as_str()),
            Some(host) => Cow::Owned(
                [&self.url[..Position::BeforeHost], host, &self.url[Position::AfterHost..]]
                    .concat(),
            ),
        }
    }
}

/// Parses `input`, relative to `base` if there is one.
pub fn parse(input: &str, base: Option<&Parsed>) -> Result<Parsed, ParseError> {
    let options = Url::options().base_url(base.map(|base| &base.url));
    match options.parse(input) {
        Ok(url) => Ok(Parsed { host: inherited_host(input, base), url }),
        Err(error @ (ParseError::EmptyHost | ParseError::IdnaError)) => {
            mend(input, base).unwrap_or(Err(error))
        }
        Err(error) => Err(error),
    }
}

/// The real host of `base`, if it has a stand-in and `input` brings no host of its own.
fn inherited_host(input: &str, base: Option<&Parsed>) -> Option<String> {
    let base = base?;
    let host = base.host.as_ref()?;
    let input = strip(input);
    let own_host = match split_scheme(&input) {
        Some((scheme, _)) if !scheme.eq_ignore_ascii_case(base.scheme()) => true,
        _ => Authority::find(&input, Some(base)).is_some(),
    };
    (!own_host).then(|| host.clone())
}

/// Parses again what the `url` crate refused; `None` where neither mending applies.
fn mend(input: &str, base: Option<&Parsed>) -> Option<Result<Parsed, ParseError>> {
    let input = strip(input);
    let authority = Authority::find(&input, base)?;
    let real = ascii_host(authority.host);
    let stand_in = real.as_deref().map(stand_in_for);
    let text = [
        authority.scheme,
        "://",
        authority.userinfo,
        stand_in.as_deref().unwrap_or(authority.host),
        authority.rest,
    ]
    .concat();
    let host = real.filter(|real| stand_in.as_ref() != Some(real));
    Some(Url::parse(&text).map(|url| Parsed { url, host }))
}

/// The host, percent-decoded and lower-cased, if that leaves ASCII free of forbidden
/// code points; such a host can be put into a URL without moving any delimiter.
fn ascii_host(host: &str) -> Option<String> {
    let mut decoded = String::with_capacity(host.len());
    let mut rest = host.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let (byte, tail) = super::percent::decode_triplet(rest).unwrap_or((byte, tail));
        if !byte.is_ascii() || is_forbidden_in_domain(byte) {
            return None;
        }
        decoded.push(char::from(byte.to_ascii_lowercase()));
        rest = tail;
    }
    Some(decoded)
}

/// "Forbidden domain code point" of the standard.
fn is_forbidden_in_domain(byte: u8) -> bool {
    byte.is_ascii_control() || b" #/:<>?@[\\]^|%".contains(&byte)
}

fn stand_in_for(host: &str) -> String {
    let labels = host.split('.').map(|label| {
        let rest = label.strip_prefix(ACE_PREFIX);
        rest.map_or(Cow::Borrowed(label), |rest| Cow::Owned([STAND_IN_PREFIX, rest].concat()))
    });
    labels.collect::<Vec<_>>().join(".")
}

/// Where the host of an http(s) reference stands, by the states of the standard's parser.
struct Authority<'a> {
    scheme: &'a str,
    /// With its `@`, or empty.
    userinfo: &'a str,
    host: &'a str,
    /// Port, path, query and fragment.
    rest: &'a str,
}

impl<'a> Authority<'a> {
    /// Finds the authority of a stripped reference; `None` if it has none or is not http(s).
    fn find(input: &'a str, base: Option<&'a Parsed>) -> Option<Self> {
        let base_scheme = base.map(Parsed::scheme);
        let (scheme, after_scheme) = match split_scheme(input) {
            Some((scheme, rest)) => (scheme, rest),
            None => (base_scheme?, input),
        };
        if !is_http(scheme) {
            return None;
        }
        let rest = after_scheme.trim_start_matches(['/', '\\']);
        let slashes = after_scheme.len() - rest.len();
        let may_be_relative = base_scheme.is_some_and(|base| base.eq_ignore_ascii_case(scheme));
        if slashes < 2 && may_be_relative {
            return None;
        }
        let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
        let host_start = rest[..end].rfind('@').map_or(0, |at| at + 1);
        let host_end = host_start + host_len(&rest[host_start..end]);
        Some(Self {
            scheme,
            userinfo: &rest[..host_start],
            host: &rest[host_start..host_end],
            rest: &rest[host_end..],
        })
    }
}

/// How much of `host:port` is host; colons in an IPv6 address end nothing.
fn host_len(host_and_port: &str) -> usize {
    let brackets = match host_and_port.strip_prefix('[') {
        Some(inner) => inner.find(']').map_or(host_and_port.len(), |end| end + 2),
        None => 0,
    };
    let colon = host_and_port[brackets..].find(':');
    colon.map_or(host_and_port.len(), |colon| brackets + colon)
}

/// The host of an http(s) reference as it was written, to tell a person about it.
pub(super) fn host_as_written(input: &str, base: Option<&Parsed>) -> String {
    let input = strip(input);
    let authority = Authority::find(&input, base);
    authority.map_or_else(String::new, |authority| authority.host.to_owned())
}

/// Removes what the standard's parser ignores: C0 controls and spaces around,
/// tabs and newlines anywhere.
pub(super) fn strip(input: &str) -> Cow<'_, str> {
    let trimmed = input.trim_matches(|c: char| c <= ' ');
    if trimmed.contains(['\t', '\n', '\r']) {
        Cow::Owned(trimmed.replace(['\t', '\n', '\r'], ""))
    } else {
        Cow::Borrowed(trimmed)
    }
}

/// The scheme of a stripped reference and what follows its colon.
pub(super) fn split_scheme(input: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = input.split_once(':')?;
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let valid =
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(is_scheme_byte);
    valid.then_some((scheme, rest))
}

/// Whether a scheme, in any case, is http or https.
pub(super) fn is_http(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn href(input: &str, base: Option<&str>) -> Option<String> {
        let base = base.map(|base| parse(base, None).expect("base"));
        let parsed = parse(input, base.as_ref()).ok()?;
        Some(parsed.href().into_owned())
    }

    #[test]
    fn surplus_slashes_are_ignored() {
        let base = Some("https://base.example/dir/");
        for reference in ["///h/p", "/\\/h/p", "\\\\\\/h/p", "/\n//h/p", " ////h/p"] {
            let got = href(reference, base);
            assert_eq!(got.as_deref(), Some("https://h/p"), "{reference:?}");
        }
        assert_eq!(href("///", base), None);
    }

    #[test]
    fn ascii_hosts_skip_idna() {
        let want = Some("http://u@xn--pokxncvks.example:81/a?b#c".to_owned());
        for host in ["xn--pokxncvks", "XN--POKXNCVKS", "%78n%2D-pokxncvks"] {
            let input = format!("http://u@{host}.example:81/a?b#c");
            assert_eq!(href(&input, None), want, "{input}");
        }
        assert_eq!(href("http://xn--a.\u{df}/", None), None);
        assert_eq!(href("http://xn--a.1/", None), None);
        assert_eq!(href("http://xn--a%2Fb/", None), None);
    }

    #[test]
    fn an_odd_host_is_inherited_exactly_when_the_reference_has_none() {
        let base = Some("http://xn--pokxncvks/dir/page");
        let cases = [
            ("x", "http://xn--pokxncvks/dir/x"),
            ("http:x", "http://xn--pokxncvks/dir/x"),
            ("?q", "http://xn--pokxncvks/dir/page?q"),
            ("", "http://xn--pokxncvks/dir/page"),
            ("//xx--pokxncvks/", "http://xx--pokxncvks/"),
            ("https:x", "https://x/"),
            ("mailto:x", "mailto:x"),
            ("///xn--/", "http://xn--/"),
        ];
        for (reference, want) in cases {
            let got = href(reference, base);
            assert_eq!(got.as_deref(), Some(want), "{reference:?}");
        }
    }
}
