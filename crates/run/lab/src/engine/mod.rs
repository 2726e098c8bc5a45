//! A crawl on simulated time: a policy meets a world, and what it achieves is measured.
//!
//! The budget is a steady allowance: N fetches per second means one choice
//! every 1/N seconds, and a choice not made lapses. A fetch takes no time. In
//! between, in the order of time, pages that need no link become known, hints
//! arrive, and the search log is pushed: only then does the policy see the
//! clicks since the last push, and only those on pages that were in the
//! collection when they were clicked, since nobody can click what the engine
//! does not show.
//!
//! How a run starts:
//! * [`Start::Warm`]: everything born at time 0 is known and was fetched then,
//!   at no cost and for no profit. What sources showed then is old `[LOSS13]`.
//! * [`Start::Cold`]: the collection is empty and only seeds are known.

pub(crate) mod contents;
mod crawl;
mod meter;

use tidewatch_core::record::SKETCH_LEN;
use tidewatch_core::{Event, Rate, Span, Time};
use tidewatch_policy::{Choice, Policy};

use crate::LabError;
use crate::world::World;
use crawl::Crawl;
pub use meter::{FirstFetch, Measures};

/// Choices that one run may make. More would take days even for a policy that
/// costs nothing; the budget was meant for another unit of time.
const MOST_CHOICES: f64 = 1e11;

/// What is in the collection when the crawl begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Everything that exists at time 0.
    #[default]
    Warm,
    /// Nothing.
    Cold,
}

/// Whose clicks and views the search log tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logged {
    /// Pages in the collection, from then on: nobody clicks what the engine does not show.
    Held,
    /// Every page that is known, from its birth on: the log of another engine that has everything, as
    /// in the experiments of `[LOSS13, §5.1]`.
    Known,
}

/// The conditions of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Fetches per second.
    pub budget: Rate,
    /// Measure this last part of the run; all of it if `None`.
    pub measure_last: Option<Span>,
    /// How often clicks become visible.
    pub log_push: Span,
    /// Of which pages clicks become visible.
    pub logged: Logged,
    /// What is in the collection at the start.
    pub start: Start,
    /// Whether every page is known from its birth (for oracles: discovery is free).
    pub reveal: bool,
    /// Fragment hashes that an observation carries at most.
    pub sketch_len: usize,
    /// Whether servers tell when a page last changed.
    pub last_modified: bool,
}

impl Settings {
    /// The usual conditions: warm start, logs pushed every hour, all of the run measured.
    pub fn new(budget: Rate) -> Self {
        Settings {
            budget,
            measure_last: None,
            log_push: Span::HOUR,
            logged: Logged::Held,
            start: Start::Warm,
            reveal: false,
            sketch_len: SKETCH_LEN,
            last_modified: false,
        }
    }

    /// The measured window of a run over `world`, `[from, until)`.
    pub fn window(&self, world: &World) -> Result<(Time, Time), LabError> {
        let duration = world.trace().duration;
        let last = self.measure_last.unwrap_or(duration);
        if last == Span::ZERO || last > duration {
            return Err(LabError::Window { last, duration });
        }
        let end = Time::ZERO + duration;
        Ok((end - last, end))
    }

    fn check(&self, world: &World) -> Result<(), LabError> {
        let budget = self.budget.as_per_second();
        let refuse = |why| Err(LabError::Budget { budget, why });
        if budget <= 0.0 {
            return refuse("it must be above zero");
        }
        if budget * world.trace().duration.seconds() > MOST_CHOICES {
            return refuse("it asks for more than 10¹¹ fetches in the trace's duration");
        }
        if self.log_push == Span::ZERO {
            return Err(LabError::LogPush);
        }
        self.window(world).map(|_| ())
    }
}

/// Runs `policy` over `world`.
pub fn run(
    world: &World,
    policy: &mut dyn Policy,
    settings: &Settings,
) -> Result<Measures, LabError> {
    settings.check(world)?;
    let budget = settings.budget.as_per_second();
    let end = Time::ZERO + world.trace().duration;
    let mut crawl = Crawl::new(world, settings)?;
    policy.learn(&Event::Budget(settings.budget));
    let asked = world.words().asked();
    if !asked.is_empty() {
        policy.learn(&Event::Asked(&asked));
    }
    crawl.begin(policy);
    for choice in 1u64.. {
        let at = Time::from_seconds(choice as f64 / budget).unwrap_or(Time::NEVER);
        if at >= end {
            break;
        }
        crawl.advance(policy, at);
        match policy.choose(at, crawl.gates()) {
            Choice::Fetch(page) => crawl.fetch(policy, page, at)?,
            Choice::Idle => crawl.idle(at),
        }
    }
    crawl.advance(policy, end);
    Ok(crawl.finish(end))
}

/// Measures a crawl that has already happened: fetches of trace pages, by time.
///
/// The same meter as [`run`]'s, so a live crawl of a served trace and a
/// simulated one are judged alike. Fetches out of order or past the end are
/// put at the time of the one before or left out.
pub fn judge(
    world: &World,
    settings: &Settings,
    fetches: &[(Time, u32)],
) -> Result<Measures, LabError> {
    struct Deaf;
    impl Policy for Deaf {
        fn learn(&mut self, _: &Event<'_>) {}
        fn choose(&mut self, _: Time, _: &dyn tidewatch_policy::Gate) -> Choice {
            Choice::Idle
        }
    }
    settings.check(world)?;
    let end = Time::ZERO + world.trace().duration;
    let mut crawl = Crawl::new(world, settings)?;
    crawl.begin(&mut Deaf);
    let mut now = Time::ZERO;
    for &(at, page) in fetches.iter().filter(|(at, _)| *at < end) {
        now = now.max(at);
        crawl.take_recorded(&mut Deaf, page, now);
    }
    Ok(crawl.finish(end))
}

/// What no policy can beat on this world under these conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Profit per second if every page were fetched the moment it can be known,
    /// that is, with an unlimited budget.
    pub profit_per_s: Option<f64>,
    /// Clicks per second there are.
    pub clicks_per_s: Option<f64>,
}

/// Computes [`Bounds`] from the trace itself.
pub fn bounds(world: &World, settings: &Settings) -> Result<Bounds, LabError> {
    let (from, until) = settings.window(world)?;
    let trace = world.trace();
    if trace.clicks.is_none() {
        return Ok(Bounds::default());
    }
    let mut known: Vec<Time> = trace
        .pages
        .iter()
        .map(|p| if p.is_seed || settings.reveal { p.born } else { Time::NEVER })
        .collect();
    for link in &trace.links {
        let known = &mut known[link.page as usize];
        *known = link.appears.min(*known);
    }
    let is_old =
        |page: usize| settings.start == Start::Warm && trace.pages[page].born == Time::ZERO;
    let fetched =
        known.iter().enumerate().filter(|&(p, &at)| !is_old(p) && at >= from && at < until);
    let profit: f64 = fetched.map(|(page, &at)| world.clicks_after(page as u32, at)).sum();
    let inside = world.clicks_by_time(0).filter(|c| c.at >= from && c.at < until);
    let clicks: f64 = inside.map(|c| c.count).sum();
    let window = until.since(from).seconds();
    Ok(Bounds { profit_per_s: Some(profit / window), clicks_per_s: Some(clicks / window) })
}
