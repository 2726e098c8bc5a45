//! How far off is each estimator on average? A seeded simulation.

use super::{Gamma, Member, Method, Pool, Visit, Visits, estimate};
use tidewatch_math::{Draws, Estimate, Moments};

/// The mean of one estimator in one setting, as a share of the true rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BiasRow {
    /// The estimator.
    pub method: Method,
    /// r, true changes per interval between visits.
    pub changes_per_interval: f64,
    /// Mean of estimate/truth with its 95 % interval; 1 is unbiased.
    pub relative: Estimate,
    /// Share of the runs whose interval holds the true rate.
    pub coverage: f64,
}

/// Runs `runs` pages of `visits` visits at equal intervals for each ratio r of change rate to visit
/// rate, and averages every estimator over them. Changes are Poisson; their true dates are shown to
/// the last-modified estimator alone. The posterior's prior is pooled over the runs, as if they were
/// the pages of one host.
///
/// Rows come method by method, ratios in the order given. Same arguments, same figures.
pub fn bias_table(visits: u32, ratios: &[f64], runs: u32, seed: u64) -> Vec<BiasRow> {
    let mut rows = Vec::new();
    for (setting, &rate) in ratios.iter().enumerate() {
        let dated: Vec<Visits> = (0..runs)
            .map(|run| simulate(&mut Draws::of(seed, STREAM, key(setting, run)), rate, visits))
            .collect();
        let undated: Vec<Visits> = dated.iter().map(without_dates).collect();
        let prior = pooled_prior(&undated);
        rows.extend(Method::ALL.map(|method| {
            let pages = if method == Method::LastModified { &dated } else { &undated };
            summarise(method, pages, rate, &prior)
        }));
    }
    rows.sort_by_key(|row| Method::ALL.iter().position(|&method| method == row.method));
    rows
}

fn without_dates(page: &Visits) -> Visits {
    page.visits().iter().map(|&visit| Visit { age: None, ..visit }).collect()
}

fn pooled_prior(pages: &[Visits]) -> Gamma {
    let member = |page: &Visits| Member { host: 0, pattern: 0, counts: *page.counts() };
    let pool = Pool::fit(&pages.iter().map(member).collect::<Vec<_>>());
    pool.map_or(Gamma { shape: 1.0, rate: 1.0 }, |pool| pool.prior(0, 0))
}

fn summarise(method: Method, pages: &[Visits], rate: f64, prior: &Gamma) -> BiasRow {
    let (mut relative, mut covered) = (Moments::new(), 0_u32);
    for found in pages.iter().filter_map(|page| estimate(method, page, prior)) {
        relative.add(found.rate / rate);
        covered += u32::from(found.low <= rate && rate <= found.high);
    }
    BiasRow {
        method,
        changes_per_interval: rate,
        relative: relative.estimate(),
        coverage: f64::from(covered) / pages.len() as f64,
    }
}

/// Name of the random stream.
const STREAM: &str = "estimator bias";

fn key(setting: usize, run: u32) -> u64 {
    (setting as u64) << 32 | u64::from(run)
}

/// A page with Poisson changes at `rate`, visited at unit intervals.
fn simulate(draws: &mut Draws, rate: f64, visits: u32) -> Visits {
    let mut next_change = draws.exponential(rate);
    let visit = |at: u32| {
        let at = f64::from(at);
        let mut last = None;
        while next_change <= at {
            last = Some(next_change);
            next_change += draws.exponential(rate);
        }
        Visit { gap: 1.0, changed: last.is_some(), age: last.map(|last| at - last) }
    };
    (1..=visits).map(visit).collect()
}
