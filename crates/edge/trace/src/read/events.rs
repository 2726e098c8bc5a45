//! The tables of events: `clicks`, `views`, `changes`, `versions`, `signals`.

use tidewatch_core::Time;

use super::Resolve;
use super::names::Names;
use crate::arrange;
use crate::columns::events;
use crate::error::TraceError;
use crate::locate;
use crate::model::{Change, Count, Signals, TraceSignal, Version, Versions};
use crate::rows::Rows;
use crate::rules::{self, Problem};
use crate::table::TableFile;

/// Tracks the last time of each page in a table of events.
struct Clocks {
    /// One more than the microsecond of the page's last row; 0 before the first.
    last: Vec<u64>,
    /// Whether a page may have several rows at the same time.
    repeats: bool,
}

impl Clocks {
    fn new(resolve: &Resolve<'_>, repeats: bool) -> Self {
        Clocks { last: vec![0; resolve.pages.len()], repeats }
    }

    /// Page and time of the current row; an error if the time is not after the page's previous row or is
    /// before its birth.
    fn read(&mut self, rows: &Rows, resolve: &Resolve<'_>) -> Result<(u32, Time), TraceError> {
        let page = resolve.page(rows, events::PAGE)?;
        let at = rows.time(events::AT)?;
        rules::event(page, at, resolve.pages).map_err(|problem| rows.refuse(problem))?;
        let now = at.as_micros() + 1;
        let last = std::mem::replace(&mut self.last[page as usize], now);
        if last > now {
            let last = Time::from_micros(last - 1);
            return Err(rows.refuse(rules::backwards(resolve.id(page), last, at)));
        }
        if last == now && !self.repeats {
            return Err(rows.refuse(rules::twice(rows.table(), resolve.id(page), at)));
        }
        Ok((page, at))
    }
}

pub(super) fn read_counts(
    file: &TableFile,
    resolve: &Resolve<'_>,
) -> Result<Vec<Count>, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut clocks = Clocks::new(resolve, false);
    let mut read = Vec::new();
    while rows.advance()? {
        let (page, at) = clocks.read(&rows, resolve)?;
        read.push(Count { page, at, count: rows.amount(events::COUNT)? });
    }
    arrange::counts(&mut read);
    read.shrink_to_fit();
    Ok(read)
}

pub(super) fn read_changes(
    file: &TableFile,
    resolve: &Resolve<'_>,
) -> Result<Vec<Change>, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut clocks = Clocks::new(resolve, false);
    let mut read = Vec::new();
    while rows.advance()? {
        let (page, at) = clocks.read(&rows, resolve)?;
        read.push(Change { page, at });
    }
    arrange::changes(&mut read);
    read.shrink_to_fit();
    Ok(read)
}

pub(super) fn read_versions(
    file: &TableFile,
    resolve: &Resolve<'_>,
) -> Result<Versions, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut clocks = Clocks::new(resolve, false);
    let mut read = Versions::default();
    while rows.advance()? {
        let (page, at) = clocks.read(&rows, resolve)?;
        let start = read.fragments.len() as u64;
        let added = fragments(&rows, events::ADDED, &mut read.fragments)?;
        let removed = fragments(&rows, events::REMOVED, &mut read.fragments)?;
        read.rows.push(Version { page, at, start, added, removed });
    }
    arrange::versions(&mut read);
    rules::contents(&read, resolve.pages)
        .map_err(|(row, problem)| refuse_version(file, resolve, &read.rows[row], problem))?;
    read.rows.shrink_to_fit();
    read.fragments.shrink_to_fit();
    Ok(read)
}

fn refuse_version(
    file: &TableFile,
    resolve: &Resolve<'_>,
    version: &Version,
    problem: Problem,
) -> TraceError {
    let id = resolve.id(version.page);
    locate::refuse(file, problem, |rows| {
        Ok(rows.id(events::PAGE)? == id && rows.time(events::AT)? == version.at)
    })
}

/// Appends the fragment hashes of a cell; returns their number.
fn fragments(rows: &Rows, column: usize, into: &mut Vec<u64>) -> Result<u32, TraceError> {
    let before = into.len();
    for word in rows.text(column)?.split_ascii_whitespace() {
        let digits = word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let hash = digits.then(|| u64::from_str_radix(word, 16).ok()).flatten();
        into.push(hash.ok_or_else(|| {
            let word = crate::cell::shown(word);
            let text = format!("{word} is not a fragment hash; write up to 16 hexadecimal digits");
            rows.wrong(column, text)
        })?);
    }
    // A row is too short to hold 2³² hashes.
    Ok((into.len() - before) as u32)
}

pub(super) fn read_signals(file: &TableFile, resolve: &Resolve<'_>) -> Result<Signals, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut clocks = Clocks::new(resolve, true);
    let mut names = Names::default();
    let mut read = Vec::new();
    while rows.advance()? {
        let (page, at) = clocks.read(&rows, resolve)?;
        let kind = names.number(rows.name(events::KIND, "what kind of signal it is")?);
        read.push(TraceSignal { page, at, kind });
    }
    let mut signals = Signals { kinds: names.by_number, rows: read };
    arrange::signals(&mut signals);
    if let Some(second) = rules::repeated_signal(&signals.rows) {
        return Err(refuse_signal(file, resolve, &signals, signals.rows[second]));
    }
    signals.rows.shrink_to_fit();
    Ok(signals)
}

fn refuse_signal(
    file: &TableFile,
    resolve: &Resolve<'_>,
    signals: &Signals,
    row: TraceSignal,
) -> TraceError {
    let (id, kind) = (resolve.id(row.page), &*signals.kinds[row.kind as usize]);
    locate::refuse(file, rules::same_signal_twice(id, row.at, kind), |rows| {
        let when = rows.id(events::PAGE)? == id && rows.time(events::AT)? == row.at;
        Ok(when && rows.text(events::KIND)? == kind)
    })
}
