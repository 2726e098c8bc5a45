//! A crawl led by a text classifier `[CBD99]`: hubs first, a share of exploration, and online
//! learning `[MPS04]`.
//!
//! A page is described by the words of its URL and of links to it. A logistic regression on those
//! words, trained during the crawl, gives the probability that a page is relevant. A [`Topic`] says
//! what is relevant; without one, it is what searchers click, known some time after a fetch. A page
//! that has led to relevant pages is a hub, and its other links come earlier.

use std::collections::VecDeque;

use tidewatch_core::{Event, InterestKind, Outcome, PageId, Span, Time};

use super::book::Book;
use super::ranked::Order;
use super::terms::{Topic, url_words, words};

/// Slots of the hashed weights: words may share one, which at this size costs little.
const TABLE: usize = 1 << 16;
/// Most words kept of a page.
const MOST_WORDS: usize = 24;
/// Step of the regression, divided by the root of the number of a word's examples.
const STEP: f64 = 0.5;
/// A page fetched this long ago and never clicked is a negative example.
const PATIENCE: Span = Span::from_micros(2 * Span::DAY.as_micros());
/// How much the yield of a hub weighs against the words of a link.
const HUB_WEIGHT: f64 = 0.5;
/// Prior fetches of a hub, at the crawl's average yield.
const HUB_PRIOR: f64 = 4.0;
/// Share of fetches that explore what looks irrelevant (tunnelling).
const EXPLORATION: f64 = 0.05;

/// The order.
pub struct Classifier {
    topic: Option<Topic>,
    weights: Vec<(f64, f64)>,
    bias: f64,
    examples: f64,
    relevant: f64,
    words: Vec<Vec<u16>>,
    /// Fetched children, and the relevant ones among them.
    hubs: Vec<(f64, f64)>,
    /// Fetched pages whose clicks are awaited.
    awaited: VecDeque<(Time, PageId)>,
    judged: Vec<bool>,
    /// Words of the topic seen so far, for judging.
    on_topic: Vec<bool>,
}

impl Classifier {
    /// Relevance by `topic`, or by clicks without one.
    pub fn new(topic: Option<Topic>) -> Self {
        Classifier {
            topic,
            weights: vec![(0.0, 0.0); TABLE],
            bias: 0.0,
            examples: 0.0,
            relevant: 0.0,
            words: Vec::new(),
            hubs: Vec::new(),
            awaited: VecDeque::new(),
            judged: Vec::new(),
            on_topic: Vec::new(),
        }
    }

    fn note(&mut self, page: PageId, text: impl Iterator<Item = u64>) -> bool {
        let list = &mut self.words[page.index()];
        let before = list.len();
        for word in text {
            let place = (word % TABLE as u64) as u16;
            if list.len() < MOST_WORDS && !list.contains(&place) {
                list.push(place);
            }
        }
        list.len() > before
    }

    /// P(relevant | words).
    pub fn probability(&self, page: PageId) -> f64 {
        let words = &self.words[page.index()];
        let sum: f64 = words.iter().map(|&word| self.weights[usize::from(word)].0).sum();
        logistic(self.bias + sum)
    }

    /// How often a hub's links proved relevant, shrunk towards the crawl's average.
    fn hub(&self, page: PageId) -> f64 {
        let average = self.relevant / self.examples.max(1.0);
        let (children, good) = self.hubs[page.index()];
        (good + HUB_PRIOR * average) / (children + HUB_PRIOR)
    }

    /// Learns from a page that proved relevant or not.
    fn judge(&mut self, page: PageId, is_relevant: bool, via: Option<PageId>) {
        if std::mem::replace(&mut self.judged[page.index()], true) {
            return;
        }
        let target = f64::from(u8::from(is_relevant));
        let gap = target - self.probability(page);
        self.examples += 1.0;
        self.relevant += target;
        self.bias += STEP * gap / self.examples.sqrt();
        for &word in &self.words[page.index()] {
            let (weight, seen) = &mut self.weights[usize::from(word)];
            *seen += 1.0;
            *weight += STEP * gap / seen.sqrt();
        }
        if let Some(hub) = via {
            let (children, good) = &mut self.hubs[hub.index()];
            *children += 1.0;
            *good += target;
        }
    }

    /// Learns from pages that were not clicked in time.
    fn give_up(&mut self, now: Time, book: &Book) {
        while let Some(&(fetched, page)) = self.awaited.front() {
            if fetched + PATIENCE > now {
                return;
            }
            self.awaited.pop_front();
            self.judge(page, false, book[page].via);
        }
    }

    fn fetched(&mut self, page: PageId, at: Time, book: &Book) {
        if self.topic.is_some() {
            self.judge(page, self.on_topic[page.index()], book[page].via);
        } else {
            self.give_up(at, book);
            self.awaited.push_back((at, page));
        }
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Order for Classifier {
    fn learn(&mut self, event: &Event<'_>, book: &Book, risen: &mut Vec<PageId>) {
        match event {
            Event::Discovered(found) => {
                self.words.push(Vec::new());
                self.hubs.push((0.0, 0.0));
                self.judged.push(false);
                let fits = |topic: &Topic| topic.relevance(url_words(found.url)) > 0.0;
                self.on_topic.push(self.topic.as_ref().is_some_and(fits));
                self.note(found.page, url_words(found.url));
            }
            Event::Held(seen) | Event::Fetched(seen) => {
                let Outcome::Fetched(content) = seen.outcome else { return };
                for (link, anchor) in content.links.iter().zip(content.anchors) {
                    let fits = |topic: &Topic| topic.relevance(words(anchor)) > 0.0;
                    self.on_topic[link.page.index()] |= self.topic.as_ref().is_some_and(fits);
                    if self.note(link.page, words(anchor)) {
                        risen.push(link.page);
                    }
                }
                if seen.previous.is_none() {
                    self.fetched(seen.page, seen.at, book);
                }
                // This hub's new yield changes the chances of its other links.
                risen.extend(book.added().iter().map(|&to| PageId(to)));
            }
            Event::Log(rows) if self.topic.is_none() => {
                for row in rows.iter().filter(|row| row.kind == InterestKind::Click) {
                    self.judge(row.page, true, book[row.page].via);
                }
            }
            _ => {}
        }
    }

    fn rule(&self) -> &'static str {
        "a text classifier trained on clicked pages decides, with some exploration"
    }

    fn score(&self, page: PageId, book: &Book) -> f64 {
        let own = self.probability(page);
        let Some(via) = book[page].via else { return own };
        (1.0 - HUB_WEIGHT) * own + HUB_WEIGHT * self.hub(via)
    }

    fn exploration(&self) -> f64 {
        EXPLORATION
    }
}
