//! RSS, RDF and Atom in one pass.
//!
//! A field's parent decides its meaning: children of the channel (or of Atom's root)
//! describe the feed, children of an `item` or `entry` an entry; all deeper elements
//! (an image's link, an entry's source) are ignored. Elements that share the root's prefix
//! count as unprefixed, so that `<a:feed><a:entry>` reads like Atom.

use tidewatch_core::url::whatwg;

use super::{Entry, Feed, Format, MAX_ENTRIES, MAX_FIELD_BYTES, add_link, field};
use crate::{
    Refused, date,
    xml::{self, Element, Handler},
};

/// Parts of the names of RSS's namespaces.
const RSS: &[&str] = &["purl.org/rss/", "purl.org/net/rss", "netscape.com/rdf", "userland.com/rss"];
/// Parts of the names of Atom's namespaces.
const ATOM: &[&str] = &["w3.org/2005/Atom", "purl.org/atom/"];

pub(super) fn parse(text: &str) -> Result<Feed, Refused> {
    let mut reading = Reading::default();
    xml::walk(text, &mut reading)?;
    reading.feed.ok_or(Refused::NoRoot)
}

/// The field being gathered.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    Title,
    Id,
    Link,
    Published,
    Updated,
    /// Dublin Core's date: sets either date that the feed itself lacks.
    AnyDate,
}

/// Text being gathered until its element closes.
struct Gathering {
    field: Field,
    depth: usize,
    text: String,
}

#[derive(Default)]
struct Reading {
    feed: Option<Feed>,
    root_prefix: String,
    /// Another prefix of the feed's own elements: RSS 1.0 has `rdf:RDF` around `rss:item`.
    own_prefix: Option<String>,
    channel_depth: Option<usize>,
    entry: Option<(usize, Entry)>,
    gathering: Option<Gathering>,
    /// Bases of the open elements that set one.
    bases: Vec<(usize, whatwg::Parsed)>,
}

impl Handler for Reading {
    fn open(&mut self, depth: usize, element: &Element<'_>) -> Result<(), Refused> {
        self.base(depth, element);
        let Some(format) = self.feed.as_ref().map(|feed| feed.format) else {
            return self.root(element);
        };
        let is_own = element.prefix.is_empty()
            || element.prefix == self.root_prefix
            || self.own_prefix.as_deref() == Some(element.prefix);
        let is_atom = format == Format::Atom;
        if !is_atom && is_own && element.is("channel") && self.channel_depth.is_none() {
            self.channel_depth = Some(depth);
        } else if self.entry.is_none() && is_own && is_entry(element, is_atom) {
            self.entry = Some((depth, Entry::default()));
        } else if self.gathering.is_none() && self.is_field_depth(depth) {
            self.field(depth, element, is_own);
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let Some(gathering) = &mut self.gathering
            && gathering.text.len() + text.len() <= 2 * MAX_FIELD_BYTES
        {
            gathering.text.push_str(text);
        }
    }

    fn close(&mut self, depth: usize) {
        if let Some(done) = self.gathering.take_if(|gathering| gathering.depth == depth) {
            self.gathered(done.field, &done.text);
        }
        if let Some((_, entry)) = self.entry.take_if(|(at, _)| *at == depth)
            && let Some(feed) = &mut self.feed
        {
            feed.entries.push(entry);
        }
        self.bases.retain(|(at, _)| *at != depth);
    }

    fn cut(&mut self) {
        self.gathering = None;
    }

    fn is_full(&self) -> bool {
        self.feed.as_ref().is_some_and(|feed| feed.is_cut)
    }
}

fn is_entry(element: &Element<'_>, is_atom: bool) -> bool {
    if is_atom { element.is("entry") } else { element.is("item") }
}

impl Reading {
    fn root(&mut self, root: &Element<'_>) -> Result<(), Refused> {
        let format = if root.is("rss") {
            Format::Rss
        } else if root.is("rdf") {
            Format::Rdf
        } else if root.is("feed") {
            Format::Atom
        } else {
            let name = root.name.chars().take(40).collect();
            return Err(Refused::UnknownRoot { name });
        };
        root.prefix.clone_into(&mut self.root_prefix);
        let namespaces = if format == Format::Atom { ATOM } else { RSS };
        self.own_prefix = root.prefix_of(namespaces).map(str::to_owned);
        self.channel_depth = (format == Format::Atom).then_some(0);
        self.feed = Some(Feed {
            format,
            title: None,
            links: Vec::new(),
            published_s: None,
            updated_s: None,
            entries: Vec::new(),
            is_cut: false,
        });
        Ok(())
    }

    /// Pushes `xml:base`, resolved against the enclosing one.
    fn base(&mut self, depth: usize, element: &Element<'_>) {
        let Some(base) = element.attribute("xml:base") else { return };
        let around = self.bases.last().map(|(_, base)| base);
        if base.len() <= MAX_FIELD_BYTES
            && let Ok(base) = whatwg::parse(&base, around)
        {
            self.bases.push((depth, base));
        }
    }

    fn resolved(&self, href: &str) -> String {
        let base = self.bases.last().map(|(_, base)| base);
        let fits = base.is_some() && href.len() <= MAX_FIELD_BYTES;
        let resolved = fits.then(|| whatwg::parse(href.trim(), base).ok()).flatten();
        resolved.map_or_else(|| href.trim().to_owned(), |url| url.href().into_owned())
    }

    fn is_field_depth(&self, depth: usize) -> bool {
        match &self.entry {
            Some((at, _)) => depth == at + 1,
            None => self.channel_depth.is_some_and(|at| depth == at + 1),
        }
    }

    fn field(&mut self, depth: usize, element: &Element<'_>, is_own: bool) {
        let is_atom_extension = !is_own && matches!(element.prefix, "atom" | "atom10" | "a10");
        if element.is("link") && (is_own || is_atom_extension) {
            self.link(depth, element);
            return;
        }
        if is_own && element.is("enclosure") {
            let url = element.attribute("url").unwrap_or_default();
            self.push_link(&url, "enclosure");
            return;
        }
        let Some(field) = meaning(element, is_own, is_atom_extension) else { return };
        if field == Field::Id
            && let Some((_, entry)) = &mut self.entry
        {
            let says_no = |value| value == "false";
            let permalink = element.attribute("isPermaLink");
            entry.id_is_link = element.is("guid") && !permalink.is_some_and(says_no);
        }
        self.gathering = Some(Gathering { field, depth, text: String::new() });
    }

    /// Atom's link is an attribute, RSS's is text; feeds mix them.
    fn link(&mut self, depth: usize, element: &Element<'_>) {
        match element.attribute("href") {
            Some(href) => {
                let rel = element.attribute("rel").unwrap_or_default();
                self.push_link(&href, &rel);
            }
            None => {
                self.gathering = Some(Gathering { field: Field::Link, depth, text: String::new() });
            }
        }
    }

    fn push_link(&mut self, href: &str, rel: &str) {
        let href = self.resolved(href);
        match (&mut self.entry, &mut self.feed) {
            (Some((_, entry)), _) => add_link(&mut entry.links, &href, rel),
            (None, Some(feed)) => add_link(&mut feed.links, &href, rel),
            (None, None) => {}
        }
    }

    fn gathered(&mut self, what: Field, text: &str) {
        if what == Field::Link {
            self.push_link(text, "alternate");
            return;
        }
        let Some(feed) = &mut self.feed else { return };
        let (title, published, updated) = match &mut self.entry {
            Some((_, entry)) => {
                if what == Field::Id {
                    entry.id = field(text);
                }
                (&mut entry.title, &mut entry.published_s, &mut entry.updated_s)
            }
            None => (&mut feed.title, &mut feed.published_s, &mut feed.updated_s),
        };
        let date = || date::parse(text);
        match what {
            Field::Title => *title = field(text),
            Field::Published => *published = date().or(*published),
            Field::Updated => *updated = date().or(*updated),
            Field::AnyDate => {
                *published = published.or_else(date);
                *updated = updated.or_else(date);
            }
            Field::Id | Field::Link => {}
        }
        feed.is_cut |= feed.entries.len() >= MAX_ENTRIES;
    }
}

fn meaning(element: &Element<'_>, is_own: bool, is_atom_extension: bool) -> Option<Field> {
    let is = |names: &[&str]| names.iter().any(|name| element.is(name));
    match element.prefix {
        "dc" | "dcterms" if is(&["date"]) => Some(Field::AnyDate),
        "dcterms" if is(&["issued", "created"]) => Some(Field::Published),
        "dcterms" if is(&["modified"]) => Some(Field::Updated),
        _ if is_atom_extension && is(&["published"]) => Some(Field::Published),
        _ if is_atom_extension && is(&["updated"]) => Some(Field::Updated),
        _ if !is_own => None,
        _ if is(&["title"]) => Some(Field::Title),
        _ if is(&["guid", "id"]) => Some(Field::Id),
        _ if is(&["pubdate", "published", "issued", "created"]) => Some(Field::Published),
        _ if is(&["lastbuilddate", "updated", "modified"]) => Some(Field::Updated),
        _ => None,
    }
}
