//! `tidewatch lab import`: a public data set or a log of visits as a trace.

use std::path::PathBuf;

use anyhow::Result;
use tidewatch_core::Span;
use tidewatch_lab::import::{ChangePlace, ImportArgs, Importer, Join, Moment};
use tidewatch_report::{Cell, Column, Table};

use super::generate::FormatArg;
use crate::{output, progress};

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch lab import mdn-site path/to/mdn_site -o mdn --days 365d"
)]
pub(crate) struct Args {
    /// Format of the data (`lab list` names them).
    format: String,
    /// The data set's folder or file.
    path: PathBuf,
    /// Directory to write; it must not exist or be empty.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Where the trace begins: a date, a time or Unix seconds.
    #[arg(long, value_name = "TIME")]
    from: Option<Moment>,
    /// How long it lasts.
    #[arg(long, value_name = "SPAN")]
    days: Option<Span>,
    /// Seed of what is chosen at random.
    #[arg(long)]
    seed: Option<u64>,
    /// Folder of a globo-clicks data set whose clicks are joined to these pages (synthetic).
    #[arg(long, value_name = "DIR")]
    clicks: Option<PathBuf>,
    /// How clicks are joined: rank or random.
    #[arg(long)]
    join: Option<Join>,
    /// Keep changes by commits that touch very many pages at once.
    #[arg(long)]
    keep_mass_commits: bool,
    /// Where between two visits a change is put: midpoint or uniform.
    #[arg(long)]
    place: Option<ChangePlace>,
    /// How tables are stored.
    #[arg(long = "as", value_enum, default_value_t = FormatArg::CsvZst)]
    stored: FormatArg,
    /// Replace a trace that is already there.
    #[arg(long)]
    overwrite: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let importer = Importer::named(&args.format)?;
    let busy = progress::spinner("importing");
    let imported = importer.run(&ImportArgs {
        path: args.path.clone(),
        from: args.from,
        length: args.days,
        seed: args.seed,
        clicks: args.clicks.clone(),
        join: args.join,
        keep_mass_commits: args.keep_mass_commits,
        place: args.place,
    })?;
    busy.set_message("writing");
    let write = if args.overwrite { tidewatch_trace::replace } else { tidewatch_trace::write };
    write(&args.out, &imported.trace, args.stored.into())?;
    busy.finish_and_clear();
    let mut table = Table::new([Column::text("counted"), Column::number("number")]);
    for fact in &imported.facts {
        table.push([Cell::text(fact.what), Cell::count(fact.count)]);
    }
    let notes = imported.notes.join("\n");
    let table = table.to_text(output::width());
    output::print(&format!("{notes}\n\n{table}\nWrote the trace to {}\n", args.out.display()))
}
