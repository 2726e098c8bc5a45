//! Estimators against their formulas, each other, their borders, and simulation.

use super::*;
use proptest::prelude::*;
use tidewatch_math::quadrature::{Aim, integrate};

/// Roots are solved to full precision; a few roundings more.
const SOLVED: f64 = 1e-11;

/// Ends of intervals: the quantile of χ² is typed with six digits, and the posterior's grid is read
/// between its nodes.
const ENDS: f64 = 1e-5;

fn close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs())
}

fn undated(gap: f64, changed: bool) -> Visit {
    Visit { gap, changed, age: None }
}

/// Histories with gaps from a second to years, in seconds.
fn histories() -> impl Strategy<Value = Vec<Visit>> {
    let visit = (0.0..8.0_f64, any::<bool>(), proptest::option::of(0.0..1.0_f64));
    let visit = visit.prop_map(|(log_gap, changed, share)| {
        let gap = 10_f64.powf(log_gap);
        Visit { gap, changed, age: share.filter(|_| changed).map(|share| share * gap) }
    });
    proptest::collection::vec(visit, 1..40)
}

fn prior() -> Gamma {
    Gamma::with_mean(1e-5, 0.7)
}

proptest! {
    /// Whatever happened: a finite rate inside its interval.
    #[test]
    fn every_estimate_is_sound(history in histories()) {
        let visits: Visits = history.into_iter().collect();
        for method in Method::ALL {
            let found = estimate(method, &visits, &prior()).unwrap();
            prop_assert!(found.rate >= 0.0 && found.rate.is_finite(), "{method:?} {found:?}");
            prop_assert!(found.low >= 0.0 && found.low <= found.rate, "{method:?} {found:?}");
            prop_assert!(found.high >= found.rate && found.high > 0.0, "{method:?} {found:?}");
        }
    }

    /// A change of unit changes rates by the same factor.
    #[test]
    fn estimates_scale_with_the_unit_of_time(history in histories(), log_unit in -6.0..6.0_f64) {
        let unit = 10_f64.powf(log_unit);
        let scale = |v: &Visit| Visit { gap: v.gap * unit, age: v.age.map(|a| a * unit), ..*v };
        let scaled: Visits = history.iter().map(scale).collect();
        let visits: Visits = history.into_iter().collect();
        let scaled_prior = Gamma { rate: prior().rate * unit, ..prior() };
        for method in Method::ALL {
            let a = estimate(method, &visits, &prior()).unwrap();
            let b = estimate(method, &scaled, &scaled_prior).unwrap();
            prop_assert!(close(a.rate, b.rate * unit, 1e-8), "{method:?} {a:?} {b:?}");
            prop_assert!(a.high == b.high || close(a.high, b.high * unit, 1e-8), "{method:?}");
            prop_assert!(close(a.low, b.low * unit, 1e-8), "{method:?} {a:?} {b:?}");
        }
    }

    /// The literal score equation, and no better likelihood nearby.
    #[test]
    fn maximum_likelihood_solves_its_equation(history in histories()) {
        let changed = || history.iter().filter(|v| v.changed).map(|v| v.gap);
        let unchanged: f64 = history.iter().filter(|v| !v.changed).map(|v| v.gap).sum();
        prop_assume!(unchanged > 0.0 && changed().next().is_some());
        let found = maximum_likelihood(&history).unwrap();
        let left: f64 = changed().map(|c| c / (found.rate * c).exp_m1()).sum();
        prop_assert!(close(left, unchanged, 1e-9), "{left} {unchanged}");
        let likelihood = |rate: f64| {
            changed().map(|c| (-(-rate * c).exp_m1()).ln()).sum::<f64>() - rate * unchanged
        };
        let drop = likelihood(found.rate) - 1.920729;
        prop_assert!((likelihood(found.low) - drop).abs() < ENDS);
        prop_assert!((likelihood(found.high) - drop).abs() < ENDS);
    }

    #[test]
    fn moments_match(history in histories()) {
        let seen = history.iter().filter(|v| v.changed).count() as f64;
        prop_assume!(seen > 0.0 && seen < history.len() as f64);
        let found = moment_matching(&history).unwrap();
        let expected: f64 = history.iter().map(|v| -(-found.rate * v.gap).exp_m1()).sum();
        prop_assert!(close(expected, seen, SOLVED), "{expected} {seen}");
    }

    /// For equal gaps likelihood and moments both give −ln(1 − X/n)/I.
    #[test]
    fn equal_gaps_have_a_closed_form(n in 2..50_usize, share in 0.0..1.0_f64, gap in 0.1..1e6_f64) {
        let x = 1 + (share * (n - 2) as f64) as usize;
        let history: Vec<Visit> = (0..n).map(|i| undated(gap, i < x)).collect();
        let literal = -(1.0 - x as f64 / n as f64).ln() / gap;
        prop_assert!(close(maximum_likelihood(&history).unwrap().rate, literal, SOLVED));
        prop_assert!(close(moment_matching(&history).unwrap().rate, literal, SOLVED));
        let counts = *history.iter().copied().collect::<Visits>().counts();
        let (n, x) = (n as f64, x as f64);
        let literal = -((n - x + 0.5) / (n + 0.5)).ln() / gap;
        prop_assert!(close(counts.bias_reduced().unwrap().rate, literal, SOLVED));
        prop_assert!(close(counts.naive().unwrap().rate, x / (n * gap), SOLVED));
    }

    /// Sums are all there is to equal gaps, and nearly all to gaps within a factor of three.
    #[test]
    fn sums_are_nearly_enough_for_the_posterior(
        history in proptest::collection::vec((any::<bool>(), 0.5..1.5_f64), 1..40),
        expected in 0.05..3.0_f64,
        shape in 0.5..5.0_f64,
    ) {
        let prior = Gamma::with_mean(expected, shape);
        for (spread, tolerance) in [(0.0, 1e-9), (1.0, 0.05)] {
            let visit = |&(changed, gap): &(bool, f64)| undated(1.0 + spread * (gap - 1.0), changed);
            let visits: Visits = history.iter().map(visit).collect();
            let exact = posterior(visits.visits(), &prior);
            let found = posterior_from_sums(visits.counts(), &prior);
            let deviation = exact.gamma.mean() / exact.gamma.shape.sqrt();
            let error = (found.gamma.mean() - exact.gamma.mean()).abs() / deviation;
            prop_assert!(error < tolerance, "{error} {found:?} {exact:?}");
        }
    }

    /// Against the binomial series of the integral, with x changes after equal gaps u and Q quiet:
    /// E e^(−λt) = Z(Q + t) / Z(Q), Z(q) = Σₖ C(x, k) (−1)ᵏ (q + ku)⁻ᵃ. Few changes, so that the series
    /// does not cancel.
    #[test]
    fn the_chance_of_no_change_is_the_integral_over_the_posterior(
        quiet in 0u32..5, changed in 0u32..4, gap in 0.5..20.0_f64, wait in 0.1..50.0_f64,
        shape in 0.2..3.0_f64,
    ) {
        let prior = Gamma { shape, rate: shape * 2.0 };
        let seen = |changed| move |_| undated(gap, changed);
        let visits: Visits = (0..quiet).map(seen(false)).chain((0..changed).map(seen(true))).collect();
        let z = |q: f64| (0..=changed).map(|k| {
            let choices = (0..k).map(|i| f64::from(changed - i) / f64::from(i + 1)).product::<f64>();
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sign * choices * (q + f64::from(k) * gap).powf(-shape)
        }).sum::<f64>();
        let held = prior.rate + f64::from(quiet) * gap;
        let [found] = unchanged_from_sums(visits.counts(), &prior, 1.0, [wait]);
        prop_assert!(close(found, z(held + wait) / z(held), 1e-7), "{found}");
        let matched = posterior_from_sums(visits.counts(), &prior).gamma;
        let matched = (1.0 + wait / matched.rate).powf(-matched.shape);
        // A rate that is known better than the gamma law of its moments says: fewer stay unchanged.
        prop_assert!(found <= matched + 1e-9 || wait < gap, "{found} {matched}");
        let [alone] = unchanged_from_sums(visits.counts(), &prior, 0.0, [wait]);
        prop_assert!(close(alone, (1.0 + wait / prior.rate).powf(-shape), 1e-9), "{alone}");
    }

    /// The grid against adaptive quadrature of the literal posterior.
    #[test]
    fn posterior_is_the_integral_of_its_density(history in histories(), shape in 0.2..5.0_f64) {
        // Gaps within a factor of a thousand, so that the oracle's plain quadrature sees them all.
        let history: Vec<Visit> = history.iter()
            .map(|v| { let gap = 1.0 + v.gap % 1000.0; Visit { gap, age: v.age.map(|_| gap / 3.0), ..*v } })
            .collect();
        let prior = Gamma { shape, rate: shape * 30.0 };
        let found = posterior(&history, &prior);
        let log_density = |theta: f64| {
            let rate = theta.exp();
            let seen: f64 = history.iter().map(|v| match (v.changed, v.age) {
                (false, _) => -rate * v.gap,
                (true, Some(age)) => theta - rate * age,
                (true, None) => (-(-rate * v.gap).exp_m1()).ln(),
            }).sum();
            seen + prior.shape * theta - prior.rate * rate
        };
        let centre = found.estimate.rate.ln();
        let top = log_density(centre);
        let integral = |f: &dyn Fn(f64) -> f64, to: f64| {
            // The left tail falls as e^(shape·θ) if nothing changed.
            let pieces = [centre - 45.0 / shape.min(1.0), centre - 45.0, centre - 15.0, centre - 5.0, centre - 1.0, centre, centre + 1.0, centre + 4.0, centre + 7.0];
            let g = |theta: f64| f(theta) * (log_density(theta) - top).exp();
            pieces.windows(2).filter(|p| p[0] < to)
                .map(|p| integrate(g, p[0], p[1].min(to), Aim::relative(1e-10)).unwrap().value)
                .sum::<f64>()
        };
        let end = f64::INFINITY;
        let mass = integral(&|_| 1.0, end);
        let mean = integral(&|theta| theta.exp(), end) / mass;
        prop_assert!(close(found.estimate.rate, mean, 1e-7), "{} {mean}", found.estimate.rate);
        let below = |rate: f64| integral(&|_| 1.0, rate.ln()) / mass;
        prop_assert!((below(found.estimate.low) - 0.025).abs() < ENDS);
        prop_assert!((below(found.estimate.high) - 0.975).abs() < ENDS);
        prop_assert!(close(found.gamma.mean(), mean, 1e-7));
    }
}

#[test]
fn borders_are_as_documented() {
    let none: Vec<Visit> = vec![undated(2.0, false); 5];
    let all: Vec<Visit> = vec![undated(2.0, true); 5];
    let ml = maximum_likelihood(&none).unwrap();
    assert_eq!((ml.rate, ml.low), (0.0, 0.0));
    assert!(close(ml.high, -0.025_f64.ln() / 10.0, SOLVED));
    let ml = maximum_likelihood(&all).unwrap();
    // (1 − e^(−2λ))⁵ = ½ and 0.025.
    assert!(close(ml.rate, -(1.0 - 0.5_f64.powf(0.2)).ln() / 2.0, SOLVED));
    assert!(close(ml.low, -(1.0 - 0.025_f64.powf(0.2)).ln() / 2.0, SOLVED));
    assert_eq!(ml.high, f64::INFINITY);
    assert_eq!(moment_matching(&none).unwrap().rate, 0.0);
    assert!(close(moment_matching(&all).unwrap().rate, -0.1_f64.ln() / 2.0, SOLVED));
    let counts = |history: &[Visit]| *history.iter().copied().collect::<Visits>().counts();
    assert!(close(counts(&all).bias_reduced().unwrap().rate, 11.0_f64.ln() / 2.0, SOLVED));
    assert_eq!(counts(&none).long_run().unwrap().rate, 0.0);
    assert_eq!(counts(&all).long_run().unwrap().rate, 2.5);
    let after = posterior(&none, &Gamma { shape: 2.0, rate: 3.0 });
    assert_eq!(after.gamma, Gamma { shape: 2.0, rate: 13.0 });
    assert!(posterior(&all, &prior()).estimate.high.is_finite());
    for method in Method::ALL.into_iter().filter(|&method| method != Method::Bayes) {
        assert_eq!(estimate(method, &Visits::new(), &prior()), None);
        assert_eq!(method.name().parse(), Ok(method));
    }
    assert_eq!(posterior(&[], &prior()).gamma, prior());
    assert!("best".parse::<Method>().is_err());
}

#[test]
fn last_modified_is_the_published_algorithm() {
    // Three visits, two changes 0.5 and 2 before their visits.
    let history = [(4.0, Some(0.5)), (3.0, None), (5.0, Some(2.0))];
    let visits: Visits = history
        .iter()
        .map(|&(gap, age): &(f64, Option<f64>)| Visit { gap, changed: age.is_some(), age })
        .collect();
    let (t, x, n) = (0.5 + 3.0 + 2.0, 2.0, 3.0_f64);
    let corrected = (x - 1.0) - x / (n * (1.0 - x / n).ln());
    assert!(close(visits.counts().last_modified().unwrap().rate, corrected / t, SOLVED));
    let all: Visits = (0..4).map(|_| Visit { gap: 1.0, changed: true, age: Some(0.25) }).collect();
    assert!(close(all.counts().last_modified().unwrap().rate, 3.0 / 1.0, SOLVED));
    // A server that dates every answer with its own moment says nothing.
    let stamped: Visits =
        (0..4).map(|_| Visit { gap: 1.0, changed: true, age: Some(0.0) }).collect();
    assert_eq!(stamped.counts().last_modified(), stamped.counts().bias_reduced());
    // Without any date: maximum likelihood, corrected.
    let bare: Visits =
        [true, true, false, true, false].map(|changed| undated(2.0, changed)).into_iter().collect();
    let corrected = 2.0 - 3.0 / (5.0 * 0.4_f64.ln());
    let peak = maximum_likelihood(bare.visits()).unwrap().rate;
    assert!(close(bare.counts().last_modified().unwrap().rate, peak * corrected / 3.0, SOLVED));
}

#[test]
fn page_records_sums_are_enough_for_equal_gaps() {
    let visits: Visits =
        [true, false, true, false, false].map(|c| undated(7.0, c)).into_iter().collect();
    let sums = Counts::from_sums(5, 2, 35.0, 14.0).unwrap();
    assert_eq!(&sums, visits.counts());
    assert_eq!(Counts::from_sums(1, 2, 35.0, 14.0), None);
    assert_eq!(Counts::from_sums(5, 2, 3.0, 14.0), None);
}

/// How far a Monte-Carlo mean may be from a figure given to two digits: half of the last digit
/// beside four standard errors (the 95 % half width is about two).
fn agrees(row: &BiasRow, figure: f64) -> bool {
    (row.relative.mean - figure).abs() <= 0.005 + 2.0 * row.relative.half_width
}

#[test]
fn bias_is_as_published() {
    let rows = bias_table(10, &[0.3, 1.0, 2.0, 3.0], 4000, 11);
    let check = |method: Method, figures: &[f64]| {
        for (row, &figure) in rows.iter().filter(|row| row.method == method).zip(figures) {
            assert!(agrees(row, figure), "{row:?} should be {figure}");
        }
    };
    check(Method::Naive, &[0.86, 0.63, 0.43, 0.32]);
    check(Method::BiasReduced, &[1.00, 1.00, 0.97, 0.85]);
    check(Method::LastModified, &[1.00, 1.01, 1.01]);
}

/// Nominally 95 %: the two exact-likelihood methods must not be far below where their data suffice.
#[test]
fn intervals_cover_the_truth() {
    let rows = bias_table(20, &[0.3, 1.0], 1500, 5);
    for row in &rows {
        let about_the_rate = matches!(
            row.method,
            Method::BiasReduced | Method::MaximumLikelihood | Method::Moment | Method::LastModified
        );
        // Four standard errors of a share of 1500 below 95 %, and two points for approximate methods.
        if about_the_rate {
            assert!(row.coverage > 0.95 - 0.0225 - 0.02, "{row:?}");
        }
    }
}

#[test]
fn pooling_beats_each_page_alone() {
    use tidewatch_math::Draws;
    // Two hosts, fast and slow; within a host rates vary by a factor; few visits a page.
    let (mut members, mut pages) = (Vec::new(), Vec::new());
    for page in 0..600_u64 {
        let mut draws = Draws::of(3, "pool", page);
        let host = page % 2;
        let mean = if host == 0 { 2.0 } else { 0.05 };
        let rate = mean * (0.5 * (draws.uniform() + draws.uniform()) + 0.5);
        let visits: Visits = (0..6)
            .map(|_| {
                let gap = 0.2 + 2.0 * draws.uniform();
                undated(gap, draws.chance(-(-rate * gap).exp_m1()))
            })
            .collect();
        members.push(Member { host, pattern: page / 2 % 3, counts: *visits.counts() });
        pages.push((host, page / 2 % 3, rate, visits));
    }
    let pool = Pool::fit(&members).unwrap();
    let (mut pooled, mut alone, mut covered) = (0.0, 0.0, 0);
    for (host, pattern, rate, visits) in &pages {
        let found = posterior(visits.visits(), &pool.prior(*host, *pattern)).estimate;
        covered += u32::from(found.low <= *rate && *rate <= found.high);
        pooled += (found.rate.ln() - rate.ln()).powi(2);
        let single = visits.counts().bias_reduced().unwrap().rate.max(1e-3);
        alone += (single.ln() - rate.ln()).powi(2);
    }
    assert!(pooled < 0.25 * alone, "{pooled} against {alone}");
    assert!(f64::from(covered) / 600.0 > 0.9, "{covered} of 600");
    // An unseen pattern leans on its host, an unseen host on all, ever more vaguely.
    let (known, host_only, nothing) = (pool.prior(1, 0), pool.prior(1, 99), pool.prior(9, 0));
    assert!(known.mean() < 0.1 && host_only.mean() < 0.1 && nothing.mean() > 0.05);
    assert!(known.shape > host_only.shape && host_only.shape > nothing.shape);
    assert_eq!(Pool::fit(&[]), None);
    let unwatched = Member { host: 0, pattern: 0, counts: Counts::default() };
    assert_eq!(Pool::fit(&[unwatched]), None);
}

#[test]
fn a_pool_in_which_nothing_changed_is_finite() {
    let quiet = Counts::from_sums(4, 0, 100.0, 0.0).unwrap();
    let busy = Counts::from_sums(4, 4, 100.0, 100.0).unwrap();
    for counts in [quiet, busy] {
        let members: Vec<Member> =
            (0..20).map(|i| Member { host: i % 3, pattern: i % 2, counts }).collect();
        let pool = Pool::fit(&members).unwrap();
        let prior = pool.prior(0, 0);
        assert!(prior.mean() > 0.0 && prior.mean().is_finite() && prior.shape > 0.0, "{pool:?}");
    }
}

#[test]
fn constant_memory_estimators_converge_under_random_visits() {
    use tidewatch_math::Draws;
    let (rate, visit_rate) = (0.4, 1.0);
    let mut draws = Draws::of(1, "long run", 0);
    let visits: Visits = (0..60_000)
        .map(|_| {
            let gap = draws.exponential(visit_rate);
            undated(gap, draws.chance(-(-rate * gap).exp_m1()))
        })
        .collect();
    // Four deviations: that of the share is √(θ(1−θ)/n) = 0.0018, times dλ/dθ = p/(1−θ)² ≈ 2.
    let long_run = visits.counts().long_run().unwrap();
    assert!((long_run.rate - rate).abs() < 4.0 * 0.0018 * 2.0, "{long_run:?}");
    // The last step is 60000^(−¾) = 2.6·10⁻⁴; the noise of one is about p, its filtered deviation
    // √(η/2)·(p + λ)√(θ(1−θ)) ≈ 0.007.
    let stochastic = Stochastic::after(visits.visits()).estimate().unwrap();
    assert!((stochastic.rate - rate).abs() < 4.0 * 0.007, "{stochastic:?}");
}

/// The posterior of visits and of changes told one by one, by the likelihood as it is defined:
/// λᵏe^(−λt) for those told of, e^(−λu) for a quiet gap, 1 − e^(−λc) for one that saw a change.
#[test]
fn changes_told_of_count_beside_visits() {
    const NODES: u32 = 200_000;
    let prior = Gamma { shape: 0.5, rate: 2.0 };
    let (told, time, quiet, gap) = (4.0, 9.0, 3.0, 1.5);
    let counts = Counts::from_sums(3, 1, quiet + gap, gap).unwrap().and_told(told, time);
    let (mut mass, mut first) = (0.0, 0.0);
    for node in 0..NODES {
        let rate = 10.0 * (f64::from(node) + 0.5) / f64::from(NODES);
        let density = rate.powf(prior.shape - 1.0 + told)
            * (-rate * (prior.rate + time + quiet)).exp()
            * -(-rate * gap).exp_m1();
        mass += density;
        first += density * rate;
    }
    let found = posterior_from_sums(&counts, &prior).estimate.rate;
    // Midpoints of a smooth density.
    assert!((found / (first / mass) - 1.0).abs() < 1e-6, "{found} {}", first / mass);
}
