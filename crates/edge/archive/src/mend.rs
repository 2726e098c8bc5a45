//! What a crash left of the file that was growing: cut to its last whole record.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Seek as _, SeekFrom};
use std::path::Path;

use tidewatch_core::url::CanonicalUrl;

use crate::append::{index_path, placed};
use crate::pack::{REVISIT_TYPE, line};
use crate::read::Record;
use crate::{ArchiveError, Records};

/// Cuts a file to its last whole record, makes its index again, and returns its length. What
/// lies before `whole` is known to be good, and so are its lines of the index.
pub(crate) fn mend(path: &Path, whole: u64) -> Result<u64, ArchiveError> {
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
