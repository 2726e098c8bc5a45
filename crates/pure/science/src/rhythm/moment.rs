//! When in the week is a fetch best?
//!
//! A copy was fetched at t₀ and will be again at T. A fetch at t between saves, to first order in the
//! number of changes, the stale time λ·ΔΛ(t)·(T − t): the changes it catches, for as long as they would
//! have stood wrong. On a host without rhythm fetches that are worth the price come every I, and each
//! saves λI². With a rhythm the next is placed where it saves as much the soonest,
//! ```text
//! T = min over t of  t + I²/ΔΛ(t),
//! ```
//! and t is where that is least. So a page that is fetched daily is fetched when its host goes to
//! sleep, and stays fresh all night; one that is fetched many times a day, in proportion to √φ, as an
//! even spread of what a fetch saves wants. (Counting time in expected changes instead would do it in
//! proportion to φ, and at no particular hour.)

use tidewatch_math::sample::{HOUR, HOURS, Rhythm, WEEK};

use super::habit::hour_of;

/// A wait longer than a week ends in the best of the hours about it, of so many.
const WINDOW: f64 = WEEK;
/// Waits beyond this, in seconds, end by so much before their time at the most.
pub const LONG_WAIT: f64 = WINDOW;
/// See [`LONG_WAIT`].
pub const EARLIER: f64 = WINDOW / 2.0;
/// Hours that are looked at, at most: a profile that sleeps for weeks is none.
const MOST_HOURS: usize = 6 * HOURS;
/// Halvings that find a wait to a millionth.
const HALVINGS: usize = 24;

/// The best moment for a fetch that would be due so long after `from` on a host without rhythm, all in
/// seconds. Rises with the wait; infinite for an infinite one.
pub fn best_moment(rhythm: &Rhythm, from: f64, wait: f64) -> f64 {
    if !(wait > 0.0 && wait.is_finite() && from.is_finite()) {
        return if wait > 0.0 { wait } else { from };
    }
    let levels = rhythm.levels();
    let (mut start, last) = if wait > WINDOW {
        (from + wait - WINDOW / 2.0, from + wait + WINDOW / 2.0)
    } else {
        (from, f64::INFINITY)
    };
    let mut hour = hour_of(start);
    let mut end = ((start / HOUR).floor() + 1.0) * HOUR;
    let mut passed = rhythm.expected(start) - rhythm.expected(from);
    let mut best = (f64::INFINITY, from + wait);
    for _ in 0..MOST_HOURS {
        let level = levels[hour];
        // In one hour ΔΛ grows evenly, and the least is where it is I·√φ.
        let at = if level > 0.0 {
            (start + (wait * level.sqrt() - passed) / level).clamp(start, end)
        } else {
            start
        };
        let next = at + wait * wait / (passed + level * (at - start));
        if next < best.0 {
            best = (next, at);
        }
        if end >= best.0.min(last) {
            break;
        }
        passed += level * (end - start);
        start = end;
        end += HOUR;
        hour = (hour + 1) % HOURS;
    }
    best.1
}

/// The longest wait that has its best moment by now.
pub fn longest_wait(rhythm: &Rhythm, from: f64, now: f64) -> f64 {
    if !(now > from && now.is_finite()) {
        return 0.0;
    }
    let is_over = |wait: f64| best_moment(rhythm, from, wait) <= now;
    let (mut low, mut high) = (0.0, now - from);
    while is_over(high) && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if is_over(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: f64 = 24.0 * HOUR;

    /// Busy from 8 to 20 on weekdays, and nearly asleep otherwise.
    fn office(night: f64) -> Rhythm {
        Rhythm::new(&std::array::from_fn(|hour| match (hour / 24, hour % 24) {
            (0..5, 8..20) => 1.0,
            _ => night,
        }))
        .unwrap()
    }

    /// ∫ ΔΛ over a gap: stale time at a unit rate, to first order. Quarters of an hour at a time, by
    /// trapezoids, which are exact within an hour.
    fn stale(rhythm: &Rhythm, from: f64, to: f64) -> f64 {
        let since = |t: f64| rhythm.expected(t) - rhythm.expected(from);
        let (mut sum, mut at) = (0.0, from);
        while at < to {
            let next = (((at / HOUR).floor() + 1.0) * HOUR).min(to);
            sum += 0.5 * (since(at) + since(next)) * (next - at);
            at = next;
        }
        sum
    }

    /// Stale time and price of the fetches that a rule makes in so many weeks, a second.
    fn cost(rhythm: &Rhythm, wait: f64, next: impl Fn(f64) -> f64) -> f64 {
        let (end, mut at, mut sum) = (WEEKS * WEEK, 0.0, 0.0);
        while at < end {
            let then = next(at).min(end);
            sum += stale(rhythm, at, then) + 0.5 * wait * wait;
            at = then;
        }
        sum / end
    }

    const WEEKS: f64 = 20.0;

    /// The least cost of any schedule on whole hours, by dynamic programming from the end.
    fn least(rhythm: &Rhythm, wait: f64) -> f64 {
        let hours = WEEKS as usize * HOURS;
        let longest = (4.0 * wait / HOUR) as usize + 24;
        let mut rest = vec![0.0; hours + 1];
        for from in (0..hours).rev() {
            let (mut passed, mut gone, mut best) = (0.0, 0.0, f64::INFINITY);
            let until = (from + longest).min(hours);
            for (hour, rest) in (from..).zip(&rest[from + 1..=until]) {
                let level = rhythm.levels()[hour % HOURS];
                gone += (passed + 0.5 * level * HOUR) * HOUR;
                passed += level * HOUR;
                best = f64::min(best, gone + 0.5 * wait * wait + rest);
            }
            rest[from] = best;
        }
        rest[0] / (hours as f64 * HOUR)
    }

    /// Within a tenth of the best that any schedule reaches, and less than half as far from it as
    /// counting expected changes or seconds is; most are within a hundredth.
    #[test]
    fn fetches_are_placed_nearly_as_well_as_can_be() {
        for night in [0.02, 0.2] {
            let rhythm = office(night);
            for wait in [3.0 * HOUR, 8.0 * HOUR, DAY, 2.0 * DAY, 5.0 * DAY] {
                let best = least(&rhythm, wait);
                let over = |rule: &dyn Fn(f64) -> f64| cost(&rhythm, wait, rule) / best - 1.0;
                let ours = over(&|at| best_moment(&rhythm, at, wait));
                let changes = over(&|at| rhythm.time_of(rhythm.expected(at) + wait));
                let clock = over(&|at| at + wait);
                let others = changes.min(clock);
                assert!(ours < 0.1 && ours < 0.5 * others, "{night} {wait} {ours} {others}");
            }
        }
    }

    #[test]
    fn a_daily_fetch_settles_at_dusk() {
        let rhythm = office(0.05);
        // From Monday, four in the morning, to Thursday.
        let moments =
            std::iter::successors(Some(4.0 * HOUR), |&at| Some(best_moment(&rhythm, at, DAY)));
        let hours: Vec<f64> = moments.skip(1).take(3).map(|at| at / HOUR % 24.0).collect();
        assert!(hours.iter().all(|hour| (19.0..=20.0).contains(hour)), "{hours:?}");
    }

    #[test]
    fn without_rhythm_a_wait_is_a_wait() {
        let flat = Rhythm::flat();
        for wait in [1.0, HOUR, DAY, 3.0 * DAY, 40.0 * DAY] {
            let at = best_moment(&flat, 1e6, wait);
            assert!((at - 1e6 - wait).abs() < 1e-6 * wait, "{wait} {at}");
        }
        assert!(best_moment(&flat, 5.0, f64::INFINITY).is_infinite());
        assert!(best_moment(&flat, 5.0, f64::NAN) <= 5.0 && best_moment(&flat, 5.0, 0.0) <= 5.0);
        assert!(longest_wait(&flat, 5.0, 4.0) <= 0.0 && longest_wait(&flat, 5.0, f64::NAN) <= 0.0);
    }

    proptest! {
        #[test]
        fn longer_waits_end_later(from in 0.0..1e8_f64, wait in 60.0..1e6_f64, more in 1.0..2.0_f64) {
            let rhythm = office(0.1);
            let (first, second) =
                (best_moment(&rhythm, from, wait), best_moment(&rhythm, from, more * wait));
            prop_assert!(first > from);
            // Beyond a week only the hours about the wait are looked at, and both sides of that limit
            // need not agree.
            if wait > WINDOW || more * wait <= WINDOW {
                prop_assert!(second >= first - 1e-6, "{first} {second}");
            }
        }

        /// What is due after a wait is due once that wait is over, and not before.
        #[test]
        fn a_wait_is_over_at_its_moment(from in 0.0..1e8_f64, wait in 60.0..6e5_f64) {
            let rhythm = office(0.1);
            let at = best_moment(&rhythm, from, wait);
            let (before, then) = (longest_wait(&rhythm, from, at - 1.0), longest_wait(&rhythm, from, at));
            prop_assert!(then >= wait * (1.0 - 1e-5), "{then} {wait}");
            prop_assert!(before <= wait * (1.0 + 1e-5), "{before} {wait}");
        }
    }
}
