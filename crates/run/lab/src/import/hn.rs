//! `hn-frontpage`: half-hourly observations of a link aggregator's front page.
//!
//! Reads a directory of `items.tsv` (item_id, url) and `observations.tsv` (ts,
//! rank, item_id, points; by time).
//!
//! Rules, beyond those common to all importers:
//!
//! - **The source** is the front page, page id 0. Items are pages, merged by
//!   canonical URL under the id of the first; a URL without scheme
//!   (`item?id=1`) belongs to the aggregator's site. An item that links to the front page is not a
//!   page of its own.
//! - **Links** appear with the first observation that lists the page and disappear with the first that
//!   does not. Pages of the very first observation are as old as the data.
//! - **Clicks** are points: those gained between two observations are placed at the later one. Points
//!   at the first observation came before and are dropped; lost points count as 0. Points are votes of
//!   readers who liked the page, so they approximate clicks up to an unknown factor.
//! - **Positions** are ranks, less one, at the first observation of a stay.
//! - **Changes** are changes of the front page: an observation whose pages or order differ from the
//!   previous one.

use std::collections::HashMap;
use std::path::Path;

use tidewatch_core::PageKey;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_trace::{Change, Count, TraceLink};

use super::clock::{Moment, Window};
use super::pages::Pages;
use super::rows::{Rows, Style};
use super::shown::{Shown, Stay};
use super::{Draft, ImportArgs, ImportError, Imported, Importer, Opt, input};

const NAME: &str = "hn-frontpage";

pub(super) const IMPORTER: Importer = Importer {
    name: NAME,
    about: "a link aggregator's front page every half hour: links, and points as clicks",
    takes: &[Opt::From, Opt::Length],
    import,
};

const FRONT_PAGE: &str = "https://news.ycombinator.com/";
/// The front page's number among the groups of items.
const FRONT: u32 = 0;

fn import(args: &ImportArgs) -> Result<Imported, ImportError> {
    let file = input::find(&args.path, "observations.tsv", NAME)?;
    let (first, last) = span(&file)?;
    let window = Window::choose(args, first, last)?;
    let items = Items::read(&input::find(&args.path, "items.tsv", NAME)?)?;
    let mut board = Board::new(&items);
    board.read(&file, &items, window)?;
    let mut draft = Draft::default();
    draft.cover(NAME, window);
    draft.note("A link aggregator's front page every half hour; clicks are points gained.");
    draft.fact("items read", items.read);
    draft.fact("items dropped: URL refused", items.refused);
    draft.fact("items merged: same canonical URL as an earlier one", items.merged);
    board.tell(&mut draft);
    board.fill(&mut draft, &items, window);
    draft.finish()
}

/// First and last time of a file that must be sorted by time.
fn span(file: &Path) -> Result<(Moment, Moment), ImportError> {
    let mut rows = Rows::open(file, Style::Tabs, ["ts"])?;
    let mut span: Option<(Moment, Moment)> = None;
    while rows.advance()? {
        let at = rows.seconds(0)?;
        let (first, last) = span.unwrap_or((at, at));
        if at < last {
            return Err(rows.refuse(0, "is before the row above; sort the rows by time"));
        }
        span = Some((first, at));
    }
    span.ok_or_else(|| ImportError::useless(file, "no observations"))
}

/// Items merged by URL. Group 0 is the front page.
struct Items {
    group_of: HashMap<u64, Option<u32>>,
    /// Id of the first item and URL of each group.
    groups: Vec<(u64, CanonicalUrl)>,
    read: u64,
    refused: u64,
    merged: u64,
}

impl Items {
    fn read(file: &Path) -> Result<Self, ImportError> {
        let front = CanonicalUrl::parse(FRONT_PAGE).expect("a literal URL");
        let mut by_key = HashMap::from([(PageKey::of(front.as_str()), FRONT)]);
        let group_of = HashMap::new();
        let mut all = Items { group_of, groups: vec![(0, front)], read: 0, refused: 0, merged: 0 };
        let mut rows = Rows::open(file, Style::Tabs, ["item_id", "url"])?;
        while rows.advance()? {
            let id: u64 = rows.number(0)?;
            let group = all.group(id, rows.text(1)?, &mut by_key);
            if id == 0 || all.group_of.insert(id, group).is_some() {
                return Err(rows.refuse(0, "is 0 or given twice; give each item its own id"));
            }
        }
        Ok(all)
    }

    fn group(&mut self, id: u64, url: &str, by_key: &mut HashMap<PageKey, u32>) -> Option<u32> {
        self.read += 1;
        let Ok(url) = self.groups[FRONT as usize].1.join(url) else {
            self.refused += 1;
            return None;
        };
        let new = self.groups.len() as u32;
        let group = *by_key.entry(PageKey::of(url.as_str())).or_insert(new);
        if group == new {
            self.groups.push((id, url));
        } else {
            self.merged += 1;
            // Items may be unsorted; a page has the smallest id of its items.
            let least = &mut self.groups[group as usize].0;
            *least = id.min(*least);
        }
        Some(group)
    }
}

/// The front page over time.
struct Board {
    shown: Shown,
    /// Entries of the current and the previous observation, with their positions.
    listing: Vec<(u32, u32)>,
    before: Vec<(u32, u32)>,
    at: Option<Moment>,
    first_seen: Vec<Option<Moment>>,
    stays: Vec<Stay>,
    changes: Vec<Moment>,
    points: HashMap<u64, u64>,
    clicks: Vec<(u32, Moment, u64)>,
    read: u64,
    observations: u64,
    refused: u64,
    early_points: u64,
    losses: u64,
}

impl Board {
    fn new(items: &Items) -> Self {
        Board {
            shown: Shown::default(),
            listing: Vec::new(),
            before: Vec::new(),
            at: None,
            first_seen: vec![None; items.groups.len()],
            stays: Vec::new(),
            changes: Vec::new(),
            points: HashMap::new(),
            clicks: Vec::new(),
            read: 0,
            observations: 0,
            refused: 0,
            early_points: 0,
            losses: 0,
        }
    }

    fn read(&mut self, file: &Path, items: &Items, window: Window) -> Result<(), ImportError> {
        let mut rows = Rows::open(file, Style::Tabs, ["ts", "item_id", "points", "rank"])?;
        while rows.advance()? {
            let (at, item, points) = (rows.seconds(0)?, rows.number(1)?, rows.number(2)?);
            let rank: u32 = rows.number(3)?;
            if self.at != Some(at) {
                self.complete(window);
                self.at = Some(at);
            }
            self.read += 1;
            let group = items.group_of.get(&item);
            match group.ok_or_else(|| rows.refuse(1, "is not an id of items.tsv"))? {
                Some(group) => {
                    self.listing.push((*group, rank.saturating_sub(1)));
                    self.see(*group, at, item, points, window);
                }
                None => self.refused += 1,
            }
        }
        self.complete(window);
        let left = std::mem::take(&mut self.shown).finish();
        self.stays.extend(left.filter(|stay| stay.since < window.end));
        Ok(())
    }

    fn see(&mut self, group: u32, at: Moment, item: u64, points: u64, window: Window) {
        let Some(before) = self.points.insert(item, points) else {
            self.early_points += points;
            return;
        };
        self.losses += u64::from(points < before);
        // Pages within the window keep clicks beyond its end.
        if points > before && at > window.start && group != FRONT {
            self.clicks.push((group, at, points - before));
        }
    }

    /// Completes the current observation.
    fn complete(&mut self, window: Window) {
        let Some(at) = self.at else { return };
        self.observations += 1;
        let order =
            |listing: &[(u32, u32)]| listing.iter().map(|entry| entry.0).collect::<Vec<_>>();
        let changed = order(&self.listing) != order(&self.before);
        if changed && self.observations > 1 {
            self.changes.push(at);
        }
        let pages = |&&(page, _): &&(u32, u32)| page != FRONT;
        for &(page, position) in self.listing.iter().filter(pages) {
            self.shown.list(page, Some(position));
        }
        for &(page, _) in self.before.iter().filter(pages) {
            self.shown.delist(page);
        }
        let (first_seen, stays) = (&mut self.first_seen, &mut self.stays);
        let begun = |page: u32| {
            first_seen[page as usize].get_or_insert(at);
        };
        self.shown.settle(at, begun, |stay| {
            if stay.until > Some(window.start) && stay.since < window.end {
                stays.push(stay);
            }
        });
        std::mem::swap(&mut self.before, &mut self.listing);
        self.listing.clear();
    }

    fn tell(&self, draft: &mut Draft) {
        draft.fact("rows read", self.read);
        draft.fact("observations of the front page", self.observations);
        draft.fact("rows dropped: item's URL refused", self.refused);
        draft.fact("points dropped: gained before the first observation", self.early_points);
        draft.fact("losses of points counted as 0", self.losses);
    }

    fn fill(self, draft: &mut Draft, items: &Items, window: Window) {
        let mut groups: Vec<u32> = self.stays.iter().map(|stay| stay.page).collect();
        groups.sort_unstable_by_key(|&group| items.groups[group as usize].0);
        groups.dedup();
        let mut pages = Pages::default();
        let front = pages.push(0, &items.groups[FRONT as usize].1);
        (front.is_source, front.is_seed) = (true, true);
        let mut numbers = vec![u32::MAX; items.groups.len()];
        for group in groups {
            numbers[group as usize] = pages.len() as u32;
            let (id, url) = &items.groups[group as usize];
            let born = self.first_seen[group as usize].unwrap_or(window.start);
            pages.push(*id, url).born = window.at(born);
        }
        pages.into_trace(&mut draft.trace);
        draft.trace.links.extend(self.stays.iter().map(|stay| TraceLink {
            source: 0,
            page: numbers[stay.page as usize],
            appears: window.at(stay.since),
            disappears: stay.until.filter(|&until| until < window.end).map(|at| window.at(at)),
            position: stay.position,
        }));
        let seen = self.changes.into_iter().filter(|&at| window.sees(at));
        let change = |at| Change { page: 0, at: window.at(at) };
        draft.trace.changes = Some(seen.map(change).collect());
        draft.trace.clicks = Some(counts(self.clicks, &numbers, window));
    }
}

/// Clicks of the pages in the trace; those at the same time are summed.
fn counts(mut clicks: Vec<(u32, Moment, u64)>, numbers: &[u32], window: Window) -> Vec<Count> {
    clicks.iter_mut().for_each(|click| click.0 = numbers[click.0 as usize]);
    clicks.retain(|click| click.0 != u32::MAX);
    clicks.sort_unstable();
    let same = |a: &(u32, Moment, u64), b: &(u32, Moment, u64)| (a.0, a.1) == (b.0, b.1);
    let rows = clicks.chunk_by(same).map(|group| {
        let count = group.iter().map(|click| click.2).sum::<u64>() as f64;
        Count { page: group[0].0, at: window.at(group[0].1), count }
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, fact, run};
    use super::*;
    use tidewatch_core::Span;

    fn files(observations: &str) -> Files {
        let items = "item_id|url\n5|https://a.example/x#top\n6|item?id=6\n7|https://a.example/x\n\
                     8|mailto:x@y.example\n9|https://b.example/\n";
        // Ranks count up within an observation.
        let (mut rows, mut at, mut rank) = (String::new(), "", 0);
        for row in observations.lines() {
            let ts = row.split('|').next().unwrap_or_default();
            rank = if ts == at { rank + 1 } else { 1 };
            at = ts;
            rows.extend([row, "|", &rank.to_string(), "\n"]);
        }
        let observations = format!("ts|item_id|points|rank\n{rows}");
        Files::tabs(&[("items.tsv", items), ("observations.tsv", &observations)])
    }

    const OBSERVED: &str = "100|5|10\n100|6|1\n160|5|14\n160|8|3\n220|6|9\n220|7|2\n220|5|15\n\
                            280|9|1\n280|7|1\n340|9|4\n340|7|5\n";

    #[test]
    fn observations_become_links_and_points_clicks() {
        let imported = run(NAME, &files(OBSERVED).args()).unwrap();
        let trace = &imported.trace;
        let pages: Vec<_> = trace.pages.iter().map(|p| (p.id, &*p.url, p.born.seconds())).collect();
        assert_eq!(
            pages,
            [
                (0, "https://news.ycombinator.com/", 0.0),
                (5, "https://a.example/x", 0.0),
                (6, "https://news.ycombinator.com/item?id=6", 0.0),
                (9, "https://b.example/", 180.0),
            ]
        );
        let gone = |l: &TraceLink| l.disappears.map(tidewatch_core::Time::seconds);
        let links: Vec<_> =
            trace.links.iter().map(|l| (l.page, l.appears.seconds(), gone(l))).collect();
        let places: Vec<_> = trace.links.iter().map(|link| link.position).collect();
        assert_eq!(places, [Some(0), Some(1), Some(0), Some(0)]);
        // Items 5 and 7 are one page: it stays although 5 leaves.
        assert_eq!(
            links,
            [(1, 0.0, None), (2, 0.0, Some(60.0)), (2, 120.0, Some(180.0)), (3, 180.0, None)]
        );
        let clicks: Vec<_> =
            trace.clicks.iter().flatten().map(|c| (c.page, c.at.seconds(), c.count)).collect();
        assert_eq!(
            clicks,
            [(1, 60.0, 4.0), (1, 120.0, 1.0), (1, 240.0, 4.0), (2, 120.0, 8.0), (3, 240.0, 3.0)]
        );
        let changes: Vec<_> = trace.changes.iter().flatten().map(|c| c.at.seconds()).collect();
        assert_eq!(changes, [60.0, 120.0, 180.0]);
        assert_eq!(fact(&imported, "losses of points counted as 0"), 1);
        assert_eq!(fact(&imported, "rows dropped: item's URL refused"), 1);
    }

    #[test]
    fn a_window_has_its_own_origin() {
        let files = files(OBSERVED);
        let mut args = files.args();
        args.from = Moment::from_unix_seconds(170);
        args.length = Some(Span::SECOND.times(100));
        let trace = run(NAME, &args).unwrap().trace;
        let links: Vec<_> = trace.links.iter().map(|l| (l.page, l.appears.seconds())).collect();
        assert_eq!(links, [(1, 0.0), (2, 50.0)]);
        // Page 6 was seen before the window: it is old, though its link is new.
        assert!(trace.pages.iter().all(|page| page.born.seconds() == 0.0));
        assert_eq!(trace.clicks.unwrap().len(), 3);
    }

    #[test]
    fn errors_name_row_and_column() {
        let wrong = |rows: &str| run(NAME, &files(rows).args()).unwrap_err().to_string();
        assert!(wrong("9|5|1\n8|5|1\n").contains("observations.tsv, line 3, column 'ts': '8' is"));
        assert!(wrong("9|1|1\n10|1|1\n").contains("'1' is not an id of items.tsv"));
        assert!(wrong("").contains("no observations"));
    }
}
