//! Scoped crawls `[ON10, §3]`: relevant pages link to relevant pages, directly or in short chains.
//!
//! A [`Topic`] scopes a crawl; without one, the queries of users do. The words of a page are those
//! of its URL and of the links to it.

use tidewatch_core::{Asked, Event, Outcome, PageId};

use super::book::Book;
use super::ranked::Order;
use super::terms::{Topic, url_words, words};

/// What the crawl is about, and how relevant each page looks.
struct Scope {
    topic: Topic,
    /// Whether the topic comes from the queries of users.
    follows_queries: bool,
    /// Relevance by the words of URL and links, 0 to 1.
    relevance: Vec<f64>,
}

impl Scope {
    fn new(topic: Topic) -> Self {
        Scope { follows_queries: topic.is_empty(), topic, relevance: Vec::new() }
    }

    fn ask(&mut self, asked: &[Asked<'_>]) {
        let most = asked.iter().map(|q| q.count * q.need).fold(0.0, f64::max);
        if self.follows_queries && most > 0.0 {
            asked.iter().for_each(|q| self.topic.add(q.words, q.count * q.need / most));
        }
    }

    fn meet(&mut self, url: &str) {
        self.relevance.push(self.topic.relevance(url_words(url)));
    }

    /// Takes in a link's anchor text; returns the relevance of that text alone.
    fn hear(&mut self, page: PageId, anchor: &str) -> f64 {
        let said = self.topic.relevance(words(anchor));
        let known = &mut self.relevance[page.index()];
        *known = known.max(said);
        said
    }

    fn of(&self, page: PageId) -> f64 {
        self.relevance[page.index()]
    }
}

/// Irrelevant pages in a row after which a school dies out.
const FISH_DEPTH: u8 = 3;

/// Fish search `[BP94]`: schools follow links from relevant pages and die out
/// after a few irrelevant ones.
///
/// A link on a relevant page scores 1, a link on another page ½ while the school
/// has strength left, 0 after; within a class, first found first.
pub struct FishSearch {
    scope: Scope,
    /// Strength left, and potential.
    schools: Vec<(u8, f64)>,
}

impl FishSearch {
    /// A crawl about `topic`, or about the queries of users if it is empty.
    pub fn new(topic: Topic) -> Self {
        FishSearch { scope: Scope::new(topic), schools: Vec::new() }
    }
}

impl Order for FishSearch {
    fn learn(&mut self, event: &Event<'_>, _: &Book, risen: &mut Vec<PageId>) {
        match event {
            Event::Asked(asked) => self.scope.ask(asked),
            Event::Discovered(found) => {
                self.scope.meet(found.url);
                let potential = if found.via.is_none() { 1.0 } else { 0.0 };
                self.schools.push((FISH_DEPTH, potential));
            }
            Event::Held(seen) | Event::Fetched(seen) => {
                let Outcome::Fetched(content) = seen.outcome else { return };
                let (strength, _) = self.schools[seen.page.index()];
                let child = if self.scope.of(seen.page) > 0.0 {
                    (FISH_DEPTH, 1.0)
                } else {
                    let left = strength.saturating_sub(1);
                    (left, if left > 0 { 0.5 } else { 0.0 })
                };
                let anchors = content.anchors.iter().copied().chain(std::iter::repeat(""));
                for (link, anchor) in content.links.iter().zip(anchors) {
                    self.scope.hear(link.page, anchor);
                    let school = &mut self.schools[link.page.index()];
                    if child.1 > school.1 || link.is_new {
                        *school = child;
                        risen.push(link.page);
                    }
                }
            }
            _ => {}
        }
    }

    fn rule(&self) -> &'static str {
        "links from relevant pages come first, until they lead nowhere"
    }

    fn score(&self, page: PageId, book: &Book) -> f64 {
        // Later finds come after, by less than classes differ.
        self.schools[page.index()].1 - f64::from(page.0) / (4.0 * (book.pages().len() + 1) as f64)
    }
}

/// How much of a parent's relevance a child inherits (δ), what the link's own
/// words weigh against its surroundings (β), and inheritance against both (γ) `[HJM98]`.
const SHARK_DECAY: f64 = 0.5;
const SHARK_ANCHOR: f64 = 0.8;
const SHARK_INHERITED: f64 = 0.5;

/// Shark search `[HJM98]`: potential = γ·inherited + (1 − γ)·(β·anchor + (1 − β)·context),
/// inherited = δ·relevance of the parent, or δ·its own inheritance if it has none.
///
/// A link's words are those of its text and of its URL. Its context is 1 if its text is relevant,
/// as in the paper, and its words otherwise, since the text around a link is not known here. The
/// best of several parents counts. A seed inherits as from a relevant page, because somebody chose
/// it for the search: otherwise nothing would lead on from seeds without topic words.
pub struct SharkSearch {
    scope: Scope,
    inherited: Vec<f64>,
    potential: Vec<f64>,
}

impl SharkSearch {
    /// A crawl about `topic`, or about the queries of users if it is empty.
    pub fn new(topic: Topic) -> Self {
        let (inherited, potential) = (Vec::new(), Vec::new());
        SharkSearch { scope: Scope::new(topic), inherited, potential }
    }
}

impl Order for SharkSearch {
    fn learn(&mut self, event: &Event<'_>, _: &Book, risen: &mut Vec<PageId>) {
        match event {
            Event::Asked(asked) => self.scope.ask(asked),
            Event::Discovered(found) => {
                self.scope.meet(found.url);
                let context = self.scope.of(found.page);
                let seed = f64::from(u8::from(found.via.is_none()));
                self.inherited.push(seed);
                self.potential.push(seed.max((1.0 - SHARK_INHERITED) * context));
            }
            Event::Held(seen) | Event::Fetched(seen) => {
                let Outcome::Fetched(content) = seen.outcome else { return };
                let relevance = self.scope.of(seen.page);
                let own =
                    if relevance > 0.0 { relevance } else { self.inherited[seen.page.index()] };
                let inherited = SHARK_DECAY * own;
                let anchors = content.anchors.iter().copied().chain(std::iter::repeat(""));
                for (link, anchor) in content.links.iter().zip(anchors) {
                    let said = self.scope.hear(link.page, anchor);
                    let words = self.scope.of(link.page);
                    let context = if said > 0.0 { 1.0 } else { words };
                    let near = SHARK_ANCHOR * words + (1.0 - SHARK_ANCHOR) * context;
                    let potential = SHARK_INHERITED * inherited + (1.0 - SHARK_INHERITED) * near;
                    let at = link.page.index();
                    self.inherited[at] = self.inherited[at].max(inherited);
                    if potential > self.potential[at] {
                        self.potential[at] = potential;
                        risen.push(link.page);
                    }
                }
            }
            _ => {}
        }
    }

    fn rule(&self) -> &'static str {
        "the inherited relevance of the pages and link texts that lead to it decides"
    }

    fn score(&self, page: PageId, _: &Book) -> f64 {
        self.potential[page.index()]
    }
}
