//! Writes rows to a Parquet file; equal rows give equal bytes.
//!
//! Ids are unsigned 64-bit integers, times are seconds as 64-bit floats. Such floats are exact to the
//! microsecond up to [`EXACT`], about 71 years; longer traces are refused rather than rounded.

use std::fs::File;
use std::io;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tidewatch_core::Time;

use crate::sink::Sink;
use crate::table::{Column, Kind, Table};

/// Below 2⁵¹ µs: two roundings of a float's 2⁻⁵³ are less than half a microsecond.
pub(crate) const EXACT: Time = Time::from_micros((1 << 51) - 1);

/// Rows per batch handed to the encoder.
const ROWS_A_BATCH: usize = 64 << 10;

/// Encoded bytes held in memory before they are written.
const ROWS_A_GROUP: usize = 512 << 10;

pub(crate) struct ParquetSink {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
    columns: Vec<Values>,
    /// The column that the next cell belongs to.
    next: usize,
    rows: usize,
}

/// The cells of a column of the current batch.
enum Values {
    Id(Vec<u64>),
    MaybeWhole(Vec<Option<u64>>),
    Text(StringBuilder),
    Seconds(Vec<f64>),
    MaybeSeconds(Vec<Option<f64>>),
    Flag(Vec<bool>),
}

impl ParquetSink {
    pub(crate) fn new(file: File, table: Table) -> io::Result<Self> {
        let fields: Vec<Field> = table.columns().iter().map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_created_by("tidewatch".to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROWS_A_GROUP))
            .build();
        // The Arrow schema would only repeat what Parquet's own says.
        let options =
            ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options)?;
        let columns = table.columns().iter().map(|column| Values::new(column.kind)).collect();
        Ok(ParquetSink { writer, schema, columns, next: 0, rows: 0 })
    }

    /// The column that the next cell belongs to.
    fn column(&mut self) -> &mut Values {
        self.next += 1;
        &mut self.columns[self.next - 1]
    }

    fn flush(&mut self) -> io::Result<()> {
        self.rows = 0;
        let columns = self.columns.iter_mut().map(Values::take).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        Ok(self.writer.write(&batch.map_err(io::Error::other)?)?)
    }
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::Id | Kind::MaybeWhole => DataType::UInt64,
        Kind::Text => DataType::Utf8,
        Kind::Time | Kind::MaybeTime | Kind::Number => DataType::Float64,
        Kind::Flag => DataType::Boolean,
    };
    let is_nullable = matches!(column.kind, Kind::MaybeTime | Kind::MaybeWhole);
    Field::new(column.name, kind, is_nullable)
}

impl Values {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Id => Values::Id(Vec::new()),
            Kind::MaybeWhole => Values::MaybeWhole(Vec::new()),
            Kind::Text => Values::Text(StringBuilder::new()),
            Kind::Time | Kind::Number => Values::Seconds(Vec::new()),
            Kind::MaybeTime => Values::MaybeSeconds(Vec::new()),
            Kind::Flag => Values::Flag(Vec::new()),
        }
    }

    /// The cells so far, leaving none.
    fn take(&mut self) -> ArrayRef {
        match self {
            Values::Id(ids) => Arc::new(UInt64Array::from(std::mem::take(ids))),
            Values::MaybeWhole(whole) => Arc::new(UInt64Array::from(std::mem::take(whole))),
            Values::Text(texts) => Arc::new(texts.finish()),
            Values::Seconds(numbers) => Arc::new(Float64Array::from(std::mem::take(numbers))),
            Values::MaybeSeconds(times) => Arc::new(Float64Array::from(std::mem::take(times))),
            Values::Flag(flags) => Arc::new(BooleanArray::from(std::mem::take(flags))),
        }
    }
}

/// A cell for a column of another kind: a bug in this crate, reported as an error so that nothing is
/// written.
fn misplaced() -> io::Error {
    io::Error::other("a cell does not fit its column")
}

impl Sink for ParquetSink {
    fn id(&mut self, id: u64) -> io::Result<()> {
        let Values::Id(ids) = self.column() else { return Err(misplaced()) };
        ids.push(id);
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let Values::Text(texts) = self.column() else { return Err(misplaced()) };
        texts.append_value(text);
        Ok(())
    }

    fn time(&mut self, time: Time) -> io::Result<()> {
        self.number(time.seconds())
    }

    fn maybe_time(&mut self, time: Option<Time>) -> io::Result<()> {
        let Values::MaybeSeconds(times) = self.column() else { return Err(misplaced()) };
        times.push(time.map(Time::seconds));
        Ok(())
    }

    fn maybe_whole(&mut self, number: Option<u64>) -> io::Result<()> {
        let Values::MaybeWhole(numbers) = self.column() else { return Err(misplaced()) };
        numbers.push(number);
        Ok(())
    }

    fn number(&mut self, number: f64) -> io::Result<()> {
        let Values::Seconds(numbers) = self.column() else { return Err(misplaced()) };
        numbers.push(number + 0.0); // −0 is written as 0
        Ok(())
    }

    fn flag(&mut self, flag: bool) -> io::Result<()> {
        let Values::Flag(flags) = self.column() else { return Err(misplaced()) };
        flags.push(flag);
        Ok(())
    }

    fn end_row(&mut self) -> io::Result<()> {
        (self.next, self.rows) = (0, self.rows + 1);
        if self.rows == ROWS_A_BATCH { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> io::Result<File> {
        self.flush()?;
        Ok(self.writer.into_inner()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn seconds_as_floats_give_every_microsecond_back(back in 0..1_u64 << 51) {
            for micros in [back, EXACT.as_micros() - back] {
                let time = Time::from_micros(micros);
                prop_assert_eq!(Time::from_seconds(time.seconds()), Some(time));
            }
        }
    }
}
