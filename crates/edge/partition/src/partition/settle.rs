//! What a report tells the frontier and changes in the tables.

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{FetchKind, HostId, LinkSeen, PageId, Reason, Span, Time};
use tidewatch_frontier::tape::{Came as Told, Fetched, Input};
use tidewatch_frontier::{Answer, RobotsRead};
use tidewatch_hygiene::Showed;
use tidewatch_robots::Robots;
use tidewatch_store::{CopyRow, PageRow, Place, RobotsRow};

use super::hygiene::is_probe;
use super::{CrawlError, Found, Partition};
use crate::work::{Came, Content, Report};

/// How long a robots.txt is cached (RFC 9309 §2.4).
const ROBOTS_HOLD: Span = Span::DAY;
/// Longest and shortest time that an address is cached.
const MOST_TTL: Span = Span::DAY;
const LEAST_TTL: Span = Span::MINUTE;

/// The result of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The page's copy is new or confirmed.
    Held(PageId),
    /// The page is gone or dropped.
    Gone(PageId),
    /// Neither.
    Nothing,
}

impl Settled {
    /// The page whose copy is new or confirmed.
    pub fn held(self) -> Option<PageId> {
        if let Settled::Held(page) = self { Some(page) } else { None }
    }
}

/// A page before its report is taken in.
pub(super) struct Before {
    pub(super) page: PageId,
    pub(super) row: PageRow,
    pub(super) copy: Option<CopyRow>,
    pub(super) kind: FetchKind,
}

impl Partition {
    /// Takes in the report of a job. It joins the next commit.
    pub fn take_in(&mut self, report: Report, now: Time) -> Result<Settled, CrawlError> {
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
                self.note_page(page, &came, status, now);
                if status.is_some() {
                    self.host_answers(host)?;
                }
                let packed = packed.filter(|_| !self.is_denied(&came));
                let place = packed.and_then(|packed| {
                    self.tally.archive_bytes += packed.len() as u64;
                    self.shelf.append(&packed, unix_micros)
                });
                self.settle_page(host, page, came, place, took, now)?
            }
        })
    }

    /// Whether the owner of a page denies every declared use, so that nothing of it is kept.
    fn is_denied(&self, came: &Came) -> bool {
        matches!(came, Came::Content(content) if content.capture.wishes.denies_all(&self.config.uses))
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
                let server = self.pages.resolved(host, address);
                let good_until = now + ttl.clamp(LEAST_TTL, MOST_TTL);
                self.taped.tell(Input::Resolved { host, server, good_until, at: now })?;
                Ok(())
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
            Err(Reason::OwnStop) => {
                return self.give_up(host, (Answer::Usual, took), Reason::OwnStop, now);
            }
            Err(why) => return self.without_robots(host, (without_answer(why), took), why, now),
        };
        let answer = overloaded(status).map_or(Answer::Usual, |_| Answer::Overloaded(retry_after));
        let robots = Robots::of_response(status, &body, &self.config.agent);
        let url = self.pages.url(host, "/robots.txt")?;
        let is_own = self.config.is_own(&url);
        if robots.is_unreachable() && !is_own {
            return self.without_robots(host, (answer, took), Reason::RobotsUnreachable, now);
        }
        // A delay set for an own host stands instead of its Crawl-delay.
        let asked =
            robots.crawl_delay().filter(|_| !is_own || self.config.delay_of(&url).is_none());
        let delay = asked.map_or(Span::ZERO, |delay| {
            Span::from_micros(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX))
        });
        let good_until = now + ROBOTS_HOLD;
        let sitemaps = robots.sitemaps().to_vec();
        self.host_answers(host)?;
        self.robots.keep(host, robots);
        self.pages.put_robots(host, RobotsRow { status, body, at: now, good_until })?;
        let read = RobotsRead { answer, took, crawl_delay: delay, good_until };
        self.taped.tell(Input::Robots { host, read, at: now })?;
        self.add_sitemaps(&url, &sitemaps, now)
    }

    /// Closes a host for a while because its robots.txt cannot be read.
    fn without_robots(
        &mut self,
        host: HostId,
        answer: (Answer, Span),
        why: Reason,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.give_up(host, answer, why, now)?;
        self.taped.tell(Input::Closed { host, until: now + self.config.robots_retry })?;
        Ok(())
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
        self.note_host(host, why, now);
        let page = self.taped.job_of(host);
        self.taped.tell(Input::GivenUp { host, answer: Some(answer), at: now })?;
        page.map_or(Ok(()), |page| self.tell_failed(page, why, now))
    }

    /// Sitemaps are sources: pages that are watched for links. Their URLs should be absolute; some are not.
    fn add_sitemaps(
        &mut self,
        robots: &CanonicalUrl,
        sitemaps: &[String],
        now: Time,
    ) -> Result<(), CrawlError> {
        for sitemap in sitemaps {
            let Ok(url) = robots.join(sitemap) else { continue };
            self.link(&url, Found::named(true), now)?;
        }
        Ok(())
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
        let (row, copy) = (self.pages.page_row(page)?, self.pages.copy(page)?);
        let kind = self.taped.fetch_kind(page);
        let before = Before { page, row, copy, kind };
        self.tally.count_fetch(kind);
        let answer = match came {
            Came::Overloaded(_, retry_after) => Answer::Overloaded(retry_after),
            Came::Nothing(why) => without_answer(why),
            _ => Answer::Usual,
        };
        self.taped.tell(Input::Left { host, answer, took, at: now })?;
        if is_probe(&before.row) && self.take_probe(&before.row, &came)? {
            self.tell_outcome(page, Told::Gone, now)?;
            return Ok(Settled::Nothing);
        }
        self.fail_forms(page, host, &came, now)?;
        match came {
            Came::Content(mut content) => {
                self.take_forms(page, host, &mut content, took, now)?;
                let is_held = before.copy.is_some();
                if let Some(why) = self.unwanted(page, &before.row, &content, is_held, now)? {
                    self.tally.drop(why);
                    self.note_drop(page, why, now);
                    self.learn_drop(page, &content, why, !is_held)?;
                    self.leave_out(page, now)?;
                    return Ok(Settled::Gone(page));
                }
                self.learn_page(page, &content, false, !is_held)?;
                self.aim_by(page, &before.row, &mut content, !is_held, now)?;
                self.take_copy(before, *content, place, now)?;
                return Ok(Settled::Held(page));
            }
            Came::Same => {
                if let Some(copy) = before.copy {
                    self.confirm_copy(page, copy, before.kind, now)?;
                    return Ok(Settled::Held(page));
                }
                // 304 to an unconditional request.
                self.tally.count(Reason::ClientError);
                self.tell_failed(page, Reason::ClientError, now)?;
            }
            Came::Moved { to, for_good } => return self.follow(&before, &to, for_good, now),
            Came::Gone => {
                self.tally.count(Reason::Gone);
                self.learn(page, Showed::Nothing, before.copy.is_none())?;
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
        let hops = row.hops.and_redirect();
        if usize::from(hops.redirects()) > self.config.fetch.redirects {
            self.tally.count(Reason::TooManyRedirects);
            self.tell_outcome(page, Told::Failed(Reason::TooManyRedirects), now)?;
            return Ok(Settled::Nothing);
        }
        // A redirect counts as a link: it leads away from the seeds too.
        let depth = row.depth.saturating_add(1);
        let found = Found { via: row.via, depth, hops, is_source: row.is_source, weight: 1.0 };
        self.link_from(Some(page), to, found, now)?;
        self.learn(page, Showed::Moved(to.as_str()), from.copy.is_none())?;
        self.tally.count(Reason::Redirect);
        if for_good {
            self.leave_out(page, now)?;
            return Ok(Settled::Gone(page));
        }
        self.tell_outcome(page, Told::Failed(Reason::Redirect), now)?;
        Ok(Settled::Nothing)
    }

    pub(super) fn take_copy(
        &mut self,
        before: Before,
        mut content: Content,
        place: Option<Place>,
        now: Time,
    ) -> Result<(), CrawlError> {
        let Before { page, row, copy: old, kind } = before;
        let changed = old.as_ref().map(|old| old.identity != content.identity);
        let depth = row.depth.saturating_add(1);
        self.need(page, &row, &mut content, now)?;
        let seen = old.as_ref().map(|old| old.at);
        let (links, anchors) = self.links(page, &mut content, depth, seen, now)?;
        content.announced.take().into_iter().for_each(|said| self.announced.note(said));
        self.tally.copies += 1;
        self.tally.held += u64::from(old.is_none());
        if let Some((seen, changed)) = seen.zip(changed) {
            self.tally.count_revisit(changed, now.since(seen));
        }
        // A body that is in the archive is not archived twice.
        let same = old.as_ref().filter(|old| old.digest == content.digest);
        let url = same.map(|_| self.pages.address(page)).transpose()?;
        let kept = same
            .zip(url)
            .filter(|(old, url)| self.shelf.holds(page, old.place, url.as_str()))
            .map(|(old, _)| old)
            .map(|old| (old.place, old.capture.clone()));
        let (place, capture) =
            kept.unwrap_or_else(|| (place.unwrap_or_default(), Some(content.capture)));
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
            place,
            capture,
        };
        self.pages.put_copy(page, row);
        let last_modified = content.last_modified_micros.map(|micros| self.time(micros));
        let (previous, sketch) = (old.map(|old| old.at), content.sketch);
        let outcome = Told::Content { changed, last_modified, sketch, links, anchors };
        self.taped.tell(Input::Fetched(Fetched { page, at: now, kind, previous, outcome }))?;
        Ok(())
    }

    pub(super) fn confirm_copy(
        &mut self,
        page: PageId,
        mut row: CopyRow,
        kind: FetchKind,
        now: Time,
    ) -> Result<(), CrawlError> {
        self.tally.count_revisit(false, now.since(row.at));
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
        self.pages.put_copy(page, row);
        self.taped.tell(Input::Fetched(Fetched { page, at: now, kind, previous, outcome }))?;
        Ok(())
    }

    /// Hints that a page has changed, if `date` lies between its copy and now.
    fn hint(&mut self, page: PageId, date: Time, kind: &str, now: Time) -> Result<(), CrawlError> {
        let is_newer = self.pages.copy(page)?.is_some_and(|copy| date > copy.at && date <= now);
        if is_newer {
            self.taped.tell(Input::Hint { page, at: now, kind: kind.to_owned() })?;
        }
        Ok(())
    }

    /// Makes a page's links into pages. A date newer than the page's last visit is a hint that the
    /// linked page has changed.
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
                if link.is_new {
                    self.aim_at(link.page, &url, &anchor, now)?;
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
}

/// How politeness sees a request that brought no page: a host rests if it is unwell, not because one
/// of its pages is bad.
fn without_answer(why: Reason) -> Answer {
    if why.is_hosts_fault() { Answer::Nothing } else { Answer::Usual }
}

/// The reason for a status that asks for fewer requests.
pub(crate) fn overloaded(status: u16) -> Option<Reason> {
    match status {
        429 => Some(Reason::TooManyRequests),
        503 => Some(Reason::Unavailable),
        _ => None,
    }
}
