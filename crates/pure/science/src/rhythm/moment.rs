//! When in the week is a fetch best?
//!
//! A copy was fetched at t₀ and will be fetched again at T. One more fetch at t in between saves, to
//! first order in the number of changes, the stale time λ·ΔΛ(t)·(T − t): the changes that it catches,
//! times how long the copy would have been stale. On a host without rhythm, fetches that are worth
//! the price come every I and each saves λI². With a rhythm, the next fetch goes where it saves as
//! much at the earliest T:
//! ```text
//! T = min over t of  t + I²/ΔΛ(t),
//! ```
//! and t is the argument of that minimum. So a page that is fetched daily is fetched when its host
//! goes to sleep, and stays fresh all night. A page that is fetched many times a day is fetched in
//! proportion to √φ, which equalises what each fetch saves. (Counting time in expected changes would
//! give φ instead of √φ, and no particular hour.)

use tidewatch_math::sample::{HOUR, HOURS, Rhythm, WEEK};

use super::elapsed;
use super::habit::hour_of;

/// A wait longer than a week ends within half of this of its nominal end, in seconds.
const WINDOW: f64 = WEEK;
/// A wait longer than this, in seconds, ends at most [`EARLIER`] seconds before its nominal end.
pub(super) const LONG_WAIT: f64 = WINDOW;
/// See [`LONG_WAIT`].
pub(super) const EARLIER: f64 = WINDOW / 2.0;
/// Hours searched at most; a host that sleeps for weeks has no weekly rhythm.
const MOST_HOURS: usize = 6 * HOURS;
/// Halvings that find a wait to a millionth.
const HALVINGS: usize = 24;
/// Moments beyond this many seconds, thirty million years, follow the clock: soon after it rounding
/// would confuse the hours.
const FARTHEST: f64 = 1e15;

/// The best moment to fetch a page that was fetched at `from` and, on a host without rhythm, would be
/// due `wait` later; all in seconds. Rises with `wait`, except by up to half a week where `wait`
/// passes one week; infinite for an infinite `wait`; `from` itself for a `wait` that is NaN or not
/// positive.
///
/// ```
/// use tidewatch_science::rhythm::{Rhythm, best_moment};
/// // A host that changes its pages from nine to five.
/// let at_work = |hour: usize| if (9..17).contains(&(hour % 24)) { 1.0 } else { 0.0 };
/// let office = Rhythm::new(&std::array::from_fn(at_work))?;
/// // A page fetched at noon and due about once a day is best fetched when work ends.
/// let (hour, day) = (3600.0, 86_400.0);
/// assert_eq!(best_moment(&office, 12.0 * hour, day), 17.0 * hour);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn best_moment(rhythm: &Rhythm, from: f64, wait: f64) -> f64 {
    if wait.is_nan() || wait <= 0.0 {
        return from;
    }
    if from.abs() + wait >= FARTHEST {
        return from + wait;
    }
    // Times are seconds after `from` from here on: a short wait would vanish beside a large `from`.
    let (mut start, last) = if wait > WINDOW {
        (wait - WINDOW / 2.0, wait + WINDOW / 2.0)
    } else {
        (0.0, f64::INFINITY)
    };
    let levels = rhythm.levels();
    let mut hour = hour_of(from + start);
    let mut end = ((((from + start) / HOUR).floor() + 1.0) * HOUR - from).max(start);
    let mut passed = elapsed(rhythm, from, from + start).max(0.0);
    let mut best = (f64::INFINITY, wait);
    for _ in 0..MOST_HOURS {
        let level = levels[hour];
        // ΔΛ is linear within an hour, so the minimum lies where ΔΛ = I·√φ.
        let at = if level > 0.0 {
            (start + (wait * level.sqrt() - passed) / level).max(start).min(end)
        } else {
            start
        };
        let next = at + wait * (wait / (passed + level * (at - start)));
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
    from + best.1
}

/// The longest wait after `from` whose [`best_moment`] is not after `now`, to a millionth; 0 unless
/// `now` is after `from`.
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

    /// Rounding of times of 10⁸ s.
    const ROUNDING: f64 = 1e-6;
    /// [`HALVINGS`] of at most twice the wait, and rounding.
    const FOUND: f64 = 1e-5;

    /// Busy from 8 to 20 on weekdays, and nearly asleep otherwise.
    fn office(night: f64) -> Rhythm {
        Rhythm::new(&std::array::from_fn(|hour| match (hour / 24, hour % 24) {
            (0..5, 8..20) => 1.0,
            _ => night,
        }))
        .unwrap()
    }

    /// ∫ ΔΛ over a gap: stale time at a unit rate, to first order. By trapezoids, which are exact within
    /// an hour.
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

    /// Stale time and price of the fetches of a rule over [`WEEKS`], per second.
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
            assert!((at - 1e6 - wait).abs() < ROUNDING * wait, "{wait} {at}");
        }
        assert!(best_moment(&flat, 5.0, f64::INFINITY).is_infinite());
        assert!(best_moment(&flat, 5.0, f64::NAN) <= 5.0 && best_moment(&flat, 5.0, 0.0) <= 5.0);
        assert!(longest_wait(&flat, 5.0, 4.0) <= 0.0 && longest_wait(&flat, 5.0, f64::NAN) <= 0.0);
    }

    /// A page with a weight so small that it is never due waits for longer than hours can be told apart.
    #[test]
    fn waits_beyond_all_hours_end_by_the_clock() {
        for wait in [1e16, 1e21, 1e30, 1e155, f64::MAX] {
            let at = best_moment(&office(0.1), 1e8, wait);
            assert!((at / wait - 1.0).abs() < ROUNDING, "{wait} {at}");
        }
    }

    proptest! {
        /// No later than an undisturbed wait and a week, no earlier than that less half a week.
        #[test]
        fn every_magnitude_has_its_moment(
            ln_from in -70.0..70.0_f64, is_before in any::<bool>(), ln_wait in -70.0..70.0_f64,
            more in 0.0..3.0_f64, night in 0.0..1.0_f64,
        ) {
            let from = if is_before { -ln_from.exp() } else { ln_from.exp() };
            let (rhythm, wait) = (office(night), ln_wait.exp());
            let moment = best_moment(&rhythm, from, wait);
            prop_assert!(moment >= from && moment <= from + wait.max(3.0 * WEEK) + WINDOW, "{moment}");
            prop_assert!(moment >= from + wait - wait.min(WINDOW), "{moment}");
            let later = best_moment(&rhythm, from, wait * more.exp());
            // The window of a long wait may hold a better hour before that of a shorter one.
            prop_assert!(later >= moment - WINDOW && !later.is_nan(), "{moment} {later}");
            let waited = longest_wait(&rhythm, from, from + wait);
            prop_assert!(waited >= 0.0 && waited.is_finite(), "{waited}");
            // Busy hours end a wait early, by less than half of it.
            let most = 2.0 * (wait + from.abs() * f64::EPSILON) + 3.0 * WEEK;
            prop_assert!(waited <= most, "{waited} {wait}");
        }

        /// A wait far shorter than an hour ends in proportion to the hour's intensity.
        #[test]
        fn short_waits_end_soon(from in 0.0..1e8_f64, ln_wait in -70.0..0.0_f64) {
            let (rhythm, wait) = (office(0.1), ln_wait.exp());
            let moment = best_moment(&rhythm, from, wait);
            prop_assert!(moment <= from + 10.0 * wait + ROUNDING, "{}", moment - from);
        }

        #[test]
        fn longer_waits_end_later(from in 0.0..1e8_f64, wait in 60.0..1e6_f64, more in 1.0..2.0_f64) {
            let rhythm = office(0.1);
            let (first, second) =
                (best_moment(&rhythm, from, wait), best_moment(&rhythm, from, more * wait));
            prop_assert!(first > from);
            // A wait longer than a week searches other hours, so the two need not agree across it.
            if wait > WINDOW || more * wait <= WINDOW {
                prop_assert!(second >= first - ROUNDING, "{first} {second}");
            }
        }

        /// The wait of a fetch is over at its best moment, and not a second before.
        #[test]
        fn a_wait_is_over_at_its_moment(from in 0.0..1e8_f64, wait in 60.0..6e5_f64) {
            let rhythm = office(0.1);
            let at = best_moment(&rhythm, from, wait);
            let (before, then) = (longest_wait(&rhythm, from, at - 1.0), longest_wait(&rhythm, from, at));
            prop_assert!(then >= wait * (1.0 - FOUND), "{then} {wait}");
            prop_assert!(before <= wait * (1.0 + FOUND), "{before} {wait}");
        }
    }
}
