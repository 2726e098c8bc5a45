//! `visits`: a user's log of visits, each with whether it saw a change.
//!
//! The path is a CSV file with a header: `page` or `url`, `at`, `changed` (1 for
//! yes, 0 for no) and, if known, `last_modified`. Times are dates with offset (RFC 3339) or
//! seconds from any origin. The visits of a page must come in the order of time;
//! pages may be mixed.
//!
//! Rules, beyond those common to all importers:
//!
//! - **Changes.** A visit that saw a change implies at least one change since the previous visit, at an
//!   unknown time. One change is placed in the gap: at `last_modified` if that lies in it, else at the
//!   midpoint or, with `--place uniform`, at random. Several changes in one gap count as one, so rarely
//!   visited pages seem to change less often than they do.
//! - The first visit of a page has nothing to compare with; its change is dropped. A page is born with
//!   its first visit.
//! - Pages are numbered by first mention. A name that is not a URL gets an invented one. All pages are
//!   seeds; there are no links.

use std::collections::HashMap;
use std::path::Path;

use tidewatch_core::Span;
use tidewatch_math::rng::Draws;
use tidewatch_trace::Change;

use super::clock::{Moment, Window};
use super::pages::{Addresses, Pages};
use super::rows::{Rows, Style};
use super::{ChangePlace, Draft, ImportArgs, ImportError, Imported, Importer, Opt};

const NAME: &str = "visits";

pub(super) const IMPORTER: Importer = Importer {
    name: NAME,
    about: "your own log: CSV of page or url, at, changed and, if known, last_modified",
    takes: &[Opt::From, Opt::Length, Opt::Seed, Opt::Place],
    import,
};

fn import(args: &ImportArgs) -> Result<Imported, ImportError> {
    let place = args.place.unwrap_or_default();
    let log = Log::read(&args.path, place, args.seed())?;
    let span = log.first.zip(log.last);
    let (first, last) = span.ok_or_else(|| ImportError::useless(&args.path, "no visits"))?;
    let window = Window::choose(args, first, last)?;
    let mut draft = Draft::default();
    draft.cover(NAME, window);
    draft.note("A log of visits; changes lie somewhere between two visits.");
    log.fill(&mut draft, window);
    draft.finish()
}

/// A page of the log.
struct Visited {
    name: Box<str>,
    first: Moment,
    last: Moment,
}

struct Log {
    place: ChangePlace,
    seed: u64,
    pages: Vec<Visited>,
    number: HashMap<Box<str>, u32>,
    changes: Vec<(u32, Moment)>,
    first: Option<Moment>,
    last: Option<Moment>,
    read: u64,
    first_visits: u64,
    modified: u64,
}

const PAGE: usize = 0;
const AT: usize = 1;
const CHANGED: usize = 2;
const MODIFIED: usize = 3;

impl Log {
    fn read(file: &Path, place: ChangePlace, seed: u64) -> Result<Self, ImportError> {
        let mut log = Log {
            place,
            seed,
            pages: Vec::new(),
            number: HashMap::new(),
            changes: Vec::new(),
            first: None,
            last: None,
            read: 0,
            first_visits: 0,
            modified: 0,
        };
        let names = Rows::<0>::names(file, Style::Commas)?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        let page = if has("url") { "url" } else { "page" };
        if has("last_modified") {
            let columns = [page, "at", "changed", "last_modified"];
            let mut rows = Rows::open(file, Style::Commas, columns)?;
            while rows.advance()? {
                log.add(&rows, true)?;
            }
        } else {
            let mut rows = Rows::open(file, Style::Commas, [page, "at", "changed"])?;
            while rows.advance()? {
                log.add(&rows, false)?;
            }
        }
        Ok(log)
    }

    fn add<const N: usize>(&mut self, rows: &Rows<N>, dated: bool) -> Result<(), ImportError> {
        let at = moment(rows, AT)?;
        let changed = match rows.text(CHANGED)? {
            "1" | "true" => true,
            "0" | "false" => false,
            _ => return Err(rows.refuse(CHANGED, "is neither yes nor no; write 1 or 0")),
        };
        self.read += 1;
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = self.last.max(Some(at));
        let Some((page, before)) = self.visit(rows, at)? else {
            self.first_visits += u64::from(changed);
            return Ok(());
        };
        if changed {
            let text = if dated { rows.text(MODIFIED)? } else { "" };
            let modified = if text.is_empty() { None } else { Some(moment(rows, MODIFIED)?) };
            let modified = modified.filter(|&modified| before < modified && modified <= at);
            self.modified += u64::from(modified.is_some());
            let at = modified.unwrap_or_else(|| self.place_between(page, before, at));
            self.changes.push((page, at));
        }
        Ok(())
    }

    /// Adds a visit; returns the page and its previous visit, if any.
    fn visit<const N: usize>(
        &mut self,
        rows: &Rows<N>,
        at: Moment,
    ) -> Result<Option<(u32, Moment)>, ImportError> {
        let name = rows.text(PAGE)?;
        if name.is_empty() {
            return Err(rows.refuse(PAGE, "names no page"));
        }
        let Some(&number) = self.number.get(name) else {
            self.number.insert(name.into(), self.pages.len() as u32);
            self.pages.push(Visited { name: name.into(), first: at, last: at });
            return Ok(None);
        };
        let before = std::mem::replace(&mut self.pages[number as usize].last, at);
        if at <= before {
            return Err(rows.refuse(AT, "is not after the page's visit before; sort by time"));
        }
        Ok(Some((number, before)))
    }

    /// Draws are keyed by page and gap, so they do not depend on other pages.
    fn place_between(&self, page: u32, before: Moment, at: Moment) -> Moment {
        match self.place {
            ChangePlace::Midpoint => before.middle(at),
            ChangePlace::Uniform => {
                let key = tidewatch_core::PageKey::of(&self.pages[page as usize].name);
                let gap = at.since(before);
                let since_first = before.since(self.pages[page as usize].first).as_micros();
                let share = Draws::of(self.seed ^ since_first, "import.visits", key.0).uniform();
                let later = Span::from_micros((gap.as_micros() as f64 * share) as u64);
                // After the previous visit, which saw the page before the change.
                before.plus(later.max(Span::from_micros(1))).min(at)
            }
        }
    }

    fn fill(&self, draft: &mut Draft, window: Window) {
        let mut pages = Pages::default();
        let mut addresses = Addresses::default();
        let mut numbers = Vec::with_capacity(self.pages.len());
        for (visited, id) in self.pages.iter().zip(0..) {
            let inside = visited.first < window.end;
            numbers.push(inside.then_some(pages.len() as u32));
            if inside {
                let page = pages.push(id, &addresses.give(&visited.name, "log", id));
                (page.born, page.is_seed) = (window.at(visited.first), true);
            }
        }
        draft.fact("visits read", self.read);
        draft.fact("changes dropped: first visit of a page", self.first_visits);
        draft.fact("changes placed by last_modified", self.modified);
        draft.fact("pages dropped: first visited after the window", self.pages.len() - pages.len());
        draft.fact("pages whose URL is invented", addresses.made_up);
        draft.fact("pages whose URL is marked: another has the same", addresses.shared);
        pages.into_trace(&mut draft.trace);
        let inside = |&(page, at): &(u32, Moment)| {
            let page = numbers[page as usize].filter(|_| window.sees(at));
            page.map(|page| Change { page, at: window.at(at) })
        };
        draft.trace.changes = Some(self.changes.iter().filter_map(inside).collect());
    }
}

fn moment<const N: usize>(rows: &Rows<N>, column: usize) -> Result<Moment, ImportError> {
    let problem = "is not a time; write it like 2022-03-01T06:00:00Z or in seconds";
    rows.text(column)?.parse().map_err(|_| rows.refuse(column, problem))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, fact, run};
    use super::*;
    use tidewatch_core::Time;

    fn import(log: &str, place: Option<ChangePlace>) -> Result<Imported, ImportError> {
        let files = Files::plain(&[("log.csv", log)]);
        run(NAME, &ImportArgs { path: files.file("log.csv"), place, ..ImportArgs::default() })
    }

    fn changes(imported: &Imported) -> Vec<(u32, f64)> {
        imported.trace.changes.iter().flatten().map(|c| (c.page, c.at.seconds())).collect()
    }

    const LOG: &str = "url,at,changed\nhttps://a.example/,100,1\nshop,110,0\n\
                       https://a.example/,150,1\nshop,210,0\nhttps://a.example/,200.5,0\nshop,300,1\n";

    #[test]
    fn changes_are_placed_at_the_midpoint() {
        let imported = import(LOG, None).unwrap();
        assert_eq!(changes(&imported), [(0, 25.0), (1, 155.0)]);
        assert_eq!(&*imported.trace.pages[1].url, "https://log.invalid/1");
        assert_eq!(imported.trace.pages[1].born, Time::ZERO + Span::SECOND.times(10));
        assert_eq!(fact(&imported, "changes dropped: first visit of a page"), 1);
    }

    #[test]
    fn changes_are_placed_at_random_by_seed() {
        let once = changes(&import(LOG, Some(ChangePlace::Uniform)).unwrap());
        assert_eq!(once, changes(&import(LOG, Some(ChangePlace::Uniform)).unwrap()));
        assert!(once[0].1 > 0.0 && once[0].1 <= 50.0 && once[1].1 > 110.0 && once[1].1 <= 200.0);
        assert_ne!(once, [(0, 25.0), (1, 155.0)]);
    }

    #[test]
    fn changes_are_placed_at_last_modified() {
        let log = "page,at,changed,last_modified\na,2022-03-01T00:00:00Z,0,\n\
                   a,2022-03-01T00:01:00Z,1,2022-03-01T00:00:12Z\n\
                   a,2022-03-01T00:02:00Z,1,2021-01-01T00:00:00Z\n\
                   a,2022-03-01T00:03:00Z,0,\n";
        let imported = import(log, None).unwrap();
        assert_eq!(changes(&imported), [(0, 12.0), (0, 90.0)]);
        assert_eq!(fact(&imported, "changes placed by last_modified"), 1);
    }

    #[test]
    fn errors_name_row_and_column() {
        let wrong = |rows: &str| import(&format!("page,at,changed\n{rows}"), None).unwrap_err();
        let wrong = |rows: &str| wrong(rows).to_string();
        assert!(wrong("a,5,0\na,5,0\n").contains("log.csv, line 3, column 'at': '5' is not after"));
        assert!(wrong("a,5,0\na,9,x\n").contains("line 3, column 'changed': 'x' is neither"));
        assert!(wrong("a,soon,0\n").contains("'soon' is not a time"));
        assert!(wrong(",1,0\n").contains("column 'page': '' names no page"));
        let text = import("when,page\n", None).unwrap_err().to_string();
        assert!(
            text.ends_with("line 1: the header has no column 'at'; it needs page, at, changed")
        );
    }
}
