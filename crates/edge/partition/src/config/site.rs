//! Settings of single hosts, and secrets that are never shown.
//!
//! ```toml
//! [host."docs.example.com"]        # or one origin: [host."http://intranet:8080"]
//! delay = "500ms"                  # or rate = "2/s"
//! own = true                       # do not obey its robots.txt
//! basic = "user:password"          # or bearer = "token"
//! cookie = "session=…"
//! headers = { X-Key = "…" }
//! ```
//!
//! Credentials, cookies and headers go to one origin only: the one named, or `https://` and the host named.
//! So they are never sent in plain text unless the section says `http://`.

use std::fmt;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Span};
use toml::{Table, Value};

use super::BadConfig;
use super::value::Setting;
use crate::scope::ListedHost;

/// A text that is neither shown nor logged.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: &str) -> Secret {
        Secret(text.to_owned())
    }

    /// The text, if there is any.
    pub(crate) fn reveal(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "(not shown)" })
    }
}

impl Setting for Secret {
    fn read(&mut self, value: &Value) -> Result<(), &'static str> {
        self.0.read(value)
    }

    fn show(&self) -> String {
        if self.0.is_empty() { "\"\"".to_owned() } else { "\"\" # set, but not shown".to_owned() }
    }
}

/// Settings of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// As the section names it.
    name: String,
    host: String,
    /// The origin named, or `https://` and the host named.
    origin: String,
    /// Whether `origin` was named: then other origins of the host are not meant.
    is_origin: bool,
    delay: Option<Span>,
    is_own: bool,
    headers: Vec<(String, Secret)>,
}

/// Headers that the crawler sets itself.
const TAKEN: [&str; 12] = [
    "host",
    "user-agent",
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "if-modified-since",
    "if-none-match",
    "proxy-authorization",
    "range",
    "te",
    "transfer-encoding",
];

impl Site {
    /// A host without settings.
    pub fn new(name: &str) -> Result<Site, BadConfig> {
        let bad = || BadConfig::BadSite {
            site: name.to_owned(),
            why: "it must be a host such as \"a.example\" or an origin such as \
                  \"http://a.example:8080\""
                .to_owned(),
        };
        let is_origin = name.contains("://");
        let (host, origin) = if is_origin {
            let url = CanonicalUrl::parse(name).map_err(|_| bad())?;
            if url.path_and_query() != "/" {
                return Err(bad());
            }
            (url.host().to_owned(), url.origin().to_owned())
        } else {
            let host: ListedHost = name.parse().map_err(|_| bad())?;
            let host = host.to_string();
            if host.starts_with('*') {
                return Err(bad());
            }
            let origin = format!("https://{host}");
            (host, origin)
        };
        let (name, headers) = (name.to_owned(), Vec::new());
        Ok(Site { name, host, origin, is_origin, delay: None, is_own: false, headers })
    }

    /// The same host, named as the operator's own.
    #[must_use]
    pub fn owned(self) -> Site {
        Site { is_own: true, ..self }
    }

    /// Reads the section of a host.
    pub(super) fn read(name: &str, section: &Table) -> Result<Site, BadConfig> {
        let mut site = Site::new(name)?;
        for (key, value) in section {
            let bad = |why: String| BadConfig::BadSite { site: name.to_owned(), why };
            let wanted = |wanted| bad(format!("`{key}` must be {wanted}"));
            let text = || value.as_str().ok_or_else(|| wanted("text in quotes"));
            match key.as_str() {
                "delay" => {
                    let mut delay = Span::ZERO;
                    delay.read(value).map_err(wanted)?;
                    site.delay = Some(delay);
                }
                "rate" => {
                    let mut rate = Rate::ZERO;
                    rate.read(value).map_err(wanted)?;
                    if rate == Rate::ZERO {
                        return Err(wanted("a rate above 0"));
                    }
                    site.delay = Span::from_seconds(rate.as_per_second().recip());
                }
                "own" => site.is_own.read(value).map_err(wanted)?,
                "basic" => {
                    let value = format!("Basic {}", base64(text()?.as_bytes()));
                    site.add_header("Authorization", &value).map_err(bad)?;
                }
                "bearer" => {
                    let value = format!("Bearer {}", text()?);
                    site.add_header("Authorization", &value).map_err(bad)?;
                }
                "cookie" => site.add_header("Cookie", text()?).map_err(bad)?,
                "headers" => {
                    let table = value.as_table();
                    for (name, value) in table.ok_or_else(|| wanted("a table of texts"))? {
                        let value = value.as_str().ok_or_else(|| wanted("a table of texts"))?;
                        site.add_header(name, value).map_err(bad)?;
                    }
                }
                _ => {
                    return Err(bad(format!(
                        "there is no `{key}`; write delay, rate, own, basic, bearer, cookie or headers"
                    )));
                }
            }
        }
        if section.contains_key("delay") && section.contains_key("rate") {
            let why = "give `delay` or `rate`, not both".to_owned();
            return Err(BadConfig::BadSite { site: name.to_owned(), why });
        }
        Ok(site)
    }

    /// Adds a header; the error does not show its value.
    fn add_header(&mut self, name: &str, value: &str) -> Result<(), String> {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_token) {
            return Err(format!("`{name}` is not the name of a header"));
        }
        if TAKEN.iter().any(|taken| name.eq_ignore_ascii_case(taken)) {
            return Err(format!("the crawler sets the header `{name}` itself"));
        }
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(format!("the value of `{name}` must be printable ASCII in one line"));
        }
        if self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Err(format!("the header `{name}` is set twice"));
        }
        self.headers.push((name.to_owned(), Secret::new(value)));
        Ok(())
    }

    /// Whether the settings are those of an origin.
    pub(crate) fn is_of(&self, url: &CanonicalUrl) -> bool {
        if self.is_origin { self.origin == url.origin() } else { self.host == url.host() }
    }

    /// Least time between two requests, if set.
    pub(crate) const fn delay(&self) -> Option<Span> {
        self.delay
    }

    /// Whether robots.txt is not obeyed.
    pub(crate) const fn is_own(&self) -> bool {
        self.is_own
    }

    /// The host, or the origin where one was named.
    pub(crate) fn name(&self) -> &str {
        if self.is_origin { &self.origin } else { &self.host }
    }

    /// The headers, and the only origin that they are sent to.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.headers.iter().map(|(name, value)| {
            (self.origin.as_str(), name.as_str(), value.reveal().unwrap_or_default())
        })
    }

    /// The section as TOML, without its secrets.
    pub(super) fn show(&self) -> String {
        let mut lines = format!("\n[host.{}]\n", Value::String(self.name.clone()));
        if let Some(delay) = self.delay {
            lines += &("delay = ".to_owned() + &delay.show() + "\n");
        }
        if self.is_own {
            lines += "own = true\n";
        }
        for (name, _) in &self.headers {
            lines += &("# The header ".to_owned() + name + " is set, but not shown.\n");
        }
        lines
    }
}

/// RFC 4648 §4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(*chunk.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn base64_as_in_the_rfc() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (text, expected) in cases {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn secrets_go_to_one_origin_and_are_never_shown() {
        let text = "[host.\"a.example\"]\nrate = \"4/s\"\nown = true\nbasic = \"me:hush\"\n\
                    cookie = \"id=hush\"\n[host.\"http://b.example:8080\"]\nheaders = { X-Key = \"hush\" }\n\
                    [network]\nproxy_authorization = \"Basic hush\"";
        let config = Config::parse(text).unwrap();
        let [a, b] = &config.sites[..] else { panic!("{:?}", config.sites) };
        let headers: Vec<_> = a.headers().chain(b.headers()).collect();
        assert_eq!(
            headers,
            [
                ("https://a.example", "Authorization", "Basic bWU6aHVzaA=="),
                ("https://a.example", "Cookie", "id=hush"),
                ("http://b.example:8080", "X-Key", "hush"),
            ]
        );
        assert_eq!((a.delay(), a.is_own()), (Some(Span::from_micros(250_000)), true));
        let url = |text| CanonicalUrl::parse(text).unwrap();
        assert!(a.is_of(&url("http://a.example:81/x")) && !a.is_of(&url("https://b.a.example/")));
        assert!(b.is_of(&url("http://b.example:8080/")) && !b.is_of(&url("https://b.example/")));
        for shown in [config.to_toml(), format!("{config:?}")] {
            assert!(!shown.contains("hush") && !shown.contains("bWU6"), "{shown}");
        }
        assert!(Config::parse(&config.to_toml()).is_ok());
    }

    #[test]
    fn errors_of_a_section_do_not_show_its_secret() {
        let cases = [
            ("[host.\"a b\"]", "must be a host such as"),
            ("[host.\"*.a.example\"]", "must be a host such as"),
            ("[host.\"http://a.example/x\"]", "must be a host such as"),
            ("[host.\"a.example\"]\npassword = \"hush\"", "there is no `password`"),
            ("[host.\"a.example\"]\nrate = \"0/s\"", "a rate above 0"),
            ("[host.\"a.example\"]\ndelay = \"1s\"\nrate = \"1/s\"", "not both"),
            ("[host.\"a.example\"]\ncookie = \"hush\\nX: 1\"", "printable ASCII"),
            (
                "[host.\"a.example\"]\nheaders = { Host = \"hush\" }",
                "sets the header `Host` itself",
            ),
            ("[host.\"a.example\"]\nbasic = \"hush\"\nbearer = \"hush\"", "set twice"),
            ("[host]\nx = 1", "is a section of its own"),
        ];
        for (text, expected) in cases {
            let error = Config::parse(text).expect_err(text).to_string();
            assert!(error.contains(expected) && !error.contains("hush"), "{error}");
        }
    }
}
