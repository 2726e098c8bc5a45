//! Reads a [`Trace`] from a directory.
//!
//! Rows are checked while they stream by, when their line is known; tables are then sorted, and rules
//! between rows are checked.

mod events;
mod links;
mod names;
mod pages;
mod truth;

use std::path::Path;

use tidewatch_core::Time;

use crate::error::TraceError;
use crate::ids::Ids;
use crate::manifest::{FILE_NAME, Manifest};
use crate::model::{Count, Trace, TraceLink, TracePage};
use crate::rows::Rows;
use crate::rules;
use crate::table::Table;
use events::{read_changes, read_counts, read_signals, read_versions};
use links::read_links;
use pages::{PagesRead, read_hosts, read_pages};
use truth::read_truth;

/// Reads and checks the trace in `dir`.
pub fn read(dir: &Path) -> Result<Trace, TraceError> {
    let meta = std::fs::metadata(dir).map_err(|error| crate::write::missing(dir, error))?;
    if !meta.is_dir() {
        return Err(TraceError::file(
            dir,
            "a trace is a directory; name the one with the table 'pages'",
        ));
    }
    let manifest = Manifest::read(dir)?;
    let mut trace = read_tables(dir)?;
    if let Some(Manifest { name, duration, start, note }) = manifest {
        return Ok(Trace { name, duration, start, note, ..trace });
    }
    trace.name = directory_name(dir);
    trace.duration = trace.latest().since(Time::ZERO);
    let path = dir.join(FILE_NAME);
    rules::duration(Time::ZERO + trace.duration).map_err(|text| TraceError::file(&path, text))?;
    Ok(trace)
}

fn directory_name(dir: &Path) -> String {
    let full = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    full.file_name().map_or("trace".into(), |name| name.to_string_lossy().into_owned())
}

fn read_tables(dir: &Path) -> Result<Trace, TraceError> {
    let file = Table::Pages.find(dir)?.ok_or_else(|| {
        TraceError::file(dir, "there is no table 'pages'; a trace needs pages.csv or pages.parquet")
    })?;
    let mut read = read_pages(&file)?;
    if let Some(file) = Table::Hosts.find(dir)? {
        read_hosts(&file, &mut read.hosts)?;
    }
    let resolve = Resolve { ids: Ids::of(&read.pages), pages: &read.pages };
    let links = Table::Links.find(dir)?.map(|file| read_links(&file, &resolve)).transpose()?;
    let counts = |table: Table| -> Result<Option<Vec<Count>>, TraceError> {
        table.find(dir)?.map(|file| read_counts(&file, &resolve)).transpose()
    };
    let (clicks, views) = (counts(Table::Clicks)?, counts(Table::Views)?);
    let changes =
        Table::Changes.find(dir)?.map(|file| read_changes(&file, &resolve)).transpose()?;
    let versions =
        Table::Versions.find(dir)?.map(|file| read_versions(&file, &resolve)).transpose()?;
    let signals =
        Table::Signals.find(dir)?.map(|file| read_signals(&file, &resolve)).transpose()?;
    let truth = Table::Truth.find(dir)?.map(|file| read_truth(&file, &resolve)).transpose()?;
    let links = links.unwrap_or_default();
    if !read.seeds_given {
        seed(&mut read.pages, &links);
    }
    let PagesRead { pages, hosts, .. } = read;
    let named = Trace::default();
    Ok(Trace { pages, hosts, links, clicks, views, changes, versions, signals, truth, ..named })
}

/// Without a `seed` column, sources and pages without inlinks are seeds.
fn seed(pages: &mut [TracePage], links: &[TraceLink]) {
    let mut linked = vec![false; pages.len()];
    for link in links {
        linked[link.page as usize] = true;
    }
    for (page, linked) in pages.iter_mut().zip(linked) {
        page.is_seed = page.is_source || !linked;
    }
}

/// Resolves references of the other tables.
struct Resolve<'a> {
    ids: Ids,
    pages: &'a [TracePage],
}

impl Resolve<'_> {
    fn maybe_page(&self, rows: &Rows, column: usize) -> Result<Option<u32>, TraceError> {
        if rows.is_missing(column)? { Ok(None) } else { self.page(rows, column).map(Some) }
    }

    fn page(&self, rows: &Rows, column: usize) -> Result<u32, TraceError> {
        let id = rows.id(column)?;
        self.ids.get(id).ok_or_else(|| {
            let text = format!("there is no page {id} in the table 'pages'; add it there");
            rows.wrong(column, text)
        })
    }

    fn id(&self, page: u32) -> u64 {
        self.pages[page as usize].id
    }
}
