//! What the index takes from a copy.

use tidewatch_archive::Record;
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_parse::document::{Parsed, Wanted, parse_response};
use tidewatch_parse::links::guess_language;
use tidewatch_parse::reading::Scope;

use crate::document::{MOST_TEXT, MOST_TITLE, cut};
use crate::query::three_letters;

/// What the index takes from a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extract {
    /// The title.
    pub(crate) title: String,
    /// The visible text.
    pub(crate) text: String,
    /// The language, as a code of three letters; empty if unknown.
    pub(crate) language: String,
    /// Links with their anchor texts.
    pub(crate) links: Vec<(CanonicalUrl, String)>,
}

impl Extract {
    /// From a parsed page or plain text; `None` for anything else and for `noindex`.
    pub(crate) fn of(parsed: &Parsed) -> Option<Extract> {
        if parsed.robots.noindex {
            return None;
        }
        let links = parsed.links().map(|link| (link.url.clone(), link.anchor.clone())).collect();
        let text = parsed.text.as_deref()?;
        let said = parsed.page.as_ref().and_then(|page| page.language.as_deref());
        let title = cut(parsed.title(), MOST_TITLE).to_owned();
        let text = without_title(text, &title).to_owned();
        let language = language(&text, said);
        Some(Extract { title, text, language, links })
    }

    /// Parses an archived response again.
    pub(crate) fn of_record(record: &Record, url: &CanonicalUrl, agent: &str) -> Option<Extract> {
        let base = Base::of(url).ok()?;
        let wanted =
            Wanted { agent, shingling: None, text_bytes: MOST_TEXT, scope: Scope::Content };
        let headers = |name: &str| record.http_headers(name);
        Extract::of(&parse_response(&base, headers, record.message().1, &wanted))
    }
}

/// The text without its title, which has its own field, and without a heading that repeats it.
fn without_title<'t>(text: &'t str, title: &str) -> &'t str {
    let rest = |text: &'t str| match text.strip_prefix(title) {
        Some(rest) if rest.is_empty() || rest.starts_with('\n') => rest.trim_start(),
        _ => text,
    };
    if title.is_empty() { text } else { rest(rest(text)) }
}

/// The language detected in the text, or else the one that the page declares.
fn language(text: &str, said: Option<&str>) -> String {
    let guess = guess_language(text).filter(|guess| guess.is_reliable);
    let said = said.map(|said| said.split(['-', '_']).next().unwrap_or_default());
    let said = said.filter(|code| (2..=3).contains(&code.len()));
    let said = said.map(|code| three_letters(&code.to_ascii_lowercase()));
    guess.map_or_else(|| said.unwrap_or_default(), |guess| guess.code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_parse::document::{Source, parse};

    fn with(body: &str, robots_tags: &[&str]) -> Option<Extract> {
        let base = Base::parse("https://a.example/x/").unwrap();
        let (content_type, kind, bytes) = (Some("text/html"), None, body.as_bytes());
        let source = Source { base: &base, content_type, robots_tags, kind, bytes };
        Extract::of(&parse(&source, &Wanted::everything("Tidewatch")))
    }

    fn of(body: &str) -> Option<Extract> {
        with(body, &[])
    }

    #[test]
    fn a_page_gives_title_text_and_links() {
        let body = "<html lang=en><title>Tide &amp; time</title><script>no()</script>\
                    <h1>Tide &amp; time</h1><p>High water at noon.<p><a href=../y>next page</a>";
        let found = of(body).unwrap();
        assert_eq!(found.title, "Tide & time");
        assert_eq!(found.text, "High water at noon.\nnext page");
        assert_eq!(found.links[0].0.as_str(), "https://a.example/y");
        assert_eq!(found.links[0].1, "next page");
    }

    #[test]
    fn a_page_with_noindex_is_not_indexed() {
        assert_eq!(of("<meta name=robots content=noindex><p>secret"), None);
        assert_eq!(with("<p>secret", &["otherbot: all", "noindex"]), None);
    }

    #[test]
    fn a_page_that_is_all_surroundings_is_read_with_them() {
        let found = of("<aside><p>All there is</aside>").unwrap();
        assert_eq!(found.text, "All there is");
    }
}
