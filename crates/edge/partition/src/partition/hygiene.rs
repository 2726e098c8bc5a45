//! Pages not worth keeping, recognised by their content rather than their URL.
//!
//! Besides pages whose owner denies every declared use, there are two kinds. A *duplicate* shows a reader the same as another page of its host, or has the same
//! whole sketch. A *soft 404* has status 200 but the content that its host returns for a page that
//! cannot exist. The crawl requests such a page once: the probe is a page like any other, so it
//! waits for its turn, keeps the gap and obeys robots.txt.
//!
//! Every page left out is counted under its reason, and the policy is told that it is gone.

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, HostId, PageId, Time};
use tidewatch_frontier::tape::Came as Told;
use tidewatch_store::{Absent, PageRow, TwinKey};
use xxhash_rust::xxh3::xxh3_64;

use super::{CrawlError, Found, Partition};
use crate::work::{Came, Content};

/// Path prefix of probes.
const PROBE: &str = "/tidewatch-probe-";
/// Least number of hashes in a sketch that is compared: if all of so many agree, two pages most
/// likely share nine fragments in ten or more.
const WHOLE_SKETCH: usize = 8;

/// Whether a page is a probe.
pub(super) fn is_probe(row: &PageRow) -> bool {
    row.via.is_none() && row.path.starts_with(PROBE)
}

/// Whether two sketches are of nearly the same page.
fn is_near(one: &[u64], other: &[u64]) -> bool {
    one.len() >= WHOLE_SKETCH && one == other
}

impl Partition {
    /// Adds a probe once `probe_pages` pages of a host are known.
    pub(super) fn probe(&mut self, host: HostId, now: Time) -> Result<(), CrawlError> {
        let is_time = self.pages.pages_of(host) == self.config.probe_pages
            && self.pages.absent(host).is_none();
        if self.config.probe_pages == 0 || !is_time {
            return Ok(());
        }
        let origin = self.pages.origin(host);
        let name = xxh3_64(format!("{origin} {}", self.config.seed).as_bytes());
        let url = CanonicalUrl::parse(&format!("{origin}{PROBE}{name:016x}"));
        let Ok(url) = url else { return Ok(()) };
        if self.pages.page_of(url.as_str())?.is_none() {
            self.add_page(&url, Found::named(false), now)?;
        }
        Ok(())
    }

    /// Stores what a probe's answer tells of its host; `false` if it tells nothing yet.
    pub(super) fn take_probe(&mut self, host: HostId, came: &Came) -> Result<bool, CrawlError> {
        let absent = match came {
            Came::Gone | Came::Moved { .. } => Absent::Told,
            Came::Content(content) => {
                let (identity, sketch) = (content.identity, content.sketch.clone());
                Absent::Page { identity, sketch }
            }
            _ => return Ok(false),
        };
        self.pages.put_absent(host, absent)?;
        Ok(true)
    }

    /// Why to drop a page's content; `None` to keep it.
    pub(super) fn unwanted(
        &mut self,
        page: PageId,
        row: &PageRow,
        content: &Content,
        is_held: bool,
    ) -> Result<Option<DropReason>, CrawlError> {
        if content.capture.wishes.denies_all(&self.config.uses) {
            return Ok(Some(DropReason::UseDenied));
        }
        if row.hops.is_requisite() {
            return Ok(None);
        }
        let is_list = row.is_source || !content.list.is_empty();
        if row.depth > 0 && !is_list && !self.scope.wants_media(&content.capture.media_type) {
            return Ok(Some(DropReason::FileType));
        }
        // A host may return its front page for every page that it does not have.
        let is_front = row.depth == 0 || row.path == "/";
        if !is_front && self.is_soft_404(row.host, content) {
            return Ok(Some(DropReason::Soft404));
        }
        let is_judged = self.config.drop_duplicates && !row.is_source && !is_held;
        let Some(&hash) = content.sketch.first().filter(|_| is_judged) else { return Ok(None) };
        let key = TwinKey { host: row.host, hash };
        let other = self.pages.twin(key)?.filter(|&other| other != page);
        let other = other.map(|other| self.pages.copy(other)).transpose()?.flatten();
        let Some(other) = other else {
            self.pages.put_twin(key, page);
            return Ok(None);
        };
        Ok(match other {
            copy if copy.identity == content.identity => Some(DropReason::Duplicate),
            copy if is_near(&copy.sketch, &content.sketch) => Some(DropReason::NearDuplicate),
            _ => None,
        })
    }

    fn is_soft_404(&self, host: HostId, content: &Content) -> bool {
        match self.pages.absent(host) {
            Some(Absent::Page { identity, sketch }) => {
                *identity == content.identity || is_near(sketch, &content.sketch)
            }
            Some(Absent::Told) | None => false,
        }
    }

    /// Removes a page's copy and tells the policy that the page is gone.
    pub(super) fn leave_out(&mut self, page: PageId, now: Time) -> Result<(), CrawlError> {
        if self.pages.remove_copy(page)? {
            self.tally.held = self.tally.held.saturating_sub(1);
        }
        self.tell_outcome(page, Told::Gone, now)
    }
}
