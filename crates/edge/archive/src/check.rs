//! Whether an archive holds what it promises. Nothing here writes.

use std::ops::Range;
use std::path::Path;

use crate::files::{Manifest, path_of};
use crate::index::{Index, line_of};
use crate::open::{State, last_of};
use crate::{
    ArchiveError, Damage, Digest, Findings, Location, Piece, Record, Walk, base32, digest, read_at,
};

/// What a check of a WARC file found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whole records, whether or not they match their digests.
    pub records: usize,
    /// Damaged bytes and what is wrong with them.
    pub faults: Vec<(Range<u64>, &'static str)>,
}

impl Verdict {
    /// Whether all is well.
    pub const fn is_good(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Reads a WARC file to its end and checks every digest. Behind a damaged record it goes on with
/// the next whole one.
pub fn check(path: &Path) -> Result<Verdict, ArchiveError> {
    Ok(walk(path)?.0)
}

/// Reads the record at a place of the archive in `dir` and checks its compression, its checksum
/// and its digests. Costs one read of the record.
pub fn verify(dir: &Path, place: Location) -> Result<Record, ArchiveError> {
    let Location { file, offset, .. } = place;
    let record = read_at(&path_of(dir, file), offset)?;
    match fault(&record) {
        None => Ok(record),
        Some(what) => Err(ArchiveError::Damaged { offset, what }),
    }
}

/// Whether the record at a place is whole and about `url`.
pub fn is_readable(dir: &Path, place: Location, url: &str) -> bool {
    verify(dir, place).is_ok_and(|record| record.field("WARC-Target-URI") == Some(url))
}

/// Reads a whole archive and compares every file with the manifest, the `synced` mark (see
/// [`Archive::open`](crate::Archive::open)), its records' digests and its index.
pub fn check_archive(dir: &Path, synced: Option<(u32, u64)>) -> Result<Findings, ArchiveError> {
    let (manifest, mut findings) = (Manifest::read(dir)?, Findings::default());
    let last = last_of(dir, &manifest, synced)?;
    for file in 1..=last {
        let state = State::of(dir, file, synced, &manifest)?;
        findings.damage.extend(state.damage(file));
        let (length, synced) = match state {
            State::Missing => continue,
            State::Short { length, synced } | State::Whole { length, synced } => (length, synced),
        };
        let path = path_of(dir, file);
        let (mut verdict, indexed) = walk(&path)?;
        findings.end = (file, length);
        let is_torn = |(range, _): &(Range<u64>, _)| range.end == length && range.start >= synced;
        if file == last && verdict.faults.last().is_some_and(is_torn) {
            let torn = verdict.faults.pop();
            findings.torn_bytes = torn.map_or(0, |(range, _)| range.end - range.start);
        }
        let unreadable = verdict.faults.into_iter();
        let unreadable = unreadable.map(|(range, what)| Damage::Unreadable { file, range, what });
        findings.damage.extend(unreadable);
        let is_good =
            |index: Index| index.ranges() == indexed && (file == last || index.is_sorted());
        let is_indexed = Index::read(&path, 0)?.is_some_and(is_good);
        findings.damage.extend((!is_indexed).then_some(Damage::Index { file }));
    }
    Ok(findings)
}

/// A file's verdict, and the places of what its index should name.
fn walk(path: &Path) -> Result<(Verdict, Vec<(u64, u64)>), ArchiveError> {
    let (mut verdict, mut indexed) = (Verdict::default(), Vec::new());
    for piece in Walk::new(path, 0)? {
        match piece? {
            Piece::Damaged { range, what } => verdict.faults.push((range, what)),
            Piece::Record(record, range) => {
                verdict.records += 1;
                if line_of(&record).is_some() {
                    indexed.push((range.start, range.end));
                }
                verdict.faults.extend(fault(&record).map(|what| (range, what)));
            }
        }
    }
    Ok((verdict, indexed))
}

fn fault(record: &Record) -> Option<&'static str> {
    let is_wrong = |field: &str, bytes: &[u8]| {
        let promised = record.field(field).and_then(|value| value.strip_prefix("sha1:"));
        promised.is_some_and(|promised| !is_digest(promised, &digest(bytes)))
    };
    // A revisit names the payload of another record.
    let has_payload = record.kind() != "revisit" && record.field("WARC-Segment-Number").is_none();
    if is_wrong("WARC-Block-Digest", &record.block) {
        Some("the record does not match its WARC-Block-Digest")
    } else if has_payload && is_wrong("WARC-Payload-Digest", record.message().1) {
        Some("the record does not match its WARC-Payload-Digest")
    } else {
        None
    }
}

/// Some tools write digests in base 32, some in hexadecimal.
fn is_digest(text: &str, digest: &Digest) -> bool {
    let hex = || digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    text.eq_ignore_ascii_case(&base32(digest)) || text.eq_ignore_ascii_case(&hex())
}
