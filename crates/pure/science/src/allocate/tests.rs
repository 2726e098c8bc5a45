use proptest::prelude::*;
use tidewatch_math::Draws;

use super::search::NARROW;
use super::*;

/// Rates may be mixed from two prices this far apart.
const KKT: f64 = search::NARROW;
/// Rates of two allocations differ by this much where they should be equal: prices are known to
/// 10⁻¹⁰, and a rate moves by a few times that.
const ORDER: f64 = 1e-9;
/// What the sum of the rates can resolve.
const SPENT: f64 = 1e-12;
/// A score near its maximum is flat: an error of 10⁻⁶ in a rate costs 10⁻¹² of the score.
const FLAT: f64 = 1e-11;

/// Columns of a random population.
#[derive(Clone, Debug, Default)]
struct Population {
    weight: Vec<f64>,
    change_rate: Vec<f64>,
    min: Vec<f64>,
    max: Vec<f64>,
    host: Vec<u32>,
    caps: Vec<f64>,
}

impl Population {
    fn draw(pages: usize, seed: u64) -> Self {
        let mut all = Self::default();
        let mut draws = Draws::of(seed, "allocate.population", 0);
        for _ in 0..pages {
            all.weight.push(if draws.chance(0.05) { 0.0 } else { draws.exponential(1.0) });
            let change = (draws.uniform() * 12.0 - 6.0).exp();
            let odd = [0.0, f64::INFINITY];
            let is_odd = draws.chance(0.05);
            all.change_rate.push(if is_odd { odd[draws.below(2) as usize] } else { change });
            let min = if draws.chance(0.3) { draws.uniform() * 0.1 } else { 0.0 };
            all.min.push(min);
            let max = if draws.chance(0.3) { min + draws.uniform() } else { f64::INFINITY };
            all.max.push(max);
            all.host.push(draws.below(5) as u32);
        }
        all.caps = (0..5).map(|host| host_cap(&all, host)).collect();
        all
    }

    fn pages(&self) -> Pages<'_> {
        Pages {
            weight: &self.weight,
            change_rate: &self.change_rate,
            min: Some(&self.min),
            max: Some(&self.max),
            host: Some(&self.host),
        }
    }
}

/// Host 0 has no cap; the others allow a little above their minima.
fn host_cap(all: &Population, host: u32) -> f64 {
    let rows = all.host.iter().zip(&all.min).filter(|(own, _)| **own == host);
    let least: f64 = rows.map(|(_, min)| min).sum();
    if host == 0 {
        f64::INFINITY
    } else {
        least + 0.1 * f64::from(host) * all.host.len() as f64 / 5.0
    }
}

/// Checks bounds, caps, the budget and the Lagrange conditions of every page.
fn assert_optimal(all: &Population, budget: f64, objective: Objective, caps: Option<&[f64]>) {
    let found = allocate(&all.pages(), budget, objective, caps).unwrap();
    let scale = budget.max(f64::MIN_POSITIVE);
    assert!(found.residual.abs() <= SPENT * scale, "{objective}: {found:?}");
    for (page, &rate) in found.rates.iter().enumerate() {
        let (min, max) = (all.min[page], all.max[page]);
        assert!((min..=max).contains(&rate), "{objective} {page}: {rate}");
        let own = caps.map_or(found.price, |_| found.host_prices[all.host[page] as usize]);
        let marginal = all.weight[page] * objective.marginal(all.change_rate[page], rate);
        let marginal = if all.weight[page] == 0.0 { 0.0 } else { marginal };
        assert!(rate <= min || marginal >= own * (1.0 - KKT), "{objective} {page}: too much");
        assert!(rate >= max || marginal <= own * (1.0 + KKT), "{objective} {page}: too little");
    }
    for (host, &cap) in caps.unwrap_or(&[]).iter().enumerate() {
        let rows = found.rates.iter().zip(&all.host).filter(|(_, own)| **own as usize == host);
        let total: f64 = rows.map(|(rate, _)| rate).sum();
        assert!(total <= cap * (1.0 + SPENT), "{objective} host {host}: {total} > {cap}");
        let saturated = found.host_prices[host] > found.price;
        assert!(!saturated || total >= cap * (1.0 - SPENT), "host {host}: {total} < {cap}");
    }
}

#[test]
fn every_page_meets_the_lagrange_conditions() {
    for (pages, seed) in [(1, 1), (3, 2), (40, 3), (1000, 4), (70_000, 5)] {
        let all = Population::draw(pages, seed);
        let least: f64 = all.min.iter().sum();
        for objective in Objective::ALL {
            for per_page in [1e-9, 1e-3, 0.1, 1.0, 30.0] {
                let budget = least + per_page * pages as f64;
                assert_optimal(&all, budget, objective, None);
                assert_optimal(&all, budget, objective, Some(&all.caps));
            }
        }
    }
}

/// Moves rate between pairs of pages while the score improves: knows scores and constraints
/// only, no derivative and no price. Exchanges of pairs suffice on nested constraints.
fn by_exchange(all: &Population, budget: f64, objective: Objective, caps: &[f64]) -> f64 {
    let n = all.weight.len();
    let sign = if objective.is_gain() { 1.0 } else { -1.0 };
    let score = |page: usize, rate: f64| {
        sign * all.weight[page] * objective.score(all.change_rate[page], rate)
    };
    let mut rates = feasible(all, budget, caps);
    for _ in 0..4000 {
        let mut moved = 0.0_f64;
        for (to, from) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let used: f64 = (0..n).filter(|&k| all.host[k] == all.host[to]).map(|k| rates[k]).sum();
            let same = all.host[to] == all.host[from];
            let slack = if same { f64::INFINITY } else { caps[all.host[to] as usize] - used };
            let most = (rates[from] - all.min[from]).min(all.max[to] - rates[to]).min(slack);
            let gain = |d: f64| score(to, rates[to] + d) + score(from, rates[from] - d);
            let (mut low, mut high) = (0.0, most.max(0.0));
            for _ in 0..80 {
                let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
                if gain(a) < gain(b) { low = a } else { high = b }
            }
            let step = f64::midpoint(low, high);
            if gain(step) > gain(0.0) {
                rates[to] += step;
                rates[from] -= step;
                moved = moved.max(step);
            }
        }
        if moved < 1e-9 * budget {
            break;
        }
    }
    sign * (0..n).map(|page| score(page, rates[page])).sum::<f64>()
}

/// Any rates within bounds and caps: from the minima up, page after page.
fn feasible(all: &Population, budget: f64, caps: &[f64]) -> Vec<f64> {
    let mut rates = all.min.clone();
    for round in [0.2, 1.0] {
        for page in 0..rates.len() {
            let host = all.host[page];
            let used: f64 =
                (0..rates.len()).filter(|&k| all.host[k] == host).map(|k| rates[k]).sum();
            let left = budget - rates.iter().sum::<f64>();
            let room =
                (all.max[page] - rates[page]).min(caps[host as usize] - used).min(left * round);
            rates[page] += room.max(0.0);
        }
    }
    rates
}

#[test]
fn no_exchange_between_pages_improves_it() {
    for seed in 0..30 {
        let mut all = Population::draw(2 + seed as usize % 5, 100 + seed);
        // Pages that matter only: an infinite age of a page of weight zero is not a number.
        for page in 0..all.weight.len() {
            all.weight[page] = all.weight[page].max(0.1);
            all.change_rate[page] = all.change_rate[page].clamp(0.1, 10.0);
            all.min[page] = all.min[page].max(0.01);
            all.max[page] = all.max[page].max(0.02);
        }
        all.caps = (0..5).map(|host| host_cap(&all, host)).collect();
        let budget = all.min.iter().sum::<f64>() + 0.7;
        for objective in Objective::ALL {
            let caps = if seed % 2 == 0 { all.caps.clone() } else { vec![f64::INFINITY; 5] };
            let found = allocate(&all.pages(), budget, objective, Some(&caps)).unwrap();
            if found.unspent > 0.0 {
                continue;
            }
            let best = found.score(&all.pages(), objective).0;
            let slow = by_exchange(&all, budget, objective, &caps);
            assert!(
                (best - slow).abs() <= 1e3 * FLAT * best.abs(),
                "{objective} {seed}: {best} {slow}"
            );
            let ahead = if objective.is_gain() { best - slow } else { slow - best };
            assert!(ahead >= -FLAT * best.abs(), "{objective} {seed}: {best} {slow}");
        }
    }
}

/// Rates that maximise Σ μρ/(ρ + Δ) with Σ ρ = R, exactly, in O(n log n) \[AHLPS18\].
///
/// Pages in ascending order of μ/Δ; r = Σ √(μΔ), s = Σ Δ over the pages kept; page i is dropped
/// while μᵢ/Δᵢ ≤ (r/(R + s))²; the others get ρ = √(μΔ)·(R + s)/r − Δ. No bounds, no hosts; it
/// checks the search by price, which has both. Pages of weight zero and pages that never change
/// or change at once get nothing; if there are no others the budget stays unspent.
fn memoryless_exact(weight: &[f64], change_rate: &[f64], budget: f64) -> Vec<f64> {
    let ratio = |page: usize| weight[page] / change_rate[page];
    let mut kept: Vec<usize> = (0..weight.len().min(change_rate.len()))
        .filter(|&i| weight[i] > 0.0 && change_rate[i] > 0.0 && change_rate[i].is_finite())
        .collect();
    kept.sort_by(|&a, &b| ratio(b).total_cmp(&ratio(a)));
    let root = |page: usize| (weight[page] * change_rate[page]).sqrt();
    // Best first: a page stays if it is worth its place among itself and those before it. Adding
    // up from the best keeps r and s free of the cancellation that subtracting would bring.
    let (mut r, mut s, mut count) = (0.0, 0.0, 0);
    for &page in &kept {
        let (with_r, with_s) = (r + root(page), s + change_rate[page]);
        let price_root = with_r / (budget + with_s);
        if ratio(page) <= price_root * price_root {
            break;
        }
        (r, s, count) = (with_r, with_s, count + 1);
    }
    let mut rates = vec![0.0; weight.len()];
    for &page in &kept[..count] {
        rates[page] = (root(page) * ((budget + s) / r) - change_rate[page]).max(0.0);
    }
    rates
}

#[test]
fn memoryless_equals_the_exact_method() {
    for (pages, seed) in [(1, 7), (2, 8), (50, 9), (5000, 10)] {
        let all = Population::draw(pages, seed);
        for per_page in [1e-3, 0.1, 10.0] {
            let budget = per_page * pages as f64;
            let bare = Pages::new(&all.weight, &all.change_rate);
            let found = allocate(&bare, budget, Objective::Memoryless, None).unwrap();
            let exact = memoryless_exact(&all.weight, &all.change_rate, budget);
            for (page, (a, b)) in found.rates.iter().zip(&exact).enumerate() {
                // A rate is a difference of two numbers of the size of λ.
                let scale = a.max(*b) + all.change_rate[page].min(1e3);
                assert!((a - b).abs() <= FLAT * scale, "{page}: {a} {b}");
            }
        }
    }
}

#[test]
fn equal_pages_share_equally_and_one_page_takes_all() {
    for objective in Objective::ALL {
        for (pages, budget) in [(1, 5.0), (1, 1e-9), (1, 1e9), (7, 3.5), (100, 1e-7)] {
            let (weight, change) = (vec![2.0; pages], vec![3.0; pages]);
            let found = allocate(&Pages::new(&weight, &change), budget, objective, None).unwrap();
            for rate in &found.rates {
                let share = budget / pages as f64;
                assert!((rate / share - 1.0).abs() <= 2.0 * SPENT, "{objective}: {rate} {share}");
            }
            assert!(found.residual.abs() <= SPENT * budget);
        }
    }
}

#[test]
fn a_page_that_changes_too_fast_is_given_up_first() {
    // The two pages of nine changes and one a day: the fast one waits until the budget suffices.
    let pages = Pages::new(&[1.0, 1.0], &[9.0, 1.0]);
    let small = allocate(&pages, 0.3, Objective::Freshness, None).unwrap();
    assert_eq!((small.rates[0], small.given_up), (0.0, 1));
    let large = allocate(&pages, 10.0, Objective::Freshness, None).unwrap();
    assert!(large.rates[0] > large.rates[1] && large.given_up == 0);
    for objective in [Objective::Age, Objective::Harmonic] {
        let found = allocate(&pages, 0.3, objective, None).unwrap();
        assert!(found.rates[0] > 0.0 && found.given_up == 0);
    }
}

#[test]
fn few_passes_suffice_from_a_sample() {
    let all = Population::draw(300_000, 11);
    for objective in Objective::ALL {
        let bare = Pages::new(&all.weight, &all.change_rate);
        let found = allocate(&bare, 60_000.0, objective, None).unwrap();
        assert!(found.passes <= 7, "{objective}: {} passes", found.passes);
        assert!(found.residual.abs() <= SPENT * 60_000.0);
    }
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let all = Population::draw(100_000, 12);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let solve = || allocate(&all.pages(), 2e4, Objective::Freshness, Some(&all.caps)).unwrap();
        pool.install(solve)
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn edge_cases_of_the_textbook_are_defined() {
    let weight = [0.0, 1.0, 1.0];
    let change = [1.0, 0.0, 1.0];
    let (min, max) = ([0.5, 0.25, 0.0], [9.0, 9.0, 2.0]);
    let pages = Pages { min: Some(&min), max: Some(&max), ..Pages::new(&weight, &change) };
    for objective in Objective::ALL {
        let above = allocate(&pages, 100.0, objective, None).unwrap();
        assert_eq!((above.rates.as_slice(), above.price), ([0.5, 0.25, 2.0].as_slice(), 0.0));
        assert_eq!((above.unspent, above.residual), (97.25, 0.0));
        let least = allocate(&pages, 0.75, objective, None).unwrap();
        assert_eq!((least.rates.as_slice(), least.price), (min.as_slice(), f64::INFINITY));
        let below = allocate(&pages, 0.7, objective, None);
        let sums = AllocateError::BelowMinimum { minimum: 0.75, budget: 0.7 };
        assert_eq!(below, Err(sums));
        let nothing = allocate(&Pages::new(&[0.0; 3], &change), 5.0, objective, None).unwrap();
        assert_eq!((nothing.unspent, nothing.spent), (5.0, 0.0));
        let empty = allocate(&Pages::default(), 1.0, objective, None).unwrap();
        assert_eq!((empty.unspent, empty.rates.len()), (1.0, 0));
        let zero = allocate(&Pages::new(&weight, &change), 0.0, objective, None).unwrap();
        assert_eq!(zero.rates, [0.0; 3]);
    }
}

#[test]
fn input_that_is_no_problem_is_refused_by_name() {
    let good = [1.0, 2.0];
    let allocate = |pages: Pages<'_>, budget, caps: Option<&[f64]>| {
        super::allocate(&pages, budget, Objective::Freshness, caps).unwrap_err()
    };
    for bad in [f64::NAN, -1.0, 1e60, 1e-60, f64::NEG_INFINITY] {
        let column = [1.0, bad];
        let error = allocate(Pages::new(&column, &good), 1.0, None);
        assert!(matches!(error, AllocateError::Value { page: 1, column: "weight", .. }));
        let error = allocate(Pages::new(&good, &column), 1.0, None);
        assert!(matches!(error, AllocateError::Value { page: 1, column: "change_rate", .. }));
        let error = allocate(Pages { min: Some(&column), ..Pages::new(&good, &good) }, 1.0, None);
        assert!(matches!(error, AllocateError::Value { page: 1, column: "min", .. }));
        assert!(matches!(
            allocate(Pages::new(&good, &good), bad, None),
            AllocateError::Budget { .. }
        ));
        let hosts = Pages { host: Some(&[0, 1]), ..Pages::new(&good, &good) };
        let error = allocate(hosts, 1.0, Some(&column));
        assert!(matches!(error, AllocateError::Host { host: 1, .. }));
    }
    let infinite = [1.0, f64::INFINITY];
    let error = allocate(Pages::new(&infinite, &good), 1.0, None);
    assert!(matches!(error, AllocateError::Value { page: 1, .. }));
    let error = allocate(Pages::new(&good, &good[..1]), 1.0, None);
    assert!(matches!(
        error,
        AllocateError::Length { column: "change_rate", found: 1, expected: 2 }
    ));
    let crossed = Pages { min: Some(&[2.0, 0.0]), max: Some(&good), ..Pages::new(&good, &good) };
    assert!(matches!(allocate(crossed, 9.0, None), AllocateError::Bounds { page: 0, .. }));
    let stray = Pages { host: Some(&[0, 7]), ..Pages::new(&good, &good) };
    assert!(matches!(allocate(stray, 1.0, Some(&[1.0])), AllocateError::Host { host: 7, .. }));
    let tight = Pages { host: Some(&[0, 0]), min: Some(&[1.0, 1.0]), ..Pages::new(&good, &good) };
    let error = allocate(tight, 9.0, Some(&[1.5]));
    assert_eq!(error, AllocateError::HostBelowMinimum { host: 0, minimum: 2.0, cap: 1.5 });
    let nameless = allocate(Pages::new(&good, &good), 1.0, Some(&[1.0]));
    assert!(matches!(nameless, AllocateError::Length { column: "host", .. }));
}

/// A budget that falls into the jump at a price where a host becomes saturated: the pages of that
/// host must then be mixed between its cap and its demand, not between two demands.
#[test]
fn a_budget_inside_the_jump_of_a_saturated_host_is_spent_exactly() {
    let all = Population::draw(20, 3749799848271159390);
    let budget = all.min.iter().sum::<f64>() + 11.145418973090345;
    assert_optimal(&all, budget, Objective::Freshness, Some(&all.caps));
}

proptest! {
    #[test]
    fn more_budget_never_takes_from_a_page(seed: u64, budget in 0.01..50.0_f64, more in 1.0..4.0_f64) {
        let all = Population::draw(20, seed);
        let least = all.min.iter().sum::<f64>();
        for objective in Objective::ALL {
            let at = |b: f64| allocate(&all.pages(), least + b, objective, Some(&all.caps)).unwrap();
            let (poor, rich) = (at(budget), at(budget * more));
            prop_assert!(rich.price <= poor.price * (1.0 + KKT));
            for (a, b) in poor.rates.iter().zip(&rich.rates) {
                prop_assert!(*b >= a * (1.0 - ORDER), "{objective}: {a} {b}");
            }
        }
    }

    #[test]
    fn more_weight_never_lowers_a_rate(seed: u64, factor in 1.0..10.0_f64) {
        let all = Population::draw(12, seed);
        let mut heavier = all.clone();
        heavier.weight[0] *= factor;
        let budget = all.min.iter().sum::<f64>() + 3.0;
        for objective in Objective::ALL {
            let before = allocate(&all.pages(), budget, objective, None).unwrap();
            let after = allocate(&heavier.pages(), budget, objective, None).unwrap();
            prop_assert!(after.rates[0] >= before.rates[0] * (1.0 - ORDER), "{objective}");
        }
    }

    #[test]
    fn units_do_not_matter(seed: u64, weight in 1e-6..1e6_f64, time in 1e-6..1e6_f64) {
        let mut all = Population::draw(10, seed);
        all.change_rate.iter_mut().for_each(|c| *c = c.clamp(0.01, 100.0));
        let scaled = |column: &[f64], by: f64| column.iter().map(|x| x * by).collect::<Vec<f64>>();
        let (w, c) = (scaled(&all.weight, weight), scaled(&all.change_rate, time));
        prop_assume!(all.weight.iter().any(|w| *w > 0.0));
        for objective in Objective::ALL {
            let pages = Pages::new(&all.weight, &all.change_rate);
            let one = allocate(&pages, 4.0, objective, None).unwrap();
            let other = allocate(&Pages::new(&w, &c), 4.0 * time, objective, None).unwrap();
            for (i, (a, b)) in one.rates.iter().zip(&other.rates).enumerate() {
                // The price is known to a width; pages about to be given up move fast within it.
                let at = |log: f64| {
                    objective.rate(one.price * log.exp(), all.weight[i], all.change_rate[i])
                };
                let moves = (at(-NARROW) - at(NARROW)).abs();
                prop_assert!((a - b / time).abs() <= ORDER + moves, "{objective}: {a} {b}");
            }
        }
    }
}
