//! Pages with a timetable: changes only at known moments, each with its own chance.
//!
//! A results page of a tournament, a daily bulletin: possible update times s₁ < … < sₚ in a window
//! T, update j taking place with probability qⱼ `[WSY02, eq. 4–11]`. A fetch is best made at one of
//! those times, right after the update; the question is at which x of them. The copy is taken to be
//! fresh at the start. With a fetch at sᵢ and the next at sⱼ the fresh time in between is
//! φ(i, j) = Σ_{k=i}^{j−1} uₖ Π_{l=i+1}^{k} (1 − qₗ), uₖ = s_{k+1} − sₖ, and
//! A(x) = 1 − max Σ φ/T over the choices of x times.
//!
//! φ(i, j+1) − φ(i, j) = uⱼ Π_{i<l≤j}(1 − qₗ) rises with i, the inverse Monge condition. So the best
//! last fetch before j moves forward with j (the dynamic program takes O(P log P) a layer instead of
//! O(P²)), and A is convex in x. Both are tested.
//!
//! Life of the thing: build [`UpdateTimes`], solve it once into a [`Plan`] (a table of A), hand
//! [`Quasi`] views of the plan to the allocation, then ask the timetable which times to fetch at.

use super::{LawError, Staleness};

/// Most possible update times in one window; the work grows with their square.
const MAX_TIMES: usize = 1024;

/// Possible update times with their chances, and the fresh time of every stretch between two.
#[derive(Clone, Debug)]
pub struct UpdateTimes {
    window: f64,
    times: Vec<f64>,
    /// φ(i, j) at `i·(P+2) + j`; index 0 is the start of the window and P+1 its end.
    fresh: Vec<f64>,
}

impl UpdateTimes {
    /// Strictly ascending `times` within [0, `window`] and the probability of an update at each.
    pub fn new(window: f64, times: &[f64], probabilities: &[f64]) -> Result<Self, LawError> {
        LawError::positive("window", window)?;
        if times.len() != probabilities.len() {
            let (times, probabilities) = (times.len(), probabilities.len());
            return Err(LawError::Lengths { times, probabilities });
        }
        let few = times.len() <= MAX_TIMES;
        LawError::check(few, "number of update times", times.len() as f64, "at most 1024")?;
        let mut earlier = -1.0;
        for (index, &value) in times.iter().enumerate() {
            if !(value >= 0.0 && value > earlier && value <= window) {
                return Err(LawError::Order { index, value, window });
            }
            earlier = value;
        }
        for &q in probabilities {
            LawError::check((0.0..=1.0).contains(&q), "update probability", q, "from 0 to 1")?;
        }
        let fresh = fresh_times(window, times, probabilities);
        Ok(Self { window, times: times.to_vec(), fresh })
    }

    /// Number of possible update times; more fetches than this are of no use.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether the page never changes.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The possible update times.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The table of A(0..=P) by the exact dynamic program.
    pub fn exact(&self) -> Plan {
        let mut layers = Layers::new(self);
        let mut fresh = vec![layers.total()];
        for _ in 0..self.len() {
            layers.advance(self);
            fresh.push(layers.total());
        }
        Plan::new(self.window, &fresh)
    }

    /// The best `fetches` positions in [`UpdateTimes::times`], ascending; all when there are fewer.
    pub fn best(&self, fetches: usize) -> Vec<usize> {
        let fetches = fetches.min(self.len());
        let mut layers = Layers::new(self);
        let mut last = Vec::with_capacity(fetches);
        for _ in 0..fetches {
            last.push(layers.advance(self));
        }
        let mut at = self.len() + 1;
        let mut chosen: Vec<usize> = Vec::with_capacity(fetches);
        for layer in last.iter().rev() {
            at = layer[at];
            chosen.push(at - 1);
        }
        chosen.reverse();
        chosen
    }

    fn fresh(&self, from: usize, to: usize) -> f64 {
        self.fresh[from * (self.times.len() + 2) + to]
    }
}

/// φ for all pairs, by its recurrence in j: each product grows by one factor a step.
fn fresh_times(window: f64, times: &[f64], probabilities: &[f64]) -> Vec<f64> {
    let n = times.len() + 2;
    let at = |k: usize| if k == 0 { 0.0 } else { times.get(k - 1).copied().unwrap_or(window) };
    let mut fresh = vec![0.0; n * n];
    for from in 0..n {
        let (mut total, mut still_fresh) = (0.0, 1.0);
        for to in from + 1..n {
            total += (at(to) - at(to - 1)) * still_fresh;
            fresh[from * n + to] = total;
            still_fresh *= 1.0 - probabilities.get(to - 1).copied().unwrap_or(0.0);
        }
    }
    fresh
}

/// The dynamic program: best fresh time up to each point with m fetches before it.
struct Layers {
    fetches: usize,
    best: Vec<f64>,
}

impl Layers {
    fn new(table: &UpdateTimes) -> Self {
        Self { fetches: 0, best: (0..table.len() + 2).map(|to| table.fresh(0, to)).collect() }
    }

    /// Best fresh time over the whole window.
    fn total(&self) -> f64 {
        self.best[self.best.len() - 1]
    }

    /// One more fetch; gives the place of the last fetch before each point.
    fn advance(&mut self, table: &UpdateTimes) -> Vec<usize> {
        self.fetches += 1;
        let n = self.best.len();
        let (mut next, mut last) = (vec![f64::NEG_INFINITY; n], vec![0; n]);
        // Ranges of points with the range their last fetch is known to lie in; points before
        // `fetches` + 1 cannot have so many fetches before them.
        let mut open = vec![(self.fetches + 1, n, self.fetches, n)];
        while let Some((low, high, from, to)) = open.pop() {
            if low >= high {
                continue;
            }
            let middle = usize::midpoint(low, high);
            let mut choice = from;
            for at in from..to.min(middle) {
                let value = self.best[at] + table.fresh(at, middle);
                if value > next[middle] {
                    (next[middle], choice) = (value, at);
                }
            }
            last[middle] = choice;
            open.push((low, middle, from, choice + 1));
            open.push((middle + 1, high, choice, to));
        }
        self.best = next;
        last
    }
}

/// A solved timetable: average staleness for every number of fetches.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    window: f64,
    average: Vec<f64>,
}

impl Plan {
    /// From the best fresh time with 0, 1, 2, … fetches. Rounding is kept from denting convexity:
    /// no step is taken larger than the one before it.
    fn new(window: f64, fresh: &[f64]) -> Self {
        let mut average = vec![1.0 - fresh[0] / window];
        let mut step = f64::INFINITY;
        for pair in fresh.windows(2) {
            step = step.min(((pair[1] - pair[0]) / window).max(0.0));
            let before = average[average.len() - 1];
            average.push((before - step).max(0.0));
        }
        Self { window, average }
    }

    /// The law that this plan gives.
    pub fn law(&self) -> Quasi<'_> {
        Quasi { window: self.window, average: &self.average }
    }
}

/// The law of a page with a timetable: a view of its [`Plan`]. A is linear between whole numbers
/// of fetches, which for a convex table is its relaxation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quasi<'a> {
    window: f64,
    average: &'a [f64],
}

impl Quasi<'_> {
    /// The window that the timetable covers; the only one that the law can be asked about.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// The most fetches of any use.
    pub fn most_fetches(&self) -> u64 {
        self.average.len() as u64 - 1
    }

    fn at(&self, fetches: u64) -> f64 {
        self.average[(fetches.min(self.most_fetches())) as usize]
    }
}

impl Staleness for Quasi<'_> {
    fn average(&self, window: f64, fetches: f64) -> f64 {
        debug_assert!(window == self.window, "the timetable covers {}", self.window);
        let whole = fetches.floor();
        let (here, part) = (whole as u64, fetches - whole);
        // An infinite number of fetches has no fraction; the last entry stands for it.
        if part > 0.0 { self.at(here) - part * self.gain(window, here) } else { self.at(here) }
    }

    fn marginal(&self, window: f64, fetches: f64) -> f64 {
        self.gain(window, fetches.floor() as u64)
    }

    fn gain(&self, _: f64, fetches: u64) -> f64 {
        self.at(fetches) - self.at(fetches.saturating_add(1))
    }

    fn fetches_at(&self, window: f64, price: f64) -> f64 {
        if price <= 0.0 {
            return f64::INFINITY;
        }
        let most = self.most_fetches();
        let count = (0..most).take_while(|&n| self.gain(window, n) >= price).count();
        count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sums of at most a dozen terms below the window, compared after division by it.
    const ROUNDING: f64 = 1e-13;

    /// `[WSY02, eq. 8]` as it stands, over T: for every interval the product since the last fetch.
    fn literal(window: f64, times: &[f64], q: &[f64], fetched: &[usize]) -> f64 {
        let p = times.len();
        let s = |k: usize| {
            if k == 0 {
                0.0
            } else if k <= p {
                times[k - 1]
            } else {
                window
            }
        };
        let stale = |j: usize| {
            let last = (1..=j).rev().find(|k| fetched.contains(&(k - 1))).unwrap_or(0);
            1.0 - (last + 1..=j).map(|k| 1.0 - q[k - 1]).product::<f64>()
        };
        (0..=p).map(|j| (s(j + 1) - s(j)) * stale(j)).sum::<f64>() / window
    }

    /// The best of all subsets of each size.
    fn brute_force(window: f64, times: &[f64], q: &[f64]) -> Vec<f64> {
        let mut best = vec![f64::INFINITY; times.len() + 1];
        for mask in 0_u32..1 << times.len() {
            let fetched: Vec<usize> = (0..times.len()).filter(|i| mask >> i & 1 == 1).collect();
            let value = literal(window, times, q, &fetched);
            best[fetched.len()] = best[fetched.len()].min(value);
        }
        best
    }

    fn timetables() -> impl Strategy<Value = (f64, Vec<f64>, Vec<f64>)> {
        let q = prop_oneof![3 => 0.0..1.0_f64, 1 => Just(0.0), 1 => Just(1.0)];
        proptest::collection::vec((0.01..3.0_f64, q), 0..9).prop_map(|steps| {
            let mut now = 0.0;
            let times: Vec<f64> = steps
                .iter()
                .map(|(gap, _)| {
                    now += gap;
                    now - 0.01
                })
                .collect();
            (now + 1.0, times, steps.iter().map(|(_, q)| *q).collect())
        })
    }

    proptest! {
        #[test]
        fn dynamic_program_is_the_best_of_all_subsets((window, times, q) in timetables()) {
            let table = UpdateTimes::new(window, &times, &q).unwrap();
            let (plan, best) = (table.exact(), brute_force(window, &times, &q));
            for (n, &oracle) in best.iter().enumerate() {
                prop_assert!((plan.law().average(window, n as f64) - oracle).abs() < ROUNDING);
                let chosen = table.best(n);
                prop_assert!(chosen.len() == n && chosen.is_sorted_by(|a, b| a < b));
                prop_assert!((literal(window, &times, &q, &chosen) - oracle).abs() < ROUNDING);
            }
        }

        #[test]
        fn exact_staleness_is_convex((window, times, q) in timetables()) {
            let best = brute_force(window, &times, &q);
            for step in best.windows(3) {
                prop_assert!(step[0] - step[1] >= step[1] - step[2] - ROUNDING, "{best:?}");
            }
        }

        #[test]
        fn relaxation_agrees_with_the_steps((window, times, q) in timetables(), price in 0.0..0.5_f64) {
            let plan = UpdateTimes::new(window, &times, &q).unwrap().exact();
            let law = plan.law();
            let x = law.fetches_at(window, price);
            prop_assert!(x == 0.0 || law.gain(window, x as u64 - 1) >= price);
            prop_assert!(x == f64::INFINITY || law.gain(window, x as u64) < price);
            let half = law.average(window, 0.5);
            prop_assert!((half - f64::midpoint(law.at(0), law.at(1))).abs() < ROUNDING);
        }
    }

    #[test]
    fn greedy_would_miss_the_best() {
        // One fetch is best at the second time, two are best at the first and the third.
        let table = UpdateTimes::new(3.0, &[0.5, 1.0, 2.0], &[0.9, 0.35, 0.5]).unwrap();
        assert_eq!((table.best(1), table.best(2)), (vec![1], vec![0, 2]));
        let plan = table.exact();
        assert!((plan.law().at(2) - 0.35 / 3.0).abs() < ROUNDING);
        assert!(plan.law().at(3) < ROUNDING, "a fetch after every possible update is never stale");
    }

    #[test]
    fn bad_timetables_are_refused() {
        let new = UpdateTimes::new;
        assert!(matches!(new(1.0, &[0.5, 0.5], &[0.1; 2]), Err(LawError::Order { index: 1, .. })));
        assert!(matches!(new(1.0, &[1.5], &[0.1]), Err(LawError::Order { index: 0, .. })));
        assert!(matches!(new(1.0, &[f64::NAN], &[0.1]), Err(LawError::Order { .. })));
        assert!(matches!(new(1.0, &[0.5], &[]), Err(LawError::Lengths { .. })));
        assert!(matches!(new(1.0, &[0.5], &[1.1]), Err(LawError::Domain { .. })));
        assert!(matches!(new(0.0, &[], &[]), Err(LawError::Domain { .. })));
        let many: Vec<f64> = (0..=MAX_TIMES).map(|k| k as f64).collect();
        assert!(new(2000.0, &many, &vec![0.5; many.len()]).is_err());
        assert_eq!(new(3.0, &[], &[]).unwrap().exact().law().average(3.0, 7.0), 0.0);
    }
}
