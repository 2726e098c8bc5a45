//! What learning about URLs costs a crawl: CPU time a page, memory a host and bytes on disk, with and
//! without, on a clean web and on one in which an eighth of all links lead to a page under another address.
//!
//! `cargo run --release -p tidewatch-partition --example hygiene_cost [PAGES_A_HOST]`

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::collections::BTreeMap;
use std::error::Error;

use tidewatch_archive::digest;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_partition::work::{Came, Content, Job, Report};
use tidewatch_partition::{Config, Next, Partition, Reach, Revisit};

const HOSTS: u64 = 40;
const LINKS: u64 = 20;
/// Of so many links one leads to a page under another title.
const RENAMED: u64 = 8;
const TOOK: Span = Span::from_micros(1_000);
/// Runs of each kind, in turns; the median counts.
const RUNS: usize = 5;

fn address(host: u64, page: u64, title: u64) -> String {
    format!("http://h{host}.example/news/some-title-{title}-of-it-{}.html", 7_000_000 + page)
}

/// Numbers that look random, the same in every run.
fn mix(a: u64, b: u64) -> u64 {
    let x = (a ^ b.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

/// A web: its pages a host, and whether links lead to pages under other titles.
#[derive(Clone, Copy)]
struct Web {
    pages: u64,
    is_clean: bool,
}

fn content(host: u64, page: u64, Web { pages, is_clean }: Web) -> Content {
    let to = |link: u64| match link {
        0 | 1 => 2 * page + 1 + link,
        _ => mix(page * HOSTS + host, link),
    };
    let links = (0..LINKS).map(|link| {
        let (page, lot) = (to(link) % pages, mix(page * HOSTS + host, 1_000 + link));
        let title = if !is_clean && lot.is_multiple_of(RENAMED) { lot / RENAMED % 4 } else { 0 };
        address(host, page, title)
    });
    let next = address((host + 1) % HOSTS, 0, 0);
    let links = links.chain([next]).filter_map(|url| CanonicalUrl::parse(&url).ok());
    let links = links.map(|url| (url, "a few words of anchor".to_owned())).collect();
    let digest = digest(format!("{host} {page}").as_bytes());
    let identity = mix(host, page);
    let mut sketch: Vec<u64> = (0..8).map(|n| mix(identity, n) << 16).collect();
    sketch.sort_unstable();
    Content { status: 200, digest, identity, links, sketch, ..Content::default() }
}

fn answer(job: &Job, web: Web) -> Report {
    match job {
        Job::Resolve { host, .. } => {
            let address = std::net::Ipv4Addr::from(0xcb00_7100 + host.0);
            Report::Resolved { host: *host, found: Ok((address.into(), Span::DAY)), took: TOOK }
        }
        Job::Robots { host, .. } => {
            Report::Robots { host: *host, found: Ok((404, vec![])), retry_after: None, took: TOOK }
        }
        Job::Page { host, page, url, .. } => {
            let digits = |text: &str| -> u64 {
                let digits: String = text.chars().filter(char::is_ascii_digit).collect();
                digits.parse().unwrap_or(0)
            };
            let name = digits(url.host());
            let number = digits(url.path().rsplit('-').next().unwrap_or_default());
            let content = content(name, number.saturating_sub(7_000_000), web);
            Report::Page {
                host: *host,
                page: *page,
                came: Came::Content(Box::new(content)),
                status: Some(200),
                body_bytes: 20,
                packed: None,
                unix_micros: 0,
                took: TOOK,
            }
        }
    }
}

/// Nanoseconds that this thread was on a CPU.
fn cpu_ns() -> Result<u64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(stat.split(' ').next().unwrap_or_default().parse()?)
}

struct Cost {
    /// CPU time a fetch, in microseconds.
    fetch_us: f64,
    fetches: u64,
    held: u64,
    spared: u64,
    /// What is known of hosts, and what finds pages of other hosts, in bytes.
    memory: (usize, usize),
    disk: u64,
}

fn crawl(learn_rules: bool, web: Web) -> Result<Cost, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let budget = Rate::per_second(10_000.0).unwrap_or(Rate::ZERO);
    let mut config = Config { budget, learn_rules, probe_pages: 0, ..Config::default() };
    config.politeness.least_gap = Span::from_micros(10_000);
    config.scope.reach = Reach::Everything;
    config.revisit = Revisit::ONCE;
    let mut crawl = Partition::open(dir.path(), config, 0)?;
    crawl.seed(&CanonicalUrl::parse(&address(0, 0, 0))?, Time::ZERO)?;
    let mut ends: BTreeMap<(Time, u64), Job> = BTreeMap::new();
    let (mut now, mut serial, mut spent) = (Time::ZERO, 0, 0);
    let end = Time::ZERO + Span::SECOND.times(2 * web.pages);
    while now < end {
        let began = cpu_ns()?;
        let wait = loop {
            match crawl.next(now)? {
                Next::Job(job) => {
                    serial += 1;
                    ends.insert((now + TOOK, serial), job);
                }
                Next::WaitUntil(until) => break until,
            }
        };
        spent += cpu_ns()? - began;
        match ends.first_entry() {
            Some(entry) if entry.key().0 <= wait => {
                now = entry.key().0;
                let report = answer(&entry.remove(), web);
                let began = cpu_ns()?;
                crawl.take_in(report, now)?;
                crawl.rejudge(now)?;
                if serial.is_multiple_of(256) {
                    crawl.commit()?;
                }
                spent += cpu_ns()? - began;
            }
            _ => now = wait,
        }
    }
    crawl.save()?;
    let tally = crawl.tally();
    Ok(Cost {
        fetch_us: spent as f64 / 1e3 / tally.all_fetches().max(1) as f64,
        fetches: tally.all_fetches(),
        held: tally.held,
        spared: tally.spared,
        memory: crawl.hygiene_bytes(),
        disk: crawl.store().tables()?.disk_bytes()?,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let pages = std::env::args().nth(1).map_or(Ok(500), |text| text.parse())?;
    for is_clean in [true, false] {
        compare(Web { pages, is_clean })?;
    }
    Ok(())
}

fn compare(web: Web) -> Result<(), Box<dyn Error>> {
    let mut all = [Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        for (at, learn_rules) in [(0, false), (1, true)] {
            all[at].push(crawl(learn_rules, web)?);
        }
    }
    let renamed = if web.is_clean { "none".to_owned() } else { format!("1 in {RENAMED}") };
    println!(
        "{HOSTS} hosts of {} pages, {LINKS} links each, {renamed} renamed; medians of {RUNS}",
        web.pages
    );
    let mut medians = [0.0; 2];
    for (at, name) in ["without", "with"].into_iter().enumerate() {
        all[at].sort_by(|a, b| a.fetch_us.total_cmp(&b.fetch_us));
        let cost = &all[at][RUNS / 2];
        medians[at] = cost.fetch_us;
        println!(
            "{name}: {:.1} µs CPU a fetch ({:.1} to {:.1}), {} fetches, {} held, {} spared; hygiene {:.0} \
             bytes a host and {:.0} a page held in memory; tables {} bytes a page held",
            cost.fetch_us,
            all[at][0].fetch_us,
            all[at][RUNS - 1].fetch_us,
            cost.fetches,
            cost.held,
            cost.spared,
            cost.memory.0 as f64 / HOSTS as f64,
            cost.memory.1 as f64 / cost.held.max(1) as f64,
            cost.disk / cost.held.max(1),
        );
    }
    println!("CPU a fetch, with to without: {:.3}", medians[1] / medians[0]);
    Ok(())
}
