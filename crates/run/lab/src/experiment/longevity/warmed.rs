//! The warm-up of `[OP08, §5.4]`: before the measured half of a run every page is visited at gaps that
//! grow linearly, whatever the policy, which learns from these visits. Then the policy chooses, within
//! the budget. So policies are compared by what they make of the same visits.

use rayon::prelude::*;
use tidewatch_core::{Event, HostId, PageId, Rate, Span, Time};
use tidewatch_policy::{Agenda, Choice, Gate, Policy};

use super::{AMPLE, Curve, Outcome, SPACING, budget, measure, second_half};
use crate::engine::Settings;
use crate::experiment::Setup;
use crate::{LabError, World, policies};

/// First gap, and growth of the gap with every visit: the spacing of the paper's snapshots.
const STEP: Span = SPACING;

struct Warmed<'p> {
    policy: Box<dyn Policy + 'p>,
    /// The end of the warm-up.
    until: Time,
    /// What the policy may spend from then on.
    budget: Rate,
    granted: f64,
    /// By page: its host, and visits so far.
    pages: Vec<(HostId, u64)>,
    due: Agenda<Time>,
}

impl Warmed<'_> {
    fn visited(&mut self, page: PageId, at: Time) {
        let (host, visits) = &mut self.pages[page.index()];
        *visits += 1;
        self.due.push(at + STEP.times(*visits), *host, page);
    }
}

impl Policy for Warmed<'_> {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Budget(_) => return self.policy.learn(&Event::Budget(self.budget)),
            Event::Discovered(found) => self.pages.push((found.host, 0)),
            Event::Held(seen) | Event::Fetched(seen) if seen.at < self.until => {
                self.visited(seen.page, seen.at);
            }
            _ => {}
        }
        self.policy.learn(event);
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        if now < self.until {
            let due = self.due.pop_if(now, gate, |due| due <= now);
            return due.map_or(Choice::Idle, |(_, page)| Choice::Fetch(page));
        }
        if self.granted >= now.since(self.until).seconds() * self.budget.as_per_second() {
            return Choice::Idle;
        }
        self.granted += 1.0;
        self.policy.choose(now, gate)
    }
}

/// Cost and staleness of named policies after the warm-up.
pub(super) fn by_budget(
    setup: &Setup<'_>,
    world: &World,
    names: &[&str],
    costs: &[f64],
) -> Result<Vec<Curve>, LabError> {
    let half = second_half(world);
    let at_cost = |name: &str, cost: f64| -> Result<Outcome, LabError> {
        let mut warmed = Warmed {
            policy: policies::find(name)?.make(world, setup.seed),
            until: Time::ZERO + world.trace().duration - half,
            budget: budget(world, cost),
            granted: 0.0,
            pages: Vec::new(),
            due: Agenda::default(),
        };
        let ample = Settings::new(budget(world, AMPLE));
        measure(world, &mut warmed, &Settings { measure_last: Some(half), ..ample })
    };
    let curve = |name: &&str| {
        (setup.say)(&format!("{name} after a warm-up"));
        let points = costs.par_iter().map(|&cost| at_cost(name, cost));
        Ok(Curve::new(format!("{name}, warmed up"), points.collect::<Result<_, LabError>>()?))
    };
    names.iter().map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::longevity;

    #[test]
    fn policies_spend_their_budget_after_the_warm_up() {
        let config = longevity::Config { scale: 0.01, ..longevity::Config::default() };
        let world = World::new(longevity::generate(&config, 1).trace).unwrap();
        let setup = Setup::small(1, 1, 1.0);
        let curves = by_budget(&setup, &world, &["cgm", "uniform"], &[0.2]).unwrap();
        for curve in curves {
            // Allowances are whole fetches: one more or less among those of the half.
            let fetches = 0.2 * world.len() as f64 * second_half(&world).seconds() / STEP.seconds();
            let cost = curve.points[0].cost;
            assert!((cost / 0.2 - 1.0).abs() <= 1.5 / fetches, "{}: {cost}", curve.name);
        }
    }
}
