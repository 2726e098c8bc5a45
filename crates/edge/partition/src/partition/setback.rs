//! Why nothing comes from a page or its host, and whether a crawl can start at all.
//!
//! The newest [`Setback`] of every host and page is stored, so `why` can name what is in the way before
//! it speaks of prices. A host's is removed by its next answer; a page's counts until it has a newer
//! copy.

use rustc_hash::FxHashSet;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{DropReason, HostId, PageId, Reason, Time};
use tidewatch_frontier::tape::Input;
use tidewatch_store::{Setback, SetbackCause, SetbackOf};

use super::{CrawlError, Partition};
use crate::explain::lasting;
use crate::work::Came;

/// A crawl that knows more pages than this has started.
const MOST_PAGES: u32 = 10_000;
/// How many pages are named when a crawl cannot start.
const NAMED: usize = 3;

/// Hosts and pages from which this run expects nothing.
#[derive(Default)]
pub(super) struct Hopeless {
    of: FxHashSet<SetbackOf>,
    /// Hosts that answered and have no setback stored.
    well: FxHashSet<HostId>,
}

/// Whether waiting helps against a failure.
const fn is_lasting(cause: SetbackCause) -> bool {
    match cause {
        SetbackCause::Dropped(_) => true,
        SetbackCause::Failed(reason) => matches!(
            reason,
            Reason::BlockedAddress
                | Reason::NoAddress
                | Reason::Forbidden
                | Reason::ClientError
                | Reason::Gone
                | Reason::Redirect
                | Reason::RedirectRefused
                | Reason::RedirectWithoutLocation
        ),
    }
}

/// Whether a failure ended before any request was sent.
const fn was_not_asked(cause: SetbackCause) -> bool {
    matches!(cause, SetbackCause::Failed(Reason::BlockedAddress | Reason::NoAddress | Reason::Dns))
}

impl Partition {
    /// Notes why a page or host brought nothing.
    pub(super) fn set_back(&mut self, of: SetbackOf, setback: Setback) {
        if is_lasting(setback.cause)
            && self.tally.held == 0
            && self.pages.store().pages() <= MOST_PAGES
        {
            self.hopeless.of.insert(of);
        } else {
            self.hopeless.of.remove(&of);
        }
        if let SetbackOf::Host(host) = of {
            self.hopeless.well.remove(&host);
        }
        self.pages.put_setback(of, Some(setback));
    }

    /// Notes the result of a page request, if it brought no copy.
    pub(super) fn note_page(&mut self, page: PageId, came: &Came, status: Option<u16>, now: Time) {
        let (reason, to) = match came {
            Came::Content(_) | Came::Same => return,
            Came::Moved { to, .. } => (Reason::Redirect, Some(to.as_str().to_owned())),
            Came::Gone => (Reason::Gone, None),
            Came::Overloaded(why, _) | Came::Refused(why) | Came::Nothing(why) => (*why, None),
        };
        let cause = SetbackCause::Failed(reason);
        self.set_back(SetbackOf::Page(page), Setback { at: now, cause, status, to });
    }

    /// Notes that a page was not requested, or not kept.
    pub(super) fn note_drop(&mut self, page: PageId, dropped: DropReason, now: Time) {
        let cause = SetbackCause::Dropped(dropped);
        self.set_back(SetbackOf::Page(page), Setback { at: now, cause, status: None, to: None });
    }

    /// Notes that a host's name was not resolved or its robots.txt not read.
    pub(super) fn note_host(&mut self, host: HostId, reason: Reason, now: Time) {
        let cause = SetbackCause::Failed(reason);
        self.set_back(SetbackOf::Host(host), Setback { at: now, cause, status: None, to: None });
    }

    /// Lets a page be fetched that an earlier scope, or its host's robots.txt, left out.
    pub(super) fn reopen_if_allowed(&mut self, page: PageId, now: Time) -> Result<(), CrawlError> {
        let of = SetbackOf::Page(page);
        let Some(Setback { cause: SetbackCause::Dropped(_), .. }) = self.pages.setback(of)? else {
            return Ok(());
        };
        let (url, row) = (self.address(page)?, self.pages.page_row(page)?);
        if self.barred(row.host, &url, &row)?.is_none() {
            self.pages.put_setback(of, None);
            self.taped.tell(Input::PageReopened { page, at: now })?;
        }
        Ok(())
    }

    /// Tries everything anew, if no earlier run brought a single copy: the operator has likely mended
    /// what was in the way. A server that asked for fewer requests, or did not answer, is not asked sooner.
    pub(super) fn start_anew(&mut self, now: Time) -> Result<(), CrawlError> {
        let pages = self.pages.store().pages();
        if self.tally.held > 0 || pages > MOST_PAGES {
            return Ok(());
        }
        let mut reopened = Vec::new();
        for host in (0..self.pages.hosts() as u32).map(HostId) {
            let setback = self.pages.setback(SetbackOf::Host(host))?;
            if setback.is_some_and(|setback| was_not_asked(setback.cause)) {
                self.taped.tell(Input::HostReopened { host, at: now })?;
                reopened.push(host);
            }
        }
        for page in (0..pages).map(PageId) {
            let own = self.pages.setback(SetbackOf::Page(page))?;
            let is_mended = own.is_some_and(|setback| is_lasting(setback.cause));
            if is_mended || reopened.contains(&self.taped.host_of(page)) {
                self.pages.put_setback(SetbackOf::Page(page), None);
                self.taped.tell(Input::PageReopened { page, at: now })?;
            }
        }
        reopened.into_iter().for_each(|host| self.pages.put_setback(SetbackOf::Host(host), None));
        Ok(())
    }

    /// Notes that a host answers.
    pub(super) fn host_answers(&mut self, host: HostId) -> Result<(), CrawlError> {
        if !self.hopeless.well.insert(host) {
            return Ok(());
        }
        let of = SetbackOf::Host(host);
        self.hopeless.of.remove(&of);
        if self.pages.setback(of)?.is_some() {
            self.pages.put_setback(of, None);
        }
        Ok(())
    }

    /// Whether no page of the crawl is held and nothing can be expected from any. Among several
    /// partitions all must have said so for a while, because links may be on their way. `is_idle`: no
    /// request is under way.
    pub(crate) fn cannot_start(&self, is_idle: bool) -> bool {
        let is_stuck = is_idle && self.expects_nothing();
        match self.member() {
            Some(member) => member.are_all_stuck(is_stuck),
            None => is_stuck && self.pages.store().pages() > 0,
        }
    }

    fn expects_nothing(&self) -> bool {
        let pages = self.pages.store().pages();
        if self.tally.held > 0 || pages > MOST_PAGES || self.rereading().is_some() {
            return false;
        }
        (0..pages).map(PageId).all(|page| {
            let host = SetbackOf::Host(self.taped.host_of(page));
            self.hopeless.of.contains(&SetbackOf::Page(page)) || self.hopeless.of.contains(&host)
        })
    }

    /// What is in the way of the first pages, a line each.
    pub fn in_the_way(&mut self, now: Time) -> Result<Vec<String>, CrawlError> {
        let mut lines = Vec::new();
        for page in (0..self.pages.store().pages().min(MOST_PAGES)).map(PageId) {
            let url = self.address(page)?;
            if let Some(told) = self.obstacle(&url, now)? {
                lines.push(format!("{url}: {told}"));
            }
            if lines.len() == NAMED {
                break;
            }
        }
        Ok(lines)
    }

    /// What keeps a URL from being fetched, whatever it is worth: the scope, robots.txt, its host, or the
    /// answer to its last request. `None` if nothing does.
    pub fn obstacle(
        &mut self,
        url: &CanonicalUrl,
        now: Time,
    ) -> Result<Option<String>, CrawlError> {
        let Some(page) = self.pages.page_of(url.as_str())? else {
            return self.obstacle_of_unknown(url);
        };
        let (row, host) = (self.pages.page_row(page)?, self.taped.host_of(page));
        if let Some(dropped) = self.barred(host, url, &row)? {
            return Ok(Some(self.told_drop(url, dropped)));
        }
        if let Some(setback) = self.pages.setback(SetbackOf::Host(host))? {
            return Ok(Some(self.told_setback(url, &setback, now)));
        }
        let setback = self.pages.setback(SetbackOf::Page(page))?;
        let copied = self.pages.copy(page)?.map(|copy| copy.at);
        let setback = setback.filter(|setback| copied.is_none_or(|at| at < setback.at));
        Ok(setback.map(|setback| self.told_setback(url, &setback, now)))
    }

    /// What an operator should know about a page that is fetched all the same.
    pub fn remark(&mut self, url: &CanonicalUrl) -> Result<Option<String>, CrawlError> {
        let told =
            || format!("robots.txt disallows it, but {} is your own host (--own).", url.host());
        Ok(self.overrides_robots(url)?.then(told))
    }

    fn obstacle_of_unknown(&mut self, url: &CanonicalUrl) -> Result<Option<String>, CrawlError> {
        if let Err(dropped) = self.scope.covers(url, false) {
            return Ok(Some(self.told_drop(url, dropped)));
        }
        let host = self.pages.host_of(url.origin());
        let forbidden = match host {
            Some(host) => self.forbidden(host, url.path_and_query())?,
            None => None,
        };
        Ok(forbidden.map(|why| self.told_drop(url, why)))
    }

    /// Why the target of a redirect is not fetched, as far as that is known without a request.
    fn dropped_target(&self, to: &CanonicalUrl) -> Option<DropReason> {
        let host = self.pages.host_of(to.origin());
        let robots = host.and_then(|host| self.robots.of(host));
        let allows = robots.map(|robots| robots.allows(to.path_and_query()));
        let is_disallowed = allows == Some(false) && !self.config.is_own(to);
        let dropped = self.scope.covers(to, false).err();
        dropped.or(is_disallowed.then_some(DropReason::Disallowed))
    }

    fn told_drop(&self, url: &CanonicalUrl, dropped: DropReason) -> String {
        match dropped {
            DropReason::Disallowed => format!(
                "robots.txt disallows it. If {0} is your own host, name it with --own {0}.",
                url.host()
            ),
            DropReason::UseDenied => {
                let uses: Vec<&str> = self.config.uses.iter().map(|used| used.name()).collect();
                format!("Its owner denies the use of its content for {}.", uses.join(", "))
            }
            DropReason::Soft404 => "Its content is what its host shows for a page that does not \
                                    exist (soft-404), so no copy is kept."
                .to_owned(),
            DropReason::Duplicate | DropReason::NearDuplicate => {
                format!("Another page of its host reads the same ({dropped}), so no copy is kept.")
            }
            _ => self.scope.tell(url, dropped),
        }
    }

    fn told_setback(&self, url: &CanonicalUrl, setback: &Setback, now: Time) -> String {
        let host = url.host();
        let ago = lasting(now.since(setback.at).seconds());
        let status =
            setback.status.map_or_else(String::new, |status| format!(" with status {status}"));
        let reason = match setback.cause {
            SetbackCause::Dropped(dropped) => return self.told_drop(url, dropped),
            SetbackCause::Failed(reason) => reason,
        };
        match reason {
            Reason::BlockedAddress => format!(
                "Its host {host} has a private or loopback address, which is blocked. If it is your \
                 own network, crawl with --allow-private."
            ),
            Reason::NoAddress => {
                format!("The name {host} does not exist or has no address. Check its spelling.")
            }
            Reason::Dns => format!("The name {host} could not be looked up, {ago} ago."),
            Reason::RobotsUnreachable => format!(
                "The robots.txt of {host} could not be read, {ago} ago, so nothing is fetched from it."
            ),
            Reason::Forbidden => format!(
                "The server refused it{status}, {ago} ago. If it is your own site, set credentials in \
                 the section [host.\"{host}\"] of the settings."
            ),
            Reason::TooManyRequests | Reason::Unavailable => {
                format!("The server asked for fewer requests{status}, {ago} ago.")
            }
            Reason::Walled => format!(
                "A challenge or block page stood in its place{status}, {ago} ago. {host} rests; ask its \
                 operator to let your crawler in."
            ),
            Reason::Gone => format!("The server says{status} that it does not exist."),
            Reason::Redirect => {
                let to = setback.to.as_deref().unwrap_or_default();
                let target = CanonicalUrl::parse(to).ok();
                let dropped = target.as_ref().and_then(|to| self.dropped_target(to));
                let out = target.zip(dropped).map(|(to, dropped)| self.told_drop(&to, dropped));
                let out = out.map_or_else(String::new, |out| format!(" There: {out}"));
                format!("It redirects to {to}.{out}")
            }
            other => format!("The last request failed{status}, {ago} ago: {other}."),
        }
    }
}
