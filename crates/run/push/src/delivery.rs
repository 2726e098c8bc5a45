//! Checks a delivery of a hub: is it signed, is it new, and which pages does it name?

use std::collections::VecDeque;

use ring::hmac;
use rustc_hash::FxHashSet;
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_parse::document::{Wanted, parse_response};
use tidewatch_parse::reading::Scope;
use tidewatch_partition::announced::{header_links, is_same_site};
use xxhash_rust::xxh3::xxh3_64;

/// Most entries of a topic that are remembered. Beyond that all are forgotten, so each counts as new again.
const MOST_ENTRIES: usize = 4_096;
/// Most deliveries of a topic that are remembered.
const MOST_BODIES: usize = 64;

/// Whether `header` signs `body` with `secret`: `sha256=…`, or another hash that WebSub names.
pub(crate) fn is_signed(secret: &str, header: Option<&str>, body: &[u8]) -> bool {
    let Some((method, signature)) = header.and_then(|header| header.trim().split_once('=')) else {
        return false;
    };
    let algorithm = match method {
        "sha1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        "sha256" => hmac::HMAC_SHA256,
        "sha384" => hmac::HMAC_SHA384,
        "sha512" => hmac::HMAC_SHA512,
        _ => return false,
    };
    let key = hmac::Key::new(algorithm, secret.as_bytes());
    from_hex(signature).is_some_and(|signature| hmac::verify(&key, body, &signature).is_ok())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Whether the `Link` headers agree that the content is of this topic. A delivery without `rel=self` passes:
/// each topic has a callback of its own.
pub(crate) fn is_of_topic<'h>(topic: &str, links: impl Iterator<Item = &'h str>) -> bool {
    let own = links.flat_map(header_links).filter(|(_, relation)| *relation == "self");
    own.map(|(target, _)| target).all(|target| {
        target == topic || CanonicalUrl::parse(target).is_ok_and(|url| url.as_str() == topic)
    })
}

/// What was delivered of a topic before.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    entries: FxHashSet<u64>,
    bodies: VecDeque<u64>,
}

/// What is new in a delivery.
#[derive(Clone, Debug, Default)]
pub(crate) struct News {
    pub(crate) urls: Vec<CanonicalUrl>,
    /// Hashes of what the delivery says of them.
    entries: FxHashSet<u64>,
    body: u64,
}

impl Seen {
    /// The pages of the topic's own site that a delivery names for the first time, or with another date or
    /// title than before. For a body that is not a feed, the topic itself. `None` if this very delivery came
    /// before.
    pub(crate) fn news(
        &self,
        topic: &CanonicalUrl,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Option<News> {
        let mut new = News { body: xxh3_64(body), ..News::default() };
        if self.bodies.contains(&new.body) {
            return None;
        }
        let Ok(base) = Base::of(topic) else { return Some(new) };
        let headers = |name: &str| -> Vec<&str> {
            content_type.filter(|_| name == "content-type").into_iter().collect()
        };
        let wanted = Wanted { agent: "", shingling: None, text_bytes: 0, scope: Scope::Content };
        let parsed = parse_response(&base, headers, body, &wanted);
        if parsed.feed.is_none() {
            new.urls.push(topic.clone());
            return Some(new);
        }
        let named = parsed.named(&base).filter(|named| is_same_site(&named.url, topic));
        for named in named {
            let said = format!("{}\n{:?}\n{}", named.url, named.changed_s, named.title);
            let hash = xxh3_64(said.as_bytes());
            if new.urls.len() < MOST_ENTRIES
                && !self.entries.contains(&hash)
                && new.entries.insert(hash)
            {
                new.urls.push(named.url);
            }
        }
        Some(new)
    }

    /// From now on this is no news.
    pub(crate) fn mark(&mut self, news: &News) {
        if self.entries.len() >= MOST_ENTRIES {
            self.entries.clear();
        }
        self.entries.extend(&news.entries);
        if self.bodies.contains(&news.body) {
            return;
        }
        if self.bodies.len() >= MOST_BODIES {
            self.bodies.pop_front();
        }
        self.bodies.push_back(news.body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rss(items: &[(&str, &str)]) -> String {
        let item = |(url, title): &(&str, &str)| {
            format!("<item><title>{title}</title><link>{url}</link></item>")
        };
        let items: String = items.iter().map(item).collect();
        format!("<rss version='2.0'><channel>{items}</channel></rss>")
    }

    /// RFC 4231, test case 2.
    #[test]
    fn signatures_are_checked() {
        let body = b"what do ya want for nothing?";
        let right = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert!(is_signed("Jefe", Some(right), body));
        assert!(is_signed("Jefe", Some("sha1=effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"), body));
        assert!(!is_signed("Jefe", Some(right), b"something else"));
        assert!(!is_signed("other", Some(right), body));
        for wrong in ["", "sha256=", "sha256=5bdc", "sha256=zz", "md5=00", "5bdcc146", "sha256=é"]
        {
            assert!(!is_signed("Jefe", Some(wrong), body), "{wrong}");
        }
        assert!(!is_signed("Jefe", None, body));
    }

    #[test]
    fn a_delivery_of_another_topic_is_noticed() {
        let topic = "http://a.example/feed";
        let is = |link: &str| is_of_topic(topic, [link].into_iter());
        assert!(is("<http://hub.example/>; rel=\"hub\", <http://a.example/feed>; rel=\"self\""));
        assert!(is("<http://hub.example/>; rel=hub") && is("<HTTP://A.example/feed>; rel=self"));
        assert!(!is("<http://a.example/other>; rel=self"));
        assert!(is_of_topic(topic, [].into_iter()));
    }

    #[test]
    fn only_news_of_the_own_site_are_hints() {
        let (mut seen, topic) =
            (Seen::default(), CanonicalUrl::parse("http://a.example/f").unwrap());
        let mut news = |body: &str| {
            let news = seen.news(&topic, Some("application/rss+xml"), body.as_bytes());
            let news = news.unwrap_or_default();
            seen.mark(&news);
            news.urls.into_iter().map(CanonicalUrl::into_string).collect::<Vec<_>>()
        };
        let first = rss(&[("/1", "one"), ("http://b.example/2", "two"), ("/3", "three")]);
        assert_eq!(news(&first), ["http://a.example/1", "http://a.example/3"]);
        let second = rss(&[("/4", "four"), ("/1", "one"), ("/3", "three, corrected")]);
        assert_eq!(news(&second), ["http://a.example/4", "http://a.example/3"]);
        assert_eq!(news("<html><p>changed</p></html>"), ["http://a.example/f"]);
        assert!(news(&second).is_empty(), "it came before");
    }

    #[test]
    fn a_delivery_that_was_not_taken_is_news_again() {
        let (mut seen, topic) =
            (Seen::default(), CanonicalUrl::parse("http://a.example/f").unwrap());
        let body = rss(&[("/1", "one")]);
        let first = seen.news(&topic, Some("application/rss+xml"), body.as_bytes()).unwrap();
        let again = seen.news(&topic, Some("application/rss+xml"), body.as_bytes()).unwrap();
        assert_eq!((first.urls.len(), again.urls.len()), (1, 1));
        seen.mark(&again);
        assert!(seen.news(&topic, Some("application/rss+xml"), body.as_bytes()).is_none());
    }
}
