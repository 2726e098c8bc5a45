//! Which links become pages, and which pages may be fetched.

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, HostId, LinkSeen, Time};
use tidewatch_frontier::hygiene;
use tidewatch_robots::Robots;
use tidewatch_store::PageRow;

use super::hygiene::is_probe;
use super::{CrawlError, Found, Partition};

impl Partition {
    /// The page that a link leads to, made known if it is not; `None` if it is dropped or belongs to
    /// another partition.
    pub(super) fn link(
        &mut self,
        url: &CanonicalUrl,
        found: Found,
        now: Time,
    ) -> Result<Option<LinkSeen>, CrawlError> {
        if self.post(url, found) {
            return Ok(None);
        }
        if let Some(page) = self.pages.page_of(url.as_str())? {
            return Ok(Some(LinkSeen { page, is_new: false }));
        }
        if let Err(dropped) = self.may_know(url, found) {
            self.tally.drop(dropped);
            return Ok(None);
        }
        let page = self.add_page(url, found, now)?;
        self.probe(self.taped.host_of(page), now)?;
        Ok(Some(LinkSeen { page, is_new: true }))
    }

    /// Whether a URL may become a page.
    fn may_know(&self, url: &CanonicalUrl, found: Found) -> Result<(), DropReason> {
        let host = self.pages.host_of(url.origin());
        let host_pages = host.map_or(0, |host| self.pages.pages_of(host));
        let Found { depth, is_source, .. } = found;
        let found = hygiene::Found { depth, host_pages, year: self.timeline.year() };
        self.scope.admit(url, is_source, found)?;
        // A page that is forbidden by rules not in memory is dropped when its turn comes.
        let path = url.path_and_query();
        if host.and_then(|host| self.robots.allows(host, path)) == Some(false) {
            return Err(DropReason::Disallowed);
        }
        if self.pages.store().pages() >= self.config.most_pages() {
            return Err(DropReason::MemoryFull);
        }
        Ok(())
    }

    /// Why a known page must not be fetched now: the scope is narrower than when the page became known,
    /// or robots.txt disallows it.
    pub(super) fn barred(
        &mut self,
        host: HostId,
        url: &CanonicalUrl,
        row: &PageRow,
    ) -> Result<Option<DropReason>, CrawlError> {
        // A probe needs no include pattern: it is there for its host.
        let is_source = row.is_source || is_probe(row);
        if let Err(dropped) = self.scope.still_covers(url, is_source, row.depth) {
            return Ok(Some(dropped));
        }
        Ok((!self.allows(host, &row.path)?).then_some(DropReason::Disallowed))
    }

    /// Whether the host's robots.txt, which has been read, allows a path.
    pub(super) fn allows(&mut self, host: HostId, path: &str) -> Result<bool, CrawlError> {
        if let Some(allows) = self.robots.allows(host, path) {
            return Ok(allows);
        }
        let Some(row) = self.pages.host_row(host)?.robots else { return Ok(true) };
        let robots = Robots::of_response(row.status, &row.body, &self.config.agent);
        let allows = robots.allows(path);
        self.robots.keep(host, robots);
        Ok(allows)
    }
}
