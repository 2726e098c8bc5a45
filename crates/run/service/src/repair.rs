//! Rebuilds a damaged crawl in a new directory. The damaged one is only read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tidewatch_partition::{CrawlError, Partition, Rebuilt};
use tidewatch_store::{Memory, Store};

use crate::{ServiceError, now_micros};

/// What is derived, or rebuilt, or belongs to a process, or names pages by numbers that they lose.
const NOT_COPIED: [&str; 12] = [
    "db",
    "db.new",
    "sieve",
    "synced",
    "frontier.snapshot",
    "frontier.new",
    "topic.snapshot",
    "lock",
    "format",
    "index",
    "status.json",
    "ask.sock",
];

/// Rebuilds the crawl in `dir` as the new directory `to`, from whatever of it is still readable, and
/// tells for each partition what it holds and what is lost. `say` is told what is done.
pub fn repair(dir: &Path, to: &Path, say: &dyn Fn(&str)) -> Result<Vec<Rebuilt>, ServiceError> {
    if fs::read_dir(to).is_ok_and(|mut files| files.next().is_some()) {
        return Err(ServiceError::NotEmpty(to.to_owned()));
    }
    let parts = parts_of(dir)?;
    let count = parts.len() as u32;
    if count > 1 {
        let unwritable = |source| unreadable(to, source);
        fs::create_dir_all(to).map_err(unwritable)?;
        fs::write(to.join("partitions"), format!("{count}\n")).map_err(unwritable)?;
        copy_files(dir, to, &|name| name == "partitions" || name.starts_with("partition-"))?;
    }
    let mut rebuilt = Vec::new();
    for (number, part) in (0..).zip(&parts) {
        let part_to = to.join(part.strip_prefix(dir).unwrap_or(Path::new("")));
        // Claims the new directory before anything is in it.
        drop(Store::open(&part_to, Memory::default()).map_err(CrawlError::from)?);
        say(&format!("copying {}", part.display()));
        copy_files(part, &part_to, &|_| false)?;
        rebuilt.push(Partition::rebuild(part, &part_to, (number, count), now_micros(), say)?);
    }
    Ok(rebuilt)
}

/// The directories of a crawl's partitions, whatever is left of the files that name them.
fn parts_of(dir: &Path) -> Result<Vec<PathBuf>, ServiceError> {
    let numbered = (0..).map(|number| dir.join(format!("partition-{number}")));
    let numbered: Vec<PathBuf> = numbered.take_while(|part| part.is_dir()).collect();
    let is_part = |part: &Path| part.join("db").exists() || part.join("archive").exists();
    match (numbered.is_empty(), is_part(dir)) {
        (false, _) => Ok(numbered),
        (true, true) => Ok(vec![dir.to_owned()]),
        (true, false) => Err(ServiceError::NoCrawl(dir.to_owned())),
    }
}

fn unreadable(path: &Path, source: io::Error) -> ServiceError {
    ServiceError::Unreadable { path: path.to_owned(), source }
}

/// Copies the files of a directory that are not rebuilt. Closed WARC files are linked: nobody writes to
/// them again.
fn copy_files(from: &Path, to: &Path, skip: &dyn Fn(&str) -> bool) -> Result<(), ServiceError> {
    for file in fs::read_dir(from).map_err(|source| unreadable(from, source))? {
        let file = file.map_err(|source| unreadable(from, source))?;
        let name = file.file_name().to_string_lossy().into_owned();
        if NOT_COPIED.contains(&name.as_str()) || skip(&name) {
            continue;
        }
        copy_all(&file.path(), &to.join(&name))
            .map_err(|source| unreadable(&file.path(), source))?;
    }
    Ok(())
}

/// Copies a file, or a directory with everything in it.
fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return if from.is_file() { fs::copy(from, to).map(drop) } else { Ok(()) };
    }
    fs::create_dir_all(to)?;
    let mut names: Vec<_> = fs::read_dir(from)?.collect::<Result<_, _>>()?;
    names.sort_by_key(fs::DirEntry::file_name);
    let is_warc = |file: &fs::DirEntry| file.file_name().to_string_lossy().ends_with(".warc.gz");
    let last = names.iter().rposition(is_warc);
    for (place, file) in names.iter().enumerate() {
        let (path, to) = (file.path(), to.join(file.file_name()));
        let is_closed = is_warc(file) && Some(place) != last;
        if !is_closed || fs::hard_link(&path, &to).is_err() {
            copy_all(&path, &to)?;
        }
    }
    Ok(())
}

/// Where a repaired crawl goes if no directory is given: beside the damaged one.
pub fn repaired_dir(dir: &Path) -> PathBuf {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".repaired");
    dir.with_file_name(name)
}
