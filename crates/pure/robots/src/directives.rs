//! What a page says about itself to crawlers: meta robots and `X-Robots-Tag`.
//!
//! Directives of several elements and headers add up: the strictest reading wins.

use serde::Serialize;

use crate::usage::Wishes;

/// What a crawler is asked not to do with a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(clippy::struct_excessive_bools)] // Each is one word of the protocol.
pub struct Directives {
    /// Do not show the page in search results.
    pub noindex: bool,
    /// Do not follow the links of the page.
    pub nofollow: bool,
    /// Do not offer a copy of the page.
    pub noarchive: bool,
    /// Do not show a snippet of the page.
    pub nosnippet: bool,
    /// What its owner says about its use.
    #[serde(serialize_with = "crate::usage::as_text")]
    pub wishes: Wishes,
}

/// Directives that have a value, so that the colon after them ends no crawler's name.
const WITH_VALUE: [&str; 4] =
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

/// Words of one header or element that are looked at.
const MAX_WORDS: usize = 64;

impl Directives {
    /// Adds a `<meta name content>` if it is for all crawlers or for `agent`.
    pub fn add_meta(&mut self, name: &str, content: &str, agent: &str) {
        let name = name.trim();
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(agent) {
            content.split(',').take(MAX_WORDS).for_each(|word| self.add(word));
        } else if name.eq_ignore_ascii_case("tdm-reservation") {
            self.wishes = self.wishes.and(Wishes::of_reservation(content));
        }
    }

    /// Adds an `X-Robots-Tag` header if it is for all crawlers or for `agent`. A name
    /// before a colon holds for all directives after it, up to the next name.
    pub fn add_header(&mut self, value: &str, agent: &str) {
        let mut is_for_us = true;
        for word in value.split(',').take(MAX_WORDS) {
            let directive = match word.split_once(':') {
                Some((name, rest)) if !has_value(name) => {
                    is_for_us = name.trim().eq_ignore_ascii_case(agent);
                    rest
                }
                _ => word,
            };
            if is_for_us {
                self.add(directive);
            }
        }
    }

    /// Adds one word; unknown ones ask for nothing.
    fn add(&mut self, word: &str) {
        let word = word.trim();
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        let none = is("none");
        self.noindex |= none || is("noindex");
        self.nofollow |= none || is("nofollow");
        self.noarchive |= is("noarchive") || is("nocache");
        self.wishes = self.wishes.and(Wishes::of_directive(word));
        self.nosnippet |= is("nosnippet") || is("max-snippet:0") || is("max-snippet: 0");
    }
}

fn has_value(name: &str) -> bool {
    WITH_VALUE.iter().any(|known| known.eq_ignore_ascii_case(name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(value: &str) -> Directives {
        let mut directives = Directives::default();
        directives.add_header(value, "Tidewatch");
        directives
    }

    #[test]
    fn headers() {
        assert!(header("noindex, NOFOLLOW").nofollow);
        assert_eq!(header("otherbot: none"), Directives::default());
        let mixed = header("otherbot: noindex, nofollow, tidewatch: noarchive");
        let no_archive = Wishes::of_directive("noarchive");
        assert_eq!(
            mixed,
            Directives { noarchive: true, wishes: no_archive, ..Directives::default() }
        );
        let dated = header("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex");
        let no_search = Wishes::of_directive("noindex");
        assert_eq!(dated, Directives { noindex: true, wishes: no_search, ..Directives::default() });
        assert_eq!(header("noai, otherbot: noindex").wishes.to_string(), "ai-input=n, train-ai=n");
        assert!(header("max-snippet:0").nosnippet);
    }

    #[test]
    fn elements_add_up() {
        let mut directives = Directives::default();
        directives.add_meta("ROBOTS", "noindex", "tidewatch");
        directives.add_meta("Tidewatch", "nofollow", "tidewatch");
        directives.add_meta("otherbot", "noarchive", "tidewatch");
        directives.add_meta("TDM-Reservation", "1", "tidewatch");
        assert_eq!(directives.wishes.to_string(), "search=n, ai-input=n, train-ai=n");
        let wishes = directives.wishes;
        let want = Directives { noindex: true, nofollow: true, wishes, ..Directives::default() };
        assert_eq!(directives, want);
    }
}
