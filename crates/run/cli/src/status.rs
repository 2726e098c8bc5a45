//! `tidewatch status`: figures of a crawl, running or not.

use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use tidewatch_partition::Status;
use tidewatch_report::{Cell, Column, Table};

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
    let dir = args.dir.display();
    let status = Status::read(&args.dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound if args.dir.join("format").exists() => {
            anyhow!("the crawl in {dir} has written no figures yet; ask again in a second")
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            anyhow!("{dir} holds no crawl; begin one with tidewatch crawl")
        }
        ErrorKind::InvalidData => anyhow!(
            "the figures in {dir}/status.json are damaged ({error}); the crawl writes them anew \
             when it runs"
        ),
        _ => anyhow!("cannot read {dir}/status.json: {error}"),
    })?;
    if args.json {
        return output::print(&(serde_json::to_string_pretty(&status)? + "\n"));
    }
    output::print(&table(&status).to_text(output::width()))
}

/// The figures for a person.
pub(crate) fn table(status: &Status) -> Table {
    let tally = &status.tally;
    let columns = [Column::text("Figure"), Column::number("Value"), Column::text("")];
    let mut table = Table::new(columns);
    let mut push = |name: &str, value: Cell, note: String| {
        table.push([Cell::text(name), value, Cell::text(note)]);
    };
    if let Some(price) = status.price {
        let note = "clicks that the marginal fetch brings".to_owned();
        push("price", Cell::significant(price, 3), note);
    }
    let mut row = |name: &str, value: u64, note: String| push(name, Cell::count(value), note);
    row("pages known", status.pages.into(), format!("on {} hosts", status.hosts));
    let fresh = status.freshness_estimate.map(|f| format!("about {:.0}% up to date", 100.0 * f));
    row("pages held", tally.held, fresh.unwrap_or_default());
    if let Some((share, by)) = status.freshness_probed {
        let note = format!("{:.1} ± {:.1}% by probes at random", 100.0 * share, 100.0 * by);
        row("  up to date", (share * tally.held as f64) as u64, note);
    }
    let policy = format!("by {}, {} a second at most", status.policy, status.budget_per_s);
    row("fetches", tally.all_fetches(), policy);
    for (kind, count) in &tally.fetches {
        row(&format!("  {kind}"), *count, String::new());
    }
    row("robots.txt read", tally.robots, String::new());
    row("copies taken", tally.copies, String::new());
    let share = tally.changes as f64 / tally.revisits.max(1) as f64;
    row("visits again", tally.revisits, format!("{:.1}% saw a change", 100.0 * share));
    row("body bytes", tally.body_bytes, format!("{} in the archive", tally.archive_bytes));
    for (status, count) in &tally.statuses {
        row(&format!("answers {status}"), *count, String::new());
    }
    for (reason, count) in &tally.reasons {
        row("failed", *count, reason.to_string());
    }
    for (reason, count) in &tally.dropped {
        row("dropped", *count, reason.to_string());
    }
    table
}
