//! Names of crawls and queues.

/// The crawl of requests that name none.
const USUAL_CRAWL: &str = "DEFAULT";

/// The name of a crawl: without one it is the usual one.
pub fn crawl_name(name: &str) -> &str {
    if name.trim().is_empty() { USUAL_CRAWL } else { name }
}

/// The key of a URL's queue where none is named: its host without port. `None` if it has no host.
pub fn usual_key(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '&']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let end = match host.strip_prefix('[') {
        Some(inner) => inner.find(']').map(|at| at + 2),
        None => host.find(':'),
    };
    let host = end.map_or(host, |end| &host[..end]);
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_queue_is_the_host() {
        for (url, key) in [
            ("http://a.example/b?c", Some("a.example")),
            ("https://a.example:8443", Some("a.example")),
            ("http://user:secret@a.example/", Some("a.example")),
            ("http://[::1]:80/", Some("[::1]")),
            ("a.example?x", Some("a.example")),
            ("http:///x", None),
            ("", None),
        ] {
            assert_eq!(usual_key(url), key, "{url}");
        }
    }

    #[test]
    fn a_blank_crawl_is_the_usual_one() {
        assert_eq!([crawl_name(""), crawl_name(" "), crawl_name("x")], ["DEFAULT", "DEFAULT", "x"]);
    }
}
