//! Whether a file keeps what it promises.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::{ArchiveError, Digest, Record, Records, base32, digest};

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whole records.
    pub records: usize,
    /// What is wrong, a sentence each.
    pub faults: Vec<String>,
}

impl Verdict {
    /// Whether all is well.
    pub const fn is_good(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Reads a WARC file to its end and checks every digest.
pub fn check(path: &Path) -> Result<Verdict, ArchiveError> {
    let file = File::open(path).map_err(ArchiveError::io(path))?;
    let mut verdict = Verdict::default();
    for record in Records::new(BufReader::new(file)) {
        match record {
            Ok(record) => {
                verdict.records += 1;
                verdict.faults.extend(faults(&record));
            }
            Err(error) => verdict.faults.push(error.to_string()),
        }
    }
    Ok(verdict)
}

fn faults(record: &Record) -> Vec<String> {
    let mut faults = Vec::new();
    let mut compare = |field: &str, bytes: &[u8]| {
        let Some(promised) = record.field(field).and_then(|value| value.strip_prefix("sha1:"))
        else {
            return;
        };
        if !is_digest(promised, &digest(bytes)) {
            let (offset, kind) = (record.offset, record.kind());
            faults.push(format!("the {kind} at byte {offset} does not match its {field}"));
        }
    };
    compare("WARC-Block-Digest", &record.block);
    // A revisit names the payload of another record.
    if record.kind() != "revisit" && record.field("WARC-Segment-Number").is_none() {
        compare("WARC-Payload-Digest", record.message().1);
    }
    faults
}

/// Some tools write digests in base 32, some in hexadecimal.
fn is_digest(text: &str, digest: &Digest) -> bool {
    let hex = || digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    text.eq_ignore_ascii_case(&base32(digest)) || text.eq_ignore_ascii_case(&hex())
}
