//! What writing does to directories, and what reading makes of sparse ones.

use std::path::Path;

use tidewatch_core::{Span, Time};
use tidewatch_trace::{Format, Trace, read, replace, write};

use crate::samples::{TINY, directory, text};

fn tiny() -> Trace {
    read(directory(&TINY).path()).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let root = directory(&[("notes.txt", "mine")]);
    let error = write(root.path(), &tiny(), Format::Csv).unwrap_err().to_string();
    assert!(
        error.ends_with("is not empty; choose another directory, or overwrite the trace in it")
    );
    let error = replace(root.path(), &tiny(), Format::Csv).unwrap_err().to_string();
    assert!(error.ends_with(
        "holds 'notes.txt', which is no part of a trace; move it away or choose another directory"
    ));
    assert_eq!(names(root.path()), ["notes.txt"]);
    assert_eq!(text(root.path(), "notes.txt"), "mine");
}

#[test]
fn replacing_leaves_the_new_trace_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("deep").join("trace");
    let mut trace = tiny();
    replace(&dir, &trace, Format::Csv).unwrap();
    trace.name = "other".into();
    trace.signals = None;
    replace(&dir, &trace, Format::Parquet).unwrap();
    assert_eq!(read(&dir).unwrap(), trace);
    assert!(!names(&dir).iter().any(|name| name.contains("csv") || name.contains("signals")));
    assert_eq!(names(dir.parent().unwrap()), ["trace"]);
}

#[test]
fn a_failed_write_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("trace");
    let mut trace = tiny();
    trace.clicks.as_mut().unwrap().swap(0, 1);
    assert_eq!(
        write(&dir, &trace, Format::Csv).unwrap_err().to_string(),
        "clicks, row 2: the rows are not sorted by (page, at); call Trace::arrange"
    );
    trace.arrange();
    trace.pages[0].died = Some(Time::from_micros(1 << 51));
    let error = write(&dir, &trace, Format::Parquet).unwrap_err().to_string();
    assert!(error.ends_with(
        "the trace has times beyond 71 years, which Parquet files hold only rounded; \
         write it as CSV"
    ));
    assert!(names(root.path()).is_empty());
    write(&dir, &trace, Format::CsvZst).unwrap();
    assert_eq!(read(&dir).unwrap(), trace);
}

#[test]
fn an_interrupted_replacement_is_explained() {
    let root = tempfile::tempdir().unwrap();
    let (dir, aside) = (root.path().join("trace"), root.path().join(".trace.old.1.0"));
    write(&aside, &tiny(), Format::Csv).unwrap();
    assert_eq!(
        read(&dir).unwrap_err().to_string(),
        format!(
            "{}: the trace is not here because replacing it was interrupted; rename {} back",
            dir.display(),
            aside.display()
        )
    );
}

#[test]
fn pages_alone_are_a_trace() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("sparse");
    std::fs::create_dir(&dir).unwrap();
    // With a byte order mark, Windows line ends, free column order and a column of one's own.
    let pages = "\u{feff}colour,is_source,died,born,host,url,page\r\n\
                 red,1,,0,h,u,5\r\n\
                 blue,0,12.5,3,h,v,4\r\n";
    std::fs::write(dir.join("pages.csv"), pages).unwrap();
    let trace = read(&dir).unwrap();
    assert_eq!((trace.name.as_str(), trace.duration), ("sparse", Span::from_micros(12_500_000)));
    assert_eq!(trace.pages.iter().map(|page| page.id).collect::<Vec<_>>(), [4, 5]);
    assert!(trace.pages.iter().all(|page| page.is_seed));
    assert_eq!(trace.pages.iter().map(|page| page.weight).collect::<Vec<_>>(), [1.0, 1.0]);
    assert!(trace.links.is_empty() && trace.clicks.is_none());
}

#[test]
fn seeds_are_sources_and_pages_without_inlinks() {
    let dir = directory(&TINY);
    let pages = "page,url,host,born,died,is_source\n3,u,a.test,0,,1\n7,v,h,10,,0\n\
                 8,w,h,0,,0\n1000000,x,h,0,,1\n";
    std::fs::write(dir.path().join("pages.csv"), pages).unwrap();
    let trace = read(dir.path()).unwrap();
    let seeds: Vec<bool> = trace.pages.iter().map(|page| page.is_seed).collect();
    assert_eq!(seeds, [true, false, true, true]);
}

#[test]
fn an_empty_table_differs_from_a_missing_one() {
    let dir = directory(&TINY);
    std::fs::write(dir.path().join("clicks.csv"), "page,at,count\n").unwrap();
    std::fs::remove_file(dir.path().join("views.csv")).unwrap();
    let trace = read(dir.path()).unwrap();
    assert_eq!((trace.clicks, trace.views), (Some(Vec::new()), None));
}
