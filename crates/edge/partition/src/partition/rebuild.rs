//! Rebuilds a damaged partition in another directory, from whatever of it is still readable.
//!
//! 1. The tape, as far as it can be read, is told again without its decisions: hosts, pages and visits
//!    in their order. Pages and hosts whose rows are lost are left out, and the others numbered anew.
//! 2. Pages beyond the end of the tape follow from their rows.
//! 3. Copies are kept if their record is in the archive.
//! 4. The archive is read from beginning to end. Every answer that is newer than the tape is taken in as
//!    if it had just come: its page, its links, its change. A copy whose row is lost is made from its
//!    newest record.
//! 5. Where the last snapshot is newer than the readable tape, it tells which pages had a copy: it
//!    names lost copies, and keeps pages that were gone from getting one.
//!
//! Lost for good are URLs that stand neither in a readable row nor in an archived page, and whatever the
//! damaged part of the tape alone knew: failures, hints, robots.txt. The damaged directory is only read.

use std::collections::BTreeSet;
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::Serialize;
use tidewatch_archive::{
    Damage, Location, Piece, Record, Walk, is_readable, path_of, warc_numbers,
};
use tidewatch_cluster::place::owner;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{FetchKind, HostId, LinkSeen, PageId, Time, calendar};
use tidewatch_frontier::tape::{Came as Told, Fetched, Input};
use tidewatch_store::{CopyRow, Hops, PageRow, Place, Salvage, Store};

use super::open::{memory, policy};
use super::settle::Before;
use super::{ARCHIVED, CrawlError, Found, Partition};
use crate::Config;
use crate::pages::Pages;
use crate::read::read_record;
use crate::scope::Reach;
use crate::snapshot::{self, Snapshot};
use crate::tally::Tally;

/// URLs of lost copies that are listed.
const MOST_LISTED: usize = 100;
/// Records between two commits.
const RECORDS_A_COMMIT: u32 = 500;
/// Facts that are not taken over: they describe the damaged directory.
const NOT_TAKEN: [&str; 2] = [ARCHIVED, "reread"];

/// What a rebuilt partition holds, and what is lost.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rebuilt {
    /// Why the tables could not be opened, if they could not.
    pub unreadable_tables: Option<String>,
    /// Journals of which a part could not be read.
    pub cut_journals: Vec<String>,
    /// Pages that the last sync had noted.
    pub pages_before: u32,
    /// Pages now.
    pub pages: u32,
    /// Pages whose rows are lost and that were found again in the archive.
    pub pages_found_again: u32,
    /// Batches on the tape that the last sync had noted.
    pub batches_before: u64,
    /// Those that could be read.
    pub batches: u64,
    /// Copies kept as they were.
    pub copies_kept: u64,
    /// Copies whose rows were made anew from the archive.
    pub copies_from_archive: u64,
    /// Copies that are lost.
    pub copies_lost: u64,
    /// Their URLs, as far as they are listed.
    pub lost: Vec<String>,
    /// Parts of WARC files that cannot be read.
    pub archive_damage: Vec<String>,
}

impl Rebuilt {
    /// Pages that were known and are not any more.
    pub const fn pages_lost(&self) -> u32 {
        self.pages_before.saturating_sub(self.pages)
    }

    /// Whether anything is lost.
    pub const fn has_loss(&self) -> bool {
        self.pages_lost() > 0 || self.copies_lost > 0 || self.batches < self.batches_before
    }
}

/// A partition on its way from a damaged directory to a new one.
struct Rebuild<'s> {
    salvage: &'s Salvage,
    partition: Partition,
    /// The last snapshot, if it is newer than the end of the readable tape.
    snapshot: Option<Snapshot>,
    /// New numbers of pages, by old number, and back.
    pages: FxHashMap<PageId, PageId>,
    old_pages: FxHashMap<PageId, PageId>,
    /// The last visit that the readable tape tells of.
    tape_end: Time,
    /// Pages from here on were found in the archive; the tape tells nothing of them.
    first_found: PageId,
    /// Pages whose copies are lost so far.
    lost: BTreeSet<PageId>,
    rebuilt: Rebuilt,
    /// This partition's number, and how many there are.
    place: (u32, u32),
}

impl Partition {
    /// Rebuilds partition `place.0` of `place.1` from the damaged directory `from` in `to`, which holds
    /// a copy of its archive and nothing else. `say` is told what is done.
    pub fn rebuild(
        from: &Path,
        to: &Path,
        place: (u32, u32),
        unix_micros: i64,
        say: &dyn Fn(&str),
    ) -> Result<Rebuilt, CrawlError> {
        let salvage = Salvage::of(from)?;
        let mut rebuild = Rebuild::begin(&salvage, to, place, unix_micros)?;
        rebuild.snapshot = rebuild.last_snapshot(from)?;
        say("reading the tape");
        rebuild.tell_tape()?;
        say("reading pages and copies");
        rebuild.tell_pages()?;
        let later = rebuild.keep_copies()?;
        rebuild.first_found = rebuild.partition.taped.next_page();
        say("reading the archive");
        rebuild.read_archive()?;
        rebuild.keep_later_copies(later)?;
        rebuild.end()
    }
}

impl<'s> Rebuild<'s> {
    fn begin(
        salvage: &'s Salvage,
        to: &Path,
        place: (u32, u32),
        unix_micros: i64,
    ) -> Result<Rebuild<'s>, CrawlError> {
        let mut config = Config::default();
        let mut pages = Pages::new(Store::open(to, memory(&config))?)?;
        for (name, value) in salvage.meta() {
            if !NOT_TAKEN.contains(&name.as_str()) {
                pages.put_meta(&name, value);
            }
        }
        match Partition::begun_with(&pages)? {
            Some((policy, seed)) => (config.policy, config.seed) = (policy, seed),
            // Without its scope every archived page counts.
            None => config.scope.reach = Reach::Everything,
        }
        let epoch = first_date(to)?.unwrap_or(unix_micros);
        let mut partition = Partition::assemble(config, pages, epoch)?;
        partition.shelf = partition.open_shelf(unix_micros)?;
        partition.tally = Tally::restore(&partition.pages).unwrap_or_default();
        let (batches_before, pages_before) = salvage.synced();
        let rebuilt = Rebuilt {
            unreadable_tables: salvage.why_unreadable().map(str::to_owned),
            cut_journals: salvage.cut_journals().to_vec(),
            pages_before: pages_before.max(salvage.page_bound()),
            batches_before: batches_before.max(salvage.batches()),
            batches: salvage.batches(),
            ..Rebuilt::default()
        };
        Ok(Rebuild {
            salvage,
            partition,
            snapshot: None,
            pages: FxHashMap::default(),
            old_pages: FxHashMap::default(),
            tape_end: Time::ZERO,
            first_found: PageId(0),
            lost: BTreeSet::new(),
            rebuilt,
            place,
        })
    }

    /// The snapshot of the damaged directory, if it is whole and newer than the readable tape.
    fn last_snapshot(&self, from: &Path) -> Result<Option<Snapshot>, CrawlError> {
        let found = snapshot::read(from, policy(&self.partition.config)?, u64::MAX);
        Ok(found.filter(|snapshot| snapshot.batch > self.rebuilt.batches))
    }

    /// Tells what the frontier was told, but not what it decided.
    fn tell_tape(&mut self) -> Result<(), CrawlError> {
        let mut next = 0;
        for (count, input) in (1u32..).zip(self.salvage.tape()) {
            match input {
                Input::Page { at, weight, .. } => {
                    self.tell_page(PageId(next), weight, at)?;
                    next += 1;
                }
                Input::Fetched(fetched) => self.tell_fetched(fetched)?,
                Input::Log(mut log) => {
                    log.retain_mut(|seen| match self.pages.get(&seen.page) {
                        Some(&page) => {
                            seen.page = page;
                            true
                        }
                        None => false,
                    });
                    self.partition.taped.tell(Input::Log(log))?;
                }
                Input::Queries(queries) => self.partition.taped.tell(Input::Queries(queries))?,
                Input::Hint { page, at, kind } => {
                    if let Some(&page) = self.pages.get(&page) {
                        self.partition.taped.tell(Input::Hint { page, at, kind })?;
                    }
                }
                // Hosts follow from their pages; everything else is politeness and decisions.
                _ => {}
            }
            self.commit_now_and_then(count)?;
        }
        Ok(())
    }

    /// Tells the pages that the readable part of the tape does not name.
    fn tell_pages(&mut self) -> Result<(), CrawlError> {
        for old in (0..self.salvage.page_bound()).map(PageId) {
            if !self.pages.contains_key(&old) {
                self.tell_page(old, 1.0, self.tape_end)?;
            }
            self.commit_now_and_then(old.0)?;
        }
        for parcel in self.salvage.outbox() {
            self.partition.pages.put_parcel(parcel);
        }
        Ok(())
    }

    /// Gives a page of the damaged tables its new number, if its row and its host's can be read.
    fn tell_page(&mut self, old: PageId, weight: f64, at: Time) -> Result<(), CrawlError> {
        let Some(row) = self.salvage.page(old) else { return Ok(()) };
        let Some(host) = self.salvage.host(row.host) else { return Ok(()) };
        let Ok(url) = CanonicalUrl::parse(&format!("{}{}", host.origin, row.path)) else {
            return Ok(());
        };
        if let Some(page) = self.partition.pages.page_of(url.as_str())? {
            self.number(old, page);
            return Ok(());
        }
        let PageRow { depth, hops, is_source, .. } = row;
        let via = row.via.and_then(|via| self.pages.get(&via).copied());
        let found = Found { via, depth, hops, is_source, weight };
        let is_new_host = self.partition.pages.host_of(url.origin()).is_none();
        let page = self.partition.add_page(&url, found, at)?;
        if let Some(url) = self.salvage.via(old) {
            self.partition.pages.put_foreign_via(page, url);
        }
        if is_new_host {
            self.keep_host(self.partition.taped.host_of(page), row.host)?;
        }
        self.number(old, page);
        Ok(())
    }

    fn number(&mut self, old: PageId, page: PageId) {
        self.pages.insert(old, page);
        self.old_pages.insert(page, old);
    }

    fn keep_host(&mut self, host: HostId, old: HostId) -> Result<(), CrawlError> {
        let Some(row) = self.salvage.host(old) else { return Ok(()) };
        if let Some(robots) = row.robots {
            self.partition.pages.put_robots(host, robots)?;
        }
        if let Some(absent) = row.absent {
            self.partition.pages.put_absent(host, absent)?;
        }
        Ok(())
    }

    fn tell_fetched(&mut self, mut fetched: Fetched) -> Result<(), CrawlError> {
        let Some(&page) = self.pages.get(&fetched.page) else { return Ok(()) };
        fetched.page = page;
        self.tape_end = self.tape_end.max(fetched.at);
        if let Told::Content { links, anchors, .. } = &mut fetched.outcome {
            let new = |link: &LinkSeen| {
                Some(LinkSeen { page: *self.pages.get(&link.page)?, is_new: link.is_new })
            };
            let words = anchors.drain(..).map(Some).chain(std::iter::repeat(None));
            let kept: Vec<_> = links
                .iter()
                .zip(words)
                .filter_map(|(link, words)| Some((new(link)?, words)))
                .collect();
            *links = kept.iter().map(|(link, _)| *link).collect();
            *anchors = kept.into_iter().filter_map(|(_, words)| words).collect();
        }
        Ok(self.partition.taped.tell(Input::Fetched(fetched))?)
    }

    /// Keeps the copies whose records are in the archive. Those of visits that the readable tape does not
    /// tell of are returned: the archive tells of the visits first.
    fn keep_copies(&mut self) -> Result<Vec<(PageId, CopyRow)>, CrawlError> {
        let dir = self.partition.pages.store().dir().join("archive");
        let (mut all, mut later): (Vec<(PageId, PageId)>, _) =
            (self.pages.iter().map(|(a, b)| (*a, *b)).collect(), Vec::new());
        all.sort_unstable();
        for (count, (old, page)) in (1u32..).zip(all) {
            let Some(mut copy) = self.salvage.copy(old) else {
                // Tape and snapshot know which pages have a copy.
                if self.is_held(page) {
                    self.lost.insert(page);
                }
                continue;
            };
            let Place { file, offset, bytes } = copy.place;
            let url = self.partition.address(page)?;
            if bytes == 0 || !is_readable(&dir, Location { file, offset, bytes }, url.as_str()) {
                self.lost.insert(page);
                continue;
            }
            copy.links =
                copy.links.iter().filter_map(|link| self.pages.get(link)).copied().collect();
            self.rebuilt.copies_kept += 1;
            if copy.at > self.tape_end {
                later.push((page, copy));
            } else {
                self.partition.pages.put_copy(page, copy);
            }
            self.commit_now_and_then(count)?;
        }
        Ok(later)
    }

    /// Puts the rows of copies whose visits the archive told of.
    fn keep_later_copies(&mut self, later: Vec<(PageId, CopyRow)>) -> Result<(), CrawlError> {
        for (count, (page, copy)) in (1u32..).zip(later) {
            let found = self.partition.pages.copy(page)?;
            // Made from the archive just now, and counted there.
            self.rebuilt.copies_from_archive -= u64::from(found.is_some());
            self.partition.pages.put_copy(page, copy);
            self.commit_now_and_then(count)?;
        }
        Ok(())
    }

    /// Whether a copy of a page was held at the end of the tape, or of the snapshot if that is newer.
    fn is_held(&self, page: PageId) -> bool {
        let frontier = self.snapshot.as_ref().map(|snapshot| &snapshot.frontier);
        let old = self.old_pages.get(&page);
        let kind = match (frontier, old) {
            (Some(frontier), Some(&old)) if old < frontier.next_page() => frontier.fetch_kind(old),
            _ => self.partition.taped.fetch_kind(page),
        };
        matches!(kind, FetchKind::Refresh | FetchKind::Source)
    }

    /// Until when it is known which pages are held.
    fn known_until(&self) -> Time {
        let snapshot = self.snapshot.as_ref().map_or(Time::ZERO, |snapshot| snapshot.last);
        self.tape_end.max(snapshot)
    }

    /// Takes in the archive's answers that the tables do not hold.
    fn read_archive(&mut self) -> Result<(), CrawlError> {
        let dir = self.partition.pages.store().dir().join("archive");
        let mut count = 0;
        let damage = self.partition.shelf.damage().iter();
        // The walk below tells of unreadable parts.
        let files = damage.filter(|damage| !matches!(damage, Damage::Unreadable { .. }));
        self.rebuilt.archive_damage = files.map(ToString::to_string).collect();
        for file in warc_numbers(&dir)? {
            for piece in Walk::new(&path_of(&dir, file), 0)? {
                let (record, range) = match piece? {
                    Piece::Damaged { range, what } => {
                        let name = path_of(Path::new(""), file);
                        let (name, at) =
                            (name.display(), format!("{} to {}", range.start, range.end));
                        self.rebuilt.archive_damage.push(format!("{name}, bytes {at}: {what}"));
                        continue;
                    }
                    Piece::Record(record, range) => (record, range),
                };
                let bytes = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
                self.take_record(&record, Place { file, offset: range.start, bytes })?;
                count += 1;
                self.commit_now_and_then(count)?;
            }
        }
        Ok(())
    }

    fn take_record(&mut self, record: &Record, place: Place) -> Result<(), CrawlError> {
        let is_answer = record.http_status().is_some_and(|status| (200..300).contains(&status));
        let is_visit = record.kind() == "revisit";
        if !(is_visit || record.kind() == "response" && is_answer) {
            return Ok(());
        }
        let url = record.field("WARC-Target-URI").map(CanonicalUrl::parse);
        let date = record.field("WARC-Date").and_then(calendar::from_rfc3339);
        let (Some(Ok(url)), Some(date)) = (url, date) else { return Ok(()) };
        let at = self.partition.time(date);
        let page = match self.partition.pages.page_of(url.as_str())? {
            // The page was gone or dropped after this answer.
            Some(page)
                if page < self.first_found && at <= self.known_until() && !self.is_held(page) =>
            {
                return Ok(());
            }
            Some(page) => page,
            None => {
                let found = Found { depth: 1, ..Found::named(false) };
                self.rebuilt.pages_found_again += 1;
                self.partition.add_page(&url, found, at.max(self.tape_end))?
            }
        };
        let copy = self.partition.pages.copy(page)?;
        match copy {
            // What is kept is this record or a newer one.
            Some(copy)
                if copy.capture.as_ref().is_none_or(|capture| capture.unix_micros >= date) => {}
            Some(copy) if is_visit => {
                if copy.at < at && at > self.tape_end {
                    let kind = self.partition.taped.fetch_kind(page);
                    self.partition.confirm_copy(page, copy, kind, at)?;
                }
            }
            None if is_visit => {}
            copy => self.take_answer(page, &url, record, place, copy, at)?,
        }
        Ok(())
    }

    /// Takes in an archived answer: as a visit, if the tape does not tell of it, and otherwise as a row.
    fn take_answer(
        &mut self,
        page: PageId,
        url: &CanonicalUrl,
        record: &Record,
        place: Place,
        copy: Option<CopyRow>,
        at: Time,
    ) -> Result<(), CrawlError> {
        let mut content = read_record(url, record, &self.partition.config.agent);
        let (own, count) = self.place;
        if count > 1 {
            content.links.retain(|(url, _)| owner(url, count) == own);
            content.feeds.retain(|url| owner(url, count) == own);
        }
        content.dated.clear();
        let row = self.partition.pages.page_row(page)?;
        self.rebuilt.copies_from_archive += u64::from(copy.is_none());
        self.lost.remove(&page);
        if at > self.tape_end {
            let kind = self.partition.taped.fetch_kind(page);
            let before = Before { page, row, copy, kind };
            return self.partition.take_copy(before, content, Some(place), at);
        }
        let depth = row.depth.saturating_add(1);
        let found =
            Found { via: Some(page), depth, hops: Hops::NONE, is_source: false, weight: 1.0 };
        let mut links = Vec::new();
        for (url, _) in &content.links {
            links.extend(self.partition.link(url, found, self.tape_end)?.map(|link| link.page));
        }
        let row = CopyRow {
            at,
            changed_at: at,
            status: content.status,
            etag: content.etag,
            last_modified: content.last_modified,
            identity: content.identity,
            digest: content.digest,
            sketch: content.sketch,
            links,
            visits: 1,
            changes: 0,
            place,
            capture: Some(content.capture),
        };
        self.partition.pages.put_copy(page, row);
        Ok(())
    }

    fn commit_now_and_then(&mut self, count: u32) -> Result<(), CrawlError> {
        if count.is_multiple_of(RECORDS_A_COMMIT) { self.partition.commit() } else { Ok(()) }
    }

    fn end(mut self) -> Result<Rebuilt, CrawlError> {
        self.rebuilt.copies_lost = self.lost.len() as u64;
        for page in self.lost.iter().take(MOST_LISTED) {
            self.rebuilt.lost.push(self.partition.address(*page)?.as_str().to_owned());
        }
        let mark = self.partition.shelf.mark();
        self.partition.pages.put_meta(ARCHIVED, mark);
        self.partition.sync()?;
        self.partition.save()?;
        self.rebuilt.pages = self.partition.pages.store().pages();
        Ok(self.rebuilt)
    }
}

/// The date of the first record of an archive, in microseconds of Unix time.
fn first_date(dir: &Path) -> Result<Option<i64>, CrawlError> {
    let dir = dir.join("archive");
    for file in warc_numbers(&dir)? {
        for piece in Walk::new(&path_of(&dir, file), 0)? {
            if let Piece::Record(record, _) = piece? {
                return Ok(record.field("WARC-Date").and_then(calendar::from_rfc3339));
            }
        }
    }
    Ok(None)
}
