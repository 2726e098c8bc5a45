//! What a form answered: the records of a result page, its next page, and how many there are in all.
//!
//! Records are siblings that are built alike and each hold something of their own, as in MDR `[LGZ03]`: of
//! all groups of at least [`FEWEST`] such siblings, the one with most to read is taken. A page with fewer
//! records than that is read with the [`Place`] that a fuller page of the same form showed.
//!
//! One pass without a tree: an element keeps only the places of its children and hashes of the paths inside
//! them, so memory is bounded by [`MOST_CHILDREN`] and [`MOST_NODES`], whatever the page.
//!
//! `[LGZ03]` B. Liu, R. Grossman, Y. Zhai: Mining data records in web pages. KDD 2003.

use std::ops::Range;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_parse::html::{Name, Tag, Visitor, names, scan};
use xxhash_rust::xxh3::xxh3_64;

/// Fewest siblings that are taken for records without a known place.
const FEWEST: usize = 3;
/// Most children of one element, and most elements of a page, that are looked at.
const MOST_CHILDREN: usize = 1000;
const MOST_NODES: usize = 50_000;
/// Most paths kept of one subtree.
const MOST_PATHS: usize = 32;
/// Most text of a page, and of a record.
const MOST_TEXT: usize = 1 << 20;
const MOST_RECORD_TEXT: usize = 2048;
/// Least share of paths that records have in common with the one most like the others.
const ALIKE: f64 = 0.5;

/// What a result page holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Its records, in page order.
    pub records: Vec<Record>,
    /// The next page of the same list.
    pub next: Option<CanonicalUrl>,
    /// The total number of records, if the page states it.
    pub total: Option<u64>,
    /// Where its records stand.
    pub place: Option<Place>,
}

/// A record of a result page.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its own page, if it links to one.
    pub link: Option<CanonicalUrl>,
    /// Its text, white space collapsed.
    pub text: String,
}

impl Record {
    /// A hash of its link, or of its text if it has no link.
    pub fn key(&self) -> u64 {
        let own = self.link.as_ref().map_or(self.text.as_str(), CanonicalUrl::as_str);
        xxh3_64(own.as_bytes())
    }
}

/// Where records stand on the pages of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place(u64);

/// Reads a result page that came from `url`.
pub fn read(html: &str, url: &CanonicalUrl) -> Answer {
    read_at(html, url, None)
}

/// Reads a result page of a form whose records stood at `known` before.
pub fn read_at(html: &str, url: &CanonicalUrl, known: Option<Place>) -> Answer {
    let mut page = Page { known, ..Page::default() };
    page.open.push(Element::default());
    scan(html, &mut page);
    while !page.open.is_empty() {
        page.end();
    }
    page.answer(url)
}

/// An element that is open.
#[derive(Default)]
struct Element {
    name: Option<Name>,
    /// Hash of the names and first classes from the root.
    place: u64,
    text: usize,
    links: usize,
    paths: Vec<u64>,
    children: Vec<Child>,
    is_surrounding: bool,
}

/// An element that was read.
struct Child {
    name: Name,
    text: Range<usize>,
    links: Range<usize>,
    paths: Vec<u64>,
}

/// Siblings that may be records.
struct Region {
    place: Place,
    members: Vec<(Range<usize>, Range<usize>)>,
    score: f64,
}

#[derive(Default)]
struct Page {
    known: Option<Place>,
    base: Option<String>,
    text: String,
    /// Addresses as written, with the place of their text.
    links: Vec<(String, Range<usize>)>,
    /// The link that is open.
    link: Option<usize>,
    open: Vec<Element>,
    nodes: usize,
    best: Option<Region>,
    at_known: Option<Region>,
    /// The first address that is marked as the next page.
    next: Option<String>,
}

fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(5) ^ b).wrapping_mul(0x517c_c1b7_2722_0a95)
}

fn number_of(name: Name) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    name.hash(&mut hasher);
    hasher.finish()
}

impl Visitor for Page {
    fn open(&mut self, tag: &Tag<'_>) {
        let block = tidewatch_parse::html::is_block(tag.name)
            || matches!(tag.name, names::BR | names::TD | names::TH);
        if block && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        match tag.name {
            names::BASE if self.base.is_none() => self.base = tag.value("href").map(Into::into),
            names::LINK if says_next(&tag.value("rel").unwrap_or_default()) => {
                self.next = self.next.take().or(tag.value("href").map(Into::into));
            }
            names::A => self.open_link(tag),
            _ => {}
        }
        if !tag.is_leaf {
            self.begin(tag);
        }
    }

    fn text(&mut self, text: &str) {
        if self.text.len() < MOST_TEXT {
            self.text.push_str(&text[..text.floor_char_boundary(MOST_TEXT)]);
        }
    }

    fn leave(&mut self, name: Name) {
        if name == names::A {
            self.end_link();
        }
    }

    fn close(&mut self, name: Name) {
        if name == names::A {
            self.end_link();
        }
        if tidewatch_parse::html::is_block(name) && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        if self.open.len() > 1 {
            self.end();
        }
    }
}

/// Whether a `rel` or class says "next".
fn says_next(words: &str) -> bool {
    words.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("next"))
}

/// Whether the text of a link says "next page".
fn reads_next(text: &str) -> bool {
    const NEXT: &[&str] = &[
        "next",
        "next page",
        "more",
        "more results",
        "older",
        "older posts",
        "weiter",
        "nächste",
        "nächste seite",
        "suivant",
        "page suivante",
        "siguiente",
        "seguinte",
        "próxima",
        "successivo",
        "volgende",
        "nästa",
        "далее",
        "次へ",
        "下一页",
    ];
    let text = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    NEXT.contains(&text.as_str())
}

impl Page {
    fn open_link(&mut self, tag: &Tag<'_>) {
        self.end_link();
        let Some(href) = tag.value("href").filter(|_| self.links.len() < MOST_NODES) else {
            return;
        };
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') || href.len() > 4096 {
            return;
        }
        let is_next = ["rel", "class", "id", "aria-label"].iter().any(|name| {
            tag.value(name).is_some_and(|words| says_next(&words) || reads_next(&words))
        });
        if is_next && self.next.is_none() {
            self.next = Some(href.to_owned());
        }
        self.link = Some(self.links.len());
        self.links.push((href.to_owned(), self.text.len()..self.text.len()));
    }

    fn end_link(&mut self) {
        let Some(link) = self.link.take() else { return };
        let end = self.text.len();
        let (href, text) = &mut self.links[link];
        text.end = end;
        if self.next.is_none() && text.len() < 64 && reads_next(&self.text[text.clone()]) {
            self.next = Some(href.clone());
        }
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        self.nodes += 1;
        let Some(around) = self.open.last() else { return };
        let class = tag.value("class").unwrap_or_default();
        let class = class.split_ascii_whitespace().next().unwrap_or_default();
        let is_row = matches!(tag.name, names::TR | names::LI | names::TBODY);
        // Rows are often classed by turns: odd, even.
        let class = if is_row { 0 } else { xxh3_64(class.as_bytes()) };
        let place = mix(mix(around.place, number_of(tag.name)), class);
        let is_own = matches!(tag.name, names::NAV | names::HEADER | names::FOOTER | names::ASIDE);
        let element = Element {
            name: Some(tag.name),
            place,
            text: self.text.len(),
            links: self.links.len(),
            is_surrounding: around.is_surrounding || is_own,
            ..Element::default()
        };
        self.open.push(element);
    }

    fn end(&mut self) {
        let Some(element) = self.open.pop() else { return };
        self.consider(&element);
        let Some(name) = element.name else { return };
        let Some(around) = self.open.last_mut() else { return };
        let own = number_of(name);
        let paths = [own].into_iter().chain(element.paths.iter().map(|path| mix(own, *path)));
        for path in paths {
            if around.paths.len() < MOST_PATHS && !around.paths.contains(&path) {
                around.paths.push(path);
            }
        }
        let text = element.text..self.text.len();
        let is_seen = self.nodes <= MOST_NODES && around.children.len() < MOST_CHILDREN;
        if is_seen && !self.text[text.clone()].trim().is_empty() {
            let links = element.links..self.links.len();
            around.children.push(Child { name, text, links, paths: element.paths });
        }
    }

    /// Looks for records among the children of an element.
    fn consider(&mut self, around: &Element) {
        let mut by_name: FxHashMap<Name, Vec<&Child>> = FxHashMap::default();
        for child in &around.children {
            by_name.entry(child.name).or_default().push(child);
        }
        for (name, children) in by_name {
            let place = Place(mix(around.place, number_of(name)));
            let is_known = self.known == Some(place);
            if children.len() < FEWEST && !is_known {
                continue;
            }
            let members = alike(&children);
            if members.len() < FEWEST && !is_known {
                continue;
            }
            let score = self.score(&members) * if around.is_surrounding { 0.1 } else { 1.0 };
            let members = members.iter().map(|child| (child.text.clone(), child.links.clone()));
            let region = Region { place, members: members.collect(), score };
            let better =
                |best: &Option<Region>| best.as_ref().is_none_or(|best| region.score > best.score);
            if is_known && better(&self.at_known) {
                self.at_known = Some(region);
            } else if region.score > 0.0 && !is_known && better(&self.best) {
                self.best = Some(region);
            }
        }
    }

    /// How much text the siblings hold, lowered if few of them have a link of their own. Many short siblings
    /// score higher than a few long ones, so that records win over lists in records and over sections.
    fn score(&self, members: &[&Child]) -> f64 {
        let own = |child: &&&Child| {
            let own = self.links[child.links.clone()].first().map(|(href, _)| href);
            own.is_some_and(|own| {
                let others = members.iter().filter(|other| !std::ptr::eq(**other, **child));
                !others.take(8).any(|other| {
                    self.links[other.links.clone()].iter().any(|(href, _)| href == own)
                })
            })
        };
        let own = members.iter().filter(own).count() as f64 / members.len().max(1) as f64;
        let read = |child: &&Child| (child.text.len() as f64).sqrt().min(20.0);
        members.iter().map(read).sum::<f64>() * own.max(0.3)
    }

    fn answer(self, url: &CanonicalUrl) -> Answer {
        let total = total(&self.text);
        let Ok(base) = Base::of(url) else { return Answer::default() };
        let rebased = self.base.as_deref().and_then(|href| base.rebase(href).ok());
        let base = rebased.as_ref().unwrap_or(&base);
        let same_host = |found: &CanonicalUrl| found.origin() == url.origin() && found != url;
        let join = |href: &String| base.join(href).ok();
        let next = self.next.as_ref().and_then(join).filter(same_host);
        let numbered =
            || self.links.iter().filter_map(|(href, _)| join(href)).find(|to| follows(url, to));
        let next = next.or_else(numbered);
        // With a known place no other list counts: a page without results has other lists too.
        let region = if self.known.is_some() { self.at_known } else { self.best };
        let Some(region) = region else {
            return Answer { next, total, ..Answer::default() };
        };
        let mut uses: FxHashMap<&str, u32> = FxHashMap::default();
        for (_, links) in &region.members {
            let mut of_one: Vec<&str> =
                self.links[links.clone()].iter().map(|(href, _)| href.as_str()).collect();
            of_one.sort_unstable();
            of_one.dedup();
            of_one.into_iter().for_each(|href| *uses.entry(href).or_default() += 1);
        }
        let record = |(text, links): &(Range<usize>, Range<usize>)| {
            let mut own =
                self.links[links.clone()].iter().filter(|(href, _)| uses[href.as_str()] == 1);
            let link = own.find_map(|(href, _)| join(href));
            let text = &self.text[text.clone()];
            let text = &text[..text.floor_char_boundary(MOST_RECORD_TEXT)];
            Record { link, text: text.split_whitespace().collect::<Vec<_>>().join(" ") }
        };
        let records = region.members.iter().map(record).collect();
        Answer { records, next, total, place: Some(region.place) }
    }
}

/// The siblings that are similar to the most typical of the first few.
fn alike<'c>(children: &[&'c Child]) -> Vec<&'c Child> {
    const TRIED: usize = 8;
    let likeness = |a: &Child, b: &Child| {
        let common = a.paths.iter().filter(|path| b.paths.contains(path)).count() as f64;
        let all = (a.paths.len() + b.paths.len()) as f64 - common;
        if all == 0.0 { 1.0 } else { common / all }
    };
    let tried = || children.iter().take(TRIED);
    let typical = |child: &&&Child| tried().map(|other| likeness(child, other)).sum::<f64>();
    let model = tried().max_by(|a, b| typical(a).total_cmp(&typical(b)));
    let Some(model) = model else { return Vec::new() };
    children.iter().copied().filter(|child| likeness(model, child) >= ALIKE).collect()
}

/// Whether `to` is the page after `from`: their queries are equal except for a page number, which is one
/// higher in `to`, or 2 if `from` has none.
fn follows(from: &CanonicalUrl, to: &CanonicalUrl) -> bool {
    const PAGES: &[&str] = &["page", "p", "pg", "paged", "pagenum", "pageno", "seite"];
    if from.origin() != to.origin() || from.path() != to.path() {
        return false;
    }
    let pairs = |url: &CanonicalUrl| -> Vec<(String, String)> {
        let query = url.query().unwrap_or_default().to_owned();
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect()
    };
    let (old, new) = (pairs(from), pairs(to));
    let (page, rest): (Vec<_>, Vec<_>) =
        new.iter().partition(|(name, _)| PAGES.contains(&name.as_str()));
    let [(name, value)] = &page[..] else { return false };
    let is_rest = |pair: &&(String, String)| !PAGES.contains(&pair.0.as_str());
    if !old.iter().filter(is_rest).eq(rest.iter().copied()) {
        return false;
    }
    let was =
        old.iter().find(|(old, _)| old == name).and_then(|(_, value)| value.parse::<u32>().ok());
    value.parse::<u32>().is_ok_and(|now| match was {
        Some(was) => now == was.saturating_add(1),
        None => now == 2,
    })
}

/// The number of results that a text states.
fn total(text: &str) -> Option<u64> {
    const RESULTS: &[&str] = &[
        "results",
        "matches",
        "records",
        "hits",
        "rows",
        "entries",
        "items",
        "documents",
        "found",
        "treffer",
        "ergebnisse",
        "résultats",
        "resultados",
        "risultati",
        "resultaten",
    ];
    let words: Vec<&str> = text.split_whitespace().take(20_000).collect();
    let is_result = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        RESULTS.contains(&word.as_str())
    };
    let number = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_number = word.len() <= 15
            && word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.' | '\''));
        let digits = || word.chars().filter(char::is_ascii_digit).collect::<String>();
        is_number.then(digits).and_then(|digits| digits.parse::<u64>().ok())
    };
    // "1,234 results", "of about 1,234 matching documents"; of "1-10 of 57 results" it is the last number.
    words.iter().enumerate().find_map(|(at, word)| {
        let found = number(word)?;
        let after = &words[at + 1..words.len().min(at + 4)];
        let ends = after.iter().position(is_result)?;
        after[..ends].iter().all(|word| number(word).is_none()).then_some(found)
    })
}

#[cfg(test)]
#[allow(clippy::format_collect, reason = "pages are short")]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn page(records: &[u32], more: &str) -> String {
        let rows: String = records
            .iter()
            .map(|n| {
                format!(
                    "<div class=hit><h3><a href=/item/{n}>Tide table {n}</a></h3><p>High water at {n} in the \
                     harbour.</p><a href=/about>about</a></div>"
                )
            })
            .collect();
        let menu: String =
            (0..30).map(|n| format!("<li><a href=/menu/{n}>Menu entry {n}</a>")).collect();
        format!(
            "<nav><ul>{menu}</ul></nav><main><h1>Search</h1><p>1-10 of 1,234 results</p><div id=r>{rows}</div>{more}\
             </main><footer><a href=/imprint>Imprint</a></footer>"
        )
    }

    #[test]
    fn records_are_told_from_menus() {
        let html = page(&[1, 2, 3, 4], "<a href='/s?q=a&page=2'>2</a>");
        let answer = read(&html, &url("http://a.example/s?q=a"));
        let links: Vec<_> =
            answer.records.iter().map(|r| r.link.as_ref().unwrap().as_str()).collect();
        assert_eq!(links, [1, 2, 3, 4].map(|n| format!("http://a.example/item/{n}")));
        assert_eq!(answer.records[0].text, "Tide table 1 High water at 1 in the harbour. about");
        assert_eq!(answer.next.unwrap().as_str(), "http://a.example/s?q=a&page=2");
        assert_eq!(answer.total, Some(1234));
    }

    #[test]
    fn one_record_is_found_where_others_stood() {
        let known = read(&page(&[1, 2, 3], ""), &url("http://a.example/s?q=a")).place;
        let answer =
            |records: &[u32]| read_at(&page(records, ""), &url("http://a.example/s?q=b"), known);
        let one = answer(&[7]);
        assert_eq!(one.records.len(), 1, "{one:?}");
        assert_eq!(one.records[0].link.as_ref().unwrap().path(), "/item/7");
    }

    #[test]
    fn rows_of_tables_are_records() {
        let row = |n: u32| {
            format!(
                "<tr class={}><td><a href=/r/{n}>{n}</a><td>Name {n}<td>{n} km</tr>",
                ["odd", "even"][n as usize % 2]
            )
        };
        let rows: String = (0..9).map(row).collect();
        let html = format!(
            "<table><tr><th>id<th>name<th>far</tr>{rows}</table><a rel=next href=?after=9>Go on</a>"
        );
        let answer = read(&html, &url("http://a.example/t"));
        assert_eq!(answer.records.len(), 9, "{answer:?}");
        assert_eq!(answer.next.unwrap().as_str(), "http://a.example/t?after=9");
    }

    #[test]
    fn numbers_of_results() {
        for (text, want) in [
            ("About 12,300 results (0.2 s)", Some(12_300)),
            ("Results 1 - 10 of 57 matches", Some(57)),
            ("57 rows where search matches \"x\"", Some(57)),
            ("Es gibt 1.234 Treffer", Some(1234)),
            ("Founded 1999. Read more", None),
            ("no results", None),
        ] {
            assert_eq!(total(text), want, "{text}");
        }
    }

    #[test]
    fn pages_follow_by_their_number() {
        let follows = |from, to| follows(&url(from), &url(to));
        assert!(follows("http://a/s?q=x", "http://a/s?q=x&page=2"));
        assert!(follows("http://a/s?q=x&page=2", "http://a/s?q=x&page=3"));
        assert!(!follows("http://a/s?q=x&page=2", "http://a/s?q=x&page=9"));
        assert!(!follows("http://a/s?q=x", "http://a/s?q=y&page=2"));
        assert!(!follows("http://a/s?q=x", "http://a/t?q=x&page=2"));
    }

    #[test]
    fn hostile_pages_take_bounded_time() {
        let started = std::time::Instant::now();
        for html in [
            "<div><a href=x>y</a>".repeat(100_000),
            format!("<ul>{}</ul>", "<li><a href=x>y</a></li>".repeat(200_000)),
            "9 ".repeat(500_000),
            "<table><tr><td>x".repeat(50_000),
        ] {
            read(&html, &url("http://a.example/"));
        }
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    }
}
