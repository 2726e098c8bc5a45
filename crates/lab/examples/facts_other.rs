//! Prints how the renewal, longevity and graph webs compare with what they are
//! calibrated to, at full size, and how long each takes to make.
//!
//! Run with `cargo run --release -p tidewatch-lab --example facts_other [SEED] [SCALE] [KIND]`,
//! KIND being how the titles of the webs wanted begin: `graph`, `longevity, random`.

#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use std::time::Instant;

use tidewatch_lab::generate::{Fact, graph, longevity, renewal};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seed = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let scale = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let wanted = arguments.next().unwrap_or_default();
    for (name, config) in
        [("default", renewal::Config::default()), ("poisson", renewal::Config::poisson())]
    {
        show(&wanted, &format!("renewal, {name}"), || {
            let made = renewal::generate(&renewal::Config { scale, ..config }, seed);
            let rows = made.trace.changes.iter().flatten().count();
            (made.facts, format!("{} pages, {rows} changes", made.trace.pages.len()))
        });
    }
    for (name, config) in
        [("high quality", longevity::Config::default()), ("random", longevity::Config::random())]
    {
        show(&wanted, &format!("longevity, {name}"), || {
            let made = longevity::generate(&longevity::Config { scale, ..config }, seed);
            let versions = made.trace.versions.unwrap_or_default();
            let (rows, fragments) = (versions.rows.len(), versions.fragments.len());
            let pages = made.trace.pages.len();
            (made.facts, format!("{pages} pages, {rows} versions, {fragments} fragments"))
        });
    }
    for (name, config) in
        [("web crawl", graph::Config::web_crawl()), ("Wikipedia", graph::Config::wikipedia())]
    {
        show(&wanted, &format!("graph, {name}"), || {
            let made = graph::generate(&graph::Config { scale, ..config }, seed);
            let (pages, links) = (made.trace.pages.len(), made.trace.links.len());
            let rows = made.trace.views.iter().flatten().count();
            (made.facts, format!("{pages} pages, {links} links, {rows} page-days with views"))
        });
    }
}

/// Makes a web and prints its facts, if its title begins as wanted.
fn show(wanted: &str, title: &str, make: impl FnOnce() -> (Vec<Fact>, String)) {
    if !title.starts_with(wanted) {
        return;
    }
    let start = Instant::now();
    let (facts, size) = make();
    println!("\n{title}: {size}, {:.2} s", start.elapsed().as_secs_f64());
    println!("  {:>10} {:>10}  figure", "published", "ours");
    for fact in facts {
        let published = fact.published.map_or_else(|| "-".to_owned(), |p| format!("{p:.4}"));
        println!("  {published:>10} {:>10.4}  {} ({})", fact.ours, fact.what, fact.source);
    }
}
