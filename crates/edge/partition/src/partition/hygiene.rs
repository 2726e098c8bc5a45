//! Pages not worth keeping, recognised by their content rather than their URL.
//!
//! Besides pages whose owner denies every declared use, there are two kinds. A *duplicate* shows a reader
//! the same as another page of its host, or has the same whole sketch. A *soft 404* has status 200 but the
//! content that its host returns for a page that cannot exist. To learn that content, the crawl requests
//! one such URL, the *probe*, on each host, and another one in every folder with two equal pages, since a
//! folder may belong to another application. A probe is a page like any other: it waits for its turn, keeps
//! the gap and obeys robots.txt.
//!
//! Every page left out is counted under its reason, and the policy is told that it is gone.

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, HostId, PageId, Time};
use tidewatch_frontier::tape::Came as Told;
use tidewatch_store::{Absent, PageRow, TwinKey};
use xxhash_rust::xxh3::xxh3_64;

use super::{CrawlError, Found, Partition};
use crate::work::{Came, Content};

/// The last segment of a probe's path begins so.
const PROBE: &str = "tidewatch-probe-";
/// Least number of hashes in a sketch that is compared: if all of so many agree, two pages most
/// likely share nine fragments in ten or more.
const WHOLE_SKETCH: usize = 8;

/// Whether a page is a probe.
pub(super) fn is_probe(row: &PageRow) -> bool {
    let name = row.path.rsplit('/').next().unwrap_or_default();
    row.via.is_none() && name.starts_with(PROBE)
}

/// The first folder of a path: `/shop/` of `/shop/shoes/1`, `/` of `/about`.
fn folder(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    path.get(1..).and_then(|rest| rest.find('/')).map_or("/", |end| &path[..end + 2])
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
        self.probe_in(host, "/", now)
    }

    /// Adds a probe of a folder in which two pages say the same, unless one was made.
    fn probe_folder(&mut self, host: HostId, folder: &str, now: Time) -> Result<(), CrawlError> {
        let is_wanted = self.config.probe_pages > 0
            && folder != "/"
            && self.pages.absent_in(host, folder).is_none();
        if is_wanted { self.probe_in(host, folder, now) } else { Ok(()) }
    }

    fn probe_in(&mut self, host: HostId, folder: &str, now: Time) -> Result<(), CrawlError> {
        let origin = self.pages.origin(host);
        let name = xxh3_64(format!("{origin} {}", self.config.seed).as_bytes());
        let url = CanonicalUrl::parse(&format!("{origin}{folder}{PROBE}{name:016x}"));
        let Ok(url) = url else { return Ok(()) };
        if self.pages.page_of(url.as_str())?.is_none()
            && (folder == "/" || self.pages.may_probe_folder(host))
        {
            self.add_page(&url, Found::named(false), now)?;
        }
        Ok(())
    }

    /// Stores what a probe's answer tells of its host; `false` if it tells nothing yet.
    pub(super) fn take_probe(&mut self, row: &PageRow, came: &Came) -> Result<bool, CrawlError> {
        let absent = match came {
            Came::Gone | Came::Moved { .. } => Absent::Told,
            Came::Content(content) => {
                let (identity, sketch) = (content.identity, content.sketch.clone());
                Absent::Page { identity, sketch }
            }
            _ => return Ok(false),
        };
        match folder(&row.path) {
            "/" => self.pages.put_absent(row.host, absent)?,
            folder => self.pages.put_absent_in(row.host, folder, absent)?,
        }
        Ok(true)
    }

    /// Why to drop a page's content; `None` to keep it.
    pub(super) fn unwanted(
        &mut self,
        page: PageId,
        row: &PageRow,
        content: &Content,
        is_held: bool,
        now: Time,
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
        if !is_front && self.is_soft_404(row, content) {
            return Ok(Some(DropReason::Soft404));
        }
        let is_judged = self.config.drop_duplicates && !row.is_source && !is_held;
        let Some(&hash) = content.sketch.first().filter(|_| is_judged) else { return Ok(None) };
        let key = TwinKey { host: row.host, hash };
        let other = self.pages.twin(key)?.filter(|&other| other != page);
        let twin = other.map(|other| Ok::<_, CrawlError>((other, self.pages.copy(other)?)));
        let Some((other, Some(copy))) = twin.transpose()? else {
            self.pages.put_twin(key, page);
            return Ok(None);
        };
        let why = match copy {
            copy if copy.identity == content.identity => DropReason::Duplicate,
            copy if is_near(&copy.sketch, &content.sketch) => DropReason::NearDuplicate,
            _ => return Ok(None),
        };
        // Either one is a copy of the other, or both say that there is no such page.
        let folder = folder(&row.path);
        if self.pages.page_row(other)?.path.starts_with(folder) {
            self.probe_folder(row.host, folder, now)?;
        }
        Ok(Some(why))
    }

    fn is_soft_404(&self, row: &PageRow, content: &Content) -> bool {
        let in_folder = self.pages.absent_in(row.host, folder(&row.path));
        self.pages.absent(row.host).into_iter().chain(in_folder).any(|absent| match absent {
            Absent::Page { identity, sketch } => {
                *identity == content.identity || is_near(sketch, &content.sketch)
            }
            Absent::Told => false,
        })
    }

    /// Removes a page's copy and tells the policy that the page is gone.
    pub(super) fn leave_out(&mut self, page: PageId, now: Time) -> Result<(), CrawlError> {
        if self.pages.remove_copy(page)? {
            self.tally.held = self.tally.held.saturating_sub(1);
        }
        self.tell_outcome(page, Told::Gone, now)
    }
}
