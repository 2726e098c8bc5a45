//! Which URLs bring nothing of their own?
//!
//! A URL may lead to a page that is held under another URL, to another turn of a trap, or to nothing.
//! This crate learns from fetches which ones do, and gives each URL q, the chance that a fetch of it
//! brings nothing of its own. It forbids nothing: a fetch of value V is worth (1 − q)·V, and the price
//! decides. What is learnt:
//!
//! * **rules** that unite URLs of one page ([`RuleKind`]): read off pages that showed the same,
//!   redirects and canonical links; tried on every fetch; accepted when sure;
//! * **mirrors**: hosts that serve the pages of another, a rule like the others;
//! * **traps**: templates, hosts, domains and addresses whose fetches bring nothing, or far fewer clicks
//!   than the price expects. A page that nearly repeats one of another host brings nothing;
//! * **spam** ([`spam`]): hosts made for search engines, by their text, their links and labels.
//!
//! ```
//! use tidewatch_hygiene::{Hygiene, Met, Seen, Settings, Showed};
//!
//! let mut hygiene = Hygiene::new(Settings::default());
//! let url = |slug: &str, id: u32| format!("https://news.example/x/{slug}-{id}.html");
//! for id in 7_000_000..7_000_030 {
//!     for slug in ["first-title", "better-title"] {
//!         let showed = Showed::page(u64::from(id), &[]);
//!         hygiene.learn(&Seen::new(&url(slug, id), showed));
//!     }
//! }
//! let judge = |slug| hygiene.judge(&Met::new(&url(slug, 7_999_999)));
//! assert_eq!(judge("a-title").key, judge("another").key);
//! assert!(judge("a-title").chance > 0.97);
//! ```
//!
//! # What the caller does
//!
//! The caller keeps an index from [`Judgement::key`] to page. A link to a URL whose key is taken is a
//! link to that page, unless [`Judgement::is_probe`] says that this URL is let in to keep the rules
//! honest. When [`Changed::rules`] is not empty, pages of that host have new keys.
//!
//! # Invariants
//!
//! No input panics. The state depends on the calls alone, so that a lab run and a replayed crawl agree.
//! Memory stays below [`Settings::bytes`]: the hosts used least recently are forgotten.

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

mod belief;
mod form;
mod host;
mod memory;
mod near;
mod rule;
pub mod spam;
mod told;
mod traps;

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use tidewatch_core::PageKey;
use xxhash_rust::xxh3::xxh3_64;

pub use self::rule::RuleKind;
pub use self::told::{
    ByHand, Changed, Detector, Evidence, Judgement, Met, RuleId, RuleView, Seen, Showed, Ties,
};

use self::belief::Kinds;
use self::form::{Form, split_origin};
use self::host::{Claim, Fetched, Host};
use self::memory::Shown;
use self::near::{Look, Near, Twin};
use self::rule::Rewrite;
use self::spam::shape::Shape;
use self::spam::{Label, Spam, SpamChance};
use self::traps::{Groups, Standing, Traps};

/// One part in this many of the memory is for finding pages of other hosts.
const PART_FOR_NEAR: usize = 4;
/// Longest URL that is looked at; canonical URLs are not longer.
const MAX_URL: usize = tidewatch_core::url::MAX_URL_BYTES;

/// How hygiene works.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Posterior from which a rule is applied before a URL becomes a page. Where a sixth of all URLs are
    /// aliases, 0.97 keeps the loss of distinct pages below 0.5%.
    pub accept: f64,
    /// Share of URLs under accepted rules that become pages all the same.
    pub probes: f64,
    /// Bytes of memory for hosts, and for the sketches by which pages of other hosts are found.
    pub bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { accept: 0.97, probes: 0.01, bytes: 64 << 20 }
    }
}

/// Everything learnt about all hosts of a partition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hygiene {
    settings: Settings,
    hosts: FxHashMap<u64, Host>,
    kinds: Kinds,
    traps: Traps,
    near: Near,
    spam: Spam,
    /// Fetches that rules have spared.
    spared: FxHashMap<RuleId, u64>,
    /// What the operator decided, also about rules that are not known now. Kept by the caller, who gives it
    /// again.
    #[serde(skip)]
    decided: BTreeMap<RuleId, ByHand>,
    clock: u64,
    bytes: usize,
}

impl Hygiene {
    /// Knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            hosts: FxHashMap::default(),
            kinds: Kinds::default(),
            traps: Traps::default(),
            near: Near::default(),
            spam: Spam::default(),
            spared: FxHashMap::default(),
            decided: BTreeMap::new(),
            clock: 0,
            bytes: 0,
        }
    }

    /// Sets another bound of memory, and forgets what is beyond it.
    pub fn limit(&mut self, bytes: usize) {
        self.settings.bytes = bytes;
        self.near.limit(self.most_near());
        self.forget();
    }

    /// Pages by which pages of other hosts are found.
    const fn most_near(&self) -> usize {
        self.settings.bytes / PART_FOR_NEAR / near::BYTES
    }

    /// Judges a URL. Changes nothing.
    pub fn judge(&self, met: &Met<'_>) -> Judgement {
        let page = PageKey::of(met.url).0;
        let own = Form::of(short(met.url));
        let groups = groups_of(&own, met.ties);
        let ruled = self.hosts.get(&groups.host).filter(|host| !host.is_plain());
        let Some(host) = ruled.filter(|_| met.url.len() <= MAX_URL) else {
            return self.judged(met, groups, page, None, None);
        };
        let (form, claim) = host.rewrite(own, &self.kinds);
        let (form, further) = self.across(form);
        let claim = weaker(claim, further);
        let suspicion = host.suspicion(met.url, &form, &self.kinds);
        let key = if claim.is_some() { form.key() } else { page };
        self.judged(met, groups, key, claim, suspicion)
    }

    /// Applies the rules of the mirrored host to a mirror's URL.
    fn across<'a>(&'a self, form: Form<'a>) -> (Form<'a>, Option<Claim>) {
        // One step only, so that hosts that mirror one another cannot go round for ever.
        match self.hosts.get(&xxh3_64(form.origin.as_bytes())) {
            Some(host) => host.rewrite(form, &self.kinds),
            None => (form, None),
        }
    }

    fn judged(
        &self,
        met: &Met<'_>,
        groups: Groups,
        key: u64,
        claim: Option<Claim>,
        suspicion: Option<Claim>,
    ) -> Judgement {
        let standing = self.traps.standing(groups);
        let trials = f64::from(standing.fetches);
        let of_template = |share: f64| Evidence { rule: None, trials, fruitless: share * trials };
        let mut best = (standing.fruitless, Detector::Fruitless, of_template(standing.fruitless));
        if let Some(claim) = suspicion.filter(|claim| claim.chance > best.0) {
            best = (claim.chance, claim.detector(), claim.evidence());
        }
        let whole = Standing { fruitless: best.0, ..standing }.doubt();
        if standing.worthless > best.0 {
            best = (whole, Detector::Worthless, of_template(standing.worthless));
        }
        let spam = self.spam.doubt(site_key(met.url));
        if spam > best.0 {
            let SpamChance { chance, pages, label } = self.spam.chance(site_key(met.url));
            let detector = if label.is_some() { Detector::Labelled } else { Detector::Spam };
            let trials = f64::from(pages.max(1));
            best = (spam, detector, Evidence { rule: None, trials, fruitless: chance });
        }
        let whole = 1.0 - (1.0 - whole) * (1.0 - spam);
        let (_, detector, evidence) = best;
        let detector = if evidence.trials == 0.0 { Detector::None } else { detector };
        let is_probe = claim.is_some() && self.is_probe(met.url);
        Judgement {
            doubt: whole.clamp(0.0, 1.0),
            detector,
            evidence,
            key,
            chance: claim.map_or(self.settings.accept, |claim| claim.chance),
            rule: claim.map(|claim| claim.rule),
            is_probe,
        }
    }

    fn is_probe(&self, url: &str) -> bool {
        // Other bits than those of the page's key, which indexes tables elsewhere.
        let draw = xxhash_rust::xxh3::xxh3_64_with_seed(url.as_bytes(), 1) >> 11;
        (draw as f64) < self.settings.probes * (1u64 << 53) as f64
    }

    /// Learns what a fetch showed.
    pub fn learn(&mut self, seen: &Seen<'_>) -> Changed {
        if seen.url.len() > MAX_URL {
            return Changed::default();
        }
        self.clock += 1;
        let key = host_key(seen.url);
        // A page that is dropped and fetched again tells nothing new of two hosts.
        let look = look(seen, key).filter(|look| !self.near.knows(look.page));
        let twins = look.map_or_else(Vec::new, |look| self.near.twins(&look));
        let mut has_new_doubt = false;
        if seen.is_first {
            let groups = groups_of(&Form::of(seen.url), seen.ties);
            let before = self.traps.standing(groups).fruitless;
            self.traps.fetched(groups, self.is_fruitless(seen, key, &twins));
            has_new_doubt = (self.traps.standing(groups).fruitless - before).abs() > NEW_DOUBT;
        }
        let rules = self.learn_rules(seen, key, look.as_ref(), &twins);
        if let Some(look) = look {
            self.near.add(&look, self.most_near());
        }
        self.forget();
        Changed { rules, has_new_doubt }
    }

    /// Whether a fetch brought nothing of its own.
    fn is_fruitless(&self, seen: &Seen<'_>, host: u64, twins: &[Twin]) -> bool {
        match seen.showed {
            Showed::Nothing => true,
            Showed::Moved(_) => false,
            Showed::Page { is_copy, .. } => {
                let host = self.hosts.get(&host);
                is_copy
                    || twins.iter().any(|twin| twin.is_near())
                    || host.is_some_and(|host| host.holds(&Self::shown(seen, host)))
            }
        }
    }

    fn shown(seen: &Seen<'_>, host: &Host) -> Shown {
        let own = PageKey::of(seen.url).0;
        match seen.showed {
            Showed::Page { identity, sketch, canonical, .. } => {
                let is_believed = host.canonical_trust() > CANONICAL_BELIEVED;
                let place = canonical.filter(|_| is_believed).map_or(own, |c| PageKey::of(c).0);
                Shown::new(own, place, identity, sketch)
            }
            Showed::Moved(to) => Shown::new(own, PageKey::of(to).0, 0, &[]),
            Showed::Nothing => Shown::new(own, own, 0, &[]),
        }
    }

    fn learn_rules(
        &mut self,
        seen: &Seen<'_>,
        key: u64,
        look: Option<&Look<'_>>,
        twins: &[Twin],
    ) -> Vec<RuleId> {
        let (target, is_moved) = match seen.showed {
            Showed::Page { canonical, .. } => (canonical, false),
            Showed::Moved(to) => (Some(to), true),
            Showed::Nothing => return Vec::new(),
        };
        let target = target.filter(|target| target.len() <= MAX_URL);
        let (origin, _) = split_origin(seen.url);
        let clock = self.clock;
        let known = self.hosts.remove(&key);
        let before = known.as_ref().map_or(0, Host::bytes);
        let mut host = known.unwrap_or_else(|| Host::new(origin));
        let known = seen.known.map(|(identity, sketch)| Shown::new(0, 0, identity, sketch));
        let page =
            Fetched { url: seen.url, shown: Self::shown(seen, &host), target, is_moved, known };
        if let Some(look) = look {
            self.try_mirrors(&mut host, seen.url, look);
            if let Some(alias) = self.mirrored(&host, twins, seen, look) {
                host.add(alias, &mut self.kinds);
            }
        }
        let mut changed = host.learn(&page, self.settings.accept, &mut self.kinds);
        changed.extend(host.obey(&self.decided, &self.kinds));
        host.used = clock;
        self.bytes = (self.bytes + host.bytes()).saturating_sub(before);
        self.hosts.insert(key, host);
        changed
    }

    /// A page of a host that may mirror another is compared with the page at the same path there.
    fn try_mirrors(&mut self, host: &mut Host, url: &str, look: &Look<'_>) {
        for rule in &mut host.rules {
            let Rewrite::Alias { to } = &rule.rewrite else { continue };
            if let Some(is_same) = self.near.is_mirrored(look, key_at(url, to)) {
                rule.tried(is_same, &mut self.kinds);
            }
        }
    }

    /// Another host that showed the same at the same path. An original repeats no other site, whichever of
    /// the two was seen first.
    fn mirrored(
        &self,
        host: &Host,
        twins: &[Twin],
        seen: &Seen<'_>,
        look: &Look<'_>,
    ) -> Option<Rewrite> {
        let is_mirrored = |other: &&Host| {
            self.near.is_mirrored(look, key_at(seen.url, &other.origin)) == Some(true)
        };
        let may_repeat =
            |other: &&Host| !seen.is_original || is_same_site(&other.origin, &host.origin);
        // Not both ways: the host that was seen first stays.
        let is_free = |other: &&Host| {
            let is_back = |rule: &host::Learnt| matches!(&rule.rewrite, Rewrite::Alias { to } if *to == host.origin);
            !other.rules.iter().any(is_back)
        };
        let others = twins.iter().filter_map(|twin| self.hosts.get(&twin.host));
        let other = others.filter(may_repeat).filter(is_free).find(is_mirrored)?;
        Some(Rewrite::Alias { to: other.origin.clone() })
    }

    /// Tells how many clicks a page brought, or links from other domains, of those that were expected
    /// of it had nothing spoken against it: once most of them must have come. Both are to be weighted
    /// by what the page tells, at most 1, if clicks vary more than by chance. Returns whether q of the
    /// page's template moved by more than a tenth.
    pub fn came(&mut self, met: &Met<'_>, expected: f64, brought: f64) -> bool {
        let groups = groups_of(&Form::of(short(met.url)), met.ties);
        let before = self.traps.standing(groups).worthless;
        self.traps.came(groups, expected, brought);
        (self.traps.standing(groups).worthless - before).abs() > NEW_DOUBT
    }

    /// Whether [`Hygiene::read`] is to be given the measures of a further page of the host of `url`.
    pub fn wants_shape(&self, url: &str) -> bool {
        self.spam.wants(site_key(url))
    }

    /// Learns from a page's text and links whether its host is spam. Returns whether q of the host moved by
    /// more than a tenth.
    pub fn read<'a>(
        &mut self,
        url: &str,
        shape: Option<Shape>,
        links: impl Iterator<Item = &'a str>,
    ) -> bool {
        let host = site_key(url);
        let before = self.spam.doubt(host);
        self.spam.read(host, shape, links.map(site_key));
        (self.spam.doubt(host) - before).abs() > NEW_DOUBT
    }

    /// The host of a seed is trusted.
    pub fn trust(&mut self, url: &str) {
        self.spam.trust(site_key(url));
    }

    /// The operator labels the host of a URL, or takes the label back. [`Hygiene::review`] learns from it.
    /// Labels are not stored with the rest: the caller keeps them and gives them again.
    pub fn label(&mut self, url: &str, label: Option<Label>) {
        self.spam.label(site_key(url), label);
    }

    /// Learns from labels, if they are new or much was read since. Returns whether q of any host may have
    /// moved. Takes time that grows with the links between hosts: below a second for the most that are kept.
    pub fn review(&mut self) -> bool {
        self.spam.review()
    }

    /// How likely the host of a URL is spam.
    pub fn spam_chance(&self, url: &str) -> SpamChance {
        self.spam.chance(site_key(url))
    }

    /// The hosts that are taken for mirrors, each with the one that it mirrors.
    pub fn mirrors(&self) -> Vec<(String, String)> {
        let of_host = |host: &Host| {
            let applied = host.rules.iter().filter(|rule| rule.is_applied());
            let to = applied.filter_map(|rule| match &rule.rewrite {
                Rewrite::Alias { to } => Some(to.clone()),
                _ => None,
            });
            to.map(|to| (host.origin.clone(), to)).collect::<Vec<_>>()
        };
        let mut mirrors: Vec<(String, String)> = self.hosts.values().flat_map(of_host).collect();
        mirrors.sort_unstable();
        mirrors
    }

    /// Counts a fetch that a rule spared, for display.
    pub fn spared(&mut self, rule: RuleId) {
        *self.spared.entry(rule).or_default() += 1;
    }

    /// All that the operator has decided. It holds for rules known now and for those learnt later.
    pub fn set_decided(&mut self, all: impl IntoIterator<Item = (RuleId, ByHand)>) {
        self.decided = all.into_iter().collect();
        for known in self.rules() {
            let by_hand = self.decided.get(&known.id).copied();
            if known.by_hand != by_hand {
                self.decide(known.id, by_hand);
            }
        }
    }

    /// Whether there is such a rule.
    pub fn has_rule(&self, rule: RuleId) -> bool {
        self.hosts.values().flat_map(|host| &host.rules).any(|known| known.id == rule)
    }

    /// An operator decides about a rule; `None` leaves it to its trials. Keys of its host change.
    /// Returns the host's origin, or `None` if there is no such rule now: the decision holds once it is learnt.
    /// Decisions are not stored with the rest: the caller keeps them and gives them again.
    pub fn decide(&mut self, rule: RuleId, by_hand: Option<ByHand>) -> Option<String> {
        match by_hand {
            Some(by_hand) => self.decided.insert(rule, by_hand),
            None => self.decided.remove(&rule),
        };
        self.rule_mut(rule)?.by_hand = by_hand;
        let host = self.hosts.values_mut().find(|host| host.rules.iter().any(|r| r.id == rule))?;
        host.file_again(&self.kinds);
        Some(host.origin.clone())
    }

    fn rule_mut(&mut self, rule: RuleId) -> Option<&mut host::Learnt> {
        self.hosts.values_mut().flat_map(|host| &mut host.rules).find(|r| r.id == rule)
    }

    /// All rules, proposed and accepted, by host.
    pub fn rules(&self) -> Vec<RuleView> {
        let mut hosts: Vec<&Host> = self.hosts.values().collect();
        hosts.sort_unstable_by(|a, b| a.origin.cmp(&b.origin));
        hosts.into_iter().flat_map(|host| host.views(&self.kinds, &self.spared)).collect()
    }

    /// Bytes of memory, about: what is known of hosts, their templates and links, and what finds pages of
    /// other hosts.
    pub fn bytes(&self) -> usize {
        self.bytes + self.traps.bytes() + self.near_bytes() + self.spam.bytes()
    }

    /// Of [`Hygiene::bytes`], those by which pages of other hosts are found: at most 128 a page.
    pub fn near_bytes(&self) -> usize {
        self.near.bytes()
    }

    /// Forgets hosts that were not used for long, an eighth at a time.
    fn forget(&mut self) {
        let most = self.settings.bytes / PART_FOR_NEAR * (PART_FOR_NEAR - 1);
        if self.bytes <= most {
            return;
        }
        let mut known = usize::MAX;
        // Hosts with decided rules are kept.
        while self.bytes > most && (1..known).contains(&self.hosts.len()) {
            known = self.hosts.len();
            self.forget_eighth();
        }
        let kept: FxHashSet<RuleId> =
            self.hosts.values().flat_map(|host| &host.rules).map(|rule| rule.id).collect();
        self.spared.retain(|rule, _| kept.contains(rule));
    }

    fn forget_eighth(&mut self) {
        let mut used: Vec<u64> = self.hosts.values().map(|host| host.used).collect();
        let eighth = used.len() / 8;
        let (_, &mut bar, _) = used.select_nth_unstable(eighth);
        self.hosts.retain(|_, host| host.used > bar || host.is_decided());
        self.bytes = self.hosts.values().map(Host::bytes).sum();
    }
}

/// A canonical link counts if a host's are more often right than wrong.
const CANONICAL_BELIEVED: f64 = 0.5;
/// A move of q that is worth telling the policy.
const NEW_DOUBT: f64 = 0.1;

fn host_key(url: &str) -> u64 {
    xxh3_64(split_origin(url).0.as_bytes())
}

/// A host for [`spam`]: by its name and port, whatever the scheme.
fn site_key(url: &str) -> u64 {
    xxh3_64(site(url).as_bytes())
}

fn site(url: &str) -> &str {
    let (origin, _) = split_origin(url);
    origin.split_once("://").map_or(origin, |(_, name)| name)
}

/// Whether two URLs have one name and port, so that a label of the one holds for the other.
pub fn is_same_site(one: &str, other: &str) -> bool {
    site(one) == site(other)
}

/// A page as it is compared with those of other hosts; `None` without content.
fn look<'a>(seen: &Seen<'a>, host: u64) -> Option<Look<'a>> {
    let Showed::Page { identity, sketch, .. } = seen.showed else { return None };
    Some(Look { host, page: PageKey::of(seen.url).0, identity, sketch })
}

/// The key of the same path on another host.
fn key_at(url: &str, origin: &str) -> u64 {
    let (_, path) = split_origin(url);
    PageKey::of(&format!("{origin}{path}")).0
}

/// A URL that is not too long, or its origin.
fn short(url: &str) -> &str {
    if url.len() > MAX_URL { split_origin(url).0 } else { url }
}

fn groups_of(form: &Form<'_>, ties: Ties) -> Groups {
    let host = xxh3_64(form.origin.as_bytes());
    Groups { template: form.template(), host, domain: ties.domain, address: ties.address }
}

/// The less sure of two claims.
fn weaker(one: Option<Claim>, other: Option<Claim>) -> Option<Claim> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.chance < one.chance { other } else { one }),
        (one, other) => one.or(other),
    }
}

impl Claim {
    fn detector(&self) -> Detector {
        if self.kind == RuleKind::Alias { Detector::Mirror } else { Detector::Rule }
    }

    fn evidence(&self) -> Evidence {
        Evidence { rule: Some(self.rule), trials: self.trials.count(), fruitless: self.trials.hits }
    }
}
