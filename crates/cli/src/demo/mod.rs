//! `tidewatch demo`: a living web on loopback, and a crawl of it.
//!
//! Life of a demo: a web is made up and served over real HTTP on accelerated
//! time; a loop asks a policy what to fetch, at the pace of the budget, and
//! fetches it over real sockets; at the end the record of fetches is judged by
//! the lab's meter, which knows what was true on that web at every moment.
//!
//! The loop is simple on purpose: one task that owns all state, fetches in
//! tasks of their own, a few at a time, one per host.

mod client;
mod crawler;
mod job;
mod links;
mod referee;
mod robots;
mod status;
mod summary;
mod tally;
#[cfg(test)]
mod tests;
mod town;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_policy::registry;
use tidewatch_web::{Accelerated, Clock as _, Habits, Server, ServerOptions, Site};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::output;
use crawler::{Crawler, Ended};
use job::Done;
use referee::Referee;
use status::{Shown, StatusPage};
use summary::Summary;

/// Simulated seconds per real second: a minute is a day.
const SPEED: f64 = 1440.0;
/// Longest simulated time; longer demos run at a slower pace.
const LONGEST: Span = Span::WEEK.times(3);
/// Fetches under way at once.
const PARALLEL: usize = 16;
/// Least real time between two requests to a host.
const HOST_GAP: Duration = Duration::from_millis(50);
/// How slow slow hosts are at most, in real time: minutes of simulated time.
const SLOWEST: Duration = Duration::from_millis(120);
/// How often the progress line and the status page are renewed.
const RENEWAL: Duration = Duration::from_millis(500);
/// How often a line is printed where there is no terminal.
const LINE: Duration = Duration::from_secs(5);

/// Serve a living web on loopback and crawl it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: tidewatch demo --for 60s --policy bfs --budget 60/s")]
pub(crate) struct DemoArgs {
    /// How long, in real time.
    #[arg(long = "for", default_value = "60s", value_name = "SPAN")]
    duration: Span,
    /// Where to serve the live status page.
    #[arg(long, default_value = "127.0.0.1:7700", value_name = "ADDR")]
    listen: SocketAddr,
    /// How many hosts the web has.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(2..=2000))]
    hosts: u32,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Who decides what is fetched next.
    #[arg(long, default_value = "harmonic", value_name = "NAME")]
    policy: String,
    /// Fetches per second of real time.
    #[arg(long, default_value = "60/s", value_name = "RATE")]
    budget: Rate,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the demo and prints what came of it.
pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the demo's threads")?;
    let summary = runtime.block_on(async {
        let demo = Demo::prepare(args).await?;
        demo.run(stopped()).await.map(|(summary, _)| summary)
    })?;
    if args.json {
        return output::print(&summary.to_json()?);
    }
    let table = summary.table().to_text(output::width());
    output::print(&format!("{}\n\n{table}", summary.conditions()))
}

/// Ends when the user asks for it; never where that cannot be heard.
async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Everything set up, nothing begun.
struct Demo {
    args: DemoArgs,
    site: Arc<Site>,
    referee: Referee,
    page: StatusPage,
    speed: f64,
}

/// What changes while the demo runs.
struct Running {
    server: Server,
    clock: Accelerated,
    began: Instant,
    crawler: Crawler,
    referee: Referee,
    births: usize,
    summary: Summary,
    page: StatusPage,
    screen: Screen,
}

impl Demo {
    async fn prepare(args: &DemoArgs) -> Result<Self> {
        if args.duration == Span::ZERO {
            bail!("--for 0s leaves no time to fetch anything; write it like 60s");
        }
        if args.budget == Rate::ZERO {
            bail!("--budget 0 allows no fetch at all; write it like 40/s");
        }
        let page = StatusPage::start(args.listen).await?;
        let simulated = Span::from_seconds(args.duration.seconds() * SPEED).unwrap_or(LONGEST);
        let simulated = simulated.min(LONGEST);
        let trace = town::build(args.hosts as usize, simulated, args.seed)?;
        let habits = Habits { slowest: SLOWEST, ..Habits::default() };
        let site = Arc::new(Site::new(trace, args.seed, habits)?);
        let referee = Referee::new(site.trace().clone())?;
        let speed = simulated.seconds() / args.duration.seconds();
        Ok(Demo { args: args.clone(), site, referee, page, speed })
    }

    /// Runs until the time is over or `stop` ends; the figures, and what the server saw.
    async fn run(
        self,
        stop: impl Future<Output = ()>,
    ) -> Result<(Summary, Arc<tidewatch_web::RequestLog>)> {
        let args = self.args;
        let Some(entry) = registry::find(&args.policy) else {
            let names: Vec<_> = registry::POLICIES.iter().map(|entry| entry.name).collect();
            bail!("there is no policy '{}'; choose one of {}", args.policy, names.join(", "));
        };
        let began = Instant::now();
        let clock = Accelerated::new(began, self.speed);
        let server = Server::start(self.site, clock, &ServerOptions::default())?;
        let budget = Rate::per_second(args.budget.as_per_second() / self.speed);
        let budget = budget.context("the budget is too large")?;
        let policy = (entry.make)(args.seed);
        let names = server.names().clone();
        let crawler = Crawler::new(policy, names, budget, self.speed, HOST_GAP);
        let summary = Summary {
            policy: args.policy.clone(),
            seed: args.seed,
            speed: self.speed,
            budget_per_s: args.budget.as_per_second(),
            ..Summary::default()
        };
        let screen = Screen::new(args.duration, &self.page);
        let log = server.log().clone();
        let mut running = Running {
            server,
            clock,
            began,
            crawler,
            summary,
            screen,
            referee: self.referee,
            births: 0,
            page: self.page,
        };
        running.sow()?;
        let end = running.crawl(&args, stop).await?;
        let summary = running.finish(end, budget).await?;
        Ok((summary, log))
    }
}

impl Running {
    /// Names the seeds that exist at the start.
    fn sow(&mut self) -> Result<()> {
        let trace = self.referee.world().trace();
        for page in trace.pages.iter().filter(|page| page.is_seed && page.born == Time::ZERO) {
            let url = CanonicalUrl::parse(&page.url)?;
            self.crawler.seed(&url, Time::ZERO, page.is_source, page.weight);
        }
        Ok(())
    }

    /// The loop; the simulated time at which it ended.
    async fn crawl(&mut self, args: &DemoArgs, stop: impl Future<Output = ()>) -> Result<Time> {
        let last =
            Duration::try_from_secs_f64(args.duration.seconds()).context("--for is too long")?;
        let pace = Duration::try_from_secs_f64(1.0 / args.budget.as_per_second())
            .context("--budget is too small")?;
        let mut allowance = tokio::time::interval(pace.max(Duration::from_micros(1)));
        // A fetch not made in its time lapses, except for a short hiccup.
        allowance.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut renewal = tokio::time::interval(RENEWAL);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut jobs = JoinSet::new();
        let over = tokio::time::sleep_until((self.began + last).into());
        tokio::pin!(stop, over);
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = &mut over => break,
                Some(done) = jobs.join_next() => self.settle(done.context("a fetch broke down")?),
                _ = renewal.tick() => self.renew(),
                _ = allowance.tick() => self.spend(&mut jobs)?,
            }
        }
        let end = self.clock.now();
        // What is under way is waited for, for politeness, and not counted.
        while jobs.join_next().await.is_some() {}
        Ok(end)
    }

    /// Uses one allowance.
    fn spend(&mut self, jobs: &mut JoinSet<Done>) -> Result<()> {
        let now = self.clock.now();
        self.pass_time(now)?;
        if jobs.len() >= PARALLEL {
            self.crawler.tally.crowded += 1;
        } else if let Some(job) = self.crawler.choose(now) {
            jobs.spawn(job.run());
        }
        Ok(())
    }

    /// Seeds that are born, and the search log.
    fn pass_time(&mut self, now: Time) -> Result<()> {
        while let Some(log) = self.referee.read_log(now) {
            self.crawler.read_log(&log);
        }
        let world = self.referee.world();
        while let Some(&number) = world.births().get(self.births) {
            let page = &world.trace().pages[number as usize];
            if page.born > now {
                break;
            }
            self.births += 1;
            if page.is_seed {
                let url = CanonicalUrl::parse(&page.url)?;
                self.crawler.seed(&url, page.born, page.is_source, page.weight);
            }
        }
        Ok(())
    }

    fn settle(&mut self, done: Done) {
        let now = self.clock.now();
        let page = done.page;
        let ended = self.crawler.settle(done, now);
        if ended != Ended::Nothing {
            self.referee.note(page, self.crawler.url(page), now, ended == Ended::Gone);
        }
    }

    fn renew(&mut self) {
        self.update(self.clock.now());
        self.screen.show(&self.summary);
        self.publish();
    }

    fn update(&mut self, now: Time) {
        let [hosts, pages_known, pages_held] = self.crawler.sizes();
        let summary = &mut self.summary;
        (summary.hosts, summary.pages_known, summary.pages_held) = (hosts, pages_known, pages_held);
        summary.real_s = now.seconds() / summary.speed;
        summary.simulated_s = now.seconds();
        summary.fresh_now = self.referee.fresh_share(now);
        summary.count(&self.crawler.tally);
    }

    fn publish(&self) {
        let json = self.summary.to_json().unwrap_or_default();
        self.page.show(Shown { html: self.summary.report().to_html().into(), json: json.into() });
    }

    async fn finish(mut self, end: Time, budget: Rate) -> Result<Summary> {
        self.screen.clear();
        self.update(end);
        let verdict = self.referee.judge(end, budget)?;
        let (measures, bounds) = (verdict.measures, verdict.bounds);
        self.summary.is_over = true;
        self.summary.freshness = measures.freshness;
        self.summary.age_s = measures.age_s;
        self.summary.profit_per_s = measures.profit_per_s;
        self.summary.profit_bound_per_s = bounds.profit_per_s;
        self.summary.served_per_s = measures.served_per_s;
        self.summary.clicks_per_s = bounds.clicks_per_s;
        self.summary.coverage = measures.coverage;
        self.publish();
        self.server.shutdown().await;
        Ok(self.summary)
    }
}

/// Where progress is shown: a bar on a terminal, a line now and then elsewhere.
struct Screen {
    bar: Option<ProgressBar>,
    last: Instant,
}

impl Screen {
    fn new(duration: Span, page: &StatusPage) -> Self {
        eprintln!(
            "Crawling a living web on loopback; watch it at http://{}/ (Ctrl-C ends it)",
            page.address
        );
        let bar = output::is_watched().then(|| {
            let bar = ProgressBar::new(duration.seconds() as u64);
            let style = ProgressStyle::with_template("{bar:24} {elapsed} {wide_msg}");
            style.map_or(bar.clone(), |style| bar.with_style(style))
        });
        Screen { bar, last: Instant::now() }
    }

    fn show(&mut self, summary: &Summary) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(summary.real_s as u64);
                bar.set_message(summary.line());
            }
            None if self.last.elapsed() >= LINE => {
                self.last = Instant::now();
                eprintln!("{}", summary.line());
            }
            None => {}
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
