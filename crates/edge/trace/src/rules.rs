//! The rules of valid traces: for single rows, and between rows.
//!
//! The reader applies the first kind while rows stream by, when it knows the line, and the second once
//! a table is sorted. [`Trace::check`](crate::Trace::check) applies both to a trace in memory. Messages
//! here are the ends of sentences that begin with the place.

use std::collections::HashMap;

use tidewatch_core::Time;

use crate::cell::{LATEST, not_negative, shown, time_within_limit};
use crate::model::{TraceLink, TracePage, TraceSignal, Versions};
use crate::table::Table;
use crate::truth::{Truth, TruthClass};

/// A problem of a row, and its column.
#[derive(Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) column: Option<&'static str>,
    pub(crate) text: String,
}

pub(crate) type Verdict = Result<(), Problem>;

pub(crate) fn problem(column: &'static str, text: impl Into<String>) -> Problem {
    Problem { column: Some(column), text: text.into() }
}

fn require(holds: bool, column: &'static str, text: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(problem(column, text())) }
}

fn time(column: &'static str, time: Time) -> Verdict {
    time_within_limit(time).map(drop).map_err(|text| problem(column, format!("'{time}' {text}")))
}

pub(crate) fn page(page: &TracePage) -> Verdict {
    require(!page.url.is_empty(), "url", || "the cell is empty; write the page's URL".into())?;
    time("born", page.born)?;
    if let Some(died) = page.died {
        time("died", died)?;
        require(died >= page.born, "died", || {
            let born = page.born;
            format!("page {} dies at {died}, before it is born at {born}; correct one", page.id)
        })?;
    }
    require(not_negative(page.weight), "weight", || {
        let weight = page.weight;
        format!("'{weight}' is not an amount; write a finite number that is not negative")
    })
}

pub(crate) fn link(link: &TraceLink, pages: &[TracePage]) -> Verdict {
    time("appears", link.appears)?;
    for (role, index) in [("source", link.source), ("page", link.page)] {
        let TracePage { id, born, .. } = pages[index as usize];
        require(link.appears >= born, "appears", || {
            let at = link.appears;
            format!(
                "the link appears at {at}, before its {role} {id} is born at {born}; correct one"
            )
        })?;
    }
    let Some(disappears) = link.disappears else { return Ok(()) };
    time("disappears", disappears)?;
    require(disappears >= link.appears, "disappears", || {
        let appears = link.appears;
        format!("the link disappears at {disappears}, before it appears at {appears}; correct one")
    })
}

pub(crate) fn truth(row: &Truth, pages: &[TracePage]) -> Verdict {
    let (id, class) = (pages[row.page as usize].id, row.class);
    let wrong = |text: &str| problem("same_as", format!("page {id} {text}"));
    match row.same_as {
        Some(same) if same == row.page => {
            Err(wrong("cannot repeat itself; name the page whose content it repeats"))
        }
        Some(_) if class == TruthClass::Own => {
            Err(wrong("has content of its own; leave the cell empty"))
        }
        None if class.repeats() => {
            Err(wrong(&format!("is of class '{class}'; name the page whose content it repeats")))
        }
        None if row.is_declared => Err(problem(
            "declared",
            format!("page {id} repeats no page that it could declare; write 0"),
        )),
        _ => Ok(()),
    }
}

/// The first row that breaks a rule between rows, which are sorted by page.
pub(crate) fn truths(rows: &[Truth], pages: &[TracePage]) -> Result<(), (usize, Problem)> {
    let id = |page: u32| pages[page as usize].id;
    if let Some(i) = rows.windows(2).position(|pair| pair[0].page == pair[1].page) {
        let text = format!("page {} has two rows; keep one of them", id(rows[i].page));
        return Err((i + 1, problem("page", text)));
    }
    let repeats = |page: u32| {
        let found = rows.binary_search_by_key(&page, |row| row.page);
        found.is_ok_and(|i| rows[i].same_as.is_some())
    };
    let chained = |row: &Truth| row.same_as.is_some_and(repeats);
    let Some(i) = rows.iter().position(chained) else { return Ok(()) };
    let same = rows[i].same_as.map_or(0, id);
    let text = format!("page {same} repeats another page itself; name that one");
    Err((i, problem("same_as", text)))
}

/// Of a row in any table of events.
pub(crate) fn event(page: u32, at: Time, pages: &[TracePage]) -> Verdict {
    let TracePage { id, born, .. } = pages[page as usize];
    time("at", at)?;
    require(at >= born, "at", || {
        format!("{at} is before page {id} is born at {born}; correct one or remove the row")
    })
}

pub(crate) fn amount(count: f64) -> Verdict {
    require(not_negative(count), "count", || {
        format!("'{count}' is not an amount; write a finite number that is not negative")
    })
}

/// Two rows of a page at the same time.
pub(crate) fn twice(table: Table, id: u64, at: Time) -> Problem {
    let remedy = match table {
        Table::Clicks | Table::Views => "give one row with the total",
        _ => "keep one of them",
    };
    problem("at", format!("page {id} has two rows at {at}; {remedy}"))
}

pub(crate) fn backwards(id: u64, last: Time, at: Time) -> Problem {
    let text = format!(
        "page {id} goes back from {last} to {at}; sort the rows by time, or by page and time"
    );
    problem("at", text)
}

pub(crate) fn same_signal_twice(id: u64, at: Time, kind: &str) -> Problem {
    let kind = shown(kind);
    problem("kind", format!("page {id} has two signals {kind} at {at}; keep one of them"))
}

pub(crate) fn same_id_twice(id: u64) -> Problem {
    problem("page", format!("page {id} is given twice; ids must differ"))
}

pub(crate) fn host_twice(name: &str) -> Problem {
    problem("host", format!("host {} is given twice; keep one row", shown(name)))
}

pub(crate) fn shown_twice(source: u64, page: u64, at: Time) -> Problem {
    let text = format!(
        "the link from page {source} to page {page} is already there at {at}; \
         join the two rows or end the earlier one first"
    );
    problem("appears", text)
}

pub(crate) fn duration(seconds: Time) -> Result<(), String> {
    if seconds == Time::ZERO {
        return Err("the trace has no duration; set 'duration' in seconds in trace.toml".into());
    }
    if seconds > LATEST {
        return Err("the duration exceeds 1000 years; it must be in seconds".into());
    }
    Ok(())
}

/// Two links of the same source to the same page whose times overlap, as
/// indices into `links`, which are sorted by (source, appears, page).
pub(crate) fn overlap(links: &[TraceLink]) -> Option<(usize, usize)> {
    let mut order: Vec<usize> = Vec::new();
    let mut start = 0;
    for group in links.chunk_by(|a, b| a.source == b.source) {
        order.clear();
        order.extend(start..start + group.len());
        start += group.len();
        order.sort_unstable_by_key(|&i| (links[i].page, links[i].appears, i));
        let clash = order.windows(2).find(|pair| clashes(&links[pair[0]], &links[pair[1]]));
        if let Some(pair) = clash {
            return Some((pair[0], pair[1]));
        }
    }
    None
}

/// Whether `b`, which does not appear before `a`, appears while `a` exists.
fn clashes(a: &TraceLink, b: &TraceLink) -> bool {
    let gone_before = a.disappears.is_some_and(|gone| gone <= b.appears);
    a.page == b.page && (!gone_before || a.appears == b.appears)
}

/// Two signals of the same kind for a page at a time: the index of the second.
pub(crate) fn repeated_signal(rows: &[TraceSignal]) -> Option<usize> {
    rows.windows(2).position(|pair| pair[0] == pair[1]).map(|i| i + 1)
}

/// State of a fragment of the current page.
#[derive(PartialEq)]
enum Fate {
    There,
    RemovedBy(usize),
}

/// Checks that versions add only absent fragments and remove only present ones. Rows are sorted by
/// (page, at); the problem comes with the index of its row.
pub(crate) fn contents(versions: &Versions, pages: &[TracePage]) -> Result<(), (usize, Problem)> {
    let mut fates: HashMap<u64, Fate> = HashMap::new();
    for (i, version) in versions.rows.iter().enumerate() {
        let first = i == 0 || versions.rows[i - 1].page != version.page;
        if first {
            fates.clear();
        }
        let id = pages[version.page as usize].id;
        for &hash in versions.removed(version) {
            let fate = fates.get_mut(&hash).filter(|fate| **fate == Fate::There);
            *fate.ok_or_else(|| (i, not_there(id, hash, first)))? = Fate::RemovedBy(i);
        }
        for &hash in versions.added(version) {
            let before = fates.insert(hash, Fate::There);
            if before.is_some_and(|fate| fate == Fate::There || fate == Fate::RemovedBy(i)) {
                return Err((i, already_there(id, hash)));
            }
        }
    }
    Ok(())
}

fn not_there(id: u64, hash: u64, first: bool) -> Problem {
    let text = if first {
        format!("the first version of page {id} removes '{hash:x}'; it can only add")
    } else {
        format!("page {id} does not hold the fragment '{hash:x}' that this version removes")
    };
    problem("removed", text)
}

fn already_there(id: u64, hash: u64) -> Problem {
    let text = format!("page {id} already holds the fragment '{hash:x}' that this version adds");
    problem("added", text)
}
