//! Which values to choose in the lists and ranges of a form.
//!
//! The form is asked with nothing chosen. Where that shows more records than can be paged through, the
//! query is split: by a list, one query for each of its values, or by a range, in halves. Parts that are
//! still too large are split by another input, at most [`MOST_CHOSEN`] at once `[MKKGRH08]`, so the number of
//! queries follows the size of the database and not that of the form.
//!
//! An input is *informative* if the answers to its values differ: at least [`INFORMATIVE`] of the answers are
//! distinct `[MKKGRH08]`. An input that is not (an order, a page size, an input that the site ignores) is
//! given up after [`TRIED`] values, and its query is split by another one.
//!
//! `[MKKGRH08]` J. Madhavan et al.: Google's deep web crawl. VLDB 2008.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::question::{Question, Role};

/// Most inputs chosen in one query; a range counts as one.
const MOST_CHOSEN: usize = 3;
/// Least share of distinct answers of an informative input.
const INFORMATIVE: f64 = 0.2;
/// Values tried before an input is called uninformative.
const TRIED: usize = 5;
/// Most records remembered: later ones count as known.
const MOST_RECORDS: usize = 1 << 20;
/// Most queries remembered.
const MOST_NODES: usize = 100_000;
/// Weight of the newest page in the mean of new records, and pages before that mean can end the search.
const LATELY: f64 = 0.05;
const PATIENCE: u64 = 40;
/// How often a range is halved at most.
const MOST_HALVINGS: u8 = 24;

/// A page to ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldsAsk {
    /// The number of its query.
    pub query: usize,
    /// Whether it is the first page of the query.
    pub is_first: bool,
}

/// Chooses values for the inputs of one form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fields {
    splitters: Vec<Splitter>,
    nodes: Vec<Node>,
    /// Next pages of lists first, then queries in the order in which they were made.
    todo: VecDeque<FieldsAsk>,
    /// Most records that one query shows, once a list ended early.
    cap: Option<u64>,
    seen: FxHashSet<u64>,
    pages: u64,
    lately: f64,
    least_new: f64,
}

/// Something that a query can be split by.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Splitter {
    by: By,
    is_idle: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum By {
    /// The values of a list.
    List { input: usize, values: Vec<String> },
    /// A least and a greatest number.
    Range { low: usize, high: usize, min: i64, max: i64 },
}

/// A query.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Node {
    /// Values chosen, by place of the input.
    chosen: Vec<(usize, String)>,
    /// The bounds chosen of each range, by splitter.
    bounds: Vec<(usize, i64, i64)>,
    /// Splitters used, by number; a range that is halved again is named once.
    used: Vec<usize>,
    halvings: u8,
    parent: Option<usize>,
    split_by: Option<usize>,
    retrieved: u64,
    first: u64,
    /// Hash of its first answer, then those of its parts so far.
    answers: Vec<u64>,
}

impl Fields {
    /// For a form; `None` if it has neither a list nor a range to split by. `least_new` is the number of new
    /// records that a page must bring in the mean.
    pub fn of(question: &Question, least_new: f64) -> Option<Fields> {
        let splitters: Vec<Splitter> =
            splitters(question).into_iter().map(|by| Splitter { by, is_idle: false }).collect();
        let root = FieldsAsk { query: 0, is_first: true };
        (!splitters.is_empty()).then(|| Fields {
            splitters,
            nodes: vec![Node::default()],
            todo: VecDeque::from([root]),
            cap: None,
            seen: FxHashSet::default(),
            pages: 0,
            lately: f64::INFINITY,
            least_new,
        })
    }

    /// The next page to ask for; `None` if nothing is left or nothing pays. Several may be under way at once.
    pub fn choose(&mut self) -> Option<FieldsAsk> {
        if self.pages >= PATIENCE && self.lately < self.least_new {
            return None;
        }
        self.todo.pop_front()
    }

    /// The values that a query chooses, by place of the input.
    pub fn chosen(&self, query: usize) -> Vec<(usize, &str)> {
        let chosen = self.nodes.get(query).map(|node| node.chosen.as_slice()).unwrap_or_default();
        chosen.iter().map(|(at, value)| (*at, value.as_str())).collect()
    }

    /// Records held.
    pub fn held(&self) -> usize {
        self.seen.len()
    }

    /// Result pages taken in.
    pub const fn pages(&self) -> u64 {
        self.pages
    }

    /// Queries made or planned.
    pub fn queries(&self) -> usize {
        self.nodes.len()
    }

    /// New records a page lately; infinite before the first page.
    pub const fn lately(&self) -> f64 {
        self.lately
    }

    /// Takes in the page that an ask brought; returns how many of its records are new.
    pub fn learn(
        &mut self,
        ask: &FieldsAsk,
        records: impl IntoIterator<Item = u64>,
        has_more: bool,
        total: Option<u64>,
    ) -> usize {
        let mut records: Vec<u64> = records.into_iter().collect();
        records.sort_unstable();
        records.dedup();
        let new = records.iter().filter(|key| self.meet(**key)).count();
        self.pages += 1;
        let before = if self.lately.is_finite() { self.lately } else { new as f64 };
        self.lately = LATELY * new as f64 + (1.0 - LATELY) * before;
        let Some(node) = self.nodes.get_mut(ask.query) else { return new };
        node.retrieved += records.len() as u64;
        let retrieved = node.retrieved;
        if ask.is_first {
            let bytes: Vec<u8> = records.iter().flat_map(|key| key.to_le_bytes()).collect();
            let total = total.unwrap_or(0).to_le_bytes();
            node.first = xxh3_64(&[bytes.as_slice(), &total].concat());
            node.answers.push(node.first);
            let (first, parent) = (node.first, node.parent);
            if parent.is_some_and(|parent| self.is_idle(parent, first)) {
                return new;
            }
        }
        let is_beyond = self.cap.zip(total).is_some_and(|(cap, total)| total > cap);
        let is_short = total.is_some_and(|total| total > retrieved);
        match () {
            () if is_beyond && ask.is_first => self.split(ask.query, total),
            () if has_more && !records.is_empty() => {
                self.todo.push_front(FieldsAsk { query: ask.query, is_first: false });
            }
            () if is_short && retrieved > 0 => {
                self.cap = Some(self.cap.map_or(retrieved, |cap| cap.max(retrieved)));
                self.split(ask.query, total);
            }
            () => {}
        }
        new
    }

    /// Notes a record; returns whether it is new.
    fn meet(&mut self, record: u64) -> bool {
        self.seen.len() < MOST_RECORDS && self.seen.insert(record)
    }

    /// Notes the answer to a part of a query. Once too many parts have equal answers, their input is given up
    /// and the query is split by another one.
    fn is_idle(&mut self, parent: usize, answer: u64) -> bool {
        let node = &mut self.nodes[parent];
        node.answers.push(answer);
        let Some(by) = node.split_by.filter(|_| node.answers.len() > TRIED) else { return false };
        let distinct = node.answers.iter().collect::<FxHashSet<_>>().len() as f64;
        if distinct / node.answers.len() as f64 >= INFORMATIVE {
            return false;
        }
        node.answers.truncate(1);
        node.split_by = None;
        self.splitters[by].is_idle = true;
        let nodes = &self.nodes;
        let above = |query: &usize| nodes[*query].parent;
        let descends =
            |query| std::iter::successors(Some(query), above).skip(1).any(|of| of == parent);
        self.todo.retain(|ask| !descends(ask.query));
        self.split(parent, None);
        true
    }

    /// Splits a query by the input that leaves the fewest parts which are small enough.
    fn split(&mut self, query: usize, total: Option<u64>) {
        let node = &self.nodes[query];
        if self.nodes.len() >= MOST_NODES {
            return;
        }
        let parts =
            |by: &By| if let By::List { values, .. } = by { values.len() as u64 } else { 2 };
        let wanted = total.zip(self.cap).map_or(2, |(total, cap)| total.div_ceil(cap.max(1)));
        let usable = self.splitters.iter().enumerate().filter(|(at, splitter)| {
            let again = matches!(splitter.by, By::Range { .. }) && node.used.contains(at);
            let is_new = !node.used.contains(at) && node.used.len() < MOST_CHOSEN;
            !splitter.is_idle && (is_new || again && node.halvings < MOST_HALVINGS)
        });
        // A list with enough values first, then a range, then the longest list.
        let best = usable.min_by_key(|(_, splitter)| match &splitter.by {
            by @ By::List { .. } if parts(by) >= wanted => (0, parts(by)),
            By::Range { .. } => (1, 0),
            by @ By::List { .. } => (2, u64::MAX - parts(by)),
        });
        let Some(by) = best.map(|(at, _)| at) else { return };
        match self.splitters[by].by.clone() {
            By::List { input, values } => {
                for value in values {
                    self.part(query, by, vec![(input, value)], None);
                }
            }
            By::Range { low, high, min, max } => self.halve(query, by, (low, high), (min, max)),
        }
    }

    fn halve(&mut self, query: usize, by: usize, inputs: (usize, usize), all: (i64, i64)) {
        let known = self.nodes[query].bounds.iter().find(|(splitter, ..)| *splitter == by);
        let (min, max) = known.map_or(all, |(_, min, max)| (*min, *max));
        if min >= max {
            return;
        }
        // Prices and sizes spread over orders of magnitude.
        let middle = if min >= 0 && max > 16 * min.max(1) {
            ((min.max(1) as f64 * max as f64).sqrt() as i64).clamp(min, max - 1)
        } else {
            min + (max - min) / 2
        };
        for (min, max) in [(min, middle), (middle + 1, max)] {
            let chosen = vec![(inputs.0, min.to_string()), (inputs.1, max.to_string())];
            self.part(query, by, chosen, Some((by, min, max)));
        }
    }

    fn part(
        &mut self,
        of: usize,
        by: usize,
        chosen: Vec<(usize, String)>,
        bounds: Option<(usize, i64, i64)>,
    ) {
        let whole = &mut self.nodes[of];
        whole.split_by = Some(by);
        let mut part = Node {
            chosen: whole.chosen.clone(),
            bounds: whole.bounds.clone(),
            used: whole.used.clone(),
            halvings: whole.halvings + u8::from(bounds.is_some()),
            parent: Some(of),
            ..Node::default()
        };
        part.chosen.retain(|(at, _)| chosen.iter().all(|(new, _)| new != at));
        part.chosen.extend(chosen);
        if let Some(bounds) = bounds {
            part.bounds.retain(|(splitter, ..)| *splitter != by);
            part.bounds.push(bounds);
        }
        if !part.used.contains(&by) {
            part.used.push(by);
        }
        self.todo.push_back(FieldsAsk { query: self.nodes.len(), is_first: true });
        self.nodes.push(part);
    }
}

/// What queries of a form can be split by: lists without the value that stands for all, and pairs of numbers
/// of which one is the least and one the greatest.
fn splitters(question: &Question) -> Vec<By> {
    let inputs = question.inputs();
    let mut found = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        match &input.role {
            Role::Choice(values) => {
                let mut values: Vec<String> =
                    values.iter().filter(|value| **value != input.value).cloned().collect();
                // A value that is chosen from the start stands for all only if it is empty, or says so.
                if !is_all(&input.value) {
                    values.insert(0, input.value.clone());
                }
                values.retain(|value| !is_all(value));
                if values.len() > 1 {
                    found.push(By::List { input: at, values });
                }
            }
            Role::Number { min, max } => {
                let partner = || {
                    let stem = bound(&input.name, LOW)?;
                    inputs.iter().position(|other| bound(&other.name, HIGH).as_ref() == Some(&stem))
                };
                if let Some(high) = partner() {
                    found.push(By::Range { low: at, high, min: *min as i64, max: *max as i64 });
                }
            }
            Role::Words | Role::Fixed => {}
        }
    }
    found
}

const LOW: &[&str] = &["min", "from", "low", "least", "gte", "gt", "von", "desde", "de", "start"];
const HIGH: &[&str] = &["max", "to", "high", "most", "lte", "lt", "bis", "hasta", "a", "end"];

/// The name of a bound without the word that says which one it is.
fn bound(name: &str, words: &[&str]) -> Option<Vec<String>> {
    let mut tokens = crate::lexicon::tokens(name);
    let at = tokens.iter().position(|token| words.contains(&token.as_str()))?;
    tokens.remove(at);
    Some(tokens)
}

fn is_all(value: &str) -> bool {
    matches!(
        value.trim().to_lowercase().as_str(),
        "" | "all" | "any" | "*" | "0" | "-1" | "alle" | "tous" | "todos"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that makes up records takes no more memory than a large database.
    #[test]
    fn records_have_a_limit() {
        let splitter = Splitter { by: By::List { input: 0, values: Vec::new() }, is_idle: false };
        let root = FieldsAsk { query: 0, is_first: true };
        let mut fields = Fields {
            splitters: vec![splitter],
            nodes: vec![Node::default()],
            todo: VecDeque::from([root.clone()]),
            cap: None,
            seen: FxHashSet::default(),
            pages: 0,
            lately: f64::INFINITY,
            least_new: 0.5,
        };
        let many = MOST_RECORDS as u64 + 10;
        assert_eq!(fields.learn(&root, 0..many, true, None), MOST_RECORDS);
        assert_eq!(fields.learn(&root, many..many + 10, true, None), 0);
        assert_eq!(fields.held(), MOST_RECORDS);
    }
}
