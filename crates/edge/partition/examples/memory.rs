//! How much memory and disk a crawl takes for the pages it knows, and how long it takes to
//! start again: `cargo run --release -p tidewatch-partition --example memory -- 10000000`.
//!
//! Pages become known as links of a front page do in a crawl: through the sieve, the tables,
//! the tape, the frontier and the default policy. Then the crawl is saved, killed without a
//! word, and opened again, as a process of its own so that its memory can be told.

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tidewatch_core::Time;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::{Config, Partition, Reach};

/// Pages of a host.
const PAGES_A_HOST: u64 = 1_000;
/// Pages between two commits, as many as a large page links to.
const PAGES_A_COMMIT: u64 = 500;

fn url(number: u64) -> Result<CanonicalUrl, Box<dyn Error>> {
    // Words of a path repeat within a host and its numbers do not, as on the web.
    let (host, page) = (number / PAGES_A_HOST, number % PAGES_A_HOST);
    let section = ["news", "archive/2026/11", "products", "people", "topics/science"];
    let section = section[(page % 5) as usize];
    let text =
        format!("https://www.site-{host}.example/{section}/{page:06}-a-page-with-a-title.html");
    Ok(CanonicalUrl::parse(&text)?)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Resident megabytes of this process: now, and at most.
fn resident_mb() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0)
    };
    (field("VmRSS:") / 1024, field("VmHWM:") / 1024)
}

fn disk_bytes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else {
        return std::fs::metadata(path).map_or(0, |file| file.len());
    };
    entries.flatten().map(|entry| disk_bytes(&entry.path())).sum()
}

fn config() -> Config {
    let mut config = Config::default();
    config.scope.reach = Reach::Everything;
    config
}

fn fill(dir: &Path, pages: u64) -> Result<(), Box<dyn Error>> {
    let mut crawl = Partition::open(dir, config(), now())?;
    let began = Instant::now();
    for number in 0..pages {
        crawl.know(&url(number)?, Time::ZERO)?;
        if number % PAGES_A_COMMIT == 0 {
            crawl.commit()?;
        }
        if number % (pages / 10).max(1) == 0 {
            let (resident, most) = resident_mb();
            println!("{number} pages: {resident} MB resident, {most} MB at most");
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let (resident, most) = resident_mb();
    println!(
        "{} pages known in {seconds:.0} s ({:.0}/s): {resident} MB resident, {most} MB at most",
        crawl.store().pages(),
        pages as f64 / seconds
    );
    let began = Instant::now();
    crawl.save()?;
    println!("saved in {:.1?}; {} MB at most", began.elapsed(), resident_mb().1);
    Ok(())
}

fn open(dir: &Path) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let crawl = Partition::open(dir, config(), now())?;
    println!(
        "open again after {:.2?}: {} pages, {} inputs played, {} MB at most",
        began.elapsed(),
        crawl.store().pages(),
        crawl.unsaved(),
        resident_mb().1
    );
    let began = Instant::now();
    let mut missing = 0;
    for number in (0..u64::from(crawl.store().pages())).step_by(997) {
        missing += u64::from(crawl.store().page_of(url(number)?.as_str())?.is_none());
    }
    println!("{missing} of every 997th URL unknown; looked up in {:.2?}", began.elapsed());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let pages = args.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let config = Config::default();
    let Some(step) = args.next() else {
        let dir = tempfile::tempdir()?;
        let cap = config.cache_mb + config.sieve_mb + config.pages_mb;
        println!("declared: {cap} MB for caches and pages");
        for step in ["fill", "open"] {
            let again = std::env::current_exe()?;
            let args = [pages.to_string(), step.into(), dir.path().display().to_string()];
            let done = Command::new(again).args(args).status()?;
            assert!(done.success(), "{step} failed");
            for part in ["db", "sieve", "frontier.snapshot"] {
                let bytes = disk_bytes(&dir.path().join(part));
                println!("  {part}: {:.1} bytes a page on disk", bytes as f64 / pages as f64);
            }
        }
        return Ok(());
    };
    let dir = args.next().ok_or("a directory is missing")?;
    if step == "fill" { fill(Path::new(&dir), pages) } else { open(Path::new(&dir)) }
}
