//! `tidewatch demo`: a living web on loopback, and a crawl of it.
//!
//! Life of a demo: a generated web is served over real HTTP on accelerated time. A
//! service crawls it into a temporary directory, with the web's own table of names in
//! place of the DNS. Simulated people search the index, and their clicks go back to the
//! crawl. At the end the lab's meter, which knows the truth about that web at every
//! moment, judges the record of fetches.
//!
//! Time on that web runs many times faster, and so does the crawl's: budget, politeness,
//! change rates and interest are all in the web's time. Only figures that say so are in
//! real seconds.

mod follow;
mod referee;
mod screen;
mod searchers;
mod summary;
#[cfg(test)]
mod tests;
mod town;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tidewatch_core::{Rate, Span};
use tidewatch_fetch::Hosts;
use tidewatch_partition::{Config, Reach, Revisit};
use tidewatch_policy::registry;
use tidewatch_service::{Service, ServiceConfig};
use tidewatch_web::{Accelerated, RequestLog, ServerOptions, Site, WebHabits, WebServer};
use tokio::runtime::Runtime;

use crate::listen::ListenArgs;
use crate::output::{self, Usage};
use follow::Follower;
use referee::Referee;
use screen::Screen;
use searchers::Searchers;
use summary::Summary;

/// Simulated seconds per real second: a minute is a day.
const SPEED: f64 = 1440.0;
/// Longest simulated time; longer demos run at a slower pace.
const LONGEST: Span = Span::WEEK.times(3);
/// Requests under way at once.
const PARALLEL: usize = 16;
/// Least real time between two requests to a host.
const HOST_GAP: Span = Span::from_micros(50_000);
/// Most that a slow host extends it to.
const LONGEST_GAP: Span = Span::from_micros(200_000);
/// Longest delay of slow hosts, in real time: minutes of simulated time.
const SLOWEST: Duration = Duration::from_millis(120);

/// Serve a living web on loopback and crawl it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: tidewatch demo --for 60s --policy bfs --budget 60/s")]
pub(crate) struct DemoArgs {
    /// How long, in real time.
    #[arg(long = "for", default_value = "60s", value_name = "SPAN")]
    duration: Span,
    /// Where to serve search page and dashboard.
    #[arg(long, default_value = "127.0.0.1:7700", value_name = "ADDR")]
    listen: SocketAddr,
    /// How many hosts the web has.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(2..=2000))]
    hosts: u32,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The policy that decides what is fetched next.
    #[arg(long, default_value = "price", value_name = "NAME")]
    policy: String,
    /// Fetches per second of real time.
    #[arg(long, default_value = "60/s", value_name = "RATE")]
    budget: Rate,
    /// Keep the crawl in this directory, for `why`, `what-if`, `status` and `export`.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Do not tell the crawl what searchers click.
    #[arg(long)]
    ignore_clicks: bool,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    serve: ListenArgs,
}

/// Runs the demo and prints its figures.
pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    let runtime = Runtime::new().context("cannot start the demo's threads")?;
    let demo = Demo::prepare(args, &runtime)?;
    demo.service.stop_on_signals();
    let (summary, _) = demo.run(&runtime)?;
    if args.json {
        return output::print(&summary.to_json()?);
    }
    let table = summary.table().to_text(output::width());
    output::print(&format!("{}\n\n{table}", summary.conditions()))
}

/// Everything set up and served; the crawl has not started.
struct Demo {
    args: DemoArgs,
    site: Arc<Site>,
    server: WebServer,
    clock: Accelerated,
    referee: Referee,
    service: Service,
    speed: f64,
    /// Holds the crawl unless `--dir` does.
    _temporary: tempfile::TempDir,
}

impl Demo {
    fn prepare(args: &DemoArgs, runtime: &Runtime) -> Result<Self> {
        if args.duration == Span::ZERO {
            bail!("--for 0s leaves no time to fetch anything; write it like 60s");
        }
        if args.budget == Rate::ZERO {
            bail!("--budget 0 allows no fetch at all; write it like 40/s");
        }
        if registry::find(&args.policy).is_none() {
            let names: Vec<_> = registry::POLICIES.iter().map(|entry| entry.name).collect();
            let names = names.join(", ");
            bail!(Usage(format!("there is no policy '{}'; choose one of {names}", args.policy)));
        }
        if let Some(dir) = args.dir.as_deref().filter(|dir| dir.join("format").exists()) {
            bail!("{} holds a crawl already; name another directory", dir.display());
        }
        let simulated = Span::from_seconds(args.duration.seconds() * SPEED).unwrap_or(LONGEST);
        let simulated = simulated.min(LONGEST);
        let trace = town::build(args.hosts as usize, simulated, args.seed)?;
        let site = Arc::new(Site::new(trace, args.seed, habits())?);
        let referee = Referee::new(site.trace().clone())?;
        let speed = simulated.seconds() / args.duration.seconds();
        let temporary = tempfile::tempdir().context("cannot make a directory for the demo")?;
        let clock = Accelerated::new(Instant::now(), speed);
        let server = {
            let _inside = runtime.enter();
            WebServer::start(Arc::clone(&site), clock, &ServerOptions::default())?
        };
        let service = Service::open(&ServiceConfig {
            crawl: config(args, speed),
            learn_from_clicks: !args.ignore_clicks,
            listen: Some(args.serve.at(args.listen)?),
            stop_after: Some(Duration::from_micros(args.duration.as_micros())),
            hosts: Some(Hosts::of(server.names().iter())),
            pace: Some(speed),
            runtime: Some(runtime.handle().clone()),
            ..ServiceConfig::new(args.dir.as_deref().unwrap_or(temporary.path()))
        })?;
        let args = args.clone();
        Ok(Demo { args, site, server, clock, referee, service, speed, _temporary: temporary })
    }

    /// Runs until the time is up or it is stopped. Returns the figures, and the web's log of
    /// requests.
    fn run(mut self, runtime: &Runtime) -> Result<(Summary, Arc<RequestLog>)> {
        let budget_per_s = self.args.budget.as_per_second();
        let summary = Summary::new(&self.args.policy, self.args.seed, self.speed, budget_per_s);
        let at = self.service.address().unwrap_or(self.args.listen);
        let screen = Screen::new(self.args.duration, at);
        let world = Arc::clone(self.referee.world());
        let (searcher, desk) = self.service.searcher().context("the demo keeps an index")?;
        let seed = self.args.seed;
        let searchers = Searchers::begin(world, self.site, self.clock, searcher, desk, seed)?;
        let mut follower = Follower::new(self.referee, self.clock, summary, screen, searchers);
        follower.sow(self.service.crawl())?;
        self.service.run_observed(&mut follower)?;
        let summary = follower.finish(&mut self.service)?;
        let log = self.server.log().clone();
        runtime.block_on(self.server.shutdown());
        Ok((summary, log))
    }
}

fn habits() -> WebHabits {
    WebHabits { slowest: SLOWEST, ..WebHabits::default() }
}

/// Crawl settings that keep to the web's politeness rules, in the web's own time.
fn config(args: &DemoArgs, speed: f64) -> Config {
    let on_the_web = |real: Span| Span::from_seconds(real.seconds() * speed).unwrap_or(Span::DAY);
    let habits = habits();
    let gap = on_the_web(HOST_GAP);
    let outage = habits.outage_period.max(gap);
    let mut config = Config { allow_private: true, ..Config::default() };
    config.scope.reach = Reach::Everything;
    config.budget = Rate::per_second(args.budget.as_per_second() / speed).unwrap_or(Rate::ZERO);
    // The web changes within seconds of real time.
    config.revisit = Revisit::NONE;
    config.policy.clone_from(&args.policy);
    config.seed = args.seed;
    config.limits.requests = PARALLEL;
    config.politeness.least_gap = gap;
    config.politeness.most_gap = on_the_web(LONGEST_GAP);
    let delay = Span::from_seconds(habits.longest_crawl_delay_s as f64);
    config.politeness.most_delay = delay.unwrap_or(gap).max(gap);
    config.politeness.first_rest = outage;
    config.politeness.most_rest = outage;
    config.robots_retry = outage;
    // Every host has its own address, unless the system has too few.
    config.politeness.address_gap = Span::ZERO;
    config
}
