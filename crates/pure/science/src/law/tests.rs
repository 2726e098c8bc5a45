//! Every law against its definition, against the others, and against what must hold of all.

use super::invert::invert_worth;
use super::*;
use proptest::prelude::*;
use tidewatch_math::quadrature::{Aim, integrate};
use tidewatch_math::{Draws, Moments};

/// What the oracles' quadrature reaches, with room for the cancellation of literal differences.
const QUADRATURE: f64 = 1e-9;
/// A dozen roundings and the stated error of the incomplete gamma function at moderate arguments.
const CLOSED: f64 = 1e-12;

/// A difference of two averages below one, each good to a few roundings.
const STEP: f64 = 1e-13;

/// Steps whose exact values differ by less than rounding may come out in either order. A step is at
/// least a sixteenth of the means subtracted for it, each good to about four roundings; two steps.
const EQUAL: f64 = 1.0 + 128.0 * f64::EPSILON;

/// A law and its literal survival function.
#[derive(Clone, Copy, Debug)]
struct Case {
    curve: Curve,
    shape: f64,
    scale: f64,
}

impl Case {
    fn survival(&self, t: f64) -> f64 {
        let Self { shape, scale, .. } = *self;
        match self.curve {
            Curve::Poisson(_) => (-t / scale).exp(),
            Curve::Weibull(_) => (-(t / scale).powf(shape)).exp(),
            Curve::Pareto(_) => (scale / t).min(1.0).powf(shape),
            Curve::Lomax(_) => (1.0 + t / scale).powf(-shape),
        }
    }

    /// λ as the reciprocal of the textbook mean.
    fn rate(&self) -> f64 {
        let Self { shape, scale, .. } = *self;
        match self.curve {
            Curve::Poisson(_) => scale.recip(),
            Curve::Weibull(law) => law.rate(),
            Curve::Pareto(_) => (shape - 1.0) / (shape * scale),
            Curve::Lomax(_) => (shape - 1.0) / scale,
        }
    }
}

impl Case {
    /// ∫ₐᵇ f, in two parts where the law has a corner between.
    fn integral(&self, f: impl Fn(f64) -> f64, a: f64, b: f64) -> f64 {
        let corner = self.scale.clamp(a, b);
        integral(&f, a, corner) + integral(&f, corner, b)
    }
}

/// Laws with a mean; times of order 10⁻³ to 10³.
fn cases() -> impl Strategy<Value = Case> {
    (0..4, 0.0..1.0_f64, -3.0..3.0_f64).prop_map(|(kind, u, log_scale)| {
        let scale = 10_f64.powf(log_scale);
        let (curve, shape): (Curve, f64) = match kind {
            0 => (Poisson::new(scale.recip()).unwrap().into(), 1.0),
            1 => (Weibull::new(0.3 + 4.0 * u, scale).unwrap().into(), 0.3 + 4.0 * u),
            2 => (Pareto::new(1.2 + 3.0 * u, scale).unwrap().into(), 1.2 + 3.0 * u),
            _ => (Lomax::new(1.2 + 6.0 * u, scale).unwrap().into(), 1.2 + 6.0 * u),
        };
        Case { curve, shape, scale }
    })
}

/// ∫ₐᵇ f in stretches of a factor of four, so that narrow starts are not missed.
fn integral(f: impl Fn(f64) -> f64, a: f64, b: f64) -> f64 {
    if a == b {
        return 0.0;
    }
    let mut ends = vec![b];
    while ends.len() < 60 && ends[ends.len() - 1] > a.max(b * 1e-30) {
        ends.push((ends[ends.len() - 1] / 4.0).max(a));
    }
    let part = |pair: &[f64]| integrate(&f, pair[1], pair[0], Aim::relative(1e-12)).unwrap().value;
    ends.windows(2).map(part).sum()
}

fn close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn staleness_is_the_equilibrium_distribution(case in cases(), u in 0.01..20.0_f64) {
        let elapsed = u * case.scale;
        let literal = case.rate() * case.integral(|v| case.survival(v), 0.0, elapsed);
        prop_assert!(close(case.curve.stale(elapsed), literal, QUADRATURE));
        prop_assert!((case.curve.stale(elapsed) + case.curve.fresh(elapsed) - 1.0).abs() < CLOSED);
        let slope = case.rate() * case.survival(elapsed);
        prop_assert!(close(case.curve.slope(elapsed), slope, 1e-10));
    }

    #[test]
    fn worth_is_its_definition(case in cases(), u in 0.01..20.0_f64) {
        let (curve, elapsed) = (case.curve, u * case.scale);
        let area = case.integral(|v| curve.stale(v), 0.0, elapsed);
        let literal = elapsed * curve.stale(elapsed) - area;
        prop_assert!(close(curve.worth(elapsed), literal, QUADRATURE));
        prop_assert!(close(curve.stale_mean(elapsed), area / elapsed, QUADRATURE));
        prop_assert!((curve.stale_mean(elapsed) + curve.fresh_mean(elapsed) - 1.0).abs() < CLOSED);
    }

    /// U′ = τD′, integrated between two times.
    #[test]
    fn worth_grows_by_elapsed_times_slope(case in cases(), u in 0.01..10.0_f64, ratio in 1.1..3.0_f64) {
        let (curve, from) = (case.curve, u * case.scale);
        let growth = case.integral(|v| v * curve.slope(v), from, from * ratio);
        let difference = curve.worth(from * ratio) - curve.worth(from);
        prop_assert!((difference - growth).abs() <= QUADRATURE * curve.worth(from * ratio));
    }

    /// Both ways round; the tolerance grows with the condition U/(τU′) of the inverse.
    #[test]
    fn inverse_worth_round_trip(case in cases(), log_u in -6.0..1.5_f64) {
        let (curve, elapsed) = (case.curve, 10_f64.powf(log_u) * case.scale);
        let worth = curve.worth(elapsed);
        let condition = 1.0 + worth / (elapsed * elapsed * curve.slope(elapsed));
        if condition < 1e8 {
            let back = curve.elapsed_at(worth);
            prop_assert!(close(back, elapsed, CLOSED * condition), "{back} {elapsed}");
            prop_assert!(close(curve.worth(back), worth, CLOSED));
        }
    }

    #[test]
    fn limits(case in cases()) {
        let curve = case.curve;
        prop_assert_eq!((curve.stale(0.0), curve.fresh(0.0), curve.worth(0.0)), (0.0, 1.0, 0.0));
        let end = f64::INFINITY;
        prop_assert_eq!((curve.stale(end), curve.fresh(end)), (1.0, 0.0));
        prop_assert_eq!((curve.stale_mean(end), curve.fresh_mean(end)), (1.0, 0.0));
        prop_assert_eq!(curve.worth(end), curve.worth_limit());
        prop_assert_eq!(curve.elapsed_at(curve.worth_limit()), end);
        prop_assert_eq!((curve.elapsed_at(0.0), curve.elapsed_at(-1.0)), (0.0, 0.0));
        // D ≈ D′(0)τ and U ≈ D′(0)τ²/2 for short times, to full relative precision. A Weibull law
        // departs from it by τ^shape, so its time must be shorter.
        let tiny = 1e-60 * case.scale;
        prop_assert!(close(curve.stale(tiny), case.rate() * tiny, CLOSED));
        prop_assert!(close(curve.worth(tiny), 0.5 * case.rate() * tiny * tiny, CLOSED));
        prop_assert!(close(curve.stale_mean(tiny), 0.5 * case.rate() * tiny, CLOSED));
    }

    /// Steps are differences of A, fall, and sum up; the slope lies between neighbouring steps.
    #[test]
    fn allocation_view_is_consistent(case in cases(), windows in 0.1..100.0_f64, n in 0..40_u64) {
        let (law, window) = (Law::from(case.curve), windows * case.scale);
        let (a, b) = (law.average(window, n as f64), law.average(window, n as f64 + 1.0));
        prop_assert!((law.gain(window, n) - (a - b)).abs() < STEP, "{} {}", law.gain(window, n), a - b);
        prop_assert!(law.gain(window, n + 1) <= law.gain(window, n) * EQUAL);
        let slack = 1.0 + CLOSED;
        prop_assert!(law.marginal(window, n as f64) * slack >= law.gain(window, n));
        prop_assert!(law.marginal(window, n as f64 + 1.0) <= law.gain(window, n) * slack);
        let sum: f64 = (0..n).map(|k| law.gain(window, k)).sum();
        prop_assert!((law.average(window, 0.0) - a - sum).abs() < 40.0 * STEP);
    }

    /// However many fetches: no step is lost in rounding and none exceeds the one before.
    #[test]
    fn steps_fall_for_any_number_of_fetches(case in cases(), windows in 0.1..1e4_f64, log_n in 0.0..7.0_f64) {
        let (law, window, n) = (case.curve, windows * case.scale, 10_f64.powf(log_n) as u64);
        let (here, next) = (law.gain(window, n), law.gain(window, n + 1));
        prop_assert!(here > 0.0 || law.worth(window / n as f64) < f64::MIN_POSITIVE);
        prop_assert!(next <= here * EQUAL, "{n}: {here} then {next}");
    }

    #[test]
    fn fetches_at_inverts_the_marginal(case in cases(), windows in 0.5..50.0_f64, x in 0.0..100.0_f64) {
        let (law, window) = (case.curve, windows * case.scale);
        let price = law.marginal(window, x);
        let condition = law.worth(window) / (window * window * law.slope(window));
        if condition < 1e4 {
            let back = law.fetches_at(window, price);
            prop_assert!((back - x).abs() < CLOSED * (1.0 + condition) * (x + 10.0), "{back} {x}");
        }
        prop_assert_eq!(law.fetches_at(window, 0.0), f64::INFINITY);
        prop_assert_eq!(law.fetches_at(window, law.marginal(window, 0.0) * 1.001), 0.0);
    }

    #[test]
    fn quadrature_law_agrees_with_the_closed_forms(case in cases(), u in 0.05..20.0_f64) {
        // Beyond a tail exponent of 2 the second moment exists; near it the integral converges too
        // slowly to tell.
        prop_assume!(!matches!(case.curve, Curve::Pareto(_) | Curve::Lomax(_)) || case.shape > 2.5);
        // A corner between two outermost nodes, half a per cent of a stretch, is not seen.
        let tolerance = if matches!(case.curve, Curve::Pareto(_)) { 1e-4 } else { 1e-8 };
        let curve = Renewal::new(|t| case.survival(t)).unwrap();
        let elapsed = u * case.scale;
        prop_assert!(close(curve.rate(), case.rate(), tolerance));
        prop_assert!(close(curve.stale(elapsed), case.curve.stale(elapsed), tolerance));
        prop_assert!(close(curve.worth(elapsed), case.curve.worth(elapsed), tolerance));
        prop_assert!(close(curve.worth_limit(), case.curve.worth_limit(), tolerance.max(1e-5)));
        let worth = 0.5 * case.curve.worth_limit();
        let (found, closed) = (curve.elapsed_at(worth), case.curve.elapsed_at(worth));
        prop_assert!(close(found, closed, 10.0 * tolerance), "{found} {closed}");
    }

    #[test]
    fn mixture_is_the_mean_of_its_parts(a in cases(), b in cases(), share in 0.0..1.0_f64, u in 0.01..20.0_f64) {
        let parts = [(2.0 * share, a.curve), (2.0 - 2.0 * share, b.curve)];
        let mixture = Mixture::new(&parts).unwrap();
        let elapsed = u * a.scale.max(b.scale);
        let mean = |f: fn(&Curve, f64) -> f64| {
            share * f(&a.curve, elapsed) + (1.0 - share) * f(&b.curve, elapsed)
        };
        prop_assert!(close(mixture.stale(elapsed), mean(Curve::stale), CLOSED));
        prop_assert!(close(mixture.worth(elapsed), mean(Curve::worth), CLOSED));
        let worth = mixture.worth(elapsed);
        prop_assert!(close(mixture.worth(mixture.elapsed_at(worth)), worth, CLOSED));
    }
}

#[test]
fn poisson_average_is_the_published_formula() {
    let (rate, window) = (0.7, 12.0);
    let law = Poisson::new(rate).unwrap();
    for x in 0..50 {
        let y = f64::from(x) + 1.0;
        let literal = 1.0 + y / (rate * window) * ((-rate * window / y).exp() - 1.0);
        assert!(close(law.average(window, f64::from(x)), literal, 1e-12), "{x}");
    }
}

#[test]
fn weibull_of_shape_one_is_poisson() {
    let (weibull, poisson) = (Weibull::new(1.0, 4.0).unwrap(), Poisson::new(0.25).unwrap());
    for elapsed in [1e-6, 0.1, 1.0, 5.0, 40.0] {
        assert!(close(weibull.stale(elapsed), poisson.stale(elapsed), CLOSED));
        assert!(close(weibull.fresh(elapsed), poisson.fresh(elapsed), CLOSED));
        assert!(close(weibull.worth(elapsed), poisson.worth(elapsed), CLOSED));
    }
    assert!(close(Weibull::with_rate(0.5, 3.0).unwrap().rate(), 3.0, CLOSED));
}

#[test]
fn lomax_is_poisson_with_an_uncertain_rate() {
    // E over the gamma density of shape a and rate b, by quadrature; Γ(3.5) = 15√π/8.
    let (a, b) = (3.5, 2.0);
    let density = |l: f64| {
        b * (b * l).powf(a - 1.0) * (-b * l).exp() / (15.0 * std::f64::consts::PI.sqrt() / 8.0)
    };
    let law = Lomax::uncertain_rate(a, b).unwrap();
    for elapsed in [0.01, 0.5, 3.0, 30.0] {
        let mean = |f: fn(&Poisson, f64) -> f64| {
            integral(|l| density(l) * f(&Poisson::new(l).unwrap(), elapsed), 0.0, 40.0)
        };
        assert!(close(law.stale(elapsed), mean(Poisson::stale), 1e-9));
        assert!(close(law.worth(elapsed), mean(Poisson::worth), 1e-9));
    }
}

#[test]
fn lomax_is_stable_at_its_difficult_ends() {
    // A sure rate is a Poisson page up to 1/a; a = 1 is its own limit; short times follow z²/2.
    let sure = Lomax::uncertain_rate(1e12, 1e12).unwrap();
    let poisson = Poisson::new(1.0).unwrap();
    for elapsed in [1e-3, 1.0, 10.0] {
        assert!(close(sure.worth(elapsed), poisson.worth(elapsed), 1e-9), "{elapsed}");
    }
    for a in [1.0 - 1e-9, 1.0 + 1e-9] {
        let (near, at) = (Lomax::uncertain_rate(a, 1.0), Lomax::uncertain_rate(1.0, 1.0));
        assert!(close(near.unwrap().worth(5.0), at.unwrap().worth(5.0), 1e-7));
    }
    let at_one = 6.0_f64.ln() - 5.0 / 6.0;
    assert!(close(Lomax::uncertain_rate(1.0, 1.0).unwrap().worth(5.0), at_one, CLOSED));
    for a in [0.1, 1.0, 2.0, 1e6] {
        let z = 1e-12 / a;
        assert!(close(Lomax::uncertain_rate(a, 1.0).unwrap().worth(z), 0.5 * a * z * z, 1e-11));
    }
}

#[test]
fn without_a_mean_nothing_is_ever_stale() {
    let laws: [Curve; 4] = [
        Pareto::new(1.0, 2.0).unwrap().into(),
        Pareto::new(0.4, 2.0).unwrap().into(),
        Lomax::new(0.9, 2.0).unwrap().into(),
        Poisson::new(0.0).unwrap().into(),
    ];
    for law in laws {
        for elapsed in [0.0, 1.0, 1e9, f64::INFINITY] {
            assert_eq!(
                (law.stale(elapsed), law.fresh(elapsed), law.worth(elapsed)),
                (0.0, 1.0, 0.0)
            );
        }
        assert_eq!((law.worth_limit(), law.elapsed_at(1e-300)), (0.0, f64::INFINITY));
        assert_eq!(
            (law.average(10.0, 3.0), law.gain(10.0, 0), law.gain(10.0, 99)),
            (0.0, 0.0, 0.0)
        );
        assert_eq!(law.fetches_at(10.0, 1e-9), 0.0);
    }
    // The limit from above: the closer the shape to one, the smaller the staleness.
    let just_above = Pareto::new(1.0 + 1e-9, 2.0).unwrap();
    assert!(just_above.stale(100.0) < 1e-8 && just_above.worth_limit() == f64::INFINITY);
}

#[test]
fn bad_parameters_are_refused_by_name() {
    assert!(Poisson::new(-1.0).is_err() && Poisson::new(f64::NAN).is_err());
    assert!(Weibull::new(0.01, 1.0).is_err() && Weibull::new(1.0, 0.0).is_err());
    assert!(Pareto::new(0.0, 1.0).is_err() && Lomax::new(2.0, f64::INFINITY).is_err());
    assert!(Mixture::new(&[]).is_err());
    assert!(Renewal::new(|t: f64| (1.0 + t).powf(-0.9)).is_err(), "no mean");
    assert!(Renewal::with_moments(|_| 0.0, 2.0, 1.0).is_err());
    let message = Weibull::new(-2.0, 1.0).unwrap_err().to_string();
    assert_eq!(message, "the shape of the Weibull law is -2, but it must be from 0.05 to 100");
}

/// A renewal process watched from far in its past, fetched at equal gaps: the share of time that
/// the copy is stale, against A(x).
#[test]
fn simulated_pages_are_as_stale_as_the_law_says() {
    let (shape, window, fetches) = (0.6, 8.0, 3_u32);
    let law = Weibull::with_rate(shape, 1.0).unwrap();
    let scale = law.elapsed_at(law.worth_limit() * 0.5) / {
        let unit = Weibull::new(shape, 1.0).unwrap();
        unit.elapsed_at(unit.worth_limit() * 0.5)
    };
    let gap = window / f64::from(fetches + 1);
    let stale: Moments = (0..4000)
        .map(|page| {
            let mut draws = Draws::of(7, "law.simulation", page);
            let mut update = || scale * draws.exponential(1.0).powf(shape.recip());
            // A start 200 mean gaps back is as good as for ever.
            let mut at = -200.0;
            while at < 0.0 {
                at += update();
            }
            let mut total = 0.0;
            for k in 0..=fetches {
                let (from, to) = (gap * f64::from(k), gap * f64::from(k + 1));
                while at < from {
                    at += update();
                }
                total += (to - at.max(from)).max(0.0);
            }
            total / window
        })
        .collect();
    let found = stale.estimate_at(0.9999);
    assert!(found.covers(law.average(window, f64::from(fetches))), "{found}");
}

#[test]
fn a_law_is_small_and_copied() {
    assert!(size_of::<Curve>() <= 24 && size_of::<Law<'_>>() <= 32);
}

proptest! {
    /// Halley's steps end where the bracketed search does, however little or much is known of a rate.
    #[test]
    fn lomax_waits_are_those_of_the_search(
        ln_shape in -7.0f64..14.0, ln_worth in -30.0f64..10.0, near in 0.0f64..1.0,
    ) {
        let law = Lomax::uncertain_rate(ln_shape.exp(), 3.0).unwrap();
        // Some worths near the limit, where there is one: there steps are many.
        let limit = law.worth_limit();
        let worth = if near > 0.5 && limit.is_finite() {
            limit * (1.0 - (-20.0 * (near - 0.5)).exp())
        } else {
            ln_worth.exp()
        };
        let (found, slow) = (law.elapsed_at(worth), invert_worth(&law, worth));
        // Near the limit a rounding of U moves τ by that over the slope of ln U.
        let slope = slow * law.slope(slow) * (slow / worth);
        let doubt = 1e-10 + 8.0 * f64::EPSILON / slope;
        prop_assert!(found == slow || (found / slow - 1.0).abs() < doubt, "{found} {slow} {slope}");
    }
}

/// Laws whose parameters have any magnitude that a caller may come with.
fn laws_of_any_magnitude() -> impl Strategy<Value = Curve> {
    (0..5, -30.0..30.0_f64, -30.0..30.0_f64, 0.0..1.0_f64).prop_map(|(kind, shape, scale, u)| {
        let (any_shape, scale) = (10_f64.powf(shape), 10_f64.powf(scale));
        match kind {
            0 => Poisson::new(scale).unwrap().into(),
            1 => Weibull::new(0.05 * 2000_f64.powf(u), scale).unwrap().into(),
            2 => Pareto::new(any_shape, scale).unwrap().into(),
            3 => Lomax::new(any_shape, scale).unwrap().into(),
            _ => Lomax::uncertain_rate(any_shape, scale).unwrap().into(),
        }
    })
}

/// Neighbouring values of an inverse come out in either order by no more than its rounding.
const INVERSE: f64 = 1e-9;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Worth into time: never NaN, later for more worth, infinite from the limit on.
    #[test]
    fn every_worth_has_its_time(
        law in laws_of_any_magnitude(), worth in -30.0..30.0_f64, more in 0.0..3.0_f64,
    ) {
        let worth = 10_f64.powf(worth);
        let (time, later) = (law.elapsed_at(worth), law.elapsed_at(worth * 10_f64.powf(more)));
        prop_assert!(time > 0.0, "{law:?} {worth}: {time}");
        prop_assert!(later >= time * (1.0 - INVERSE), "{law:?} {worth}: {time} then {later}");
        prop_assert!(worth < law.worth_limit() || time == f64::INFINITY, "{law:?} {worth}: {time}");
        let just_below = law.elapsed_at(law.worth_limit() * (1.0 - f64::EPSILON));
        prop_assert!(just_below >= 0.0, "{law:?} {just_below}");
        // A wait is a number of fetches in a window, and falls with the price.
        let (some, fewer) = (law.fetches_at(1.0, worth), law.fetches_at(1.0, worth * 10_f64.powf(more)));
        prop_assert!(some >= 0.0 && fewer <= some * (1.0 + INVERSE) + INVERSE, "{law:?} {some} {fewer}");
    }

    /// Time into staleness and worth: never NaN, between their limits, rising.
    #[test]
    fn every_time_has_its_worth(
        law in laws_of_any_magnitude(), elapsed in -30.0..30.0_f64, more in 0.0..3.0_f64, n in 0..99_u64,
    ) {
        let elapsed = 10_f64.powf(elapsed);
        let after = elapsed * 10_f64.powf(more);
        let (stale, worth) = (law.stale(elapsed), law.worth(elapsed));
        let slack = 1.0 + INVERSE;
        prop_assert!((0.0..=1.0).contains(&stale) && stale <= law.stale(after) * slack, "{law:?} {stale}");
        prop_assert!((0.0..=1.0).contains(&law.fresh(elapsed)) && law.slope(elapsed) >= 0.0);
        prop_assert!(worth >= 0.0 && worth <= law.worth_limit() * slack, "{law:?} {worth}");
        prop_assert!(worth <= law.worth(after) * slack, "{law:?} {worth} {}", law.worth(after));
        // A concave D has U ≤ τD/2.
        prop_assert!(worth <= 0.5 * elapsed * stale * slack, "{law:?} {worth} {stale}");
        let (average, gain) = (law.average(elapsed, n as f64), law.gain(elapsed, n));
        prop_assert!((-INVERSE..=slack).contains(&average) && (0.0..=1.0).contains(&gain), "{law:?}");
    }
}
