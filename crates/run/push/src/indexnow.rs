//! IndexNow: a publisher says which of its URLs are new or have changed. A key file on its host proves that
//! it is the publisher.
//!
//! The checks here need no network: the form of the key, and that every URL belongs to the host and the
//! directory of the key file.

use serde::Deserialize;
use tidewatch_core::url::CanonicalUrl;

/// Most URLs of a submission, as the protocol has it.
const MOST_URLS: usize = 10_000;
/// Length of a key.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 8..=128;

/// The body of a submission of several URLs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Many {
    host: String,
    key: String,
    key_location: Option<String>,
    url_list: Vec<String>,
}

/// The query of a submission of one URL.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct One {
    url: String,
    key: String,
    key_location: Option<String>,
}

/// A submission whose parts fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Submission {
    /// Host and port that the URLs belong to.
    pub(crate) publisher: String,
    pub(crate) key: String,
    /// Where the key must be found.
    pub(crate) key_file: CanonicalUrl,
    pub(crate) urls: Vec<CanonicalUrl>,
}

/// Why a submission is refused before its key file is looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("there is no URL in it")]
    Empty,
    #[error("more than {MOST_URLS} URLs")]
    Many,
    #[error("`{0}` is no URL")]
    NoUrl(String),
    #[error("a key has 8 to 128 of a to z, A to Z, 0 to 9 and hyphen")]
    Key,
    #[error("{0} does not belong to the host {1}")]
    Foreign(CanonicalUrl, String),
    #[error("the key file {0} does not speak for {1}")]
    Unspoken(CanonicalUrl, CanonicalUrl),
    /// A page that repeats its query would prove any key.
    #[error("the address of a key file has no query and no fragment")]
    Asking,
}

impl Unfit {
    /// The status that the protocol gives it.
    pub(crate) const fn status(&self) -> u16 {
        match self {
            Unfit::Empty | Unfit::Many | Unfit::NoUrl(_) => 400,
            Unfit::Key | Unfit::Foreign(..) | Unfit::Unspoken(..) | Unfit::Asking => 422,
        }
    }
}

/// Host and port of a URL, without the usual port.
pub(crate) fn authority(url: &CanonicalUrl) -> &str {
    url.origin().split_once("://").map_or_else(|| url.host(), |(_, authority)| authority)
}

impl One {
    pub(crate) fn check(self) -> Result<Submission, Unfit> {
        let One { url, key, key_location } = self;
        let host = authority(&parse(&url)?).to_owned();
        Many { host, key, key_location, url_list: vec![url] }.check()
    }
}

impl Many {
    pub(crate) fn check(self) -> Result<Submission, Unfit> {
        let Many { host, key, key_location, url_list } = self;
        if url_list.len() > MOST_URLS {
            return Err(Unfit::Many);
        }
        let is_of_key = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if !KEY_BYTES.contains(&key.len()) || !key.bytes().all(is_of_key) {
            return Err(Unfit::Key);
        }
        let urls = url_list.iter().map(|url| parse(url)).collect::<Result<Vec<_>, _>>()?;
        let first = urls.first().ok_or(Unfit::Empty)?;
        let publisher = authority(first).to_owned();
        let is_of_host = |url: &&CanonicalUrl| {
            let authority = authority(url);
            authority == publisher
                && (host.eq_ignore_ascii_case(authority) || host.eq_ignore_ascii_case(url.host()))
        };
        if let Some(foreign) = urls.iter().find(|url| !is_of_host(url)) {
            return Err(Unfit::Foreign(foreign.clone(), host));
        }
        let key_file = key_file(&urls, &publisher, &key, key_location.as_deref())?;
        Ok(Submission { publisher, key, key_file, urls })
    }
}

fn parse(url: &str) -> Result<CanonicalUrl, Unfit> {
    CanonicalUrl::parse(url).map_err(|_| Unfit::NoUrl(url.chars().take(100).collect()))
}

/// The URL of the key file. An error if a file there is not valid for all URLs; one over HTTP is not valid
/// for HTTPS URLs.
fn key_file(
    urls: &[CanonicalUrl],
    publisher: &str,
    key: &str,
    location: Option<&str>,
) -> Result<CanonicalUrl, Unfit> {
    let scheme = if urls.iter().any(CanonicalUrl::is_https) { "https" } else { "http" };
    let usual = format!("{scheme}://{publisher}/{key}.txt");
    let location = location.unwrap_or(&usual);
    let file = parse(location)?;
    if location.contains(['?', '#']) {
        return Err(Unfit::Asking);
    }
    let path = file.path();
    let directory = &path[..path.rfind('/').map_or(0, |at| at + 1)];
    let is_spoken_for = |url: &CanonicalUrl| {
        authority(&file) == publisher
            && (file.is_https() || !url.is_https())
            && url.path().starts_with(directory)
    };
    match urls.iter().find(|url| !is_spoken_for(url)) {
        Some(url) => Err(Unfit::Unspoken(file, url.clone())),
        None => Ok(file),
    }
}

/// Whether a key file has the key on a line of its own.
pub(crate) fn names_key(file: &[u8], key: &str) -> bool {
    let text = String::from_utf8_lossy(file);
    text.trim_start_matches('\u{feff}').lines().any(|line| line.trim() == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef";

    fn many(host: &str, location: Option<&str>, urls: &[&str]) -> Result<Submission, Unfit> {
        let url_list = urls.iter().map(|url| (*url).to_owned()).collect();
        let key_location = location.map(str::to_owned);
        Many { host: host.to_owned(), key: KEY.to_owned(), key_location, url_list }.check()
    }

    fn status(result: &Result<Submission, Unfit>) -> u16 {
        result.as_ref().err().map_or(200, Unfit::status)
    }

    #[test]
    fn a_key_speaks_for_its_host_and_directory() {
        let fit = many("A.example", None, &["https://a.example/1", "http://a.example/2"]).unwrap();
        assert_eq!(fit.key_file.as_str(), format!("https://a.example/{KEY}.txt"));
        assert_eq!((fit.publisher.as_str(), fit.urls.len()), ("a.example", 2));
        let port = many("a.example:81", None, &["http://a.example:81/1"]).unwrap();
        assert_eq!(port.key_file.as_str(), format!("http://a.example:81/{KEY}.txt"));
        let below = Some("https://a.example/blog/key.txt");
        assert!(many("a.example", below, &["https://a.example/blog/1"]).is_ok());
        for (location, url) in [
            (below, "https://a.example/shop/1"),
            (below, "https://a.example/blogs"),
            (Some("https://b.example/key.txt"), "https://a.example/1"),
            (Some("https://a.example:444/key.txt"), "https://a.example/1"),
            (Some("http://a.example/key.txt"), "https://a.example/1"),
            (Some("https://a.example/search?q=0123456789abcdef"), "https://a.example/1"),
            (Some("https://a.example/search?utm_source=0123456789abcdef"), "https://a.example/1"),
            (Some("https://a.example/key.txt#0123456789abcdef"), "https://a.example/1"),
        ] {
            assert_eq!(status(&many("a.example", location, &[url])), 422, "{location:?} {url}");
        }
    }

    #[test]
    fn submissions_that_do_not_fit_are_refused() {
        let foreign = many("a.example", None, &["http://a.example/1", "http://b.example/1"]);
        assert_eq!(status(&foreign), 422);
        assert_eq!(status(&many("b.example", None, &["http://a.example/1"])), 422);
        assert_eq!(status(&many("a.example", None, &[])), 400);
        assert_eq!(status(&many("a.example", None, &["mailto:a@a.example"])), 400);
        assert_eq!(status(&many("a.example", None, &vec!["http://a.example/"; 10_001])), 400);
        for key in ["short", "no spaces in it", "../../../etc/passwd", &"k".repeat(129)] {
            let url = "http://a.example/".to_owned();
            let one = One { url, key: key.to_owned(), key_location: None };
            assert_eq!(status(&one.check()), 422, "{key}");
        }
    }

    #[test]
    fn a_key_file_names_its_key_on_a_line() {
        assert!(names_key(format!("\u{feff}{KEY}\r\n").as_bytes(), KEY));
        assert!(names_key(format!("other\n {KEY} ").as_bytes(), KEY));
        assert!(!names_key(format!("<p>{KEY}</p>").as_bytes(), KEY));
        assert!(!names_key(b"\xff\xfe", KEY));
    }
}
