//! `tidewatch crawl`: the real thing.

mod log;
mod seeds;
mod view;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tidewatch_core::{Rate, Span};
use tidewatch_partition::{Clock, Config, Crawl, Ended, Net, Stop};
use tokio::runtime::Runtime;

use self::log::Log;
use crate::hearing::Hearing;
use crate::output;
use crate::site::{ServeArgs, Site};

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
    /// Serve the search page, the dashboard and the API at this address, and index what is
    /// fetched. Other addresses than loopback need --token-file.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    serve: ServeArgs,
    /// Write what happens to standard error as a JSON object a line.
    #[arg(long)]
    log_json: bool,
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
    let began = Instant::now();
    let mut crawl = Crawl::open(&args.dir, config.clone(), now_micros())?;
    let took = began.elapsed();
    let now = Clock::of(&crawl).now();
    for seed in &seeds {
        crawl.seed(seed, now)?;
    }
    ensure!(crawl.store().pages() > 0, "{}", no_seed(&args.dir));
    allow_many_sockets();
    let runtime = Runtime::new().context("cannot start the network's threads")?;
    let net = {
        let _inside = runtime.enter();
        Arc::new(Net::of(&config)?)
    };
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
    let site = {
        let _inside = runtime.enter();
        let open = |listen| Site::open(&args.dir, listen, &args.serve, &config);
        args.listen.map(open).transpose()?
    };
    let searcher = site.as_ref().and_then(Site::searcher).map(|(searcher, _)| searcher.clone());
    let hearing = Hearing::open(&args.dir, &config, &crawl, searcher)?;
    let log = if args.log_json { Log::Json } else { Log::Plain };
    let mut view = view::View::new(log, site, hearing, args.print_stored);
    view.ready(&crawl, took);
    let ended = tidewatch_partition::run(&mut crawl, &net, runtime.handle(), &stop, &mut view)?;
    view.finish();
    // Requests that would not end are cut off; their pages come again.
    runtime.shutdown_timeout(Duration::from_millis(100));
    let why = match ended {
        Ended::Time => "its time is over",
        Ended::Fetches => "it has made the fetches asked for",
        Ended::Told => "you stopped it",
    };
    let summary = crate::status::table(&crawl.status()).to_text(output::width());
    output::print(&format!("The crawl has ended: {why}. Run it again to go on.\n\n{summary}"))
}

/// Takes as many open files as the system lets this process have: every host may keep one.
fn allow_many_sockets() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // With fewer the crawl is slower and as good.
    let _ = setrlimit(Resource::Nofile, most);
}

fn no_seed(dir: &std::path::Path) -> String {
    format!("{} knows no page yet; name a seed, such as https://example.com/", dir.display())
}

fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
