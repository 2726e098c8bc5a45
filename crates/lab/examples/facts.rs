//! Prints how the echo and mixed webs compare with what they are calibrated to,
//! with time and memory taken.
//!
//! `cargo run --release -p tidewatch-lab --example facts [SCALE [SEED]]`
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use std::time::Instant;

use tidewatch_lab::generate::Generated;
use tidewatch_lab::generate::echo::{self, EchoConfig};
use tidewatch_lab::generate::mixed::{self, MixedConfig};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scale = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let seed = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let started = Instant::now();
    let web = echo::generate(&EchoConfig { scale, ..EchoConfig::default() }, seed);
    print(&web, &format!("echo, scale {scale}, seed {seed}"), started);
    drop(web);
    let started = Instant::now();
    let web = mixed::generate(&MixedConfig { scale, ..MixedConfig::default() }, seed);
    print(&web, &format!("mixed, scale {scale}, seed {seed}"), started);
}

fn print(web: &Generated, title: &str, started: Instant) {
    let trace = &web.trace;
    println!("{title}: {:.2} s", started.elapsed().as_secs_f64());
    println!(
        "{} pages, {} hosts, {} links, {} rows of clicks",
        trace.pages.len(),
        trace.hosts.len(),
        trace.links.len(),
        trace.clicks.as_ref().map_or(0, Vec::len),
    );
    for fact in &web.facts {
        let published = fact.published.map_or("–".to_owned(), |figure| format!("{figure:.4}"));
        println!("{:<60} {published:>14} {:>14.4}  {}", fact.what, fact.ours, fact.source);
    }
    println!("{}", peak_memory().unwrap_or_default());
}

/// The most memory held so far, where the system tells.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}
