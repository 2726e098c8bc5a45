//! `tidewatch crawl`: the real thing.

mod seeds;
mod view;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use tidewatch_core::{Rate, Span};
use tidewatch_crawler::{Clock, Config, Crawl, Ended, Net, Stop};
use tidewatch_fetch::{AddressPolicy, Dns, Fetcher, Tcp};
use tokio::runtime::Runtime;

use crate::output;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch crawl https://example.com/ --dir news --budget 2/s \
                        --for 6h\n\nRun it again with the same --dir to go on; seeds need not be \
                        given again.")]
pub(crate) struct Args {
    /// Where to begin: URLs, sitemaps, or files with one URL a line.
    seeds: Vec<String>,
    /// The directory that holds everything; made if it is not there.
    #[arg(long)]
    dir: PathBuf,
    /// Settings in TOML; `tidewatch config` shows them all.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Fetches per time, such as 5/s or 300/min.
    #[arg(long)]
    budget: Option<Rate>,
    /// Stop after this long: 90s, 30m, 6h, 7d.
    #[arg(long = "for")]
    duration: Option<Span>,
    /// Stop after this many page requests.
    #[arg(long)]
    max_pages: Option<u64>,
    /// Print every page's URL once its copy is safe on disk.
    #[arg(long)]
    print_stored: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch config > crawl.toml")]
pub(crate) struct ConfigArgs {
    /// Settings in TOML that replace defaults.
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
    let mut config = settings(args.config.as_ref())?;
    if let Some(budget) = args.budget {
        config.budget = budget;
    }
    let seeds = seeds::read(&args.seeds)?;
    let mut crawl = Crawl::open(&args.dir, config.clone(), now_micros())?;
    let now = Clock::of(&crawl).now();
    for seed in &seeds {
        crawl.seed(seed, now)?;
    }
    ensure!(crawl.store().pages() > 0, "{}", no_seed(&args.dir));
    let runtime = Runtime::new().context("cannot start the network's threads")?;
    let net = Arc::new(network(&config, &runtime)?);
    let stop = Stop {
        after: args.duration.map(|span| Duration::from_micros(span.as_micros())),
        fetches: args.max_pages,
        ..Stop::default()
    };
    let flag = Arc::clone(&stop.flag);
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let mut view = view::View::new(args.print_stored);
    let ended = tidewatch_crawler::run(&mut crawl, &net, runtime.handle(), &stop, &mut view)?;
    view.finish();
    // Requests that would not end are cut off; their pages come again.
    runtime.shutdown_timeout(Duration::from_millis(100));
    let why = match ended {
        Ended::Time => "its time is over",
        Ended::Fetches => "it has made the fetches asked for",
        Ended::Told => "you stopped it",
    };
    let summary = view::summary(&crawl);
    output::print(&format!("The crawl has ended: {why}. Run it again to go on.\n\n{summary}"))
}

fn network(config: &Config, runtime: &Runtime) -> Result<Net> {
    let _inside = runtime.enter();
    let resolver = Arc::new(Dns::system().context("cannot read the system's DNS settings")?);
    let agent = match config.contact.as_str() {
        "" => format!("{}/{}", config.agent, env!("CARGO_PKG_VERSION")),
        contact => format!("{}/{} (+{contact})", config.agent, env!("CARGO_PKG_VERSION")),
    };
    let mut options = tidewatch_fetch::Config::new(&agent);
    options.addresses = AddressPolicy { allow_all: config.allow_private, ..Default::default() };
    let fetcher = Fetcher::with(options, Arc::clone(&resolver) as _, Arc::new(Tcp))?;
    Ok(Net::new(fetcher, resolver, &config.agent, config.archive_level))
}

fn no_seed(dir: &std::path::Path) -> String {
    format!("{} knows no page yet; name a seed, such as https://example.com/", dir.display())
}

fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
