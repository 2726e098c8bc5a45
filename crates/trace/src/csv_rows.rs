//! Rows of a CSV file, plain or compressed, streamed with bounded memory.

use std::fs::File;
use std::io::{self, Read};

use csv::ByteRecord;
use flate2::read::MultiGzDecoder;

use crate::cell::{Cell, Refusal, shown};
use crate::error::{At, Place, TraceError};
use crate::table::{Format, TableFile};

/// No honest row is longer: it would be a page of a million fragments. What is
/// longer is an unclosed quote or not a table.
const LONGEST_ROW: u64 = 16 << 20;

const BUFFER: usize = 64 << 10;

pub(crate) struct CsvRows {
    file: TableFile,
    reader: csv::Reader<Guard>,
    record: ByteRecord,
    header: Vec<String>,
}

impl CsvRows {
    pub(crate) fn open(file: &TableFile) -> Result<Self, TraceError> {
        let input = File::open(&file.path).map_err(TraceError::io("open", &file.path))?;
        let input: Box<dyn Read> = match file.format {
            Format::CsvGz => Box::new(MultiGzDecoder::new(input)),
            Format::CsvZst => {
                let decoder = zstd::Decoder::new(input);
                Box::new(decoder.map_err(TraceError::io("open", &file.path))?)
            }
            Format::Csv | Format::Parquet => Box::new(input),
        };
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(BUFFER)
            .from_reader(Guard { input, since_row: 0 });
        let (record, header) = (ByteRecord::new(), Vec::new());
        let mut rows = CsvRows { file: file.clone(), reader, record, header };
        rows.read_header()?;
        Ok(rows)
    }

    fn read_header(&mut self) -> Result<(), TraceError> {
        if !self.next_record()? {
            let names: Vec<&str> = self.file.table.columns().iter().map(|c| c.name).collect();
            let problem = format!("the file is empty; its first line must be {}", names.join(","));
            return Err(TraceError::file(&self.file.path, problem));
        }
        let names = self.record.iter().map(|name| std::str::from_utf8(name).map(str::to_owned));
        self.header = names.collect::<Result<_, _>>().map_err(|_| {
            self.refuse("the header is not UTF-8; save the file as UTF-8".to_owned())
        })?;
        Ok(())
    }

    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    pub(crate) fn advance(&mut self) -> Result<bool, TraceError> {
        let more = self.next_record()?;
        if more && self.record.len() != self.header.len() {
            let (fields, wanted) = (self.record.len(), self.header.len());
            let problem = format!(
                "the row has {fields} fields and the header {wanted}; \
                 quote fields that contain commas"
            );
            return Err(self.refuse(problem));
        }
        Ok(more)
    }

    pub(crate) fn at(&self) -> At {
        At::Line(self.record.position().map_or(1, csv::Position::line))
    }

    pub(crate) fn cell(&self, position: usize) -> Result<Cell<'_>, Refusal> {
        let bytes = self.record.get(position).unwrap_or_default();
        std::str::from_utf8(bytes).map(Cell::Text).map_err(|_| {
            let value = shown(&String::from_utf8_lossy(bytes));
            format!("{value} is not UTF-8; save the file as UTF-8")
        })
    }

    fn next_record(&mut self) -> Result<bool, TraceError> {
        self.reader.get_mut().since_row = 0;
        let line = self.reader.position().line();
        self.reader.read_byte_record(&mut self.record).map_err(|error| self.broken(error, line))
    }

    /// The input failed under the CSV parser while it looked for the row at `line`.
    fn broken(&self, error: csv::Error, line: u64) -> TraceError {
        let error = io::Error::from(error);
        let too_long =
            error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<RowTooLong>);
        if self.file.format == Format::Csv && !too_long {
            return TraceError::io("read", &self.file.path)(error);
        }
        let problem = if too_long {
            error.to_string()
        } else {
            format!("the compressed data is damaged or cut short ({error}); copy the file again")
        };
        let file = self.file.path.display().to_string();
        TraceError::Invalid { place: Place { file, at: At::Line(line), column: None }, problem }
    }

    fn refuse(&self, problem: String) -> TraceError {
        let file = self.file.path.display().to_string();
        TraceError::Invalid { place: Place { file, at: self.at(), column: None }, problem }
    }
}

/// Stops a row that never ends from filling the memory.
struct Guard {
    input: Box<dyn Read>,
    since_row: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("the row is longer than 16 MiB; look for a quote that is not closed")]
struct RowTooLong;

impl Read for Guard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since_row > LONGEST_ROW {
            return Err(io::Error::other(RowTooLong));
        }
        let read = self.input.read(buffer)?;
        self.since_row += read as u64;
        Ok(read)
    }
}
