//! Hosts that allow only so many fetches \[K19p\].
//!
//! A host whose pages would ask for more than its cap at the common price ω gets a price of its
//! own, ωₕ > ω, at which they ask for exactly the cap. That price does not depend on ω: it is the
//! clearing price of the host's pages alone with the cap as the budget. So each capped host is
//! solved once, by itself, and the common search then counts the host by its cap while ω < ωₕ and
//! by its pages above.

use rayon::prelude::*;
use tidewatch_math::Sum;

use super::market::{Market, Price, Sample};
use super::pages::{Bounds, is_magnitude};
use super::{AllocateError, Objective, Pages};

/// What the hosts make of the problem.
pub(super) struct Hosts {
    /// Own price and cap of each host; the price is zero where the cap never binds.
    pub(super) saturation: Vec<(Price, f64)>,
    /// What the pages can take under the caps.
    pub(super) bounds: Bounds,
}

/// Solves every host by itself.
pub(super) fn solve(
    pages: &Pages<'_>,
    caps: &[f64],
    objective: Objective,
) -> Result<Hosts, AllocateError> {
    let hosts = pages.host.ok_or(AllocateError::Length {
        column: "host",
        found: 0,
        expected: pages.len(),
    })?;
    check(hosts, caps)?;
    let groups = Groups::new(hosts, caps.len());
    let solved: Vec<Result<(Price, Bounds), AllocateError>> = (0..caps.len())
        .into_par_iter()
        .map(|host| solve_one(pages, groups.of(host), host as u32, caps[host], objective))
        .collect();
    let mut saturation = Vec::with_capacity(caps.len());
    let (mut least, mut most) = (Sum::new(), Sum::new());
    for (host, &cap) in solved.into_iter().zip(caps) {
        let (price, bounds) = host?;
        saturation.push((price, cap));
        least.add(bounds.least);
        most.add(bounds.most);
    }
    Ok(Hosts { saturation, bounds: Bounds { least: least.value(), most: most.value() } })
}

fn check(hosts: &[u32], caps: &[f64]) -> Result<(), AllocateError> {
    for (host, &value) in caps.iter().enumerate() {
        if !is_magnitude(value) && value != f64::INFINITY {
            let expected = "zero, between 1e-50 and 1e50, or infinite";
            return Err(AllocateError::Host {
                what: "the cap",
                host: host as u32,
                value,
                expected,
            });
        }
    }
    match hosts.iter().find(|&&host| host as usize >= caps.len()) {
        None => Ok(()),
        Some(&host) => Err(AllocateError::Host {
            what: "the row",
            host,
            value: f64::from(host),
            expected: "a row of the table of caps",
        }),
    }
}

/// The price at which one host's pages ask for its cap, and what they can take.
fn solve_one(
    pages: &Pages<'_>,
    rows: &[usize],
    host: u32,
    cap: f64,
    objective: Objective,
) -> Result<(Price, Bounds), AllocateError> {
    let least = tidewatch_math::sum::sum(rows.iter().map(|&row| pages.min_of(row)));
    let most = tidewatch_math::sum::sum(rows.iter().map(|&row| pages.most_of(row, objective)));
    if least > cap {
        return Err(AllocateError::HostBelowMinimum { host, minimum: least, cap });
    }
    let bounds = Bounds { least, most: most.min(cap) };
    if most <= cap {
        return Ok((Price::exactly(0.0), bounds));
    }
    if least == cap {
        return Ok((Price::exactly(f64::INFINITY), bounds));
    }
    let own = Sample::gather(pages, rows);
    Ok((Market::new(objective, own.pages(), &[]).clear(cap).price, bounds))
}

/// Rows of the pages of each host, by counting sort.
struct Groups {
    rows: Vec<usize>,
    /// Where each host's rows start; one more at the end.
    starts: Vec<usize>,
}

impl Groups {
    fn new(hosts: &[u32], count: usize) -> Self {
        let mut starts = vec![0; count + 1];
        for &host in hosts {
            starts[host as usize + 1] += 1;
        }
        for host in 0..count {
            starts[host + 1] += starts[host];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; hosts.len()];
        for (row, &host) in hosts.iter().enumerate() {
            rows[next[host as usize]] = row;
            next[host as usize] += 1;
        }
        Self { rows, starts }
    }

    fn of(&self, host: usize) -> &[usize] {
        &self.rows[self.starts[host]..self.starts[host + 1]]
    }
}
