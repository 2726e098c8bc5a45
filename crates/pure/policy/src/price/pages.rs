//! Every page the policy knows, and what a fetch of it is worth.
//!
//! A page that has been fetched is a copy or a source ([`Copies`], [`News`]); one that has not is news or
//! a prospect ([`News`]). Values that are told instead of learnt take precedence.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{Asked, Content, Discovery, HostId, Interest, PageId, PageKey, Span, Time};
use tidewatch_science::rhythm::by_the_clock;

use super::copies::Copies;
use super::copy::Copy;
use super::doubts::Doubts;
use super::freshness::{Believed, Doubt};
use super::links::{Links, WORK};
use super::news::{News, Shows};
use super::settings::Settings;
use super::value::Value;
use crate::{HintRecord, Return};

/// Copies whose values stand for all when the market is solved: the price then differs from that of all
/// copies by less than a per cent.
const SAMPLE: usize = 1 << 11;
/// Copies whose chances stand for all when freshness is told. Each takes a numerical integral, and the
/// figures are wanted every second; the margin tells what the sample adds.
const FRESH_SAMPLE: usize = 1 << 9;
/// Copies for the price of one host, which decides what is fetched there first and nothing else.
const HOST_SAMPLE: usize = 1 << 8;

/// Pages that stand for all when mean weights by links are found.
const LINKED: usize = 1 << 14;

/// A source that was visited once is visited again within this time, and not before the first part of it
/// is over.
const FIRST_LOOK: Span = Span::WEEK;
const FIRST_LOOK_FROM: f64 = 1.0 / 7.0;
/// Multiples of the golden ratio spread evenly within one, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Most suspects that are looked at for one blind probe.
const BLIND_LOOKS: usize = 16;

/// Links that a solution of the market touches, as a multiple of all: enough for every page to settle.
const ROUNDS: usize = 4;

/// What is known of all pages.
#[derive(Serialize, Deserialize)]
pub(super) struct Pages {
    copies: Copies,
    news: News,
    links: Links,
    doubts: Doubts,
    /// Whether links count.
    by_links: bool,
    /// Pages of sources, by source number.
    sources: Vec<PageId>,
    /// Pages fetched at least once, in the order of their first fetch.
    held: Vec<PageId>,
    /// Values told by page key, and by page once it is discovered.
    #[serde(skip)]
    truth: FxHashMap<PageKey, Value>,
    #[serde(skip)]
    told: FxHashMap<PageId, Value>,
}

impl Pages {
    pub(super) fn new(settings: &Settings, seed: u64, truth: FxHashMap<PageKey, Value>) -> Self {
        Pages {
            copies: Copies::new(settings.parts.rhythm, settings.logs_all),
            news: News::new(settings.parts, settings.logs_all),
            links: Links::default(),
            doubts: Doubts::new(settings.probes(), seed),
            by_links: settings.parts.links,
            sources: Vec::new(),
            held: Vec::new(),
            truth,
            told: FxHashMap::default(),
        }
    }

    /// Whether some values are told instead of learnt.
    pub(super) fn is_told(&self) -> bool {
        !self.truth.is_empty()
    }

    pub(super) fn is_known(&self, page: PageId) -> bool {
        page.index() < self.copies.len()
    }

    pub(super) fn all(&self) -> std::ops::Range<u32> {
        0..self.copies.len() as u32
    }

    /// The state of a page.
    pub(super) fn copy(&self, page: PageId) -> &Copy {
        self.copies.page(page)
    }

    pub(super) fn held(&self) -> &[PageId] {
        &self.held
    }

    /// Chance that a copy equals its page at `now`; `None` if there is no copy.
    pub(super) fn fresh_chance(&self, page: PageId, now: Time) -> Option<f64> {
        self.copies.fresh_chances(page, now, [1.0]).map(|[chance]| chance)
    }

    /// What is believed of the copies' freshness at `now`; `None` if there are none.
    pub(super) fn believed_fresh(&self, now: Time) -> Option<Believed> {
        let step = self.held.len().div_ceil(FRESH_SAMPLE).max(1);
        let sample: Vec<PageId> = self.held.iter().step_by(step).copied().collect();
        let changes = sample.iter().map(|page| self.copies.page(*page).history().0);
        let changes = changes.map(f64::from).sum::<f64>() * step as f64;
        let doubt = Doubt::after(changes);
        let chances =
            sample.iter().filter_map(|page| self.copies.fresh_chances(*page, now, doubt.factors()));
        Believed::of(chances, self.held.len())
    }

    pub(super) fn sources(&self) -> &[PageId] {
        &self.sources
    }

    /// Adds a page that was discovered. Returns whether a source revealed it.
    pub(super) fn discover(&mut self, found: &Discovery<'_>) -> bool {
        debug_assert_eq!(found.page.index(), self.copies.len());
        let source = found.is_source.then(|| {
            self.sources.push(found.page);
            self.news.add_source(found.host)
        });
        self.copies.add(found.host, found.url, found.weight, source, found.at);
        self.told.extend(self.truth.get(&found.key).map(|value| (found.page, *value)));
        let via = found.via.filter(|via| self.is_known(*via));
        match via {
            Some(_) => self.links.add(),
            None => self.links.add_named(found.host, found.weight, found.is_held),
        }
        let shown_on = via.and_then(|via| self.copy(via).source());
        if !found.is_held && !found.is_source {
            self.news.found(found.page, found.host, found.url, shown_on, found.at);
        }
        shown_on.is_some()
    }

    pub(super) fn gone(&mut self, page: PageId) {
        self.copies.gone(page);
        self.links.take_back(page);
    }

    /// Nothing is known against a page.
    pub(super) fn reopened(&mut self, page: PageId) {
        self.copies.reopened(page);
    }

    pub(super) fn failed(&mut self, page: PageId) {
        self.copies.failed(page);
    }

    /// A fetch brought `content`. Returns the waiting pages whose worth its links may have changed.
    pub(super) fn fetched(&mut self, page: PageId, at: Time, content: &Content<'_>) -> Vec<PageId> {
        let is_first = self.copy(page).last().is_none();
        self.copies.fetched(page, at, content);
        if is_first {
            self.held.push(page);
            self.news.fetched(page, self.level(page), at);
        }
        let source = self.copy(page).source();
        let shows = Shows { source, is_first };
        let mut risen = self.news.showed(shows, at, content.links, content.anchors);
        // What a source shows later is news, which is judged by the source.
        let is_new = source.is_none() && content.changed != Some(false);
        if self.by_links && (is_new || !self.links.knows(page)) {
            self.links.show(page, content.links.iter().map(|link| link.page));
            self.settle_links(WORK, &mut risen);
        }
        risen
    }

    /// Hands weights on along links, and adds the waiting pages whose worth they change.
    fn settle_links(&mut self, work: usize, risen: &mut Vec<PageId>) {
        let weigh = hands_on(&self.copies, &self.doubts, self.links.mean_of_copies());
        self.links.settle(work, weigh, risen);
    }

    /// What links say about a page that waits for its first fetch.
    fn level(&self, page: PageId) -> f64 {
        if self.by_links { self.links.level(page) } else { 0.0 }
    }

    pub(super) fn take_log(&mut self, rows: &[Interest], now: Time) {
        self.copies.take_log(rows, now);
        self.news.take_log(rows, now, self.copies.unit());
    }

    pub(super) fn asked(&mut self, asked: &[Asked<'_>]) {
        self.news.asked(asked);
    }

    pub(super) fn hinted(&mut self, page: PageId, kind: &str, at: Time) {
        self.copies.hinted(page, kind, at);
    }

    /// The last hint since the last fetch of a page.
    pub(super) fn last_hint(&self, page: PageId) -> Option<Time> {
        self.copies.last_hint(page)
    }

    pub(super) fn hint_records(&self, most: usize) -> Vec<HintRecord> {
        self.copies.hint_records(most)
    }

    /// Learns from the pages whose time is over, refits the priors of change rates, and hands on the
    /// weights that have moved. Returns the waiting pages whose worth links have changed.
    pub(super) fn learn(&mut self, now: Time) -> Vec<PageId> {
        for (page, factor) in self.news.let_go(now, |page| self.doubts.own(page)) {
            self.copies.keep_factor(page, factor);
        }
        self.copies.repool();
        let mut risen = Vec::new();
        if self.by_links {
            self.relink(&mut risen);
        }
        risen
    }

    /// What pages brought that were fetched a while ago, since the last call.
    pub(super) fn take_returns(&mut self) -> Vec<Return> {
        self.news.take_returns()
    }

    /// Finds the mean weights by links anew, and hands on all weights that have moved.
    fn relink(&mut self, risen: &mut Vec<PageId>) {
        let sample = |len: usize| (0..len).step_by(len.div_ceil(LINKED).max(1));
        let copies = sample(self.held.len()).map(|at| self.held[at]);
        let is_waiting = |page: &PageId| {
            let copy = self.copies.page(*page);
            copy.last().is_none() && !copy.is_gone()
        };
        let pages = sample(self.copies.len()).map(|page| PageId(page as u32));
        self.links.compare_with(copies, pages.filter(is_waiting));
        let moved: Vec<PageId> = {
            let weigh = hands_on(&self.copies, &self.doubts, self.links.mean_of_copies());
            let has_moved = |page: &&PageId| {
                let weight = weigh(**page, self.links.weight(**page));
                weight.is_some_and(|weight| self.links.has_moved(**page, weight))
            };
            self.held.par_iter().filter(has_moved).copied().collect()
        };
        moved.into_iter().for_each(|page| self.links.note(page));
        self.settle_links(WORK + ROUNDS * self.links.known(), risen);
    }

    /// The value of further fetches of a page that has been fetched.
    pub(super) fn value(&self, page: PageId, now: Time) -> Value {
        let value =
            self.told.get(&page).copied().unwrap_or_else(|| match self.copy(page).source() {
                None => self.copies.value(page),
                Some(source) => Value::Source(self.news.source(source, now)),
            });
        value.with_chance(self.doubts.own(page))
    }

    /// The value of a page never fetched, and since when it loses clicks; `None` without evidence.
    pub(super) fn first_value(&self, page: PageId, now: Time) -> Option<(Value, Time)> {
        let (value, since) = self.undoubted_value(page, now)?;
        Some((value.with_chance(self.doubts.own(page)), since))
    }

    /// The same without the doubt.
    fn undoubted_value(&self, page: PageId, now: Time) -> Option<(Value, Time)> {
        let level = self.level(page);
        self.news.value(page, level).or_else(|| {
            let factor = self.copy(page).kept_factor()?;
            let clicks = factor * self.news.prospect(self.copy(page).host(), level);
            Some((Value::Once { clicks, decay: 0.0 }, now))
        })
    }

    /// Clicks that a first fetch brings now; `None` without evidence.
    pub(super) fn first_worth(&self, page: PageId, now: Time) -> Option<f64> {
        let (value, since) = self.first_value(page, now)?;
        Some(value.worth(now.since(since).seconds(), 0.0))
    }

    /// The same, but `f64::MAX` for a source, of which nothing is known before its first visit. One that
    /// is doubted is worth what sources bring in the time until their first look.
    pub(super) fn offered_worth(&self, page: PageId, now: Time) -> Option<f64> {
        self.first_worth(page, now).or_else(|| {
            self.copy(page).source()?;
            let is_doubted = self.doubts.own(page) < 1.0;
            let expected = || self.value(page, now).worth(FIRST_LOOK.seconds(), 0.0);
            Some(if is_doubted { expected() } else { f64::MAX })
        })
    }

    /// Sets the doubt about a page. Returns whether it changed.
    pub(super) fn doubted(&mut self, page: PageId, doubt: f64) -> bool {
        let is_unfetched = self.copy(page).last().is_none();
        self.doubts.hear(page, doubt, is_unfetched)
    }

    /// Chance that a fetch of a page brings nothing of its own.
    pub(super) fn doubt(&self, page: PageId) -> f64 {
        1.0 - self.doubts.own(page)
    }

    /// For a share of the calls a random page that only its doubt keeps below the price of its host, if
    /// `is_free` allows its fetch.
    pub(super) fn draw_blind(
        &mut self,
        now: Time,
        price: impl Fn(HostId) -> f64,
        is_free: impl Fn(PageId, HostId) -> bool,
    ) -> Option<PageId> {
        if !self.doubts.is_turn() {
            return None;
        }
        for _ in 0..BLIND_LOOKS {
            let (at, page) = self.doubts.suspect()?;
            let copy = self.copy(page);
            let host = copy.host();
            if copy.last().is_some() || copy.is_gone() {
                self.doubts.dismiss(at);
            } else if is_free(page, host)
                && self.undoubted_worth(page, now).is_some_and(|worth| worth >= price(host))
            {
                return Some(page);
            }
        }
        None
    }

    /// What a page never fetched would be offered at without its doubt; see [`Self::offered_worth`].
    fn undoubted_worth(&self, page: PageId, now: Time) -> Option<f64> {
        let worth = |(value, since): (Value, Time)| value.worth(now.since(since).seconds(), 0.0);
        let source = || self.copy(page).source().map(|_| f64::MAX);
        self.undoubted_value(page, now).map(worth).or_else(source)
    }

    /// Whether a page that has no place in a queue should have one: the target of a redirect that was
    /// met while its source was being visited, which did not link to it.
    pub(super) fn is_stray(&self, page: PageId, now: Time) -> bool {
        let copy = self.copy(page);
        copy.last().is_none() && !copy.is_gone() && self.first_worth(page, now).is_some()
    }

    /// Seconds that a page has waited since `from`, by the rhythm of its host.
    pub(super) fn waited(&self, page: PageId, from: Time, now: Time) -> f64 {
        self.copies.waited(page, from, now)
    }

    /// Seconds since a page never fetched was found.
    pub(super) fn waited_unfetched(&self, page: PageId, now: Time) -> f64 {
        self.news.waited(page, now)
    }

    /// When a page is due that waits for `wait` seconds after `from`; `None` if never. Every failure
    /// in a row doubles the wait.
    pub(super) fn due(&self, page: PageId, from: Time, wait: f64) -> Option<Time> {
        self.copies.due(page, from, self.backed_off(page, wait))
    }

    /// When a source that was visited once, at `from`, has its *first look*: what it shows is not known
    /// before its second visit, and where other sources disappoint its expected worth may never reach the
    /// price. `None` for other pages. Sources that became known together take turns.
    pub(super) fn first_look(&self, page: PageId, from: Time) -> Option<Time> {
        let copy = self.copy(page);
        let (_, visits) = copy.history();
        if copy.source().is_none() || visits > 0 {
            return None;
        }
        let turn = (f64::from(page.0) * GOLDEN).fract();
        let share = FIRST_LOOK_FROM + (1.0 - FIRST_LOOK_FROM) * turn;
        by_the_clock(from, self.backed_off(page, share * FIRST_LOOK.seconds()))
    }

    /// A lower bound of [`Pages::due`] that is cheap to find if it is days away.
    pub(super) fn due_at_least(
        &self,
        page: PageId,
        from: Time,
        wait: f64,
        now: Time,
    ) -> Option<Time> {
        self.copies.due_at_least(page, from, self.backed_off(page, wait), now)
    }

    /// `wait`, doubled for every failure in a row.
    pub(super) fn backed_off(&self, page: PageId, wait: f64) -> f64 {
        wait * f64::from(1u32 << self.copy(page).failures())
    }

    /// `wait` until a look for a page that is gone: doubled for every look so far, and longer the fewer
    /// pages come back, so that a look costs the same for every page that is found again.
    pub(super) fn wait_for_return(&self, page: PageId, wait: f64) -> f64 {
        self.backed_off(page, wait) / self.copies.return_share()
    }

    /// Values of the sources that can be visited.
    pub(super) fn source_values(&self, now: Time) -> Vec<Value> {
        let is_live = |page: &&PageId| self.copy(**page).is_held();
        self.sources.iter().filter(is_live).map(|&page| self.value(page, now)).collect()
    }

    /// Values of a sample of the copies, and how many copies each stands for.
    pub(super) fn copy_values(&self, now: Time) -> (Vec<Value>, f64) {
        let is_copy = |page: &&PageId| {
            let copy = self.copy(**page);
            copy.source().is_none() && !copy.is_gone()
        };
        let all: Vec<PageId> = self.held.iter().filter(is_copy).copied().collect();
        self.sample_values(&all, SAMPLE, now)
    }

    /// Values of the sources among the pages held on a host, and those of a sample of the copies with how
    /// many copies each stands for.
    pub(super) fn values_of(&self, held: &[PageId], now: Time) -> (Vec<Value>, (Vec<Value>, f64)) {
        let is_source = |page: &PageId| self.copy(*page).source().is_some();
        let (sources, copies): (Vec<PageId>, Vec<PageId>) = held.iter().partition(|p| is_source(p));
        let sources = sources.into_iter().map(|page| self.value(page, now)).collect();
        (sources, self.sample_values(&copies, HOST_SAMPLE, now))
    }

    /// Values of at most `most` of the pages, another part of them each time, and how many pages each
    /// stands for.
    fn sample_values(&self, pages: &[PageId], most: usize, now: Time) -> (Vec<Value>, f64) {
        let step = pages.len().div_ceil(most).max(1);
        let some = pages.iter().skip(now.seconds() as usize % step).step_by(step);
        let values: Vec<Value> = some.map(|&page| self.value(page, now)).collect();
        let scale = pages.len() as f64 / values.len().max(1) as f64;
        (values, scale)
    }

    /// Whether a source revealed a page that waits for its first fetch.
    pub(super) fn is_news(&self, page: PageId) -> bool {
        self.news.is_on_source(page)
    }

    /// How many pages link to one that waits for its first fetch.
    pub(super) fn shown_by(&self, page: PageId) -> Option<u16> {
        self.news.shown_by(page)
    }
}

/// What a copy with a given weight by links hands on, if `mean` is the mean of those weights.
/// What repeats another page or lies in a trap recommends nothing.
fn hands_on(
    copies: &Copies,
    doubts: &Doubts,
    mean: f64,
) -> impl Fn(PageId, f64) -> Option<f64> + Sync {
    move |page, weight| Some(doubts.own(page) * mean * copies.click_weight(page, weight / mean)?)
}
