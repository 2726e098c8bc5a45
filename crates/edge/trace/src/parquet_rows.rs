//! Rows of a Parquet file, decoded a batch at a time.
//!
//! Types follow the Parquet schema: integers and floats of any width, booleans, strings of any
//! encoding. Embedded Arrow schemas (dictionaries, large strings) are ignored.

use std::fmt::Display;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringArray};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use parquet::file::metadata::ParquetMetaData;

use crate::cell::Cell;
use crate::error::{At, Place, TraceError};
use crate::table::TableFile;

const ROWS_A_BATCH: usize = 8192;

pub(crate) struct ParquetRows {
    file: TableFile,
    header: Vec<String>,
    /// Where in `batch` each column of the file is, if the table has it.
    slots: Vec<Option<usize>>,
    reader: ParquetRecordBatchReader,
    batch: Vec<Values>,
    rows_in_batch: usize,
    /// The current row in the batch, and how many rows batches before it had.
    row: usize,
    before: u64,
}

impl ParquetRows {
    pub(crate) fn open(file: &TableFile) -> Result<Self, TraceError> {
        let input = File::open(&file.path).map_err(TraceError::io("open", &file.path))?;
        let length = input.metadata().map_err(TraceError::io("open", &file.path))?.len();
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let broken = |reason: String| TraceError::file(&file.path, damaged(&reason));
        let builder =
            contained(|| ParquetRecordBatchReaderBuilder::try_new_with_options(input, options));
        let builder = builder.map_err(broken)?;
        require_ranges(builder.metadata(), length).map_err(broken)?;
        let fields = builder.schema().fields().clone();
        let wanted = |name: &str| file.table.columns().iter().any(|column| column.name == name);
        let roots: Vec<usize> =
            (0..fields.len()).filter(|&i| wanted(fields[i].name().as_str())).collect();
        for field in roots.iter().map(|&i| &fields[i]) {
            require_plain(file, field.name(), field.data_type())?;
        }
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots.iter().copied());
        let builder = builder.with_projection(mask).with_batch_size(ROWS_A_BATCH);
        let reader = contained(|| builder.build()).map_err(broken)?;
        Ok(ParquetRows {
            file: file.clone(),
            header: fields.iter().map(|field| field.name().clone()).collect(),
            slots: (0..fields.len()).map(|i| roots.binary_search(&i).ok()).collect(),
            reader,
            batch: Vec::new(),
            rows_in_batch: 0,
            row: 0,
            before: 0,
        })
    }

    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    pub(crate) fn advance(&mut self) -> Result<bool, TraceError> {
        self.row += 1;
        while self.row >= self.rows_in_batch {
            if !self.next_batch()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn at(&self) -> At {
        At::Row(self.before + self.row as u64 + 1)
    }

    pub(crate) fn cell(&self, position: usize) -> Cell<'_> {
        self.slots[position].map_or(Cell::Missing, |slot| self.batch[slot].cell(self.row))
    }

    fn next_batch(&mut self) -> Result<bool, TraceError> {
        self.before += self.rows_in_batch as u64;
        (self.row, self.rows_in_batch) = (0, 0);
        let batch = contained(|| self.reader.next().transpose());
        let batch = batch.map_err(|reason| self.broken(&damaged(&reason)))?;
        let Some(batch) = batch else { return Ok(false) };
        let values: Option<Vec<Values>> =
            batch.columns().iter().map(|column| Values::of(column.as_ref())).collect();
        self.batch = values.ok_or_else(|| self.broken("a column changes its type"))?;
        self.rows_in_batch = batch.num_rows();
        Ok(true)
    }

    fn broken(&self, problem: &str) -> TraceError {
        let (file, at) = (self.file.path.display().to_string(), self.at());
        let problem = problem.to_owned();
        TraceError::Invalid { place: Place { file, at, column: None }, problem }
    }
}

/// Runs the decoder, which panics on some damaged files, and turns panics into errors. The decoder is
/// not used afterwards.
fn contained<T, E: Display>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("the decoder panicked".to_owned()),
    }
}

fn damaged(reason: &str) -> String {
    format!("the Parquet data is damaged or cut short ({reason}); copy the file again")
}

/// Checks that the column chunks of the footer lie within the file, which the decoder assumes.
fn require_ranges(metadata: &ParquetMetaData, length: u64) -> Result<(), String> {
    for group in metadata.row_groups() {
        if group.num_rows() < 0 {
            return Err("a negative number of rows".to_owned());
        }
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end = start.checked_add(column.compressed_size());
            let end = end.and_then(|end| u64::try_from(end).ok());
            if start < 0 || column.compressed_size() < 0 || end.is_none_or(|end| end > length) {
                return Err(format!("column '{}' lies outside the file", column.column_path()));
            }
        }
    }
    Ok(())
}

fn require_plain(file: &TableFile, name: &str, found: &DataType) -> Result<(), TraceError> {
    if Values::takes(found) {
        return Ok(());
    }
    let problem = format!(
        "the column '{name}' has the type {found}; \
         store numbers (times in seconds), strings or booleans"
    );
    Err(TraceError::file(&file.path, problem))
}

/// A decoded column of a batch.
enum Values {
    Bool(BooleanArray),
    Text(StringArray),
    I8(PrimitiveArray<Int8Type>),
    I16(PrimitiveArray<Int16Type>),
    I32(PrimitiveArray<Int32Type>),
    I64(PrimitiveArray<Int64Type>),
    U8(PrimitiveArray<UInt8Type>),
    U16(PrimitiveArray<UInt16Type>),
    U32(PrimitiveArray<UInt32Type>),
    U64(PrimitiveArray<UInt64Type>),
    F32(PrimitiveArray<Float32Type>),
    F64(PrimitiveArray<Float64Type>),
}

impl Values {
    /// Whether [`Values::of`] supports this type. A column of nulls has no type and is ignored.
    fn takes(found: &DataType) -> bool {
        matches!(
            found,
            DataType::Boolean
                | DataType::Utf8
                | DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32
                | DataType::UInt64
                | DataType::Float32
                | DataType::Float64
        )
    }

    fn of(column: &dyn Array) -> Option<Self> {
        Some(match column.data_type() {
            DataType::Boolean => Values::Bool(column.as_boolean_opt()?.clone()),
            DataType::Utf8 => Values::Text(column.as_string_opt()?.clone()),
            DataType::Int8 => Values::I8(column.as_primitive_opt()?.clone()),
            DataType::Int16 => Values::I16(column.as_primitive_opt()?.clone()),
            DataType::Int32 => Values::I32(column.as_primitive_opt()?.clone()),
            DataType::Int64 => Values::I64(column.as_primitive_opt()?.clone()),
            DataType::UInt8 => Values::U8(column.as_primitive_opt()?.clone()),
            DataType::UInt16 => Values::U16(column.as_primitive_opt()?.clone()),
            DataType::UInt32 => Values::U32(column.as_primitive_opt()?.clone()),
            DataType::UInt64 => Values::U64(column.as_primitive_opt()?.clone()),
            DataType::Float32 => Values::F32(column.as_primitive_opt()?.clone()),
            DataType::Float64 => Values::F64(column.as_primitive_opt()?.clone()),
            _ => return None,
        })
    }

    fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Values::Bool(v) => present(v, row, |row| Cell::Bool(v.value(row))),
            Values::Text(v) => present(v, row, |row| Cell::Text(v.value(row))),
            Values::I8(v) => number(v, row, |n| Cell::Signed(n.into())),
            Values::I16(v) => number(v, row, |n| Cell::Signed(n.into())),
            Values::I32(v) => number(v, row, |n| Cell::Signed(n.into())),
            Values::I64(v) => number(v, row, Cell::Signed),
            Values::U8(v) => number(v, row, |n| Cell::Unsigned(n.into())),
            Values::U16(v) => number(v, row, |n| Cell::Unsigned(n.into())),
            Values::U32(v) => number(v, row, |n| Cell::Unsigned(n.into())),
            Values::U64(v) => number(v, row, Cell::Unsigned),
            Values::F32(v) => number(v, row, |n| Cell::Float(n.into())),
            Values::F64(v) => number(v, row, Cell::Float),
        }
    }
}

fn present<'a>(array: &'a dyn Array, row: usize, cell: impl FnOnce(usize) -> Cell<'a>) -> Cell<'a> {
    if array.is_null(row) { Cell::Missing } else { cell(row) }
}

fn number<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    row: usize,
    cell: impl FnOnce(T::Native) -> Cell<'static>,
) -> Cell<'static> {
    if array.is_null(row) { Cell::Missing } else { cell(array.value(row)) }
}
