//! What is known about the URLs of one host: rules, their trials, and the pages fetched last.
//!
//! **Life of a rule.** Two URLs that show the same *propose* rules. A proposed rule is tried on the
//! pages remembered and then on every page fetched. It is *accepted* when it is sure enough, and
//! dropped when its trials go against it. Accepted rules rewrite URLs before anything else is looked
//! at, so further rules are proposed for what they leave over. An accepted rule stays on trial: by
//! probes, and by pages that were fetched before it was known.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::belief::{Kinds, Trials};
use crate::form::Form;
use crate::memory::{ByKey, Recent, Shown};
use crate::rule::{Rewrite, RuleKind, propose};
use crate::{ByHand, RuleId, RuleView};

/// Rules of one host, proposed or accepted.
const MOST_RULES: usize = 32;
/// Rules found false that are not proposed again.
const MOST_REFUTED: usize = 256;
/// Pages remembered with their URLs, and keys remembered, on a host with rules, proposed or accepted.
const RULED: Memory = Memory { recent: 256, keys: 2048 };
/// The same on a host where no two pages were alike so far, as most hosts are.
const PLAIN: Memory = Memory { recent: 96, keys: 384 };
/// Pages that show the same as a new one from which rules are read.
const PAIRS: usize = 2;
/// Trials before a rule may be accepted or dropped, whatever others of its kind say.
const FEWEST_TRIALS: f64 = 3.0;
/// Trials of a rule before it raises any doubt. Until then a URL that it unites with another is fetched as
/// if there were no rule. So a rule costs at most this many fetches, and a crawl without rules makes them
/// too.
const TRIAL: f64 = 12.0;
/// A rule whose posterior is below this is more often wrong than right, and dropped.
const DROPPED: f64 = 0.5;
/// Distance below the level of acceptance at which a rule is no longer accepted.
const HYSTERESIS: f64 = 0.03;
/// Canonical links that are believed before any was checked, as trials.
const CANONICAL: Trials = Trials { hits: 3.0, misses: 1.0 };

/// How much of a host is remembered.
#[derive(Clone, Copy)]
struct Memory {
    recent: usize,
    keys: usize,
}

/// A rule and what is known of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Learnt {
    pub(crate) id: RuleId,
    pub(crate) rewrite: Rewrite,
    pub(crate) trials: Trials,
    pub(crate) by_hand: Option<ByHand>,
    pub(crate) is_accepted: bool,
}

impl Learnt {
    pub(crate) fn mean(&self, kinds: &Kinds) -> f64 {
        match self.by_hand {
            Some(ByHand::Pinned) => 1.0,
            Some(ByHand::Vetoed) => 0.0,
            None => self.trials.mean(kinds.mean(self.rewrite.kind())),
        }
    }

    pub(crate) fn is_applied(&self) -> bool {
        match self.by_hand {
            Some(by_hand) => by_hand == ByHand::Pinned,
            None => self.is_accepted,
        }
    }

    fn is_candidate(&self) -> bool {
        self.by_hand.is_none() && !self.is_accepted
    }

    /// Whether pages of the host alone can try the rule. A mirror is compared with the other host; what its own
    /// pages have in common proves nothing.
    fn is_within(&self) -> bool {
        !matches!(self.rewrite, Rewrite::Alias { .. })
    }

    fn decide(&mut self, accept: f64, kinds: &Kinds) {
        let mean = self.mean(kinds);
        let level = if self.is_accepted { accept - HYSTERESIS } else { accept };
        self.is_accepted = self.trials.count() >= FEWEST_TRIALS && mean >= level;
    }
}

/// What a rule says about a URL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Claim {
    pub(crate) rule: RuleId,
    pub(crate) chance: f64,
    pub(crate) trials: Trials,
    pub(crate) kind: RuleKind,
}

/// A page just fetched.
pub(crate) struct Fetched<'a> {
    pub(crate) url: &'a str,
    pub(crate) shown: Shown,
    /// Where it says that it belongs.
    pub(crate) target: Option<&'a str>,
    /// Whether the target is a redirect's, which is no mere claim.
    pub(crate) is_moved: bool,
    /// What the page known under the same key showed.
    pub(crate) known: Option<Shown>,
}

impl<'a> Fetched<'a> {
    /// Where it says that it belongs, if that is another place. A page that names itself proves nothing.
    fn elsewhere(&self) -> Option<&'a str> {
        self.target.filter(|target| *target != self.url)
    }
}

/// A host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) origin: String,
    pub(crate) rules: Vec<Learnt>,
    refuted: FxHashSet<u64>,
    recent: Recent,
    by_key: ByKey,
    canonical: Trials,
    /// When it was used last, on a clock that counts fetches.
    pub(crate) used: u64,
}

impl Host {
    pub(crate) fn new(origin: &str) -> Self {
        Self { origin: origin.to_owned(), ..Self::default() }
    }

    /// The form under all accepted rules, and what the least sure of those that changed it says.
    pub(crate) fn normal<'a>(&'a self, url: &'a str, kinds: &Kinds) -> (Form<'a>, Option<Claim>) {
        self.rewrite(Form::of(url), kinds)
    }

    /// The same of a form.
    pub(crate) fn rewrite<'a>(
        &'a self,
        mut form: Form<'a>,
        kinds: &Kinds,
    ) -> (Form<'a>, Option<Claim>) {
        let mut claim: Option<Claim> = None;
        for rule in self.rules.iter().filter(|rule| rule.is_applied()) {
            if rule.rewrite.apply(&mut form) {
                let new = rule.claim(kinds);
                claim = Some(claim.filter(|old| old.chance <= new.chance).unwrap_or(new));
            }
        }
        (form, claim)
    }

    /// The strongest claim of a rule that is not accepted, but has had its trials, that this URL shows
    /// what a remembered page showed.
    pub(crate) fn suspicion(&self, url: &str, normal: &Form<'_>, kinds: &Kinds) -> Option<Claim> {
        let own = Shown::new(tidewatch_core::PageKey::of(url).0, 0, 0, &[]);
        let is_tried = |r: &&Learnt| r.is_candidate() && r.is_within() && r.trials.count() >= TRIAL;
        let tried = self.rules.iter().filter(is_tried);
        let claims = tried.filter_map(|rule| {
            let other = self.twin_under(rule, normal)?;
            (other.url != own.url).then(|| rule.claim(kinds))
        });
        claims.max_by(|a, b| a.chance.total_cmp(&b.chance))
    }

    /// What the last page showed that a rule unites with this one.
    fn twin_under(&self, rule: &Learnt, normal: &Form<'_>) -> Option<Shown> {
        let mut form = normal.clone();
        let is_changed = rule.rewrite.apply(&mut form);
        let key = form.key();
        let as_rewritten = self.by_key.get(rule.id.0, key);
        as_rewritten.or_else(|| self.by_key.get(0, key).filter(|_| is_changed))
    }

    fn memory(&self) -> Memory {
        if self.rules.is_empty() { PLAIN } else { RULED }
    }

    /// How far a canonical link of this host can be believed.
    pub(crate) fn canonical_trust(&self) -> f64 {
        let sum = self.canonical.count() + CANONICAL.count();
        (self.canonical.hits + CANONICAL.hits) / sum
    }

    /// Learns from a fetch. Returns the rules whose standing changed.
    pub(crate) fn learn(
        &mut self,
        page: &Fetched<'_>,
        accept: f64,
        kinds: &mut Kinds,
    ) -> Vec<RuleId> {
        self.check_canonical(page, kinds);
        self.try_accepted(page, kinds);
        self.try_candidates(page, kinds);
        self.remember(page.url, page.shown, kinds);
        let most = self.memory().recent;
        self.recent.push(page.url, page.shown, most);
        self.propose(page, kinds);
        self.decide(accept, kinds)
    }

    /// Compares a page with the one that its canonical link names.
    fn check_canonical(&mut self, page: &Fetched<'_>, kinds: &Kinds) {
        let Some(target) = page.elsewhere().filter(|_| !page.is_moved) else { return };
        let key = self.normal(target, kinds).0.key();
        let other = self.by_key.get(0, key);
        if let Some(other) = other.filter(|o| o.has_content() && o.url != page.shown.url) {
            self.canonical.add(other.shows(&page.shown));
        }
    }

    /// Accepted rules that rewrite this URL: did it show what the page under its key had shown?
    fn try_accepted(&mut self, page: &Fetched<'_>, kinds: &mut Kinds) {
        if !self.rules.iter().any(Learnt::is_applied) {
            return;
        }
        let mut form = Form::of(page.url);
        let mut changed = Vec::new();
        for (i, rule) in self.rules.iter().enumerate().filter(|(_, rule)| rule.is_applied()) {
            if rule.rewrite.apply(&mut form) {
                changed.push((i, rule.is_within()));
            }
        }
        let key = form.key();
        let other = page.known.or_else(|| self.by_key.get(0, key));
        let target = page.elsewhere().map(|target| self.normal(target, kinds).0.key());
        let is_hit = match other.filter(|other| other.url != page.shown.url) {
            _ if target == Some(key) => true,
            Some(other) => match other.verdict(&page.shown) {
                Some(is_hit) => is_hit,
                None => return,
            },
            None => return,
        };
        let is_named = target == Some(key);
        for (i, _) in changed.into_iter().filter(|&(_, is_within)| is_named || is_within) {
            self.rules[i].tried(is_hit, kinds);
        }
    }

    /// Proposed rules: a page that one of them unites with this one is a trial.
    fn try_candidates(&mut self, page: &Fetched<'_>, kinds: &mut Kinds) {
        if !self.rules.iter().any(Learnt::is_candidate) {
            return;
        }
        let (normal, _) = self.normal(page.url, kinds);
        let target = page.elsewhere().map(|target| self.normal(target, kinds).0);
        let verdicts: Vec<(usize, bool)> = self
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.is_candidate())
            .filter_map(|(i, rule)| Some((i, self.verdict(rule, page, &normal, target.as_ref())?)))
            .collect();
        for (i, is_hit) in verdicts {
            self.rules[i].tried(is_hit, kinds);
        }
    }

    fn verdict(
        &self,
        rule: &Learnt,
        page: &Fetched<'_>,
        normal: &Form<'_>,
        target: Option<&Form<'_>>,
    ) -> Option<bool> {
        let mut form = normal.clone();
        let is_changed = rule.rewrite.apply(&mut form);
        if let Some(target) = target.filter(|_| is_changed) {
            let mut target = target.clone();
            rule.rewrite.apply(&mut target);
            if target.key() == form.key() {
                return Some(true);
            }
            if page.is_moved && rule.rewrite.is_pointer() {
                return Some(false);
            }
        }
        let other = rule.is_within().then(|| self.twin_under(rule, normal)).flatten()?;
        if other.url == page.shown.url { None } else { other.verdict(&page.shown) }
    }

    /// Files a page under its keys.
    fn remember(&mut self, url: &str, shown: Shown, kinds: &Kinds) {
        if self.rules.is_empty() {
            return self.by_key.put(0, xxh3_64(url.as_bytes()), shown, PLAIN.keys);
        }
        let (normal, _) = self.normal(url, kinds);
        let mut keys = vec![(0, normal.key())];
        for rule in self.rules.iter().filter(|rule| rule.is_candidate() && rule.is_within()) {
            let mut form = normal.clone();
            if rule.rewrite.apply(&mut form) {
                keys.push((rule.id.0, form.key()));
            }
        }
        let most = self.memory().keys;
        for (rule, key) in keys {
            self.by_key.put(rule, key, shown, most);
        }
    }

    /// Reads rules off this page and those that showed the same.
    fn propose(&mut self, page: &Fetched<'_>, kinds: &mut Kinds) {
        let twins = self
            .recent
            .iter()
            .rev()
            .filter(|(_, shown)| shown.has_content() && shown.url != page.shown.url)
            .filter(|(_, shown)| shown.place == page.shown.place || shown.repeats(&page.shown));
        // A redirect names its target; what else leads there says less.
        let most = if page.is_moved { 0 } else { PAIRS };
        let twins: Vec<&str> = twins.take(most).map(|(url, _)| url).collect();
        let target = page.elsewhere();
        if twins.is_empty() && target.is_none() {
            return;
        }
        let (alias, _) = self.normal(page.url, kinds);
        let mut pairs = Vec::new();
        for url in twins {
            let (kept, _) = self.normal(url, kinds);
            let (long, short) =
                if url.len() > page.url.len() { (&kept, &alias) } else { (&alias, &kept) };
            pairs.push(propose(long, short));
        }
        if let Some(target) = target.filter(|_| page.is_moved || self.canonical_trust() > DROPPED) {
            let (kept, _) = self.normal(target, kinds);
            pairs.push(propose(&alias, &kept));
        }
        // One rule explains a pair: the most general that was not found false.
        for rules in pairs {
            let open =
                rules.into_iter().find(|rule| !self.refuted.contains(&rule.id(&self.origin)));
            if let Some(rule) = open {
                self.add(rule, kinds);
            }
        }
    }

    /// Adds a proposed rule and tries it on what is remembered.
    pub(crate) fn add(&mut self, rewrite: Rewrite, kinds: &mut Kinds) {
        let id = rewrite.id(&self.origin);
        if self.refuted.contains(&id) || self.rules.iter().any(|rule| rule.id.0 == id) {
            return;
        }
        if self.rules.len() >= MOST_RULES && !self.drop_weakest(kinds) {
            return;
        }
        let id = RuleId(id);
        let rule =
            Learnt { id, rewrite, trials: Trials::default(), by_hand: None, is_accepted: false };
        let at = self.rules.partition_point(|other| other.rewrite < rule.rewrite);
        let is_within = rule.is_within();
        self.rules.insert(at, rule);
        if is_within {
            self.try_on_recent(at, kinds);
        }
    }

    /// Makes room for a rule.
    fn drop_weakest(&mut self, kinds: &Kinds) -> bool {
        let candidates = self.rules.iter().enumerate().filter(|(_, rule)| rule.is_candidate());
        let value = |rule: &Learnt| rule.mean(kinds) * (1.0 + rule.trials.hits);
        let weakest = candidates.min_by(|(_, a), (_, b)| value(a).total_cmp(&value(b)));
        let Some((weakest, _)) = weakest else { return false };
        self.rules.remove(weakest);
        true
    }

    fn try_on_recent(&mut self, at: usize, kinds: &mut Kinds) {
        let recent: Vec<(String, Shown)> =
            self.recent.iter().map(|(url, shown)| (url.to_owned(), *shown)).collect();
        for (url, shown) in recent {
            let rule = &self.rules[at];
            let (normal, _) = self.normal(&url, kinds);
            let mut form = normal.clone();
            let is_changed = rule.rewrite.apply(&mut form);
            let (id, key) = (rule.id.0, form.key());
            let other = self.by_key.get(id, key);
            let other = other.or_else(|| self.by_key.get(0, key).filter(|_| is_changed));
            let other = other.filter(|other| other.url != shown.url);
            if let Some(is_hit) = other.and_then(|other| other.verdict(&shown)) {
                self.rules[at].tried(is_hit, kinds);
            }
            if is_changed {
                self.by_key.put(id, key, shown, RULED.keys);
            }
        }
    }

    /// Accepts and drops rules by their trials.
    fn decide(&mut self, accept: f64, kinds: &mut Kinds) -> Vec<RuleId> {
        let mut changed = Vec::new();
        for rule in &mut self.rules {
            let was_applied = rule.is_applied();
            rule.decide(accept, kinds);
            if rule.is_applied() != was_applied {
                changed.push(rule.id);
            }
        }
        let is_false = |rule: &Learnt| {
            rule.is_candidate()
                && rule.trials.count() >= FEWEST_TRIALS
                && rule.mean(kinds) < DROPPED
        };
        for rule in self.rules.iter().filter(|rule| is_false(rule)) {
            if self.refuted.len() < MOST_REFUTED {
                self.refuted.insert(rule.id.0);
            }
        }
        self.rules.retain(|rule| !is_false(rule));
        if !changed.is_empty() {
            self.file_again(kinds);
        }
        changed
    }

    /// Applies what the operator decided to rules that are new. Returns those that are applied by it.
    pub(crate) fn obey(
        &mut self,
        decided: &BTreeMap<RuleId, ByHand>,
        kinds: &Kinds,
    ) -> Vec<RuleId> {
        if decided.is_empty() {
            return Vec::new();
        }
        let (mut pinned, mut is_changed) = (Vec::new(), false);
        for rule in self.rules.iter_mut().filter(|rule| rule.by_hand.is_none()) {
            let Some(&by_hand) = decided.get(&rule.id) else { continue };
            let was_applied = rule.is_applied();
            rule.by_hand = Some(by_hand);
            is_changed |= rule.is_applied() != was_applied;
            pinned.extend((rule.is_applied() && !was_applied).then_some(rule.id));
        }
        if is_changed {
            self.file_again(kinds);
        }
        pinned
    }

    /// Files the recent pages again after the set of accepted rules has changed, because all keys have.
    pub(crate) fn file_again(&mut self, kinds: &Kinds) {
        self.by_key.clear();
        let recent: Vec<(String, Shown)> =
            self.recent.iter().map(|(url, shown)| (url.to_owned(), *shown)).collect();
        for (url, shown) in recent {
            self.remember(&url, shown, kinds);
        }
    }

    /// Whether a remembered page of another URL shows the same.
    pub(crate) fn holds(&self, shown: &Shown) -> bool {
        self.recent.iter().any(|(_, other)| other.url != shown.url && other.repeats(shown))
    }

    /// Whether the host has no rules, so that no two of its URLs are one page.
    pub(crate) fn is_plain(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether an operator decided about one of the rules.
    pub(crate) fn is_decided(&self) -> bool {
        self.rules.iter().any(|rule| rule.by_hand.is_some())
    }

    pub(crate) fn views(
        &self,
        kinds: &Kinds,
        spared: &FxHashMap<RuleId, u64>,
    ) -> impl Iterator<Item = RuleView> {
        self.rules.iter().map(|rule| RuleView {
            id: rule.id,
            origin: self.origin.clone(),
            kind: rule.rewrite.kind(),
            says: rule.rewrite.to_string(),
            hits: rule.trials.hits,
            misses: rule.trials.misses,
            chance: rule.mean(kinds),
            is_applied: rule.is_applied(),
            by_hand: rule.by_hand,
            spared: spared.get(&rule.id).copied().unwrap_or_default(),
        })
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let rules = self.rules.iter().map(|r| size_of::<Learnt>() + r.rewrite.text_len());
        let fixed = size_of::<Self>() + self.origin.len() + self.refuted.len() * 9;
        fixed + rules.sum::<usize>() + self.recent.bytes() + self.by_key.bytes()
    }
}

impl Learnt {
    fn claim(&self, kinds: &Kinds) -> Claim {
        let (rule, kind) = (self.id, self.rewrite.kind());
        Claim { rule, chance: self.mean(kinds), trials: self.trials, kind }
    }

    pub(crate) fn tried(&mut self, is_hit: bool, kinds: &mut Kinds) {
        let before = self.trials;
        self.trials.add(is_hit);
        kinds.moved(self.rewrite.kind(), before, self.trials);
    }
}
