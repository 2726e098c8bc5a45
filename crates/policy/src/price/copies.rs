//! How copies go stale, and how much that matters.
//!
//! A page's state is 128 bytes, whatever it is: a crawl of ten million pages keeps 1.28 GB, and a sweep
//! streams them once.
//!
//! **Staleness.** Where fetches bring sketches, the divergence curve that the page's profile speaks for
//! ([`crate::longevity`]), with the chance that it changes at all. Where they only tell changed or not,
//! a change rate that is uncertain: a gamma posterior, pooled by host and URL pattern
//! ([`crate::estimate`]), of which the *expected* worth counts. So doubt is a reason to look.
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

use super::news::NO_SOURCE;
use super::signals::Hints;
use super::value::{Staling, Value};
use crate::estimate::{Counts, Gamma, Member, Pool, posterior_from_sums, url_pattern};
use crate::law::Lomax;
use crate::longevity::{DivergenceCurve, Profiles, fit, pack, unpack};

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
    /// With sketches rate, limit and jump of the divergence; else shape and rate of the posterior of
    /// the change rate.
    curve: [f32; 3],
    sketch: [u32; SKETCH_LEN],
    base: u32,
    points: [PackedPoint; PROFILE_POINTS],
    items: u8,
    seen: u8,
    /// Chance that it changes at all, in 255ths; with sketches only.
    chance: u8,
    state: u8,
}

const _: () = assert!(size_of::<Copy>() <= 128, "a page's state is at most 128 bytes");

/// Bits of `state`.
const GONE: u8 = 1;
const IN_PARTS: u8 = 2;
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

    /// Changes a second, roughly, where visits bring sketches.
    fn change_rate(&self) -> f64 {
        (f64::from(self.changes) + VAGUE.shape) / (f64::from(self.watched) + VAGUE.rate)
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
    hints: Hints,
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
            curve: [0.0; 3],
            sketch: [SKETCH_PAD; SKETCH_LEN],
            base: 0,
            points: [PackedPoint::default(); PROFILE_POINTS],
            items: 1,
            seen: 0,
            chance: u8::MAX,
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
            let gap = at.since(copy.last).seconds() as f32;
            copy.visits = copy.visits.saturating_add(1);
            copy.watched += gap;
            copy.changes += u32::from(changed);
            copy.changed += if changed { gap } else { 0.0 };
            self.visits += 1;
            self.hints.fetched(page, copy.host, changed, gap.into());
        }
        copy.last = at;
        if content.sketch.is_empty() {
            copy.believe(self.pool.as_ref());
        } else {
            copy.profile(at, content.sketch);
        }
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
        let seen = |copy: &&Copy| copy.visits > 0 && copy.state & IN_PARTS == 0;
        let members: Vec<Member> =
            self.pages.iter().filter(is_copy).filter(seen).map(member).collect();
        self.pool = Pool::fit_about(&members, VAGUE);
        let pool = self.pool.as_ref();
        self.pages.par_iter_mut().for_each(|copy| copy.believe(pool));
    }

    /// How a copy goes stale.
    pub fn staling(&self, page: PageId) -> Staling {
        let copy = self.page(page);
        if copy.state & IN_PARTS != 0 {
            let [rate, limit, jump] = copy.curve.map(f64::from);
            let curve = DivergenceCurve::new(rate, limit, jump, copy.items);
            let hints = self.hints.of(page, copy.host, copy.change_rate());
            return Staling::Parts { curve, chance: f64::from(copy.chance) / 255.0, hints };
        }
        let [shape, rate, _] = copy.curve.map(f64::from);
        if let Some(hinted) = self.hints.of(page, copy.host, shape / rate) {
            return Staling::Hinted(hinted);
        }
        Lomax::uncertain_rate(shape, rate).map_or(
            Staling::Parts { curve: DivergenceCurve::STATIC, chance: 0.0, hints: None },
            |curve| Staling::Whole(curve.into()),
        )
    }

    /// What refreshing a copy is worth.
    pub fn value(&self, page: PageId) -> Value {
        Value::Refresh { weight: self.weight(page), staling: self.staling(page) }
    }

    /// Visits that saw a change, and visits, for explanations.
    pub fn history(&self, page: PageId) -> (u32, u32) {
        let copy = self.page(page);
        (copy.changes, copy.visits)
    }
}

impl Copy {
    /// Keeps the posterior of the change rate, shape and rate, where there are no sketches.
    fn believe(&mut self, pool: Option<&Pool>) {
        if self.state & IN_PARTS != 0 {
            return;
        }
        let (host, pattern) = (u64::from(self.host.0), u64::from(self.pattern));
        let prior = pool.map_or(VAGUE, |pool| pool.prior(host, pattern));
        let gamma = match self.visits {
            0 => prior,
            _ => posterior_from_sums(&self.counts(), &prior).gamma,
        };
        self.curve = [gamma.shape as f32, gamma.rate as f32, 0.0];
    }

    /// Adds what a fetch showed to the profile and fits the curve anew.
    fn profile(&mut self, at: Time, sketch: &[u64]) {
        let mut record = PageRecord::new(PageKey(0), self.host);
        record.curve = self.curve;
        record.sketch = self.sketch;
        record.base_s = self.base;
        record.points = self.points;
        record.items = self.items;
        record.seen = self.seen.into();
        let mut profiles =
            if self.state & IN_PARTS == 0 { Profiles::default() } else { unpack(&record).0 };
        // The record keeps upper halves; hashes must be compared as they are kept.
        let sketch: Vec<u64> = sketch.iter().map(|hash| hash >> 32 << 32).collect();
        profiles.add(at.seconds(), &sketch, SKETCH_LEN, 1);
        let fit = fit(profiles.points(), SKETCH_LEN, 1);
        pack(&profiles, &fit.changing, &mut record);
        self.curve = record.curve;
        self.sketch = record.sketch;
        self.base = record.base_s;
        self.points = record.points;
        self.items = record.items;
        self.seen = record.seen.min(255) as u8;
        self.chance = ((1.0 - fit.chances[0]) * 255.0).round().clamp(1.0, 255.0) as u8;
        self.state |= IN_PARTS;
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
        let chance = |copies: &Copies| match copies.staling(PageId(0)) {
            Staling::Parts { chance, .. } => chance,
            other => panic!("{other:?}"),
        };
        let content = Content { sketch: &sketch, changed: Some(false), ..Content::default() };
        copies.fetched(PageId(0), at(0.5), &content);
        let first = chance(&copies);
        (1..10).for_each(|day| copies.fetched(PageId(0), at(86_400.0 * f64::from(day)), &content));
        assert!(chance(&copies) < 0.7 * first, "{} {first}", chance(&copies));
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
        let Staling::Parts { curve, chance, .. } = copies.staling(PageId(0)) else { panic!() };
        assert!(chance > 0.9 && (0.1..0.7).contains(&curve.limit()), "{chance} {curve:?}");
    }
}
