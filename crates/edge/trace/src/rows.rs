//! Rows of a table file in any format, one at a time.

use std::fmt::Display;

use tidewatch_core::{Rate, Time};

use crate::cell::{Cell, Refusal, shown};
use crate::csv_rows::CsvRows;
use crate::error::{At, Place, TraceError};
use crate::parquet_rows::ParquetRows;
use crate::rules::Problem;
use crate::table::{Format, Table, TableFile};

/// A table being read. Getters take the position of a column in [`Table::columns`] and are valid after
/// [`Rows::advance`] returned true.
pub(crate) struct Rows {
    file: TableFile,
    source: Source,
    /// Where in the file each column of the table is.
    positions: Vec<Option<usize>>,
}

enum Source {
    Csv(Box<CsvRows>),
    Parquet(Box<ParquetRows>),
}

impl Rows {
    /// Opens the file and finds the columns.
    pub(crate) fn open(file: &TableFile) -> Result<Self, TraceError> {
        let source = match file.format {
            Format::Csv | Format::CsvGz | Format::CsvZst => {
                Source::Csv(Box::new(CsvRows::open(file)?))
            }
            Format::Parquet => Source::Parquet(Box::new(ParquetRows::open(file)?)),
        };
        let header = match &source {
            Source::Csv(rows) => rows.header(),
            Source::Parquet(rows) => rows.header(),
        };
        let positions = positions(file.table, header)
            .map_err(|problem| TraceError::file(&file.path, problem))?;
        Ok(Rows { file: file.clone(), source, positions })
    }

    pub(crate) fn table(&self) -> Table {
        self.file.table
    }

    pub(crate) fn has(&self, column: usize) -> bool {
        self.positions[column].is_some()
    }

    /// Moves to the next row; false after the last.
    pub(crate) fn advance(&mut self) -> Result<bool, TraceError> {
        match &mut self.source {
            Source::Csv(rows) => rows.advance(),
            Source::Parquet(rows) => rows.advance(),
        }
    }

    /// The position of the current row.
    pub(crate) fn at(&self) -> At {
        match &self.source {
            Source::Csv(rows) => rows.at(),
            Source::Parquet(rows) => rows.at(),
        }
    }

    /// The error for the current row.
    pub(crate) fn refuse(&self, problem: Problem) -> TraceError {
        self.refuse_at(self.at(), problem)
    }

    /// The error for an earlier row.
    pub(crate) fn refuse_at(&self, at: At, Problem { column, text }: Problem) -> TraceError {
        let place = Place { file: self.file.path.display().to_string(), at, column };
        TraceError::Invalid { place, problem: text }
    }

    pub(crate) fn is_missing(&self, column: usize) -> Result<bool, TraceError> {
        self.cell(column).map(Cell::is_missing)
    }

    pub(crate) fn id(&self, column: usize) -> Result<u64, TraceError> {
        self.value(column, Cell::id)
    }

    pub(crate) fn time(&self, column: usize) -> Result<Time, TraceError> {
        self.value(column, Cell::time)
    }

    pub(crate) fn maybe_time(&self, column: usize) -> Result<Option<Time>, TraceError> {
        self.value(column, Cell::maybe_time)
    }

    pub(crate) fn maybe_count(&self, column: usize) -> Result<Option<u32>, TraceError> {
        self.value(column, Cell::maybe_count)
    }

    pub(crate) fn amount(&self, column: usize) -> Result<f64, TraceError> {
        self.value(column, Cell::amount)
    }

    /// The amount, or `default` where the column or the cell is missing.
    pub(crate) fn amount_or(&self, column: usize, default: f64) -> Result<f64, TraceError> {
        if self.cell(column)?.is_missing() { Ok(default) } else { self.amount(column) }
    }

    pub(crate) fn maybe_rate(&self, column: usize) -> Result<Option<Rate>, TraceError> {
        if self.cell(column)?.is_missing() {
            return Ok(None);
        }
        self.value(column, Cell::rate).map(Some)
    }

    pub(crate) fn flag(&self, column: usize) -> Result<bool, TraceError> {
        self.value(column, Cell::flag)
    }

    /// The text of a cell; empty where it is missing.
    pub(crate) fn text(&self, column: usize) -> Result<&str, TraceError> {
        match self.cell(column)? {
            Cell::Text(text) => Ok(text),
            Cell::Missing => Ok(""),
            other => Err(self.wrong(column, other.not_text())),
        }
    }

    /// The text of a cell that must not be empty.
    pub(crate) fn name(&self, column: usize, what: impl Display) -> Result<&str, TraceError> {
        match self.text(column)? {
            "" => Err(self.wrong(column, format!("the cell is empty; write {what}"))),
            text => Ok(text),
        }
    }

    /// The error for a column of the current row.
    #[cold]
    pub(crate) fn wrong(&self, column: usize, text: String) -> TraceError {
        self.refuse(Problem { column: Some(self.column_name(column)), text })
    }

    fn column_name(&self, column: usize) -> &'static str {
        self.file.table.columns()[column].name
    }

    #[inline]
    fn value<'a, T>(
        &'a self,
        column: usize,
        parse: impl FnOnce(Cell<'a>) -> Result<T, Refusal>,
    ) -> Result<T, TraceError> {
        parse(self.cell(column)?).map_err(|refusal| self.wrong(column, refusal))
    }

    #[inline]
    fn cell(&self, column: usize) -> Result<Cell<'_>, TraceError> {
        let Some(position) = self.positions[column] else { return Ok(Cell::Missing) };
        match &self.source {
            Source::Csv(rows) => {
                rows.cell(position).ok_or_else(|| self.wrong(column, rows.not_utf8(position)))
            }
            Source::Parquet(rows) => Ok(rows.cell(position)),
        }
    }
}

/// Where in the file each column of the table is.
fn positions(table: Table, header: &[String]) -> Result<Vec<Option<usize>>, String> {
    table
        .columns()
        .iter()
        .map(|column| {
            let mut places = (0..header.len()).filter(|&i| header[i] == column.name);
            let found = places.next();
            if places.next().is_some() {
                return Err(format!("the column '{}' is there twice; keep one", column.name));
            }
            if found.is_none() && column.required {
                return Err(missing(table, column.name, header));
            }
            Ok(found)
        })
        .collect()
}

fn missing(table: Table, name: &str, header: &[String]) -> String {
    let needed: Vec<&str> = table.columns().iter().filter(|c| c.required).map(|c| c.name).collect();
    let found = shown(&header.join(","));
    format!("the column '{name}' is missing; the header {found} must have {}", needed.join(","))
}
