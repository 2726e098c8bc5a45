//! A page's links and metadata: canonical URL, translations, refresh, forms, title,
//! language, robots directives.
//!
//! [`Links`] is a visitor of the one pass over a page. It keeps references as written
//! and resolves them at the end, because a `<base>` holds for the whole page wherever
//! it stands. Bounded: [`MAX_LINKS`] links, texts of [`MAX_TEXT_BYTES`].

mod language;
mod page;
mod reference;

use encoding_rs::{Encoding, UTF_8};

use crate::html::{Name, Tag, Visitor, names};
use tidewatch_robots::Directives;

pub use self::{
    language::{Guess, guess_language, three_letters},
    page::{Alternate, Link, LinkKind, Page, Refresh, Region, Rel},
};

pub(crate) use self::reference::collapse;
pub(crate) use self::reference::in_encoding;
use self::reference::{Raw, refresh, words};
use crate::forms::Forms;

/// Most links kept per page.
pub const MAX_LINKS: usize = 1000;
/// Links preallocated.
const USUAL_LINKS: usize = 64;
/// Longest anchor, title or name; longer ones are cut.
pub const MAX_TEXT_BYTES: usize = 512;

/// The visitor that gathers a page's links. Give it to `html::scan`, then [`Links::finish`].
#[derive(Debug, Default)]
pub struct Links {
    agent: String,
    /// The page's encoding, if it is not UTF-8.
    encoding: Option<&'static Encoding>,
    base: Option<String>,
    title: Option<String>,
    language: Option<String>,
    canonical: Option<String>,
    alternates: Vec<Alternate<String>>,
    refresh: Option<Refresh<String>>,
    directives: Directives,
    found: Vec<Raw>,
    /// The references of all links.
    hrefs: String,
    is_cut: bool,
    forms: Forms,
    /// The link whose anchor is being read.
    anchor: Option<usize>,
    /// Its text so far.
    anchor_text: String,
    in_title: bool,
    svg_depth: u32,
    noscript_depth: u32,
    regions: Vec<Name>,
}

impl Links {
    /// For a crawler with the product token `agent`, which meta elements may name.
    pub fn new(agent: &str) -> Self {
        Self { agent: agent.to_owned(), ..Self::default() }
    }

    /// For a page in `encoding`: the standard encodes the queries of its links in it.
    #[must_use]
    pub fn in_encoding(mut self, encoding: &'static Encoding) -> Self {
        let encoding = encoding.output_encoding();
        self.encoding = (encoding != UTF_8).then_some(encoding);
        self
    }

    /// The page, with references resolved against `address` or `<base>`.
    pub fn finish(mut self, address: &tidewatch_core::url::Base) -> Page {
        self.end_anchor();
        page::resolve(self, address)
    }

    fn push(&mut self, tag: &Tag<'_>, attribute: &str, kind: LinkKind) -> Option<usize> {
        let href = tag.value(attribute)?;
        if self.found.len() >= MAX_LINKS {
            self.is_cut = true;
            return None;
        }
        if self.found.is_empty() {
            self.found.reserve(USUAL_LINKS);
        }
        let rel = tag.value("rel").map(|rel| Rel::of(&rel)).unwrap_or_default();
        let region = self.regions.last().map_or(Region::Other, |name| Region::of(*name));
        let start = self.hrefs.len();
        self.hrefs.push_str(href.trim());
        let href = start..self.hrefs.len();
        self.found.push(Raw { href, anchor: String::new(), rel, kind, region });
        Some(self.found.len() - 1)
    }

    fn end_anchor(&mut self) {
        if let Some(at) = self.anchor.take() {
            self.found[at].anchor = collapse(&self.anchor_text);
            self.anchor_text.clear();
        }
    }

    fn open_anchor(&mut self, tag: &Tag<'_>) {
        self.end_anchor();
        if let Some(at) = self.push(tag, "href", LinkKind::Anchor) {
            self.anchor = (!tag.is_leaf).then_some(at);
        }
    }

    fn gather(&mut self, text: &str) {
        let into = match (self.anchor, &mut self.title) {
            (_, Some(title)) if self.in_title => title,
            (Some(_), _) => &mut self.anchor_text,
            _ => return,
        };
        // White space is collapsed at the end, so keep more than is shown.
        if into.len() < 4 * MAX_TEXT_BYTES {
            into.push_str(&text[..text.floor_char_boundary(4 * MAX_TEXT_BYTES)]);
        }
    }

    fn link_element(&mut self, tag: &Tag<'_>) {
        let (Some(rel), Some(href)) = (tag.value("rel"), tag.value("href")) else { return };
        let has = |word: &str| words(&rel).any(|rel| rel.eq_ignore_ascii_case(word));
        if has("canonical") && self.canonical.is_none() {
            self.canonical = Some(href.into_owned());
        } else if has("alternate") {
            let kind = tag.value("type").unwrap_or_default().to_ascii_lowercase();
            let is_feed = kind.ends_with("+xml") && (kind.contains("rss") || kind.contains("atom"))
                || kind == "application/feed+json";
            let language = tag.value("hreflang").map(|language| collapse(&language));
            if (is_feed || language.is_some()) && self.alternates.len() < MAX_LINKS {
                self.alternates.push(Alternate { url: href.into_owned(), language, is_feed });
            }
        } else if has("next") || has("prev") {
            self.push(tag, "href", LinkKind::Sequence);
        }
    }

    fn meta_element(&mut self, tag: &Tag<'_>) {
        let Some(content) = tag.value("content") else { return };
        if let Some(name) = tag.value("name") {
            self.directives.add_meta(&name, &content, &self.agent);
        }
        let equiv = tag.value("http-equiv").unwrap_or_default();
        if equiv.eq_ignore_ascii_case("refresh") {
            let is_fallback = self.noscript_depth > 0;
            let is_better = |known: &Refresh<String>| known.is_fallback && !is_fallback;
            if self.refresh.as_ref().is_none_or(is_better) {
                let found = refresh(&content);
                self.refresh = found.map(|found| Refresh { is_fallback, ..found });
            }
        } else if equiv.eq_ignore_ascii_case("content-language") && self.language.is_none() {
            self.language = Some(collapse(&content));
        }
    }
}

impl Visitor for Links {
    fn open(&mut self, tag: &Tag<'_>) {
        self.forms.open(tag);
        match tag.name {
            names::A => self.open_anchor(tag),
            names::AREA => {
                if let (Some(at), Some(alt)) =
                    (self.push(tag, "href", LinkKind::Anchor), tag.value("alt"))
                {
                    self.found[at].anchor = collapse(&alt);
                }
            }
            names::IFRAME | names::FRAME => drop(self.push(tag, "src", LinkKind::Frame)),
            names::IMG => {
                if let Some(alt) = tag.value("alt").filter(|_| self.anchor.is_some()) {
                    self.gather(" ");
                    self.gather(&alt);
                }
            }
            names::LINK => self.link_element(tag),
            names::META => self.meta_element(tag),
            names::BASE if self.base.is_none() => {
                self.base = tag.value("href").map(std::borrow::Cow::into_owned);
            }
            names::HTML if self.language.is_none() => {
                self.language = tag.value("lang").map(|language| collapse(&language));
            }
            names::TITLE if self.title.is_none() && self.svg_depth == 0 && !tag.is_leaf => {
                self.title = Some(String::new());
                self.in_title = true;
            }
            names::SVG if !tag.is_leaf => self.svg_depth += 1,
            names::NOSCRIPT if !tag.is_leaf => self.noscript_depth += 1,
            name if Region::of(name) != Region::Other && !tag.is_leaf => self.regions.push(name),
            name if crate::html::is_block(name) => self.gather(" "),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.forms.text(text);
        if self.anchor.is_some() || self.in_title {
            self.gather(text);
        }
    }

    fn leave(&mut self, name: Name) {
        if name == names::A {
            self.end_anchor();
        }
    }

    fn close(&mut self, name: Name) {
        self.forms.close(name);
        match name {
            names::A => self.end_anchor(),
            names::TITLE => self.in_title = false,
            names::SVG => self.svg_depth = self.svg_depth.saturating_sub(1),
            names::NOSCRIPT => self.noscript_depth = self.noscript_depth.saturating_sub(1),
            name if self.regions.last() == Some(&name) => drop(self.regions.pop()),
            _ => {}
        }
    }
}
