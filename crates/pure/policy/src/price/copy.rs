//! The state of one page: 128 bytes, so that ten million pages take 1.28 GB and a sweep streams them.

use serde::{Deserialize, Serialize};
use tidewatch_core::sketch::SKETCH_LEN;
use tidewatch_core::{Content, HostId, PageKey, Span, Time};

use super::clicks::Clicks;
use super::signals::Heard;
use tidewatch_science::divergence::{PackedPoint, PackedProfile, Profiles, fit_given};
use tidewatch_science::estimate::{
    Counts, Gamma, Member, Pool, posterior_from_sums, unchanged_from_sums, url_pattern,
};

/// Vague prior of the change rate: about one a week, give or take orders of magnitude.
pub(super) const VAGUE: Gamma = Gamma { shape: 0.5, rate: 0.5 * 604_800.0 };
/// Observations count for at most this much time, because pages wake up and fall asleep.
const MEMORY: Span = Span::from_micros(90 * Span::DAY.as_micros());

/// One page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Copy {
    /// Last good fetch; [`Time::NEVER`] if there was none.
    last: Time,
    host: HostId,
    /// Hash of its URL pattern.
    pattern: u32,
    /// Source number, or [`NO_SOURCE`].
    source: u32,
    visits: u32,
    changes: u32,
    /// Seconds between visits.
    watched: f32,
    /// Seconds between visits of which the later saw a change; before the first fetch a prospect's
    /// factor, if it was kept.
    changed: f32,
    /// Clicks, faded to the last sweep of interest.
    clicks: f32,
    /// The weight it came with.
    given: f32,
    /// Known since, seconds.
    since: u32,
    /// Shape and rate of the posterior of the change rate.
    changing: [f32; 2],
    /// The part of it that changes, once it was seen to.
    size: f32,
    sketch: [u32; PackedProfile::HASHES],
    base: u32,
    points: [PackedPoint; PackedProfile::POINTS],
    items: u8,
    seen: u8,
    state: u8,
}

const _: () = assert!(size_of::<Copy>() <= 128, "a page's state is at most 128 bytes");

/// `source` of a page that is none.
const NO_SOURCE: u32 = u32::MAX;

/// What a visit saw of one of the first changes of a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum EarlyChange {
    /// The part that has changed.
    First(f64),
    /// The same, and the part that the first change let expect.
    Second { expected: f64, seen: f64 },
}

/// Bits of `state`.
const GONE: u8 = 1;
/// Has brought sketches.
const SKETCHED: u8 = 2;
/// And was seen to change since.
const IN_PARTS: u8 = 4;
const FAILURES: u8 = 0b1111_0000;
const FAILURE: u8 = 0b0001_0000;

impl Copy {
    /// A page that has just become known.
    pub(super) fn new(host: HostId, url: &str, weight: f64, source: Option<u32>, at: Time) -> Self {
        let nothing = PackedProfile::default();
        Copy {
            last: Time::NEVER,
            host,
            pattern: (PageKey::of(&url_pattern(url)).0 >> 32) as u32,
            source: source.unwrap_or(NO_SOURCE),
            visits: 0,
            changes: 0,
            watched: 0.0,
            changed: 0.0,
            clicks: 0.0,
            given: if weight > 0.0 { weight.min(f64::from(f32::MAX)) as f32 } else { 0.0 },
            since: at.seconds() as u32,
            changing: [0.0; 2],
            size: 0.0,
            sketch: nothing.sketch,
            base: nothing.base_s,
            points: nothing.points,
            items: 1,
            seen: 0,
            state: 0,
        }
    }

    /// Its host.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// Its number among sources, if it is one.
    pub(super) fn source(&self) -> Option<u32> {
        (self.source != NO_SOURCE).then_some(self.source)
    }

    /// The weight it came with.
    pub(super) fn weight_given(&self) -> f32 {
        self.given
    }

    /// Clicks per second, from the log and the weight it came with.
    pub(super) fn click_rate(&self, clicks: &Clicks) -> f64 {
        clicks.rate(self.given, self.since, self.clicks)
    }

    /// Its clicks in units of those of a page of weight one, if `mean` is expected without the log.
    pub(super) fn click_weight(&self, mean: f64, clicks: &Clicks) -> f64 {
        clicks.weight(mean, self.since, self.clicks)
    }

    /// Counts clicks.
    pub(super) fn click(&mut self, count: f32) {
        self.clicks += count;
    }

    /// Keeps this share of the clicks so far.
    pub(super) fn fade(&mut self, share: f32) {
        self.clicks *= share;
    }

    /// Clicks count from `at` on.
    pub(super) fn count_from(&mut self, at: Time) {
        self.since = at.seconds() as u32;
    }

    /// Last good fetch.
    pub(super) fn last(&self) -> Option<Time> {
        (self.last != Time::NEVER).then_some(self.last)
    }

    /// Whether it is known to be gone.
    pub(super) fn is_gone(&self) -> bool {
        self.state & GONE != 0
    }

    /// Whether the collection has it.
    pub(super) fn is_held(&self) -> bool {
        self.last != Time::NEVER && !self.is_gone()
    }

    /// Failures in a row, fifteen at most.
    pub(super) fn failures(&self) -> u8 {
        self.state >> 4
    }

    /// Visits that saw a change, and visits that could have.
    pub(super) fn history(&self) -> (u32, u32) {
        (self.changes, self.visits)
    }

    /// It is gone.
    pub(super) fn lose(&mut self) {
        self.state |= GONE;
        self.fail();
    }

    /// A fetch failed.
    pub(super) fn fail(&mut self) {
        if self.state & FAILURES != FAILURES {
            self.state += FAILURE;
        }
    }

    /// Forgets that it is gone or failed.
    pub(super) fn reopen(&mut self) {
        self.state &= !(FAILURES | GONE);
    }

    /// A fetch brought it.
    pub(super) fn arrive(&mut self, at: Time) {
        if self.last == Time::NEVER {
            self.changed = 0.0;
        }
        self.reopen();
        self.last = at;
    }

    /// A visit `gap` seconds after the one before saw whether the page had changed.
    pub(super) fn compare(&mut self, gap: f64, changed: bool) {
        let gap = gap as f32;
        self.visits = self.visits.saturating_add(1);
        self.watched += gap;
        self.changes += u32::from(changed);
        self.changed += if changed { gap } else { 0.0 };
    }

    /// Keeps the factor on the expected clicks of a page never fetched.
    pub(super) fn keep_factor(&mut self, factor: f64) {
        if self.last == Time::NEVER {
            self.changed = factor as f32;
        }
    }

    /// That factor, if the page is neither fetched nor gone.
    pub(super) fn kept_factor(&self) -> Option<f64> {
        let waits = self.last == Time::NEVER && !self.is_gone() && self.changed > 0.0;
        waits.then_some(self.changed.into())
    }

    /// The part of it that a change makes wrong: 1 without sketches, and `unseen`, the mean of pages, until
    /// it was seen to change. Then the weight of its own changes depends on their `resemblance`: the
    /// share of what sets a first change apart from the mean that is found again in the second.
    pub(super) fn size(&self, unseen: f64, resemblance: f64) -> f64 {
        match self.state & (SKETCHED | IN_PARTS) {
            0 => 1.0,
            SKETCHED => unseen,
            _ => {
                let own = resemblance * f64::from(self.changes.max(1));
                let all = 1.0 - resemblance;
                (own * f64::from(self.size) + all * unseen) / (own + all)
            }
        }
    }

    /// Its contribution to the pool, if it was visited twice.
    pub(super) fn member(&self, heard: Option<&Heard>) -> Option<Member> {
        let (host, pattern) = self.kin();
        (self.visits > 0).then(|| Member { host, pattern, counts: self.evidence(heard) })
    }

    fn kin(&self) -> (u64, u64) {
        (self.host.0.into(), self.pattern.into())
    }

    fn counts(&self) -> Counts {
        let (watched, changed) = (f64::from(self.watched), f64::from(self.changed));
        let visits = u64::from(self.visits);
        // Sums in single precision may contradict one another by a rounding.
        Counts::from_sums(visits, u64::from(self.changes), watched, changed.min(watched))
            .unwrap_or_default()
    }

    /// What visits and hints tell of the change rate, see [`super::signals`].
    fn evidence(&self, heard: Option<&Heard>) -> Counts {
        let Some((heard, last)) = heard.zip(self.last()) else { return self.counts() };
        let watched = f64::from(self.watched);
        let changed = f64::from(self.changed).min(watched);
        let told_gaps = heard.told.gaps.min(changed);
        let (visits, changes) = (u64::from(self.visits), u64::from(self.changes));
        let told = u64::from(heard.told.changes).min(changes);
        // Seconds listened for each kind, as the visits count them, and the part of the changes in all
        // the time watched that hints tell of.
        let (mut time, mut part) = (0.0, 0.0);
        for kind in &heard.kinds {
            let listened = watched.min(last.since(kind.since).seconds());
            time += listened * kind.recall / (1.0 - kind.empty);
            part += kind.recall * listened / watched.max(f64::MIN_POSITIVE);
        }
        let unseen = 1.0 - part.min(heard.most);
        let counts = Counts::from_sums(
            visits - told,
            changes - told,
            unseen * (watched - told_gaps),
            unseen * (changed - told_gaps),
        );
        counts.unwrap_or_default().and_told(heard.told.hints, time)
    }

    /// The prior of the change rate.
    fn prior(&self, pool: Option<&Pool>) -> Gamma {
        let (host, pattern) = self.kin();
        pool.map_or(VAGUE, |pool| pool.prior(host, pattern))
    }

    /// The part of the evidence that counts.
    fn kept(&self) -> f64 {
        (MEMORY.seconds() / f64::from(self.watched)).min(1.0)
    }

    /// The posterior of the change rate.
    fn posterior(&self, pool: Option<&Pool>, heard: Option<&Heard>) -> Gamma {
        let prior = self.prior(pool);
        if self.visits == 0 {
            return prior;
        }
        let all = posterior_from_sums(&self.evidence(heard), &prior).gamma;
        let kept = self.kept();
        Gamma {
            shape: prior.shape + kept * (all.shape - prior.shape),
            rate: prior.rate + kept * (all.rate - prior.rate),
        }
    }

    /// Keeps that posterior. If one of K items is replaced at a time, the whole changes K times slower.
    pub(super) fn believe(&mut self, pool: Option<&Pool>, heard: Option<&Heard>) {
        let gamma = self.posterior(pool, heard);
        self.changing = [gamma.shape as f32, (gamma.rate * f64::from(self.items)) as f32];
    }

    /// Changes per second of any size.
    pub(super) fn change_rate(&self) -> f64 {
        self.changing().mean() * f64::from(self.items)
    }

    /// Chances of no change of any size in so many seconds.
    pub(super) fn unchanged<const N: usize>(
        &self,
        seconds: [f64; N],
        pool: Option<&Pool>,
    ) -> [f64; N] {
        unchanged_from_sums(&self.counts(), &self.prior(pool), self.kept(), seconds)
    }

    /// Posterior of the rate at which all that changes is replaced.
    pub(super) fn changing(&self) -> Gamma {
        let [shape, rate] = self.changing.map(f64::from);
        Gamma { shape, rate }
    }

    /// Adds a fetch to the profile, and learns how much of the page changes. Returns what it saw of a first
    /// or second change.
    pub(super) fn profile(
        &mut self,
        at: Time,
        content: &Content<'_>,
        pool: Option<&Pool>,
        heard: Option<&Heard>,
    ) -> Option<EarlyChange> {
        let mut profiles = self.profiles();
        // The record keeps upper halves; hashes must be compared as they are kept.
        let sketch: Vec<u64> = content.sketch.iter().map(|hash| hash >> 32 << 32).collect();
        profiles.add(at.seconds(), &sketch, SKETCH_LEN, 1);
        let seen = profiles.points().last().map_or(0.0, |point| point.divergence);
        let is_first = self.state & (SKETCHED | IN_PARTS) == SKETCHED
            && (content.changed == Some(true) || seen > 0.0);
        let always = self.changes == self.visits;
        let is_second = self.changes == 2 && content.changed == Some(true) && !always;
        let early = match self.state & IN_PARTS {
            0 => is_first.then_some(EarlyChange::First(seen)),
            // What changes at every visit is in what was seen, and not in the size.
            _ => is_second.then_some(EarlyChange::Second { expected: self.size.into(), seen }),
        };
        self.state |= if is_first { SKETCHED | IN_PARTS } else { SKETCHED };
        if self.state & IN_PARTS != 0 {
            let curve =
                fit_given(profiles.points(), SKETCH_LEN, &self.posterior(pool, heard), always);
            self.size = (curve.limit() - curve.jump()) as f32;
            self.items = curve.items();
        }
        self.keep(&profiles);
        early
    }

    fn profiles(&self) -> Profiles {
        if self.state & SKETCHED == 0 {
            return Profiles::default();
        }
        let (sketch, base_s, points, seen) = (self.sketch, self.base, self.points, self.seen);
        PackedProfile { sketch, base_s, points, seen }.unpack()
    }

    fn keep(&mut self, profiles: &Profiles) {
        let packed = PackedProfile::new(profiles);
        (self.sketch, self.base) = (packed.sketch, packed.base_s);
        (self.points, self.seen) = (packed.points, packed.seen);
    }
}
