//! Files of data sets, plain or compressed, streamed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use tidewatch_trace::{At, Place};

use super::ImportError;

/// Longest row; a longer one is an unclosed quote or not a table.
const LONGEST_ROW: u64 = 16 << 20;

/// Memory limit of the .xz decoder: presets use at most 64 MiB, but a file may ask for 4 GiB.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// Extensions of tables, in the order tried.
const ENDINGS: [&str; 3] = ["", ".gz", ".xz"];

/// The file of that name in a data set, plain or compressed.
pub(super) fn find(
    dir: &Path,
    file: &'static str,
    format: &'static str,
) -> Result<PathBuf, ImportError> {
    let mut candidates = ENDINGS.iter().map(|ending| dir.join(format!("{file}{ending}")));
    let missing = || ImportError::Missing { dir: dir.to_owned(), file, format };
    candidates.find(|path| path.is_file()).ok_or_else(missing)
}

/// Opens a file for reading, decompressed by its extension.
pub(super) fn open(path: &Path) -> Result<Guard, ImportError> {
    let file = BufReader::new(File::open(path).map_err(ImportError::io("open", path))?);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let input: Box<dyn Read> = match ending {
        "gz" => Box::new(MultiGzDecoder::new(file)),
        "xz" => Box::new(XzReader::new_mem_limit(file, true, XZ_MEMORY_KIB)),
        _ => Box::new(file),
    };
    Ok(Guard { input, since_row: 0 })
}

/// Limits the length of a row, to bound memory.
pub(super) struct Guard {
    input: Box<dyn Read>,
    since_row: u64,
}

impl Guard {
    /// Call it after each complete row.
    pub(super) fn new_row(&mut self) {
        self.since_row = 0;
    }
}

impl Read for Guard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since_row > LONGEST_ROW {
            return Err(io::Error::other("the row is longer than 16 MiB; look for an open quote"));
        }
        let read = self.input.read(buffer)?;
        self.since_row += read as u64;
        Ok(read)
    }
}

/// Lines of a file without header, with their numbers.
pub(super) struct Lines {
    path: PathBuf,
    reader: BufReader<Guard>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, ImportError> {
        let reader = BufReader::with_capacity(64 << 10, open(path)?);
        Ok(Lines { path: path.to_owned(), reader, line: Vec::new(), number: 0 })
    }

    /// The next line, without its end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<&str>, ImportError> {
        self.line.clear();
        self.number += 1;
        self.reader.get_mut().new_row();
        let read = self.reader.read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| {
            self.refuse(format!("the line cannot be read ({error}); is the file complete?"))
        })?;
        if read == 0 {
            return Ok(None);
        }
        let line = std::str::from_utf8(&self.line);
        let line = line.map_err(|_| self.refuse("the line is not UTF-8".to_owned()))?;
        Ok(Some(line.trim_end_matches(['\n', '\r'])))
    }

    /// An error in the current line.
    pub(super) fn refuse(&self, problem: String) -> ImportError {
        let (file, at) = (self.path.display().to_string(), At::Line(self.number));
        ImportError::Invalid { place: Place { file, at, column: None }, problem }
    }
}
