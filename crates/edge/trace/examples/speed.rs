//! How fast traces are read and written, and in how much memory.
//!
//! Builds a synthetic trace of the size of a year of a news site (415,000 pages,
//! 2.4 million links, 4 million rows of clicks) and prints, per format, seconds
//! and MB/s of reading and writing, and the time of reading as a multiple of a
//! bare scan that sums the bytes of the same files. MB are bytes of the files on
//! disk. Each figure is the best of three.
//!
//! ```sh
//! cargo run --release -p tidewatch-trace --example speed -- speed-traces
//! cargo run --release -p tidewatch-trace --example speed -- speed-traces read csv   # peak memory
//! ```

#![allow(clippy::print_stdout)] // A program that reports to a terminal.

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use tidewatch_core::{Span, Time};
use tidewatch_trace::{Count, Format, Host, Trace, TraceLink, TracePage, read, replace};

const PAGES: u64 = 415_000;
const LINKS: u64 = 2_400_000;
const CLICKS: u64 = 4_000_000;
const HOSTS: u64 = 400;
const DAYS: u64 = 28;
const RUNS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let dir = Path::new(arguments.first().map_or("speed-traces", String::as_str));
    match arguments.get(2) {
        Some(format) => peak(&dir.join(format)),
        None => measure(dir),
    }
}

fn measure(dir: &Path) -> Result<(), Box<dyn Error>> {
    let trace = synthetic();
    println!("format    MB   write s  MB/s   read s  MB/s   scan s  read/scan");
    for format in Format::ALL {
        let dir = dir.join(format.extension());
        let written = best(|| Ok(replace(&dir, &trace, format)?))?;
        let back = best(|| read(&dir).map(drop).map_err(Into::into))?;
        let scanned = best(|| scan(&dir).map(drop))?;
        let megabytes = bytes(&dir)? as f64 / 1e6;
        println!(
            "{:8} {megabytes:5.0}  {written:7.2} {:6.0}  {back:7.2} {:6.0}  {scanned:6.3}  {:8.1}",
            format.extension(),
            megabytes / written,
            megabytes / back,
            back / scanned,
        );
        if read(&dir)? != trace {
            return Err("another trace was read than written".into());
        }
    }
    Ok(())
}

/// Reads once in a process of its own and prints what that took.
fn peak(dir: &Path) -> Result<(), Box<dyn Error>> {
    let trace = read(dir)?;
    let urls: usize = trace.pages.iter().map(|page| page.url.len()).sum();
    let clicks = trace.clicks.as_deref().unwrap_or_default();
    let vectors = size_of_val(&*trace.pages) + size_of_val(&*trace.links) + size_of_val(clicks);
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown");
    println!("vectors and URLs {} kB, peak {peak}", (vectors + urls) / 1024);
    Ok(())
}

fn best(mut run: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// The least that any reader must do.
fn scan(dir: &Path) -> Result<u64, Box<dyn Error>> {
    let (mut sum, mut buffer) = (0_u64, vec![0; 128 << 10]);
    for entry in std::fs::read_dir(dir)? {
        let mut file = File::open(entry?.path())?;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            sum += buffer[..read].iter().map(|&byte| u64::from(byte)).sum::<u64>();
        }
    }
    Ok(std::hint::black_box(sum))
}

fn bytes(dir: &Path) -> Result<u64, Box<dyn Error>> {
    std::fs::read_dir(dir)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

/// Rows at pseudo-random pages and microseconds.
fn synthetic() -> Trace {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (state ^ (state >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((u128::from(bits ^ (bits >> 29)) * u128::from(below)) >> 64) as u64
    };
    let duration = Span::DAY.times(DAYS);
    let page = |id: u64| TracePage {
        id,
        url: format!("https://host{}.example/section/article-{id}.html", id % HOSTS).into(),
        host: (id % HOSTS) as u32,
        born: Time::ZERO,
        died: None,
        is_source: id.is_multiple_of(100),
        weight: 1.0,
        is_seed: id.is_multiple_of(100),
    };
    let host = |i: u64| Host { name: format!("host{i}.example").into(), max_rate: None };
    let mut moment = |until: Span| Time::from_micros(random(until.as_micros()));
    let links = (0..LINKS).map(|i| TraceLink {
        position: None,
        // Every pair at most once: 5 or 6 sources a page.
        source: ((i % PAGES + i / PAGES * 7919) % PAGES) as u32,
        page: (i % PAGES) as u32,
        appears: moment(duration),
        disappears: (i % 3 != 0).then_some(Time::ZERO + duration),
    });
    let links = links.collect();
    let clicks = (0..CLICKS).map(|i| Count {
        page: (i * 7 % PAGES) as u32,
        at: moment(duration),
        count: (1 + i % 5) as f64,
    });
    let mut clicks: Vec<Count> = clicks.collect();
    clicks.sort_by_key(|row| (row.page, row.at));
    clicks.dedup_by_key(|row| (row.page, row.at));
    let mut trace = Trace {
        name: "speed".into(),
        duration,
        pages: (0..PAGES).map(page).collect(),
        hosts: (0..HOSTS).map(host).collect(),
        links,
        clicks: Some(clicks),
        ..Trace::default()
    };
    trace.arrange();
    trace
}
