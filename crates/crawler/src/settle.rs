//! From reports to what the frontier hears and what the store keeps.

use tidewatch_archive::{Appended, Packed};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, LinkSeen, PageId, Span, Time};
use tidewatch_frontier::hygiene::Found;
use tidewatch_frontier::tape::{Came as Told, Fetched, Input};
use tidewatch_frontier::{Answer, RobotsRead};
use tidewatch_parse::robots::Robots;
use tidewatch_store::{CopyRow, HostRow, Place, RobotsRow};

use crate::crawl::{Crawl, CrawlError};
use crate::reason;
use crate::work::{Came, Content, Reason, Report};

/// How long a robots.txt is taken at its word (RFC 9309 §2.4).
const ROBOTS_HOLD: Span = Span::DAY;
/// How long a host without a readable robots.txt is left alone, at first.
const ROBOTS_RETRY: Span = Span::HOUR;
/// Longest that an address is believed, and shortest.
const MOST_TTL: Span = Span::DAY;
const LEAST_TTL: Span = Span::MINUTE;

impl Crawl {
    /// Takes in what came of a job, and commits it as one. Returns the page
    /// whose copy is new or confirmed, if there is one.
    pub fn settle(&mut self, report: Report, now: Time) -> Result<Option<PageId>, CrawlError> {
        let stored = match report {
            Report::Resolved { host, found, took } => {
                self.settle_address(host, found, took, now)?;
                None
            }
            Report::Robots { host, found, retry_after, took } => {
                self.settle_robots(host, found, retry_after, took, now)?;
                None
            }
            Report::Page { host, page, came, packed, unix_micros, took } => {
                let place = packed.map(|packed| self.keep(&packed, unix_micros)).transpose()?;
                self.settle_page(host, page, came, place, took, now)?
            }
        };
        self.commit()?;
        Ok(stored)
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
            return self.without_robots(host, (answer, took), "robots-unreachable", now);
        }
        let delay = robots.crawl_delay().map_or(Span::ZERO, |delay| {
            Span::from_micros(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX))
        });
        let good_until = now + ROBOTS_HOLD;
        let sitemaps = robots.sitemaps().to_vec();
        self.keep_robots(host, robots);
        let origin = self.hosts[host.index()].origin.clone();
        let robots = Some(RobotsRow { status, body, at: now, good_until });
        self.batch.hosts.insert(host, HostRow { origin, robots });
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
        self.tell(Input::Closed { host, until: now + ROBOTS_RETRY }, "")
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
        page.map_or(Ok(()), |page| self.tell_failed(page, reason::number(why), now))
    }

    /// Sitemaps are sources: pages that are watched for links.
    fn add_sitemaps(&mut self, sitemaps: &[String], now: Time) -> Result<(), CrawlError> {
        for sitemap in sitemaps {
            let Ok(url) = CanonicalUrl::parse(sitemap) else { continue };
            if self.store.page_of(url.as_str())?.is_none() && self.may_know(&url, 0) {
                self.add_page(&url, None, 0, true, now)?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, packed: &Packed, unix_micros: i64) -> Result<Place, CrawlError> {
        self.tally.archive_bytes += packed.len() as u64;
        let Appended { file, offset, bytes } = self.archive.append(packed, unix_micros)?;
        Ok(Place { file, offset, bytes })
    }

    fn settle_page(
        &mut self,
        host: HostId,
        page: PageId,
        came: Came,
        place: Option<Place>,
        took: Span,
        now: Time,
    ) -> Result<Option<PageId>, CrawlError> {
        let kind = self.kind(page, self.store.tables().copy(page)?.is_some())?;
        self.tally.count_fetch(kind);
        let answer = match came {
            Came::Overloaded(_, retry_after) => Answer::Overloaded(retry_after),
            Came::Nothing(_) => Answer::Nothing,
            _ => Answer::Usual,
        };
        self.tell(Input::Left { host, answer, took, at: now }, "")?;
        match came {
            Came::Content(content) => {
                self.take_copy(page, *content, place, now)?;
                return Ok(Some(page));
            }
            Came::Same => {
                self.confirm_copy(page, now)?;
                return Ok(Some(page));
            }
            Came::Moved { to, for_good } => {
                let row = self.page_row(page)?;
                self.link(&to, row.via, row.depth, row.is_source, now)?;
                self.tally.count("redirect");
                let told = if for_good { Told::Gone } else { failed("redirect") };
                self.tell_outcome(page, told, now)?;
            }
            Came::Gone => {
                self.tally.count("gone");
                self.tell_outcome(page, Told::Gone, now)?;
                self.batch.gone.push(page);
            }
            Came::Overloaded(why, _) | Came::Refused(why) | Came::Nothing(why) => {
                self.tally.count(why);
                self.tell_outcome(page, failed(why), now)?;
            }
        }
        Ok(None)
    }

    fn take_copy(
        &mut self,
        page: PageId,
        content: Content,
        place: Option<Place>,
        now: Time,
    ) -> Result<(), CrawlError> {
        let old = self.store.tables().copy(page)?;
        let changed = old.as_ref().map(|old| old.identity != content.identity);
        let (links, anchors) = self.links(page, &content, now)?;
        self.tally.copies += 1;
        self.tally.revisits += u64::from(changed.is_some());
        self.tally.changes += u64::from(changed == Some(true));
        let kind = self.kind(page, old.is_some())?;
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
            place: place.unwrap_or_default(),
        };
        self.batch.copies.insert(page, row);
        let last_modified = content.last_modified_micros.map(|micros| self.time(micros));
        let (previous, sketch) = (old.map(|old| old.at), content.sketch);
        let outcome = Told::Content { changed, last_modified, sketch, links, anchors };
        self.tell(Input::Fetched(Fetched { page, at: now, kind, previous, outcome }), "")
    }

    fn confirm_copy(&mut self, page: PageId, now: Time) -> Result<(), CrawlError> {
        let Some(mut row) = self.store.tables().copy(page)? else {
            // The server answered 304 to a question that was not asked.
            self.tally.count("client-error");
            return self.tell_failed(page, reason::number("client-error"), now);
        };
        self.tally.revisits += 1;
        let kind = self.kind(page, true)?;
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

    /// Makes a page's links into pages.
    fn links(
        &mut self,
        page: PageId,
        content: &Content,
        now: Time,
    ) -> Result<(Vec<LinkSeen>, Vec<String>), CrawlError> {
        let depth = self.page_row(page)?.depth.saturating_add(1);
        let (mut seen, mut anchors) = (Vec::new(), Vec::new());
        for (url, anchor) in &content.links {
            if let Some(link) = self.link(url, Some(page), depth, false, now)? {
                seen.push(link);
                anchors.push(anchor.clone());
            }
        }
        for url in &content.feeds {
            self.link(url, Some(page), depth, true, now)?;
        }
        Ok((seen, anchors))
    }

    /// The page that a link leads to, made known if it is not; `None` if it is dropped.
    fn link(
        &mut self,
        url: &CanonicalUrl,
        via: Option<PageId>,
        depth: u16,
        is_source: bool,
        now: Time,
    ) -> Result<Option<LinkSeen>, CrawlError> {
        if let Some(page) = self.store.page_of(url.as_str())? {
            return Ok(Some(LinkSeen { page, is_new: false }));
        }
        if !self.may_know(url, depth) {
            return Ok(None);
        }
        let page = self.add_page(url, via, depth, is_source, now)?;
        Ok(Some(LinkSeen { page, is_new: true }))
    }

    /// Whether a URL may become a page; what is dropped is counted.
    fn may_know(&mut self, url: &CanonicalUrl, depth: u16) -> bool {
        if !self.config.leave_seed_hosts && !self.seed_hosts.contains(url.host()) {
            self.tally.count("other-host");
            return false;
        }
        let host = self.store.host_of(url.origin());
        if host.is_some_and(|host| self.is_known_to_forbid(host, url.path_and_query())) {
            self.tally.count("disallowed");
            return false;
        }
        let host_pages = host.map_or(0, |host| self.hosts[host.index()].pages);
        let found = Found { depth, host_pages, year: self.year() };
        match self.config.tolerance.judge(url, found) {
            Ok(()) => true,
            Err(dropped) => {
                self.tally.count(dropped.name());
                false
            }
        }
    }
}

fn failed(why: Reason) -> Told {
    Told::Failed(reason::number(why))
}

/// The name of a status that asks for fewer requests.
pub(crate) fn overloaded(status: u16) -> Option<Reason> {
    match status {
        429 => Some("too-many-requests"),
        503 => Some("unavailable"),
        _ => None,
    }
}
