//! A canonical URL taken apart, so that rules can leave parts of it out.
//!
//! The parts are the origin, the segments of the path, the parameters of the query, and the *id*: a
//! token near the end of the path that looks as if it alone named the content. Every URL has a
//! [`Form`]; a rule changes the form, and URLs with equal forms after all rules have equal keys. The
//! key of a form that no rule has changed is the hash of the URL itself.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Segments and parameters told apart; what follows them counts as one.
const MAX_PARTS: usize = 48;
/// Fewest digits at an edge of a segment that are taken for an id: fewer are often part of a title.
const ID_DIGITS: usize = 5;
/// Fewest digits of a segment that is all digits.
const WHOLE_DIGITS: usize = 3;
/// Fewest hexadecimal digits, letters among them, that are taken for an id.
const HEX_DIGITS: usize = 8;
/// Length of a UUID in its usual form.
const UUID: usize = 36;
/// Longest piece of a file extension.
const EXTENSION: usize = 5;

/// Where in a segment an id stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Edge {
    Whole,
    End,
    Start,
}

/// What an id looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Token {
    /// So many digits.
    Digits(u8),
    Hex,
    Uuid,
}

/// The place and looks of an id: ids of one shape name pages in one way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct IdShape {
    /// Segments after the one that holds the id.
    pub(crate) after: u8,
    pub(crate) edge: Edge,
    pub(crate) token: Token,
    /// The segment's file extension with its dot, or nothing.
    pub(crate) extension: String,
}

/// An id in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id<'a> {
    pub(crate) shape: IdShape,
    pub(crate) text: &'a str,
}

/// A URL's parts. Rules change it in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form<'a> {
    pub(crate) origin: &'a str,
    pub(crate) segments: Vec<Cow<'a, str>>,
    /// Whether the path ends in a slash that is not its first.
    pub(crate) has_slash: bool,
    pub(crate) parameters: Vec<&'a str>,
    /// Set by a rule: the id stands for the whole path.
    pub(crate) only_id: bool,
    pub(crate) id: Option<Id<'a>>,
}

impl<'a> Form<'a> {
    /// Takes a canonical URL apart.
    pub(crate) fn of(url: &'a str) -> Self {
        let (origin, target) = split_origin(url);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = path.strip_prefix('/').unwrap_or(path);
        let (path, has_slash) = match path.strip_suffix('/') {
            Some(path) => (path, true),
            None => (path, false),
        };
        let segments: Vec<_> = match (path, has_slash) {
            ("", false) => Vec::new(),
            // Of `//` one segment without letters is left.
            _ => path.splitn(MAX_PARTS, '/').map(Cow::Borrowed).collect(),
        };
        let parameters = match query {
            "" => Vec::new(),
            _ => query.splitn(MAX_PARTS, '&').collect(),
        };
        let id = id_of(path);
        Self { origin, segments, has_slash, parameters, only_id: false, id }
    }

    /// The form's key.
    pub(crate) fn key(&self) -> u64 {
        let mut text = String::with_capacity(128);
        text.push_str(self.origin);
        match &self.id {
            // No canonical URL has a space in it, so no other form has this key.
            Some(id) if self.only_id => {
                let IdShape { after, edge, token, extension } = &id.shape;
                let _ = write!(text, "/ {after} {edge:?} {token:?} {extension} {}", id.text);
            }
            _ => self.push_path(&mut text),
        }
        for (i, parameter) in self.parameters.iter().enumerate() {
            text.push(if i == 0 { '?' } else { '&' });
            text.push_str(parameter);
        }
        xxh3_64(text.as_bytes())
    }

    fn push_path(&self, text: &mut String) {
        for segment in &self.segments {
            text.push('/');
            text.push_str(segment);
        }
        if self.has_slash || self.segments.is_empty() {
            text.push('/');
        }
    }

    /// The template: what URLs made by one piece of a site's software have in common. It names the
    /// first segment, the kinds of the others, the extension and the parameters.
    pub(crate) fn template(&self) -> u64 {
        let mut text = self.origin.to_owned();
        for (i, segment) in self.segments.iter().enumerate() {
            text.push('/');
            match Looks::of(segment) {
                Looks::Word if i == 0 => text.push_str(segment),
                looks => text.push(looks.letter()),
            }
        }
        if let Some(last) = self.segments.last() {
            text.push_str(stem_and_extension(last).1);
        }
        let mut names: Vec<&str> = self.parameters.iter().map(|p| name(p)).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            text.push('&');
            text.push_str(name);
        }
        xxh3_64(text.as_bytes())
    }
}

/// What kind of text a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Looks {
    /// Digits and separators only: a number or a date.
    Number,
    /// Letters and digits mixed, as in a token drawn at random.
    Token,
    /// Several words.
    Slug,
    /// One word.
    Word,
}

impl Looks {
    pub(crate) fn of(segment: &str) -> Self {
        let (stem, _) = stem_and_extension(segment);
        let is_digit = |b: u8| b.is_ascii_digit();
        let is_joint = |b: u8| matches!(b, b'-' | b'_' | b'.' | b',' | b'+');
        if !stem.is_empty() && stem.bytes().all(|b| is_digit(b) || is_joint(b)) {
            Looks::Number
        } else if stem.bytes().any(is_joint) {
            Looks::Slug
        } else if stem.bytes().filter(|&b| is_digit(b)).count() >= 2 {
            Looks::Token
        } else {
            Looks::Word
        }
    }

    const fn letter(self) -> char {
        match self {
            Looks::Number => '0',
            Looks::Token => '#',
            Looks::Slug => '-',
            Looks::Word => 'w',
        }
    }
}

/// The name of a parameter.
pub(crate) fn name(parameter: &str) -> &str {
    parameter.split_once('=').map_or(parameter, |(name, _)| name)
}

/// Scheme, host and port; and the rest.
pub(crate) fn split_origin(url: &str) -> (&str, &str) {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    url.split_at(end)
}

/// Splits a file's extension off: one or more short words after dots.
fn stem_and_extension(segment: &str) -> (&str, &str) {
    let mut end = segment.len();
    while let Some(dot) = segment[..end].rfind('.') {
        let piece = &segment[dot + 1..end];
        let is_word = (2..=EXTENSION).contains(&piece.len())
            && piece.bytes().all(|b| b.is_ascii_alphabetic());
        if dot == 0 || !is_word {
            break;
        }
        end = dot;
    }
    segment.split_at(end)
}

/// The last thing in a path that looks like an id.
fn id_of(path: &str) -> Option<Id<'_>> {
    path.rsplit('/').take(2).zip(0u8..).find_map(|(segment, after)| {
        let (stem, extension) = stem_and_extension(segment);
        // Some systems append switches after a comma.
        let stem = stem.split(',').next().unwrap_or_default();
        let (edge, token, text) = id_in(stem)?;
        let shape = IdShape { after, edge, token, extension: extension.to_owned() };
        Some(Id { shape, text })
    })
}

fn id_in(stem: &str) -> Option<(Edge, Token, &str)> {
    let bytes = stem.as_bytes();
    if let Some(at) = stem.len().checked_sub(UUID)
        && bytes[at..].iter().enumerate().all(|(i, &b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
    {
        return Some((edge(at, stem), Token::Uuid, &stem[at..]));
    }
    let digits = bytes.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let at = stem.len() - digits;
    let least = if at == 0 { WHOLE_DIGITS } else { ID_DIGITS };
    if digits >= least && !is_date(&stem[at..]) {
        return Some((edge(at, stem), digits_token(digits), &stem[at..]));
    }
    let hex = bytes.iter().rev().take_while(|b| b.is_ascii_hexdigit()).count();
    let at = stem.len() - hex;
    let is_mixed = bytes[at..].iter().any(u8::is_ascii_digit)
        && bytes[at..].iter().any(u8::is_ascii_alphabetic);
    let is_apart = at == 0 || matches!(bytes[at - 1], b'-' | b'_' | b'.');
    if hex >= HEX_DIGITS && is_mixed && is_apart {
        return Some((edge(at, stem), Token::Hex, &stem[at..]));
    }
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let is_apart = matches!(bytes.get(digits), Some(b'-' | b'_'));
    let is_id = digits >= ID_DIGITS && is_apart && !is_date(&stem[..digits]);
    is_id.then(|| (Edge::Start, digits_token(digits), &stem[..digits]))
}

fn edge(at: usize, stem: &str) -> Edge {
    if at == 0 && !stem.is_empty() { Edge::Whole } else { Edge::End }
}

fn digits_token(digits: usize) -> Token {
    Token::Digits(u8::try_from(digits).unwrap_or(u8::MAX))
}

/// Whether digits are a year, or a day written without separators.
fn is_date(digits: &str) -> bool {
    let is_in = |at: std::ops::Range<usize>, low: u32, high: u32| {
        digits.get(at).and_then(|d| d.parse().ok()).is_some_and(|n| (low..=high).contains(&n))
    };
    match digits.len() {
        4 => is_in(0..4, 1900, 2099),
        6 => is_in(0..4, 1990, 2099) && is_in(4..6, 1, 12),
        8 => is_in(0..4, 1990, 2099) && is_in(4..6, 1, 12) && is_in(6..8, 1, 31),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(url: &str) -> Option<(&str, u8, Edge)> {
        Form::of(url).id.map(|id| (id.text, id.shape.after, id.shape.edge))
    }

    #[test]
    fn ids_are_found_where_sites_write_them() {
        let cases = [
            ("https://a.example/news/a-b-17843618.html", Some(("17843618", 0, Edge::End))),
            ("https://a.example/x/plus242805309/A-b.html", Some(("242805309", 1, Edge::End))),
            ("https://a.example/x/a-b-1.5635969", Some(("5635969", 0, Edge::End))),
            ("https://a.example/x/1234567-a-b/", Some(("1234567", 0, Edge::Start))),
            ("https://a.example/v/6317766948112/a-b", Some(("6317766948112", 1, Edge::Whole))),
            ("https://a.example/c/a-80132976,auto=true.big.html", Some(("80132976", 0, Edge::End))),
            ("https://a.example/2022/a-b-20221130", None),
            ("https://a.example/a-b-c-2022.html", None),
            ("https://a.example/", None),
        ];
        for (url, want) in cases {
            assert_eq!(id(url), want, "{url}");
        }
        let uuid = "b8aad463-caab-4ef1-b439-9e2b7ffb6541";
        assert_eq!(id(&format!("https://a.example/x/a-b-a-{uuid}")), Some((uuid, 0, Edge::End)));
    }

    #[test]
    fn templates_forget_what_varies_and_keep_what_does_not() {
        let template = |url| Form::of(url).template();
        let same = [
            (
                "https://a.example/shop/a-b?size=1&colour=2",
                "https://a.example/shop/c-d?colour=3&size=9",
            ),
            ("https://a.example/cal/2022/07", "https://a.example/cal/1999/12"),
        ];
        for (one, other) in same {
            assert_eq!(template(one), template(other), "{one} {other}");
        }
        assert_ne!(template("https://a.example/shop/a-b"), template("https://a.example/news/a-b"));
        assert_ne!(template("https://a.example/a-b?p=1"), template("https://a.example/a-b?q=1"));
        assert_ne!(template("https://a.example/x"), template("https://b.example/x"));
    }

    /// An empty segment is a segment, also if it is the only one.
    #[test]
    fn slashes_in_a_row_are_not_one() {
        for url in ["https://a.example/", "https://a.example//", "https://a.example///x//"] {
            assert_eq!(Form::of(url).key(), xxh3_64(url.as_bytes()), "{url}");
        }
        assert_ne!(Form::of("https://a.example/").key(), Form::of("https://a.example//").key());
    }

    proptest! {
        /// The key of a form without rules is the hash of the URL, so it is the page's key.
        #[test]
        fn an_unchanged_form_has_the_key_of_its_url(
            path in "(/[a-z0-9.,-]{0,9}){1,60}", query in "(\\?[a-z]{1,3}=[a-z0-9]{1,3}(&[a-z]{1,2}){0,60})?",
        ) {
            let url = format!("https://a.example{path}{query}");
            prop_assert_eq!(Form::of(&url).key(), xxh3_64(url.as_bytes()));
        }

        #[test]
        fn any_text_is_taken_apart(url in "\\PC{0,80}") {
            let form = Form::of(&url);
            let _ = (form.key(), form.template());
        }
    }
}
