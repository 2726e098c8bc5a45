//! HTML pages.

use super::{Parsed, Parser, Source, Wanted};
use crate::charset::decode;
use crate::fragments::{self, Shingler};
use crate::html::scan;
use crate::links::Links;
use crate::plain_text::PlainText;
use crate::reading::{Reader as _, Reading, Scope};
use crate::script::Scripts;

pub(super) const PARSER: Parser = Parser {
    name: "html",
    claims: |media_type| matches!(media_type, "text/html" | "application/xhtml+xml"),
    looks_like: |_| true,
    parse: |source, wanted| Ok(parse(source, wanted)),
};

type Readers = (Option<Shingler>, Option<PlainText>);

fn parse(source: &Source<'_>, wanted: &Wanted<'_>) -> Parsed {
    let decoded = decode(source.bytes, source.label());
    let links = Links::new(wanted.agent).in_encoding(decoded.encoding);
    let mut visitors = (links, reading(wanted, wanted.scope), Scripts::default());
    scan(&decoded.text, &mut visitors);
    let (links, mut reading, scripts) = visitors;
    reading.reader.end_block();
    let is_surrounded = reading.left_surroundings_out();
    let (shingler, text) = reading.reader;
    let mut text = text.map(|text| text.lines());
    let mut fragments = shingler.map(Shingler::finish);
    // A page with hardly any content of its own is read with its surroundings.
    let is_bare = fragments.as_ref().is_some_and(fragments::Fragments::is_bare);
    let is_silent = text.as_ref().is_some_and(String::is_empty);
    if is_surrounded && (is_bare || is_silent) {
        let whole = whole(&decoded.text, wanted);
        if is_bare {
            fragments = whole.0.map(Shingler::finish);
        }
        if is_silent {
            text = whole.1.map(|text| text.lines());
        }
    }
    let sent_by_script = scripts.finish().and_then(|to| source.base.join(&to).ok());
    let mut page = links.finish(source.base);
    source.robots_tags.iter().for_each(|value| page.robots.add_header(value, wanted.agent));
    let (encoding, robots) = (Some(decoded.encoding.name()), page.robots);
    Parsed {
        encoding,
        robots,
        page: Some(page),
        sent_by_script,
        fragments,
        text,
        ..Parsed::default()
    }
}

fn reading(wanted: &Wanted<'_>, scope: Scope) -> Reading<Readers> {
    let text = (wanted.text_bytes > 0).then(|| PlainText::of_at_most(wanted.text_bytes));
    Reading::new((wanted.shingling.map(Shingler::new), text), scope)
}

fn whole(html: &str, wanted: &Wanted<'_>) -> Readers {
    let mut reading = reading(wanted, Scope::Everything);
    scan(html, &mut reading);
    reading.reader.end_block();
    reading.reader
}

pub(super) fn visible_text(html: &str, most_bytes: usize) -> String {
    let mut reading = Reading::new(PlainText::of_at_most(most_bytes), Scope::Everything);
    scan(html, &mut reading);
    reading.reader.end_block();
    reading.reader.lines()
}
