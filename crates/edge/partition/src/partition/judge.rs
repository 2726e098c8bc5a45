//! Which URLs lead to a page already known, and how likely the others bring nothing of their own.
//!
//! [`Hygiene`] learns from every fetch and judges every URL that a link leads to. Under rules that it is
//! sure of, URLs with equal *keys* are one page, so a link to one of them is a link to that page, and the
//! URL never becomes a page of its own. Any other URL becomes a page, and the policy is told its doubt.
//! When beliefs have moved, the pages of the hosts concerned are judged again, beside the crawl, some in
//! every turn of the loop.
//!
//! What came of a judgement is on the tape, so a replay needs no hygiene. Its state is a file beside the
//! frontier's snapshot; a crash loses what was learnt since. What the operator decided is in the tables.

use std::net::IpAddr;
use std::path::Path;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Doubted, DropReason, FetchKind, HostId, PageId, Time};
use tidewatch_frontier::network_of;
use tidewatch_frontier::tape::Input;
use tidewatch_hygiene::{
    ByHand, Changed, Detector, Evidence, Hygiene, Judgement, Met, RuleId, Seen, Settings, Showed,
    Ties, is_same_site,
};
use tidewatch_policy::Return;
use tidewatch_store::{CopyRow, Memory, SetbackOf, Store, StoreError, TwinKey};
use xxhash_rust::xxh3::xxh3_64;

use super::{CrawlError, Partition};
use crate::pages::Pages;
use crate::rules::{HostRow, Label, RuleRow, Ruling, SpamChance};
use crate::work::Content;
use crate::{Config, kept};

/// The file of what was learnt; the last character of its magic counts versions.
const FILE: &str = "hygiene.snapshot";
const MAGIC: [u8; 8] = *b"tidehyg3";
/// Name under which the store keeps what the operator decided, as JSON.
const DECIDED: &str = "rules-decided";
/// Name under which the store keeps the operator's labels of hosts, as JSON.
const LABELLED: &str = "hosts-labelled";
/// Hosts are listed from this chance on.
const LISTED: f64 = 0.15;
/// Pages judged again, and pages looked at, in one turn of the loop: requests wait for milliseconds.
const JUDGED: usize = 256;
const LOOKED_AT: usize = 1 << 16;
/// A doubt is told to the policy only if it changes the worth of a page by at least this share: worths are
/// less certain than that.
const WORTH_TELLING: f64 = 0.1;

/// What was learnt, and which pages are to be judged again.
pub(super) struct Judge {
    hygiene: Hygiene,
    /// Hosts with a rule that is applied, or was, and hosts that such a mirror repeats. On all others a
    /// page's key is that of its URL, so that none is looked up or kept.
    ruled: FxHashSet<HostId>,
    /// Hosts of which beliefs have moved since the round began.
    moved: FxHashSet<HostId>,
    round: Option<Round>,
}

/// Pages judged again: first those held claim their keys, then those that wait are compared with them.
struct Round {
    hosts: FxHashSet<HostId>,
    claims: bool,
    next: PageId,
    end: PageId,
}

/// The judgement of a URL, and the page that has its key.
#[derive(Clone, Copy)]
pub(super) struct Verdict {
    said: Judgement,
    taken: Option<PageId>,
}

impl Verdict {
    /// The same, if `page` does not count: a redirect leads away from it.
    pub(super) fn away_from(self, page: Option<PageId>) -> Verdict {
        Verdict { taken: self.taken.filter(|taken| Some(*taken) != page), ..self }
    }

    /// The page that the URL leads to; `None` if the URL becomes a page of its own, also as a probe.
    pub(super) fn same(&self) -> Option<PageId> {
        self.taken.filter(|_| !self.said.is_probe)
    }

    /// Chance that a fetch brings nothing of its own. A trial is judged like any other page.
    fn doubt(&self) -> f64 {
        if self.same().is_some() { self.said.chance } else { self.said.doubt }
    }
}

/// What the crawl thinks of a URL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspicion {
    /// Chance that a fetch of it brings nothing of its own.
    pub doubt: f64,
    /// Which detector says so.
    pub detector: Detector,
    /// What that rests on.
    pub evidence: Evidence,
}

/// A rule that the operator decided about.
#[derive(Serialize, Deserialize)]
struct Decided {
    rule: RuleId,
    by_hand: ByHand,
}

/// A host that the operator labelled.
#[derive(Serialize, Deserialize)]
struct Labelled {
    origin: String,
    label: Label,
}

impl Judge {
    /// What the crawl in the store's directory has learnt so far, within the memory of this start.
    pub(super) fn of(pages: &Pages, config: &Config) -> Result<Judge, StoreError> {
        let bytes = (config.hygiene_mb as usize) << 20;
        let mut judge = Judge::as_stored(pages, bytes)?;
        judge.hygiene.limit(bytes);
        Ok(judge)
    }

    /// All that is stored; `bytes` bounds what is learnt if nothing is.
    fn as_stored(pages: &Pages, bytes: usize) -> Result<Judge, StoreError> {
        let stored = kept::read(pages.store().dir(), FILE, MAGIC);
        let stored = stored.and_then(|bytes| postcard::from_bytes::<Hygiene>(&bytes).ok());
        let new = || Hygiene::new(Settings { bytes, ..Settings::default() });
        let mut hygiene = stored.unwrap_or_else(new);
        // What was learnt may be older than the last decisions.
        hygiene.set_decided(decided(pages)?.into_iter().map(|known| (known.rule, known.by_hand)));
        for Labelled { origin, label } in labelled(pages)? {
            hygiene.label(&origin, Some(label));
        }
        let applied = hygiene.rules().into_iter().filter(|rule| rule.is_applied);
        let applied = applied.map(|rule| rule.origin);
        let mirrored = hygiene.mirrors().into_iter().map(|(_, mirrored)| mirrored);
        let ruled: FxHashSet<HostId> =
            applied.chain(mirrored).filter_map(|origin| pages.host_of(&origin)).collect();
        // The last run may have ended before all pages had claimed their keys.
        let moved = ruled.clone();
        Ok(Judge { hygiene, ruled, moved, round: None })
    }

    /// Writes what was learnt. Without it the next start only learns anew, so a failure is no error.
    pub(super) fn save(&self, dir: &Path) {
        if let Ok(state) = postcard::to_stdvec(&self.hygiene) {
            let _ = kept::write(dir, FILE, MAGIC, &state);
        }
    }

    /// Applies the operator's decision about a rule; `false` if there is no such rule.
    fn decide(
        &mut self,
        pages: &mut Pages,
        rule: RuleId,
        ruling: Ruling,
    ) -> Result<bool, StoreError> {
        let by_hand = ruling.by_hand();
        let mut all = decided(pages)?;
        // A rule that was decided about may be forgotten, and learnt again.
        if !self.hygiene.has_rule(rule) && all.iter().all(|known| known.rule != rule) {
            return Ok(false);
        }
        let origin = self.hygiene.decide(rule, by_hand);
        all.retain(|known| known.rule != rule);
        all.extend(by_hand.map(|by_hand| Decided { rule, by_hand }));
        pages.put_meta(DECIDED, serde_json::to_vec(&all).expect("decisions can be written"));
        if let Some(origin) = origin {
            self.rules_changed(pages, &origin);
        }
        Ok(true)
    }

    /// Labels the host of a URL, or takes its label back.
    fn label(
        &mut self,
        pages: &mut Pages,
        url: &CanonicalUrl,
        label: Option<Label>,
    ) -> Result<(), StoreError> {
        let mut all = labelled(pages)?;
        // A label holds for both schemes of a host.
        all.retain(|known| !is_same_site(&known.origin, url.origin()));
        let origin = url.origin().to_owned();
        self.hygiene.label(&origin, label);
        all.extend(label.map(|label| Labelled { origin, label }));
        pages.put_meta(LABELLED, serde_json::to_vec(&all).expect("labels can be written"));
        self.moved.extend(pages.host_of(url.origin()));
        Ok(())
    }

    /// Learns from labels, if there is something new to learn from.
    fn review(&mut self, pages: &Pages) {
        if self.hygiene.review() {
            self.moved.extend((0..pages.hosts() as u32).map(HostId));
        }
    }

    fn note(&mut self, pages: &Pages, host: HostId, changed: &Changed) {
        if !changed.rules.is_empty() {
            self.rules_changed(pages, pages.origin(host));
        }
        if changed.has_new_doubt {
            self.moved.insert(host);
        }
    }

    /// Pages of a host have other keys, and may share them with pages of the host that it mirrors.
    fn rules_changed(&mut self, pages: &Pages, origin: &str) {
        let mirrors = self.hygiene.mirrors().into_iter();
        let mirrored = mirrors.filter(|(mirror, _)| mirror == origin).map(|(_, to)| to);
        let hosts: Vec<HostId> = mirrored
            .chain([origin.to_owned()])
            .filter_map(|origin| pages.host_of(&origin))
            .collect();
        self.ruled.extend(&hosts);
        self.moved.extend(&hosts);
    }
}

/// What the operator has decided, as stored.
fn decided(pages: &Pages) -> Result<Vec<Decided>, StoreError> {
    let damaged = |_| StoreError::Damaged { table: "meta", key: 0 };
    let stored = pages.meta(DECIDED)?;
    stored.map_or_else(|| Ok(Vec::new()), |bytes| serde_json::from_slice(&bytes).map_err(damaged))
}

/// How the operator has labelled hosts, as stored.
fn labelled(pages: &Pages) -> Result<Vec<Labelled>, StoreError> {
    let damaged = |_| StoreError::Damaged { table: "meta", key: 0 };
    let stored = pages.meta(LABELLED)?;
    stored.map_or_else(|| Ok(Vec::new()), |bytes| serde_json::from_slice(&bytes).map_err(damaged))
}

/// Where the page of a key stands in the table of possible duplicates: keys belong to no host.
fn place(key: u64) -> TwinKey {
    TwinKey { host: HostId(u32::MAX), hash: key }
}

impl Partition {
    fn ties(&self, url: &CanonicalUrl, host: Option<HostId>) -> Ties {
        let hash_of = |address: IpAddr| match address {
            IpAddr::V4(address) => xxh3_64(&address.octets()),
            IpAddr::V6(address) => xxh3_64(&address.octets()),
        };
        let address = host.and_then(|host| self.pages.address_of(host)).map(network_of);
        Ties {
            domain: url.registrable_domain().map_or(0, |domain| xxh3_64(domain.as_bytes())),
            address: address.map_or(0, hash_of),
        }
    }

    /// Judges a URL and finds the page that has its key.
    pub(super) fn judge(&self, url: &CanonicalUrl) -> Result<Verdict, CrawlError> {
        let host = self.pages.host_of(url.origin());
        let met = Met { url: url.as_str(), ties: self.ties(url, host) };
        let said = self.judge.hygiene.judge(&met);
        let is_ruled = host.is_some_and(|host| self.judge.ruled.contains(&host));
        let taken = match is_ruled.then(|| self.pages.twin(place(said.key))).transpose()?.flatten()
        {
            Some(page) if self.is_alive(page)? && self.key_of(page)? == said.key => Some(page),
            _ => None,
        };
        Ok(Verdict { said, taken })
    }

    /// A page's key under the rules of today. The table still has the keys under rules that were dropped.
    fn key_of(&self, page: PageId) -> Result<u64, CrawlError> {
        Ok(self.judge.hygiene.judge(&Met::new(self.address(page)?.as_str())).key)
    }

    /// Whether a page is held, or waits and nothing came of it yet. Another address may stand in for one
    /// that failed, moved or is gone.
    fn is_alive(&self, page: PageId) -> Result<bool, StoreError> {
        let is_held = matches!(self.taped.fetch_kind(page), FetchKind::Refresh | FetchKind::Source);
        Ok(is_held || self.pages.setback(SetbackOf::Page(page))?.is_none())
    }

    /// Counts a link to another address of a known page.
    pub(super) fn spare(&mut self, verdict: &Verdict) {
        self.tally.spared += 1;
        if let Some(rule) = verdict.said.rule {
            self.judge.hygiene.spared(rule);
        }
    }

    /// Notes the key of a page, and tells the policy what speaks against the page.
    pub(super) fn file(
        &mut self,
        page: PageId,
        verdict: &Verdict,
        now: Time,
    ) -> Result<(), CrawlError> {
        if verdict.taken.is_none() {
            self.claim(page, verdict);
        }
        self.tell_doubt(page, verdict.doubt(), now)
    }

    /// Makes a page the one of its key, where a rule may join it with others.
    fn claim(&mut self, page: PageId, verdict: &Verdict) {
        if self.judge.ruled.contains(&self.taped.host_of(page)) {
            self.pages.put_twin(place(verdict.said.key), page);
        }
    }

    /// Tells the policy what a page is worth, whose doubt may be known, as far as it fits what is wanted.
    pub(super) fn tell_worth(
        &mut self,
        page: PageId,
        doubt: Option<f64>,
        at: Time,
    ) -> Result<(), CrawlError> {
        let is_held = matches!(self.taped.fetch_kind(page), FetchKind::Refresh | FetchKind::Source);
        let doubt = match doubt {
            Some(doubt) => doubt,
            None if is_held || !self.config.learn_rules => 0.0,
            None => self.judge(&self.address(page)?)?.away_from(Some(page)).doubt(),
        };
        self.tell_doubt(page, doubt, at)
    }

    /// Tells the policy a doubt, if it weighs doubts and this one is another than it knows. A page that is
    /// not wanted is doubted the more.
    fn tell_doubt(&mut self, page: PageId, doubt: f64, at: Time) -> Result<(), CrawlError> {
        let Some(known) = self.taped.doubt(page) else { return Ok(()) };
        let doubt = 1.0 - (1.0 - doubt) * self.wanted_share(page)?;
        let (own, before) = (1.0 - doubt, 1.0 - known);
        if (own - before).abs() > WORTH_TELLING * own.max(before) {
            self.taped.tell(Input::Doubted(Doubted { page, at, doubt }))?;
        }
        Ok(())
    }

    /// Learns from a page that came. `is_copy`: it shows what another page of its host shows.
    pub(super) fn learn_page(
        &mut self,
        page: PageId,
        content: &Content,
        is_copy: bool,
        is_first: bool,
    ) -> Result<(), CrawlError> {
        let canonical = content.canonical.as_ref().map(CanonicalUrl::as_str);
        let (identity, sketch) = (content.identity, &content.sketch[..]);
        self.learn_host(page, content)?;
        self.learn(page, Showed::Page { identity, sketch, canonical, is_copy }, is_first)
    }

    /// Learns from a page's text and links what its host is made for.
    fn learn_host(&mut self, page: PageId, content: &Content) -> Result<(), CrawlError> {
        if self.config.learn_rules {
            let url = self.address(page)?;
            let links = content.links.iter().map(|(url, _)| url.as_str());
            if self.judge.hygiene.read(url.as_str(), content.shape, links) {
                self.judge.moved.insert(self.taped.host_of(page));
            }
        }
        Ok(())
    }

    /// Whether the text of a page is to be measured.
    pub(super) fn wants_shape(&self, url: &CanonicalUrl) -> bool {
        self.config.learn_rules && self.judge.hygiene.wants_shape(url.as_str())
    }

    /// Trusts the host of a seed.
    pub(super) fn trust(&mut self, url: &CanonicalUrl) {
        self.judge.hygiene.trust(url.as_str());
    }

    /// Labels the host of a URL as spam or good, or takes its label back. It joins the next commit.
    pub fn label(&mut self, url: &CanonicalUrl, label: Option<Label>) -> Result<(), CrawlError> {
        Ok(self.judge.label(&mut self.pages, url, label)?)
    }

    /// The same for a crawl that is not running.
    pub fn label_at_rest(
        dir: &Path,
        url: &CanonicalUrl,
        label: Option<Label>,
    ) -> Result<(), CrawlError> {
        let mut pages = Pages::new(Store::open(dir, Memory::default())?)?;
        let mut judge = Judge::as_stored(&pages, 0)?;
        judge.label(&mut pages, url, label)?;
        pages.commit()?;
        pages.sync()?;
        Ok(())
    }

    /// How likely the host of a URL is spam.
    pub fn spam_chance(&self, url: &CanonicalUrl) -> SpamChance {
        self.judge.hygiene.spam_chance(url.as_str())
    }

    /// Hosts that are labelled, and those that are probably spam, at most `most`.
    pub fn labels(&self, most: usize) -> Result<Vec<HostRow>, CrawlError> {
        let chance = |origin: &str| self.judge.hygiene.spam_chance(origin);
        let labelled = labelled(&self.pages)?.into_iter();
        let mut rows: Vec<HostRow> = labelled
            .map(|known| HostRow::of(&known.origin, chance(&known.origin), Some(known.label)))
            .collect();
        for host in (0..self.pages.hosts() as u32).map(HostId) {
            let origin = self.pages.origin(host);
            let spam = chance(origin);
            if spam.label.is_none() && spam.chance >= LISTED {
                rows.push(HostRow::of(origin, spam, None));
            }
        }
        Ok(HostRow::merge(vec![rows], most))
    }

    /// Learns from a page that came and is not kept.
    pub(super) fn learn_drop(
        &mut self,
        page: PageId,
        content: &Content,
        why: DropReason,
        is_first: bool,
    ) -> Result<(), CrawlError> {
        match why {
            DropReason::Duplicate | DropReason::NearDuplicate => {
                self.learn_page(page, content, true, is_first)
            }
            DropReason::Soft404 => self.learn(page, Showed::Nothing, is_first),
            // The operator's or the owner's decision says nothing about the page.
            _ => Ok(()),
        }
    }

    /// Learns from a fetch.
    pub(super) fn learn(
        &mut self,
        page: PageId,
        showed: Showed<'_>,
        is_first: bool,
    ) -> Result<(), CrawlError> {
        if !self.config.learn_rules {
            return Ok(());
        }
        let url = self.address(page)?;
        let host = self.taped.host_of(page);
        let is_ruled = self.judge.ruled.contains(&host);
        let verdict = is_ruled.then(|| self.judge(&url)).transpose()?;
        let taken = verdict.and_then(|verdict| verdict.taken);
        let other = taken.filter(|other| *other != page);
        let other = other.map(|other| self.pages.copy(other)).transpose()?.flatten();
        let known = other.as_ref().map(|copy: &CopyRow| (copy.identity, &copy.sketch[..]));
        let ties = self.ties(&url, Some(host));
        let is_original = self.scope.is_seed_host(&url) || self.config.is_own(&url);
        let seen = Seen { url: url.as_str(), ties, showed, known, is_first, is_original };
        let changed = self.judge.hygiene.learn(&seen);
        self.judge.note(&self.pages, host, &changed);
        if let Some(verdict) = verdict.filter(|verdict| verdict.taken.is_none())
            && matches!(showed, Showed::Page { is_copy: false, .. })
        {
            self.claim(page, &verdict);
        }
        Ok(())
    }

    /// Learns what pages brought that were fetched a while ago.
    fn hear_returns(&mut self) -> Result<(), CrawlError> {
        for Return { page, expected, clicks, weight } in self.taped.take_returns() {
            if !self.config.learn_rules {
                continue;
            }
            let (url, host) = (self.address(page)?, self.taped.host_of(page));
            let met = Met { url: url.as_str(), ties: self.ties(&url, Some(host)) };
            if self.judge.hygiene.came(&met, weight * expected, weight * clicks) {
                self.judge.moved.insert(host);
            }
        }
        Ok(())
    }

    /// Judges some pages again, if beliefs have moved. The loop calls it every turn.
    pub fn rejudge(&mut self, now: Time) -> Result<(), CrawlError> {
        self.hear_returns()?;
        self.judge.review(&self.pages);
        self.judge_some(now)?;
        self.aim_again(now)
    }

    /// Judges some pages of hosts whose URLs are now thought of otherwise.
    fn judge_some(&mut self, now: Time) -> Result<(), CrawlError> {
        let judge = &mut self.judge;
        if judge.round.is_none() && !judge.moved.is_empty() {
            let (hosts, end) = (std::mem::take(&mut judge.moved), self.taped.next_page());
            judge.round = Some(Round { hosts, claims: true, next: PageId(0), end });
        }
        let Some(mut round) = judge.round.take() else { return Ok(()) };
        let mut judged = 0;
        for _ in 0..LOOKED_AT {
            if judged >= JUDGED || round.next >= round.end {
                break;
            }
            let page = round.next;
            round.next = PageId(page.0 + 1);
            if round.hosts.contains(&self.taped.host_of(page)) {
                self.judge_again(page, round.claims, now)?;
                judged += 1;
            }
        }
        self.judge.round = match round {
            Round { next, end, .. } if next < end => Some(round),
            Round { claims: true, hosts, end, .. } => {
                Some(Round { hosts, claims: false, next: PageId(0), end })
            }
            _ => None,
        };
        Ok(())
    }

    fn judge_again(&mut self, page: PageId, claims: bool, now: Time) -> Result<(), CrawlError> {
        let is_held = matches!(self.taped.fetch_kind(page), FetchKind::Refresh | FetchKind::Source);
        if is_held != claims {
            return Ok(());
        }
        let verdict = self.judge(&self.address(page)?)?;
        if is_held {
            // A page that is held is worth what its readers say.
            if verdict.taken.is_none() {
                self.claim(page, &verdict);
            }
            return Ok(());
        }
        self.file(page, &verdict.away_from(Some(page)), now)
    }

    /// The known page that a URL is another address of, by rules learnt.
    pub(crate) fn same_as(&self, url: &CanonicalUrl) -> Result<Option<CanonicalUrl>, CrawlError> {
        let same = self.judge(url)?.same();
        same.map(|page| self.address(page)).transpose()
    }

    /// What the crawl thinks of a URL.
    pub fn suspicion(&self, url: &CanonicalUrl) -> Result<Suspicion, CrawlError> {
        let verdict = self.judge(url)?;
        let page = self.pages.page_of(url.as_str())?;
        let is_same = verdict.same().is_some_and(|other| Some(other) != page);
        let Judgement { detector, evidence, rule, chance, doubt, .. } = verdict.said;
        Ok(if is_same {
            let evidence = Evidence { rule, ..evidence };
            Suspicion { doubt: chance, detector: Detector::Rule, evidence }
        } else {
            Suspicion { doubt, detector, evidence }
        })
    }

    /// The rules that spare the most, those on trial as well, at most `most`.
    pub fn rules(&self, most: usize) -> Vec<RuleRow> {
        let rows = self.judge.hygiene.rules().into_iter().map(RuleRow::of).collect();
        RuleRow::merge(vec![rows], most)
    }

    /// Applies the operator's decision about a rule. It joins the next commit. `false` if there is no
    /// such rule.
    pub fn decide(&mut self, rule: RuleId, ruling: Ruling) -> Result<bool, CrawlError> {
        Ok(self.judge.decide(&mut self.pages, rule, ruling)?)
    }

    /// The same for a crawl that is not running.
    pub fn decide_at_rest(dir: &Path, rule: RuleId, ruling: Ruling) -> Result<bool, CrawlError> {
        let mut pages = Pages::new(Store::open(dir, Memory::default())?)?;
        let mut judge = Judge::as_stored(&pages, 0)?;
        let is_known = judge.decide(&mut pages, rule, ruling)?;
        pages.commit()?;
        pages.sync()?;
        Ok(is_known)
    }

    /// Bytes of memory that hold what was learnt about hosts, and those by which near duplicates on other
    /// hosts are found.
    pub fn hygiene_bytes(&self) -> (usize, usize) {
        let near = self.judge.hygiene.near_bytes();
        (self.judge.hygiene.bytes() - near, near)
    }
}
