//! The words of a copy.

use tidewatch_archive::Record;
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_parse::charset::{decode, label_of};
use tidewatch_parse::html::scan;
use tidewatch_parse::links::{Links, Page, guess_language};
use tidewatch_parse::plain_text::PlainText;
use tidewatch_parse::reading::{Reading, Scope};

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

/// The words of an archived response that holds HTML or plain text. `None` for anything else, and
/// for a page with `noindex`.
pub(crate) fn extract(record: &Record, url: &CanonicalUrl, agent: &str) -> Option<Extract> {
    let kind = record.http_header("content-type").unwrap_or_default();
    let media_type = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let body = record.message().1;
    let text = decode(body, label_of(&kind)).text;
    match media_type.as_str() {
        "text/html" | "application/xhtml+xml" | "" => {
            let robots = record.http_header("x-robots-tag");
            html(&text, url, robots.as_deref(), agent)
        }
        "text/plain" => {
            let text = cut(&text, MOST_TEXT).to_owned();
            let language = language(&text, None);
            Some(Extract { text, language, ..Extract::default() })
        }
        _ => None,
    }
}

/// The words of a decoded page.
pub(crate) fn html(
    html: &str,
    url: &CanonicalUrl,
    robots_header: Option<&str>,
    agent: &str,
) -> Option<Extract> {
    let base = Base::of(url).ok()?;
    let reading = Reading::new(PlainText::of_at_most(MOST_TEXT), Scope::Content);
    let mut visitors = (Links::new(agent), reading);
    scan(html, &mut visitors);
    let (links, reading) = visitors;
    let mut page = links.finish(&base);
    robots_header.into_iter().for_each(|value| page.robots.add_header(value, agent));
    if page.robots.noindex {
        return None;
    }
    let surrounded = reading.left_surroundings_out();
    let mut text = reading.reader.lines();
    if text.is_empty() && surrounded {
        let mut reading = Reading::new(PlainText::of_at_most(MOST_TEXT), Scope::Everything);
        scan(html, &mut reading);
        text = reading.reader.lines();
    }
    let title = cut(page.title.as_deref().unwrap_or_default(), MOST_TITLE).to_owned();
    let text = without_title(&text, &title).to_owned();
    let language = language(&text, page.language.as_deref());
    Some(Extract { title, text, language, links: links_of(page) })
}

/// The text without its title, which has its own field, and without a heading that repeats it.
fn without_title<'t>(text: &'t str, title: &str) -> &'t str {
    let rest = |text: &'t str| match text.strip_prefix(title) {
        Some(rest) if rest.is_empty() || rest.starts_with('\n') => rest.trim_start(),
        _ => text,
    };
    if title.is_empty() { text } else { rest(rest(text)) }
}

fn links_of(page: Page) -> Vec<(CanonicalUrl, String)> {
    if page.robots.nofollow {
        return Vec::new();
    }
    let links = page.links.into_iter().filter(|link| !link.rel.nofollow);
    links.map(|link| (link.url, link.anchor)).collect()
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

    fn of(body: &str) -> Option<Extract> {
        let url = CanonicalUrl::parse("https://a.example/x/").unwrap();
        html(body, &url, None, "Tidewatch")
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
    fn a_page_that_does_not_want_to_be_found_is_not() {
        assert_eq!(of("<meta name=robots content=noindex><p>secret"), None);
        let url = CanonicalUrl::parse("https://a.example/").unwrap();
        assert_eq!(html("<p>secret", &url, Some("noindex"), "Tidewatch"), None);
    }

    #[test]
    fn a_page_that_is_all_surroundings_is_read_with_them() {
        let found = of("<aside><p>All there is</aside>").unwrap();
        assert_eq!(found.text, "All there is");
    }
}
