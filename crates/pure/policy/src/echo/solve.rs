//! Algorithm 1 of `[LOSS13]`: how often to visit every source, so that profit per second is highest.
//!
//! Source i shows λᵢ new links a second; a page of it is worth Pᵢe^(−μᵢΔ) when it is fetched Δ after
//! it appeared. Visiting every Iᵢ and fetching all that is found costs (1 + λᵢIᵢ)/Iᵢ fetches a
//! second. With pᵢ = Pᵢ/(1 − e^(−μᵢ/λᵢ)) and g(x) = 1 − (1 + x)e⁻ˣ the optimum has one price ω:
//! ```text
//! pᵢ·g(μᵢIᵢ) = ω   for every source that is visited,   Iᵢ = ∞ where pᵢ ≤ ω,
//! Σ 1/Iᵢ + Σ λᵢ = N   over the sources visited.                     [LOSS13, eq. 4]
//! ```
//! **Where the equation jumps.** As ω falls past pᵢ, source i comes in with its whole λᵢ at once, so
//! the left side of the budget equation jumps there and may leap over N. The paper's bisection would
//! not end. Here the sources are taken in the order of pᵢ, ties in the order given, as many as the
//! budget bears at the price at which the last of them would come in; for those the sum is continuous
//! in ω and the price follows exactly. So both conditions hold for every source visited; the first
//! source left out may have pᵢ above ω, by no more than the gap that its λᵢ opens.
//!
//! **Where nothing fits**: if the best source alone shows more new pages than the budget, no schedule
//! follows all of them. Then it alone is visited, with half of the budget, and the rest goes to the
//! pages that it shows.
//!
//! Cost: a sort, then passes over the sources visited: about a dozen to find how many, and half a
//! dozen for the price, since Σ1/Iᵢ is nearly linear in ω^(−1/2).

use rayon::prelude::*;
use tidewatch_math::roots::{Stop, first_where, solve as root};
use tidewatch_math::special::g_inv;
use tidewatch_math::sum::Sum;

/// A source as Algorithm 1 sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Clicks that a new page of it brings if fetched at once, Pᵢ.
    pub profit: f64,
    /// The rate per second at which they are lost, μᵢ.
    pub decay: f64,
    /// New links a second, λᵢ.
    pub arrivals: f64,
}

impl Terms {
    /// pᵢ = Pᵢ/(1 − e^(−μᵢ/λᵢ)), the price at which the source is given up; the limit Pᵢ for λᵢ = 0.
    /// Zero, which is never visited, where profit or decay is not positive or anything is not finite.
    pub fn worth(&self) -> f64 {
        let Terms { profit, decay, arrivals } = *self;
        let sound = profit > 0.0 && decay > 0.0 && arrivals >= 0.0;
        let worth = profit / -(-decay / arrivals).exp_m1();
        if sound && worth.is_finite() && decay.is_finite() { worth } else { 0.0 }
    }
}

/// What the budget has to pay for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Visits to sources and all pages that they show: the paper's equation.
    VisitsAndPages,
    /// Visits alone; pages are paid from elsewhere.
    Visits,
}

/// An answer of Algorithm 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// ω: what the marginal visit brings, clicks.
    pub price: f64,
    /// Iᵢ in seconds, infinite for sources that are not visited.
    pub intervals: Vec<f64>,
    /// Sources visited.
    pub visited: usize,
    /// Σ1/Iᵢ, visits a second.
    pub visits: f64,
    /// Σλᵢ of the sources visited as far as the budget pays for it, pages a second.
    pub pages: f64,
}

/// A source as the search sees it.
#[derive(Clone, Copy)]
struct Row {
    worth: f64,
    decay: f64,
    /// λᵢ if the budget pays for pages, else 0.
    pages: f64,
    index: u32,
}

/// Number of sources from which passes are shared among threads; below, starting threads costs more.
const PARALLEL: usize = 1 << 14;
/// Sources a thread takes at a time; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 1 << 12;
/// The search for the price ends when it is known to this relative width: budget and price are then
/// met far better than the 10⁻⁹ asked of them.
const PRICE_WIDTH: f64 = 1e-14;
/// A source is taken in once the price is below its worth by this share: closer by, g⁻¹ loses so many
/// digits of ω/pᵢ that the budget could not be met to 10⁻⁹.
const CLOSE: f64 = 1e-6;
/// Doublings of ω^(−1/2) that may be needed for a bracket: from one decade to any other.
const DOUBLINGS: u32 = 2200;

/// The best intervals for a budget of N fetches a second.
///
/// A budget that is not positive, or no source worth anything, visits nothing.
pub fn solve(sources: &[Terms], budget: f64, charge: Charge) -> Schedule {
    let mut schedule = Schedule {
        price: 0.0,
        intervals: vec![f64::INFINITY; sources.len()],
        visited: 0,
        visits: 0.0,
        pages: 0.0,
    };
    let rows = ranked(sources, charge);
    if rows.is_empty() || budget.is_nan() || budget <= 0.0 {
        return schedule;
    }
    let rows = &rows[..affordable(&rows, budget)];
    if rows.is_empty() {
        let best = ranked(sources, charge)[0];
        return alone(schedule, best, budget);
    }
    schedule.visited = rows.len();
    schedule.pages = rows.iter().map(|row| row.pages).collect::<Sum>().value();
    schedule.price = price(rows, budget - schedule.pages);
    for row in rows {
        let interval = g_inv(schedule.price / row.worth) / row.decay;
        schedule.intervals[row.index as usize] = interval;
    }
    schedule.visits = visits(rows, schedule.price);
    schedule
}

/// Sources worth anything, the best first.
fn ranked(sources: &[Terms], charge: Charge) -> Vec<Row> {
    let row = |(index, terms): (usize, &Terms)| Row {
        worth: terms.worth(),
        decay: terms.decay,
        pages: if charge == Charge::VisitsAndPages { terms.arrivals } else { 0.0 },
        index: index as u32,
    };
    let order = |a: &Row, b: &Row| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index));
    let mut rows: Vec<Row> = if sources.len() >= PARALLEL {
        sources.par_iter().enumerate().map(row).collect()
    } else {
        sources.iter().enumerate().map(row).collect()
    };
    rows.retain(|row| row.worth > 0.0);
    if rows.len() >= PARALLEL {
        rows.par_sort_unstable_by(order);
    } else {
        rows.sort_by(order);
    }
    rows
}

/// How many of the best sources the budget pays for when the last of them is just worth its visits.
fn affordable(rows: &[Row], budget: f64) -> usize {
    // What pages cost alone bounds the number cheaply.
    let mut pages = Sum::default();
    let most = rows
        .iter()
        .take_while(|row| {
            pages.add(row.pages);
            pages.value() < budget
        })
        .count();
    let bears_not = |count: u64| {
        let taken = &rows[..count as usize];
        let pages = taken.iter().map(|row| row.pages).collect::<Sum>().value();
        visits(taken, rows[count as usize - 1].worth * (1.0 - CLOSE)) + pages > budget
    };
    first_where(1, most as u64 + 1, bears_not).map_or(most, |first| first as usize - 1)
}

/// Σ1/Iᵢ at a price that no row's worth is below.
fn visits(rows: &[Row], price: f64) -> f64 {
    let of = |rows: &[Row]| {
        rows.iter().map(|row| row.decay / g_inv((price / row.worth).min(1.0))).sum::<f64>()
    };
    if rows.len() < PARALLEL {
        return of(rows);
    }
    let parts: Vec<f64> = rows.par_chunks(CHUNK).map(of).collect();
    parts.into_iter().collect::<Sum>().value()
}

/// The price at which all rows together get `visits` visits a second, as u = ω^(−1/2).
///
/// From g(x) ≤ x²/2 follows 1/Iᵢ ≤ μᵢ√(pᵢ/2)·u, with equality for small ω: a lower bound of u that is
/// close, and a function of u that is nearly straight.
fn price(rows: &[Row], visits_wanted: f64) -> f64 {
    let slope: f64 = rows.iter().map(|row| row.decay * (0.5 * row.worth).sqrt()).sum();
    let missing = |u: f64| visits(rows, u.powi(-2)) - visits_wanted;
    let least = (rows[rows.len() - 1].worth * (1.0 - CLOSE)).sqrt().recip();
    let low = least.max(visits_wanted / slope);
    let mut high = low * 2.0;
    for _ in 0..DOUBLINGS {
        if missing(high) >= 0.0 {
            break;
        }
        high *= 2.0;
    }
    let found = root(missing, (low, high), Stop::relative(PRICE_WIDTH));
    // At the lower end the visits fall short or just suffice; rounding may say otherwise.
    found.map_or(low, |root| root.x).powi(-2)
}

/// The best source alone: visits for what its pages leave of the budget; where they leave nothing, half
/// of the budget for visits, half for a part of the pages.
fn alone(mut schedule: Schedule, best: Row, budget: f64) -> Schedule {
    let pages = if best.pages < budget { best.pages } else { 0.5 * budget };
    let visits = budget - pages;
    schedule.price = best.worth * tidewatch_math::special::g(best.decay / visits);
    schedule.intervals[best.index as usize] = visits.recip();
    (schedule.visited, schedule.visits, schedule.pages) = (1, visits, pages);
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::special::g;

    /// What the theory asks of every source visited, and of the budget.
    const EXACT: f64 = 1e-9;

    fn source() -> impl Strategy<Value = Terms> {
        (-8.0..5.0_f64, -7.0..-3.0_f64, -8.0..-2.0_f64).prop_map(|(p, mu, lambda)| Terms {
            profit: 10_f64.powf(p),
            decay: 10_f64.powf(mu),
            arrivals: 10_f64.powf(lambda),
        })
    }

    fn holds(sources: &[Terms], budget: f64, charge: Charge, schedule: &Schedule) {
        let (mut visits, mut pages) = (0.0, 0.0);
        for (terms, &interval) in sources.iter().zip(&schedule.intervals) {
            if interval.is_finite() {
                let marginal = terms.worth() * g(terms.decay * interval);
                assert!((marginal / schedule.price - 1.0).abs() < EXACT, "{terms:?} {interval}");
                visits += interval.recip();
                pages += if charge == Charge::VisitsAndPages { terms.arrivals } else { 0.0 };
            }
        }
        assert!(((visits + pages) / budget - 1.0).abs() < EXACT, "{} {budget}", visits + pages);
    }

    proptest! {
        /// Equal marginal worth and a budget spent to the last fetch, whatever the sources.
        #[test]
        fn optimal_condition_and_budget_hold(
            sources in prop::collection::vec(source(), 1..40),
            budget in (-4.0..1.0_f64).prop_map(|b| 10_f64.powf(b)),
        ) {
            for charge in [Charge::VisitsAndPages, Charge::Visits] {
                let schedule = solve(&sources, budget, charge);
                let best = sources.iter().max_by(|a, b| a.worth().total_cmp(&b.worth())).unwrap();
                if charge == Charge::VisitsAndPages && best.arrivals >= budget {
                    prop_assert_eq!(schedule.visited, 1);
                    continue;
                }
                holds(&sources, budget, charge, &schedule);
                // No source left out is worth more than one taken in.
                let out = sources.iter().zip(&schedule.intervals).filter(|s| s.1.is_infinite());
                let best_out = out.map(|s| s.0.worth()).fold(0.0, f64::max);
                let taken = sources.iter().zip(&schedule.intervals).filter(|s| s.1.is_finite());
                let worst_in = taken.map(|s| s.0.worth()).fold(f64::INFINITY, f64::min);
                prop_assert!(best_out <= worst_in);
            }
        }

        /// Against the paper's own loop, where its equation has a root: bisection over ω.
        #[test]
        fn agrees_with_the_literal_algorithm(
            sources in prop::collection::vec(source(), 1..12),
            share in 0.05..0.95_f64,
        ) {
            // A price between two worths, so that the budget is one that the loop can meet.
            let mut worths: Vec<f64> = sources.iter().map(Terms::worth).collect();
            worths.sort_by(f64::total_cmp);
            let top = worths[worths.len() - 1];
            let below = worths.iter().rev().nth(1).copied().unwrap_or(0.0);
            let price = below + share * (top - below);
            let budget = spent(&sources, price);
            let (mut low, mut high) = (0.0, top);
            for _ in 0..200 {
                let middle = f64::midpoint(low, high);
                if spent(&sources, middle) < budget { high = middle } else { low = middle }
            }
            let ours = solve(&sources, budget, Charge::VisitsAndPages);
            // The literal g⁻¹(ω/p) loses digits where ω/p is close to one.
            prop_assert!((ours.price / low - 1.0).abs() < 1e-6, "{} {low}", ours.price);
        }
    }

    /// Σ(1/Iᵢ + λᵢ) over the sources with pᵢ above a price, as the paper writes it.
    fn spent(sources: &[Terms], price: f64) -> f64 {
        let visited = sources.iter().filter(|terms| terms.worth() > price);
        visited.map(|t| t.decay / g_inv(price / t.worth()) + t.arrivals).sum()
    }

    /// The optimum of Q = Σ pᵢxᵢ(1 − e^(−μᵢ/xᵢ)) by a plain search over how two sources share.
    #[test]
    fn no_other_split_earns_more() {
        let a = Terms { profit: 3.0, decay: 1e-4, arrivals: 2e-4 };
        let b = Terms { profit: 1.0, decay: 3e-5, arrivals: 5e-4 };
        let budget = 0.002;
        let schedule = solve(&[a, b], budget, Charge::VisitsAndPages);
        let visits = budget - a.arrivals - b.arrivals;
        let quality = |t: &Terms, x: f64| t.worth() * x * -(-t.decay / x).exp_m1();
        let total = |x: f64| quality(&a, x) + quality(&b, visits - x);
        let ours = total(schedule.intervals[0].recip());
        for i in 1..1000 {
            assert!(total(visits * f64::from(i) / 1000.0) <= ours * (1.0 + 1e-12));
        }
    }

    #[test]
    fn a_jump_over_the_budget_leaves_the_marginal_source_out() {
        let small = Terms { profit: 5.0, decay: 1e-4, arrivals: 1e-3 };
        // Comes in next, but shows more pages than the budget has left.
        let large = Terms { profit: 1.0, decay: 1e-4, arrivals: 4e-3 };
        let (budget, both) = (3e-3, [small, large]);
        assert!(large.worth() < small.worth());
        let schedule = solve(&both, budget, Charge::VisitsAndPages);
        assert_eq!(schedule.visited, 1);
        assert!(schedule.intervals[1].is_infinite());
        holds(&both, budget, Charge::VisitsAndPages, &schedule);
    }

    #[test]
    fn equal_sources_that_do_not_all_fit_are_taken_in_order() {
        let sources = [Terms { profit: 0.01, decay: 1e-5, arrivals: 1e-5 }; 100];
        let schedule = solve(&sources, 5e-4, Charge::VisitsAndPages);
        assert!((1..100).contains(&schedule.visited), "{}", schedule.visited);
        assert!(schedule.intervals[..schedule.visited].iter().all(|i| i.is_finite()));
        holds(&sources, 5e-4, Charge::VisitsAndPages, &schedule);
    }

    #[test]
    fn one_source_with_everything_takes_the_whole_budget() {
        let flood = Terms { profit: 2.0, decay: 1e-4, arrivals: 10.0 };
        let schedule = solve(&[flood], 0.1, Charge::VisitsAndPages);
        assert_eq!(schedule.intervals, [20.0]);
        assert!((schedule.visits + schedule.pages - 0.1).abs() < 1e-15);
    }

    #[test]
    fn nonsense_is_never_visited() {
        let good = Terms { profit: 1.0, decay: 1e-4, arrivals: 1e-4 };
        let bad = [f64::NAN, f64::INFINITY, 0.0, -1.0];
        let mut sources: Vec<Terms> = bad.iter().map(|&x| Terms { profit: x, ..good }).collect();
        sources.extend(bad.iter().map(|&x| Terms { decay: x, ..good }));
        sources.push(Terms { arrivals: f64::NAN, ..good });
        sources.push(Terms { arrivals: -1.0, ..good });
        sources.push(good);
        let schedule = solve(&sources, 0.01, Charge::VisitsAndPages);
        assert_eq!(schedule.visited, 1);
        assert!(schedule.intervals[sources.len() - 1].is_finite());
        for budget in [0.0, -1.0, f64::NAN] {
            assert_eq!(solve(&sources, budget, Charge::VisitsAndPages).visited, 0);
        }
        assert_eq!(solve(&[], 1.0, Charge::Visits).visited, 0);
    }
}
