//! `tidewatch export`: what a crawl knows, as tables that other tools read.

mod sheet;
mod trace;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tidewatch_core::{HostId, PageId, Time};
use tidewatch_frontier::tape::{Came, Input};
use tidewatch_store::{PageRow, Store};
use tidewatch_trace::Format;

use self::sheet::{Cell, Kind, Sheet};

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch export pages --dir news -o pages.csv\n\nTables end in \
                        .csv or .parquet. A trace is a directory that `tidewatch lab compare \
                        --trace` replays under any policy. Times are seconds since the crawl \
                        began. The crawl must not be running.")]
pub(crate) struct Args {
    /// What to export.
    #[arg(value_enum)]
    what: What,
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Output file (.csv or .parquet), or directory for a trace.
    #[arg(short, long)]
    output: PathBuf,
    /// How a trace's tables are stored: csv, csv.gz, csv.zst or parquet.
    #[arg(long, default_value = "csv")]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    /// Every known page and its copy's figures.
    Pages,
    /// Links on the newest copies.
    Links,
    /// Every visit: its time, and whether it saw a change.
    Observations,
    /// A trace of the web as the crawl saw it, for the lab.
    Trace,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let store = tidewatch_service::open_store(&args.dir)?;
    match args.what {
        What::Pages => pages(&store, &args.output),
        What::Links => links(&store, &args.output),
        What::Observations => observations(&store, &args.output),
        What::Trace => {
            let trace = trace::build(&store)?;
            Ok(tidewatch_trace::write(&args.output, &trace, args.format)?)
        }
    }
}

/// The addresses of all pages, read in order.
struct Addresses {
    origins: Vec<String>,
}

impl Addresses {
    fn of(store: &Store) -> Result<Self> {
        let origins = store.tables()?.hosts().map(|row| Ok(row?.1.origin));
        Ok(Addresses { origins: origins.collect::<Result<_>>()? })
    }

    fn origin(&self, host: HostId) -> Result<&str> {
        let origin = self.origins.get(host.index());
        origin.map(String::as_str).context("a page names a host that is not there")
    }

    fn url(&self, row: &PageRow) -> Result<String> {
        Ok(format!("{}{}", self.origin(row.host)?, row.path))
    }
}

fn sheet(path: &Path, columns: &[(&'static str, Kind)]) -> Result<Sheet> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Sheet::csv(path, columns),
        Some("parquet") => Sheet::parquet(path, columns),
        _ => bail!("{} must end in .csv or .parquet", path.display()),
    }
}

fn pages(store: &Store, path: &Path) -> Result<()> {
    let addresses = Addresses::of(store)?;
    let mut sheet = sheet(
        path,
        &[
            ("page", Kind::Whole),
            ("url", Kind::Text),
            ("host", Kind::Text),
            ("depth", Kind::Whole),
            ("via", Kind::Whole),
            ("is_source", Kind::Whole),
            ("status", Kind::Whole),
            ("fetched_at", Kind::Number),
            ("changed_at", Kind::Number),
            ("visits", Kind::Whole),
            ("changes", Kind::Whole),
            ("etag", Kind::Text),
            ("last_modified", Kind::Text),
            ("archive_file", Kind::Whole),
            ("archive_offset", Kind::Whole),
        ],
    )?;
    for row in store.tables()?.pages_from(PageId(0)) {
        let (page, row) = row?;
        let copy = store.tables()?.copy(page)?;
        let copy = copy.as_ref();
        sheet.row(&[
            Cell::from(u64::from(page.0)),
            Cell::Text(addresses.url(&row)?),
            Cell::Text(addresses.origin(row.host)?.to_owned()),
            Cell::from(u64::from(row.depth)),
            Cell::Whole(row.via.map(|via| u64::from(via.0))),
            Cell::from(u64::from(row.is_source)),
            Cell::Whole(copy.map(|copy| u64::from(copy.status))),
            Cell::Number(copy.map(|copy| copy.at.seconds())),
            Cell::Number(copy.map(|copy| copy.changed_at.seconds())),
            Cell::Whole(copy.map(|copy| u64::from(copy.visits))),
            Cell::Whole(copy.map(|copy| u64::from(copy.changes))),
            Cell::Text(copy.and_then(|copy| copy.etag.clone()).unwrap_or_default()),
            Cell::Text(copy.and_then(|copy| copy.last_modified.clone()).unwrap_or_default()),
            Cell::Whole(copy.map(|copy| u64::from(copy.place.file))),
            Cell::Whole(copy.map(|copy| copy.place.offset)),
        ])?;
    }
    sheet.finish()
}

fn links(store: &Store, path: &Path) -> Result<()> {
    let mut sheet = sheet(path, &[("source", Kind::Whole), ("page", Kind::Whole)])?;
    for row in store.tables()?.copies() {
        let (source, copy) = row?;
        for page in copy.links {
            sheet.row(&[Cell::from(u64::from(source.0)), Cell::from(u64::from(page.0))])?;
        }
    }
    sheet.finish()
}

/// In the form that `tidewatch estimate` reads, first visits included.
fn observations(store: &Store, path: &Path) -> Result<()> {
    let mut sheet = sheet(
        path,
        &[
            ("page", Kind::Whole),
            ("at", Kind::Number),
            ("changed", Kind::Whole),
            ("last_modified", Kind::Number),
            ("outcome", Kind::Text),
        ],
    )?;
    for input in store.tape(0)? {
        let Input::Fetched(fetched) = input? else { continue };
        let (changed, last_modified, outcome) = match fetched.outcome {
            Came::Content { changed, last_modified, .. } => {
                let outcome = if changed.is_none() { "first" } else { "again" };
                (changed, last_modified.map(Time::seconds), outcome)
            }
            Came::Gone => (None, None, "gone"),
            Came::Failed(_) => (None, None, "failed"),
        };
        sheet.row(&[
            Cell::from(u64::from(fetched.page.0)),
            Cell::Number(Some(fetched.at.seconds())),
            Cell::Whole(changed.map(u64::from)),
            Cell::Number(last_modified),
            Cell::Text(outcome.to_owned()),
        ])?;
    }
    sheet.finish()
}
