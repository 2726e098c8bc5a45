//! Rows of a table with a header; columns are found by name, errors name line and column.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use csv::ByteRecord;
use tidewatch_trace::{At, Place};

use super::ImportError;
use super::clock::Moment;
use super::input::{self, Guard};

const BUFFER: usize = 64 << 10;

/// Characters of a value shown in errors.
const SHOWN: usize = 60;

/// Column separator of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Tabs, no quotes.
    Tabs,
    /// Commas, with quotes around what contains them.
    Commas,
    /// One space, no quotes; a space may end the line.
    Spaces,
}

/// A table of which `N` columns are read.
pub(super) struct Rows<const N: usize> {
    path: PathBuf,
    reader: csv::Reader<Guard>,
    record: ByteRecord,
    width: usize,
    style: Style,
    names: [&'static str; N],
    positions: [usize; N],
}

impl<const N: usize> Rows<N> {
    /// Opens a file and finds the columns in its header.
    pub(super) fn open(
        path: &Path,
        style: Style,
        names: [&'static str; N],
    ) -> Result<Self, ImportError> {
        let mut rows = Self::unread(path, style, names)?;
        rows.advance_raw()?;
        rows.width = rows.record.len();
        for (position, name) in rows.positions.iter_mut().zip(names) {
            let found = rows.record.iter().position(|cell| cell == name.as_bytes());
            let place =
                || Place { file: path.display().to_string(), at: At::Line(1), column: None };
            *position = found.ok_or_else(|| {
                let wanted = names.join(", ");
                let problem = format!("the header has no column '{name}'; it needs {wanted}");
                ImportError::Invalid { place: place(), problem }
            })?;
        }
        Ok(rows)
    }

    /// Opens a file without a header that has just these columns, in this order.
    pub(super) fn headless(
        path: &Path,
        style: Style,
        names: [&'static str; N],
    ) -> Result<Self, ImportError> {
        let mut rows = Self::unread(path, style, names)?;
        rows.width = N;
        rows.positions = std::array::from_fn(|position| position);
        Ok(rows)
    }

    fn unread(path: &Path, style: Style, names: [&'static str; N]) -> Result<Self, ImportError> {
        let delimiter = match style {
            Style::Tabs => b'\t',
            Style::Commas => b',',
            Style::Spaces => b' ',
        };
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(style == Style::Commas)
            .delimiter(delimiter)
            .buffer_capacity(BUFFER)
            .from_reader(input::open(path)?);
        let (path, record) = (path.to_owned(), ByteRecord::new());
        Ok(Rows { path, reader, record, width: 0, style, names, positions: [0; N] })
    }

    /// Position of an optional column.
    pub(super) fn names(path: &Path, style: Style) -> Result<Vec<String>, ImportError> {
        let mut rows = Rows::<0>::unread(path, style, [])?;
        rows.advance_raw()?;
        Ok(rows.record.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Advances to the next row; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool, ImportError> {
        let more = self.advance_raw()?;
        let fields = self.record.len();
        let trailing = self.style == Style::Spaces
            && fields == self.width + 1
            && self.record.get(self.width) == Some(b"");
        if more && fields != self.width && !trailing {
            let width = self.width;
            let problem = format!("the row has {fields} fields where {width} are expected");
            return Err(ImportError::Invalid { place: self.place(None), problem });
        }
        Ok(more)
    }

    fn advance_raw(&mut self) -> Result<bool, ImportError> {
        self.reader.get_mut().new_row();
        let line = self.reader.position().line();
        self.reader.read_byte_record(&mut self.record).map_err(|error| {
            let file = self.path.display().to_string();
            let problem = format!("the row cannot be read ({error}); is the file complete?");
            ImportError::Invalid {
                place: Place { file, at: At::Line(line), column: None },
                problem,
            }
        })
    }

    /// The text of a cell.
    pub(super) fn text(&self, column: usize) -> Result<&str, ImportError> {
        let bytes = self.record.get(self.positions[column]).unwrap_or_default();
        std::str::from_utf8(bytes)
            .map_err(|_| self.refuse(column, "is not UTF-8; convert the file"))
    }

    /// A whole number.
    pub(super) fn number<T: FromStr>(&self, column: usize) -> Result<T, ImportError> {
        self.text(column)?.parse().map_err(|_| self.refuse(column, "is not a whole number"))
    }

    /// A time in seconds since 1970.
    pub(super) fn seconds(&self, column: usize) -> Result<Moment, ImportError> {
        let seconds: i64 = self.number(column)?;
        Moment::from_unix_seconds(seconds)
            .ok_or_else(|| self.refuse(column, "is not a time; write seconds since 1970"))
    }

    /// An error in a cell: its value and the problem.
    pub(super) fn refuse(&self, column: usize, problem: &str) -> ImportError {
        let bytes = self.record.get(self.positions[column]).unwrap_or_default();
        let value: String = String::from_utf8_lossy(bytes).chars().take(SHOWN).collect();
        let problem = format!("'{}' {problem}", value.escape_debug());
        ImportError::Invalid { place: self.place(Some(self.names[column])), problem }
    }

    fn place(&self, column: Option<&'static str>) -> Place {
        let line = self.record.position().map_or(1, csv::Position::line);
        Place { file: self.path.display().to_string(), at: At::Line(line), column }
    }
}
