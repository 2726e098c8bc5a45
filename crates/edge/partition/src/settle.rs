//! From reports to what the frontier hears and what the store keeps.

use tidewatch_archive::{Location, Packed};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, FetchKind, HostId, LinkSeen, PageId, Reason, Span, Time};
use tidewatch_frontier::hygiene;
use tidewatch_frontier::tape::{Came as Told, Fetched, Input};
use tidewatch_frontier::{Answer, RobotsRead};
use tidewatch_robots::Robots;
use tidewatch_store::{CopyRow, HostRow, PageRow, Place, RobotsRow};

use crate::crawl::{Crawl, CrawlError, Found};
use crate::hygiene::is_probe;
use crate::work::{Came, Content, Report};

/// How long a robots.txt is taken at its word (RFC 9309 §2.4).
const ROBOTS_HOLD: Span = Span::DAY;
/// Longest that an address is believed, and shortest.
const MOST_TTL: Span = Span::DAY;
const LEAST_TTL: Span = Span::MINUTE;

/// What a report came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The page's copy is new or confirmed.
    Held(PageId),
    /// The page is no more, or left out.
    Gone(PageId),
    /// Nothing of the kind.
    Nothing,
}

impl Settled {
    /// The page whose copy is new or confirmed.
    pub fn held(self) -> Option<PageId> {
        if let Settled::Held(page) = self { Some(page) } else { None }
    }
}

/// A page before what came of its fetch is taken in.
struct Before {
    page: PageId,
    row: PageRow,
    copy: Option<CopyRow>,
    kind: FetchKind,
}

impl Crawl {
    /// Takes in what came of a job, and commits it as one.
    pub fn settle(&mut self, report: Report, now: Time) -> Result<Settled, CrawlError> {
        let settled = self.take_in(report, now)?;
        self.commit()?;
        Ok(settled)
    }

    /// Takes in what came of a job. It is to be committed before the next job is handed out, so
    /// that no more can be lost than was under way.
    pub(crate) fn take_in(&mut self, report: Report, now: Time) -> Result<Settled, CrawlError> {
        Ok(match report {
            Report::Resolved { host, found, took } => {
                self.settle_address(host, found, took, now)?;
                Settled::Nothing
            }
            Report::Robots { host, found, retry_after, took } => {
                self.settle_robots(host, found, retry_after, took, now)?;
                Settled::Nothing
            }
            Report::Page { host, page, came, status, body_bytes, packed, unix_micros, took } => {
                self.tally.count_answer(status, body_bytes);
                let place = packed.and_then(|packed| self.keep(&packed, unix_micros));
                self.settle_page(host, page, came, place, took, now)?
            }
        })
    }

    fn settle_address(
        &mut self,
        host: HostId,
        found: Result<(std::net::IpAddr, Span), Reason>,
        took: Span,
        now: Time,
    ) -> Result<(), CrawlError> {
        match found {
            Ok((address, ttl)) => {
                let server = self.server(address);
                let good_until = now + ttl.clamp(LEAST_TTL, MOST_TTL);
                self.tell(Input::Resolved { host, server, good_until, at: now }, "")
            }
            Err(reason) => self.give_up(host, (Answer::Nothing, took), reason, now),
        }
    }

    fn settle_robots(
        &mut self,
        host: HostId,
        found: Result<(u16, Vec<u8>), Reason>,
        retry_after: Option<Span>,
        took: Span,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.tally.robots += 1;
        let (status, body) = match found {
            Ok(found) => found,
            Err(why) => return self.without_robots(host, (Answer::Nothing, took), why, now),
        };
        let answer = overloaded(status).map_or(Answer::Usual, |_| Answer::Overloaded(retry_after));
        let robots = Robots::of_response(status, &body, &self.config.agent);
        if robots.is_unreachable() {
            return self.without_robots(host, (answer, took), Reason::RobotsUnreachable, now);
        }
        let delay = robots.crawl_delay().map_or(Span::ZERO, |delay| {
            Span::from_micros(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX))
        });
        let good_until = now + ROBOTS_HOLD;
        let sitemaps = robots.sitemaps().to_vec();
        self.keep_robots(host, robots);
        let row = self.host_row(host)?;
        let robots = Some(RobotsRow { status, body, at: now, good_until });
        self.batch.hosts.insert(host, HostRow { robots, ..row });
        let read = RobotsRead { answer, took, crawl_delay: delay, good_until };
        self.tell(Input::Robots { host, read, at: now }, "")?;
        self.add_sitemaps(&sitemaps, now)
    }

    /// A host whose robots.txt cannot be had is not fetched from for a while.
    fn without_robots(
        &mut self,
        host: HostId,
        answer: (Answer, Span),
        why: Reason,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.give_up(host, answer, why, now)?;
        self.tell(Input::Closed { host, until: now + self.config.robots_retry }, "")
    }

    /// Ends the host's job without a page request.
    fn give_up(
        &mut self,
        host: HostId,
        answer: (Answer, Span),
        why: Reason,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.tally.count(why);
        let page = self.frontier.job_of(host);
        self.tell(Input::GivenUp { host, answer: Some(answer), at: now }, "")?;
        page.map_or(Ok(()), |page| self.tell_failed(page, why, now))
    }

    /// Sitemaps are sources: pages that are watched for links.
    fn add_sitemaps(&mut self, sitemaps: &[String], now: Time) -> Result<(), CrawlError> {
        for sitemap in sitemaps {
            let Ok(url) = CanonicalUrl::parse(sitemap) else { continue };
            if self.store.page_of(url.as_str())?.is_none() && self.may_know(&url, 0) {
                self.add_page(&url, Found::named(true), now)?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, packed: &Packed, unix_micros: i64) -> Option<Place> {
        self.tally.archive_bytes += packed.len() as u64;
        let Location { file, offset, bytes } = self.archive.as_mut()?.append(packed, unix_micros);
        Some(Place { file, offset, bytes })
    }

    fn settle_page(
        &mut self,
        host: HostId,
        page: PageId,
        came: Came,
        place: Option<Place>,
        took: Span,
        now: Time,
    ) -> Result<Settled, CrawlError> {
        let (row, copy) = (self.page_row(page)?, self.copy(page)?);
        let kind = self.kind(&row, copy.is_some())?;
        let before = Before { page, row, copy, kind };
        self.tally.count_fetch(kind);
        let answer = match came {
            Came::Overloaded(_, retry_after) => Answer::Overloaded(retry_after),
            Came::Nothing(_) => Answer::Nothing,
            _ => Answer::Usual,
        };
        self.tell(Input::Left { host, answer, took, at: now }, "")?;
        if is_probe(&before.row) && self.take_probe(host, &came)? {
            self.tell_outcome(page, Told::Gone, now)?;
            return Ok(Settled::Nothing);
        }
        match came {
            Came::Content(content) => {
                let is_held = before.copy.is_some();
                if let Some(why) = self.unwanted(page, &before.row, &content, is_held)? {
                    self.tally.drop(why);
                    self.leave_out(page, now)?;
                    return Ok(Settled::Gone(page));
                }
                self.take_copy(before, *content, place, now)?;
                return Ok(Settled::Held(page));
            }
            Came::Same => {
                if let Some(copy) = before.copy {
                    self.confirm_copy(page, copy, before.kind, now)?;
                    return Ok(Settled::Held(page));
                }
                // The server answered 304 to a question that was not asked.
                self.tally.count(Reason::ClientError);
                self.tell_failed(page, Reason::ClientError, now)?;
            }
            Came::Moved { to, for_good } => return self.follow(&before, &to, for_good, now),
            Came::Gone => {
                self.tally.count(Reason::Gone);
                self.leave_out(page, now)?;
                return Ok(Settled::Gone(page));
            }
            Came::Overloaded(why, _) | Came::Refused(why) | Came::Nothing(why) => {
                self.tally.count(why);
                self.tell_outcome(page, Told::Failed(why), now)?;
            }
        }
        Ok(Settled::Nothing)
    }

    /// Makes the address that a page has moved to a page of its own, with its own host's turn.
    fn follow(
        &mut self,
        from: &Before,
        to: &CanonicalUrl,
        for_good: bool,
        now: Time,
    ) -> Result<Settled, CrawlError> {
        let Before { page, ref row, .. } = *from;
        let hops = row.hops.saturating_add(1);
        if usize::from(hops) > self.config.fetch.redirects {
            self.tally.count(Reason::TooManyRedirects);
            self.tell_outcome(page, Told::Failed(Reason::TooManyRedirects), now)?;
            return Ok(Settled::Nothing);
        }
        // Counted like a link too, as is whatever leads away from the seeds.
        let depth = row.depth.saturating_add(1);
        let found = Found { via: row.via, depth, hops, is_source: row.is_source, weight: 1.0 };
        self.link(to, found, now)?;
        self.tally.count(Reason::Redirect);
        if for_good {
            self.leave_out(page, now)?;
            return Ok(Settled::Gone(page));
        }
        self.tell_outcome(page, Told::Failed(Reason::Redirect), now)?;
        Ok(Settled::Nothing)
    }

    fn take_copy(
        &mut self,
        before: Before,
        mut content: Content,
        place: Option<Place>,
        now: Time,
    ) -> Result<(), CrawlError> {
        let Before { page, row, copy: old, kind } = before;
        let changed = old.as_ref().map(|old| old.identity != content.identity);
        let depth = row.depth.saturating_add(1);
        let seen = old.as_ref().map(|old| old.at);
        let (links, anchors) = self.links(page, &mut content, depth, seen, now)?;
        self.tally.copies += 1;
        self.tally.held += u64::from(old.is_none());
        self.tally.revisits += u64::from(changed.is_some());
        self.tally.changes += u64::from(changed == Some(true));
        let row = CopyRow {
            at: now,
            changed_at: old
                .as_ref()
                .filter(|_| changed == Some(false))
                .map_or(now, |o| o.changed_at),
            status: content.status,
            etag: content.etag,
            last_modified: content.last_modified,
            identity: content.identity,
            digest: content.digest,
            sketch: content.sketch.clone(),
            links: links.iter().map(|link| link.page).collect(),
            visits: old.as_ref().map_or(0, |old| old.visits) + 1,
            changes: old.as_ref().map_or(0, |old| old.changes) + u32::from(changed == Some(true)),
            // A body that was there before is not archived twice.
            place: match &old {
                Some(old) if old.digest == content.digest => old.place,
                _ => place.unwrap_or_default(),
            },
        };
        self.batch.copies.insert(page, row);
        let last_modified = content.last_modified_micros.map(|micros| self.time(micros));
        let (previous, sketch) = (old.map(|old| old.at), content.sketch);
        let outcome = Told::Content { changed, last_modified, sketch, links, anchors };
        self.tell(Input::Fetched(Fetched { page, at: now, kind, previous, outcome }), "")
    }

    fn confirm_copy(
        &mut self,
        page: PageId,
        mut row: CopyRow,
        kind: FetchKind,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.tally.revisits += 1;
        let previous = Some(std::mem::replace(&mut row.at, now));
        row.visits += 1;
        let links = row.links.iter().map(|&page| LinkSeen { page, is_new: false }).collect();
        let outcome = Told::Content {
            changed: Some(false),
            last_modified: None,
            sketch: row.sketch.clone(),
            links,
            anchors: Vec::new(),
        };
        self.batch.copies.insert(page, row);
        self.tell(Input::Fetched(Fetched { page, at: now, kind, previous, outcome }), "")
    }

    /// Hints that a page has changed, if that was after the copy held and is not yet to come.
    fn hint(&mut self, page: PageId, date: Time, kind: &str, now: Time) -> Result<(), CrawlError> {
        let is_newer = self.copy(page)?.is_some_and(|copy| date > copy.at && date <= now);
        if is_newer {
            self.tell(Input::Hint { page, at: now, kind: kind.to_owned() }, "")?;
        }
        Ok(())
    }

    /// Makes a page's links into pages. What the page says of them that it did not say when it was last
    /// seen is a hint.
    fn links(
        &mut self,
        page: PageId,
        content: &mut Content,
        depth: u16,
        seen_before: Option<Time>,
        now: Time,
    ) -> Result<(Vec<LinkSeen>, Vec<String>), CrawlError> {
        let found = Found { via: Some(page), depth, ..Found::named(false) };
        let mut seen = Vec::with_capacity(content.links.len());
        let mut anchors = Vec::with_capacity(content.links.len());
        let mut dates = content.dated.iter().copied().peekable();
        for (place, (url, anchor)) in std::mem::take(&mut content.links).into_iter().enumerate() {
            let date = dates.next_if(|dated| dated.0 == place).map(|dated| self.time(dated.1));
            if let Some(link) = self.link(&url, found, now)? {
                let said =
                    date.filter(|date| !link.is_new && seen_before.is_none_or(|at| *date > at));
                if let Some(date) = said {
                    self.hint(link.page, date, content.list, now)?;
                }
                seen.push(link);
                anchors.push(anchor);
            }
        }
        for url in &content.feeds {
            self.link(url, Found { is_source: true, ..found }, now)?;
        }
        Ok((seen, anchors))
    }

    /// The page that a link leads to, made known if it is not; `None` if it is dropped.
    fn link(
        &mut self,
        url: &CanonicalUrl,
        found: Found,
        now: Time,
    ) -> Result<Option<LinkSeen>, CrawlError> {
        if let Some(page) = self.store.page_of(url.as_str())? {
            return Ok(Some(LinkSeen { page, is_new: false }));
        }
        if !self.may_know(url, found.depth) {
            return Ok(None);
        }
        let page = self.add_page(url, found, now)?;
        self.probe(self.frontier.host_of(page), now)?;
        Ok(Some(LinkSeen { page, is_new: true }))
    }

    /// Whether a URL may become a page; what is dropped is counted.
    fn may_know(&mut self, url: &CanonicalUrl, depth: u16) -> bool {
        if !self.config.leave_seed_hosts && !self.seed_hosts.contains(url.host()) {
            self.tally.drop(DropReason::OtherHost);
            return false;
        }
        let host = self.store.host_of(url.origin());
        if host.is_some_and(|host| self.is_known_to_forbid(host, url.path_and_query())) {
            self.tally.drop(DropReason::Disallowed);
            return false;
        }
        if self.store.pages() >= self.config.most_pages() {
            self.tally.drop(DropReason::MemoryFull);
            return false;
        }
        let host_pages = host.map_or(0, |host| self.hosts[host.index()].pages);
        let found = hygiene::Found { depth, host_pages, year: self.year() };
        match self.config.tolerance.judge(url, found) {
            Ok(()) => true,
            Err(dropped) => {
                self.tally.drop(dropped);
                false
            }
        }
    }
}

/// The name of a status that asks for fewer requests.
pub(crate) fn overloaded(status: u16) -> Option<Reason> {
    match status {
        429 => Some(Reason::TooManyRequests),
        503 => Some(Reason::Unavailable),
        _ => None,
    }
}
