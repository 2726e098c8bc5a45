//! Walks over addresses in the order in which they appeared, as a crawl meets them.
//!
//! Every address that is not taken for a known page is fetched at once. What a fetch shows follows from
//! the address's *class*, which the data gives and hygiene never sees.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_hygiene::{Changed, Hygiene, Judgement, Met, Seen, Settings, Showed};
use tidewatch_math::rng::Draws;

/// Upper ends of the bins of a reliability table.
const BINS: [f64; 8] = [0.01, 0.05, 0.1, 0.3, 0.6, 0.9, 0.97, 1.0];
/// Hashes of a sketch.
const SKETCH: usize = tidewatch_core::sketch::SKETCH_LEN;
/// Share of fragments that a small change of a text leaves.
const LEFT: f64 = 0.9;

/// How a site shows that two addresses are one page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tells {
    /// It shows the same text.
    Text,
    /// It shows the same text, but this share of fetches find it changed a little since.
    ChangedText(f64),
    /// Further addresses redirect to the first.
    Redirect,
}

/// An address and what it leads to.
pub(super) struct Address {
    pub(super) url: String,
    pub(super) host: String,
    pub(super) class: u64,
}

impl Address {
    pub(super) fn new(url: &CanonicalUrl, class: u64) -> Self {
        Self { url: url.as_str().to_owned(), host: url.host().to_owned(), class }
    }
}

/// What became of the addresses of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) addresses: u64,
    /// Addresses of a page that was met before under another.
    pub(super) repeats: u64,
    /// Repeats taken for the right page without a fetch.
    pub(super) recognised: u64,
    /// Addresses taken for another page although theirs was not held.
    pub(super) lost: u64,
    pub(super) fetches: u64,
    /// Fetches of repeats before a rule was applied.
    pub(super) early: u64,
    /// Fetches of repeats to try rules that are applied.
    pub(super) probes: u64,
    /// Fetches until a rule was applied.
    pub(super) until_rule: Option<u64>,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.addresses += other.addresses;
        self.repeats += other.repeats;
        self.recognised += other.recognised;
        self.lost += other.lost;
        self.fetches += other.fetches;
        self.early += other.early;
        self.probes += other.probes;
    }

    pub(super) fn distinct(&self) -> u64 {
        self.addresses - self.repeats
    }
}

/// Chances that were given, and what happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Reliability {
    bins: [Bin; BINS.len()],
}

/// Judgements with chances in one range.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bin {
    pub(super) count: u64,
    chances: f64,
    came_true: u64,
}

impl Bin {
    pub(super) fn said(&self) -> f64 {
        self.chances / self.count as f64
    }

    pub(super) fn happened(&self) -> f64 {
        self.came_true as f64 / self.count as f64
    }
}

impl Reliability {
    fn add(&mut self, chance: f64, is_true: bool) {
        let bin = BINS.partition_point(|&end| end < chance).min(BINS.len() - 1);
        let bin = &mut self.bins[bin];
        bin.count += 1;
        bin.chances += chance;
        bin.came_true += u64::from(is_true);
    }

    pub(super) fn bins(&self) -> impl Iterator<Item = &Bin> {
        self.bins.iter().filter(|bin| bin.count > 0)
    }

    /// Mean distance of what was said from what happened, by judgements.
    pub(super) fn error(&self) -> f64 {
        let all: u64 = self.bins.iter().map(|bin| bin.count).sum();
        let off = |bin: &Bin| (bin.chances - bin.came_true as f64).abs();
        self.bins.iter().map(off).sum::<f64>() / all.max(1) as f64
    }
}

/// A page that was let in.
struct Page {
    url: String,
    class: u64,
    identity: u64,
    sketch: Vec<u64>,
}

/// A walk.
pub(super) struct Walk {
    pub(super) hygiene: Hygiene,
    tells: Tells,
    draws: Draws,
    index: FxHashMap<u64, u32>,
    pages: Vec<Page>,
    of_host: FxHashMap<String, Vec<u32>>,
    first_of: FxHashMap<u64, u32>,
    met: FxHashSet<u64>,
    pub(super) by_host: BTreeMap<String, Tally>,
    /// q of URLs whose key was taken.
    pub(super) taken: Reliability,
    /// q of URLs whose key was not.
    pub(super) free: Reliability,
}

impl Walk {
    pub(super) fn new(settings: Settings, tells: Tells, draws: Draws) -> Self {
        Self {
            hygiene: Hygiene::new(settings),
            tells,
            draws,
            index: FxHashMap::default(),
            pages: Vec::new(),
            of_host: FxHashMap::default(),
            first_of: FxHashMap::default(),
            met: FxHashSet::default(),
            by_host: BTreeMap::new(),
            taken: Reliability::default(),
            free: Reliability::default(),
        }
    }

    /// Meets an address, none twice.
    pub(super) fn meet(&mut self, address: &Address) {
        let judgement = self.hygiene.judge(&Met::new(&address.url));
        let other = self.index.get(&judgement.key).copied();
        let is_repeat = !self.met.insert(address.class);
        let tally = self.by_host.entry(address.host.clone()).or_default();
        tally.addresses += 1;
        tally.repeats += u64::from(is_repeat);
        if let Some(other) = other {
            let is_same = self.pages[other as usize].class == address.class;
            self.taken.add(judgement.chance, is_same);
            if !judgement.is_probe {
                tally.recognised += u64::from(is_same);
                tally.lost += u64::from(!is_same && !self.first_of.contains_key(&address.class));
                if let Some(rule) = judgement.rule {
                    self.hygiene.spared(rule);
                }
                return;
            }
        } else {
            self.free.add(judgement.doubt, is_repeat);
        }
        tally.fetches += 1;
        tally.early += u64::from(is_repeat && tally.until_rule.is_none());
        tally.probes += u64::from(other.is_some());
        self.fetch(address, &judgement, other);
    }

    fn fetch(&mut self, address: &Address, judgement: &Judgement, other: Option<u32>) {
        let first = self.first_of.get(&address.class).copied();
        let (identity, sketch) = self.text(address.class);
        let target = match (self.tells, first) {
            (Tells::Redirect, Some(first)) => Some(self.pages[first as usize].url.clone()),
            _ => None,
        };
        let showed = match &target {
            Some(target) => Showed::Moved(target),
            None => Showed::page(identity, &sketch),
        };
        let known = other.map(|other| &self.pages[other as usize]);
        let known = known.map(|page| (page.identity, &page.sketch[..]));
        let seen = Seen { known, ..Seen::new(&address.url, showed) };
        let changed = self.hygiene.learn(&seen);
        let page = self.pages.len() as u32;
        self.pages.push(Page { url: address.url.clone(), class: address.class, identity, sketch });
        self.of_host.entry(address.host.clone()).or_default().push(page);
        self.first_of.entry(address.class).or_insert(page);
        self.index.entry(judgement.key).or_insert(page);
        self.file_again(&address.host, &changed);
    }

    /// After rules have changed, pages of the host have other keys.
    fn file_again(&mut self, host: &str, changed: &Changed) {
        if changed.rules.is_empty() {
            return;
        }
        for &page in &self.of_host[host] {
            let key = self.hygiene.judge(&Met::new(&self.pages[page as usize].url)).key;
            self.index.entry(key).or_insert(page);
        }
        let tally = self.by_host.entry(host.to_owned()).or_default();
        tally.until_rule.get_or_insert(tally.fetches);
    }

    /// Identity and sketch of a text, as one fetch finds it.
    fn text(&mut self, class: u64) -> (u64, Vec<u64>) {
        let text = Draws::of(0, "hygiene.text", class);
        let mut sketch: Vec<u64> = (0..SKETCH as u64).map(|i| text.at(i)).collect();
        let mut identity = text.at(SKETCH as u64);
        if let Tells::ChangedText(share) = self.tells
            && self.draws.chance(share)
        {
            identity = self.draws.word();
            for hash in &mut sketch {
                if !self.draws.chance(LEFT) {
                    *hash = self.draws.word();
                }
            }
        }
        sketch.sort_unstable();
        (identity, sketch)
    }

    pub(super) fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in self.by_host.values() {
            total.add(tally);
        }
        total
    }
}
