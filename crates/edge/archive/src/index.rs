//! The CDXJ index of a WARC file: `key date {"url": …, "offset": …, "length": …}`, a line a
//! response or revisit; [`key`] tells what a key is.
//!
//! The index of the file that grows is appended to in the order of fetches; it is sorted when its
//! file is closed, by [`Archive::finish`](crate::Archive::finish), and at the next start. An index
//! is derived: whatever of it is lost is read from the WARC file again.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::files::{index_path, replace};
use crate::key::key;
use crate::{ArchiveError, Record};

/// What an index says of a revisit in place of its media type.
pub(crate) const REVISIT_TYPE: &str = "warc/revisit";

/// A line of the index without the place of its record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) date: &'a str,
    pub(crate) url: &'a str,
    pub(crate) media_type: &'a str,
    pub(crate) status: u16,
    /// `sha1:` and the digest in base 32.
    pub(crate) payload: &'a str,
}

impl Line<'_> {
    /// The line up to where the place comes.
    pub(crate) fn open(&self) -> String {
        let fields = serde_json::json!({
            "url": self.url, "mime": self.media_type,
            "status": self.status.to_string(), "digest": self.payload,
        });
        let fields = fields.to_string();
        let open = fields.strip_suffix('}').unwrap_or(&fields);
        format!("{} {} {open}", key(self.url), self.date)
    }
}

/// A whole line: an open one, and where its record lies.
pub(crate) fn placed(open: &str, warc: &Path, offset: u64, bytes: u64) -> String {
    let name = warc.file_name().unwrap_or_default().to_string_lossy();
    format!("{open},\"length\":\"{bytes}\",\"offset\":\"{offset}\",\"filename\":\"{name}\"}}\n")
}

/// The open line of a response or revisit; `None` for other records.
pub(crate) fn line_of(record: &Record) -> Option<String> {
    let media_type = match record.kind() {
        "response" => record.http_header("content-type").unwrap_or_default(),
        "revisit" => REVISIT_TYPE.to_owned(),
        _ => return None,
    };
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let url = record.field("WARC-Target-URI")?;
    let digits = record.field("WARC-Date")?.chars().filter(char::is_ascii_digit);
    let date: String = digits.take(14).collect();
    let payload = record.field("WARC-Payload-Digest").unwrap_or_default();
    // The record of a 304 has no head of its own.
    let is_confirmed = || record.kind() == "revisit" && record.block.is_empty();
    let status = record.http_status().or_else(|| is_confirmed().then_some(304))?;
    Some(Line { date: &date, url, media_type, status, payload }.open())
}

/// The lines of one index, each with the bytes of the WARC file that it points at.
#[derive(Debug, Default)]
pub(crate) struct Index {
    lines: Vec<(u64, u64, String)>,
}

impl Index {
    /// Reads the index beside `warc`; `None` if it is missing, shorter than `least_bytes`, or
    /// damaged before its last line. Half a last line is left out.
    pub(crate) fn read(warc: &Path, least_bytes: u64) -> Result<Option<Index>, ArchiveError> {
        let path = index_path(warc);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(ArchiveError::io(&path))?,
        };
        if (bytes.len() as u64) < least_bytes {
            return Ok(None);
        }
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let Ok(text) = std::str::from_utf8(&bytes[..whole]) else { return Ok(None) };
        let parse = |line: &str| {
            let (from, to) = range_of(line)?;
            Some((from, to, line.to_owned()))
        };
        let lines: Option<_> = text.split_inclusive('\n').map(parse).collect();
        Ok(lines.map(|lines| Index { lines }))
    }

    pub(crate) fn push(&mut self, line: String, from: u64, to: u64) {
        self.lines.push((from, to, line));
    }

    /// Leaves out lines about records that do not end before `end`.
    pub(crate) fn cut(&mut self, end: u64) {
        self.lines.retain(|(_, to, _)| *to <= end);
    }

    /// Where the last indexed record ends.
    pub(crate) fn end(&self) -> u64 {
        self.lines.iter().map(|(_, to, _)| *to).max().unwrap_or(0)
    }

    pub(crate) fn is_sorted(&self) -> bool {
        self.lines.is_sorted_by(|(_, _, a), (_, _, b)| a <= b)
    }

    /// The ranges pointed at, in order.
    pub(crate) fn ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<_> = self.lines.iter().map(|(from, to, _)| (*from, *to)).collect();
        ranges.sort_unstable();
        ranges
    }

    /// Writes the index beside `warc`, sorted by key and time, unless that is what is there.
    /// Returns its length.
    pub(crate) fn write(&self, warc: &Path) -> Result<u64, ArchiveError> {
        let mut lines: Vec<&str> = self.lines.iter().map(|(_, _, line)| line.as_str()).collect();
        lines.sort_unstable();
        let (path, text) = (index_path(warc), lines.concat());
        if fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
            replace(&path, text.as_bytes())?;
        }
        Ok(text.len() as u64)
    }
}

/// The bytes of the WARC file that a line points at; `None` if the line is damaged.
fn range_of(line: &str) -> Option<(u64, u64)> {
    let json = line.splitn(3, ' ').nth(2)?;
    let json: Value = serde_json::from_str(json).ok()?;
    let number = |name| json.get(name)?.as_str()?.parse::<u64>().ok();
    let offset = number("offset")?;
    Some((offset, offset.checked_add(number("length")?)?))
}
