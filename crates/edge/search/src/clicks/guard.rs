//! Caps each client's share of all clicks.
//!
//! Clicks set weights, and weights direct fetches; a client with unlimited clicks could direct all
//! fetches. So a client's clicks of a day weigh at most a share s of all clicks:
//!
//! w ≤ s·(W + W₀)
//!
//! with w the counted weight of the client, W that of everyone, both fading with the same
//! half-life, and W₀ the weight of pages without clicks. A click beyond the cap counts in part or
//! not at all: x = min(count, (s·(W + W₀) − w)/(1 − s)). Since w fades as W does and W₀ does not,
//! the bound holds at all later times. Imported clicks are trusted and have no cap.

use rustc_hash::FxHashMap;

use crate::date::DAY_S;

/// Half-life of interest, as in the policies: a week.
pub(super) const HALF_LIFE_S: f64 = 604_800.0;
/// W₀, in clicks.
const WITHOUT_CLICKS: f64 = 10.0;
/// Most clients distinguished in one day; all others share one cap.
const MOST_CLIENTS: usize = 1 << 20;
/// The client number of all others.
const OTHERS: u64 = u64::MAX;

/// A weight at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Faded {
    weight: f64,
    at_s: f64,
}

impl Faded {
    fn at(&self, now_s: f64) -> f64 {
        self.weight * (-(now_s - self.at_s).max(0.0) / HALF_LIFE_S).exp2()
    }

    fn add(&mut self, weight: f64, now_s: f64) {
        *self = Faded { weight: self.at(now_s) + weight, at_s: now_s.max(self.at_s) };
    }
}

/// Weighs clicks.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    share: f64,
    all: Faded,
    day: i64,
    clients: FxHashMap<u64, Faded>,
}

impl Guard {
    /// `share` is one client's cap as a share of all clicks: above 0; 1 for no cap.
    pub(crate) fn new(share: f64) -> Guard {
        let share = if share > 0.0 { share.min(1.0) } else { f64::MIN_POSITIVE };
        Guard { share, all: Faded::default(), day: i64::MIN, clients: FxHashMap::default() }
    }

    /// How much of `count` clicks counts. A `now_s` before the last one is treated as the last one.
    /// `client` is `None` for trusted clicks.
    pub(crate) fn take(&mut self, client: Option<u64>, count: f64, now_s: f64) -> f64 {
        if !(count > 0.0 && count.is_finite() && now_s.is_finite()) {
            return 0.0;
        }
        let now_s = now_s.max(self.all.at_s);
        let Some(client) = client else {
            self.all.add(count, now_s);
            return count;
        };
        let (share, all) = (self.share, self.all.at(now_s));
        let of_client = self.of(client, now_s);
        let room = if share < 1.0 {
            (share * (all + WITHOUT_CLICKS) - of_client.at(now_s)) / (1.0 - share)
        } else {
            count
        };
        let taken = count.min(room).max(0.0);
        of_client.add(taken, now_s);
        self.all.add(taken, now_s);
        taken
    }

    /// A client's counted clicks of today.
    fn of(&mut self, client: u64, now_s: f64) -> &mut Faded {
        let day = (now_s / DAY_S as f64).floor() as i64;
        if day != self.day {
            self.day = day;
            self.clients.clear();
        }
        let is_full = self.clients.len() >= MOST_CLIENTS && !self.clients.contains_key(&client);
        self.clients.entry(if is_full { OTHERS } else { client }).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHARE: f64 = 0.05;
    /// Rounding of a few hundred sums.
    const ROUNDING: f64 = 1e-9;

    #[test]
    fn a_crowd_is_heard_in_full_and_a_mill_in_part() {
        let mut guard = Guard::new(SHARE);
        let crowd: f64 = (0..1_000).map(|client| guard.take(Some(client), 1.0, 0.0)).sum();
        assert!(crowd > 980.0, "{crowd}: only the first few are cut");
        let mill: f64 = (0..100_000).map(|_| guard.take(Some(7_777), 1.0, 1.0)).sum();
        let share = mill / (guard.all.at(1.0) + WITHOUT_CLICKS);
        assert!(share <= SHARE + ROUNDING && share > SHARE - 1e-3, "{share}");
    }

    #[test]
    fn the_operator_is_trusted_and_nonsense_is_nothing() {
        let mut guard = Guard::new(SHARE);
        assert!((guard.take(None, 1e6, 0.0) - 1e6).abs() < ROUNDING);
        for odd in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            assert!(guard.take(None, odd, 0.0) <= 0.0);
        }
        assert!(Guard::new(1.0).take(Some(1), 50.0, 0.0) >= 50.0, "no bound");
        assert!(Guard::new(f64::NAN).take(Some(1), 50.0, 0.0) < 1e-9);
    }

    proptest! {
        /// At every time each client's clicks of the day weigh at most its share, by sums
        /// recomputed from all counted clicks.
        #[test]
        fn no_client_exceeds_its_share(
            clicks in prop::collection::vec((0u64..6, 0.0..500.0f64, 0.0..40_000.0f64), 1..150)
        ) {
            let mut guard = Guard::new(SHARE);
            let mut taken: Vec<(u64, f64, f64)> = Vec::new();
            let mut now_s = 0.0;
            for (client, count, pause_s) in clicks {
                now_s += pause_s;
                taken.push((client, guard.take(Some(client), count, now_s), now_s));
                let day_of = |at_s: f64| (at_s / DAY_S as f64).floor() as i64;
                let fade = |at_s: f64| (-(now_s - at_s) / HALF_LIFE_S).exp2();
                let all: f64 = taken.iter().map(|(_, x, at)| x * fade(*at)).sum();
                let today = |at: f64| day_of(at) == day_of(now_s);
                let own = taken.iter().filter(|(who, _, at)| *who == client && today(*at));
                let own: f64 = own.map(|(_, x, at)| x * fade(*at)).sum();
                prop_assert!(own <= SHARE * (all + WITHOUT_CLICKS) + ROUNDING * all.max(1.0));
            }
        }
    }
}
