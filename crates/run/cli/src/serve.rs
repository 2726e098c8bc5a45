//! `tidewatch serve`: search page, dashboard and API of a crawl that is not running.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tidewatch_partition::{Clock, Config, Crawl, Status};
use tokio::runtime::Runtime;

use crate::site::{ServeArgs, Site};
use crate::why::{ensure_crawl, now_micros};

/// How long the loop waits for a question.
const PATIENCE: Duration = Duration::from_millis(250);

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch serve --dir news --listen 127.0.0.1:7700\n\nWhile a \
                        crawl runs, tidewatch crawl --listen serves the same. An index that is \
                        not there yet is made from what the crawl holds.")]
pub(crate) struct Args {
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Where to listen. Other addresses than loopback need --token-file.
    #[arg(long, default_value = "127.0.0.1:7700", value_name = "ADDR")]
    listen: SocketAddr,
    #[command(flatten)]
    serve: ServeArgs,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure_crawl(&args.dir)?;
    let runtime = Runtime::new().context("cannot start the server's threads")?;
    let mut crawl = Crawl::look(&args.dir, now_micros())?;
    let config = Config { index: true, ..Config::default() };
    let mut site = {
        let _inside = runtime.enter();
        Site::open(&args.dir, args.listen, &args.serve, &config)?
    };
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            flag.store(true, Ordering::Relaxed);
        }
    });
    eprintln!("Serving {} at http://{}/ (Ctrl-C ends it)", args.dir.display(), site.server.address);
    let clock = Clock::of(&crawl);
    // Figures as the crawl left them; one that never ran has those of nothing.
    let status = Status::read(&args.dir).unwrap_or_else(|_| crawl.status());
    while !stop.load(Ordering::Relaxed) {
        site.server.wait_and_answer(&mut crawl, clock.now(), PATIENCE);
        site.feed(&crawl);
        site.publish(status.clone(), false, None);
    }
    site.finish();
    Ok(())
}
