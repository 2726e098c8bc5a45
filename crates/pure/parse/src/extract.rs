//! What a search index takes from a document.

use serde::{Deserialize, Serialize};
use tidewatch_core::PageKey;

use crate::document::Parsed;
use crate::links::{guess_language, three_letters};

/// Most bytes of a title.
pub const MOST_TITLE: usize = 512;

/// The words of a document and the anchor texts of its links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    /// The title.
    pub title: String,
    /// The visible text without the title; `None` if there is nothing to index: no words, `noindex`.
    pub text: Option<String>,
    /// The language, as a code of three letters; empty if unknown.
    pub language: String,
    /// Targets of links, with their anchor texts.
    pub anchors: Vec<(PageKey, String)>,
}

impl Extract {
    /// Takes the text out of a parsed document and copies the rest.
    pub fn take(parsed: &mut Parsed) -> Extract {
        let text = parsed.text.take().filter(|_| !parsed.robots.noindex);
        let Some(mut text) = text else { return Extract::default() };
        let title = parsed.title();
        let title = title[..title.floor_char_boundary(MOST_TITLE)].to_owned();
        let beginning = text.len() - without_title(&text, &title).len();
        text.drain(..beginning);
        let said = parsed.page.as_ref().and_then(|page| page.language.as_deref());
        let language = language(&text, said);
        let anchors =
            parsed.links().map(|link| (PageKey::of(link.url.as_str()), link.anchor.clone()));
        Extract { title, language, anchors: anchors.collect(), text: Some(text) }
    }

    /// Approximate bytes in memory.
    pub fn bytes(&self) -> usize {
        let anchors =
            self.anchors.iter().map(|(_, words)| words.len() + size_of::<(PageKey, String)>());
        let text = self.text.as_ref().map_or(0, String::len);
        size_of::<Extract>() + self.title.len() + text + anchors.sum::<usize>()
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
    use crate::document::{Source, Wanted, parse};
    use tidewatch_core::url::Base;

    fn with(body: &str, robots_tags: &[&str]) -> Extract {
        let base = Base::parse("https://a.example/x/").unwrap();
        let (content_type, kind, bytes) = (Some("text/html"), None, body.as_bytes());
        let source = Source { base: &base, content_type, robots_tags, kind, bytes };
        Extract::take(&mut parse(&source, &Wanted::everything("Tidewatch")))
    }

    fn of(body: &str) -> Extract {
        with(body, &[])
    }

    #[test]
    fn a_page_gives_title_text_and_anchors() {
        let body = "<html lang=en><title>Tide &amp; time</title><script>no()</script>\
                    <h1>Tide &amp; time</h1><p>High water at noon.<p><a href=../y>next page</a>";
        let found = of(body);
        assert_eq!(found.title, "Tide & time");
        assert_eq!(found.text.as_deref(), Some("High water at noon.\nnext page"));
        let target = PageKey::of("https://a.example/y");
        assert_eq!(found.anchors, [(target, "next page".to_owned())]);
    }

    #[test]
    fn a_page_with_noindex_is_not_indexed() {
        assert_eq!(of("<meta name=robots content=noindex><p>secret"), Extract::default());
        assert_eq!(with("<p>secret", &["otherbot: all", "noindex"]), Extract::default());
    }

    #[test]
    fn a_page_that_is_all_surroundings_is_read_with_them() {
        let found = of("<aside><p>All there is</aside>");
        assert_eq!(found.text.as_deref(), Some("All there is"));
    }
}
