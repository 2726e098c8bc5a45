//! The archive's directory: the file that grows, its index, and what a crash left.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use tidewatch_core::url::CanonicalUrl;

use crate::date::warc_date;
use crate::pack::{REVISIT_TYPE, line, member, urn};
use crate::read::Record;
use crate::{ArchiveError, Packed, Records};

/// Files named `NAME-00001.warc.gz` and so on, one of which grows.
#[derive(Debug)]
pub struct Archive {
    dir: PathBuf,
    most_bytes: u64,
    number: u32,
    file: File,
    index: File,
    bytes: u64,
}

/// Where the first record of an exchange lies now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The file's number.
    pub file: u32,
    /// The record's first byte.
    pub offset: u64,
    /// Its compressed length.
    pub bytes: u32,
}

impl Archive {
    /// Opens the archive in `dir`; its files are closed once they have `most_bytes`.
    /// `unix_micros` dates the file that is begun if there is none. `whole` is the
    /// [`Archive::end`] at some sync: nothing before it needs to be read again.
    pub fn open(
        dir: &Path,
        most_bytes: u64,
        unix_micros: i64,
        whole: Option<(u32, u64)>,
    ) -> Result<Archive, ArchiveError> {
        fs::create_dir_all(dir).map_err(ArchiveError::io(dir))?;
        let Some(number) = last_number(dir)? else {
            return Archive::begin(dir, 1, most_bytes, unix_micros);
        };
        let path = path_of(dir, number);
        let whole = whole.filter(|(file, _)| *file == number).map_or(0, |(_, length)| length);
        let bytes = mend(&path, whole)?;
        if bytes == 0 {
            return Archive::begin(dir, number, most_bytes, unix_micros);
        }
        let file = OpenOptions::new().append(true).open(&path).map_err(ArchiveError::io(&path))?;
        let path = index_path(&path);
        let index = OpenOptions::new().append(true).open(&path).map_err(ArchiveError::io(&path))?;
        Ok(Archive { dir: dir.to_owned(), most_bytes, number, file, index, bytes })
    }

    /// Begins a file with a record that says what it is.
    fn begin(
        dir: &Path,
        number: u32,
        most_bytes: u64,
        unix_micros: i64,
    ) -> Result<Archive, ArchiveError> {
        let path = path_of(dir, number);
        let failed = ArchiveError::io(&path);
        let info = file_info(&path, unix_micros);
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(&info)?;
            let index = File::create(index_path(&path))?;
            File::open(dir)?.sync_all()?;
            Ok((file, index))
        };
        let (file, index) = write().map_err(failed)?;
        let bytes = info.len() as u64;
        Ok(Archive { dir: dir.to_owned(), most_bytes, number, file, index, bytes })
    }

    /// Appends an exchange. If the disk refuses, the file is as it was before.
    pub fn append(&mut self, packed: &Packed, unix_micros: i64) -> Result<Appended, ArchiveError> {
        if self.bytes >= self.most_bytes {
            self.next_file(unix_micros)?;
        }
        let path = path_of(&self.dir, self.number);
        if let Err(error) = self.file.write_all(&packed.bytes) {
            // A torn record would stand in the way of all that follow.
            self.file.set_len(self.bytes).map_err(ArchiveError::io(&path))?;
            return Err(ArchiveError::io(&path)(error));
        }
        let (file, offset, bytes) = (self.number, self.bytes, packed.first as u32);
        self.bytes += packed.bytes.len() as u64;
        let line = placed(&packed.index, &path, offset, u64::from(bytes));
        self.index.write_all(line.as_bytes()).map_err(ArchiveError::io(&path))?;
        Ok(Appended { file, offset, bytes })
    }

    /// Makes everything appended survive the machine.
    pub fn sync(&self) -> Result<(), ArchiveError> {
        let path = path_of(&self.dir, self.number);
        let synced = self.file.sync_data().and_then(|()| self.index.sync_data());
        synced.map_err(ArchiveError::io(&path))
    }

    /// The current file's number and length.
    pub const fn end(&self) -> (u32, u64) {
        (self.number, self.bytes)
    }

    /// The path of a file by its number.
    pub fn path(&self, number: u32) -> PathBuf {
        path_of(&self.dir, number)
    }

    fn next_file(&mut self, unix_micros: i64) -> Result<(), ArchiveError> {
        self.sync()?;
        let path = index_path(&path_of(&self.dir, self.number));
        sort_lines(&path).map_err(ArchiveError::io(&path))?;
        *self = Archive::begin(&self.dir, self.number + 1, self.most_bytes, unix_micros)?;
        Ok(())
    }
}

/// The path of an archive file by its number.
fn path_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("tidewatch-{number:05}.warc.gz"))
}

fn index_path(path: &Path) -> PathBuf {
    path.with_extension("").with_extension("cdxj")
}

fn last_number(dir: &Path) -> Result<Option<u32>, ArchiveError> {
    let mut last = None;
    for file in fs::read_dir(dir).map_err(ArchiveError::io(dir))? {
        let name = file.map_err(ArchiveError::io(dir))?.file_name();
        let name = name.to_string_lossy();
        let number = name.strip_prefix("tidewatch-").and_then(|rest| rest.strip_suffix(".warc.gz"));
        last = last.max(number.and_then(|number| number.parse().ok()));
    }
    Ok(last)
}

fn file_info(path: &Path, unix_micros: i64) -> Vec<u8> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let id = urn(xxhash_rust::xxh3::xxh3_128(format!("{unix_micros} {name}").as_bytes()));
    let block = concat!(
        "software: tidewatch/",
        env!("CARGO_PKG_VERSION"),
        "\r\nformat: WARC File Format 1.1\r\n",
        "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
    );
    let head = format!(
        "WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: {id}\r\nWARC-Date: {}\r\n\
         WARC-Filename: {name}\r\nContent-Type: application/warc-fields\r\nContent-Length: {}\r\n\r\n",
        warc_date(unix_micros),
        block.len()
    );
    member(&[head.as_bytes(), block.as_bytes(), b"\r\n\r\n"], 6)
}

/// Cuts a file to its last whole record, makes its index again, and returns its length. What
/// lies before `whole` is known to be good, and so are its lines of the index.
fn mend(path: &Path, whole: u64) -> Result<u64, ArchiveError> {
    let failed = || ArchiveError::io(path);
    let mut file = File::open(path).map_err(failed())?;
    let length = file.metadata().map_err(failed())?.len();
    let whole = if whole <= length { whole } else { 0 };
    file.seek(SeekFrom::Start(whole)).map_err(failed())?;
    let mut records = Records::new(BufReader::new(file));
    let (mut end, mut lines) = (whole, lines_before(&index_path(path), whole));
    while let Some(Ok(record)) = records.next() {
        let begin = end;
        end = whole + records.offset();
        if let Some(open) = line_of(&record) {
            lines += &placed(&open, path, begin, end - begin);
        }
    }
    let file = OpenOptions::new().write(true).open(path).map_err(ArchiveError::io(path))?;
    file.set_len(end).and_then(|()| file.sync_all()).map_err(ArchiveError::io(path))?;
    let index = index_path(path);
    fs::write(&index, lines).map_err(ArchiveError::io(&index))?;
    Ok(end)
}

/// Lines of an index about records before an offset.
fn lines_before(index: &Path, whole: u64) -> String {
    let offset = |line: &str| {
        let (_, rest) = line.rsplit_once("\"offset\":\"")?;
        rest.split_once('"')?.0.parse::<u64>().ok()
    };
    let text = fs::read_to_string(index).unwrap_or_default();
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with("\"}\n"));
    lines.filter(|line| offset(line).is_some_and(|offset| offset < whole)).collect()
}

/// The line of the index that a response or revisit had.
fn line_of(record: &Record) -> Option<String> {
    let media_type = match record.kind() {
        "response" => record.http_header("content-type").unwrap_or_default(),
        "revisit" => REVISIT_TYPE.to_owned(),
        _ => return None,
    };
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let url = record.field("WARC-Target-URI")?;
    let digits = record.field("WARC-Date")?.chars().filter(char::is_ascii_digit);
    let date: String = digits.take(14).collect();
    let surt = CanonicalUrl::parse(url).map_or_else(|_| url.to_owned(), |url| url.surt());
    let payload = record.field("WARC-Payload-Digest").unwrap_or_default();
    Some(line(&surt, &date, url, media_type, &record.http_status()?.to_string(), payload))
}

fn placed(open: &str, path: &Path, offset: u64, bytes: u64) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{open},\"length\":\"{bytes}\",\"offset\":\"{offset}\",\"filename\":\"{name}\"}}\n")
}

/// Sorts an index whose file is complete, as readers expect it.
fn sort_lines(path: &Path) -> std::io::Result<()> {
    let lines: std::io::Result<Vec<String>> = BufReader::new(File::open(path)?).lines().collect();
    let mut lines = lines?;
    lines.sort_unstable();
    let new = path.with_extension("cdxj.new");
    let mut out = BufWriter::new(File::create(&new)?);
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(new, path)
}
