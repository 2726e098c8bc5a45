//! What a `robots.txt` asks of us, as far as the demo's own web needs it.
//!
//! Understands the group for all agents, `Disallow` as a plain prefix and
//! `Crawl-delay`. The crawler proper has a parser of the whole standard.

use tidewatch_core::Span;

/// Longest file that is looked at.
const LIMIT: usize = 64 << 10;
/// Rules kept.
const RULES: usize = 256;

/// What a host asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Robots {
    disallowed: Vec<String>,
    /// Pause between two fetches.
    pub(super) delay: Span,
}

impl Robots {
    pub(super) fn parse(text: &str) -> Self {
        let mut robots = Robots::default();
        let mut is_ours = false;
        for line in text[..text.floor_char_boundary(LIMIT)].lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((field, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match field.trim().to_ascii_lowercase().as_str() {
                "user-agent" => is_ours = value == "*",
                "disallow" if is_ours && !value.is_empty() && robots.disallowed.len() < RULES => {
                    robots.disallowed.push(value.to_owned());
                }
                "crawl-delay" if is_ours => {
                    let delay = value.parse().ok().and_then(Span::from_seconds);
                    robots.delay = delay.unwrap_or_default().min(Span::HOUR);
                }
                _ => {}
            }
        }
        robots
    }

    pub(super) fn allows(&self, path: &str) -> bool {
        !self.disallowed.iter().any(|prefix| path.starts_with(prefix.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_for_all_counts() {
        let text = "User-agent: other\nDisallow: /\n\nUser-agent: *  # all\n\
                    disallow: /private/\nDisallow:\nCrawl-delay: 2.5\nSitemap: http://x/s.xml\n";
        let robots = Robots::parse(text);
        assert!(!robots.allows("/private/members"));
        assert!(robots.allows("/private"));
        assert!(robots.allows("/"));
        assert_eq!(robots.delay, Span::from_micros(2_500_000));
    }

    #[test]
    fn nonsense_asks_nothing() {
        for text in ["", "\u{0}\u{ffff}", "Disallow: /", "User-agent: *\nCrawl-delay: NaN"] {
            assert_eq!(Robots::parse(text), Robots::default(), "{text}");
        }
    }
}
