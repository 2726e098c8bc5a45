//! Writes a [`Trace`] to a directory that is complete or absent.
//!
//! Files are written and synced in a temporary sibling of the target, which is
//! then renamed into place. To replace a trace, the old directory is moved
//! aside first and removed last: at every instant one of the two is complete on disk, and [`missing`]
//! reports an interruption between the renames.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::csv_sink::CsvSink;
use crate::error::TraceError;
use crate::manifest::{FILE_NAME, Manifest};
use crate::model::Trace;
use crate::parquet_sink::{self, ParquetSink};
use crate::sink::{self, Sink};
use crate::table::{Format, Table};

/// Writes a trace to a new or empty directory. Fails if [`Trace::check`] does.
pub fn write(dir: &Path, trace: &Trace, format: Format) -> Result<(), TraceError> {
    let dir = &resolved(dir)?;
    if !entries(dir)?.is_empty() {
        let problem = "is not empty; choose another directory, or overwrite the trace in it";
        return Err(TraceError::Occupied { path: dir.clone(), problem: problem.into() });
    }
    let staged = Staged::write(dir, trace, format)?;
    staged.rename_to(dir)
}

/// Writes a trace to `dir`, replacing a trace that is there. Refuses a directory with foreign files.
pub fn replace(dir: &Path, trace: &Trace, format: Format) -> Result<(), TraceError> {
    let dir = &resolved(dir)?;
    let held = entries(dir)?;
    if held.is_empty() {
        return write(dir, trace, format);
    }
    if let Some(foreign) = held.iter().find(|name| *name != FILE_NAME && !Table::owns(name)) {
        let problem = format!(
            "holds '{foreign}', which is no part of a trace; move it away or choose another directory"
        );
        return Err(TraceError::Occupied { path: dir.clone(), problem });
    }
    let staged = Staged::write(dir, trace, format)?;
    let old = sibling(dir, OLD);
    fs::rename(dir, &old).map_err(TraceError::io("move aside", dir))?;
    if let Err(error) = staged.rename_to(dir) {
        fs::rename(&old, dir).map_err(TraceError::io("move back", &old))?;
        return Err(error);
    }
    fs::remove_dir_all(&old).map_err(TraceError::io("remove the replaced trace", &old))
}

const NEW: &str = "new";
const OLD: &str = "old";

/// The error for a missing trace; after an interrupted replacement it names the old one's place.
pub(crate) fn missing(dir: &Path, error: io::Error) -> TraceError {
    let aside = (error.kind() == io::ErrorKind::NotFound).then(|| moved_aside(dir)).flatten();
    let Some(aside) = aside else { return TraceError::io("open the trace", dir)(error) };
    let problem = format!(
        "the trace is not here because replacing it was interrupted; rename {} back",
        aside.display()
    );
    TraceError::file(dir, problem)
}

fn moved_aside(dir: &Path) -> Option<PathBuf> {
    let prefix = format!(".{}.{OLD}.", dir.file_name()?.to_string_lossy());
    let parent = dir.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let names = entries(parent).ok()?;
    names.iter().find(|name| name.starts_with(&prefix)).map(|name| parent.join(name))
}

/// The names in a directory, sorted; none if it does not exist.
fn entries(dir: &Path) -> Result<Vec<String>, TraceError> {
    let list = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        list => list.map_err(TraceError::io("list", dir))?,
    };
    let names: io::Result<Vec<String>> =
        list.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect();
    let mut names = names.map_err(TraceError::io("list", dir))?;
    names.sort_unstable();
    Ok(names)
}

/// The full path of the directory, so that it has a parent and a name and links to it keep working.
fn resolved(dir: &Path) -> Result<PathBuf, TraceError> {
    if let Ok(full) = dir.canonicalize() {
        return Ok(full);
    }
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the path has no last part");
    let name = dir.file_name().ok_or_else(|| TraceError::io("create", dir)(no_name()))?;
    let parent = dir.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(TraceError::io("create", parent))?;
    Ok(parent.canonicalize().map_err(TraceError::io("find", parent))?.join(name))
}

/// A name next to `dir` that no other write uses.
fn sibling(dir: &Path, role: &str) -> PathBuf {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let (process, write) = (std::process::id(), WRITES.fetch_add(1, Ordering::Relaxed));
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    dir.with_file_name(format!(".{name}.{role}.{process}.{write}"))
}

/// A complete, synced trace under a temporary name; removed unless it is renamed.
struct Staged {
    path: PathBuf,
}

impl Staged {
    fn write(dir: &Path, trace: &Trace, format: Format) -> Result<Self, TraceError> {
        trace.check()?;
        if format == Format::Parquet && trace.latest() > parquet_sink::EXACT {
            let problem = "the trace has times beyond 71 years, which Parquet files hold only \
                           rounded; write it as CSV";
            return Err(TraceError::file(dir, problem));
        }
        let staged = Staged { path: sibling(dir, NEW) };
        let path = &staged.path;
        fs::create_dir(path).map_err(TraceError::io("create", path))?;
        for table in Table::ALL.into_iter().filter(|&table| sink::has(trace, table)) {
            let path = path.join(table.file_name(format));
            write_table(&path, trace, table, format).map_err(TraceError::io("write", &path))?;
        }
        let manifest = path.join(FILE_NAME);
        write_synced(&manifest, Manifest::text(trace).as_bytes())
            .map_err(TraceError::io("write", &manifest))?;
        sync_dir(path)?;
        Ok(staged)
    }

    fn rename_to(self, dir: &Path) -> Result<(), TraceError> {
        fs::rename(&self.path, dir).map_err(TraceError::io("put the trace at", dir))?;
        dir.parent().map_or(Ok(()), sync_dir)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Already gone if it was renamed; otherwise best effort, as another error is being returned.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn write_table(path: &Path, trace: &Trace, table: Table, format: Format) -> io::Result<()> {
    let file = File::create_new(path)?;
    let mut sink: Box<dyn Sink> = match format {
        Format::Csv | Format::CsvGz | Format::CsvZst => {
            Box::new(CsvSink::new(file, table, format)?)
        }
        Format::Parquet => Box::new(ParquetSink::new(file, table)?),
    };
    sink::fill(sink.as_mut(), trace, table)?;
    sink.finish()?.sync_all()
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()
}

/// Syncs a directory.
fn sync_dir(dir: &Path) -> Result<(), TraceError> {
    if cfg!(unix) {
        let sync = File::open(dir).and_then(|dir| dir.sync_all());
        sync.map_err(TraceError::io("sync", dir))?;
    }
    Ok(())
}
