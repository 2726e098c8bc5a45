//! The key under which an index lists a URL.
//!
//! Replay tools (pywb, OpenWayback) look a URL up by its SURT after the canonicalisation of the
//! Internet Archive: percent-escapes are undone and written once, `www.` and its numbered kin are
//! dropped, path and query are in lower case, the query's arguments are sorted, empty path segments
//! and a final slash go. Captures whose URLs differ in nothing else share a key; the `url` of their
//! lines tells them apart. Session identifiers stay, which these tools drop.

use tidewatch_core::url::CanonicalUrl;

/// The index key of a URL; the URL itself if it cannot be read.
pub(crate) fn key(url: &str) -> String {
    let Ok(url) = CanonicalUrl::parse(url) else { return url.to_owned() };
    let origin = url.origin();
    let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
    let port = &authority[url.host().len().min(authority.len())..];
    let (path, query) = match url.path_and_query().split_once('?') {
        Some((path, query)) => (path, query),
        None => (url.path_and_query(), ""),
    };
    let mut key = format!("{}{port}){}", host_key(url.host()), path_key(path));
    if !query.is_empty() {
        key.push('?');
        key += &query_key(query);
    }
    key
}

/// The labels of a host, last first.
fn host_key(host: &str) -> String {
    let host = host.trim_matches(['[', ']']);
    let unnumbered = host.strip_prefix("www").map(|rest| rest.trim_start_matches(is_digit));
    let host = unnumbered.and_then(|rest| rest.strip_prefix('.')).unwrap_or(host);
    host.rsplit('.').collect::<Vec<_>>().join(",")
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn path_key(path: &str) -> String {
    let bytes = unescaped(path);
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in bytes.split(|&byte| byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." if kept.pop().is_some() => {}
            segment => kept.push(segment),
        }
    }
    format!("/{}", escaped(&kept.join(&b'/')))
}

fn query_key(query: &str) -> String {
    let query = escaped(&unescaped(query));
    let mut arguments: Vec<&str> = query.split('&').collect();
    arguments.sort_by_key(|argument| match argument.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (*argument, None),
    });
    arguments.join("&")
}

/// Undoes percent-escapes, those that undoing others brings about included, in one pass.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    for &byte in text.as_bytes() {
        bytes.push(byte);
        while let [.., b'%', high, low] = bytes[..]
            && let (Some(high), Some(low)) = (hex(high), hex(low))
        {
            bytes.truncate(bytes.len() - 3);
            bytes.push(high << 4 | low);
        }
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// In lower case, with `%`, `#`, blanks, control characters and everything but ASCII escaped.
fn escaped(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && !matches!(byte, b'%' | b'#') {
            text.push(char::from(byte.to_ascii_lowercase()));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}
