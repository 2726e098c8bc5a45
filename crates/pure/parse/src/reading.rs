//! Selects the text of a page that a person would read.
//!
//! This visitor splits a page into *blocks*, runs of text between elements that start a new line.
//! It skips scripts, hidden and disabled parts, controls, and the page's *surroundings*: asides,
//! search boxes, consent dialogs, parts marked as no summary of the page. It decides by elements,
//! roles and the plainest class names, never by site. Menus and footers are read: they seldom
//! change, and when they do a reader sees it.
//!
//! A page whose text is all in such surroundings is read with them: see [`Scope::Everything`].

use crate::html::{Attribute, Name, Tag, Visitor, is_block, names};

/// How much of a page to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Without the surroundings.
    Content,
    /// With the surroundings; hidden parts stay hidden.
    Everything,
}

/// Receives the blocks of a page.
pub trait Reader {
    /// A piece of the current block's text, as [`Visitor::text`] gives it.
    fn piece(&mut self, text: &str);

    /// A link begins in the current block, leading to `target`.
    fn link(&mut self, _target: &str) {}

    /// The current block is over; it may have been empty.
    fn end_block(&mut self);
}

impl<R: Reader> Reader for Option<R> {
    #[inline]
    fn piece(&mut self, text: &str) {
        if let Some(reader) = self {
            reader.piece(text);
        }
    }

    #[inline]
    fn link(&mut self, target: &str) {
        if let Some(reader) = self {
            reader.link(target);
        }
    }

    #[inline]
    fn end_block(&mut self) {
        if let Some(reader) = self {
            reader.end_block();
        }
    }
}

impl<A: Reader, B: Reader> Reader for (A, B) {
    #[inline]
    fn piece(&mut self, text: &str) {
        self.0.piece(text);
        self.1.piece(text);
    }

    #[inline]
    fn link(&mut self, target: &str) {
        self.0.link(target);
        self.1.link(target);
    }

    #[inline]
    fn end_block(&mut self) {
        self.0.end_block();
        self.1.end_block();
    }
}

/// Splits a page into the blocks that a person would read.
#[derive(Debug)]
pub struct Reading<R> {
    /// Receives the blocks.
    pub reader: R,
    scope: Scope,
    depth: usize,
    /// Depth of the element being skipped.
    left_out: Option<usize>,
    /// Whether surroundings with text were skipped.
    surrounded: bool,
    in_surroundings: bool,
}

/// Why an element is not read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Unreadable,
    Surroundings,
}

impl<R: Reader> Reading<R> {
    /// Passes the blocks within `scope` to `reader`.
    pub fn new(reader: R, scope: Scope) -> Self {
        Reading {
            reader,
            scope,
            depth: 0,
            left_out: None,
            surrounded: false,
            in_surroundings: false,
        }
    }

    /// Whether text in the page's surroundings was skipped.
    pub fn left_surroundings_out(&self) -> bool {
        self.surrounded
    }

    /// A picture is read as its description.
    fn picture(&mut self, tag: &Tag<'_>) {
        if let Some(description) = tag.attribute("alt").filter(|alt| !alt.raw().is_empty()) {
            self.reader.piece(" ");
            self.reader.piece(&description.value());
            self.reader.piece(" ");
        }
    }
}

impl<R: Reader> Visitor for Reading<R> {
    #[inline]
    fn open(&mut self, tag: &Tag<'_>) {
        if breaks_line(tag.name) && self.left_out.is_none() {
            self.reader.end_block();
        }
        if !tag.is_leaf {
            self.depth += 1;
        }
        if self.left_out.is_some() {
            return;
        }
        let reason = reason(tag);
        let is_left_out = match reason {
            Some(Reason::Unreadable) => true,
            Some(Reason::Surroundings) => self.scope == Scope::Content,
            None => false,
        };
        if is_left_out && !tag.is_leaf {
            self.left_out = Some(self.depth);
            self.in_surroundings = reason == Some(Reason::Surroundings);
        } else if tag.name == names::A {
            if let Some(target) = tag.attribute("href") {
                self.reader.link(&target.value());
            }
        } else if tag.name == names::IMG {
            self.picture(tag);
        }
    }

    #[inline]
    fn text(&mut self, text: &str) {
        if self.left_out.is_none() {
            self.reader.piece(text);
        } else {
            self.surrounded |= self.in_surroundings;
        }
    }

    #[inline]
    fn close(&mut self, name: Name) {
        if self.left_out.is_none() && breaks_line(name) {
            self.reader.end_block();
        }
        if self.left_out == Some(self.depth) {
            self.left_out = None;
            self.in_surroundings = false;
        }
        self.depth -= 1;
    }
}

#[inline]
fn breaks_line(name: Name) -> bool {
    is_block(name)
        || matches!(
            name,
            names::BR
                | names::TD
                | names::TH
                | names::TR
                | names::CAPTION
                | names::TITLE
                | names::BODY
        )
}

/// Why an element is skipped; `None` if it is read.
fn reason(tag: &Tag<'_>) -> Option<Reason> {
    if let Some(reason) = by_name(tag.name) {
        return Some(reason);
    }
    if matches!(tag.name, names::HTML | names::BODY | names::MAIN | names::ARTICLE) {
        return None;
    }
    tag.attributes().iter().find_map(by_attribute)
}

fn by_name(name: Name) -> Option<Reason> {
    match name {
        names::TEMPLATE
        | names::NOSCRIPT
        | names::SVG
        | names::CANVAS
        | names::VIDEO
        | names::AUDIO
        | names::OBJECT
        | names::SELECT
        | names::DATALIST
        | names::BUTTON
        | names::TEXTAREA => Some(Reason::Unreadable),
        names::ASIDE => Some(Reason::Surroundings),
        _ => None,
    }
}

fn by_attribute(attribute: &Attribute<'_>) -> Option<Reason> {
    let (name, value) = (attribute.name.as_bytes(), attribute.raw());
    match name.len() {
        2 if name.eq_ignore_ascii_case(b"id") => by_words(value),
        4 if name.eq_ignore_ascii_case(b"role") => by_role(value),
        5 if name.eq_ignore_ascii_case(b"class") => by_words(value),
        5 if name.eq_ignore_ascii_case(b"style") => by_style(value),
        6 if name.eq_ignore_ascii_case(b"hidden") => {
            (!value.eq_ignore_ascii_case("until-found")).then_some(Reason::Unreadable)
        }
        11 if name.eq_ignore_ascii_case(b"aria-hidden") => {
            value.eq_ignore_ascii_case("true").then_some(Reason::Unreadable)
        }
        14 if name.eq_ignore_ascii_case(b"data-nosnippet") => Some(Reason::Surroundings),
        _ => None,
    }
}

fn by_role(value: &str) -> Option<Reason> {
    const ROLES: [&str; 3] = ["search", "complementary", "alertdialog"];
    ROLES.iter().any(|role| value.eq_ignore_ascii_case(role)).then_some(Reason::Surroundings)
}

fn by_style(value: &str) -> Option<Reason> {
    let hides = |declaration: &str| {
        let Some((property, value)) = declaration.split_once(':') else { return false };
        let (property, value) = (property.trim(), value.trim());
        property.eq_ignore_ascii_case("display") && value.eq_ignore_ascii_case("none")
            || property.eq_ignore_ascii_case("visibility") && value.eq_ignore_ascii_case("hidden")
    };
    // "display:none", the shortest match, has 12 bytes.
    (value.len() >= 12 && value.split(';').any(hides)).then_some(Reason::Unreadable)
}

/// Looks at the parts of class names and ids: `cookie-banner`, `ConsentModal`, `onetrust-sdk`.
fn by_words(value: &str) -> Option<Reason> {
    if !may_name_consent(value) {
        return None;
    }
    value.split_ascii_whitespace().any(names_consent).then_some(Reason::Surroundings)
}

/// Name parts for the subject of a consent dialog.
const ASKS: [&str; 4] = ["cookie", "cookies", "consent", "gdpr"];
/// Name parts for a dialog.
const DIALOGS: [&str; 7] = ["banner", "notice", "bar", "popup", "modal", "dialog", "overlay"];
/// Names of consent products.
const PRODUCTS: [&str; 3] = ["onetrust", "cookiebot", "usercentrics"];

/// A bit set of a text's letters, case-insensitive; other bytes set bits too.
const fn letters(text: &[u8]) -> u32 {
    let (mut found, mut i) = (0, 0);
    while i < text.len() {
        found |= 1 << (text[i] & 31);
        i += 1;
    }
    found
}

/// Letter sets of words; every consent dialog's name contains one of the words.
const TELLING: [u32; 5] = [
    letters(b"cookie"),
    letters(b"consent"),
    letters(b"gdpr"),
    letters(b"onetrust"),
    letters(b"usercentrics"),
];

/// Quick test: no name is shorter than "gdpr-bar", and most lack a telling word's letters.
#[inline]
fn may_name_consent(name: &str) -> bool {
    if name.len() < "gdpr-bar".len() {
        return false;
    }
    let has = letters(name.as_bytes());
    TELLING.iter().any(|word| has & word == *word)
}

fn names_consent(class: &str) -> bool {
    if !may_name_consent(class) {
        return false;
    }
    let is_in = |list: &[&str], part: &str| list.iter().any(|w| w.eq_ignore_ascii_case(part));
    let (mut asks, mut is_dialog) = (false, false);
    for part in parts(class) {
        if is_in(&PRODUCTS, part) {
            return true;
        }
        asks |= is_in(&ASKS, part);
        is_dialog |= is_in(&DIALOGS, part);
    }
    asks && is_dialog
}

/// A name's parts, split at hyphens, underscores, and lower case before upper case.
fn parts(class: &str) -> impl Iterator<Item = &str> {
    let mut rest = class;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let tail = &rest[start..];
        let bytes = tail.as_bytes();
        let ends = |i: usize| {
            !bytes[i].is_ascii_alphabetic()
                || bytes[i].is_ascii_uppercase() && bytes[i - 1].is_ascii_lowercase()
        };
        let end = (1..bytes.len()).find(|&i| ends(i)).unwrap_or(bytes.len());
        rest = &tail[end..];
        Some(&tail[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::scan;

    #[derive(Default)]
    struct Blocks(Vec<String>, String);

    impl Reader for Blocks {
        fn piece(&mut self, text: &str) {
            self.1.push_str(text);
        }

        fn link(&mut self, target: &str) {
            self.1.extend(["[", target, "]"]);
        }

        fn end_block(&mut self) {
            let block = std::mem::take(&mut self.1);
            self.0.extend(Some(block).filter(|b| !b.trim().is_empty()));
        }
    }

    fn read(html: &str, scope: Scope) -> (String, bool) {
        let mut reading = Reading::new(Blocks::default(), scope);
        scan(html, &mut reading);
        reading.reader.end_block();
        (reading.reader.0.join(" | "), reading.left_surroundings_out())
    }

    fn content(html: &str) -> String {
        read(html, Scope::Content).0
    }

    #[test]
    fn blocks_are_lines_of_text() {
        let html = "<title>T</title><p>a <b>b</b>c<p>d<br>e<ul><li>f<li><a href=/x>g</a></ul>h";
        assert_eq!(content(html), "T | a bc | d | e | f | [/x]g | h");
        assert_eq!(content("<p>a<img alt='b c' src=/d.png>e"), "a b c e");
    }

    #[test]
    fn hidden_content_is_skipped() {
        for hidden in [
            "<script>x</script>",
            "<style>x</style>",
            "<template>x</template>",
            "<p hidden>x</p>",
            "<div style='color:red; DISPLAY : none'>x</div>",
            "<i aria-hidden=true>x</i>",
            "<select><option>x</select>",
            "<button>x</button>",
            "<noscript>x</noscript>",
            "<svg><title>x</title></svg>",
            "<p hidden>x",
            "<!-- x -->",
        ] {
            assert_eq!(content(&format!("{hidden}<p>seen</p>")), "seen", "{hidden}");
        }
        assert_eq!(content("<p hidden=until-found>x<p style='display:block'>y"), "x | y");
    }

    #[test]
    fn surroundings_are_left_out_unless_asked_for() {
        for around in [
            "<aside>x</aside>",
            "<div role=search>x</div>",
            "<div class='a onetrust-sdk'>x</div>",
            "<div class=CookieBanner>x</div>",
            "<p data-nosnippet>x</p>",
        ] {
            let html = format!("{around}<p>seen</p>");
            assert_eq!(read(&html, Scope::Content), ("seen".into(), true), "{around}");
            assert_eq!(read(&html, Scope::Everything), ("x | seen".into(), false), "{around}");
        }
    }

    #[test]
    fn content_that_looks_like_surroundings_is_kept() {
        for kept in [
            "<nav>x</nav>",
            "<footer>x</footer>",
            "<body class=cookie-banner>x</body>",
            "<div class=cookie-policy>x</div>",
            "<div class='canvas unavailable'>x</div>",
            "<div class=consent>x</div>",
        ] {
            assert_eq!(content(kept), "x", "{kept}");
        }
    }

    #[test]
    fn names_are_cut_into_parts() {
        let of = |class| parts(class).collect::<Vec<_>>().join(" ");
        assert_eq!(of("siteNav-bar__footerX2y"), "site Nav bar footer X y");
        assert_eq!(of("--9"), "");
    }
}
