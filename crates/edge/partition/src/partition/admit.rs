//! Which links become pages, and which pages may be fetched.

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, HostId, LinkSeen, PageId, Time};
use tidewatch_frontier::hygiene;
use tidewatch_frontier::tape::Input;
use tidewatch_robots::{Robots, Wishes};
use tidewatch_store::{Hops, PageRow};

use super::hygiene::is_probe;
use super::{CrawlError, Found, Partition};
use crate::work::Content;

impl Partition {
    /// The page that a link leads to, made known if it is not; `None` if it is dropped or belongs to
    /// another partition. By rules learnt a URL may be another address of a known page.
    pub(super) fn link(
        &mut self,
        url: &CanonicalUrl,
        found: Found,
        now: Time,
    ) -> Result<Option<LinkSeen>, CrawlError> {
        self.link_from(None, url, found, now)
    }

    /// The same for the target of a redirect, which leads away from a page.
    pub(super) fn link_from(
        &mut self,
        moved: Option<PageId>,
        url: &CanonicalUrl,
        found: Found,
        now: Time,
    ) -> Result<Option<LinkSeen>, CrawlError> {
        if self.post(url, found)? {
            return Ok(None);
        }
        if let Some(page) = self.pages.page_of(url.as_str())? {
            return Ok(Some(LinkSeen { page, is_new: false }));
        }
        if let Err(dropped) = self.may_know(url, found) {
            self.tally.drop(dropped);
            return Ok(None);
        }
        // Sources and requisites are exempt: they were named on purpose.
        let is_judged = self.config.learn_rules && !found.is_source && !found.hops.is_requisite();
        let verdict = is_judged.then(|| self.judge(url)).transpose()?;
        let verdict = verdict.map(|verdict| verdict.away_from(moved));
        if let Some(verdict) = &verdict
            && let Some(page) = verdict.same()
        {
            self.spare(verdict);
            return Ok(Some(LinkSeen { page, is_new: false }));
        }
        let page = self.add_page(url, found, now)?;
        if let Some(verdict) = &verdict {
            self.file(page, verdict, now)?;
        }
        self.probe(self.taped.host_of(page), now)?;
        Ok(Some(LinkSeen { page, is_new: true }))
    }

    /// Makes the requisites of a page known. Those of a style sheet are one step farther from the
    /// seeds, so that no chain of them is endless. A requisite's links are not followed.
    pub(super) fn need(
        &mut self,
        page: PageId,
        row: &PageRow,
        content: &mut Content,
        now: Time,
    ) -> Result<(), CrawlError> {
        let is_requisite = row.hops.is_requisite();
        if is_requisite {
            content.links.clear();
            content.dated.clear();
            content.feeds.clear();
        }
        let depth = row.depth.saturating_add(u16::from(is_requisite));
        let found =
            Found { via: Some(page), depth, hops: Hops::requisite(), ..Found::named(false) };
        for url in std::mem::take(&mut content.requisites) {
            self.link(&url, found, now)?;
        }
        Ok(())
    }

    /// Whether a URL may become a page.
    fn may_know(&self, url: &CanonicalUrl, found: Found) -> Result<(), DropReason> {
        let host = self.pages.host_of(url.origin());
        let host_pages = host.map_or(0, |host| self.pages.pages_of(host));
        let Found { depth, is_source, hops, .. } = found;
        let found = hygiene::Found { depth, host_pages, year: self.timeline.year() };
        if hops.is_requisite() {
            self.scope.admit_requisite(url, found)?;
        } else {
            self.scope.admit(url, is_source, found)?;
        }
        // A page that is forbidden by rules not in memory is dropped when its turn comes.
        let path = url.path_and_query();
        if let Some(robots) = host.and_then(|host| self.robots.of(host))
            && !self.config.is_own(url)
        {
            self.forbids(robots, path).map_or(Ok(()), Err)?;
        }
        if self.pages.store().pages() >= self.config.most_pages() {
            return Err(DropReason::MemoryFull);
        }
        Ok(())
    }

    /// Why a known page must not be fetched now: the scope is narrower than when the page became known,
    /// robots.txt disallows it, or denies every declared use.
    pub(super) fn barred(
        &mut self,
        host: HostId,
        url: &CanonicalUrl,
        row: &PageRow,
    ) -> Result<Option<DropReason>, CrawlError> {
        // A probe needs no include pattern: it is there for its host.
        let is_source = row.is_source || is_probe(row);
        let is_needed = row.hops.is_requisite() && self.scope.covers_requisite(url).is_ok();
        match self.scope.still_covers(url, is_source, row.depth) {
            Err(dropped) if !is_needed => return Ok(Some(dropped)),
            _ => {}
        }
        if self.config.is_own(url) {
            return Ok(None);
        }
        self.forbidden(host, &row.path)
    }

    /// Whether robots.txt disallows a URL that is fetched nevertheless, as one of an own host.
    pub fn overrides_robots(&mut self, url: &CanonicalUrl) -> Result<bool, CrawlError> {
        let Some(host) = self.pages.host_of(url.origin()) else { return Ok(false) };
        Ok(self.config.is_own(url) && self.forbidden(host, url.path_and_query())?.is_some())
    }

    /// Tells the frontier the gaps of known hosts that have changed.
    pub(super) fn tell_gaps(&mut self) -> Result<(), CrawlError> {
        for host in (0..self.pages.hosts() as u32).map(HostId) {
            let gap = match &self.config.sites[..] {
                [] => None,
                _ => self.config.delay_of(&self.pages.url(host, "/")?),
            };
            if gap != self.taped.memo(host).own_gap {
                self.taped.tell(Input::HostGap { host, gap })?;
            }
        }
        Ok(())
    }

    /// Why the host's robots.txt forbids a path, if it was read and does.
    pub(super) fn forbidden(
        &mut self,
        host: HostId,
        path: &str,
    ) -> Result<Option<DropReason>, CrawlError> {
        self.read_robots(host)?;
        Ok(self.robots.of(host).and_then(|robots| self.forbids(robots, path)))
    }

    /// What the host's robots.txt says about the use of a path.
    pub(super) fn wishes(&mut self, host: HostId, path: &str) -> Result<Wishes, CrawlError> {
        self.read_robots(host)?;
        Ok(self.robots.of(host).map_or(Wishes::NONE, |robots| robots.wishes(path)))
    }

    fn forbids(&self, robots: &Robots, path: &str) -> Option<DropReason> {
        if !robots.allows(path) {
            return Some(DropReason::Disallowed);
        }
        robots.wishes(path).denies_all(&self.config.uses).then_some(DropReason::UseDenied)
    }

    /// Caches the host's robots.txt, if it was ever read.
    pub(super) fn read_robots(&mut self, host: HostId) -> Result<(), CrawlError> {
        if self.robots.of(host).is_none()
            && let Some(row) = self.pages.host_row(host)?.robots
        {
            let robots = Robots::of_response(row.status, &row.body, &self.config.agent);
            self.robots.keep(host, robots);
        }
        Ok(())
    }
}
