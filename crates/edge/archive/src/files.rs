//! The files of an archive's directory: names, lengths, and how they are replaced.
//!
//! | file | holds |
//! |---|---|
//! | `tidewatch-00001.warc.gz` | records, each a gzip member |
//! | `tidewatch-00001.cdxj` | its index, a line a response; derived |
//! | `manifest.txt` | for every file the lengths that were synced: `number warc-bytes index-bytes` |

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::ArchiveError;

/// The WARC file of a number in an archive's directory.
pub fn path_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("tidewatch-{number:05}.warc.gz"))
}

pub(crate) fn index_path(warc: &Path) -> PathBuf {
    warc.with_extension("").with_extension("cdxj")
}

/// The highest number that a WARC file or an index in `dir` has.
pub(crate) fn last_number(dir: &Path) -> Result<Option<u32>, ArchiveError> {
    let mut last = None;
    for file in fs::read_dir(dir).map_err(ArchiveError::io(dir))? {
        let name = file.map_err(ArchiveError::io(dir))?.file_name();
        last = last.max(number_of(&name.to_string_lossy()));
    }
    Ok(last)
}

/// The numbers of the WARC files in `dir`, in order; none if it does not exist.
pub fn warc_numbers(dir: &Path) -> Result<Vec<u32>, ArchiveError> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let mut numbers = Vec::new();
    for file in fs::read_dir(dir).map_err(ArchiveError::io(dir))? {
        let name = file.map_err(ArchiveError::io(dir))?.file_name();
        let name = name.to_string_lossy();
        numbers.extend(number_of(&name).filter(|_| name.ends_with(".warc.gz")));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn number_of(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("tidewatch-")?;
    rest.strip_suffix(".warc.gz").or_else(|| rest.strip_suffix(".cdxj"))?.parse().ok()
}

/// The length of a file; `None` if it does not exist.
pub(crate) fn length_of(path: &Path) -> Result<Option<u64>, ArchiveError> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ArchiveError::io(path)(error)),
    }
}

/// Makes the names in a directory survive the machine.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), ArchiveError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(ArchiveError::io(dir))
}

/// Replaces a file's content: writes beside it, syncs, renames. At any moment `path` has either
/// the old content or the new.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), ArchiveError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    let written = File::create(&beside)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()));
    written.and_then(|()| fs::rename(&beside, path)).map_err(ArchiveError::io(path))?;
    path.parent().map_or(Ok(()), sync_dir)
}

/// Lengths of a WARC file and its index, as last synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) warc: u64,
    pub(crate) index: u64,
}

/// The length of every file of an archive when it was last synced: a shorter file has lost records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    files: BTreeMap<u32, Lengths>,
}

impl Manifest {
    /// Reads the manifest. A line that cannot be read, or a missing manifest, says nothing of a
    /// file.
    pub(crate) fn read(dir: &Path) -> Result<Manifest, ArchiveError> {
        let path = manifest_path(dir);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(ArchiveError::io(&path))?,
        };
        let text = String::from_utf8_lossy(&bytes);
        Ok(Manifest { files: text.lines().filter_map(manifest_line).collect() })
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<(), ArchiveError> {
        let lines = self.files.iter();
        let lines = lines.map(|(number, of)| format!("{number} {} {}\n", of.warc, of.index));
        replace(&manifest_path(dir), lines.collect::<String>().as_bytes())
    }

    pub(crate) fn get(&self, number: u32) -> Option<Lengths> {
        self.files.get(&number).copied()
    }

    pub(crate) fn set(&mut self, number: u32, lengths: Lengths) {
        self.files.insert(number, lengths);
    }

    /// The highest number named.
    pub(crate) fn last(&self) -> Option<u32> {
        self.files.keys().next_back().copied()
    }
}

fn manifest_path(dir: &Path) -> PathBuf {
    dir.join("manifest.txt")
}

fn manifest_line(line: &str) -> Option<(u32, Lengths)> {
    let mut numbers = line.split(' ');
    let number = numbers.next()?.parse().ok()?;
    let warc = numbers.next()?.parse().ok()?;
    let index = numbers.next()?.parse().ok()?;
    numbers.next().is_none().then_some((number, Lengths { warc, index }))
}
