//! Imports every public data set found in a folder and prints, for each, what
//! came out, what was dropped, how long it took and the most memory it held.
//!
//! ```text
//! cargo run --release -p tidewatch-lab --example import_all -- DATA [-v] [NAME…]
//! ```
//!
//! Each import runs in a process of its own, so that its peak is its own.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tidewatch_lab::import::{ImportArgs, Imported, Importer, Join};

/// Name, format, place in the folder, whether clicks are joined in.
const RUNS: [(&str, &str, &str, Option<Join>); 9] = [
    ("de-news-hubs", "de-news-hubs", "de_news_hubs_hourly_2022", None),
    ("de-news-rank", "de-news-hubs", "de_news_hubs_hourly_2022", Some(Join::Rank)),
    ("de-news-random", "de-news-hubs", "de_news_hubs_hourly_2022", Some(Join::Random)),
    ("globo-clicks", "globo-clicks", "globo_clicks", None),
    ("hn-frontpage", "hn-frontpage", "hn_frontpage", None),
    ("ota-terms", "ota-terms", "ota_terms", None),
    ("mdn-site", "mdn-site", "mdn_site", None),
    ("cnr-2000", "web-graph", "web_graphs/cnr-2000.adj.gz", None),
    ("hollins", "web-graph", "web_graphs/hollins_links.txt.gz", None),
];

/// Set for the process that does one import.
const ALONE: &str = "TIDEWATCH_IMPORT_ALONE";

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let verbose = args.iter().any(|arg| arg == "-v");
    args.retain(|arg| arg != "-v");
    let Some((data, names)) = args.split_first() else {
        return Err("give the folder of the data sets".into());
    };
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    if let Some(name) = std::env::var_os(ALONE) {
        let run = RUNS.iter().find(|run| name == run.0).ok_or("no such run")?;
        return import(Path::new(data), run, verbose);
    }
    println!(
        "{:16}{:>9}{:>9}{:>10}{:>10}{:>9}{:>9}{:>9}{:>8}{:>8}",
        "name", "pages", "hosts", "links", "clicks", "changes", "versions", "signals", "s", "MiB"
    );
    for (name, ..) in RUNS.iter().filter(|run| wanted(run.0)) {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(ALONE, name).arg(data).args(verbose.then_some("-v"));
        if !command.status()?.success() {
            return Err(format!("{name} failed").into());
        }
    }
    Ok(())
}

fn import(data: &Path, run: &(&str, &str, &str, Option<Join>), verbose: bool) -> Outcome {
    let &(name, format, place, join) = run;
    let path = data.join(place);
    if !path.exists() {
        println!("{name:16} {} is not there", path.display());
        return Ok(());
    }
    let clicks: Option<PathBuf> = join.map(|_| data.join("globo_clicks"));
    let args = ImportArgs { path, clicks, join, ..ImportArgs::default() };
    let started = Instant::now();
    let imported = Importer::named(format)?.run(&args)?;
    let seconds = started.elapsed().as_secs_f64();
    show(name, &imported, seconds, verbose);
    Ok(())
}

fn show(name: &str, imported: &Imported, seconds: f64, verbose: bool) {
    let Imported { trace, notes, facts } = imported;
    println!(
        "{name:16}{:>9}{:>9}{:>10}{:>10}{:>9}{:>9}{:>9}{seconds:>8.2}{:>8}",
        trace.pages.len(),
        trace.hosts.len(),
        trace.links.len(),
        trace.clicks.as_ref().map_or(0, Vec::len),
        trace.changes.as_ref().map_or(0, Vec::len),
        trace.versions.as_ref().map_or(0, |versions| versions.rows.len()),
        trace.signals.as_ref().map_or(0, |signals| signals.rows.len()),
        peak_mib().map_or("?".to_owned(), |peak| peak.to_string()),
    );
    if verbose {
        println!("  {} from {:?}", trace.duration, trace.start);
        notes.iter().for_each(|note| println!("  {note}"));
        facts.iter().for_each(|fact| println!("  {:>10}  {}", fact.count, fact.what));
    }
}

/// The most memory this process has held, where the system tells.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 10)
}
