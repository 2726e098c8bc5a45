//! Where the rows of a result go: CSV or JSON, to standard output or a file.
//!
//! Rows are streamed. A file appears complete or not at all: it is written beside its place and
//! moved there at the end. What is not a file (a pipe, a device) is written to as it is.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

const BUFFER: usize = 1 << 18;

/// The options of every command whose result is a table.
#[derive(clap::Args)]
pub(crate) struct Destination {
    /// Print JSON instead of CSV; infinite numbers become null.
    #[arg(long)]
    json: bool,
    /// Write to this file instead of standard output; it appears complete or not at all.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A result: rows, and what there is to say about them as a whole.
pub(crate) struct Outcome<'a, S, R> {
    /// Column names: the fields of a row.
    pub(crate) columns: &'a [&'a str],
    /// With JSON, the object around the rows and the rows' name in it; otherwise they are a bare
    /// array.
    pub(crate) summary: Option<(&'a S, &'a str)>,
    pub(crate) rows: R,
}

impl Destination {
    /// Writes all rows, in order.
    pub(crate) fn write<S, R>(&self, outcome: Outcome<'_, S, R>) -> Result<()>
    where
        S: Serialize,
        R: Iterator<Item: Serialize>,
    {
        let to = match &self.out {
            Some(path) => format!("cannot write {}", path.display()),
            None => "cannot write to standard output".to_owned(),
        };
        let done = Sink::open(self.out.as_deref()).and_then(|sink| {
            let mut out = BufWriter::with_capacity(BUFFER, sink);
            if self.json { json(&mut out, outcome) } else { csv(&mut out, outcome) }?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
        });
        done.context(to)
    }
}

fn csv<S, R>(out: &mut impl Write, outcome: Outcome<'_, S, R>) -> io::Result<()>
where
    R: Iterator<Item: Serialize>,
{
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    writer.write_record(outcome.columns)?;
    for row in outcome.rows {
        writer.serialize(row)?;
    }
    writer.flush()
}

fn json<S, R>(out: &mut impl Write, outcome: Outcome<'_, S, R>) -> io::Result<()>
where
    S: Serialize,
    R: Iterator<Item: Serialize>,
{
    if let Some((summary, rows)) = outcome.summary {
        let object = serde_json::to_string(summary)?;
        let open = object.strip_suffix('}').expect("a summary is a struct with fields");
        write!(out, "{open},\"{rows}\":")?;
    }
    let mut before = "[\n";
    for row in outcome.rows {
        out.write_all(before.as_bytes())?;
        serde_json::to_writer(&mut *out, &row)?;
        before = ",\n";
    }
    let empty = before == "[\n";
    let end = if outcome.summary.is_some() { "]}\n" } else { "]\n" };
    out.write_all(if empty { b"[" } else { b"\n" })?;
    out.write_all(end.as_bytes())
}

/// Replaces a file atomically.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<()> {
    let write = || {
        let mut sink = Sink::open(Some(path))?;
        sink.write_all(text.as_bytes())?;
        sink.finish()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Standard output, a pipe or device, or a file that is not in its place yet.
enum Sink {
    Screen { gone: bool },
    Direct(File),
    Part(Part),
}

/// A file on its way; removed unless it arrives.
struct Part {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
}

impl Sink {
    fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Sink::Screen { gone: false }) };
        // Where a link leads; the path itself if there is nothing yet.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let special = path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
        if special {
            return File::options().write(true).open(&path).map(Sink::Direct);
        }
        let name = path.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
        let mut temporary = name.to_owned();
        temporary.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(temporary);
        let file = File::create_new(&temporary)?;
        Ok(Sink::Part(Part { file, temporary, path }))
    }

    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match &self {
            Sink::Screen { .. } | Sink::Direct(_) => Ok(()),
            Sink::Part(part) => std::fs::rename(&part.temporary, &part.path),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Screen { gone: true } => Ok(bytes.len()),
            Sink::Screen { gone } => match io::stdout().write(bytes) {
                // A reader that went away (`| head`) is no error.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    *gone = true;
                    Ok(bytes.len())
                }
                done => done,
            },
            Sink::Direct(file) => file.write(bytes),
            Sink::Part(part) => part.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Screen { gone: true } => Ok(()),
            Sink::Screen { .. } => match io::stdout().flush() {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                done => done,
            },
            Sink::Direct(file) => file.flush(),
            Sink::Part(part) => part.file.flush(),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Gone already when it arrived; otherwise the error that brought us here is what matters.
        let _ = std::fs::remove_file(&self.temporary);
    }
}
