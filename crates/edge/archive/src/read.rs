//! Reading records, from a whole file or from a place in it.
//!
//! Files may come from anywhere: heads and blocks are bounded, and whatever is
//! wrong is an error that names the record.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;

use flate2::bufread::GzDecoder;

use crate::ArchiveError;

/// Longest head of a record.
const MOST_HEAD_BYTES: u64 = 64 << 10;
/// Longest block that is read into memory.
const MOST_BLOCK_BYTES: u64 = 256 << 20;

/// A record, whole.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it begins.
    pub offset: u64,
    fields: Vec<(String, String)>,
    /// Its content.
    pub block: Vec<u8>,
}

impl Record {
    /// A field of its head.
    pub fn field(&self, name: &str) -> Option<&str> {
        let is_it = |field: &&(String, String)| field.0.eq_ignore_ascii_case(name);
        self.fields.iter().find(is_it).map(|(_, value)| value.as_str())
    }

    /// Its type: `response`, `revisit`, ….
    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap_or_default()
    }

    /// Whether its block is an HTTP message.
    pub fn is_http(&self) -> bool {
        self.field("Content-Type").is_some_and(|kind| kind.trim().starts_with("application/http"))
    }

    /// An HTTP message's head and body; of any other block, nothing and all of it.
    pub fn message(&self) -> (&[u8], &[u8]) {
        if !self.is_http() {
            return (&[], &self.block);
        }
        let end = self.block.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        self.block.split_at(end.unwrap_or(self.block.len()))
    }

    /// The status of an HTTP response.
    pub fn http_status(&self) -> Option<u16> {
        let head = self.message().0;
        let line = std::str::from_utf8(head.split(|&byte| byte == b'\r').next()?).ok()?;
        line.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok()
    }

    /// The first header of this name of an HTTP message, lossily read.
    pub fn http_header(&self, name: &str) -> Option<String> {
        self.http_headers(name).into_iter().next()
    }

    /// All headers of this name.
    pub fn http_headers(&self, name: &str) -> Vec<String> {
        let head = String::from_utf8_lossy(self.message().0);
        let headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let headers = headers.filter(|(found, _)| found.trim().eq_ignore_ascii_case(name));
        headers.map(|(_, value)| value.trim().to_owned()).collect()
    }
}

/// The records of a file, gzip or plain, in order. Ends after the first error.
#[derive(Debug)]
pub struct Records<R> {
    input: Counting<R>,
    is_over: bool,
}

impl<R: BufRead> Records<R> {
    /// Reads from the beginning of a file.
    pub const fn new(input: R) -> Self {
        Records { input: Counting { input, offset: 0 }, is_over: false }
    }

    /// Where the next record begins.
    pub const fn offset(&self) -> u64 {
        self.input.offset
    }

    fn read(&mut self) -> Result<Option<Record>, What> {
        let offset = self.input.offset;
        let buffer = self.input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(None);
        }
        if buffer.first() != Some(&0x1f) {
            return record(&mut self.input, offset, Ending::Plain).map(Some);
        }
        let mut member = BufReader::new(GzDecoder::new(&mut self.input));
        let found = record(&mut member, offset, Ending::Member)?;
        Ok(Some(found))
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<Record, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let offset = self.input.offset;
        let read = self.read().map_err(|What(what)| ArchiveError::Damaged { offset, what });
        self.is_over = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

/// The record at a place that an index names.
pub fn read_at(path: &Path, offset: u64) -> Result<Record, ArchiveError> {
    let mut file = File::open(path).map_err(ArchiveError::io(path))?;
    file.seek(SeekFrom::Start(offset)).map_err(ArchiveError::io(path))?;
    let nothing = ArchiveError::Damaged { offset, what: "there is no record" };
    let mut record = Records::new(BufReader::new(file)).next().unwrap_or(Err(nothing))?;
    record.offset = offset;
    Ok(record)
}

/// What is wrong with a record.
struct What(&'static str);

impl From<io::Error> for What {
    fn from(_: io::Error) -> Self {
        What("the file ends or its compression breaks in the middle of a record")
    }
}

#[derive(Clone, Copy)]
enum Ending {
    /// A record is over with its gzip member.
    Member,
    /// A record is followed by two empty lines.
    Plain,
}

fn record(input: &mut impl BufRead, offset: u64, ending: Ending) -> Result<Record, What> {
    let fields = head(input)?;
    let mut record = Record { offset, fields, block: Vec::new() };
    let length = record.field("Content-Length").and_then(|length| length.trim().parse().ok());
    let length: u64 = length.ok_or(What("the record does not say how long it is"))?;
    if length > MOST_BLOCK_BYTES {
        return Err(What("the record is longer than 256 MiB"));
    }
    input.by_ref().take(length).read_to_end(&mut record.block)?;
    if record.block.len() as u64 != length {
        return Err(What("the record is shorter than it says"));
    }
    let mut end = [0; 4];
    input.read_exact(&mut end)?;
    if &end != b"\r\n\r\n" {
        return Err(What("the record does not end where it says"));
    }
    match ending {
        Ending::Member if input.read(&mut [0])? > 0 => {
            Err(What("a member holds more than a record"))
        }
        _ => Ok(record),
    }
}

fn head(input: &mut impl BufRead) -> Result<Vec<(String, String)>, What> {
    let mut input = input.take(MOST_HEAD_BYTES);
    let first = head_line(&mut input)?;
    if !first.starts_with("WARC/") {
        return Err(What("there is no WARC record"));
    }
    let mut fields: Vec<(String, String)> = Vec::new();
    loop {
        let line = head_line(&mut input)?;
        if line.is_empty() {
            return Ok(fields);
        }
        if line.starts_with([' ', '\t']) {
            let last = fields.last_mut().ok_or(What("the record's head is malformed"))?;
            last.1 = format!("{} {}", last.1, line.trim());
            continue;
        }
        let (name, value) = line.split_once(':').ok_or(What("the record's head is malformed"))?;
        fields.push((name.trim().to_owned(), value.trim().to_owned()));
    }
}

fn head_line(input: &mut impl BufRead) -> Result<String, What> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let line = line.strip_suffix(b"\n").ok_or(What("the record's head does not end"))?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(String::from_utf8_lossy(line).into_owned())
}

/// Counts what was read, so that a record's place is known.
#[derive(Debug)]
struct Counting<R> {
    input: R,
    offset: u64,
}

impl<R: BufRead> Read for Counting<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.offset += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counting<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.offset += count as u64;
        self.input.consume(count);
    }
}
