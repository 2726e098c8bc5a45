//! Calibration of expected clicks: what frontier orders expect of a page when they choose it
//! ([`ExpectsClicks`]), against the clicks it then gets.

use rayon::prelude::*;
use tidewatch_core::{Event, PageKey, Time};
use tidewatch_math::sum::Moments;
use tidewatch_policy::frontier::{
    Expected, ExpectsClicks, ImpactOrder, InDegree, Learned, Learner, Order, Ranked,
};
use tidewatch_policy::{Choice, Gate, Policy};
use tidewatch_report::{Cell, Column, Section, Table};

use super::coverage::from_nothing;
use crate::engine;
use crate::{LabError, World};

/// Groups of pages by expected clicks.
const GROUPS: usize = 10;
/// A group is off beyond this many standard errors: chance does that to one in twenty.
const NOTABLE: f64 = 2.0;
/// Fetches of the run, as a share of the pages.
const FETCHES: f64 = 0.9;

/// Pages with similar expected clicks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) pages: usize,
    pub(super) expected: f64,
    pub(super) found: f64,
    /// Standard error of `found − expected`.
    pub(super) sd: f64,
}

impl Group {
    fn off_by(&self) -> f64 {
        (self.found - self.expected) / self.sd
    }
}

/// Records what the policy expects of every page before its first fetch.
struct Asked<O> {
    inner: Ranked<O>,
    keys: Vec<PageKey>,
    is_fetched: Vec<bool>,
    answers: Vec<(PageKey, Time, Expected)>,
}

impl<O: Order> Asked<O> {
    fn new(order: O, seed: u64) -> Self {
        let (keys, is_fetched, answers) = (Vec::new(), Vec::new(), Vec::new());
        Asked { inner: Ranked::new(order, seed), keys, is_fetched, answers }
    }
}

impl<O: Order> Policy for Asked<O> {
    fn learn(&mut self, event: &Event<'_>) {
        if let Event::Discovered(found) = event {
            self.keys.push(found.key);
            self.is_fetched.push(found.is_held);
        }
        self.inner.learn(event);
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let choice = self.inner.choose(now, gate);
        if let Choice::Fetch(page) = choice
            && !std::mem::replace(&mut self.is_fetched[page.index()], true)
            && let Some(expected) = self.inner.expected_clicks(page)
        {
            self.answers.push((self.keys[page.index()], now, expected));
        }
        choice
    }
}

/// Crawls `world` from its seeds by `order` and compares expected with actual clicks.
pub(super) fn ask(world: &World, order: impl Order, seed: u64) -> Result<Vec<Group>, LabError> {
    let mut policy = Asked::new(order, seed);
    engine::run(world, &mut policy, &from_nothing(world, FETCHES))?;
    let horizon = policy.inner.horizon();
    let mut pairs: Vec<(Expected, f64)> = policy
        .answers
        .iter()
        .filter_map(|&(key, at, expected)| {
            let page = world.page_of(key)?;
            let clicks = world.clicks_after(page, at) - world.clicks_after(page, at + horizon);
            Some((expected, clicks))
        })
        .collect();
    // Stable, so that equal expectations stay in the order of fetches.
    pairs.sort_by(|a, b| a.0.clicks.total_cmp(&b.0.clicks));
    let size = pairs.len().div_ceil(GROUPS).max(1);
    Ok(pairs.chunks(size).map(group).collect())
}

fn group(pairs: &[(Expected, f64)]) -> Group {
    let mean = |of: fn(&Expected) -> f64| {
        pairs.iter().map(|(expected, _)| of(expected)).sum::<f64>() / pairs.len() as f64
    };
    let found: Moments = pairs.iter().map(|pair| pair.1).collect();
    // Few fits judged the pages of a group, so their errors are taken as fully correlated.
    let sd = mean(|e| e.sd).hypot((found.variance() / pairs.len() as f64).sqrt());
    Group { pages: pairs.len(), expected: mean(|e| e.clicks), found: found.mean(), sd }
}

/// Runs one order.
type Ask = fn(&World, u64) -> Result<Vec<Group>, LabError>;

const ORDERS: [(&str, Ask); 3] = [
    ("indegree", |world, seed| ask(world, InDegree, seed)),
    ("rw-eg", |world, seed| ask(world, ImpactOrder::rw_eg(), seed)),
    ("ml", |world, seed| ask(world, Learned::new(Learner::Tree), seed)),
];

/// The groups of a named order.
pub(super) type Answers = (&'static str, Vec<Group>);

/// Runs every order on `world`.
pub(super) fn ask_all(world: &World, seed: u64) -> Result<Vec<Answers>, LabError> {
    ORDERS.par_iter().map(|(name, ask)| Ok((*name, ask(world, seed)?))).collect()
}

/// The section of a report.
pub(super) fn show(section: &mut Section, asked: &[Answers]) {
    let mut table = Table::new([
        Column::text("order"),
        Column::number("pages"),
        Column::number("expected").unit("clicks"),
        Column::number("standard error").unit("clicks"),
        Column::number("found").unit("clicks"),
        Column::number("off by").unit("standard errors"),
    ])
    .caption(
        "Clicks of pages in the two days after their first fetch, against what the order expected \
         when it chose them; tenths of pages by expected clicks. Orders learn only from the clicks \
         of pages fetched earlier. The scores of ml and rw-eg change meaning as they learn.",
    );
    for (name, groups) in asked {
        for group in groups {
            table.push([
                Cell::text(*name),
                Cell::count(group.pages as u64),
                Cell::number(group.expected, 3),
                Cell::number(group.sd, 3),
                Cell::number(group.found, 3),
                Cell::number(group.off_by(), 1),
            ]);
        }
    }
    section.table(table).paragraph(verdict(asked));
}

fn verdict(asked: &[Answers]) -> String {
    let count = |(name, groups): &Answers| {
        let off = groups.iter().filter(|group| group.off_by().abs() > NOTABLE).count();
        format!("{name} {off} of {}", groups.len())
    };
    let counts: Vec<String> = asked.iter().map(count).collect();
    format!("Groups off by more than {NOTABLE} standard errors: {}.", counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::graph::{self, generate_web};

    /// Ten groups: true expectations are off by more once in 14,000 such tests.
    const OFF: f64 = 4.5;

    #[test]
    fn groups_that_are_off_are_counted() {
        let group = |found| Group { pages: 9, expected: 1.0, found, sd: 0.1 };
        let text = verdict(&[("a", vec![group(1.1), group(0.9)]), ("b", vec![group(1.5)])]);
        assert!(text.ends_with("a 0 of 2, b 1 of 1."), "{text}");
    }

    #[test]
    fn expectations_come_true() {
        let config = graph::Config { scale: 0.1, ..graph::Config::wikipedia() };
        let world = World::new(generate_web(&config, 5).generated.trace).unwrap();
        for (name, ask) in ORDERS {
            let groups = ask(&world, 5).unwrap();
            assert_eq!(groups.len(), GROUPS, "{name}");
            // The scores of the other orders change meaning as they learn; link counts do not.
            for group in groups.iter().filter(|_| name == "indegree") {
                assert!(group.off_by().abs() < OFF, "{name}: {group:?}");
            }
            // Expectations rank pages: the top tenth got more clicks than the bottom tenth.
            let (first, last) = (groups[0], groups[GROUPS - 1]);
            assert!(last.expected > first.expected && last.found > first.found, "{name}");
        }
    }
}
