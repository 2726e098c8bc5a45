//! Pages that are not worth keeping, told by what they say rather than by their address.
//!
//! Two kinds. A *duplicate* says what another page of its host says: all of it
//! to a reader's eye, or so much that its whole sketch is the same. A *soft 404*
//! says with status 200 what its host says of a page that cannot exist, which
//! the host is asked for once: the probe is a page like any other, so it waits
//! for its turn, keeps the gap and obeys robots.txt.
//!
//! Whatever is left out is counted under its reason, and its policy is told
//! that it is gone.

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, HostId, PageId, Time};
use tidewatch_frontier::tape::Came as Told;
use tidewatch_store::{Absent, HostRow, PageRow, StoreError, TwinKey};
use xxhash_rust::xxh3::xxh3_64;

use crate::crawl::{Crawl, CrawlError, Found};
use crate::work::{Came, Content};

/// Begins the path of a page that cannot exist.
const PROBE: &str = "/tidewatch-probe-";
/// Fragment hashes that a sketch must have to stand for a whole page: with all
/// of so many the same, two pages share nine fragments in ten or more, most likely.
const WHOLE_SKETCH: usize = 8;

/// Whether a page is a probe.
pub(crate) fn is_probe(row: &PageRow) -> bool {
    row.via.is_none() && row.path.starts_with(PROBE)
}

/// Whether two sketches stand for nearly the same page.
fn is_near(one: &[u64], other: &[u64]) -> bool {
    one.len() >= WHOLE_SKETCH && one == other
}

impl Crawl {
    /// Adds a probe once a host has shown so many pages that it is worth one.
    pub(crate) fn probe(&mut self, host: HostId, now: Time) -> Result<(), CrawlError> {
        let known = &self.hosts[host.index()];
        let is_time = known.pages == self.config.probe_pages && known.absent.is_none();
        if self.config.probe_pages == 0 || !is_time {
            return Ok(());
        }
        let name = xxh3_64(format!("{} {}", known.origin, self.config.seed).as_bytes());
        let url = CanonicalUrl::parse(&format!("{}{PROBE}{name:016x}", known.origin));
        let Ok(url) = url else { return Ok(()) };
        if self.store.page_of(url.as_str())?.is_none() {
            self.add_page(&url, Found::named(false), now)?;
        }
        Ok(())
    }

    /// What a probe's answer says of its host; `false` if it says nothing yet.
    pub(crate) fn take_probe(&mut self, host: HostId, came: &Came) -> Result<bool, CrawlError> {
        let absent = match came {
            Came::Gone | Came::Moved { .. } => Absent::Told,
            Came::Content(content) => {
                let (identity, sketch) = (content.identity, content.sketch.clone());
                Absent::Page { identity, sketch }
            }
            _ => return Ok(false),
        };
        let row = self.host_row(host)?;
        self.batch.hosts.insert(host, HostRow { absent: Some(absent.clone()), ..row });
        self.hosts[host.index()].absent = Some(absent);
        Ok(true)
    }

    /// A host's row, committed or about to be.
    pub(crate) fn host_row(&self, host: HostId) -> Result<HostRow, CrawlError> {
        if let Some(row) = self.batch.hosts.get(&host) {
            return Ok(row.clone());
        }
        let row = self.store.tables()?.host(host)?;
        let damaged = StoreError::Damaged { table: "hosts", key: u64::from(host.0) };
        Ok(row.ok_or(damaged)?)
    }

    /// Why a page's content is not worth keeping, if it is not.
    pub(crate) fn unwanted(
        &mut self,
        page: PageId,
        row: &PageRow,
        content: &Content,
        is_held: bool,
    ) -> Result<Option<DropReason>, CrawlError> {
        // A host may show its front page for whatever it does not have.
        let is_front = row.depth == 0 || row.path == "/";
        if !is_front && self.is_soft_404(row.host, content) {
            return Ok(Some(DropReason::Soft404));
        }
        let is_judged = self.config.drop_duplicates && !row.is_source && !is_held;
        let Some(&hash) = content.sketch.first().filter(|_| is_judged) else { return Ok(None) };
        let key = TwinKey { host: row.host, hash };
        let other = match self.batch.twins.get(&key) {
            Some(&other) => Some(other),
            None => self.store.tables()?.twin(key)?,
        };
        let other = other.filter(|&other| other != page);
        let other = other.map(|other| self.copy(other)).transpose()?.flatten();
        let Some(other) = other else {
            self.batch.twins.insert(key, page);
            return Ok(None);
        };
        Ok(match other {
            copy if copy.identity == content.identity => Some(DropReason::Duplicate),
            copy if is_near(&copy.sketch, &content.sketch) => Some(DropReason::NearDuplicate),
            _ => None,
        })
    }

    fn is_soft_404(&self, host: HostId, content: &Content) -> bool {
        match &self.hosts[host.index()].absent {
            Some(Absent::Page { identity, sketch }) => {
                *identity == content.identity || is_near(sketch, &content.sketch)
            }
            Some(Absent::Told) | None => false,
        }
    }

    /// Leaves a page out of the crawl from now on.
    pub(crate) fn leave_out(&mut self, page: PageId, now: Time) -> Result<(), CrawlError> {
        if self.copy(page)?.is_some() {
            self.tally.held = self.tally.held.saturating_sub(1);
            self.batch.copies.remove(&page);
            self.batch.gone.push(page);
        }
        self.tell_outcome(page, Told::Gone, now)
    }
}
