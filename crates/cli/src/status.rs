//! `tidewatch status`: figures of a crawl, running or not.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use tidewatch_crawler::Status;

use crate::output;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch status --dir news")]
pub(crate) struct Args {
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let status = Status::read(&args.dir).with_context(|| {
        format!("{} holds no crawl; begin one with tidewatch crawl", args.dir.display())
    })?;
    if args.json {
        return output::print(&(serde_json::to_string_pretty(&status)? + "\n"));
    }
    output::print(&text(&status))
}

/// The figures for a person.
pub(crate) fn text(status: &Status) -> String {
    let tally = &status.tally;
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<22} {value}");
    };
    row("policy", format!("{}, {} fetches/s at most", status.policy, status.budget_per_s));
    row("pages known", status.pages.to_string());
    row("hosts known", status.hosts.to_string());
    row("fetches", tally.all_fetches().to_string());
    for (kind, count) in &tally.fetches {
        row(&format!("  for {kind}"), count.to_string());
    }
    row("robots.txt read", tally.robots.to_string());
    row("copies taken", tally.copies.to_string());
    let share = tally.changes as f64 / tally.revisits.max(1) as f64;
    let revisits = format!("{} visits again, {:.1}% saw a change", tally.revisits, 100.0 * share);
    row("changes", revisits);
    row("archive", format!("{:.1} MB", tally.archive_bytes as f64 / 1e6));
    for (reason, count) in &tally.reasons {
        row(&format!("  {reason}"), count.to_string());
    }
    text
}
