//! Stays of pages on sources, from differences between listings.

use std::path::Path;

use super::super::ImportError;
use super::super::clock::{Moment, Window};
use super::super::rows::{Rows, Style};
use super::super::shown::{Shown, Stay};
use super::articles::{Articles, Known};
use super::snapshots::Snapshots;

/// The result of the events.
pub(super) struct Replay {
    /// Stays that touch the window, with the number of the source.
    pub(super) stays: Vec<(u32, Stay)>,
    /// Time at which each group of articles was first shown, inside the window or not.
    pub(super) first_seen: Vec<Moment>,
    /// Good visits with another set of pages than the previous one.
    pub(super) changes: Vec<(u32, Moment)>,
    /// The first visit of all.
    beginning: Moment,
    pub(super) read: u64,
    pub(super) retitled: u64,
    pub(super) refused: u64,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// A source while its events are read.
#[derive(Default)]
struct Progress {
    shown: Shown,
    /// The visit of the latest events.
    visit: Option<Moment>,
    /// When they take effect.
    settles: Option<Moment>,
}

pub(super) fn read(
    file: &Path,
    snapshots: &Snapshots,
    articles: &Articles,
    window: Window,
) -> Result<Replay, ImportError> {
    let mut replay = Replay {
        stays: Vec::new(),
        first_seen: vec![Moment::MAX; articles.groups()],
        changes: Vec::new(),
        beginning: snapshots.span().map_or(window.start, |(first, _)| first),
        read: 0,
        retitled: 0,
        refused: 0,
        before: 0,
        after: 0,
    };
    let mut all: Vec<Progress> = Vec::new();
    all.resize_with(snapshots.sources(), Progress::default);
    let mut rows = Rows::open(file, Style::Tabs, ["ts", "page_id", "op", "article_id", "pos"])?;
    while rows.advance()? {
        replay.read += 1;
        replay.event(&rows, snapshots, articles, &mut all, window)?;
    }
    for (source, mut progress) in (0..).zip(all) {
        replay.settle(source, &mut progress, snapshots, window);
        progress.shown.finish().for_each(|stay| replay.keep(source, stay, window));
    }
    Ok(replay)
}

impl Replay {
    fn event(
        &mut self,
        rows: &Rows<5>,
        snapshots: &Snapshots,
        articles: &Articles,
        all: &mut [Progress],
        window: Window,
    ) -> Result<(), ImportError> {
        let at = rows.seconds(0)?;
        let source = snapshots
            .number(rows.number(1)?)
            .ok_or_else(|| rows.refuse(1, "is not a page_id of pages.tsv"))?;
        let progress = &mut all[source as usize];
        self.turn_to(rows, at, source, progress, snapshots, window)?;
        let group = match articles.group(rows.number(3)?) {
            Known::Group(group) => group,
            Known::Refused => {
                self.refused += 1;
                return Ok(());
            }
            Known::Unknown => return Err(rows.refuse(3, "is not an id of articles.tsv")),
        };
        match rows.text(2)? {
            "+" => progress.shown.list(group, Some(rows.number(4)?)),
            "-" if progress.shown.delist(group) => {}
            "-" => return Err(rows.refuse(3, "is removed from a page that did not list it")),
            "~" => self.retitled += 1,
            _ => return Err(rows.refuse(2, "is not an event; events are +, - and ~")),
        }
        Ok(())
    }

    /// Completes the previous visit at the first event of a new one.
    fn turn_to(
        &mut self,
        rows: &Rows<5>,
        at: Moment,
        source: u32,
        progress: &mut Progress,
        snapshots: &Snapshots,
        window: Window,
    ) -> Result<(), ImportError> {
        if progress.visit == Some(at) {
            return Ok(());
        }
        if progress.visit.is_some_and(|visit| visit > at) {
            return Err(rows.refuse(0, "is before the page's event before; sort by time"));
        }
        let settles = snapshots
            .settles(source, at)
            .ok_or_else(|| rows.refuse(0, "is not the time of a visit in snapshots.tsv"))?;
        if progress.settles.is_some_and(|before| before < settles) {
            self.settle(source, progress, snapshots, window);
        }
        (progress.visit, progress.settles) = (Some(at), Some(settles));
        Ok(())
    }

    fn settle(
        &mut self,
        source: u32,
        progress: &mut Progress,
        snapshots: &Snapshots,
        window: Window,
    ) {
        let Some(at) = progress.settles.filter(|&at| at != Moment::MAX) else { return };
        let first = snapshots.first_good(source as usize).is_some_and(|first| at <= first);
        // Links of the first good visit are older.
        let since = if first { self.beginning } else { at };
        let mut ended = Vec::new();
        let first_seen = &mut self.first_seen;
        let begun = |page: u32| {
            let seen = &mut first_seen[page as usize];
            *seen = since.min(*seen);
        };
        let changed = progress.shown.settle(since, begun, |stay| ended.push(stay));
        if changed && !first {
            self.changes.push((source, at));
        }
        ended.into_iter().for_each(|stay| self.keep(source, stay, window));
    }

    /// Keeps a stay if it touches the window.
    fn keep(&mut self, source: u32, stay: Stay, window: Window) {
        if stay.until.is_some_and(|until| until <= window.start) {
            self.before += 1;
        } else if stay.since >= window.end {
            self.after += 1;
        } else {
            self.stays.push((source, stay));
        }
    }
}
