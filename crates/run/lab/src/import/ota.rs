//! `ota-terms`: legal pages, as raw bytes and as visible text.
//!
//! Reads a directory of `docs.tsv` (doc_id, url), `events.tsv` (ts, stream `S`
//! raw snapshot or `V` text version, doc_id, kind `first`, `change`, `technical`
//! or `x`) and `fragments.tsv` (ts, doc_id, added, removed: fragment ids of a
//! text version, by commas).
//!
//! Rules, beyond those common to all importers:
//!
//! - **Pages** are documents; a document is born with its first row in either file. Several documents
//!   may share a URL (each is a part of its page): all but the first are marked `page=ID`. Documents
//!   without a valid URL get an invented one. Documents without rows are dropped. All pages are seeds;
//!   there are no links.
//! - **Versions** follow the order of rows in `fragments.tsv`, the order of recording. A row with an
//!   earlier time than the previous row of its document gets that row's time, and versions at one time
//!   are merged. A version without changed fragments is dropped. The contents of a document at the
//!   start of the window are its first version.
//! - **Changes** are `V` rows of kind `change`: the text changed, possibly by less than a fragment.
//!   Technical changes (of the extraction) do not count.
//! - **Signals** of kind `raw-change` are `S` rows of kind `change`: the bytes changed, mostly
//!   invisibly. They were recorded for the last part of the data only; a note says from when.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use tidewatch_math::Draws;
use tidewatch_trace::{Change, Signals, TraceSignal, Versions};

use super::clock::{Moment, Window};
use super::pages::{Addresses, Pages};
use super::rows::{Rows, Style};
use super::{Draft, ImportArgs, ImportError, Imported, Importer, Opt, input};

const NAME: &str = "ota-terms";

pub(super) const IMPORTER: Importer = Importer {
    name: NAME,
    about: "legal pages: contents as paragraphs, text changes, and raw changes as signals",
    takes: &[Opt::From, Opt::Length],
    import,
};

const RAW_CHANGE: &str = "raw-change";

fn import(args: &ImportArgs) -> Result<Imported, ImportError> {
    let dir = &args.path;
    let mut terms = Terms::default();
    terms.read_docs(&input::find(dir, "docs.tsv", NAME)?)?;
    terms.read_events(&input::find(dir, "events.tsv", NAME)?)?;
    let fragments = input::find(dir, "fragments.tsv", NAME)?;
    let (first, last) = terms.span(&fragments)?;
    let window = Window::choose(args, first, last)?;
    let mut draft = Draft::default();
    draft.cover(NAME, window);
    draft.note("Legal pages: text versions as sets of paragraphs, raw byte changes as signals.");
    let numbers = terms.fill_pages(&mut draft, window);
    terms.fill_events(&mut draft, &numbers, window);
    terms.fill_versions(&mut draft, &fragments, &numbers, window)?;
    draft.finish()
}

/// A document.
struct Doc {
    id: u64,
    url: Box<str>,
    born: Option<Moment>,
}

#[derive(Default)]
struct Terms {
    docs: Vec<Doc>,
    number: HashMap<u64, u32>,
    text_changes: Vec<(u32, Moment)>,
    raw_changes: Vec<(u32, Moment)>,
    events: u64,
    other: u64,
}

impl Terms {
    fn read_docs(&mut self, file: &Path) -> Result<(), ImportError> {
        let mut rows = Rows::open(file, Style::Tabs, ["doc_id", "url"])?;
        while rows.advance()? {
            let id = rows.number(0)?;
            if self.docs.last().is_some_and(|last| last.id >= id) {
                return Err(rows.refuse(0, "does not ascend; sort the rows by doc_id"));
            }
            self.number.insert(id, self.docs.len() as u32);
            self.docs.push(Doc { id, url: rows.text(1)?.into(), born: None });
        }
        Ok(())
    }

    /// The document of a row; marks it as alive.
    fn doc<const N: usize>(
        &mut self,
        rows: &Rows<N>,
        column: usize,
        at: Moment,
    ) -> Result<u32, ImportError> {
        let doc = self.number.get(&rows.number(column)?).copied();
        let doc = doc.ok_or_else(|| rows.refuse(column, "is not a doc_id of docs.tsv"))?;
        let born = &mut self.docs[doc as usize].born;
        *born = Some(born.map_or(at, |born| born.min(at)));
        Ok(doc)
    }

    fn read_events(&mut self, file: &Path) -> Result<(), ImportError> {
        let mut rows = Rows::open(file, Style::Tabs, ["ts", "stream", "doc_id", "kind"])?;
        while rows.advance()? {
            let at = rows.seconds(0)?;
            let doc = self.doc(&rows, 2, at)?;
            self.events += 1;
            match (rows.text(1)?, rows.text(3)?) {
                ("S", "change") => self.raw_changes.push((doc, at)),
                ("V", "change") => self.text_changes.push((doc, at)),
                ("S" | "V", _) => self.other += 1,
                _ => return Err(rows.refuse(1, "is not a stream; streams are S and V")),
            }
        }
        for rows in [&mut self.raw_changes, &mut self.text_changes] {
            rows.sort_unstable();
            rows.dedup();
        }
        Ok(())
    }

    /// From the first text version whose fragments are known to the last row of all.
    fn span(&mut self, fragments: &Path) -> Result<(Moment, Moment), ImportError> {
        let mut rows = Rows::open(fragments, Style::Tabs, ["ts", "doc_id"])?;
        let (mut first, mut last): (Option<Moment>, Option<Moment>) = (None, None);
        while rows.advance()? {
            let at = rows.seconds(0)?;
            self.doc(&rows, 1, at)?;
            first = Some(first.map_or(at, |first| first.min(at)));
            last = last.max(Some(at));
        }
        let events = self.raw_changes.iter().chain(&self.text_changes).map(|&(_, at)| at);
        let last = events.max().max(last);
        first.zip(last).ok_or_else(|| ImportError::useless(fragments, "no text versions"))
    }

    /// Page number of each document in the trace, if it is there.
    fn fill_pages(&self, draft: &mut Draft, window: Window) -> Vec<Option<u32>> {
        let mut pages = Pages::default();
        let mut addresses = Addresses::default();
        let mut numbers = Vec::with_capacity(self.docs.len());
        for doc in &self.docs {
            let Some(born) = doc.born.filter(|&born| born < window.end) else {
                numbers.push(None);
                continue;
            };
            numbers.push(Some(pages.len() as u32));
            let page = pages.push(doc.id, &addresses.give(&doc.url, "terms", doc.id));
            (page.born, page.is_seed) = (window.at(born), true);
        }
        draft.fact("documents read", self.docs.len());
        draft.fact("documents dropped: not alive in the window", self.docs.len() - pages.len());
        draft.fact("documents whose URL is invented", addresses.made_up);
        draft.fact("documents whose URL is marked: another has the same", addresses.shared);
        pages.into_trace(&mut draft.trace);
        numbers
    }

    fn fill_events(&self, draft: &mut Draft, numbers: &[Option<u32>], window: Window) {
        let inside = |&(doc, at): &(u32, Moment)| {
            let page = numbers[doc as usize].filter(|_| window.sees(at));
            page.map(|page| (page, window.at(at)))
        };
        let changes = self.text_changes.iter().filter_map(inside);
        draft.trace.changes = Some(changes.map(|(page, at)| Change { page, at }).collect());
        let rows: Vec<TraceSignal> = self
            .raw_changes
            .iter()
            .filter_map(inside)
            .map(|(page, at)| TraceSignal { page, at, kind: 0 })
            .collect();
        draft.fact("events read", self.events);
        draft.fact("events dropped: first, technical or removal", self.other);
        draft.fact("raw changes outside the window", self.raw_changes.len() - rows.len());
        if let Some(first) = self.raw_changes.iter().map(|&(_, at)| at).min() {
            draft.note(format!("Raw changes were recorded from {first} on."));
        }
        draft.trace.signals = Some(Signals { kinds: vec![RAW_CHANGE.into()], rows });
    }

    fn fill_versions(
        &self,
        draft: &mut Draft,
        file: &Path,
        numbers: &[Option<u32>],
        window: Window,
    ) -> Result<(), ImportError> {
        let mut contents: Vec<Contents> = Vec::new();
        contents.resize_with(self.docs.len(), Contents::default);
        let mut rows = Rows::open(file, Style::Tabs, ["ts", "doc_id", "added", "removed"])?;
        let mut read: u64 = 0;
        while rows.advance()? {
            read += 1;
            let doc = self.number.get(&rows.number(1)?);
            let doc = *doc.ok_or_else(|| rows.refuse(1, "is not a doc_id of docs.tsv"))?;
            contents[doc as usize].update(&rows)?;
        }
        let mut versions = Versions::default();
        for (number, contents) in numbers.iter().zip(&mut contents) {
            contents.close();
            if let Some(page) = number {
                contents.write(*page, &mut versions, window);
            }
        }
        let late: u64 = contents.iter().map(|contents| contents.late).sum();
        let states: usize = contents.iter().map(|contents| contents.versions.len()).sum();
        draft.fact("text versions read", read);
        draft.fact("text versions earlier than the previous one", late);
        draft.fact(
            "text versions dropped: no fragment changed, or at one time",
            read - states as u64,
        );
        draft.fact("text versions merged or dropped by the window", states - versions.rows.len());
        draft.trace.versions = Some(versions);
        Ok(())
    }
}

/// The contents of one document over time.
#[derive(Default)]
struct Contents {
    /// Time, number of fragments added, number removed.
    versions: Vec<(Moment, u32, u32)>,
    /// Fragments of all versions in order: added, then removed.
    fragments: Vec<u64>,
    held: HashSet<u64>,
    /// The current time, and for every fragment touched at it whether the document had it before.
    now: Option<Moment>,
    touched: Vec<(u64, bool)>,
    late: u64,
}

impl Contents {
    fn update(&mut self, rows: &Rows<4>) -> Result<(), ImportError> {
        let at = rows.seconds(0)?;
        if self.now.is_none_or(|now| now < at) {
            self.close();
            self.now = Some(at);
        }
        self.late += u64::from(self.now.is_some_and(|now| at < now));
        for fragment in split(rows, 3) {
            let fragment = fragment?;
            if !self.held.remove(&fragment) {
                return Err(rows.refuse(3, "names a fragment that the document does not hold"));
            }
            self.touched.push((fragment, true));
        }
        for fragment in split(rows, 2) {
            let fragment = fragment?;
            if !self.held.insert(fragment) {
                return Err(rows.refuse(2, "names a fragment that the document already holds"));
            }
            self.touched.push((fragment, false));
        }
        Ok(())
    }

    /// Makes a version of the fragments touched at the current time.
    fn close(&mut self) {
        let Some(at) = self.now else { return };
        // The first touch of a fragment tells the state before.
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_by_key(|touch| touch.0);
        touched.dedup_by_key(|touch| touch.0);
        let start = self.fragments.len();
        let added = touched.iter().filter(|(f, before)| !before && self.held.contains(f));
        self.fragments.extend(added.map(|touch| touch.0));
        let added = self.fragments.len() - start;
        let removed = touched.iter().filter(|(f, before)| *before && !self.held.contains(f));
        self.fragments.extend(removed.map(|touch| touch.0));
        let removed = self.fragments.len() - start - added;
        if added + removed > 0 {
            self.versions.push((at, added as u32, removed as u32));
        }
    }

    /// Appends the versions of the window; earlier ones are merged into the first.
    fn write(&self, page: u32, versions: &mut Versions, window: Window) {
        let mut start = HashSet::new();
        let (mut opened, mut offset) = (false, 0);
        for &(at, added, removed) in &self.versions {
            let (added, rest) = self.fragments[offset..].split_at(added as usize);
            let removed = &rest[..removed as usize];
            offset += added.len() + removed.len();
            if at <= window.start {
                removed.iter().for_each(|fragment| {
                    start.remove(fragment);
                });
                start.extend(added.iter().copied());
            } else if at < window.end {
                if !opened {
                    push_start(&start, page, versions);
                }
                opened = true;
                versions.push(page, window.at(at), added, removed);
            }
        }
        if !opened {
            push_start(&start, page, versions);
        }
    }
}

fn push_start(start: &HashSet<u64>, page: u32, versions: &mut Versions) {
    let mut held: Vec<u64> = start.iter().copied().collect();
    held.sort_unstable();
    if !held.is_empty() {
        versions.push(page, tidewatch_core::Time::ZERO, &held, &[]);
    }
}

/// The hash of a fragment. Ids ascend by first appearance, so a sketch of the smallest ids would hold
/// the oldest fragments; hashes are independent of age.
fn hash(id: u64) -> u64 {
    Draws::of(0, "import.fragment", id).word()
}

/// The fragments of a cell.
fn split(rows: &Rows<4>, column: usize) -> impl Iterator<Item = Result<u64, ImportError>> {
    let text = rows.text(column);
    let (text, wrong) = match text {
        Ok(text) => (text, None),
        Err(wrong) => ("", Some(Err(wrong))),
    };
    let ids = text.split(',').filter(|id| !id.is_empty());
    let parse = move |id: &str| {
        let id = id.parse();
        id.map(hash).map_err(|_| rows.refuse(column, "is not a list of fragment ids by commas"))
    };
    wrong.into_iter().chain(ids.map(parse))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, fact, run};
    use super::*;

    fn files(fragments: &str) -> Files {
        let docs =
            "doc_id|url\n1|https://a.example/terms#use\n2|https://a.example/terms\n3|\n4|x\n";
        let events = "ts|stream|doc_id|kind\n100|V|1|first\n150|S|1|first\n160|S|1|change\n\
                      160|S|1|change\n170|S|2|change\n200|V|1|change\n300|V|1|technical\n400|V|2|change\n";
        let fragments = format!("ts|doc_id|added|removed\n{fragments}");
        Files::tabs(&[("docs.tsv", docs), ("events.tsv", events), ("fragments.tsv", &fragments)])
    }

    const FRAGMENTS: &str = "100|1|1,2,3|\n120|2|7|\n200|1|4|1\n200|1|1,5|4\n190|1|6|5\n300|1||\n\
                             250|3|9|\n400|2||7\n";

    /// The ids that were hashed to these.
    fn ids(hashes: &[u64]) -> Vec<u64> {
        (0..10).filter(|&id| hashes.contains(&hash(id))).collect()
    }

    fn rows(imported: &Imported) -> Vec<(u32, f64, Vec<u64>, Vec<u64>)> {
        let versions = imported.trace.versions.as_ref().unwrap();
        let row = |v: &tidewatch_trace::Version| {
            (v.page, v.at.seconds(), ids(versions.added(v)), ids(versions.removed(v)))
        };
        versions.rows.iter().map(row).collect()
    }

    #[test]
    fn versions_are_net_differences_in_the_order_of_recording() {
        let files = files(FRAGMENTS);
        let imported = run(NAME, &files.args()).unwrap();
        // At 200 fragment 4 comes and goes, 1 goes and comes back, 5 becomes 6 by a late clock.
        assert_eq!(
            rows(&imported),
            [
                (0, 0.0, vec![1, 2, 3], vec![]),
                (0, 100.0, vec![6], vec![]),
                (1, 20.0, vec![7], vec![]),
                (2, 150.0, vec![9], vec![]),
            ]
        );
        let urls: Vec<&str> = imported.trace.pages.iter().map(|page| &*page.url).collect();
        let address = "https://a.example/terms";
        assert_eq!(urls, [address, &format!("{address}?page=2"), "https://terms.invalid/3"]);
        let changes: Vec<_> =
            imported.trace.changes.iter().flatten().map(|c| (c.page, c.at.seconds())).collect();
        assert_eq!(changes, [(0, 100.0)]);
        let signals = imported.trace.signals.as_ref().unwrap();
        assert_eq!(signals.kinds, [RAW_CHANGE.into()]);
        let signals: Vec<_> = signals.rows.iter().map(|s| (s.page, s.at.seconds())).collect();
        assert_eq!(signals, [(0, 60.0), (1, 70.0)]);
        assert_eq!(fact(&imported, "text versions earlier than the previous one"), 1);
    }

    /// About half of all neighbouring ids are in reverse order as hashes.
    #[test]
    fn hashes_are_independent_of_age() {
        let falls = (0..1000).filter(|&id| hash(id) > hash(id + 1)).count();
        assert!((450..550).contains(&falls), "{falls}");
    }

    #[test]
    fn a_window_begins_with_the_current_version() {
        let files = files(FRAGMENTS);
        let args = ImportArgs { from: Moment::from_unix_seconds(220), ..files.args() };
        let imported = run(NAME, &args).unwrap();
        assert_eq!(
            rows(&imported),
            [
                (0, 0.0, vec![1, 2, 3, 6], vec![]),
                (1, 0.0, vec![7], vec![]),
                (2, 30.0, vec![9], vec![]),
            ]
        );
    }

    #[test]
    fn impossible_contents_are_refused() {
        let wrong = |fragments: &str| run(NAME, &files(fragments).args()).unwrap_err().to_string();
        let text = wrong("100|1|1|\n200|1|2|3\n");
        let problem = "'3' names a fragment that the document does not hold";
        assert!(text.ends_with(&format!("fragments.tsv, line 3, column 'removed': {problem}")));
        assert!(wrong("100|1|1,1|\n").contains("already holds"));
        assert!(wrong("100|1|1,b|\n").contains("column 'added': '1,b' is not a list"));
        assert!(wrong("100|9|1|\n").contains("'9' is not a doc_id of docs.tsv"));
    }
}
