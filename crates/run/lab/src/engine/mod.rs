//! A crawl on simulated time: the live crawler's frontier meets a world, and a meter tells what the
//! policy achieves.
//!
//! The engine is a clock and a web. [`Frontier`] decides what is fetched when, as in the live
//! crawler: it asks the policy, paces the budget and keeps politeness. The engine answers its
//! commands from the trace after the time that [`Settings`] state. In between, in the order of time,
//! pages that need no link become known, hints arrive, and the search log is pushed: only then does
//! the policy see the clicks since the last push, and only those on pages that were in the collection
//! when they were clicked, since nobody can click what the engine does not show.
//!
//! [`Settings::new`] keeps the setting of the papers. N fetches per second mean one choice every 1/N
//! seconds, and a choice not made lapses ([`Unused::Lapse`]). A fetch takes no time. A host is left
//! alone for as long as the trace says and no longer; its robots.txt is known.
//!
//! How a run starts:
//! * [`Start::Warm`]: everything born at time 0 is known and was fetched then, at no cost and for no
//!   profit. What sources showed then is old `[LOSS13]`.
//! * [`Start::Cold`]: the collection is empty and only seeds are known.

mod cleaning;
pub(crate) mod contents;
mod crawl;
mod learner;
mod meter;
mod mirrors;
mod waste;

use tidewatch_core::sketch::SKETCH_LEN;
use tidewatch_core::{Event, PageId, Rate, Span, Time};
use tidewatch_frontier::{Frontier, Limits, Pacer, Politeness, Revisit, Unused};
use tidewatch_policy::{Choice, Explanation, Gate, Policy, Return, Standing};

use crate::LabError;
use crate::world::World;
pub use cleaning::Cleaning;
use crawl::Crawl;
pub use meter::{FirstFetch, Measures};
pub use mirrors::Mirrors;
pub use waste::{ByClass, DOUBT_BINS, DoubtBin, Waste};

/// Most choices of one run. More would take days even for a policy that costs nothing: the budget
/// was meant for another unit of time.
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
    /// Requests and jobs at once.
    pub limits: Limits,
    /// How hosts are treated. Crawl-delay is the least gap that the trace states for a host.
    pub politeness: Politeness,
    /// How long pages rest between two fetches.
    pub revisit: Revisit,
    /// What becomes of allowances for which the policy has no page.
    pub unused: Unused,
    /// How long a fetch takes. The page is seen as it is when the fetch ends.
    pub fetch_time: Span,
    /// What is done about pages that are not worth fetching.
    pub cleaning: Cleaning,
    /// How long it takes to read a host's robots.txt, once; `None` if it is known from the start.
    pub robots_time: Option<Span>,
}

impl Settings {
    /// The setting of the papers: warm start, logs pushed every hour, all of the run measured; fetches
    /// take no time, choices not made lapse, pages need no rest.
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
            limits: Limits::NONE,
            politeness: Politeness::CRAWL_DELAY_ONLY,
            revisit: Revisit::NONE,
            unused: Unused::Lapse,
            fetch_time: Span::ZERO,
            cleaning: Cleaning::Nothing,
            robots_time: None,
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

    fn frontier<'p>(&self, policy: Box<dyn Policy + 'p>) -> Frontier<'p> {
        let pacer = Pacer::new(self.budget, self.unused, Time::ZERO);
        let mut frontier = Frontier::paced(policy, self.politeness, self.limits, pacer);
        frontier.set_revisit(self.revisit);
        frontier
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

/// A policy that somebody else owns.
struct Borrowed<'p>(&'p mut dyn Policy);

impl Policy for Borrowed<'_> {
    fn learn(&mut self, event: &Event<'_>) {
        self.0.learn(event);
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        self.0.choose(now, gate)
    }

    fn why(&self, page: PageId, now: Time) -> Option<Explanation> {
        self.0.why(page, now)
    }

    fn take_returns(&mut self) -> Vec<Return> {
        self.0.take_returns()
    }

    fn standing(&self) -> Option<Standing> {
        self.0.standing()
    }
}

/// Sees the frontier before and after every question that it is asked.
pub trait Onlooker {
    /// It is about to be asked what to do at `now`.
    fn before(&mut self, frontier: &Frontier<'_>, now: Time);
    /// It has answered.
    fn after(&mut self, frontier: &Frontier<'_>);
}

/// Sees nothing.
struct Nobody;

impl Onlooker for Nobody {
    fn before(&mut self, _: &Frontier<'_>, _: Time) {}
    fn after(&mut self, _: &Frontier<'_>) {}
}

/// Runs `policy` over `world`.
pub fn run(
    world: &World,
    policy: &mut dyn Policy,
    settings: &Settings,
) -> Result<Measures, LabError> {
    run_watched(world, policy, settings, &mut Nobody)
}

/// The same, while `onlooker` looks at the frontier.
pub fn run_watched(
    world: &World,
    policy: &mut dyn Policy,
    settings: &Settings,
    onlooker: &mut dyn Onlooker,
) -> Result<Measures, LabError> {
    settings.check(world)?;
    let end = Time::ZERO + world.trace().duration;
    let mut crawl = Crawl::new(world, settings)?;
    let mut frontier = settings.frontier(Box::new(Borrowed(policy)));
    let asked = world.words().asked();
    if !asked.is_empty() {
        frontier.learn(&Event::Asked(&asked));
    }
    crawl.begin(&mut frontier);
    crawl.run(&mut frontier, end, onlooker)?;
    Ok(crawl.finish(end))
}

/// Measures a crawl that has already happened: fetches of trace pages, by time.
///
/// The meter is that of [`run`], so a live crawl of a served trace and a simulated one are judged
/// alike. A fetch out of order counts at the time of the one before; a fetch past the end does not
/// count.
pub fn judge(
    world: &World,
    settings: &Settings,
    fetches: &[(Time, u32)],
) -> Result<Measures, LabError> {
    struct Deaf;
    impl Policy for Deaf {
        fn learn(&mut self, _: &Event<'_>) {}
        fn choose(&mut self, _: Time, _: &dyn Gate) -> Choice {
            Choice::Idle
        }
    }
    settings.check(world)?;
    let end = Time::ZERO + world.trace().duration;
    let mut crawl = Crawl::new(world, settings)?;
    let mut frontier = settings.frontier(Box::new(Deaf));
    crawl.begin(&mut frontier);
    let mut now = Time::ZERO;
    for &(at, page) in fetches.iter().filter(|(at, _)| *at < end) {
        now = now.max(at);
        crawl.take_recorded(&mut frontier, page, now);
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
        let known = &mut known[world.root(link.page) as usize];
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
