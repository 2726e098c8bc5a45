//! `tidewatch demo`: a living web on loopback, and a crawl of it.
//!
//! Life of a demo: a web is made up and served over real HTTP on accelerated
//! time; people search what has been indexed of it, and what they click comes
//! back to the crawl as it would from anyone; the crawler, the same as anywhere,
//! crawls it into a directory that is removed at the end, with the web's own table
//! of names in place of the DNS; then the record of fetches is judged by the lab's
//! meter, which knows what was true on that web at every moment.
//!
//! The web counts seconds of its own, which pass many times faster, and so does
//! the crawl: budget, politeness, change rates and interest mean in its log what
//! they mean on that web. Only figures named so are in real seconds.

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
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tidewatch_core::{Rate, Span};
use tidewatch_fetch::Hosts;
use tidewatch_partition::{Config, Crawl, Net, Stop};
use tidewatch_policy::registry;
use tidewatch_web::{Accelerated, Habits, RequestLog, Server, ServerOptions, Site};
use tokio::runtime::Runtime;

use crate::hearing::Hearing;
use crate::output;
use crate::site::{ServeArgs, Site as Front};
use crate::why::now_micros;
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
/// Most that a slow host stretches it to.
const LONGEST_GAP: Span = Span::from_micros(200_000);
/// How slow slow hosts are at most, in real time: minutes of simulated time.
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
    /// Who decides what is fetched next.
    #[arg(long, default_value = "price", value_name = "NAME")]
    policy: String,
    /// Fetches per second of real time.
    #[arg(long, default_value = "60/s", value_name = "RATE")]
    budget: Rate,
    /// Keep the crawl in this directory, for `why`, `what-if`, `status` and `export`.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Let searchers search and click as ever, but tell the crawl nothing of it.
    #[arg(long)]
    ignore_clicks: bool,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    serve: ServeArgs,
}

/// Runs the demo and prints what came of it.
pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    let runtime = Runtime::new().context("cannot start the demo's threads")?;
    let demo = Demo::prepare(args, &runtime)?;
    let stop = demo.stop.flag.clone();
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let (summary, _) = demo.run(&runtime)?;
    if args.json {
        return output::print(&summary.to_json()?);
    }
    let table = summary.table().to_text(output::width());
    output::print(&format!("{}\n\n{table}", summary.conditions()))
}

/// Everything set up, nothing begun.
struct Demo {
    args: DemoArgs,
    site: Arc<Site>,
    referee: Referee,
    config: Config,
    crawl: Crawl,
    front: Front,
    /// Nothing where clicks are ignored.
    hearing: Option<Hearing>,
    speed: f64,
    stop: Stop,
    /// Where the crawl is, unless it is to stay.
    _passing: tempfile::TempDir,
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
            bail!("there is no policy '{}'; choose one of {}", args.policy, names.join(", "));
        }
        if let Some(dir) = args.dir.as_deref().filter(|dir| dir.join("format").exists()) {
            bail!("{} holds a crawl already; name a directory that does not", dir.display());
        }
        let _inside = runtime.enter();
        let simulated = Span::from_seconds(args.duration.seconds() * SPEED).unwrap_or(LONGEST);
        let simulated = simulated.min(LONGEST);
        let trace = town::build(args.hosts as usize, simulated, args.seed)?;
        let site = Arc::new(Site::new(trace, args.seed, habits())?);
        let referee = Referee::new(site.trace().clone())?;
        let speed = simulated.seconds() / args.duration.seconds();
        let after = Duration::from_micros(args.duration.as_micros());
        let stop = Stop { after: Some(after), ..Stop::default() };
        let config = config(args, speed);
        let passing = tempfile::tempdir().context("cannot make a directory for the demo")?;
        let dir = args.dir.as_deref().unwrap_or(passing.path());
        let mut crawl = Crawl::open(dir, config.clone(), now_micros())?;
        crawl.set_pace(speed);
        let front = Front::open(dir, args.listen, &args.serve, &config)?;
        let searcher = front.searcher().map(|(searcher, _)| searcher.clone());
        let hearing = Hearing::open(dir, &config, &crawl, searcher)?;
        let hearing = (!args.ignore_clicks).then_some(hearing);
        let args = args.clone();
        Ok(Demo {
            args,
            site,
            referee,
            config,
            crawl,
            front,
            hearing,
            speed,
            stop,
            _passing: passing,
        })
    }

    /// Runs until the time is over or it is told to stop; the figures, and what the server saw.
    fn run(self, runtime: &Runtime) -> Result<(Summary, Arc<RequestLog>)> {
        let mut crawl = self.crawl;
        let clock = Accelerated::new(Instant::now(), self.speed);
        let (server, net) = {
            let _inside = runtime.enter();
            let server = Server::start(Arc::clone(&self.site), clock, &ServerOptions::default())?;
            let hosts = Hosts::of(server.names().iter());
            (server, Arc::new(Net::with_hosts(&self.config, hosts)?))
        };
        let summary = Summary {
            policy: self.args.policy.clone(),
            seed: self.args.seed,
            speed: self.speed,
            budget_per_s: self.args.budget.as_per_second(),
            ..Summary::default()
        };
        let screen = Screen::new(self.args.duration, self.front.server.address);
        let world = Arc::clone(self.referee.world());
        let (searcher, desk) = self.front.searcher().context("the demo keeps an index")?;
        let (searcher, desk) = (searcher.clone(), Arc::clone(desk));
        let searchers = Searchers::begin(world, self.site, clock, searcher, desk, self.args.seed)?;
        let mut follower = Follower::new(
            self.referee,
            clock,
            summary,
            self.front,
            screen,
            searchers,
            self.hearing,
        );
        follower.sow(&mut crawl)?;
        tidewatch_partition::run(&mut crawl, &net, runtime.handle(), &self.stop, &mut follower)?;
        let summary = follower.finish(&mut crawl)?;
        let log = server.log().clone();
        runtime.block_on(server.shutdown());
        Ok((summary, log))
    }
}

fn habits() -> Habits {
    Habits { slowest: SLOWEST, ..Habits::default() }
}

/// Settings under which the crawler is as polite as the web asks, in the web's own time.
fn config(args: &DemoArgs, speed: f64) -> Config {
    let on_the_web = |real: Span| Span::from_seconds(real.seconds() * speed).unwrap_or(Span::DAY);
    let habits = habits();
    let gap = on_the_web(HOST_GAP);
    let outage = habits.outage_period.max(gap);
    let mut config = Config { allow_private: true, ..Config::default() };
    config.budget = Rate::per_second(args.budget.as_per_second() / speed).unwrap_or(Rate::ZERO);
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
    // Every host has an address of its own, unless the system has too few.
    config.politeness.address_gap = Span::ZERO;
    config
}
