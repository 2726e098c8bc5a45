//! Turns the log into interest for the crawl, popularity for ranking, and unserved queries.
//!
//! The crawl commits its read position ([`NewInterest::end`]) together with the rows, so nothing
//! counts twice and nothing is lost. At a start the whole kept log is read again, to restore the
//! guard and the popularity.
//!
//! Each partition reads the whole log and keeps what concerns its own pages. So each has its own
//! position, and the guards, which see every entry in the same order, agree.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use tidewatch_core::{InterestKind, PageId};

use super::asked::Asking;
use super::guard::{Guard, HALF_LIFE_S};
use super::log::{Entry, Mark, Rows};
use crate::{PageRef, Popularity, SearchError};

/// Lines read at once.
const LINES: usize = 1 << 14;

/// Counted views or clicks of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterestRow {
    /// The page.
    pub page: PageId,
    /// When, microseconds of Unix time.
    pub unix_micros: i64,
    /// How often.
    pub count: f64,
    /// Shown or clicked.
    pub kind: InterestKind,
}

/// A query and how badly it is served.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// The words.
    pub words: String,
    /// How often.
    pub count: f64,
    /// From 0, served well, to 1, not at all.
    pub need: f64,
}

/// New entries of the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewInterest {
    /// Views and clicks in the order of the log.
    pub rows: Vec<InterestRow>,
    /// The position after the last entry.
    pub end: Mark,
    /// Unreadable lines, and imported lines about pages that the partition does not know.
    pub bad: u64,
    /// Clicks discarded by the cap on one client's share.
    pub withheld: f64,
}

impl NewInterest {
    /// Merges the views of a page into one row: every search has ten, and exact times do not
    /// matter.
    fn join_views(&mut self) {
        let mut first: FxHashMap<PageId, usize> = FxHashMap::default();
        let mut rows: Vec<InterestRow> = Vec::with_capacity(self.rows.len());
        for row in self.rows.drain(..) {
            if row.kind == InterestKind::View
                && let Some(&at) = first.get(&row.page)
            {
                rows[at].count += row.count;
                continue;
            }
            if row.kind == InterestKind::View {
                first.insert(row.page, rows.len());
            }
            rows.push(row);
        }
        self.rows = rows;
    }
}

/// Where the entries of a log come from.
pub trait Entries: Send {
    /// At most `most` entries after `from` and up to `to`, in order; fewer if no more are there yet. The
    /// answer ends at `to` if nothing before it is left.
    fn next(&mut self, from: Mark, to: Mark, most: usize) -> Result<Rows, SearchError>;
}

/// The files of a log.
struct Files(PathBuf);

impl Entries for Files {
    fn next(&mut self, from: Mark, to: Mark, most: usize) -> Result<Rows, SearchError> {
        Rows::read_to(&self.0, from, to, most)
    }
}

/// Reads a log continuously for one partition.
pub struct Feedback {
    partition: u32,
    entries: Box<dyn Entries>,
    mark: Mark,
    /// Entries before this are already with the partition.
    known: Mark,
    clicks: Guard,
    views: Guard,
    popularity: Popularity,
    /// When popularity was last faded, seconds of Unix time.
    faded_s: f64,
    asking: Asking,
}

/// Finds the page of a URL, if the partition has it.
pub type Known<'k> = &'k mut dyn FnMut(&str) -> Option<PageId>;

impl Feedback {
    /// Opens the log in `dir` for a partition; entries before `mark` are already with it. `share` caps
    /// one client's share of all clicks.
    pub fn open(
        dir: &Path,
        partition: u32,
        mark: Mark,
        share: f64,
        known: Known<'_>,
    ) -> Result<Feedback, SearchError> {
        let files = Box::new(Files(dir.to_owned()));
        let mut feedback = Feedback::over(files, partition, mark, share);
        loop {
            let rows = feedback.entries.next(feedback.mark, mark, LINES)?;
            let is_over = !rows.has_more;
            feedback.hear(rows, known);
            if is_over {
                break;
            }
        }
        feedback.mark = mark;
        Ok(feedback)
    }

    /// The same for a log that lies elsewhere, so that its entries come in time.
    pub fn over(entries: Box<dyn Entries>, partition: u32, mark: Mark, share: f64) -> Feedback {
        Feedback {
            partition,
            entries,
            mark: Mark::default(),
            known: mark,
            clicks: Guard::new(share),
            views: Guard::new(share),
            popularity: Popularity::default(),
            faded_s: 0.0,
            asking: Asking::default(),
        }
    }

    /// Reads the new entries. Those that are already with the partition only restore the guard and the
    /// popularity.
    pub fn read(&mut self, known: Known<'_>) -> Result<NewInterest, SearchError> {
        if self.is_even() {
            let rows = self.entries.next(self.mark, Mark::END, LINES)?;
            return Ok(self.hear(rows, known));
        }
        let rows = self.entries.next(self.mark, self.known, LINES)?;
        let heard = self.hear(rows, known);
        Ok(NewInterest { end: self.known, bad: heard.bad, ..NewInterest::default() })
    }

    /// Whether everything that is already with the partition was read.
    pub fn is_even(&self) -> bool {
        self.mark >= self.known
    }

    /// Recent clicks on the partition's pages, for ranking.
    pub fn popularity(&self) -> &Popularity {
        &self.popularity
    }

    /// The `most` queries with the most unmet need.
    pub fn needs(&self, most: usize) -> Vec<Need> {
        self.asking.needs(most)
    }

    fn hear(&mut self, rows: Rows, known: Known<'_>) -> NewInterest {
        let mut heard = NewInterest { end: rows.end, bad: rows.bad, ..NewInterest::default() };
        let mut withheld = FxHashMap::default();
        for entry in rows.entries {
            self.take(entry, known, &mut heard, &mut withheld);
        }
        heard.withheld = withheld.values().sum();
        heard.join_views();
        self.mark = heard.end;
        heard
    }

    fn take(
        &mut self,
        entry: Entry,
        known: Known<'_>,
        heard: &mut NewInterest,
        withheld: &mut FxHashMap<u64, f64>,
    ) {
        match entry {
            Entry::Shown { at_ms, id, client, query, pages, .. } => {
                self.asking.asked(id, client, &query, pages.is_empty(), at_ms);
                for page in pages {
                    let at_s = at_ms as f64 / 1_000.0;
                    let count = self.views.take(Some(client), 1.0, at_s);
                    self.push(heard, page, at_ms, count, InterestKind::View);
                }
            }
            Entry::Clicked { at_ms, id, client, page, .. } => {
                self.asking.clicked(id);
                let at_s = at_ms as f64 / 1_000.0;
                let count = self.clicks.take(Some(client), 1.0, at_s);
                *withheld.entry(client).or_default() += 1.0 - count;
                self.push(heard, page, at_ms, count, InterestKind::Click);
            }
            Entry::Told { at_ms, url, is_click, count, .. } => {
                let at_s = at_ms as f64 / 1_000.0;
                let guard = if is_click { &mut self.clicks } else { &mut self.views };
                let count = guard.take(None, count, at_s);
                let kind = if is_click { InterestKind::Click } else { InterestKind::View };
                match known(&url) {
                    Some(page) => {
                        let page = PageRef::new(self.partition, page);
                        self.push(heard, page, at_ms, count, kind);
                    }
                    None => heard.bad += 1,
                }
            }
        }
    }

    /// Takes in counted interest in a page, if it is the partition's.
    fn push(
        &mut self,
        heard: &mut NewInterest,
        page: PageRef,
        at_ms: i64,
        count: f64,
        kind: InterestKind,
    ) {
        if page.partition() != self.partition || count <= 0.0 {
            return;
        }
        let page = page.page();
        if kind == InterestKind::Click {
            self.fade(at_ms as f64 / 1_000.0);
            self.popularity.add(page, count);
        }
        let unix_micros = at_ms.saturating_mul(1_000);
        heard.rows.push(InterestRow { page, unix_micros, count, kind });
    }

    fn fade(&mut self, at_s: f64) {
        /// Popularity fades at this interval, not with every click.
        const STEP_S: f64 = 3_600.0;
        if at_s - self.faded_s > STEP_S {
            self.popularity.fade((-(at_s - self.faded_s) / HALF_LIFE_S).exp2() as f32);
            self.faded_s = at_s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clicks::{ClickSettings, Desk};

    const NOW_MS: i64 = 1_800_000_000_000;
    const SHARE: f64 = 0.05;

    fn page(number: u32) -> PageRef {
        PageId(number).into()
    }

    fn nobody(_: &str) -> Option<PageId> {
        None
    }

    fn desk(dir: &Path) -> Desk {
        Desk::open(dir, ClickSettings::default(), NOW_MS / 1_000).unwrap()
    }

    /// Entries that come one after the other.
    struct Late(Vec<Entry>);

    impl Entries for Late {
        fn next(&mut self, from: Mark, to: Mark, _: usize) -> Result<Rows, SearchError> {
            let offset = from.offset + 1;
            let entry = self.0.get(from.offset as usize).filter(|_| Mark { day: 0, offset } <= to);
            let end = if entry.is_some() { Mark { day: 0, offset } } else { from };
            Ok(Rows { entries: entry.cloned().into_iter().collect(), end, ..Rows::default() })
        }
    }

    #[test]
    fn entries_that_are_known_already_come_late_and_only_rank() {
        let click = |id, page| Entry::Clicked { at_ms: NOW_MS, id, client: id, position: 1, page };
        let late = Late(vec![click(1, page(1)), click(2, page(2)), click(3, page(2))]);
        let known = Mark { day: 0, offset: 2 };
        let mut feedback = Feedback::over(Box::new(late), 0, known, 1.0);
        for _ in 0..2 {
            let heard = feedback.read(&mut nobody).unwrap();
            assert!(heard.rows.is_empty() && heard.end == known, "{heard:?}");
        }
        assert!(feedback.is_even());
        assert!(feedback.popularity().of(PageId(1)) > 0.0);
        let heard = feedback.read(&mut nobody).unwrap();
        assert_eq!((heard.rows.len(), heard.rows[0].page), (1, PageId(2)));
        assert_eq!(heard.end, Mark { day: 0, offset: 3 });
        assert!(feedback.read(&mut nobody).unwrap().rows.is_empty());
    }

    #[test]
    fn views_and_clicks_are_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let desk = desk(dir.path());
        for client in 0..40 {
            let links = desk.show("tide", 1, &[page(1), page(2)], client, NOW_MS).unwrap();
            desk.click(&links[1], client, NOW_MS + 1).unwrap().unwrap();
        }
        desk.show("ebb and flow", 1, &[], 50, NOW_MS).unwrap();
        let mut feedback =
            Feedback::open(desk.dir(), 0, Mark::default(), SHARE, &mut nobody).unwrap();
        let heard = feedback.read(&mut nobody).unwrap();
        let sum = |kind, page| -> f64 {
            let rows = heard.rows.iter().filter(|row| row.kind == kind && row.page == PageId(page));
            rows.map(|row| row.count).sum()
        };
        let clicks = sum(InterestKind::Click, 2);
        assert!(clicks > 30.0 && sum(InterestKind::Click, 1) <= 0.0, "{clicks}");
        assert!((clicks + heard.withheld - 40.0).abs() < 1e-6);
        assert!(sum(InterestKind::View, 1) > 20.0);
        let views = heard.rows.iter().filter(|row| row.kind == InterestKind::View);
        assert_eq!(views.count(), 2, "one row a page");
        assert!(feedback.popularity().of(PageId(2)) > 30.0);
        let needs = feedback.needs(10);
        assert_eq!(needs[0].words, "ebb and flow");
        assert!(needs[0].need > 0.99 && needs[1].need < 0.1, "{needs:?}");
        assert_eq!(feedback.read(&mut nobody).unwrap().rows, []);
        // A restart restores the position and the recent clicks.
        let again = Feedback::open(desk.dir(), 0, heard.end, SHARE, &mut nobody).unwrap();
        let of = |feedback: &Feedback| feedback.popularity().of(PageId(2));
        assert!((of(&again) - of(&feedback)).abs() < 1e-6);
        assert_eq!(again.mark, heard.end);
        // At a start only entries before the mark count.
        let links = desk.show("tide", 1, &[page(3)], 60, NOW_MS).unwrap();
        desk.click(&links[0], 60, NOW_MS).unwrap().unwrap();
        let again = Feedback::open(desk.dir(), 0, heard.end, SHARE, &mut nobody).unwrap();
        assert!(again.popularity().of(PageId(3)) <= 0.0);
    }

    #[test]
    fn one_client_moves_no_more_than_its_share() {
        let dir = tempfile::tempdir().unwrap();
        let desk = desk(dir.path());
        for client in 0..100 {
            let links = desk.show("tide", 1, &[page(1)], client, NOW_MS).unwrap();
            desk.click(&links[0], client, NOW_MS).unwrap().unwrap();
        }
        for _ in 0..1_000 {
            let links = desk.show("spam", 1, &[page(2)], 777, NOW_MS).unwrap();
            desk.click(&links[0], 777, NOW_MS).unwrap().unwrap();
        }
        let mut feedback =
            Feedback::open(desk.dir(), 0, Mark::default(), SHARE, &mut nobody).unwrap();
        let heard = feedback.read(&mut nobody).unwrap();
        let clicks = heard.rows.iter().filter(|row| row.kind == InterestKind::Click);
        let (mut spam, mut all) = (0.0, 0.0);
        for row in clicks {
            all += row.count;
            spam += if row.page == PageId(2) { row.count } else { 0.0 };
        }
        // W₀ = 10: the weight of pages without clicks.
        assert!(spam <= SHARE * (all + 10.0) + 1e-9, "{spam} of {all}");
        assert!(heard.withheld > 900.0);
    }

    #[test]
    fn clicks_of_another_engine_count_in_full() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = crate::clicks::Log::open(dir.path()).unwrap();
        let told = |url: &str, count| Entry::Told {
            at_ms: NOW_MS,
            url: url.to_owned(),
            is_click: true,
            count,
            position: 0,
            query: String::new(),
        };
        log.append(&[told("https://a.example/", 500.0), told("odd", 1.0)], 0).unwrap();
        let mut known = |url: &str| (url != "odd").then_some(PageId(3));
        let mut feedback =
            Feedback::open(dir.path(), 0, Mark::default(), SHARE, &mut known).unwrap();
        let heard = feedback.read(&mut known).unwrap();
        assert_eq!((heard.rows.len(), heard.bad), (1, 1));
        assert!((heard.rows[0].count - 500.0).abs() < 1e-9 && heard.rows[0].page == PageId(3));
    }

    /// Two partitions read one log: each hears of its own pages alone, and both cap the same client.
    #[test]
    fn partitions_share_a_log_and_each_hears_of_its_own_pages() {
        let dir = tempfile::tempdir().unwrap();
        let desk = desk(dir.path());
        let pages = [0, 1].map(|partition| PageRef::new(partition, PageId(7)));
        for client in 0..40 {
            let links = desk.show("tide", 1, &pages, client, NOW_MS).unwrap();
            let at = usize::from(client < 10);
            desk.click(&links[at], client, NOW_MS).unwrap().unwrap();
        }
        let clicks = |partition| {
            let mark = Mark::default();
            let mut feedback =
                Feedback::open(desk.dir(), partition, mark, SHARE, &mut nobody).unwrap();
            let heard = feedback.read(&mut nobody).unwrap();
            assert!(heard.rows.iter().all(|row| row.page == PageId(7)));
            let rows = heard.rows.iter().filter(|row| row.kind == InterestKind::Click);
            let sum: f64 = rows.map(|row| row.count).sum();
            assert!((f64::from(feedback.popularity().of(PageId(7))) - sum).abs() < 1e-3);
            (sum, heard.withheld)
        };
        let (first, second) = (clicks(0), clicks(1));
        assert!(first.0 > 2.0 * second.0 && second.0 > 5.0, "{first:?} {second:?}");
        assert!((first.0 + second.0 + first.1 - 40.0).abs() < 1e-6);
        assert!((first.1 - second.1).abs() < 1e-9, "the guards agree");
    }
}
