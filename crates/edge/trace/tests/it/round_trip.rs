//! What is written reads back equal, and the same trace is the same bytes.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use tidewatch_trace::{Format, Trace, read, write};

use crate::arbitrary;

/// Every file of a directory.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    let name = |entry: &std::fs::DirEntry| entry.file_name().into_string().unwrap();
    entries.map(|entry| (name(&entry), std::fs::read(entry.path()).unwrap())).collect()
}

fn round_trip(trace: &Trace, format: Format) -> (Trace, BTreeMap<String, Vec<u8>>) {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("trace");
    write(&dir, trace, format).unwrap();
    (read(&dir).unwrap(), contents(&dir))
}

/// A case syncs some seventy files, which takes a disk a quarter of a second.
const CASES: u32 = 16;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn every_format_gives_the_trace_back(trace in arbitrary::trace()) {
        prop_assert!(trace.check().is_ok(), "{}", trace.check().unwrap_err());
        for format in Format::ALL {
            let (back, bytes) = round_trip(&trace, format);
            prop_assert_eq!(&back, &trace, "{}", format);
            let (_, again) = round_trip(&back, format);
            prop_assert!(bytes == again, "the bytes differ in {}", format);
        }
    }

    /// Row order in `pages`, `links` and between pages carries no meaning.
    #[test]
    fn shuffled_rows_are_the_same_trace(trace in arbitrary::trace(), seed: u64) {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("trace");
        write(&dir, &trace, Format::Csv).unwrap();
        for name in ["pages", "hosts", "links", "clicks", "views", "changes", "versions", "signals", "truth"] {
            shuffle(&dir.join(format!("{name}.csv")), seed);
        }
        prop_assert_eq!(read(&dir).unwrap(), trace);
    }
}

/// Reorders the rows of a file at random, except that rows of tables of events
/// keep their order within a page.
fn shuffle(path: &Path, seed: u64) {
    let Ok(mut reader) = csv::Reader::from_path(path) else { return };
    let header = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let events = header.get(1) == Some("at");
    let mut keyed: Vec<(u64, csv::StringRecord)> = Vec::new();
    for (i, row) in rows.into_iter().enumerate() {
        let own = if events { 0 } else { i as u64 };
        let page = row[0].parse::<u64>().unwrap_or(0);
        keyed.push((
            (page ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ own.wrapping_mul(seed),
            row,
        ));
    }
    keyed.sort_by_key(|(key, _)| *key);
    let mut writer = csv::Writer::from_path(path).unwrap();
    writer.write_record(&header).unwrap();
    for (_, row) in keyed {
        writer.write_record(&row).unwrap();
    }
    writer.flush().unwrap();
}
