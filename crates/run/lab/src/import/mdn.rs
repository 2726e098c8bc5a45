//! `mdn-site`: all changes of a documentation site, from its repository.
//!
//! Reads a directory of `pages.tsv` (page_id, alive_at_head, slug_or_path),
//! `changes.tsv` (ts, page_id, pages_in_commit) and `links_head.tsv` (src, dst).
//!
//! Rules, beyond those common to all importers:
//!
//! - **Lives.** A page is born with its first commit. One that is not alive at
//!   the head of the repository died with its last commit, which removed or
//!   renamed it (a renamed page is a new one). Pages that die before the window
//!   or are born after it are dropped.
//! - **Changes** are commits between birth and death. Commits that touch more than [`MASS`] pages are
//!   reformatting and do not count as changes, unless `--keep-mass-commits` is given; their births and
//!   deaths count. Commits in the same second are one change.
//! - **Links** are known for the head only. They are assumed to exist from the birth of the younger
//!   page, which is an approximation if the window ends long before the head. Pages without inlinks
//!   are seeds.
//! - **Weights** are PageRank over the pages of the trace, scaled to mean 1.

use std::collections::HashMap;
use std::path::Path;

use tidewatch_trace::{Change, TraceLink};

use super::clock::{Moment, Window};
use super::pages::{Addresses, Pages};
use super::rows::{Rows, Style};
use super::{Draft, ImportArgs, ImportError, Imported, Importer, Opt, input, rank};

const NAME: &str = "mdn-site";

pub(super) const IMPORTER: Importer = Importer {
    name: NAME,
    about: "a documentation site's exact change times and links, weights by PageRank",
    takes: &[Opt::From, Opt::Length, Opt::KeepMassCommits],
    import,
};

/// Commits of more pages than this are mass edits, as the description of the data says.
const MASS: u64 = 50;

const SITE: &str = "https://developer.mozilla.org/en-US/docs/";

/// A page's record.
struct Record {
    id: u64,
    alive: bool,
    slug: Box<str>,
    commits: Option<(Moment, Moment)>,
}

impl Record {
    fn died(&self) -> Option<Moment> {
        self.commits.filter(|_| !self.alive).map(|(_, last)| last)
    }
}

#[derive(Default)]
struct Site {
    records: Vec<Record>,
    number: HashMap<u64, u32>,
    changes: Vec<(u32, Moment)>,
    read: u64,
    mass: u64,
}

fn import(args: &ImportArgs) -> Result<Imported, ImportError> {
    let mut site = Site::default();
    site.read_pages(&input::find(&args.path, "pages.tsv", NAME)?)?;
    let changes = input::find(&args.path, "changes.tsv", NAME)?;
    let (first, last) = site
        .read_changes(&changes, args.keep_mass_commits)?
        .ok_or_else(|| ImportError::useless(&changes, "no changes"))?;
    let window = Window::choose(args, first, last)?;
    let mut draft = Draft::default();
    draft.cover(NAME, window);
    draft
        .note("Commits to a documentation site; links as of the last commit, weights by PageRank.");
    let numbers = site.fill_pages(&mut draft, window);
    site.fill_links(&mut draft, &input::find(&args.path, "links_head.tsv", NAME)?, &numbers)?;
    site.fill_changes(&mut draft, &numbers, window);
    draft.finish()
}

impl Site {
    fn read_pages(&mut self, file: &Path) -> Result<(), ImportError> {
        let mut rows = Rows::open(file, Style::Tabs, ["page_id", "alive_at_head", "slug_or_path"])?;
        while rows.advance()? {
            let id = rows.number(0)?;
            if self.records.last().is_some_and(|last| last.id >= id) {
                return Err(rows.refuse(0, "does not ascend; sort the rows by page_id"));
            }
            let alive = rows.number::<u8>(1)? == 1;
            self.number.insert(id, self.records.len() as u32);
            self.records.push(Record { id, alive, slug: rows.text(2)?.into(), commits: None });
        }
        Ok(())
    }

    fn number<const N: usize>(&self, rows: &Rows<N>, column: usize) -> Result<u32, ImportError> {
        let number = self.number.get(&rows.number(column)?).copied();
        number.ok_or_else(|| rows.refuse(column, "is not a page_id of pages.tsv"))
    }

    /// Returns the times of the first and last commit.
    fn read_changes(
        &mut self,
        file: &Path,
        keep_mass: bool,
    ) -> Result<Option<(Moment, Moment)>, ImportError> {
        let mut rows = Rows::open(file, Style::Tabs, ["ts", "page_id", "pages_in_commit"])?;
        let mut span: Option<(Moment, Moment)> = None;
        let stretch = |span: Option<(Moment, Moment)>, at: Moment| {
            let (first, last) = span.unwrap_or((at, at));
            Some((first.min(at), last.max(at)))
        };
        while rows.advance()? {
            let (at, page) = (rows.seconds(0)?, self.number(&rows, 1)?);
            span = stretch(span, at);
            let commits = &mut self.records[page as usize].commits;
            *commits = stretch(*commits, at);
            self.read += 1;
            if keep_mass || rows.number::<u64>(2)? <= MASS {
                self.changes.push((page, at));
            } else {
                self.mass += 1;
            }
        }
        Ok(span)
    }

    /// The number in the trace of each page, if it is there.
    fn fill_pages(&self, draft: &mut Draft, window: Window) -> Vec<Option<u32>> {
        let mut pages = Pages::default();
        let mut addresses = Addresses::default();
        let mut numbers = Vec::with_capacity(self.records.len());
        for record in &self.records {
            let lives = |commits: &(Moment, Moment)| {
                commits.0 < window.end && record.died().is_none_or(|died| died > window.start)
            };
            let Some((born, _)) = record.commits.filter(lives) else {
                numbers.push(None);
                continue;
            };
            numbers.push(Some(pages.len() as u32));
            let url = addresses.give(&format!("{SITE}{}", record.slug), "docs", record.id);
            let page = pages.push(record.id, &url);
            let died = record.died().filter(|&died| died < window.end);
            (page.born, page.died) = (window.at(born), died.map(|died| window.at(died)));
            page.is_seed = true;
        }
        draft.fact("pages read", self.records.len());
        draft.fact("pages dropped: not alive in the window", self.records.len() - pages.len());
        draft.fact("pages whose URL is marked: another has the same", addresses.shared);
        pages.into_trace(&mut draft.trace);
        numbers
    }

    fn fill_links(
        &self,
        draft: &mut Draft,
        file: &Path,
        numbers: &[Option<u32>],
    ) -> Result<(), ImportError> {
        let mut rows = Rows::open(file, Style::Tabs, ["src", "dst"])?;
        let mut links: Vec<(u32, u32)> = Vec::new();
        let mut read: u64 = 0;
        while rows.advance()? {
            read += 1;
            let (from, to) = (self.number(&rows, 0)?, self.number(&rows, 1)?);
            let ends = numbers[from as usize].zip(numbers[to as usize]);
            links.extend(ends);
        }
        links.sort_unstable();
        links.dedup();
        draft.fact("links read", read);
        draft.fact(
            "links dropped: duplicate, or an end not in the trace",
            read - links.len() as u64,
        );
        let trace = &mut draft.trace;
        let ranks = rank::pagerank(trace.pages.len(), &links);
        trace.pages.iter_mut().zip(ranks).for_each(|(page, rank)| page.weight = rank);
        for &(source, page) in &links {
            trace.pages[page as usize].is_seed &= source == page;
            let appears = trace.pages[source as usize].born.max(trace.pages[page as usize].born);
            trace.links.push(TraceLink { source, page, appears, disappears: None, position: None });
        }
        Ok(())
    }

    fn fill_changes(&self, draft: &mut Draft, numbers: &[Option<u32>], window: Window) {
        let inside = |&(record, at): &(u32, Moment)| {
            let page = numbers[record as usize]?;
            let record = &self.records[record as usize];
            let (born, _) = record.commits?;
            let lives = born < at && record.died().is_none_or(|died| at < died);
            (lives && window.sees(at)).then(|| Change { page, at: window.at(at) })
        };
        let mut changes: Vec<Change> = self.changes.iter().filter_map(inside).collect();
        changes.sort_unstable_by_key(|change| (change.page, change.at));
        changes.dedup();
        let kept = self.changes.len() - changes.len();
        draft.fact("commits of pages read", self.read);
        draft.fact("commits dropped: more than 50 pages at once", self.mass);
        draft.fact("commits dropped: birth, death, same second, or outside the window", kept);
        draft.trace.changes = Some(changes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, fact, run};
    use super::*;

    fn files() -> Files {
        let pages =
            "page_id|alive_at_head|slug_or_path\n0|1|Web/CSS/::before\n1|1|Games\n2|0|old/page\n";
        let changes = "ts|page_id|pages_in_commit\n100|0|900\n100|2|900\n200|0|1\n200|0|1\n250|0|51\n\
                       300|1|2\n300|2|2\n400|1|50\n500|0|1\n";
        let links = "src|dst\n0|1\n1|0\n0|1\n2|0\n";
        Files::tabs(&[("pages.tsv", pages), ("changes.tsv", changes), ("links_head.tsv", links)])
    }

    fn changes(imported: &Imported) -> Vec<(u32, f64)> {
        imported.trace.changes.iter().flatten().map(|c| (c.page, c.at.seconds())).collect()
    }

    #[test]
    fn commits_become_births_changes_and_deaths() {
        let imported = run(NAME, &files().args()).unwrap();
        let page = |p: &tidewatch_trace::TracePage| {
            (p.id, p.born.seconds(), p.died.map(tidewatch_core::Time::seconds))
        };
        let pages: Vec<_> = imported.trace.pages.iter().map(page).collect();
        assert_eq!(pages, [(0, 0.0, None), (1, 200.0, None), (2, 0.0, Some(200.0))]);
        assert_eq!(
            &*imported.trace.pages[0].url,
            "https://developer.mozilla.org/en-US/docs/Web/CSS/::before"
        );
        assert_eq!(changes(&imported), [(0, 100.0), (1, 300.0)]);
        let links: Vec<_> =
            imported.trace.links.iter().map(|l| (l.source, l.page, l.appears.seconds())).collect();
        assert_eq!(links, [(0, 1, 200.0), (1, 0, 200.0), (2, 0, 0.0)]);
        let seeds: Vec<bool> = imported.trace.pages.iter().map(|page| page.is_seed).collect();
        assert_eq!(seeds, [false, false, true]);
        let weight: f64 = imported.trace.pages.iter().map(|page| page.weight).sum();
        assert!((weight - 3.0).abs() < 1e-9);
        assert_eq!(fact(&imported, "commits dropped: more than 50 pages at once"), 3);
    }

    #[test]
    fn mass_commits_and_windows_are_chosen() {
        let files = files();
        let args = ImportArgs { keep_mass_commits: true, ..files.args() };
        assert_eq!(changes(&run(NAME, &args).unwrap()), [(0, 100.0), (0, 150.0), (1, 300.0)]);
        let args = ImportArgs { from: Moment::from_unix_seconds(350), ..files.args() };
        let imported = run(NAME, &args).unwrap();
        assert_eq!(imported.trace.pages.len(), 2);
        assert_eq!(changes(&imported), [(1, 50.0)]);
    }

    #[test]
    fn unknown_pages_are_refused() {
        let files = files();
        std::fs::write(files.file("links_head.tsv"), "src\tdst\n0\t7\n").unwrap();
        let text = run(NAME, &files.args()).unwrap_err().to_string();
        assert!(
            text.ends_with(
                "links_head.tsv, line 2, column 'dst': '7' is not a page_id of pages.tsv"
            )
        );
    }
}
