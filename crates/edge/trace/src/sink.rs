//! Writes the tables of a trace row by row.

use std::fs::File;
use std::io;

use tidewatch_core::Time;

use crate::model::{Count, Trace, Versions};
use crate::table::Table;

/// A table being written: the cells of a row in the order of
/// [`Table::columns`], then [`Sink::end_row`].
pub(crate) trait Sink {
    fn id(&mut self, id: u64) -> io::Result<()>;
    fn text(&mut self, text: &str) -> io::Result<()>;
    fn time(&mut self, time: Time) -> io::Result<()>;
    fn maybe_time(&mut self, time: Option<Time>) -> io::Result<()>;
    fn maybe_whole(&mut self, number: Option<u64>) -> io::Result<()>;
    fn number(&mut self, number: f64) -> io::Result<()>;
    fn flag(&mut self, flag: bool) -> io::Result<()>;
    fn end_row(&mut self) -> io::Result<()>;
    /// Writes what is left; the file is not synced yet.
    fn finish(self: Box<Self>) -> io::Result<File>;
}

/// Whether the trace has this table.
pub(crate) fn has(trace: &Trace, table: Table) -> bool {
    match table {
        Table::Pages => true,
        Table::Hosts => trace.hosts.iter().any(|host| host.max_rate.is_some()),
        Table::Links => !trace.links.is_empty(),
        Table::Clicks => trace.clicks.is_some(),
        Table::Views => trace.views.is_some(),
        Table::Changes => trace.changes.is_some(),
        Table::Versions => trace.versions.is_some(),
        Table::Signals => trace.signals.is_some(),
        Table::Truth => trace.truth.is_some(),
    }
}

/// Writes every row of a table.
pub(crate) fn fill(sink: &mut dyn Sink, trace: &Trace, table: Table) -> io::Result<()> {
    match table {
        Table::Pages => pages(sink, trace),
        Table::Hosts => hosts(sink, trace),
        Table::Links => links(sink, trace),
        Table::Clicks => counts(sink, trace, trace.clicks.as_deref()),
        Table::Views => counts(sink, trace, trace.views.as_deref()),
        Table::Changes => changes(sink, trace),
        Table::Versions => trace.versions.as_ref().map_or(Ok(()), |v| versions(sink, trace, v)),
        Table::Signals => signals(sink, trace),
        Table::Truth => truth(sink, trace),
    }
}

fn id(trace: &Trace, page: u32) -> u64 {
    trace.pages[page as usize].id
}

fn pages(sink: &mut dyn Sink, trace: &Trace) -> io::Result<()> {
    for page in &trace.pages {
        sink.id(page.id)?;
        sink.text(&page.url)?;
        sink.text(&trace.hosts[page.host as usize].name)?;
        sink.time(page.born)?;
        sink.maybe_time(page.died)?;
        sink.flag(page.is_source)?;
        sink.number(page.weight)?;
        sink.flag(page.is_seed)?;
        sink.end_row()?;
    }
    Ok(())
}

/// Only hosts with a limit: the pages name the others.
fn hosts(sink: &mut dyn Sink, trace: &Trace) -> io::Result<()> {
    for host in &trace.hosts {
        let Some(rate) = host.max_rate else { continue };
        sink.text(&host.name)?;
        sink.number(rate.as_per_second())?;
        sink.end_row()?;
    }
    Ok(())
}

fn links(sink: &mut dyn Sink, trace: &Trace) -> io::Result<()> {
    for link in &trace.links {
        sink.id(id(trace, link.source))?;
        sink.id(id(trace, link.page))?;
        sink.time(link.appears)?;
        sink.maybe_time(link.disappears)?;
        sink.maybe_whole(link.position.map(u64::from))?;
        sink.end_row()?;
    }
    Ok(())
}

fn counts(sink: &mut dyn Sink, trace: &Trace, rows: Option<&[Count]>) -> io::Result<()> {
    for row in rows.unwrap_or_default() {
        sink.id(id(trace, row.page))?;
        sink.time(row.at)?;
        sink.number(row.count)?;
        sink.end_row()?;
    }
    Ok(())
}

fn changes(sink: &mut dyn Sink, trace: &Trace) -> io::Result<()> {
    for row in trace.changes.iter().flatten() {
        sink.id(id(trace, row.page))?;
        sink.time(row.at)?;
        sink.end_row()?;
    }
    Ok(())
}

fn versions(sink: &mut dyn Sink, trace: &Trace, versions: &Versions) -> io::Result<()> {
    let mut text = String::new();
    for row in &versions.rows {
        sink.id(id(trace, row.page))?;
        sink.time(row.at)?;
        for hashes in [versions.added(row), versions.removed(row)] {
            hexadecimal(hashes, &mut text);
            sink.text(&text)?;
        }
        sink.end_row()?;
    }
    Ok(())
}

fn hexadecimal(hashes: &[u64], text: &mut String) {
    use std::fmt::Write;
    text.clear();
    for (i, hash) in hashes.iter().enumerate() {
        let gap = if i == 0 { "" } else { " " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{gap}{hash:x}");
    }
}

fn signals(sink: &mut dyn Sink, trace: &Trace) -> io::Result<()> {
    let Some(signals) = &trace.signals else { return Ok(()) };
    for row in &signals.rows {
        sink.id(id(trace, row.page))?;
        sink.time(row.at)?;
        sink.text(&signals.kinds[row.kind as usize])?;
        sink.end_row()?;
    }
    Ok(())
}

fn truth(sink: &mut dyn Sink, trace: &Trace) -> io::Result<()> {
    for row in trace.truth.iter().flatten() {
        sink.id(id(trace, row.page))?;
        sink.text(row.class.name())?;
        sink.maybe_whole(row.same_as.map(|same| id(trace, same)))?;
        sink.flag(row.is_declared)?;
        sink.end_row()?;
    }
    Ok(())
}
