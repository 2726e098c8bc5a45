//! What the frontier keeps of every page: its host, what decides the kind of its next fetch, and how
//! long it rests.

use serde::{Deserialize, Serialize};
use tidewatch_core::{
    Discovery, Event, FetchKind, HostId, Observation, Outcome, PageId, PageKey, Reason, Span, Time,
};

use crate::revisit::{Rest, Revisit};

/// The page is watched for new links.
const SOURCE: u8 = 1;
/// A source revealed the page.
const FROM_SOURCE: u8 = 2;
/// The collection holds a copy.
const HELD: u8 = 4;

/// 21 bytes a page, by page number.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pages {
    hosts: Vec<HostId>,
    marks: Vec<u8>,
    rests: Vec<Rest>,
}

impl Pages {
    pub(super) fn len(&self) -> usize {
        self.hosts.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = PageId> {
        (0..self.hosts.len() as u32).map(PageId)
    }

    pub(super) fn host(&self, page: PageId) -> Option<HostId> {
        self.hosts.get(page.index()).copied()
    }

    pub(super) fn hosts(&self) -> &[HostId] {
        &self.hosts
    }

    /// What a policy is told of a page first, as far as it is kept: the page number stands for its
    /// key, and there is no URL.
    pub(super) fn discovery(&self, page: PageId) -> Discovery<'static> {
        let mark = self.marks[page.index()];
        Discovery {
            page,
            host: self.hosts[page.index()],
            key: PageKey(page.0.into()),
            url: "",
            at: Time::ZERO,
            via: None,
            is_source: mark & SOURCE != 0,
            is_held: mark & HELD != 0,
            weight: 1.0,
        }
    }

    /// The kind of a fetch of `page` that ends now.
    pub(super) fn fetch_kind(&self, page: PageId) -> FetchKind {
        let mark = self.marks[page.index()];
        match (mark & HELD != 0, mark & SOURCE != 0) {
            (true, true) => FetchKind::Source,
            (true, false) => FetchKind::Refresh,
            (false, false) if mark & FROM_SOURCE != 0 => FetchKind::New,
            (false, _) => FetchKind::Frontier,
        }
    }

    /// When a page may be fetched again; at once if it is unknown.
    pub(super) fn opens_at(&self, page: PageId, rule: &Revisit) -> Time {
        self.rests.get(page.index()).map_or(Time::ZERO, |rest| rest.until(rule))
    }

    /// How long a page rests between two visits as things are; `None` if it was never visited.
    pub(super) fn rest(&self, page: PageId, rule: &Revisit) -> Option<Span> {
        self.rests[page.index()].length(rule)
    }

    /// Forgets how the last fetch of a page ended.
    pub(super) fn reopen(&mut self, page: PageId) {
        let is_source = self.marks[page.index()] & SOURCE != 0;
        self.rests[page.index()] = Rest::new(is_source);
    }

    pub(super) fn learn(&mut self, event: &Event<'_>, rule: &Revisit) {
        match event {
            Event::Discovered(found) => self.add(found),
            Event::Held(seen) | Event::Fetched(seen) => self.settle(seen, rule),
            Event::Hinted(hint) => {
                if let Some(rest) = self.rests.get_mut(hint.page.index()) {
                    rest.hinted();
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, found: &Discovery<'_>) {
        debug_assert_eq!(found.page.index(), self.hosts.len(), "pages are numbered in order");
        let via = found.via.and_then(|via| self.marks.get(via.index()));
        let is_from_source = via.is_some_and(|via| via & SOURCE != 0);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        self.hosts.push(found.host);
        self.rests.push(Rest::new(found.is_source));
        self.marks.push(
            flag(found.is_source, SOURCE)
                | flag(is_from_source, FROM_SOURCE)
                | flag(found.is_held, HELD),
        );
    }

    /// A failed fetch leaves the copy as it is.
    fn settle(&mut self, seen: &Observation<'_>, rule: &Revisit) {
        let (mark, rest) = (&mut self.marks[seen.page.index()], &mut self.rests[seen.page.index()]);
        match seen.outcome {
            Outcome::Fetched(content) => {
                *mark |= HELD;
                let has_new_link = || content.links.iter().any(|link| link.is_new);
                let news = content.changed.map(|changed| changed || has_new_link());
                rest.visited(rule, news, seen.at);
            }
            Outcome::Gone => {
                *mark &= !HELD;
                rest.visited(rule, Some(false), seen.at);
            }
            // Its target is a page of its own, or none that could be fetched: trying again changes nothing.
            Outcome::Failed(
                Reason::Redirect
                | Reason::RedirectRefused
                | Reason::RedirectWithoutLocation
                | Reason::TooManyRedirects,
            ) => rest.visited(rule, Some(false), seen.at),
            Outcome::Failed(Reason::OwnStop) => {}
            Outcome::Failed(Reason::Forbidden | Reason::ClientError) => rest.refused(seen.at),
            Outcome::Failed(_) => rest.failed(seen.at),
        }
    }
}
