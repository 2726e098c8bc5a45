//! Imports views and clicks from another search engine: CSV or JSON lines.
//!
//! Columns `url`, `at`, `kind` (view or click), and optionally `count`, `position`, `query`. Times
//! are seconds of Unix time or RFC 3339 dates. A bad row is reported with its line number and
//! skipped.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use serde::Deserialize;
use serde_json::Value;
use tidewatch_core::url::CanonicalUrl;

use super::log::{Entry, Log};
use crate::SearchError;
use crate::document::cut;

/// Longest row.
const MOST_ROW: u64 = 64 << 10;
/// Rows written at once.
const ROWS: usize = 1_000;
/// Most bad rows reported; others are only counted.
const NAMED: usize = 20;

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Rows imported.
    pub rows: u64,
    /// Clicks in them.
    pub clicks: f64,
    /// Views in them.
    pub views: f64,
    /// Bad rows.
    pub bad: u64,
    /// The first bad rows, each a sentence with its line number.
    pub named: Vec<String>,
}

/// A row as written: every value is text or a number.
#[derive(Debug, Deserialize)]
struct Row {
    url: String,
    at: Value,
    kind: String,
    #[serde(default)]
    count: Value,
    #[serde(default)]
    position: Value,
    #[serde(default)]
    query: Value,
}

/// Imports rows into `log` at `now_s` of Unix time. Fails only if the input or the log cannot be
/// read or written, or the first line of a CSV file does not name the columns.
pub fn import(input: impl BufRead, log: &mut Log, now_s: i64) -> Result<Imported, ImportError> {
    let mut lines = Lines { input, number: 0 };
    let mut done = Imported::default();
    let mut entries = Vec::new();
    let Some(first) = lines.next_line()? else { return Err(ImportError::Empty) };
    let is_json = first.as_deref().is_ok_and(|line| line.trim_start().starts_with('{'));
    let columns = if is_json { None } else { Some(header(&first)?) };
    let mut next = if is_json { Some(first) } else { lines.next_line()? };
    while let Some(line) = next {
        let row = line.and_then(|line| match &columns {
            None => serde_json::from_str(&line).map_err(|error| error.to_string()),
            Some(columns) => csv_row(&line, columns),
        });
        match row.and_then(|row| entry(&row)) {
            Ok(entry) => {
                done.count(&entry);
                entries.push(entry);
            }
            Err(why) if why.is_empty() => {}
            Err(why) => done.leave_out(lines.number, &why),
        }
        if entries.len() >= ROWS {
            log.append(&entries, now_s)?;
            entries.clear();
        }
        next = lines.next_line()?;
    }
    log.append(&entries, now_s)?;
    log.sync()?;
    Ok(done)
}

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input is empty.
    #[error("there are no rows; the first line must name the columns url,at,kind, or be JSON")]
    Empty,
    /// A column is missing.
    #[error("the first line must name the columns url,at,kind; there is no `{0}`")]
    NoColumn(&'static str),
    /// The input cannot be read.
    #[error("the rows cannot be read: {0}")]
    Input(#[from] std::io::Error),
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] SearchError),
}

impl Imported {
    fn count(&mut self, entry: &Entry) {
        self.rows += 1;
        if let Entry::Told { is_click, count, .. } = entry {
            *(if *is_click { &mut self.clicks } else { &mut self.views }) += count;
        }
    }

    fn leave_out(&mut self, line: u64, why: &str) {
        self.bad += 1;
        if self.named.len() < NAMED {
            self.named.push(format!("line {line}: {why}"));
        }
    }
}

struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The next line, or why it cannot be read.
    fn next_line(&mut self) -> std::io::Result<Option<Result<String, String>>> {
        let mut line = Vec::new();
        let read = self.input.by_ref().take(MOST_ROW).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read as u64 == MOST_ROW && line.last() != Some(&b'\n') {
            self.skip_line()?;
            return Ok(Some(Err(format!("it is longer than {MOST_ROW} bytes"))));
        }
        let line = String::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned());
        Ok(Some(line.map(|line| line.trim_start_matches('\u{feff}').trim_end().to_owned())))
    }

    fn skip_line(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(buffer.len(), |at| at + 1);
            let is_over = end.is_some() || buffer.is_empty();
            self.input.consume(used);
            if is_over {
                return Ok(());
            }
        }
    }
}

type Columns = BTreeMap<String, usize>;

fn fields(line: &str) -> Vec<String> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(|field| field.trim().to_owned()).collect()
}

fn header(line: &Result<String, String>) -> Result<Columns, ImportError> {
    let names = line.as_deref().map(fields).unwrap_or_default();
    let columns: Columns =
        names.into_iter().enumerate().map(|(at, name)| (name.to_lowercase(), at)).collect();
    for needed in ["url", "at", "kind"] {
        if !columns.contains_key(needed) {
            return Err(ImportError::NoColumn(needed));
        }
    }
    Ok(columns)
}

fn csv_row(line: &str, columns: &Columns) -> Result<Row, String> {
    if line.is_empty() {
        return Err(String::new());
    }
    let mut fields = fields(line);
    let mut field = |name: &str| {
        let at = columns.get(name).copied();
        at.and_then(|at| fields.get_mut(at)).map(std::mem::take).unwrap_or_default()
    };
    Ok(Row {
        url: field("url"),
        at: field("at").into(),
        kind: field("kind"),
        count: field("count").into(),
        position: field("position").into(),
        query: field("query").into(),
    })
}

fn entry(row: &Row) -> Result<Entry, String> {
    let url = CanonicalUrl::parse(&row.url)
        .map_err(|refused| format!("`{}` is no page: {refused}", cut(&row.url, 100)))?;
    let is_click = match row.kind.to_ascii_lowercase().as_str() {
        "click" => true,
        "view" => false,
        other => return Err(format!("the kind must be view or click, not `{}`", cut(other, 40))),
    };
    let count = number(&row.count, "count")?.unwrap_or(1.0);
    if !(count > 0.0 && count <= 1e12) {
        return Err(format!("the count must be above 0 and at most 1e12, not {count}"));
    }
    let position = number(&row.position, "position")?.unwrap_or(0.0);
    if !(0.0..=65_535.0).contains(&position) {
        return Err(format!("the position must be from 1 to 65535, not {position}"));
    }
    let query = row.query.as_str().unwrap_or_default();
    Ok(Entry::Told {
        at_ms: at_ms(&row.at)?,
        url: url.into_string(),
        is_click,
        count,
        position: position as u16,
        query: cut(query, 200).to_owned(),
    })
}

fn number(value: &Value, name: &str) -> Result<Option<f64>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Number(number) => Ok(number.as_f64()),
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("the {name} must be a number, not `{}`", cut(text, 40))),
        },
        other => Err(format!("the {name} must be a number, not {}", cut(&other.to_string(), 40))),
    }
}

/// Seconds of Unix time, or a date.
fn at_ms(value: &Value) -> Result<i64, String> {
    /// The year 3000: a later time is probably in milliseconds.
    const LATEST_S: f64 = 32_503_680_000.0;
    let bad = || {
        format!(
            "the time must be seconds of Unix time or like 2026-11-16T10:00:00Z, not {}",
            cut(&value.to_string(), 40)
        )
    };
    let seconds = match value {
        Value::String(text) => {
            let text = text.trim();
            let date = || tidewatch_parse::date::parse(text).map(|seconds| seconds as f64);
            text.parse().ok().or_else(date).ok_or_else(bad)?
        }
        value => value.as_f64().ok_or_else(bad)?,
    };
    if !(0.0..LATEST_S).contains(&seconds) {
        return Err(bad());
    }
    Ok((seconds * 1_000.0) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clicks::{Mark, Rows};

    fn taken(text: &str) -> (Imported, Vec<Entry>) {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(dir.path()).unwrap();
        let imported = import(text.as_bytes(), &mut log, 0).unwrap();
        (imported, Rows::read(dir.path(), Mark::default(), 9_999).unwrap().entries)
    }

    #[test]
    fn csv_with_columns_in_any_order() {
        let (done, rows) = taken(
            "kind,url,at,count,query\nclick,https://a.example/x#y,1800000000.5,3,\"high, low\"\n\
             view,https://a.example/,2026-11-16T10:00:00Z,,\n\n",
        );
        assert_eq!((done.rows, done.bad, done.clicks, done.views), (2, 0, 3.0, 1.0));
        let first = Entry::Told {
            at_ms: 1_800_000_000_500,
            url: "https://a.example/x".into(),
            is_click: true,
            count: 3.0,
            position: 0,
            query: "high, low".into(),
        };
        assert_eq!(rows[0], first);
    }

    #[test]
    fn json_lines() {
        let (done, rows) = taken(
            "{\"url\":\"https://a.example/\",\"at\":5,\"kind\":\"click\",\"position\":2}\n\
             {\"url\":\"https://a.example/\",\"at\":\"6\",\"kind\":\"view\",\"count\":\"2\"}\n",
        );
        assert_eq!((done.rows, done.bad, rows.len()), (2, 0, 2));
    }

    #[test]
    fn bad_rows_are_named_and_the_others_kept() {
        let (done, rows) = taken(
            "url,at,kind,count\nhttps://a.example/,1,click,1\nnot a url,1,click,1\n\
             https://a.example/,soon,click,1\nhttps://a.example/,1,look,1\n\
             https://a.example/,1,click,-3\nhttps://a.example/,1,click,many\n\
             https://a.example/\nhttps://a.example/,2,view,1\n",
        );
        assert_eq!((done.rows, done.bad, rows.len()), (2, 6, 2));
        assert!(done.named[0].starts_with("line 3: `not a url` is no page"), "{:?}", done.named);
        assert!(done.named[1].starts_with("line 4: the time must be"));
        let long =
            format!("url,at,kind\n{},1,click\nhttps://a.example/,1,click\n", "x".repeat(200_000));
        let (done, rows) = taken(&long);
        assert_eq!((done.rows, done.bad, rows.len()), (1, 1, 1));
        let mut log = Log::open(tempfile::tempdir().unwrap().path()).unwrap();
        let refused = import("a,b\n".as_bytes(), &mut log, 0).unwrap_err().to_string();
        assert!(refused.contains("no `url`"), "{refused}");
        assert!(import("".as_bytes(), &mut log, 0).is_err());
    }
}
