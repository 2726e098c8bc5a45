//! `tidewatch crawl`: crawls the web into a directory.

mod log;
mod node;
mod scope;
mod seeds;
mod topic;
mod view;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tidewatch_core::{Rate, Span};
use tidewatch_partition::{Config, Ended, Revisit, Scope};
use tidewatch_service::{Service, ServiceConfig, ServiceError};

use self::log::Log;
use self::node::NodeArgs;
use self::scope::ScopeArgs;
use self::topic::TopicArgs;
use self::view::View;
use crate::listen::{ListenArgs, PublisherArgs};
use crate::output;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch crawl https://example.com/ --dir news --budget 2/s \
                        --for 6h\n\nRun it again with the same --dir to resume; seeds and scope \
                        need not be repeated.")]
pub(crate) struct Args {
    /// Where to start: URLs, sitemaps, or files with one URL a line.
    seeds: Vec<String>,
    /// The directory that holds all state; created if missing.
    #[arg(long)]
    dir: PathBuf,
    /// Settings in TOML; `tidewatch config` shows them all.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Most fetches per time, such as 5/s or 300/min.
    #[arg(long)]
    budget: Option<Rate>,
    /// Stop after this long: 90s, 30m, 6h, 7d.
    #[arg(long = "for")]
    duration: Option<Span>,
    /// Stop after this many page requests.
    #[arg(long)]
    max_pages: Option<u64>,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    topic: TopicArgs,
    /// Least time between two visits to a page whose habits are unknown (default 4h; 0s for none).
    /// Pages that change come down to `revisit.least`, quiet ones rest up to `revisit.most`.
    #[arg(long, value_name = "SPAN", conflicts_with = "once")]
    min_revisit: Option<Span>,
    /// Fetch every page in scope once and end when none is left. A page that fails gets three
    /// attempts; a host that stays closed for more than two minutes is not waited for.
    #[arg(long)]
    once: bool,
    /// Partitions of a new crawl, each on a thread of its own (default 1). A crawl keeps its number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    partitions: Option<u32>,
    /// Serve the search page, the dashboard and the API at this address, and index what is
    /// fetched. Any address but loopback needs --token-file.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    serve: ListenArgs,
    #[command(flatten)]
    publishers: PublisherArgs,
    #[command(flatten)]
    node: NodeArgs,
    /// Log to standard error as JSON, one object a line.
    #[arg(long)]
    log_json: bool,
    /// Print every page's URL once its copy is synced to disk.
    #[arg(long)]
    print_stored: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch config > crawl.toml")]
pub(crate) struct ConfigArgs {
    /// Settings in TOML that override the defaults.
    #[arg(long)]
    config: Option<PathBuf>,
}

/// Prints the effective settings.
pub(crate) fn print_config(args: &ConfigArgs) -> Result<()> {
    output::print(&settings(args.config.as_ref())?.to_toml())
}

fn settings(file: Option<&PathBuf>) -> Result<Config> {
    let Some(file) = file else { return Ok(Config::default()) };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the settings in {}", file.display()))?;
    Config::parse(&text).with_context(|| file.display().to_string())
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut crawl = settings(args.config.as_ref())?;
    if let Some(budget) = args.budget {
        crawl.budget = budget;
    }
    args.scope.apply(&mut crawl)?;
    args.topic.apply(&mut crawl)?;
    if let Some(usual) = args.min_revisit {
        crawl.revisit.usual = usual;
    }
    if args.once {
        crawl.revisit = Revisit::ONCE;
    }
    let log = if args.log_json { Log::Json } else { Log::Plain };
    if let Some(brokers) = &args.node.cluster {
        ensure!(
            args.publishers.settings()?.is_none(),
            "--publishers does not work with --cluster yet; send hints to POST /api/hints"
        );
        let rest = node::Rest {
            crawl,
            dir: &args.dir,
            seeds: &args.seeds,
            partitions: args.partitions,
            duration: args.duration,
            log,
            print_stored: args.print_stored,
            listen: args.listen.map(|address| args.serve.at(address)).transpose()?,
        };
        return node::run(&args.node, brokers, rest);
    }
    let began = Instant::now();
    let config = ServiceConfig {
        seeds: seeds::read(&args.seeds)?,
        index: crawl.index && args.listen.is_some(),
        listen: args.listen.map(|address| args.serve.at(address)).transpose()?,
        publishers: args.publishers.settings()?,
        stop_after: args.duration.map(|span| Duration::from_micros(span.as_micros())),
        stop_after_fetches: args.max_pages,
        partitions: args.partitions,
        once: args.once,
        crawl,
        ..ServiceConfig::new(&args.dir)
    };
    let mut view = View::new(log, args.print_stored);
    let mut service = Service::open(&config)?;
    ensure!(service.status().pages > 0, ServiceError::NoSeed(args.dir.clone()));
    service.stop_on_signals();
    view.ready(&service.status(), service.address(), began.elapsed());
    view.publishers(service.publishers_at());
    view.scope(&service.crawl().scope().map(Scope::describe).unwrap_or_default());
    view.descriptors(service.descriptors());
    view.own_hosts(&config.crawl.own_hosts().collect::<Vec<_>>());
    let ended = service.run_observed(&mut view)?;
    view.finish(service.finish(None));
    let status = service.status();
    let in_the_way = service.crawl().in_the_way()?;
    // A crawl that ends by itself without a single copy has failed.
    if status.tally.held == 0 && !matches!(ended, Ended::Told) && !in_the_way.is_empty() {
        let told = in_the_way.join("\n");
        bail!(
            "the crawl cannot start, because nothing could be fetched.\n{told}\nMend this and run it \
             again with the same --dir."
        );
    }
    let why = match ended {
        Ended::Time => "its time is up",
        Ended::Fetches => "it has reached its limit of fetches",
        Ended::Told => "you stopped it",
        Ended::CannotStart => "nothing can be fetched",
        Ended::Done => "every page in scope that answers was fetched",
    };
    let summary = crate::status::text(&status);
    output::print(&format!("The crawl has ended: {why}. Run it again to resume.\n\n{summary}"))
}
