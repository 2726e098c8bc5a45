use std::sync::LazyLock;

use tidewatch_math::Draws;

use super::*;
use crate::law::{Curve, Law, Pareto, Plan, Poisson, Staleness, UpdateTimes, Weibull};

/// T of the mixed populations.
const WINDOW: f64 = 3.0;

/// Gains in a table, falling along each row, exact in binary so that sums do not round.
struct Table(Vec<Vec<f64>>);

impl Gain for Table {
    fn gain(&self, page: usize, crawls: u32) -> f64 {
        self.0[page].get(crawls as usize).copied().unwrap_or(0.0)
    }
}

/// A random instance with ties, zero weights, equal pages and bounds.
struct Instance {
    table: Table,
    min: Vec<u32>,
    max: Vec<u32>,
    total: u64,
}

impl Instance {
    fn draw(item: u64) -> Self {
        let mut draws = Draws::of(7, "crawls.instance", item);
        let pages = 1 + draws.below(if item.is_multiple_of(10) { 200 } else { 40 }) as usize;
        // Few levels of gain make many ties.
        let levels = [2, 5, 1000, 1 << 30][draws.below(4) as usize];
        let mut rows: Vec<Vec<f64>> = (0..pages).map(|_| row(&mut draws, levels)).collect();
        for page in 1..pages {
            if draws.chance(0.2) {
                rows[page] = rows[page - 1].clone();
            }
        }
        let min: Vec<u32> = (0..pages).map(|_| draws.below(4) as u32).collect();
        let max: Vec<u32> = min.iter().map(|min| min + draws.below(14) as u32).collect();
        let (least, most) = (sum_of(&min), sum_of(&max));
        let total = least + draws.below(most - least + 1);
        Self { table: Table(rows), min, max, total }
    }

    fn problem(&self) -> Crawls<'_, Table> {
        Crawls { gain: &self.table, min: &self.min, max: &self.max, total: self.total }
    }
}

fn sum_of(column: &[u32]) -> u64 {
    column.iter().map(|&x| u64::from(x)).sum()
}

/// Up to 16 gains, multiples of 2⁻¹⁰, sometimes all zero.
fn row(draws: &mut Draws, levels: u64) -> Vec<f64> {
    let weight = if draws.chance(0.1) { 0.0 } else { 1.0 / 1024.0 };
    let mut row: Vec<f64> = (0..17).map(|_| weight * draws.below(levels) as f64).collect();
    row.sort_by(|a, b| b.total_cmp(a));
    row
}

#[test]
fn all_solvers_find_the_same_optimum_on_random_instances() {
    for item in 0..1000 {
        let instance = Instance::draw(item);
        let problem = instance.problem();
        let fox = solve(&problem, Solver::Fox).unwrap();
        for solver in Solver::ALL {
            let crawls = solve(&problem, solver).unwrap();
            assert_eq!(sum_of(&crawls), instance.total, "{item} {solver:?}");
            assert_eq!(crawls, fox, "{item} {solver:?}");
        }
    }
}

/// Bounds, weights and laws of a mixed population.
struct Population {
    weight: Vec<f64>,
    law: Vec<Law<'static>>,
    min: Vec<u32>,
    max: Vec<u32>,
}

impl Population {
    fn draw(pages: usize, seed: u64) -> Self {
        let one = |page: usize| {
            let mut draws = Draws::of(seed, "crawls.population", page as u64);
            let weight = if draws.chance(0.05) { 0.0 } else { (draws.uniform() * 6.0 - 3.0).exp() };
            let rate = (draws.uniform() * 8.0 - 4.0).exp();
            (weight, law(&mut draws, rate), draws.below(2) as u32, 20 + draws.below(400) as u32)
        };
        let mut all = Self { weight: vec![], law: vec![], min: vec![], max: vec![] };
        for page in 0..pages {
            // Some pages stand twice, so that ties occur.
            let (weight, law, min, max) = one(if page % 7 == 6 { page - 1 } else { page });
            all.weight.push(weight);
            all.law.push(law);
            all.min.push(min);
            all.max.push(max);
        }
        all
    }

    fn gains(&self) -> PageLaws<'_, Law<'static>> {
        PageLaws { weight: &self.weight, law: &self.law, window: WINDOW }
    }
}

/// A few pages with known possible update times, solved beforehand.
static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(|| {
    let plan = |item: u64| {
        let mut draws = Draws::of(11, "crawls.plan", item);
        let count = 3 + item as usize;
        let times: Vec<f64> = (0..count).map(|k| WINDOW * k as f64 / count as f64).collect();
        let chances: Vec<f64> = times.iter().map(|_| draws.uniform()).collect();
        UpdateTimes::new(WINDOW, &times, &chances).unwrap().exact()
    };
    (0..12).map(plan).collect()
});

fn law(draws: &mut Draws, rate: f64) -> Law<'static> {
    let shape = draws.uniform();
    match draws.below(4) {
        0 => Law::Curve(Curve::Poisson(Poisson::new(rate).unwrap())),
        1 => Law::Curve(Curve::Weibull(Weibull::new(0.6 + shape, 1.0 / rate).unwrap())),
        2 => Law::Curve(Curve::Pareto(Pareto::new(1.4 + shape, 1.0 / rate).unwrap())),
        _ => Law::Quasi(PLANS[draws.below(12) as usize].law()),
    }
}

#[test]
fn mixed_laws_have_one_optimum_for_all_solvers() {
    for (seed, pages, per_page) in [(1, 60, 3), (2, 150, 1), (3, 40, 12), (4, 1, 5)] {
        let population = Population::draw(pages, seed);
        let gains = population.gains();
        let (min, max) = (&population.min, &population.max);
        let total = pages as u64 * per_page + sum_of(min);
        let problem = Crawls { gain: &gains, min, max, total };
        let fox = solve(&problem, Solver::Fox).unwrap();
        let best = gains.total(&fox);
        for solver in Solver::ALL {
            let crawls = solve(&problem, solver).unwrap();
            // The dynamic program adds gains up, so sums that differ by a rounding are equal to it.
            let rounding = 1e-12 * best;
            assert!((gains.total(&crawls) - best).abs() <= rounding, "{solver:?} {seed}");
            assert!(solver == Solver::Dp || crawls == fox, "{solver:?} {seed}");
        }
    }
}

#[test]
fn relax_and_the_selections_equal_fox_on_many_pages() {
    let population = Population::draw(100_000, 5);
    let gains = population.gains();
    let (min, max) = (&population.min, &population.max);
    let problem = Crawls { gain: &gains, min, max, total: 250_000 };
    let fox = solve(&problem, Solver::Fox).unwrap();
    for solver in [Solver::Relax, Solver::FredericksonJohnson, Solver::GalilMegiddo] {
        assert_eq!(solve(&problem, solver).unwrap(), fox, "{solver:?}");
    }
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let population = Population::draw(40_000, 6);
    let gains = population.gains();
    let (min, max) = (&population.min, &population.max);
    let problem = Crawls { gain: &gains, min, max, total: 90_000 };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve(&problem, Solver::Relax).unwrap())
    };
    assert_eq!(on(1), on(3));
}

/// Counts how often gains are looked at.
struct Counted<'a, G>(&'a G, std::sync::atomic::AtomicU64);

impl<G: Gain> Gain for Counted<'_, G> {
    fn gain(&self, page: usize, crawls: u32) -> f64 {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.0.gain(page, crawls)
    }

    fn crawls_at(&self, page: usize, price: f64) -> Option<u32> {
        self.0.crawls_at(page, price)
    }
}

/// w/(x + 1)(x + 2), as for slow pages.
struct Slow(Vec<f64>);

impl Gain for Slow {
    fn gain(&self, page: usize, crawls: u32) -> f64 {
        let x = f64::from(crawls);
        self.0[page] / ((x + 1.0) * (x + 2.0))
    }
}

#[test]
fn selections_look_at_as_few_gains_as_they_promise() {
    let mut draws = Draws::new(8, 0);
    let pages = 1000;
    let slow = Slow((0..pages).map(|_| (draws.uniform() * 20.0).exp()).collect());
    let (min, max) = (vec![0; pages], vec![u32::MAX; pages]);
    let mut answers = Vec::new();
    // R = 4000·N: log₂(R/N) = 12, log₂ R = 22.
    for (solver, limit) in [
        (Solver::FredericksonJohnson, 12 * 12),
        (Solver::GalilMegiddo, 22 * 22 * 2),
        (Solver::Relax, 22 * 10),
    ] {
        let counted = Counted(&slow, 0.into());
        let problem = Crawls { gain: &counted, min: &min, max: &max, total: 4000 * pages as u64 };
        answers.push(solve(&problem, solver).unwrap());
        let looks = counted.1.into_inner() / pages as u64;
        println!("{solver:?}: {looks} gains a page");
        assert!(looks <= limit, "{solver:?}: {looks} gains a page, more than {limit}");
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn equal_gains_go_to_the_lowest_pages() {
    let table = Table(vec![vec![1.0; 9]; 5]);
    let (min, max) = ([0, 1, 0, 0, 0], [3; 5]);
    for solver in Solver::ALL {
        let problem = Crawls { gain: &table, min: &min, max: &max, total: 6 };
        assert_eq!(solve(&problem, solver).unwrap(), [3, 3, 0, 0, 0], "{solver:?}");
    }
}

#[test]
fn the_ends_of_the_range_are_the_bounds() {
    let table = Table(vec![vec![3.0, 1.0, 0.0], vec![0.0; 3], vec![2.0, 2.0, 2.0]]);
    let (min, max) = ([1, 0, 0], [2, 2, 3]);
    for solver in Solver::ALL {
        let at = |total| solve(&Crawls { gain: &table, min: &min, max: &max, total }, solver);
        assert_eq!(at(1).unwrap(), min, "{solver:?}");
        assert_eq!(at(7).unwrap(), max, "{solver:?}");
        assert_eq!(at(6).unwrap(), [2, 1, 3], "{solver:?}");
        assert!(matches!(at(0), Err(AllocateError::BelowMinimum { .. })));
        assert!(matches!(at(8), Err(AllocateError::AboveMaximum { maximum: 7, .. })));
        let none = Crawls { gain: &table, min: &[], max: &[], total: 0 };
        assert_eq!(solve(&none, solver).unwrap(), Vec::<u32>::new());
    }
}

#[test]
fn gains_that_are_no_gains_are_named() {
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let table = Table(vec![vec![1.0], vec![bad]]);
        for solver in Solver::ALL {
            let problem = Crawls { gain: &table, min: &[0, 0], max: &[1, 1], total: 1 };
            let error = solve(&problem, solver);
            assert!(
                matches!(error, Err(AllocateError::Gain { page: 1, crawl: 0, .. })),
                "{error:?}"
            );
        }
    }
    let crossed = Crawls { gain: &Table(vec![]), min: &[2], max: &[1], total: 2 };
    assert!(matches!(solve(&crossed, Solver::Fox), Err(AllocateError::Bounds { page: 0, .. })));
    let big = Crawls { gain: &Table(vec![vec![]]), min: &[0], max: &[u32::MAX], total: 1 << 31 };
    assert!(matches!(solve(&big, Solver::Dp), Err(AllocateError::TooLarge { .. })));
}

#[test]
fn the_relaxation_is_within_one_of_the_whole_number() {
    let population = Population::draw(500, 9);
    let gains = population.gains();
    for page in 0..500 {
        for price in [1e-4, 1e-3, 1e-2, 0.1] {
            if let Some(hint) = gains.crawls_at(page, price) {
                let exact = (0..5000).find(|&x| gains.gain(page, x) < price).unwrap_or(5000);
                assert!(hint.abs_diff(exact) <= 1 || hint > 5000, "{page} {price}: {hint} {exact}");
            }
        }
        assert!(gains.law[page].average(WINDOW, 1.0) <= 1.0);
    }
}
