//! The processes that the tests start: a crawl with the library, and the judge of what it left.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tidewatch_archive::{path_of, read_at};
use tidewatch_core::{PageId, Time};
use tidewatch_partition::{CrawlError, Next, Partition};
use tidewatch_store::{Memory, Store};

use crate::small::{START, TOOK, answer, config, run, seconds, url};

const TEST: &str = "child::a_child_of_another_test";
/// Seconds of the crawl, each of which ends with a sync.
const SECONDS: u64 = 8;
/// The crawl is stopped and opened again before this second, from which on every sync begins a WARC file.
const AGAIN: u64 = 5;

/// The crawl's directory in the directory that the library watches.
const CRAWL: &str = "crawl";

/// Where a folder lies, without links.
pub(crate) fn root_of(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().canonicalize().unwrap()
}

/// Builds the library.
pub(crate) fn library(dir: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/faults.c");
    let library = dir.join("faults.so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
    let built = cc.output().expect("a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

fn child() -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", TEST, "--nocapture"]);
    child
}

/// Crawls in `dir` in a process of its own, with settings of the library.
pub(crate) fn crawl_with(library: &Path, dir: &Path, settings: &[(&str, String)]) -> Output {
    fs::create_dir(dir).unwrap();
    let settings = settings.iter().map(|(name, value)| (name, value));
    child().env("LD_PRELOAD", library).env("FAULT_DIR", dir).envs(settings).output().unwrap()
}

/// The addresses that a crawl reported stored.
pub(crate) fn stored_in(output: &str) -> Vec<&str> {
    output.lines().filter_map(|line| line.strip_prefix("stored ")).collect()
}

/// What is wrong with a directory that should hold copies of these addresses.
pub(crate) fn loss_of(library: &Path, dir: &Path, stored: &[&str]) -> Option<String> {
    let mut judge = child();
    judge.env("LD_PRELOAD", library).env("FAULT_DIR", dir).env("IS_JUDGE", "");
    judge.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut judge = judge.stderr(Stdio::piped()).spawn().unwrap();
    judge.stdin.take().unwrap().write_all(stored.join("\n").as_bytes()).unwrap();
    let out = judge.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    if text.contains("all is there") && out.status.success() {
        return None;
    }
    let lost = text.lines().find_map(|line| line.strip_prefix("wrong: "));
    Some(lost.map_or_else(|| String::from_utf8_lossy(&out.stderr).into_owned(), str::to_owned))
}

/// Crawls in a directory and says after every sync which addresses are stored now.
fn crawl_in(dir: &Path) -> Result<(), CrawlError> {
    let mut crawl = Partition::open(dir, config(), START)?;
    crawl.seed(&url(0, 0), Time::ZERO)?;
    let (mut jobs, mut now, mut serial) = (BTreeMap::new(), Time::ZERO, 0);
    for second in 1..=SECONDS {
        if second == AGAIN {
            crawl.save()?;
            drop(crawl);
            jobs.clear();
            let mut config = config();
            config.archive_file_mb = 0;
            crawl = Partition::open(dir, config, START + now.as_micros().cast_signed())?;
        }
        let mut held: Vec<PageId> = Vec::new();
        while now < seconds(second) {
            let wait = loop {
                match crawl.next(now)? {
                    Next::Job(job) => {
                        serial += 1;
                        jobs.insert((now + TOOK, serial), job);
                    }
                    Next::WaitUntil(until) => break until,
                }
            };
            match jobs.first_entry() {
                Some(entry) if entry.key().0 <= wait => {
                    now = entry.key().0;
                    let job = entry.remove();
                    held.extend(crawl.take_in(answer(&job, now), now)?.held());
                }
                _ => now = wait,
            }
        }
        crawl.sync()?;
        for page in held {
            say(&format!("stored {}", crawl.address(page)?));
        }
    }
    crawl.save()
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).unwrap();
}

/// Reads every copy, and crawls on.
fn judge(dir: &Path, stored: &[&str]) -> Result<(), String> {
    let store =
        Store::open(dir, Memory::default()).map_err(|error| format!("no store: {error}"))?;
    for url in stored {
        let page = store.page_of(url).unwrap();
        let copy = page.and_then(|page| store.tables().unwrap().copy(page).unwrap());
        let place = copy.ok_or_else(|| format!("the copy of {url} is lost"))?.place;
        let record = read_at(&path_of(&dir.join("archive"), place.file), place.offset);
        if !record.is_ok_and(|record| record.field("WARC-Target-URI") == Some(url)) {
            return Err(format!("the record of {url} is lost"));
        }
    }
    drop(store);
    let begin = seconds(SECONDS);
    let mut crawl = Partition::open(dir, config(), START + begin.as_micros().cast_signed())
        .map_err(|error| format!("the crawl cannot be opened: {error}"))?;
    crawl.seed(&url(0, 0), begin).unwrap();
    let on = run(&mut crawl, begin, seconds(SECONDS + 2));
    if on.is_empty() { Err("it does not go on".to_owned()) } else { Ok(()) }
}

#[test]
fn a_child_of_another_test() {
    let Some(dir) = std::env::var_os("FAULT_DIR") else { return };
    let dir = Path::new(&dir).join(CRAWL);
    if std::env::var_os("IS_JUDGE").is_none() {
        match crawl_in(&dir) {
            Ok(()) => say("ended"),
            Err(error) => say(&format!("failed: {error}")),
        }
        return;
    }
    let mut stored = String::new();
    std::io::stdin().read_to_string(&mut stored).unwrap();
    match judge(&dir, &stored.lines().collect::<Vec<_>>()) {
        Ok(()) => say("all is there"),
        Err(wrong) => say(&format!("wrong: {wrong}")),
    }
}
