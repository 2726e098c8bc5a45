//! `tidewatch status`: figures of a crawl, running or not.

use std::path::PathBuf;

use anyhow::Result;
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
    let status = tidewatch_service::read_status(&args.dir)?;
    if args.json {
        return output::print(&(serde_json::to_string_pretty(&status)? + "\n"));
    }
    output::print(&text(&status))
}

/// The figures in a table, with warnings above it and sentences below.
pub(crate) fn text(status: &Status) -> String {
    let warning = status.panic_told().map_or_else(String::new, |told| told + "\n\n");
    let unspent = status.unspent.and_then(|unspent| unspent.told());
    let unspent = unspent.map_or_else(String::new, |told| format!("\n{told}.\n"));
    warning + &table(status).to_text(output::width()) + &unspent
}

/// The figures as a table.
pub(crate) fn table(status: &Status) -> Table {
    let tally = &status.tally;
    let columns = [Column::text("Figure"), Column::number("Value"), Column::text("")];
    let mut table = Table::new(columns);
    let mut push = |name: &str, value: Cell, note: String| {
        table.push([Cell::text(name), value, Cell::text(note)]);
    };
    if let Some(price) = status.price {
        let note = "clicks per marginal fetch".to_owned();
        // Such a price means that the budget hardly limits anything.
        let value = match price {
            ..=1e-6 => Cell::text("< 10⁻⁶"),
            price => Cell::significant(price, 3),
        };
        push("price", value, note);
    }
    let mut row = |name: &str, value: u64, note: String| push(name, Cell::count(value), note);
    row(
        "pages known",
        status.pages.into(),
        format!("on {} {}", status.hosts, if status.hosts == 1 { "host" } else { "hosts" }),
    );
    row("pages stored", tally.held, String::new());
    if let Some(freshness) = status.freshness {
        let note = format!("freshness {freshness}");
        row("  up to date", (freshness.share * tally.held as f64).round() as u64, note);
    }
    let policy = format!("policy {}, budget {} a second", status.policy, status.budget_per_s);
    row("fetches", tally.all_fetches(), policy);
    if let Some(unspent) = status.unspent.filter(|unspent| unspent.told().is_some()) {
        row("  unspent, %", (100.0 * unspent.share).round() as u64, String::new());
    }
    for (kind, count) in &tally.fetches {
        row(&format!("  {kind}"), *count, String::new());
    }
    row("robots.txt fetched", tally.robots, String::new());
    row("copies stored", tally.copies, String::new());
    let share = tally.changes as f64 / tally.revisits.max(1) as f64;
    let saw = match tally.revisits {
        0 => String::new(),
        _ => format!("{:.1}% saw a change", 100.0 * share),
    };
    row("revisits", tally.revisits, saw);
    row("body bytes", tally.body_bytes, format!("{} in the archive", tally.archive_bytes));
    for (status, count) in &tally.statuses {
        row(&format!("status {status}"), *count, String::new());
    }
    row("failed fetches", status.failures, String::new());
    for (reason, count) in &tally.reasons {
        let name = if reason.is_failure() { "  failed" } else { "fetches that ended in" };
        row(name, *count, reason.to_string());
    }
    if tally.spared > 0 {
        let note = "links to other addresses of known pages (tidewatch rules)".to_owned();
        row("fetches spared", tally.spared, note);
    }
    for (reason, count) in &tally.dropped {
        row("skipped URLs", *count, reason.to_string());
    }
    table
}
