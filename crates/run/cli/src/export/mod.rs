//! `tidewatch export`: what a crawl knows, as tables that other tools read.

mod sheet;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use tidewatch_core::Time;
use tidewatch_service::{Export, ExportedPage};
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
    let export = Export::open(&args.dir)?;
    match args.what {
        What::Pages => pages(&export, &args.output),
        What::Links => links(&export, &args.output),
        What::Observations => observations(&export, &args.output),
        What::Trace => Ok(tidewatch_trace::write(&args.output, &export.trace()?, args.format)?),
    }
}

fn sheet(path: &Path, columns: &[(&'static str, Kind)]) -> Result<Sheet> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Sheet::csv(path, columns),
        Some("parquet") => Sheet::parquet(path, columns),
        _ => bail!("{} must end in .csv or .parquet", path.display()),
    }
}

const PAGE_COLUMNS: [(&str, Kind); 21] = [
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
    ("archive_bytes", Kind::Whole),
    ("warc", Kind::Text),
    ("media_type", Kind::Text),
    ("body_bytes", Kind::Whole),
    ("title", Kind::Text),
    ("usage", Kind::Text),
];

fn pages(export: &Export, path: &Path) -> Result<()> {
    let mut sheet = sheet(path, &PAGE_COLUMNS)?;
    for page in export.pages() {
        sheet.row(&page_cells(page?))?;
    }
    sheet.finish()
}

fn page_cells(exported: ExportedPage) -> [Cell; PAGE_COLUMNS.len()] {
    let ExportedPage { page, url, origin, row, via, copy, archive } = exported;
    let copy = copy.as_ref();
    let place = copy.map(|copy| copy.place);
    let capture = copy.and_then(|copy| copy.capture.as_ref());
    let text = |text: Option<&String>| Cell::Text(text.cloned().unwrap_or_default());
    [
        Cell::from(u64::from(page.0)),
        Cell::Text(url),
        Cell::Text(origin),
        Cell::from(u64::from(row.depth)),
        Cell::Whole(via.map(|via| u64::from(via.0))),
        Cell::from(u64::from(row.is_source)),
        Cell::Whole(copy.map(|copy| u64::from(copy.status))),
        Cell::Number(copy.map(|copy| copy.at.seconds())),
        Cell::Number(copy.map(|copy| copy.changed_at.seconds())),
        Cell::Whole(copy.map(|copy| u64::from(copy.visits))),
        Cell::Whole(copy.map(|copy| u64::from(copy.changes))),
        text(copy.and_then(|copy| copy.etag.as_ref())),
        text(copy.and_then(|copy| copy.last_modified.as_ref())),
        Cell::Whole(place.map(|place| u64::from(place.file))),
        Cell::Whole(place.map(|place| place.offset)),
        Cell::Whole(place.map(|place| u64::from(place.bytes))),
        text(archive.as_ref()),
        text(capture.map(|capture| &capture.media_type)),
        Cell::Whole(capture.map(|capture| capture.body_bytes)),
        text(capture.map(|capture| &capture.title)),
        Cell::Text(capture.map(|capture| capture.wishes.to_string()).unwrap_or_default()),
    ]
}

fn links(export: &Export, path: &Path) -> Result<()> {
    let mut sheet = sheet(path, &[("source", Kind::Whole), ("page", Kind::Whole)])?;
    for link in export.links() {
        let (source, page) = link?;
        sheet.row(&[Cell::from(u64::from(source.0)), Cell::from(u64::from(page.0))])?;
    }
    sheet.finish()
}

/// In the form that `tidewatch estimate` reads, first visits included.
fn observations(export: &Export, path: &Path) -> Result<()> {
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
    for visit in export.visits() {
        let visit = visit?;
        sheet.row(&[
            Cell::from(u64::from(visit.page.0)),
            Cell::Number(Some(visit.at.seconds())),
            Cell::Whole(visit.changed.map(u64::from)),
            Cell::Number(visit.last_modified.map(Time::seconds)),
            Cell::Text(visit.outcome.to_owned()),
        ])?;
    }
    sheet.finish()
}
