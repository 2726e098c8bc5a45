//! What hygiene is told and asked, and what it answers.

use serde::{Deserialize, Serialize};

use crate::RuleKind;

/// A rule, by a number that is the same in every crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuleId(pub u64);

/// What an operator decided about a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ByHand {
    /// Applied, whatever its trials say.
    Pinned,
    /// Never applied.
    Vetoed,
}

/// Which of the detectors spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Detector {
    /// Nothing speaks against the URL beyond what does against all.
    None,
    /// A rule within the host.
    Rule,
    /// A host that mirrors another.
    Mirror,
    /// Fetches of the template bring nothing of their own.
    Fruitless,
    /// Pages of the template bring fewer clicks than expected.
    Worthless,
    /// The host is made for search engines.
    Spam,
    /// The operator labelled the host as spam.
    Labelled,
}

/// What a judgement rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The rule, if one spoke.
    pub rule: Option<RuleId>,
    /// Trials, or fetches of the template.
    pub trials: f64,
    /// How many of them brought nothing of their own; for [`Detector::Worthless`] the share of expected
    /// clicks that did not come, times the trials. For [`Detector::Spam`] the trials are pages measured, and
    /// this is the chance that the host is spam.
    pub fruitless: f64,
}

/// What is known about where a URL belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ties {
    /// Hash of the registrable domain; 0 if unknown.
    pub domain: u64,
    /// Hash of the address that serves the host; 0 if unknown.
    pub address: u64,
}

/// A URL that a link led to.
#[derive(Clone, Copy, Debug)]
pub struct Met<'a> {
    /// Its canonical form.
    pub url: &'a str,
    /// Where it belongs.
    pub ties: Ties,
}

impl<'a> Met<'a> {
    /// A URL of which nothing else is known.
    pub fn new(url: &'a str) -> Self {
        Self { url, ties: Ties::default() }
    }
}

/// What is thought of a URL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// q for a URL whose key is not taken: the chance that a fetch brings nothing of its own.
    pub doubt: f64,
    /// What raises q most.
    pub detector: Detector,
    /// What that rests on.
    pub evidence: Evidence,
    /// URLs with equal keys are one page. Without a rule: the `PageKey` of the URL.
    pub key: u64,
    /// q for a URL whose key is taken by a page with another URL.
    pub chance: f64,
    /// The least sure of the rules that made the key; `None` if the key is the URL's own.
    pub rule: Option<RuleId>,
    /// Whether the URL becomes a page although its key is taken, to try the rule.
    pub is_probe: bool,
}

/// What a fetch showed.
#[derive(Clone, Copy, Debug)]
pub enum Showed<'a> {
    /// A page with something to read.
    Page {
        /// What a reader sees, as a number.
        identity: u64,
        /// The smallest hashes of its fragments.
        sketch: &'a [u64],
        /// Its canonical link.
        canonical: Option<&'a str>,
        /// Whether the caller knows that it copies a page it holds.
        is_copy: bool,
    },
    /// A redirect to another URL.
    Moved(&'a str),
    /// There is no such page, or one that says so with status 200.
    Nothing,
}

impl<'a> Showed<'a> {
    /// A page without canonical link that is not known to be a copy.
    pub fn page(identity: u64, sketch: &'a [u64]) -> Self {
        Showed::Page { identity, sketch, canonical: None, is_copy: false }
    }
}

/// A fetch.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The URL in canonical form.
    pub url: &'a str,
    /// Where it belongs.
    pub ties: Ties,
    /// What came.
    pub showed: Showed<'a>,
    /// Identity and sketch of the page that the caller knows under the same key, if it has another URL.
    pub known: Option<(u64, &'a [u64])>,
    /// Whether it was fetched for the first time.
    pub is_first: bool,
    /// Whether the operator named its host, so that other hosts may mirror it and it mirrors none.
    pub is_original: bool,
}

impl<'a> Seen<'a> {
    /// A first fetch of a URL of which nothing else is known.
    pub fn new(url: &'a str, showed: Showed<'a>) -> Self {
        Self { url, ties: Ties::default(), showed, known: None, is_first: true, is_original: false }
    }
}

/// What a fetch changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Rules of the URL's host that are applied from now on, or no longer: keys are different.
    pub rules: Vec<RuleId>,
    /// Whether q of the URL's template moved by more than a tenth.
    pub has_new_doubt: bool,
}

/// A rule for people.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleView {
    /// Its number.
    pub id: RuleId,
    /// The host: scheme, name and port.
    pub origin: String,
    /// What kind it is of.
    pub kind: RuleKind,
    /// What it says.
    pub says: String,
    /// Trials that it stood.
    pub hits: f64,
    /// Trials that it failed.
    pub misses: f64,
    /// Chance that a URL that it unites with another brings nothing of its own.
    pub chance: f64,
    /// Whether it is applied.
    pub is_applied: bool,
    /// What an operator decided.
    pub by_hand: Option<ByHand>,
    /// Fetches that it has spared.
    pub spared: u64,
}
