//! Spam: hosts made for search engines instead of readers.
//!
//! A host is judged by the measures of some of its pages ([`Shape`]) and by its links with other hosts.
//! What measures mean is known from a set of labelled hosts ([`default`]); what links mean, and how this
//! crawl's spam differs, only from labels that the operator gives. Before the first the default model ranks
//! hosts for the operator to look at, and the price hears nothing; afterwards it is where learning begins.
//! A labelled host is what its label says.
//!
//! The price learns clicks from what the crawl fetches, so a share of spam as large as everywhere
//! changes nothing: a page of a host that is spam with chance p is worth (1 − p)/(1 − p₀) of what it
//! would be worth otherwise, at most 1, where p₀ is the share of spam among all hosts.
//!
//! Hosts of seeds are trusted, and taken for labelled good, if there are few enough to have been chosen
//! by hand.

pub mod default;
pub mod model;
pub mod shape;
mod trust;

use std::f64::consts::LN_10;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use self::model::{Belief, Example, Logistic};
use self::shape::{MEASURES, Shape};
use self::trust::{Links, TIES};

/// Features: each measure and its square, then links.
pub const FEATURES: usize = 2 * MEASURES + TIES;
/// Pages of a host that are measured.
const MEASURED: u32 = 16;
/// Hosts with measures, at most; of more, those that were measured least recently are forgotten, an
/// eighth at a time.
const MOST_HOSTS: usize = 1 << 16;
/// Hosts that are trusted because they are seeds, at most: more were not chosen one by one `[GGP04]`.
const MOST_TRUSTED: usize = 200;
/// Chance that a host is spam that the operator labelled so. Even operators err.
const LABELLED: f64 = 0.99;
/// Standard deviation of the weights of links before labels come: one standard deviation of a
/// feature may change the odds tenfold.
const LINKS_SPREAD: f64 = LN_10;
/// Standard deviation of the weights of measures about those learnt elsewhere: as large as it was before
/// they were learnt, since spam of 2007 is not that of today.
const MEASURES_SPREAD: f64 = 0.5;
/// Measures are cut off at so many standard deviations. Further out the labelled hosts are too few to learn
/// from: with 3 unseen hosts are told apart less well, and chances above a quarter are far too high.
pub const FAR: f64 = 2.0;
/// Labelled hosts are divided into so many parts; the features of each come from the labels of the others.
const PARTS: u64 = 2;

/// What an operator says of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Made for search engines.
    Spam,
    /// Made for readers.
    Good,
}

/// How likely a host is spam, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpamChance {
    /// The chance.
    pub chance: f64,
    /// Pages measured.
    pub pages: u32,
    /// What the operator said.
    pub label: Option<Label>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Measured {
    shape: Shape,
    pages: u32,
    used: u64,
}

/// What labels taught.
#[derive(Clone, Debug)]
struct Learnt {
    model: Logistic<FEATURES>,
    /// Features by links, by the number of the host.
    ties: Vec<[f64; TIES]>,
    /// Links and hosts measured when it was learnt.
    size: usize,
}

/// Everything known about spam.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Spam {
    measured: FxHashMap<u64, Measured>,
    links: Links,
    seeds: FxHashSet<u64>,
    /// Kept by the caller, who gives them again.
    #[serde(skip)]
    labels: FxHashMap<u64, Label>,
    clock: u64,
    #[serde(skip)]
    learnt: Option<Learnt>,
    /// Whether a label was given or taken back since the last review.
    #[serde(skip)]
    is_relabelled: bool,
}

impl Spam {
    /// Whether a further page of a host is to be measured.
    pub(crate) fn wants(&self, host: u64) -> bool {
        self.measured.get(&host).is_none_or(|known| known.pages < MEASURED)
    }

    /// A page of a host was read.
    pub(crate) fn read(&mut self, host: u64, shape: Option<Shape>, to: impl Iterator<Item = u64>) {
        self.clock += 1;
        if let Some(shape) = shape.filter(|shape| shape.0.iter().all(|x| x.is_finite()))
            && self.wants(host)
        {
            let known = self.measured.entry(host).or_default();
            known.shape = known.shape.mean(known.pages, shape);
            known.pages += 1;
            known.used = self.clock;
            self.forget();
        }
        let mut last = host;
        for to in to {
            if to != std::mem::replace(&mut last, to) {
                self.links.add(host, to);
            }
        }
    }

    fn forget(&mut self) {
        if self.measured.len() > MOST_HOSTS {
            let mut used: Vec<u64> = self.measured.values().map(|host| host.used).collect();
            let eighth = used.len() / 8;
            let (_, &mut bar, _) = used.select_nth_unstable(eighth);
            self.measured.retain(|_, host| host.used >= bar);
        }
    }

    /// A host of a seed.
    pub(crate) fn trust(&mut self, host: u64) {
        if self.seeds.len() <= MOST_TRUSTED && self.seeds.insert(host) {
            self.is_relabelled |= !self.labels.is_empty();
        }
    }

    pub(crate) fn label(&mut self, host: u64, label: Option<Label>) {
        match label {
            Some(label) => self.labels.insert(host, label),
            None => self.labels.remove(&host),
        };
        self.is_relabelled = true;
    }

    /// Learns from labels if they, or a tenth of what they speak about, are new. Returns whether it did.
    pub(crate) fn review(&mut self) -> bool {
        let size = self.links.len() + self.measured.len();
        // Seeds alone teach nothing: there must be something to tell them from.
        let is_taught = self.labels.values().any(|&label| label == Label::Spam);
        let is_larger = |learnt: &Learnt| size > learnt.size + learnt.size / 10;
        let has_grown = is_taught && self.learnt.as_ref().is_none_or(is_larger);
        if !std::mem::take(&mut self.is_relabelled) && !has_grown {
            return false;
        }
        self.learnt = is_taught.then(|| self.learn(size));
        true
    }

    fn learn(&self, size: usize) -> Learnt {
        let labels = self.labelled();
        let of = |label: Label, part: Option<u64>| -> Vec<u64> {
            let is_of = |host: u64| part.is_none_or(|part| host % PARTS != part);
            let all = labels.iter().filter(|(host, known)| *known == label && is_of(*host));
            all.map(|(host, _)| *host).collect()
        };
        let walks = self.links.walks();
        let ties = |part| {
            let walk = |walks: &trust::Walks<'_>| {
                walks.features(&of(Label::Good, part), &of(Label::Spam, part))
            };
            walks.as_ref().map(walk).unwrap_or_default()
        };
        let mut examples = Vec::with_capacity(labels.len());
        for part in 0..PARTS {
            let ties = ties(Some(part));
            for (host, label) in labels.iter().filter(|(host, _)| host % PARTS == part) {
                let x = self.features(*host, &ties);
                examples.push(Example { x, is_spam: *label == Label::Spam });
            }
        }
        Learnt {
            model: Logistic::fit(default::BIAS, default::SHARE, &prior(), &examples),
            ties: ties(None),
            size,
        }
    }

    /// All labelled hosts, with seeds, in ascending order.
    fn labelled(&self) -> Vec<(u64, Label)> {
        let is_chosen = self.seeds.len() <= MOST_TRUSTED;
        let seeds = self.seeds.iter().filter(|host| is_chosen && !self.labels.contains_key(host));
        let seeds = seeds.map(|&host| (host, Label::Good));
        let mut all: Vec<_> =
            self.labels.iter().map(|(&host, &label)| (host, label)).chain(seeds).collect();
        all.sort_unstable_by_key(|(host, _)| *host);
        all
    }

    fn label_of(&self, host: u64) -> Option<Label> {
        let is_seed = self.seeds.len() <= MOST_TRUSTED && self.seeds.contains(&host);
        self.labels.get(&host).copied().or_else(|| is_seed.then_some(Label::Good))
    }

    fn features(&self, host: u64, ties: &[[f64; TIES]]) -> [f64; FEATURES] {
        let mut x = [0.0; FEATURES];
        if let Some(known) = self.measured.get(&host) {
            x[..2 * MEASURES].copy_from_slice(&of_shape(&known.shape));
        }
        if let Some(ties) = self.links.number_of(host).and_then(|number| ties.get(number)) {
            x[2 * MEASURES..].copy_from_slice(ties);
        }
        x
    }

    /// How likely a host is spam.
    pub(crate) fn chance(&self, host: u64) -> SpamChance {
        let pages = self.measured.get(&host).map_or(0, |known| known.pages);
        let label = self.label_of(host);
        let chance = match (label, &self.learnt) {
            (Some(Label::Spam), _) => LABELLED,
            (Some(Label::Good), _) => 1.0 - LABELLED,
            (None, Some(learnt)) => learnt.model.chance(&self.features(host, &learnt.ties)),
            (None, None) if pages == 0 => default::SHARE,
            (None, None) => default::model().chance(&self.features(host, &[])),
        };
        SpamChance { chance, pages, label }
    }

    /// Share of the value that pages of a host lack because it may be spam: nothing before the operator has
    /// labelled any spam, since the default model knows that of another time and place.
    pub(crate) fn doubt(&self, host: u64) -> f64 {
        if self.learnt.is_none() && self.label_of(host).is_none() {
            return 0.0;
        }
        (1.0 - (1.0 - self.chance(host).chance) / (1.0 - default::SHARE)).max(0.0)
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let ties = self.learnt.as_ref().map_or(0, |learnt| size_of_val(&learnt.ties[..]));
        self.measured.len() * size_of::<(u64, Measured)>() * 8 / 7 + self.links.bytes() + ties
    }
}

fn prior() -> [Belief; FEATURES] {
    std::array::from_fn(|at| match default::WEIGHTS.get(at) {
        Some(&mean) => Belief { mean, spread: MEASURES_SPREAD },
        None => Belief { mean: 0.0, spread: LINKS_SPREAD },
    })
}

/// Features of a host's mean measures: each standardised over the labelled hosts z, and z² − 1.
pub fn of_shape(shape: &Shape) -> [f64; 2 * MEASURES] {
    let x = scaled(shape);
    std::array::from_fn(|at| {
        let (mean, deviation) = default::SCALE[at / 2];
        let z = ((x[at / 2] - mean) / deviation).clamp(-FAR, FAR);
        if at % 2 == 0 { z } else { z * z - 1.0 }
    })
}

/// Counts, shares and ratios by their logarithms, which are spread evenly.
pub fn scaled(shape: &Shape) -> [f64; MEASURES] {
    /// Smaller shares count as this one.
    const LEAST: f64 = 1e-3;
    let [words, title, letters, anchors, visible, packed, entropy, surprise] = shape.0;
    let ln = |share: f64| share.max(LEAST).ln();
    [words.ln_1p(), title.ln_1p(), letters, ln(anchors), ln(visible), ln(packed), entropy, surprise]
}

#[cfg(test)]
mod tests;
