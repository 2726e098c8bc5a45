//! How copies go stale, and how much that matters.
//!
//! A page's state is 128 bytes, whatever it is: a crawl of ten million pages keeps 1.28 GB, and a sweep
//! streams them once.
//!
//! **Staleness.** A change rate that is uncertain: a gamma posterior, pooled by host and URL pattern
//! ([`crate::estimate`]), of which the *expected* worth counts. So doubt is a reason to look, and no
//! page is given up for good on the strength of a few looks. Where fetches bring sketches a change
//! touches a part of the page. How large a part, and of how many items one is replaced at a time, its
//! profile tells once it was seen to change ([`crate::longevity`]); until then the first changes of
//! other pages speak for it.
//!
//! Where hints come in, they are trusted as far as they have proved right ([`super::signals`]).
//!
//! **Weight.** Clicks a second from the log, fading with a half-life, shrunk towards the weight that the
//! page came with times the clicks that a unit of weight has had so far. Without a log the weights
//! decide alone.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tidewatch_core::record::{PROFILE_POINTS, PackedPoint, SKETCH_LEN, SKETCH_PAD};
use tidewatch_core::{
    Content, HostId, Interest, InterestKind, PageId, PageKey, PageRecord, Span, Time,
};

use super::habits::Habits;
use super::news::NO_SOURCE;
use super::signals::Hints;
use super::value::{Staling, Value};
use crate::estimate::{Counts, Gamma, Member, Pool, posterior_from_sums, url_pattern};
use crate::law::{Curve, Lomax, Poisson};
use crate::longevity::{DivergenceCurve, Profiles, fit_given, pack, unpack};

/// Half-life of interest: clicks of last week count half.
const HALF_LIFE: Span = Span::WEEK;
/// Expected clicks after which a page's own record outweighs its weight.
const PRIOR_CLICKS: f64 = 1.0;
/// What a unit of weight is taken to bring where there is no log: a click a week.
const UNIT: f64 = 1.0 / 604_800.0;
/// A unit counts as known once so many clicks have told it.
const UNIT_CLICKS: f64 = 10.0;
/// Changes of a page of which nothing is known: about one in a week, give or take orders of magnitude.
const VAGUE: Gamma = Gamma { shape: 0.5, rate: 0.5 * 604_800.0 };
/// The pool is fitted anew when visits have grown by this share.
const GROWTH: f64 = 0.25;
/// What was seen of a page's changes speaks for at most so much time: pages wake up and fall asleep.
const MEMORY: Span = Span::from_micros(90 * Span::DAY.as_micros());
/// How much of a page its first change touches, and how many first changes that is worth.
const SIZE: (f64, f64) = (0.5, 2.0);
/// Visits before the pool is fitted at all.
const FIRST_VISITS: u64 = 20;

/// One page, 128 bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Copy {
    /// Last good fetch; [`Time::NEVER`] if there was none.
    last: Time,
    /// Its host.
    pub host: HostId,
    /// Hash of its URL pattern.
    pattern: u32,
    /// Number among sources, or [`super::news::NO_SOURCE`].
    pub source: u32,
    visits: u32,
    changes: u32,
    watched: f32,
    /// Seconds between visits of which the later saw a change; before the first fetch a prospect's
    /// factor, if it was kept.
    changed: f32,
    /// Clicks, faded to the last sweep of interest.
    clicks: f32,
    given: f32,
    /// Known since, seconds.
    since: u32,
    /// Shape and rate of the posterior of the change rate.
    changing: [f32; 2],
    /// The part of it that changes, once it was seen to.
    size: f32,
    sketch: [u32; SKETCH_LEN],
    base: u32,
    points: [PackedPoint; PROFILE_POINTS],
    items: u8,
    seen: u8,
    state: u8,
}

const _: () = assert!(size_of::<Copy>() <= 128, "a page's state is at most 128 bytes");

/// Bits of `state`.
const GONE: u8 = 1;
/// Has brought sketches.
const SKETCHED: u8 = 2;
/// And was seen to change since.
const IN_PARTS: u8 = 4;
const FAILURES: u8 = 0b1111_0000;
const FAILURE: u8 = 0b0001_0000;

impl Copy {
    /// Last good fetch.
    pub fn last(&self) -> Option<Time> {
        (self.last != Time::NEVER).then_some(self.last)
    }

    /// Whether it is known to be gone.
    pub fn is_gone(&self) -> bool {
        self.state & GONE != 0
    }

    /// Failures in a row, fifteen at most.
    pub fn failures(&self) -> u8 {
        self.state >> 4
    }

    fn counts(&self) -> Counts {
        let (watched, changed) = (f64::from(self.watched), f64::from(self.changed));
        let visits = u64::from(self.visits);
        // Sums in single precision may contradict one another by a rounding.
        Counts::from_sums(visits, u64::from(self.changes), watched, changed.min(watched))
            .unwrap_or_default()
    }
}

/// All pages.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Copies {
    pages: Vec<Copy>,
    pool: Option<Pool>,
    visits: u64,
    pooled: u64,
    /// Until when clicks are faded.
    faded: f64,
    /// Σ clicks, and Σ weight × seconds, of pages held, both faded.
    clicks: f64,
    exposure: f64,
    held_weight: f64,
    /// Σ of how much of pages their first changes touched, and how many those were.
    sizes: (f64, f64),
    hints: Hints,
    habits: Habits,
}

impl Copies {
    /// Adds the next page.
    pub fn add(&mut self, host: HostId, url: &str, weight: f64, source: u32, at: Time) {
        let mut copy = Copy {
            last: Time::NEVER,
            host,
            pattern: (PageKey::of(&url_pattern(url)).0 >> 32) as u32,
            source,
            visits: 0,
            changes: 0,
            watched: 0.0,
            changed: 0.0,
            clicks: 0.0,
            given: if weight > 0.0 { weight.min(f64::from(f32::MAX)) as f32 } else { 0.0 },
            since: at.seconds() as u32,
            changing: [0.0; 2],
            size: 0.0,
            sketch: [SKETCH_PAD; SKETCH_LEN],
            base: 0,
            points: [PackedPoint::default(); PROFILE_POINTS],
            items: 1,
            seen: 0,
            state: 0,
        };
        copy.believe(self.pool.as_ref());
        self.pages.push(copy);
    }

    /// A page.
    pub fn page(&self, page: PageId) -> &Copy {
        &self.pages[page.index()]
    }

    /// Pages known.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// A page is gone for good.
    pub fn gone(&mut self, page: PageId) {
        let copy = &mut self.pages[page.index()];
        if !copy.is_gone() && copy.last != Time::NEVER {
            self.held_weight -= f64::from(copy.given);
        }
        copy.state |= GONE;
    }

    /// A fetch failed.
    pub fn failed(&mut self, page: PageId) {
        let copy = &mut self.pages[page.index()];
        if copy.state & FAILURES != FAILURES {
            copy.state += FAILURE;
        }
    }

    /// A fetch brought the page.
    pub fn fetched(&mut self, page: PageId, at: Time, content: &Content<'_>) {
        let copy = &mut self.pages[page.index()];
        copy.state &= !(FAILURES | GONE);
        if copy.last == Time::NEVER {
            copy.changed = 0.0;
            self.held_weight += f64::from(copy.given);
        } else if let Some(changed) = content.changed {
            let [shape, rate] = copy.changing.map(f64::from);
            let plain = at.since(copy.last).seconds();
            let gap = self.habits.elapsed(copy.host, copy.last, at) as f32;
            if copy.source == NO_SOURCE {
                self.habits.note(copy.host, at, plain, changed, shape / rate);
            }
            copy.visits = copy.visits.saturating_add(1);
            copy.watched += gap;
            copy.changes += u32::from(changed);
            copy.changed += if changed { gap } else { 0.0 };
            self.visits += 1;
            self.hints.fetched(page, copy.host, changed, gap.into());
        }
        copy.last = at;
        if !content.sketch.is_empty() {
            let first_change = copy.profile(at, content, self.pool.as_ref());
            self.sizes.0 += first_change.unwrap_or(0.0);
            self.sizes.1 += f64::from(u8::from(first_change.is_some()));
        }
        copy.believe(self.pool.as_ref());
    }

    /// Keeps by how much a page never fetched is expected to be clicked more than others of its host.
    pub fn keep_factor(&mut self, page: PageId, factor: f64) {
        let copy = &mut self.pages[page.index()];
        if copy.last == Time::NEVER {
            copy.changed = factor as f32;
        }
    }

    /// What was kept so, of a page that is neither fetched nor gone.
    pub fn kept_factor(&self, page: PageId) -> Option<f64> {
        let copy = self.page(page);
        let waits = copy.last == Time::NEVER && !copy.is_gone() && copy.changed > 0.0;
        waits.then_some(copy.changed.into())
    }

    /// A hint came that a page has changed.
    pub fn hinted(&mut self, page: PageId, kind: &str) {
        if let Some(host) = self.pages.get(page.index()).map(|copy| copy.host) {
            self.hints.hinted(page, host, kind);
        }
    }

    /// Takes in the log.
    pub fn take_log(&mut self, rows: &[Interest], now: Time) {
        self.fade(now.seconds());
        for row in rows.iter().filter(|row| row.kind == InterestKind::Click) {
            let sound = row.count > 0.0 && row.count.is_finite();
            if sound && let Some(copy) = self.pages.get_mut(row.page.index()) {
                copy.clicks += row.count as f32;
                self.clicks += row.count;
            }
        }
    }

    fn fade(&mut self, now: f64) {
        let passed = now - self.faded;
        if passed <= 0.0 {
            return;
        }
        self.faded = now;
        let share = (-passed / HALF_LIFE.seconds()).exp2();
        self.pages.par_iter_mut().for_each(|copy| copy.clicks *= share as f32);
        self.clicks *= share;
        self.exposure = self.exposure * share + self.held_weight * passed;
    }

    /// Clicks a second that a unit of weight brings.
    fn unit(&self) -> f64 {
        (self.clicks + UNIT_CLICKS) / (self.exposure + UNIT_CLICKS / UNIT)
    }

    /// Clicks a second on a page.
    pub fn weight(&self, page: PageId) -> f64 {
        let copy = self.page(page);
        let prior = self.unit() * f64::from(copy.given);
        if prior <= 0.0 {
            return 0.0;
        }
        let memory = HALF_LIFE.seconds() / std::f64::consts::LN_2;
        let watched = (self.faded - f64::from(copy.since)).max(0.0);
        let seconds = memory * -(-watched / memory).exp_m1();
        (f64::from(copy.clicks) + PRIOR_CLICKS) / (seconds + PRIOR_CLICKS / prior)
    }

    /// Fits the pool anew where enough has been seen since.
    pub fn repool(&mut self) {
        let enough = (self.pooled as f64 * (1.0 + GROWTH)) as u64;
        if self.visits < FIRST_VISITS.max(enough) || self.visits == self.pooled {
            return;
        }
        self.pooled = self.visits;
        let member = |copy: &Copy| {
            let (host, pattern) = (u64::from(copy.host.0), u64::from(copy.pattern));
            Member { host, pattern, counts: copy.counts() }
        };
        // Sources change all the time, which says nothing of copies.
        let is_copy = |copy: &&Copy| copy.source == NO_SOURCE;
        let seen = |copy: &&Copy| copy.visits > 0;
        let members: Vec<Member> =
            self.pages.iter().filter(is_copy).filter(seen).map(member).collect();
        self.pool = Pool::fit_about(&members, VAGUE);
        let pool = self.pool.as_ref();
        self.pages.par_iter_mut().for_each(|copy| copy.believe(pool));
    }

    /// The time from one moment to another as it counts for a page: of copies by the hours at which
    /// their host changes. (Sources know the hour by their rate.)
    pub fn elapsed(&self, page: PageId, from: Time, to: Time) -> f64 {
        match self.page(page) {
            copy if copy.source == NO_SOURCE => self.habits.elapsed(copy.host, from, to),
            _ => to.since(from).seconds(),
        }
    }

    /// The moment so much of that time after another; `None` if it never comes.
    pub fn due(&self, page: PageId, from: Time, wait: f64) -> Option<Time> {
        match self.page(page) {
            copy if copy.source == NO_SOURCE => self.habits.due(copy.host, from, wait),
            _ => Span::from_seconds(wait)
                .filter(|wait| *wait != Span::FOREVER)
                .map(|wait| from + wait),
        }
    }

    /// How a copy goes stale.
    pub fn staling(&self, page: PageId) -> Staling {
        let copy = self.page(page);
        let [shape, rate] = copy.changing.map(f64::from);
        if let Some(hinted) = self.hints.of(page, copy.host, shape / rate) {
            return Staling::Hinted(hinted);
        }
        let known = Lomax::uncertain_rate(shape, rate).map(Curve::Lomax);
        Staling::Whole(known.unwrap_or(Curve::Poisson(Poisson::NEVER)))
    }

    /// What refreshing a copy is worth.
    pub fn value(&self, page: PageId) -> Value {
        Value::Refresh {
            weight: self.weight(page),
            size: self.size(page),
            staling: self.staling(page),
        }
    }

    /// How much of a copy is wrong once it has changed: all of it, where no sketches tell.
    fn size(&self, page: PageId) -> f64 {
        let copy = self.page(page);
        let (guess, worth) = SIZE;
        match copy.state & (SKETCHED | IN_PARTS) {
            0 => 1.0,
            SKETCHED => (self.sizes.0 + guess * worth) / (self.sizes.1 + worth),
            _ => copy.size.into(),
        }
    }

    /// Visits that saw a change, and visits, for explanations.
    pub fn history(&self, page: PageId) -> (u32, u32) {
        let copy = self.page(page);
        (copy.changes, copy.visits)
    }
}

impl Copy {
    /// The posterior of the change rate.
    fn posterior(&self, pool: Option<&Pool>) -> Gamma {
        let (host, pattern) = (u64::from(self.host.0), u64::from(self.pattern));
        let prior = pool.map_or(VAGUE, |pool| pool.prior(host, pattern));
        if self.visits == 0 {
            return prior;
        }
        let all = posterior_from_sums(&self.counts(), &prior).gamma;
        let kept = (MEMORY.seconds() / f64::from(self.watched)).min(1.0);
        Gamma {
            shape: prior.shape + kept * (all.shape - prior.shape),
            rate: prior.rate + kept * (all.rate - prior.rate),
        }
    }

    /// Keeps that posterior. One item of many that is replaced changes so much less of the page.
    fn believe(&mut self, pool: Option<&Pool>) {
        let gamma = self.posterior(pool);
        self.changing = [gamma.shape as f32, (gamma.rate * f64::from(self.items)) as f32];
    }

    /// Adds what a fetch showed to the profile, and learns from it how much of the page changes. How
    /// much has, if that was seen for the first time.
    fn profile(&mut self, at: Time, content: &Content<'_>, pool: Option<&Pool>) -> Option<f64> {
        let mut profiles = self.profiles();
        // The record keeps upper halves; hashes must be compared as they are kept.
        let sketch: Vec<u64> = content.sketch.iter().map(|hash| hash >> 32 << 32).collect();
        profiles.add(at.seconds(), &sketch, SKETCH_LEN, 1);
        let seen = profiles.points().last().map_or(0.0, |point| point.divergence);
        let is_first = self.state & (SKETCHED | IN_PARTS) == SKETCHED
            && (content.changed == Some(true) || seen > 0.0);
        self.state |= if is_first { SKETCHED | IN_PARTS } else { SKETCHED };
        if self.state & IN_PARTS != 0 {
            let always = self.changes == self.visits;
            let curve = fit_given(profiles.points(), SKETCH_LEN, &self.posterior(pool), always);
            self.size = (curve.limit() - curve.jump()) as f32;
            self.items = curve.items();
        }
        self.keep(&profiles);
        is_first.then_some(seen)
    }

    fn profiles(&self) -> Profiles {
        if self.state & SKETCHED == 0 {
            return Profiles::default();
        }
        let mut record = PageRecord::new(PageKey(0), self.host);
        record.sketch = self.sketch;
        record.base_s = self.base;
        record.points = self.points;
        record.seen = self.seen.into();
        unpack(&record).0
    }

    fn keep(&mut self, profiles: &Profiles) {
        let mut record = PageRecord::new(PageKey(0), self.host);
        pack(profiles, &DivergenceCurve::STATIC, &mut record);
        self.sketch = record.sketch;
        self.base = record.base_s;
        self.points = record.points;
        self.seen = record.seen.min(255) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds).unwrap()
    }

    fn one() -> Copies {
        let mut copies = Copies::default();
        copies.add(HostId(0), "http://a.test/x", 2.0, u32::MAX, at(0.0));
        copies
    }

    #[test]
    fn clicks_outweigh_the_weight_given() {
        let mut copies = one();
        copies.add(HostId(0), "http://a.test/y", 1.0, u32::MAX, at(0.0));
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
        let mut copies = Copies::default();
        let mut draws = tidewatch_math::Draws::of(2, "price.copies.pool", 0);
        for page in 0..1000u32 {
            copies.add(HostId(page), "http://a.test/x", 1.0, u32::MAX, at(0.0));
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
        let unseen = (0..1000).map(PageId).find(|&page| copies.history(page).0 == 0).unwrap();
        // Two of eight replaced are 2 + 2 of ten different.
        assert!((copies.size(unseen) - 0.4).abs() < 0.05, "{}", copies.size(unseen));
        let Staling::Whole(crate::law::Curve::Lomax(rate)) = copies.staling(unseen) else {
            panic!("{:?}", copies.staling(unseen))
        };
        let rate = rate.rate() * 8_640_000.0;
        assert!((0.6..1.4).contains(&rate), "{rate} changes in a hundred days");
    }

    #[test]
    fn sketches_make_curves() {
        let mut copies = one();
        for day in 0..12u64 {
            // A quarter of the page is new every day.
            let mut sketch: Vec<u64> =
                (0..8).map(|item| hash(if item < 2 { day } else { 99 }, item)).collect();
            sketch.sort_unstable();
            let content = Content { sketch: &sketch, changed: Some(true), ..Content::default() };
            copies.fetched(PageId(0), at(86_400.0 * day as f64), &content);
        }
        let Value::Refresh { size, .. } = copies.value(PageId(0)) else { panic!("it is a copy") };
        // Two of eight replaced are 2 + 2 of ten different.
        assert!((0.2..0.6).contains(&size), "{size}");
    }
}
