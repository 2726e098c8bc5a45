//! CSV tables that people hand to the command: hostile until read.
//!
//! A [`Table`] streams rows with bounded memory. Its header may have the columns in any order and
//! others besides, which are ignored. Every refusal is one sentence that names the file, the line,
//! the column and the value.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use csv::ByteRecord;
use indicatif::ProgressBar;

use crate::progress;

/// No honest row is longer; what is has a quote that was never closed.
const LONGEST_ROW: u64 = 16 << 20;
/// Rows are numbered in 32 bits.
const MOST_ROWS: u32 = u32::MAX - 1;
/// Rows between two signs of life.
const SHOW_EVERY: u32 = 1 << 16;
/// How much of an offending value an error shows.
const SHOWN: usize = 60;
const BUFFER: usize = 1 << 18;

/// Where a column stands in its table.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    index: usize,
    name: &'static str,
}

/// What a number must be.
pub(crate) struct Rule {
    pub(crate) fits: fn(f64) -> bool,
    /// End of the sentence "write …".
    pub(crate) expected: &'static str,
}

/// A table being read.
pub(crate) struct Table {
    file: String,
    reader: csv::Reader<Guard>,
    record: ByteRecord,
    header: Vec<String>,
    rows: u32,
    busy: ProgressBar,
}

impl Table {
    /// Opens a file, or standard input for `-`, and reads its header.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (file, input) = open_input(path)?;
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(BUFFER)
            .from_reader(Guard { input, since_row: 0 });
        let busy = progress::spinner(&format!("reading {file}"));
        let (record, header) = (ByteRecord::new(), Vec::new());
        let mut table = Table { file, reader, record, header, rows: 0, busy };
        table.read_header()?;
        Ok(table)
    }

    fn read_header(&mut self) -> Result<()> {
        if !self.next_record()? {
            bail!("{} is empty; its first line must name the columns", self.file);
        }
        for name in &self.record {
            let name = std::str::from_utf8(name).map_err(|_| {
                anyhow!("{}: the header is not UTF-8; save the file as UTF-8", self.file)
            })?;
            let name = name.trim().to_owned();
            let twice = !name.is_empty() && self.header.contains(&name);
            ensure!(!twice, "{}: two columns are called {}", self.file, shown(&name));
            self.header.push(name);
        }
        Ok(())
    }

    /// Goes to the next row, if there is one.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if !self.next_record()? {
            return Ok(false);
        }
        let (fields, wanted) = (self.record.len(), self.header.len());
        if fields != wanted {
            let line = self.line();
            bail!(
                "{}, line {line}: the row has {fields} fields and the header {wanted}; \
                 quote fields that contain commas",
                self.file
            );
        }
        ensure!(self.rows < MOST_ROWS, "{} has more than {MOST_ROWS} rows; split it", self.file);
        self.rows += 1;
        if self.rows.is_multiple_of(SHOW_EVERY) {
            self.busy.set_message(format!("reading {}: {} rows", self.file, self.rows));
        }
        Ok(true)
    }

    fn next_record(&mut self) -> Result<bool> {
        self.reader.get_mut().since_row = 0;
        let line = self.reader.position().line();
        let read = self.reader.read_byte_record(&mut self.record).map_err(io::Error::from);
        read.with_context(|| format!("cannot read {} at line {line}", self.file))
    }

    /// The column of that name, if the table has it.
    pub(crate) fn optional(&self, name: &'static str) -> Option<Column> {
        let index = self.header.iter().position(|column| column == name)?;
        Some(Column { index, name })
    }

    /// The column of that name.
    pub(crate) fn column(&self, name: &'static str) -> Result<Column> {
        self.optional(name).with_context(|| {
            let has = shown(&self.header.join(","));
            format!("{} has no column '{name}'; its header is {has}", self.file)
        })
    }

    /// What a cell holds, without surrounding blanks; may be empty.
    pub(crate) fn text(&self, column: Column) -> Result<&str> {
        let bytes = self.record.get(column.index).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|_| {
            let value = shown(&String::from_utf8_lossy(bytes));
            self.refuse(column, &format!("{value} is not UTF-8; save the file as UTF-8"))
        })?;
        Ok(text.trim())
    }

    /// A name: any text but none.
    pub(crate) fn name(&self, column: Column) -> Result<&str> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Err(self.refuse(column, "the cell is empty; write a name"));
        }
        Ok(text)
    }

    /// A number that must be there.
    pub(crate) fn number(&self, column: Column, rule: &Rule) -> Result<f64> {
        self.maybe_number(column, rule)?.ok_or_else(|| {
            self.refuse(column, &format!("the cell is empty; write {}", rule.expected))
        })
    }

    /// A number, or nothing for an empty cell.
    pub(crate) fn maybe_number(&self, column: Column, rule: &Rule) -> Result<Option<f64>> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(None);
        }
        match text.parse::<f64>() {
            // −0 becomes 0.
            Ok(number) if (rule.fits)(number) => Ok(Some(number + 0.0)),
            _ => Err(self.not(column, rule.expected)),
        }
    }

    /// A whole number, or nothing for an empty cell.
    pub(crate) fn maybe_whole(&self, column: Column) -> Result<Option<u32>> {
        let text = self.text(column)?;
        let number = (!text.is_empty()).then(|| text.parse()).transpose();
        number.map_err(|_| self.not(column, "a whole number from 0 to 4294967295"))
    }

    /// A whole number that must be there.
    pub(crate) fn whole(&self, column: Column) -> Result<u32> {
        let number = self.maybe_whole(column)?;
        number.ok_or_else(|| self.refuse(column, "the cell is empty; write a whole number"))
    }

    /// Yes or no.
    pub(crate) fn flag(&self, column: Column) -> Result<bool> {
        match self.text(column)? {
            "1" | "true" => Ok(true),
            "0" | "false" => Ok(false),
            _ => Err(self.not(column, "1 or 0")),
        }
    }

    /// Numbers separated by blanks, appended to `list`.
    pub(crate) fn list(&self, column: Column, list: &mut Vec<f64>) -> Result<()> {
        for part in self.text(column)?.split_ascii_whitespace() {
            let number = part.parse::<f64>().ok().filter(|number| number.is_finite());
            list.push(number.ok_or_else(|| self.not(column, "numbers separated by spaces"))?);
        }
        Ok(())
    }

    /// The refusal of a cell because it is not what it should be.
    pub(crate) fn not(&self, column: Column, expected: &str) -> anyhow::Error {
        let value = match self.text(column) {
            Ok("") => "an empty cell".to_owned(),
            Ok(value) => shown(value),
            Err(refusal) => return refusal,
        };
        self.refuse(column, &format!("{value} will not do; write {expected}"))
    }

    /// The refusal of a cell for any reason.
    pub(crate) fn refuse(&self, column: Column, why: &str) -> anyhow::Error {
        anyhow!("{}, line {}, column '{}': {why}", self.file, self.line(), column.name)
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(1, csv::Position::line)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.busy.finish_and_clear();
    }
}

/// Opens a file, or standard input for `-`, and names it.
pub(crate) fn open_input(path: &Path) -> Result<(String, Box<dyn Read>)> {
    if is_stdin(path) {
        return Ok(("standard input".to_owned(), Box::new(io::stdin().lock())));
    }
    let file = path.display().to_string();
    let input = File::open(path).with_context(|| format!("cannot open {file}"))?;
    Ok((file, Box::new(input)))
}

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A piece of text as errors show it: quoted, escaped, cut short.
pub(crate) fn shown(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN).flat_map(escaped).collect();
    if text.chars().nth(SHOWN).is_some() {
        cut.push('…');
    }
    format!("'{cut}'")
}

/// Control characters in a form that cannot move the cursor or begin a line.
fn escaped(c: char) -> impl Iterator<Item = char> {
    let plain = (!c.is_control()).then_some(c);
    plain.into_iter().chain(c.is_control().then(|| c.escape_default()).into_iter().flatten())
}

/// Stops a row that never ends from filling the memory.
struct Guard {
    input: Box<dyn Read>,
    since_row: u64,
}

impl Read for Guard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since_row > LONGEST_ROW {
            let why = "the row is longer than 16 MiB; look for a quote that is not closed";
            return Err(io::Error::other(why));
        }
        let read = self.input.read(buffer)?;
        self.since_row += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_are_shown_on_one_short_line() {
        assert_eq!(shown("a\nb\u{1b}[2J"), "'a\\nb\\u{1b}[2J'");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), SHOWN + 3);
    }
}
