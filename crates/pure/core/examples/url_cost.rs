//! What canonical URLs cost, as a ratio to bare parsing by the `url` crate.
//!
//! `cargo run --release -p tidewatch-core --example url_cost < urls.txt`
//!
//! Reads one URL a line from standard input. Each figure is the best of several
//! rounds, in which the contenders take turns, so that other load on the machine
//! touches all alike.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use tidewatch_core::PageKey;
use tidewatch_core::url::CanonicalUrl;
use url::Url;

const ROUNDS: usize = 15;

fn time(urls: &[String], mut work: impl FnMut(&str) -> bool) -> Duration {
    let start = Instant::now();
    for url in urls {
        black_box(work(black_box(url)));
    }
    start.elapsed()
}

#[expect(clippy::print_stdout, reason = "the figures are this program's output")]
fn main() -> io::Result<()> {
    let urls: Vec<String> = io::stdin().lines().collect::<Result<_, _>>()?;
    let mut best = [Duration::MAX; 4];
    for _ in 0..ROUNDS {
        let round = [
            time(&urls, |url| Url::parse(url).is_ok()),
            time(&urls, |url| CanonicalUrl::parse(url).is_ok()),
            time(&urls, |url| {
                CanonicalUrl::parse(url).is_ok_and(|url| PageKey::of(url.as_str()).0 > 0)
            }),
            time(&urls, |url| CanonicalUrl::parse(url).is_ok_and(|url| !url.surt().is_empty())),
        ];
        for (best, time) in best.iter_mut().zip(round) {
            *best = time.min(*best);
        }
    }
    let names = ["url::Url::parse", "canonical", "canonical + key", "canonical + surt"];
    println!("{} URLs", urls.len());
    for (name, time) in names.iter().zip(best) {
        let each_ns = time.as_nanos() as f64 / urls.len().max(1) as f64;
        let ratio = time.as_secs_f64() / best[0].as_secs_f64();
        println!("{name:20} {each_ns:7.1} ns  {ratio:.2}x");
    }
    Ok(())
}
