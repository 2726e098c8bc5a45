//! Hints that a page may have changed, and how far to trust them.
//!
//! A sitemap's date, a feed's entry, a ping: hints come from outside, some of them mean nothing, and
//! many changes come without one. Where a share r of the changes is hinted at (the *recall*) and empty
//! hints come at a rate ν, a page that changes Δ times a second goes stale unseen at α = (1 − r)Δ only,
//! and each hint makes it older by β `[BF25]`:
//! ```text
//! γ = rΔ + ν,  β = ln(γ/ν)/α,  age ι = τ + β·hints,  P(fresh) = e^(−αι)
//! ψ(ι) = Σ_{iβ ≤ ι} R⁽ⁱ⁾(γ(ι − iβ))/γ                        time until the age is ι
//! w(ι) = Σ_{iβ ≤ ι} νⁱ/(Δ + ν)^(i+1)·R⁽ⁱ⁾((α + γ)(ι − iβ))    of it, time fresh
//! V(ι) = w(ι) − e^(−αι)ψ(ι),  R⁽ⁱ⁾(x) = 1 − Σ_{j ≤ i} xʲe^(−x)/j!
//! ```
//! V takes the place of U: fetch when it reaches ω over the weight. Without hints both are the same.
//! Several kinds of hints make a page older each by its own β; in ψ and w they count as one.
//!
//! **Trust.** What a host's hints of a kind have in common is their recall r and the share p of empty
//! ones, so that on a page ν = rΔ·p/(1 − p). (A rate ν in common would be that of the host's busiest
//! pages, and hints about all others would count for nothing.) Both are shrunk towards all hosts. A page
//! with h hints since its last fetch, g seconds ago, is unchanged with probability q = pʰe^(−αg), whenever
//! the fetch is made; then all h were empty. If it has changed, each was empty with probability
//! (p − q)/(1 − q), and αg/(1 − q) changes without a hint are expected. So p and r are found by
//! expectation and maximisation on line `[CM09]`: every visit adds what is expected by the beliefs of that
//! time, and
//! ```text
//! p = empty hints expected/hints,   r = hinted changes expected/all changes expected.
//! ```
//! The expectations are given what the visit saw. (Δg changes a gap would be those of visits at any time;
//! but visits follow hints, hence changes, and r was found far too low, .1 to .3 for .7.)
//!
//! **Rates.** For the same reason visits alone mislead about Δ, and hints tell of it all the time. On a page
//! they come at rΔ/(1 − p), so with those of all kinds the likelihood of what happened in a gap is
//! ```text
//! Δʰe^(−Δg·Σr/(1−p)) · e^(−αg) unchanged, · (1 − e^(−αg)) changed without a hint, · (1 − q) changed after one
//! ```
//! Visits at any moment that follows from the past may enter it `[R76]`. The last factor, between 1 − pʰ and
//! one, says little of Δ and is left out.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId, Time};
use tidewatch_math::roots::{Stop, bracket_upwards, newton};
use tidewatch_math::special::poisson_tail;

use crate::HintRecord;

/// Hints with less recall are ignored.
const LEAST_RECALL: f64 = 0.01;
/// Hints of less precision are ignored. If nearly every hint is empty they tell no more than a clock,
/// and a page would see more of them before it is due than the sums have terms: ι/β = αι/ln(1 + rΔ/ν),
/// 64 at αι = 3.
const LEAST_PRECISION: f64 = 0.05;
/// Upper bound of recall: some changes always come without a hint.
const MOST_RECALL: f64 = 0.99;
/// Terms of the sums; what is beyond has a chance below 10⁻⁹ wherever hints say anything.
const TERMS: u32 = 64;
/// Most kinds that are told apart.
const MOST_KINDS: usize = 256;
/// Prior hints and changes of a host, with the shares of all hosts.
const PRIOR: f64 = 2.0;
/// Prior: half of the changes are hinted at, and one hint in ten is empty. A first hint makes its page due
/// sooner, and what it proves to be worth counts at once.
const FIRST_RECALL: f64 = 0.5;
const FIRST_EMPTY: f64 = 0.1;
/// Bounds of p: a hint is never certain, nor certainly empty.
const EMPTY: (f64, f64) = (0.01, 0.99);
/// Below this expected number of events V is a series, to the square of it.
const YOUNG: f64 = 1e-4;
/// Relative precision of ages: far finer than the beliefs.
const WIDTH: f64 = 1e-6;
const DOUBLINGS: u32 = 96;

/// How a page goes stale where changes are hinted at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signalled {
    /// Δ, changes a second.
    pub changes: f64,
    /// r, the share of them that is hinted at.
    pub recall: f64,
    /// ν, empty hints a second.
    pub noise: f64,
    /// Age that the hints since the last fetch have added, seconds.
    pub added: f64,
}

impl Signalled {
    fn unseen(&self) -> f64 {
        (1.0 - self.recall) * self.changes
    }

    fn hints(&self) -> f64 {
        self.recall * self.changes + self.noise
    }

    /// β: how much older a hint makes the page.
    pub fn per_hint(&self) -> f64 {
        (self.recall * self.changes / self.noise).ln_1p() / self.unseen()
    }

    /// Σ over i of a factor to the i times R⁽ⁱ⁾(rate·(ι − iβ)).
    fn sum(&self, age: f64, rate: f64, factor: f64) -> f64 {
        let per_hint = self.per_hint();
        let ages = (0..TERMS).map(|i| (i, age - f64::from(i) * per_hint));
        let terms = ages.take_while(|(_, rest)| *rest >= 0.0);
        terms.map(|(i, rest)| factor.powi(i.cast_signed()) * poisson_tail(i, rate * rest)).sum()
    }

    /// ψ: mean time from a fetch until the age is reached.
    pub fn time_to(&self, age: f64) -> f64 {
        if age == f64::INFINITY {
            return age;
        }
        self.sum(age, self.hints(), 1.0) / self.hints()
    }

    /// w: mean time fresh until the age is reached.
    pub fn fresh_until(&self, age: f64) -> f64 {
        let all = self.changes + self.noise;
        self.sum(age, all, self.noise / all) / all
    }

    fn at_age(&self, age: f64) -> f64 {
        let (unseen, all) = (self.unseen(), self.changes + self.noise);
        if all * age < YOUNG {
            // V = ∫αe^(−αx)ψ(x)dx to the third order, where w and e^(−αι)ψ differ by less than rounding.
            return unseen * age * age * (0.5 - (unseen + 0.5 * self.hints()) * age / 3.0);
        }
        self.fresh_until(age) - (-unseen * age).exp() * self.time_to(age)
    }

    /// V `elapsed` seconds after the last fetch, with the hints since then.
    pub fn worth(&self, elapsed: f64) -> f64 {
        if elapsed.is_finite() { self.at_age(elapsed + self.added) } else { self.changes.recip() }
    }

    /// The age at which a fetch is worth `worth`; infinite if it never is.
    pub fn age_at(&self, worth: f64) -> f64 {
        if worth <= 0.0 {
            return 0.0;
        }
        if worth >= self.changes.recip() {
            return f64::INFINITY;
        }
        let missing = |age: f64| self.at_age(age) - worth;
        // V(ι) ≤ U(ι) ≤ Δι²/2.
        let low = (2.0 * worth / self.changes).sqrt();
        let Ok(bracket) = bracket_upwards(missing, low, 2.0, DOUBLINGS) else {
            return f64::INFINITY;
        };
        // V′ = αe^(−αι)ψ(ι).
        let unseen = self.unseen();
        let slope = |age: f64| unseen * (-unseen * age).exp() * self.time_to(age);
        let value_and_slope = |age: f64| (missing(age), slope(age));
        newton(value_and_slope, bracket, bracket.0, Stop::relative(WIDTH))
            .map_or(bracket.1, |root| root.x)
    }

    /// Share of the time stale if it is fetched whenever it reaches `age`.
    pub fn stale_mean(&self, age: f64) -> f64 {
        1.0 - if age.is_finite() { self.fresh_until(age) / self.time_to(age) } else { 0.0 }
    }

    /// Probability of being stale `elapsed` seconds after the last fetch.
    pub fn stale(&self, elapsed: f64) -> f64 {
        -(-self.unseen() * (elapsed + self.added)).exp_m1()
    }
}

/// Pending hints, and how often past ones proved right.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Hints {
    /// Names of kinds, by number.
    kinds: Vec<String>,
    /// By page: the hints since its last fetch.
    pending: FxHashMap<PageId, Pending>,
    /// By page: what hints before that told.
    told: FxHashMap<PageId, Told>,
    hosts: FxHashMap<(HostId, u8), Record>,
    /// By kind, over all hosts.
    all: Vec<Record>,
    /// Whether changes are counted as Δg.
    by_rates: bool,
}

/// Hints since the last fetch of a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pending {
    kinds: Vec<u8>,
    last: Time,
}

/// Hints about a page that were followed by a fetch.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) hints: f64,
    /// Visits after hints that saw a change, and their gaps in seconds.
    pub(super) changes: u32,
    pub(super) gaps: f64,
}

/// What can be learnt from hints about the change rate of a page.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) told: Told,
    pub(super) kinds: Vec<HeardKind>,
    /// Upper bound of the share of changes that are hinted at.
    pub(super) most: f64,
}

/// The same of one kind of hints.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeardKind {
    /// The first from that host.
    pub(super) since: Time,
    pub(super) recall: f64,
    pub(super) empty: f64,
}

/// Visits since hints of a kind have come from a host.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Record {
    /// Hints, and how many of them are expected to have been empty.
    hints: f64,
    empty: f64,
    /// Changes expected between visits, given what they saw.
    changes: f64,
    /// The first hint.
    since: Option<Time>,
}

impl Hints {
    /// Hints for policies that learn Δ from visits alone: r is the share of Δg changes a gap. Where Δ is
    /// found too high, r is found too low, and each makes up for a part of the other.
    pub fn by_rates() -> Self {
        Hints { by_rates: true, ..Hints::default() }
    }

    /// A hint of a kind came. Kinds beyond [`MOST_KINDS`] count as the last.
    pub fn hinted(&mut self, page: PageId, host: HostId, kind: &str, at: Time) {
        let known = self.kinds.iter().position(|known| known == kind);
        let number = known.unwrap_or_else(|| {
            if self.kinds.len() < MOST_KINDS {
                self.kinds.push(kind.to_owned());
                self.all.push(Record::default());
            }
            self.kinds.len() - 1
        }) as u8;
        self.hosts.entry((host, number)).or_default().since.get_or_insert(at);
        let pending = self.pending.entry(page).or_insert(Pending { kinds: Vec::new(), last: at });
        pending.last = pending.last.max(at);
        if pending.kinds.len() < TERMS as usize {
            pending.kinds.push(number);
        }
    }

    /// The last hint since the last fetch of a page.
    pub(super) fn last(&self, page: PageId) -> Option<Time> {
        self.pending.get(&page).map(|pending| pending.last)
    }

    /// Drops the pending hints about a page.
    pub fn forget(&mut self, page: PageId) {
        self.pending.remove(&page);
    }

    /// A page that changes `changes` times a second was fetched `gap` seconds after the fetch before,
    /// changed or not.
    pub fn fetched(&mut self, page: PageId, host: HostId, changed: bool, changes: f64, gap: f64) {
        let pending = self.pending.remove(&page).map_or(Vec::new(), |pending| pending.kinds);
        if !pending.is_empty() {
            let told = self.told.entry(page).or_default();
            told.hints += pending.len() as f64;
            if changed {
                told.changes += 1;
                told.gaps += gap;
            }
        }
        let expected = changes * gap;
        if !(expected >= 0.0 && expected.is_finite()) {
            return;
        }
        let trusts = self.trusts(host);
        let recall: f64 = trusts.iter().map(|trust| trust.recall).sum();
        let of_kind = |kind| {
            let is_of_kind = |hint: &u8| f64::from(u8::from(*hint == kind));
            pending.iter().map(is_of_kind).sum::<f64>()
        };
        let all_empty = |trust: &Trust| trust.empty.powf(of_kind(trust.kind));
        let unseen = (1.0 - recall).max(0.0) * expected;
        let unchanged = (-unseen).exp() * trusts.iter().map(all_empty).product::<f64>();
        let share_empty = |empty: f64| match changed {
            true if unchanged < 1.0 => (empty - unchanged) / (1.0 - unchanged),
            true => 0.0,
            false => 1.0,
        };
        let hinted: f64 =
            trusts.iter().map(|trust| of_kind(trust.kind) * (1.0 - share_empty(trust.empty))).sum();
        // As αg falls to nothing, αg/(1 − e^(−αg)) falls to one.
        let unhinted = match changed {
            true if unchanged < 1.0 => unseen / (1.0 - unchanged),
            true => 1.0,
            false => 0.0,
        };
        for Trust { kind, empty, .. } in trusts {
            let hints = of_kind(kind);
            let empty = hints * share_empty(empty);
            let changes = if self.by_rates { expected } else { hinted + unhinted };
            let seen = Record { hints, empty, changes, since: None };
            self.all[usize::from(kind)].add(seen);
            self.hosts.entry((host, kind)).or_default().add(seen);
        }
    }

    /// How far to trust the kinds of hints that have come from a host.
    fn trusts(&self, host: HostId) -> Vec<Trust> {
        let kinds = (0..=u8::MAX).take(self.kinds.len());
        kinds.filter_map(|kind| self.trust(host, kind)).collect()
    }

    fn trust(&self, host: HostId, kind: u8) -> Option<Trust> {
        let record = self.hosts.get(&(host, kind))?;
        let (recall, empty) = self.all[usize::from(kind)].shares(FIRST_RECALL, FIRST_EMPTY);
        let (recall, empty) = record.shares(recall, empty);
        Some(Trust { kind, recall, empty })
    }

    /// What is known of the hints from each host, by kind: those tested most, at most `most`.
    pub fn records(&self, most: usize) -> Vec<HintRecord> {
        let mut tested: Vec<_> =
            self.hosts.iter().map(|(of, record)| (record.hints, *of)).collect();
        tested.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let record = |&(hints, (host, kind)): &(f64, (HostId, u8))| {
            let trust = self.trust(host, kind)?;
            let kind = self.kinds.get(usize::from(kind))?.clone();
            let (precision, recall) = (1.0 - trust.empty, trust.recall);
            Some(HintRecord { host, kind, hints, precision, recall })
        };
        tested.iter().take(most).filter_map(record).collect()
    }

    /// The kinds of hints that have come from a host if together they are worth reading.
    fn worth_reading(&self, host: HostId) -> Option<Vec<Trust>> {
        if self.kinds.is_empty() {
            return None;
        }
        let trusts = self.trusts(host);
        let recall: f64 = trusts.iter().map(|trust| trust.recall).sum();
        let noise: f64 = trusts.iter().map(|trust| trust.noise(1.0)).sum();
        (recall >= LEAST_RECALL && recall.min(1.0) >= LEAST_PRECISION * noise).then_some(trusts)
    }

    /// What hints tell of a page's change rate, if they are worth reading.
    pub(super) fn heard(&self, page: PageId, host: HostId) -> Option<Heard> {
        let trusts = self.worth_reading(host)?;
        let kind = |trust: &Trust| {
            let since = self.hosts.get(&(host, trust.kind))?.since?;
            Some(HeardKind { since, recall: trust.recall, empty: trust.empty })
        };
        let told = self.told.get(&page).copied().unwrap_or_default();
        let kinds = trusts.iter().filter_map(kind).collect();
        Some(Heard { told, kinds, most: MOST_RECALL })
    }

    /// How a page goes stale, if its host sends hints worth reading.
    pub fn of(&self, page: PageId, host: HostId, changes: f64) -> Option<Signalled> {
        if changes <= 0.0 || !changes.is_finite() {
            return None;
        }
        let trusts = self.worth_reading(host)?;
        let recall: f64 = trusts.iter().map(|trust| trust.recall).sum();
        let noise: f64 = trusts.iter().map(|trust| trust.noise(changes)).sum();
        let scale = (MOST_RECALL / recall).min(1.0);
        let one = Signalled { changes, recall: recall * scale, noise, added: 0.0 };
        let pending = self.pending.get(&page).map_or(&[][..], |pending| &pending.kinds);
        let older = |kind: &u8| {
            let trust = trusts.iter().find(|trust| trust.kind == *kind);
            trust.map_or(0.0, |trust| {
                (trust.recall * scale * changes / trust.noise(changes)).ln_1p() / one.unseen()
            })
        };
        Some(Signalled { added: pending.iter().map(older).sum(), ..one })
    }
}

/// How far to trust hints of a kind.
#[derive(Clone, Copy)]
struct Trust {
    kind: u8,
    /// r, and the share p of empty hints.
    recall: f64,
    empty: f64,
}

impl Trust {
    /// ν: empty hints a second about a page that changes `changes` times a second.
    fn noise(&self, changes: f64) -> f64 {
        self.recall * changes * self.empty / (1.0 - self.empty)
    }
}

impl Record {
    fn add(&mut self, seen: Record) {
        self.hints += seen.hints;
        self.empty += seen.empty;
        self.changes += seen.changes;
    }

    /// Recall r and the share p of empty hints, shrunk towards the given ones.
    fn shares(&self, recall: f64, empty: f64) -> (f64, f64) {
        let empty = (self.empty + PRIOR * empty) / (self.hints + PRIOR);
        let empty = empty.clamp(EMPTY.0, EMPTY.1);
        let told = (1.0 - empty) * self.hints;
        let recall = (told + PRIOR * recall) / (self.changes + PRIOR);
        (recall.min(1.0), empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::Draws;
    use tidewatch_science::law::{LossCurve, Poisson};

    const PAGE: Signalled = Signalled { changes: 1.0, recall: 0.6, noise: 0.4, added: 0.0 };

    /// Mean time to an age, and mean time fresh until then, of many simulated pages.
    fn simulated(page: Signalled, age: f64) -> [(f64, f64); 2] {
        const RUNS: u32 = 40_000;
        let mut draws = Draws::of(4, "price.signals", 0);
        let mut sums = [[0.0; 2]; 2];
        for _ in 0..RUNS {
            let (mut now, mut hints, mut stale) = (0.0, 0.0, None);
            let end = loop {
                let due = age - hints * page.per_hint();
                let next = now + draws.exponential(page.changes + page.noise);
                if next >= due {
                    break due.max(now);
                }
                now = next;
                let is_change = draws.uniform() < page.changes / (page.changes + page.noise);
                if is_change {
                    stale.get_or_insert(now);
                }
                if !is_change || draws.uniform() < page.recall {
                    hints += 1.0;
                }
            };
            for (sums, x) in sums.iter_mut().zip([end, stale.map_or(end, |at: f64| at.min(end))]) {
                sums[0] += x;
                sums[1] += x * x;
            }
        }
        sums.map(|[sum, square]| {
            let mean = sum / f64::from(RUNS);
            (mean, ((square / f64::from(RUNS) - mean * mean) / f64::from(RUNS)).sqrt())
        })
    }

    #[test]
    fn times_are_those_of_a_simulation() {
        for (recall, noise) in [(0.6, 0.4), (0.9, 0.05), (0.2, 2.0)] {
            let page = Signalled { recall, noise, ..PAGE };
            for age in [0.3, 1.0, 3.0] {
                let [time, fresh] = simulated(page, age);
                for (found, (mean, error)) in
                    [(page.time_to(age), time), (page.fresh_until(age), fresh)]
                {
                    // Four standard errors: one of 36 comparisons in 800 runs.
                    assert!(
                        (found - mean).abs() < 4.0 * error + 1e-9,
                        "{page:?} {age}: {found} {mean}"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn hints_that_are_not_worth_reading_change_nothing(age in 0.01f64..10.0) {
            let page = Signalled { recall: 1e-9, noise: 1e-9, ..PAGE };
            let usual = Poisson::new(1.0).unwrap().worth(age);
            prop_assert!((page.worth(age) - usual).abs() < 1e-6, "{} {usual}", page.worth(age));
        }

        #[test]
        fn the_age_meets_the_worth(recall in 0.05f64..0.95, noise in 0.01f64..3.0, worth in 0.01f64..0.9) {
            let page = Signalled { recall, noise, ..PAGE };
            let age = page.age_at(worth);
            prop_assert!((page.at_age(age) - worth).abs() < 1e-6, "{age}");
        }
    }

    /// Visits of pages that change at rates over three decades, at gaps of a day on average. Every page
    /// has as many empty hints, relative to its changes, as the others.
    #[test]
    fn trust_is_learnt() {
        const VISITS: u32 = 20_000;
        let (recall, empty) = (0.7, 0.3);
        let (host, mut hints) = (HostId(0), Hints::default());
        let mut draws = Draws::of(4, "price.signals.trust", 0);
        let mut arrivals = |rate: f64, gap: f64| {
            let (mut at, mut count) = (draws.exponential(rate), 0);
            while at < gap {
                (at, count) = (at + draws.exponential(rate), count + 1);
            }
            count
        };
        hints.hinted(PageId(0), host, "feed", Time::ZERO);
        hints.forget(PageId(0));
        for visit in 0..VISITS {
            let page = PageId(visit % 100);
            let (changes, gap) = (10f64.powf(f64::from(page.0) * 0.03 - 2.5), 1.0);
            let told = arrivals(recall * changes, gap);
            let noise = arrivals(recall * changes * empty / (1.0 - empty), gap);
            let unseen = arrivals((1.0 - recall) * changes, gap);
            (0..told + noise).for_each(|_| hints.hinted(page, host, "feed", Time::ZERO));
            hints.fetched(page, host, told + unseen > 0, changes, gap);
        }
        let (found_recall, found_empty) = hints.all[0].shares(FIRST_RECALL, FIRST_EMPTY);
        // Some 2,000 visits with one hint, of which a fifth is unchanged: 5% at one standard error.
        assert!((found_empty / empty - 1.0).abs() < 0.2, "{found_empty}");
        // The same error of 1 − p, and less of the number of hints.
        assert!((found_recall / recall - 1.0).abs() < 0.1, "{found_recall}");
        let slow = hints.of(PageId(1), host, 0.01).unwrap();
        assert!((slow.noise / (slow.recall * 0.01) / (0.3 / 0.7) - 1.0).abs() < 0.3, "{slow:?}");
        assert!(hints.of(PageId(1), HostId(1), 0.01).is_none(), "no hint ever came from there");
        hints.hinted(PageId(1), host, "feed", Time::ZERO);
        let hinted = hints.of(PageId(1), host, 0.01).unwrap();
        assert!((hinted.added / hinted.per_hint() - 1.0).abs() < 1e-9);
        assert!(hinted.stale(0.0) > 0.5, "{hinted:?}");
    }

    /// Strangers may choose the names of kinds.
    #[test]
    fn kinds_are_bounded() {
        let mut hints = Hints::default();
        for kind in 0..1000 {
            hints.hinted(PageId(kind), HostId(0), &kind.to_string(), Time::ZERO);
        }
        assert_eq!((hints.kinds.len(), hints.all.len()), (MOST_KINDS, MOST_KINDS));
        let kinds = |page: u32| &hints.pending[&PageId(page)].kinds;
        assert_eq!(kinds(999), kinds(MOST_KINDS as u32 - 1));
    }

    /// A host that hints at every page every day, and whose pages change once in a hundred days. A visit
    /// that saw no change after thirty hints proves thirty of them empty. (Only visits with one hint
    /// used to count, so such hints were trusted for good.)
    #[test]
    fn hints_that_come_all_the_time_are_not_trusted() {
        let (host, mut hints) = (HostId(0), Hints::default());
        for visit in 0..100 {
            let page = PageId(visit);
            (0..30).for_each(|_| hints.hinted(page, host, "raw", Time::ZERO));
            hints.fetched(page, host, visit % 4 == 0, 0.01, 30.0);
        }
        let (_, empty) = hints.all[0].shares(FIRST_RECALL, FIRST_EMPTY);
        assert!(empty > 0.95, "{empty}");
        assert_eq!(hints.of(PageId(1), host, 0.01), None);
    }
}
