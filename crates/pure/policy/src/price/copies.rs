//! How copies go stale, and how much that matters.
//!
//! **Staleness.** The change rate is uncertain: a gamma posterior, pooled by host and URL pattern
//! ([`tidewatch_science::estimate`]), whose *expected* worth counts. So doubt is a reason to look, and no
//! page is given up for good after a few visits. With sketches, a change touches a part of the page. Its
//! profile tells how large a part, and how many items scroll, once it was seen to change
//! ([`tidewatch_science::divergence`]); until then the first changes of other pages stand in.
//!
//! Hints are trusted as far as they have proved right ([`super::signals`]).
//!
//! **Weight.** Clicks a second ([`super::clicks`]).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tidewatch_core::{Content, HostId, Interest, InterestKind, PageId, Time};

use super::clicks::Clicks;
use super::copy::{Copy, EarlyChange, VAGUE};
use super::signals::Hints;
use super::value::{Staling, Value};
use crate::HintRecord;
use tidewatch_science::estimate::{Member, Pool};
use tidewatch_science::law::{Curve, Lomax, Poisson};
use tidewatch_science::rhythm::{ChangesSeen, Habits, by_the_clock};

/// The pool is fitted again when visits have grown by this share.
const GROWTH: f64 = 0.25;
/// Prior for the part of a page that a change touches, and its strength in first changes.
const SIZE: (f64, f64) = (0.5, 2.0);
/// Strength of the prior of the resemblance: two pages whose first change is a third from the mean, about
/// the standard deviation of parts that are uniform.
const SIZE_SPREAD: f64 = 2.0 / 9.0;
/// Lower bound of the resemblance: what a page showed itself is never worth nothing.
const LEAST_RESEMBLANCE: f64 = 0.05;
/// Lower bound of the share of pages that come back. A host's bad day may make all its pages gone, and
/// they must not wait for years.
const LEAST_RETURNS: f64 = 1.0 / 8.0;
/// Visits before the pool is fitted at all.
const FIRST_VISITS: u64 = 20;

/// All pages.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Copies {
    pages: Vec<Copy>,
    pool: Option<Pool>,
    visits: u64,
    pooled: u64,
    clicks: Clicks,
    sizes: Sizes,
    hints: Hints,
    habits: Habits,
    returns: Returns,
    logs_all: bool,
}

/// How large changes are.
///
/// Some pages always change in the same part; on others a change tells little of the next, and a small
/// first change must not keep a page from being visited for good. The *resemblance* tells which: with m the
/// mean of first changes, s the part that a page's first change let expect, and d the second,
///
/// > ρ = Σ(s − m)(d − m)/Σ(s − m)²,
///
/// the slope of the regression of d on s. After n changes a page's own part then has the weight
/// n/(n + κ), κ = 1/ρ − 1, of the best linear predictor `[BS70]`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sizes {
    /// Sum of the parts that first changes touched, and their number.
    parts: f64,
    pages: f64,
    /// Σ(s − m)(d − m), and Σ(s − m)².
    shared: f64,
    spread: f64,
}

impl Sizes {
    fn learn(&mut self, change: EarlyChange) {
        match change {
            EarlyChange::First(seen) => {
                self.parts += seen;
                self.pages += 1.0;
            }
            EarlyChange::Second { expected, seen } => {
                let apart = expected - self.mean();
                self.shared += apart * (seen - self.mean());
                self.spread += apart * apart;
            }
        }
    }

    /// m, from the prior and the first changes so far.
    fn mean(&self) -> f64 {
        let (guess, pages) = SIZE;
        (self.parts + guess * pages) / (self.pages + pages)
    }

    /// ρ; the prior is that second changes resemble the first.
    fn resemblance(&self) -> f64 {
        let slope = (self.shared + SIZE_SPREAD) / (self.spread + SIZE_SPREAD);
        slope.clamp(LEAST_RESEMBLANCE, 1.0)
    }
}

/// Looks for pages that were gone, and how many had come back.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Returns {
    looks: f64,
    back: f64,
}

impl Returns {
    fn count(&mut self, is_back: bool) {
        self.looks += 1.0;
        self.back += f64::from(u8::from(is_back));
    }

    /// Share of looks that find a page back, after one assumed look that did.
    fn share(self) -> f64 {
        ((self.back + 1.0) / (self.looks + 1.0)).max(LEAST_RETURNS)
    }
}

impl Copies {
    /// No pages yet. `rhythm`: whether hosts change by the hour of the week; `logs_all`: whether the log
    /// also has the clicks of pages never fetched.
    pub fn new(rhythm: bool, logs_all: bool) -> Self {
        Copies { habits: Habits::new(rhythm), logs_all, ..Copies::default() }
    }

    /// Adds the next page.
    pub fn add(&mut self, host: HostId, url: &str, weight: f64, source: Option<u32>, at: Time) {
        let mut copy = Copy::new(host, url, weight, source, at);
        copy.believe(self.pool.as_ref(), None);
        self.pages.push(copy);
    }

    /// A page.
    pub fn page(&self, page: PageId) -> &Copy {
        &self.pages[page.index()]
    }

    /// Pages known.
    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// A page is gone.
    pub(super) fn gone(&mut self, page: PageId) {
        let copy = &mut self.pages[page.index()];
        if copy.is_held() {
            self.clicks.release(copy.weight_given());
        }
        if copy.is_gone() {
            self.returns.count(false);
        }
        copy.lose();
    }

    /// Nothing is known against a page: an interruption of ours, or its obstacle is gone.
    pub(super) fn reopened(&mut self, page: PageId) {
        let copy = &mut self.pages[page.index()];
        let was_held = copy.is_held();
        copy.reopen();
        if copy.is_held() && !was_held {
            self.clicks.hold(copy.weight_given());
        }
    }

    /// A fetch failed.
    pub(super) fn failed(&mut self, page: PageId) {
        self.pages[page.index()].fail();
        // Pending hints made it due at once, and would do so again.
        self.hints.forget(page);
    }

    /// A fetch brought the page.
    pub fn fetched(&mut self, page: PageId, at: Time, content: &Content<'_>) {
        let copy = &mut self.pages[page.index()];
        if !copy.is_held() {
            self.clicks.hold(copy.weight_given());
        }
        if copy.is_gone() {
            self.returns.count(true);
        }
        let last = copy.last();
        copy.arrive(at);
        if last.is_none() && !self.logs_all {
            // Nobody could click on it before.
            copy.count_from(at);
        }
        if let (Some(last), Some(changed)) = (last, content.changed) {
            let gap = self.habits.elapsed(copy.host(), last, at);
            let rate = copy.change_rate();
            if copy.source().is_none() {
                self.habits.note(copy.host(), last, at, rate, ChangesSeen::Changed(changed));
            }
            copy.compare(gap, changed);
            self.visits += 1;
            self.hints.fetched(page, copy.host(), changed, rate, gap);
        } else {
            // They were about what this fetch has brought.
            self.hints.forget(page);
        }
        let heard = self.hints.heard(page, copy.host());
        if !content.sketch.is_empty() {
            let early = copy.profile(at, content, self.pool.as_ref(), heard.as_ref());
            early.into_iter().for_each(|change| self.sizes.learn(change));
        }
        copy.believe(self.pool.as_ref(), heard.as_ref());
    }

    /// Share of looks for a gone page that find it back.
    pub(super) fn return_share(&self) -> f64 {
        self.returns.share()
    }

    /// Keeps the factor on a prospect's expected clicks.
    pub(super) fn keep_factor(&mut self, page: PageId, factor: f64) {
        self.pages[page.index()].keep_factor(factor);
    }

    /// A hint came that a page has changed.
    pub(super) fn hinted(&mut self, page: PageId, kind: &str, at: Time) {
        if let Some(host) = self.pages.get(page.index()).map(Copy::host) {
            self.hints.hinted(page, host, kind, at);
        }
    }

    /// The last hint since the last fetch of a page.
    pub(super) fn last_hint(&self, page: PageId) -> Option<Time> {
        self.hints.last(page)
    }

    /// How hints have proved themselves.
    pub(super) fn hint_records(&self, most: usize) -> Vec<HintRecord> {
        self.hints.records(most)
    }

    /// Takes in the log.
    pub(super) fn take_log(&mut self, rows: &[Interest], now: Time) {
        if let Some(share) = self.clicks.fade(now.seconds()) {
            self.pages.par_iter_mut().for_each(|copy| copy.fade(share));
        }
        for row in rows.iter().filter(|row| row.kind == InterestKind::Click) {
            let sound = row.count > 0.0 && row.count.is_finite();
            if sound && let Some(copy) = self.pages.get_mut(row.page.index()) {
                copy.click(row.count as f32);
                self.clicks.count(row.count);
            }
        }
    }

    /// Clicks per second of a copy of weight one.
    pub(super) fn unit(&self) -> f64 {
        self.clicks.unit()
    }

    /// Clicks per second on a page.
    pub(super) fn weight(&self, page: PageId) -> f64 {
        self.page(page).click_rate(&self.clicks)
    }

    /// The clicks of a copy in units of those of a page of weight one, if `mean` is expected by its links;
    /// `None` for pages that are no copies.
    pub(super) fn click_weight(&self, page: PageId, mean: f64) -> Option<f64> {
        let copy = self.page(page);
        copy.is_held().then(|| copy.click_weight(mean, &self.clicks))
    }

    /// Fits the pool again if there are enough new visits.
    pub fn repool(&mut self) {
        let enough = (self.pooled as f64 * (1.0 + GROWTH)) as u64;
        if self.visits < FIRST_VISITS.max(enough) || self.visits == self.pooled {
            return;
        }
        self.pooled = self.visits;
        // Sources change all the time, which says nothing about copies.
        let hints = &self.hints;
        let heard = |page: usize, copy: &Copy| hints.heard(PageId(page as u32), copy.host());
        let copies = self.pages.iter().enumerate().filter(|(_, copy)| copy.source().is_none());
        let member = |(page, copy): (usize, &Copy)| copy.member(heard(page, copy).as_ref());
        let members: Vec<Member> = copies.filter_map(member).collect();
        self.pool = Pool::fit_about(&members, VAGUE);
        let pool = self.pool.as_ref();
        self.pages.par_iter_mut().enumerate().for_each(|(page, copy)| {
            copy.believe(pool, heard(page, copy).as_ref());
        });
    }

    /// Seconds since `from`; for copies by the rhythm of their host. (The rate of a source already knows
    /// the hour, and readers of a page never fetched have hours of their own.)
    pub(super) fn waited(&self, page: PageId, from: Time, now: Time) -> f64 {
        match self.page(page) {
            copy if copy.source().is_none() && copy.last().is_some() => {
                self.habits.waited(copy.host(), from, now)
            }
            _ => now.since(from).seconds(),
        }
    }

    /// When a page has waited for `wait` seconds since `from`; `None` if never.
    pub(super) fn due(&self, page: PageId, from: Time, wait: f64) -> Option<Time> {
        match self.page(page) {
            copy if copy.source().is_none() => self.habits.due(copy.host(), from, wait),
            _ => by_the_clock(from, wait),
        }
    }

    /// A lower bound of [`Copies::due`] that is cheap to find if it is days away.
    pub(super) fn due_at_least(
        &self,
        page: PageId,
        from: Time,
        wait: f64,
        now: Time,
    ) -> Option<Time> {
        match self.page(page) {
            copy if copy.source().is_none() => {
                self.habits.due_at_least(copy.host(), from, wait, now)
            }
            _ => by_the_clock(from, wait),
        }
    }

    /// Chances that a copy equals its page at `now`, if pages change so many times faster than believed;
    /// `None` if there is no copy.
    pub(super) fn fresh_chances<const N: usize>(
        &self,
        page: PageId,
        now: Time,
        faster: [f64; N],
    ) -> Option<[f64; N]> {
        let copy = self.page(page);
        let last = copy.last().filter(|_| copy.is_held())?;
        let waited = self.waited(page, last, now);
        let waits = faster.map(|times| times * waited);
        let hinted = self.hints.of(page, copy.host(), copy.change_rate());
        Some(match hinted.map(Staling::Hinted) {
            Some(staling) => waits.map(|waited| 1.0 - staling.stale(waited)),
            None => copy.unchanged(waits, self.pool.as_ref()),
        })
    }

    /// How a copy goes stale.
    pub(super) fn staling(&self, page: PageId) -> Staling {
        let copy = self.page(page);
        let changing = copy.changing();
        if let Some(hinted) = self.hints.of(page, copy.host(), copy.change_rate()) {
            return Staling::Hinted(hinted);
        }
        let known = Lomax::uncertain_rate(changing.shape, changing.rate).map(Curve::Lomax);
        Staling::Whole(known.unwrap_or(Curve::Poisson(Poisson::NEVER)))
    }

    /// The value of refreshing a copy.
    pub fn value(&self, page: PageId) -> Value {
        Value::Refresh {
            weight: self.weight(page),
            size: self.page(page).size(self.sizes.mean(), self.sizes.resemblance()),
            staling: self.staling(page),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds).unwrap()
    }

    fn one() -> Copies {
        let mut copies = Copies::new(true, false);
        copies.add(HostId(0), "http://a.test/x", 2.0, None, at(0.0));
        copies
    }

    #[test]
    fn clicks_outweigh_the_weight_given() {
        let mut copies = one();
        copies.add(HostId(0), "http://a.test/y", 1.0, None, at(0.0));
        for page in 0..2 {
            copies.fetched(PageId(page), at(0.0), &Content::default());
        }
        let before = copies.weight(PageId(0));
        assert!((before / copies.weight(PageId(1)) - 2.0).abs() < 1e-9, "{before}");
        for day in 1..30 {
            let now = at(86_400.0 * f64::from(day));
            let click =
                Interest { page: PageId(1), at: now, count: 50.0, kind: InterestKind::Click };
            copies.take_log(&[click], now);
        }
        let rate = copies.weight(PageId(1)) * 86_400.0;
        assert!((40.0..60.0).contains(&rate), "{rate}");
        assert!(copies.weight(PageId(0)) < copies.weight(PageId(1)) / 20.0);
    }

    /// A hundred pages are visited at every hint, and after twenty days without one. A visit that follows a
    /// hint comes just after a change, so that its gap says nothing about how often the page changes.
    #[test]
    fn visits_that_follow_hints_do_not_mislead() {
        const DAY: f64 = 86_400.0;
        let (recall, empty, rate) = (0.7, 0.3, 0.1 / DAY);
        let noise = recall * rate * empty / (1.0 - empty);
        let mut copies = Copies::new(false, false);
        let mut draws = tidewatch_math::Draws::of(1, "price.copies.hints", 0);
        for page in (0..100).map(PageId) {
            copies.add(HostId(0), &format!("http://a.test/{}", page.0), 1.0, None, at(0.0));
            copies.fetched(page, at(0.0), &Content::default());
            let (mut now, mut last, mut changed) = (0.0, 0.0, false);
            while now < 200.0 * DAY {
                let (next, visit) = (now + draws.exponential(rate + noise), last + 20.0 * DAY);
                now = next.min(visit);
                if next < visit {
                    let is_change = draws.chance(rate / (rate + noise));
                    changed |= is_change;
                    if is_change && !draws.chance(recall) {
                        continue;
                    }
                    copies.hinted(page, "feed", at(now));
                }
                let content = Content { changed: Some(changed), ..Content::default() };
                copies.fetched(page, at(now), &content);
                (last, changed) = (now, false);
            }
            copies.repool();
        }
        let rates = (0..100).map(|page| copies.page(PageId(page)).change_rate());
        let found = rates.sum::<f64>() / 100.0 / rate;
        let [ref record] = copies.hint_records(2)[..] else { panic!("one kind on one host") };
        // Some 2,000 hints and 500 changes without one: three standard errors of the rate are a tenth, and
        // no more of the shares; learning begins with wrong beliefs.
        assert!((found - 1.0).abs() < 0.15, "{found}");
        assert!((record.recall - recall).abs() < 0.1, "{record:?}");
        assert!((record.precision - (1.0 - empty)).abs() < 0.1, "{record:?}");
    }

    /// Only copies wait by the rhythm of their host: a page that was never fetched loses readers at night too.
    #[test]
    fn a_page_never_fetched_waits_by_the_clock() {
        let mut copies = one();
        copies.add(HostId(0), "http://a.test/y", 1.0, None, at(0.0));
        // It changes between nine and ten every day.
        for day in (0..200).map(|day| 86_400.0 * f64::from(day)) {
            for (hour, changed) in [(9.0, false), (10.0, true)] {
                let content = Content { changed: Some(changed), ..Content::default() };
                copies.fetched(PageId(0), at(day + 3600.0 * hour), &content);
            }
        }
        let (from, now) = (at(86_400.0 * 200.25), at(86_400.0 * 200.5));
        let waited = [0, 1].map(|page| copies.waited(PageId(page), from, now));
        assert!(waited[0] > 30_000.0, "the host has a rhythm: {waited:?}");
        assert!((waited[1] - 21_600.0).abs() < 1e-6, "{waited:?}");
    }

    /// Beside a weight of 10²⁰ others vanish by rounding. When it is gone, what is held is not below zero.
    #[test]
    fn a_heavy_page_that_is_gone_leaves_the_others_their_clicks() {
        let mut copies = Copies::new(true, false);
        for (page, weight) in (0..).zip([1e20, 1000.0, 1.0]) {
            copies.add(HostId(0), "http://a.test/x", weight, None, at(0.0));
            copies.fetched(PageId(page), at(0.0), &Content::default());
        }
        (0..2).for_each(|page| copies.gone(PageId(page)));
        (1..30).for_each(|day| copies.take_log(&[], at(86_400.0 * f64::from(day))));
        assert!(copies.weight(PageId(2)) > 0.0);
    }

    /// What was hinted at before a page was first fetched is in its copy: it proves nothing, and the copy is no
    /// older for it.
    #[test]
    fn hints_before_the_first_fetch_are_over_with_it() {
        let hours = |hour: u32| at(3600.0 * f64::from(hour));
        let seen = |early: u32| {
            let mut copies = one();
            // The host gives hints.
            copies.add(HostId(0), "http://a.test/y", 1.0, None, at(0.0));
            copies.hinted(PageId(1), "sitemap", at(0.0));
            (0..early).for_each(|_| copies.hinted(PageId(0), "sitemap", at(0.0)));
            copies.fetched(PageId(0), hours(1), &Content::default());
            let fresh = copies.fresh_chances(PageId(0), hours(2), [1.0]).unwrap();
            let same = Content { changed: Some(false), ..Content::default() };
            copies.fetched(PageId(0), hours(3), &same);
            let Staling::Hinted(hinted) = copies.staling(PageId(0)) else {
                panic!("it is hinted at")
            };
            (fresh, hinted.noise)
        };
        assert_eq!(seen(5), seen(0));
    }

    /// A page that comes back is held as before: what a unit of weight brings must not rise by it.
    #[test]
    fn what_is_gone_and_back_weighs_as_before() {
        let days = |day: u32| at(86_400.0 * f64::from(day));
        let weight = |outage: Option<u32>| {
            let mut copies = one();
            copies.fetched(PageId(0), days(0), &Content::default());
            for day in 1..60 {
                if outage == Some(day) {
                    copies.gone(PageId(0));
                    copies.gone(PageId(0));
                    copies.fetched(PageId(0), days(day), &Content::default());
                }
                copies.take_log(&[], days(day));
            }
            copies.weight(PageId(0))
        };
        assert!((weight(Some(20)) / weight(None) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn changes_seen_shorten_the_wait() {
        let mut copies = one();
        let unknown = copies.value(PageId(0)).wait(1e-3);
        for day in 0..20 {
            let content = Content { changed: Some(day % 2 == 0), ..Content::default() };
            copies.fetched(PageId(0), at(86_400.0 * f64::from(day)), &content);
        }
        let known = copies.value(PageId(0)).wait(1e-3);
        assert!(known < unknown, "{known} {unknown}");
        copies.gone(PageId(0));
        assert!(copies.page(PageId(0)).is_gone());
    }

    /// Where nothing comes back, looks for it become rare, but never stop.
    #[test]
    fn looks_are_rare_where_nothing_comes_back() {
        let mut copies = one();
        copies.fetched(PageId(0), at(0.0), &Content::default());
        assert!((copies.return_share() - 1.0).abs() < 1e-12, "nothing is known yet");
        (0..100).for_each(|_| copies.gone(PageId(0)));
        assert!((copies.return_share() - LEAST_RETURNS).abs() < 1e-12);
        for day in 0..1000 {
            copies.fetched(PageId(0), at(86_400.0 * f64::from(day)), &Content::default());
            copies.gone(PageId(0));
        }
        assert!(copies.return_share() > 0.9, "{}", copies.return_share());
    }

    fn hash(seed: u64, item: u64) -> u64 {
        tidewatch_math::Draws::of(seed, "price.copies", item).word()
    }

    #[test]
    fn a_page_that_stays_the_same_is_believed_to() {
        let mut copies = one();
        let mut sketch: Vec<u64> = (0..8).map(|item| hash(1, item)).collect();
        sketch.sort_unstable();
        let stale = |copies: &Copies| copies.staling(PageId(0)).stale(86_400.0);
        let content = Content { sketch: &sketch, changed: Some(false), ..Content::default() };
        copies.fetched(PageId(0), at(0.5), &content);
        let first = stale(&copies);
        (1..10).for_each(|day| copies.fetched(PageId(0), at(86_400.0 * f64::from(day)), &content));
        assert!(stale(&copies) < 0.7 * first, "{} {first}", stale(&copies));
    }

    /// Of a thousand pages that each change once in a hundred days those not yet seen to are not
    /// given up: the pool knows that they will, and by how much.
    #[test]
    fn the_pool_speaks_for_pages_not_yet_seen_to_change() {
        // Four standard errors of a rate from the 476 changes that 5000 visits see on average.
        const ERROR: f64 = 4.0 * 0.046;
        let mut copies = Copies::new(true, false);
        let mut draws = tidewatch_math::Draws::of(2, "price.copies.pool", 0);
        for page in 0..1000u32 {
            copies.add(HostId(page), "http://a.test/x", 1.0, None, at(0.0));
            let mut version = 0;
            for look in 0..6 {
                let changed = look > 0 && draws.chance(1.0 - (-0.1f64).exp());
                version += u64::from(changed);
                // A quarter of the page is new with every version.
                let mut sketch: Vec<u64> =
                    (0..8).map(|item| hash(if item < 2 { version } else { 99 }, item)).collect();
                sketch.sort_unstable();
                let changed = (look > 0).then_some(changed);
                let content = Content { sketch: &sketch, changed, ..Content::default() };
                copies.fetched(PageId(page), at(864_000.0 * f64::from(look)), &content);
            }
        }
        copies.repool();
        let unseen =
            (0..1000).map(PageId).find(|&page| copies.page(page).history().0 == 0).unwrap();
        // Two of eight replaced are 2 + 2 of ten different.
        let Value::Refresh { size, .. } = copies.value(unseen) else { panic!("it is a copy") };
        assert!((size - 0.4).abs() < 0.05, "{size}");
        let Staling::Whole(tidewatch_science::law::Curve::Lomax(rate)) = copies.staling(unseen)
        else {
            panic!("{:?}", copies.staling(unseen))
        };
        let rate = rate.rate() * 8_640_000.0;
        assert!((rate - 1.0).abs() < ERROR, "{rate} changes in a hundred days");
    }

    /// Where pages always change in the same part, a first change tells the second; where every change
    /// draws its part anew, it tells nothing, and a page with a small first change keeps nearly the mean.
    #[test]
    fn resemblance_tells_whether_a_first_change_foretells_the_next() {
        // Slope of 400 pairs with a spread of .08 each, off by .05 at one standard error.
        const ERROR: f64 = 3.0 * 0.05;
        let learnt = |is_same: bool| {
            let mut draws = tidewatch_math::Draws::of(3, "price.copies.sizes", 0);
            let mut sizes = Sizes::default();
            for _ in 0..400 {
                let first = draws.uniform();
                sizes.learn(EarlyChange::First(first));
                let seen = if is_same { first } else { draws.uniform() };
                sizes.learn(EarlyChange::Second { expected: first, seen });
            }
            sizes
        };
        let (same, fresh) = (learnt(true), learnt(false));
        assert!((same.resemblance() - 1.0).abs() < 1e-9, "{same:?}");
        assert!((fresh.resemblance() - LEAST_RESEMBLANCE).abs() < ERROR, "{fresh:?}");
        let mut copies = one();
        for day in 0..6u64 {
            let mut sketch: Vec<u64> =
                (0..8).map(|item| hash(if item < 1 { day / 3 } else { 99 }, item)).collect();
            sketch.sort_unstable();
            let content =
                Content { sketch: &sketch, changed: Some(day == 3), ..Content::default() };
            copies.fetched(PageId(0), at(86_400.0 * day as f64), &content);
        }
        // After one change, the page's own part has the weight of the resemblance.
        let size = |mean, resemblance| copies.page(PageId(0)).size(mean, resemblance);
        let own = size(0.9, 1.0);
        assert!(own < 0.6, "{own}");
        assert!((size(0.9, 0.25) - (0.25 * own + 0.75 * 0.9)).abs() < 1e-9);
    }

    /// With `new` of eight hashes replaced every other day, 2·new of 8 + new differ.
    #[test]
    fn sketches_tell_how_much_of_a_page_changes() {
        // A sketch compares eight of the 8 + new hashes, which is off by 0.08 (hypergeometric). All
        // comparisons share the base, so they err together: two and a half of those are allowed.
        const ERROR: f64 = 2.5 * 0.08;
        let size = |new: u64| {
            let mut copies = one();
            for day in 0..12u64 {
                let mut sketch: Vec<u64> =
                    (0..8).map(|item| hash(if item < new { day / 2 } else { 99 }, item)).collect();
                sketch.sort_unstable();
                let changed = Some(day % 2 == 0);
                let content = Content { sketch: &sketch, changed, ..Content::default() };
                copies.fetched(PageId(0), at(86_400.0 * day as f64), &content);
            }
            let Value::Refresh { size, .. } = copies.value(PageId(0)) else { panic!("a copy") };
            size
        };
        let sizes = [2, 4, 6].map(size);
        for (size, new) in sizes.iter().zip([2.0, 4.0, 6.0]) {
            let truth = 2.0 * new / (8.0 + new);
            assert!((size - truth).abs() < ERROR, "{new} of 8: {sizes:?}");
        }
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
    }
}
