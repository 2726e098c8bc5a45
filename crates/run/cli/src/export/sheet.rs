//! A table on its way to a CSV or Parquet file, whole or not there.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// Rows that are handed to Parquet's encoder at once.
const ROWS_A_BATCH: usize = 16 << 10;

/// What a column holds; every cell may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Whole,
    Number,
    Text,
}

/// A cell; an empty text is an empty cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Whole(Option<u64>),
    Number(Option<f64>),
    Text(String),
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Cell::Whole(Some(number))
    }
}

/// A table being written.
pub(super) struct Sheet {
    path: PathBuf,
    new: PathBuf,
    into: Into,
}

enum Into {
    Csv(Box<csv::Writer<BufWriter<File>>>),
    Parquet(Box<Columns>),
}

struct Columns {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
    kinds: Vec<Kind>,
    rows: Vec<Vec<Cell>>,
}

impl Sheet {
    fn create(path: &Path) -> Result<(PathBuf, File)> {
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let file =
            File::create(&new).with_context(|| format!("cannot write {}", path.display()))?;
        Ok((new.into(), file))
    }

    pub(super) fn csv(path: &Path, columns: &[(&'static str, Kind)]) -> Result<Sheet> {
        let (new, file) = Sheet::create(path)?;
        let mut writer = csv::Writer::from_writer(BufWriter::new(file));
        writer.write_record(columns.iter().map(|(name, _)| name))?;
        Ok(Sheet { path: path.to_owned(), new, into: Into::Csv(Box::new(writer)) })
    }

    pub(super) fn parquet(path: &Path, columns: &[(&'static str, Kind)]) -> Result<Sheet> {
        let (new, file) = Sheet::create(path)?;
        let field = |(name, kind): &(&'static str, Kind)| {
            let kind = match kind {
                Kind::Whole => DataType::UInt64,
                Kind::Number => DataType::Float64,
                Kind::Text => DataType::Utf8,
            };
            Field::new(*name, kind, true)
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))?;
        let kinds = columns.iter().map(|(_, kind)| *kind).collect();
        let columns = Columns { writer, schema, kinds, rows: Vec::new() };
        Ok(Sheet { path: path.to_owned(), new, into: Into::Parquet(Box::new(columns)) })
    }

    /// Adds a row, a cell a column.
    pub(super) fn row(&mut self, cells: &[Cell]) -> Result<()> {
        match &mut self.into {
            Into::Csv(writer) => Ok(writer.write_record(cells.iter().map(Cell::text))?),
            Into::Parquet(columns) => {
                columns.rows.push(cells.to_vec());
                if columns.rows.len() < ROWS_A_BATCH { Ok(()) } else { columns.flush() }
            }
        }
    }

    /// Writes what is left, and puts the file in its place.
    pub(super) fn finish(self) -> Result<()> {
        match self.into {
            Into::Csv(mut writer) => writer.flush()?,
            Into::Parquet(mut columns) => {
                columns.flush()?;
                columns.writer.close()?;
            }
        }
        fs::rename(&self.new, &self.path)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Cell {
    fn whole(&self) -> Option<u64> {
        if let Cell::Whole(number) = self { *number } else { None }
    }

    fn number(&self) -> Option<f64> {
        if let Cell::Number(number) = self { *number } else { None }
    }

    fn text(&self) -> String {
        match self {
            Cell::Whole(number) => number.map(|n| n.to_string()).unwrap_or_default(),
            Cell::Number(number) => number.map(|n| n.to_string()).unwrap_or_default(),
            Cell::Text(text) => text.clone(),
        }
    }
}

impl Columns {
    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let column = |(at, kind): (usize, &Kind)| -> ArrayRef {
            let cells = rows.iter().map(|row| &row[at]);
            match kind {
                Kind::Whole => Arc::new(cells.map(Cell::whole).collect::<UInt64Array>()),
                Kind::Number => Arc::new(cells.map(Cell::number).collect::<Float64Array>()),
                Kind::Text => {
                    let texts =
                        cells.map(Cell::text).map(Some).map(|text| text.filter(|t| !t.is_empty()));
                    Arc::new(texts.collect::<StringArray>())
                }
            }
        };
        let columns = self.kinds.iter().enumerate().map(column).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        Ok(self.writer.write(&batch)?)
    }
}
