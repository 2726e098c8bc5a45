//! Asks the forms of hosts that the operator named.
//!
//! A query is a page like any other, watched for links: robots.txt, scope, gaps, budget and price decide
//! whether and when it is fetched. The [`Desk`] of its host only decides which queries there are. Links of a
//! result page to further queries are dropped: the desk knows the next page, and whether it pays.
//!
//! Pages that queries are, and when they were told to the frontier, is on the tape, so a replay needs no
//! desk. What desks learnt is a file beside the frontier's snapshot; a crash loses what was learnt since, and
//! the words asked since are not asked again, because their pages are known. The quotas of hosts (queries of
//! the day, stops) are in the tables as well, so that no crash makes the crawl ask more.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, LinkSeen, PageId, Reason, Span, Time};
use tidewatch_forms::{Desk, DeskFigures, DeskLimits, Quota, Stop};
use tidewatch_store::{Hops, StoreError};

use super::{CrawlError, Found, Partition};
use crate::Config;
use crate::forms::{FormsRead, FormsWanted};
use crate::kept;
use crate::pages::Pages;
use crate::work::{Came, Content};

/// The file of what was learnt; the last character of its magic counts versions.
const FILE: &str = "forms.snapshot";
const MAGIC: [u8; 8] = *b"tidefrm1";
/// Name under which the store keeps the quotas of hosts.
const QUOTAS: &str = "forms-quotas";
/// Most hosts whose forms are asked: `*.a.example` may have hosts without end.
const MOST_DESKS: usize = 256;

/// The desks of a crawl, by host.
#[derive(Default)]
pub(super) struct Forms {
    desks: BTreeMap<u32, Desk>,
    /// Hosts that the operator does not name now. They are not asked, and what was learnt of them is kept.
    others: BTreeMap<u32, Desk>,
    /// Quotas as stored, those of `others` included, by origin: host numbers change when a crawl is repaired.
    quotas: BTreeMap<String, Quota>,
}

/// What is in the file.
#[derive(Default, Serialize, Deserialize)]
struct Learnt {
    desks: BTreeMap<u32, Desk>,
}

impl Forms {
    /// What was learnt so far.
    pub(super) fn of(pages: &Pages, config: &Config) -> Result<Forms, StoreError> {
        if config.forms.hosts.is_empty() {
            return Ok(Forms::default());
        }
        let stored = kept::read(pages.store().dir(), FILE, MAGIC);
        let learnt = stored.and_then(|bytes| postcard::from_bytes::<Learnt>(&bytes).ok());
        let mut all = learnt.unwrap_or_default().desks;
        let quotas = quotas(pages)?;
        for (origin, quota) in &quotas {
            let Some(HostId(host)) = pages.host_of(origin) else { continue };
            all.entry(host).or_insert_with(|| Desk::new(limits(config))).set_quota(*quota);
        }
        all.values_mut().for_each(|desk| desk.limit(limits(config)));
        let is_named = |host: &u32| {
            pages.url(HostId(*host), "/").is_ok_and(|front| config.forms.allow(&front))
        };
        let (desks, others) = all.into_iter().partition(|(host, _)| is_named(host));
        Ok(Forms { desks, others, quotas })
    }

    /// Writes what was learnt. Without it the next start only learns anew, so a failure is no error.
    pub(super) fn save(&self, dir: &Path) {
        if self.desks.is_empty() {
            return;
        }
        let all = self.desks.iter().chain(&self.others).map(|(host, desk)| (*host, desk.clone()));
        if let Ok(state) = postcard::to_stdvec(&Learnt { desks: all.collect() }) {
            let _ = kept::write(dir, FILE, MAGIC, &state);
        }
    }

    /// The desk of a host, which gets one if there is room.
    fn desk(&mut self, host: HostId, limits: DeskLimits) -> Option<&mut Desk> {
        if self.desks.len() >= MOST_DESKS && !self.desks.contains_key(&host.0) {
            return None;
        }
        Some(self.desks.entry(host.0).or_insert_with(|| Desk::new(limits)))
    }

    /// Stores the quota of a host, if it has changed.
    fn keep_quota(&mut self, host: HostId, pages: &mut Pages) {
        let Some(quota) = self.desks.get(&host.0).map(Desk::quota) else { return };
        let origin = pages.origin(host);
        if quota != Quota::default() && self.quotas.get(origin) != Some(&quota) {
            self.quotas.insert(origin.to_owned(), quota);
            let all = postcard::to_stdvec(&self.quotas).expect("quotas can be written");
            pages.put_meta(QUOTAS, all);
        }
    }
}

/// The quotas of hosts, as stored.
fn quotas(pages: &Pages) -> Result<BTreeMap<String, Quota>, StoreError> {
    let damaged = |_| StoreError::Damaged { table: "meta", key: 0 };
    let stored = pages.meta(QUOTAS)?;
    stored
        .map_or_else(|| Ok(BTreeMap::new()), |bytes| postcard::from_bytes(&bytes).map_err(damaged))
}

fn limits(config: &Config) -> DeskLimits {
    DeskLimits { per_day: config.forms.per_day, ..DeskLimits::default() }
}

impl Partition {
    /// What is wanted of a page about forms.
    pub(super) fn forms_wanted(&self, host: HostId, url: &CanonicalUrl) -> FormsWanted {
        if !self.config.forms.allow(url) {
            return FormsWanted::Nothing;
        }
        let desk = self.forms.desks.get(&host.0).filter(|desk| desk.is_query(url));
        desk.map_or(FormsWanted::Forms, |desk| FormsWanted::Answer(desk.place_of(url)))
    }

    /// Takes in what a page says about forms, and asks what is to be asked next.
    pub(super) fn take_forms(
        &mut self,
        page: PageId,
        host: HostId,
        content: &mut Content,
        took: Span,
        now: Time,
    ) -> Result<(), CrawlError> {
        let limits = limits(&self.config);
        match content.forms.take() {
            Some(FormsRead::Forms(questions, words)) if !questions.is_empty() => {
                let url = self.address(page)?;
                if let Some(desk) = self.forms.desk(host, limits) {
                    questions.into_iter().for_each(|question| desk.meet(&url, question));
                    desk.hear(&words);
                }
            }
            Some(FormsRead::Answer(answer)) => {
                let url = self.address(page)?;
                if let Some(desk) = self.forms.desks.get_mut(&host.0) {
                    desk.answer(&url, &answer, took, now);
                    content.links.retain(|(link, _)| !desk.is_query(link));
                    content.dated.clear();
                }
            }
            _ => {}
        }
        self.ask_forms(host, now)
    }

    /// Takes in that a page of a host with forms brought nothing.
    pub(super) fn fail_forms(
        &mut self,
        page: PageId,
        host: HostId,
        came: &Came,
        now: Time,
    ) -> Result<(), CrawlError> {
        if !self.forms.desks.contains_key(&host.0) {
            return Ok(());
        }
        let url = self.address(page)?;
        let to = if let Came::Moved { to, .. } = came { Some(to) } else { None };
        let is_known =
            to.map(|to| self.pages.page_of(to.as_str())).transpose()?.flatten().is_some();
        let Some(desk) = self.forms.desks.get_mut(&host.0) else { return Ok(()) };
        if let Came::Moved { to, .. } = came
            && to.origin() == url.origin()
            && !is_known
        {
            desk.moved(&url, to);
            self.forms.keep_quota(host, &mut self.pages);
            return Ok(());
        }
        let refused = desk.is_query(&url).then_some(Stop::Refused);
        let why = match came {
            Came::Content(_) | Came::Same => return Ok(()),
            Came::Overloaded(Reason::Walled, _) => Some(Stop::Wall),
            Came::Overloaded(..) => Some(Stop::TooManyRequests),
            Came::Moved { .. } | Came::Nothing(Reason::OwnStop) => None,
            Came::Gone | Came::Refused(_) | Came::Nothing(_) => refused,
        };
        desk.fail(&url, why, now);
        self.ask_forms(host, now)
    }

    /// Takes in that a URL must not be fetched.
    pub(super) fn bar_forms(&mut self, host: HostId, url: &CanonicalUrl, now: Time) {
        if let Some(desk) = self.forms.desks.get_mut(&host.0).filter(|desk| desk.is_query(url)) {
            desk.fail(url, Some(Stop::Refused), now);
            self.forms.keep_quota(host, &mut self.pages);
        }
    }

    /// Makes the next queries of a host known, and keeps its quota.
    fn ask_forms(&mut self, host: HostId, now: Time) -> Result<(), CrawlError> {
        let asked = self.ask_desk(host, now);
        self.forms.keep_quota(host, &mut self.pages);
        asked
    }

    /// Makes the next queries of a host known, as sources found on the page of their form.
    fn ask_desk(&mut self, host: HostId, now: Time) -> Result<(), CrawlError> {
        loop {
            let Some(desk) = self.forms.desks.get_mut(&host.0) else { return Ok(()) };
            let Some(query) = desk.next(now) else { return Ok(()) };
            let via = self.pages.page_of(query.page.as_str())?;
            let depth =
                via.map(|via| self.pages.page_row(via)).transpose()?.map_or(0, |row| row.depth);
            let depth = depth.saturating_add(1);
            let found = Found { via, depth, hops: Hops::NONE, is_source: true, weight: 1.0 };
            let is_asked = match self.link(&query.url, found, now)? {
                Some(LinkSeen { is_new, .. }) => is_new,
                None => false,
            };
            // A URL that is known, forbidden or out of scope brings no answer.
            if !is_asked && let Some(desk) = self.forms.desks.get_mut(&host.0) {
                desk.fail(&query.url, None, now);
            }
        }
    }

    /// What a URL asks a form, as a sentence; `None` if it is no query of a form that is asked.
    pub(super) fn form_told(&self, url: &CanonicalUrl, now: Time) -> Option<String> {
        let host = self.pages.host_of(url.origin())?;
        self.forms.desks.get(&host.0)?.told(url, now)
    }

    /// Figures of all hosts whose forms are asked, by origin.
    pub fn form_figures(&self) -> Vec<(String, DeskFigures)> {
        let of = |(host, desk): (&u32, &Desk)| {
            (self.pages.origin(HostId(*host)).to_owned(), desk.figures())
        };
        self.forms.desks.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A domain with a wildcard may have hosts without end.
    #[test]
    fn desks_have_a_limit() {
        let mut forms = Forms::default();
        let hosts = (0..2 * MOST_DESKS as u32).map(HostId);
        let got = hosts.filter(|host| forms.desk(*host, DeskLimits::default()).is_some()).count();
        assert_eq!(got, MOST_DESKS);
        assert!(forms.desk(HostId(0), DeskLimits::default()).is_some(), "it has its desk");
    }
}
