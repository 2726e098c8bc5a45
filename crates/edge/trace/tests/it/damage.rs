//! Damaged files end in an error or in the same trace, never in a panic.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tidewatch_trace::{Format, Trace, read, write};

use crate::samples::{TINY, directory};

/// SplitMix64: damage that is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % bound as u64) as usize
    }
}

/// The tiny trace in a format, and its files but the manifest.
fn stored(format: Format) -> (TempDir, Trace, PathBuf, Vec<PathBuf>) {
    let root = directory(&TINY);
    let trace = read(root.path()).unwrap();
    let dir = root.path().join("copy");
    write(&dir, &trace, format).unwrap();
    let entries = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| !path.ends_with("trace.toml")).collect();
    files.sort();
    (root, trace, dir, files)
}

/// Overwrites a file, reads the trace, puts the file back.
fn read_with(dir: &Path, file: &Path, whole: &[u8], damaged: &[u8]) -> Option<Trace> {
    // Removed first: cutting a file short in place makes some file systems wait for the disk.
    let overwrite = |bytes| {
        std::fs::remove_file(file).unwrap();
        std::fs::write(file, bytes).unwrap();
    };
    overwrite(damaged);
    let result = read(dir);
    overwrite(whole);
    match result {
        Ok(trace) => Some(trace),
        Err(error) => {
            let message = error.to_string();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            // Damage in `pages` may come to light in a table that refers to it.
            assert!(message.contains(&name) || name.starts_with("pages"), "{name}: {message}");
            None
        }
    }
}

/// Of the tables with the most kinds of cells between them.
fn truncate_everywhere(format: Format) {
    let (_root, trace, dir, files) = stored(format);
    let tables = [format!("pages.{format}"), format!("versions.{format}")];
    for file in files.iter().filter(|file| tables.iter().any(|name| file.ends_with(name))) {
        let whole = std::fs::read(file).unwrap();
        for length in 0..whole.len() {
            let read = read_with(&dir, file, &whole, &whole[..length]);
            let same = read.is_none_or(|read| read == trace);
            assert!(same, "{} cut to {length} bytes is another trace", file.display());
        }
    }
}

#[test]
fn gzip_cut_anywhere() {
    truncate_everywhere(Format::CsvGz);
}

#[test]
fn zstandard_cut_anywhere() {
    truncate_everywhere(Format::CsvZst);
}

#[test]
fn parquet_cut_anywhere() {
    truncate_everywhere(Format::Parquet);
}

/// With four bytes each, most bytes of these small files are hit.
const FLIPS_A_FILE: usize = 150;

#[test]
fn flipped_bytes_never_panic() {
    let mut dice = Dice(1);
    for format in Format::ALL {
        let (_root, _, dir, files) = stored(format);
        for file in files {
            let whole = std::fs::read(&file).unwrap();
            for _ in 0..FLIPS_A_FILE {
                let mut damaged = whole.clone();
                for _ in 0..=dice.below(4) {
                    damaged[dice.below(whole.len())] = dice.below(256) as u8;
                }
                // What is accepted is a valid trace, if another one.
                if let Some(trace) = read_with(&dir, &file, &whole, &damaged) {
                    trace.check().unwrap();
                }
            }
        }
    }
}
