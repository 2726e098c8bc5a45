//! Rows of a CSV file, plain or compressed, streamed with bounded memory.
//!
//! Uses the parser `csv-core` rather than the `csv` reader for two reasons: errors need the exact line
//! of a row, also after blank lines and with Windows line ends, and rows need a limit of length.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use csv_core::ReadRecordResult;
use flate2::bufread::MultiGzDecoder;

use crate::cell::{Cell, Refusal, shown};
use crate::error::{At, Place, TraceError};
use crate::table::{Format, TableFile};

/// Longest row: a page of a million fragments. A longer one is an unclosed quote or not a table.
const LONGEST_ROW: usize = 16 << 20;

/// Most columns of a file.
const MOST_FIELDS: usize = 4096;

const BUFFER: usize = 128 << 10;

pub(crate) struct CsvRows {
    file: TableFile,
    input: Box<dyn BufRead>,
    parser: csv_core::Reader,
    record: Record,
    /// Line ends between rows, which the parser does not see.
    skipped: u64,
    header: Vec<String>,
}

/// The fields of the current row, one after the other.
#[derive(Default)]
struct Record {
    bytes: Vec<u8>,
    length: usize,
    ends: Vec<usize>,
    fields: usize,
    line: u64,
}

impl CsvRows {
    pub(crate) fn open(file: &TableFile) -> Result<Self, TraceError> {
        let input = File::open(&file.path).map_err(TraceError::io("open", &file.path))?;
        let input = BufReader::with_capacity(BUFFER, input);
        let input: Box<dyn BufRead> = match file.format {
            Format::CsvGz => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(input))),
            Format::CsvZst => {
                let decoder = zstd::Decoder::with_buffer(input);
                let decoder = decoder.map_err(TraceError::io("open", &file.path))?;
                Box::new(BufReader::with_capacity(BUFFER, decoder))
            }
            Format::Csv | Format::Parquet => Box::new(input),
        };
        let (parser, record) = (csv_core::Reader::new(), Record::default());
        let (file, header) = (file.clone(), Vec::new());
        let mut rows = CsvRows { file, input, parser, record, skipped: 0, header };
        rows.read_header()?;
        Ok(rows)
    }

    fn read_header(&mut self) -> Result<(), TraceError> {
        if !self.next_record()? {
            let names: Vec<&str> = self.file.table.columns().iter().map(|c| c.name).collect();
            let problem = format!("the file is empty; its first line must be {}", names.join(","));
            return Err(TraceError::file(&self.file.path, problem));
        }
        let fields = (0..self.record.fields).map(|i| self.record.field(i));
        let names = fields.map(|name| std::str::from_utf8(name).map(str::to_owned));
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
        if more && self.record.fields != self.header.len() {
            let (fields, wanted) = (self.record.fields, self.header.len());
            let problem = format!(
                "the row has {fields} fields and the header {wanted}; \
                 quote fields that contain commas"
            );
            return Err(self.refuse(problem));
        }
        Ok(more)
    }

    pub(crate) fn at(&self) -> At {
        At::Line(self.record.line)
    }

    /// The cell, if it is text at all.
    #[inline]
    pub(crate) fn cell(&self, position: usize) -> Option<Cell<'_>> {
        std::str::from_utf8(self.record.field(position)).ok().map(Cell::Text)
    }

    /// The error for a cell that [`CsvRows::cell`] could not read.
    #[cold]
    pub(crate) fn not_utf8(&self, position: usize) -> Refusal {
        let value = shown(&String::from_utf8_lossy(self.record.field(position)));
        format!("{value} is not UTF-8; save the file as UTF-8")
    }

    fn next_record(&mut self) -> Result<bool, TraceError> {
        self.skip_line_ends().map_err(|error| self.broken(error))?;
        self.record.line = self.parser.line() + self.skipped;
        (self.record.length, self.record.fields) = (0, 0);
        loop {
            let input = match self.input.fill_buf() {
                Ok(input) => input,
                Err(error) => return Err(self.broken(error)),
            };
            let (result, read) = self.record.parse(&mut self.parser, input);
            self.input.consume(read);
            match result {
                ReadRecordResult::Record => return Ok(true),
                ReadRecordResult::End => return Ok(false),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    self.record.grow().map_err(|problem| self.refuse(problem))?;
                }
            }
        }
    }

    /// Skips blank lines and the second half of Windows line ends, to know the line of the next row.
    fn skip_line_ends(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let ends = buffer.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let lines = buffer[..ends].split(|&byte| byte == b'\n').count() - 1;
            let all = ends == buffer.len();
            self.skipped += lines as u64;
            self.input.consume(ends);
            if !all || ends == 0 {
                return Ok(());
            }
        }
    }

    /// An error of the input.
    fn broken(&self, error: io::Error) -> TraceError {
        if self.file.format == Format::Csv {
            return TraceError::io("read", &self.file.path)(error);
        }
        let line = self.parser.line() + self.skipped;
        let place =
            Place { file: self.file.path.display().to_string(), at: At::Line(line), column: None };
        let problem =
            format!("the compressed data is damaged or cut short ({error}); copy the file again");
        TraceError::Invalid { place, problem }
    }

    fn refuse(&self, problem: String) -> TraceError {
        let file = self.file.path.display().to_string();
        TraceError::Invalid { place: Place { file, at: self.at(), column: None }, problem }
    }
}

impl Record {
    #[inline]
    fn field(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    /// Continues parsing; returns the result and the number of bytes used.
    fn parse(&mut self, parser: &mut csv_core::Reader, input: &[u8]) -> (ReadRecordResult, usize) {
        let (bytes, ends) = (&mut self.bytes[self.length..], &mut self.ends[self.fields..]);
        let (result, read, written, ended) = parser.read_record(input, bytes, ends);
        self.length += written;
        self.fields += ended;
        (result, read)
    }

    /// Grows the buffers up to the limits.
    fn grow(&mut self) -> Result<(), String> {
        if self.bytes.len() >= LONGEST_ROW {
            return Err(
                "the row is longer than 16 MiB; look for a quote that is not closed".to_owned()
            );
        }
        if self.ends.len() >= MOST_FIELDS {
            return Err(format!("the row has more than {MOST_FIELDS} fields; is this a table?"));
        }
        if self.length == self.bytes.len() {
            self.bytes.resize((2 * self.bytes.len()).max(1024), 0);
        }
        if self.fields == self.ends.len() {
            self.ends.resize((2 * self.ends.len()).max(32), 0);
        }
        Ok(())
    }
}
