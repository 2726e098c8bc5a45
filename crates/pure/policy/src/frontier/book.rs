//! What every order knows: pages, their links, their clicks.

use tidewatch_core::{
    Content, Event, FetchKind, HostId, Interest, InterestKind, Observation, Outcome, PageId,
    PageKey, Time,
};
use tidewatch_graph::log::LinkLog;

/// A page's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Never fetched: the frontier.
    Waiting,
    /// Chosen; its outcome is not known yet.
    UnderWay,
    /// In the collection.
    Held,
    /// Gone for good.
    Gone,
}

/// A page in the book.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its host.
    pub host: HostId,
    /// Its identity.
    pub key: PageKey,
    /// Its state.
    pub standing: Standing,
    /// The page that revealed it first.
    pub via: Option<PageId>,
    /// Links from a seed, along the path on which it was found.
    pub depth: u16,
    /// Whether it is watched for new links.
    pub is_source: bool,
    /// Pages that show a link to it or once did.
    pub in_links: u32,
    /// Links it shows.
    pub out_links: u32,
    /// When it first came into the collection.
    pub held_since: Option<Time>,
    /// Clicks since then.
    pub clicks: f64,
    /// Views since then.
    pub views: f64,
}

impl Known {
    /// The purpose of its next fetch.
    pub fn kind(&self) -> FetchKind {
        match self.held_since {
            None => FetchKind::Frontier,
            Some(_) if self.is_source => FetchKind::Source,
            Some(_) => FetchKind::Refresh,
        }
    }
}

/// Pages and links known so far.
#[derive(Default)]
pub struct Book {
    pages: Vec<Known>,
    log: LinkLog,
    waiting: usize,
    shown: Vec<u32>,
    added: Vec<u32>,
}

impl Book {
    /// Takes in an event. [`Book::shown`] and [`Book::added`] hold until the next.
    pub fn learn(&mut self, event: &Event<'_>) {
        self.shown.clear();
        self.added.clear();
        match event {
            Event::Discovered(found) => {
                debug_assert_eq!(found.page.index(), self.pages.len());
                let depth = found.via.map_or(0, |via| self[via].depth.saturating_add(1));
                self.waiting += usize::from(!found.is_held);
                self.pages.push(Known {
                    host: found.host,
                    key: found.key,
                    standing: if found.is_held { Standing::Held } else { Standing::Waiting },
                    via: found.via,
                    depth,
                    is_source: found.is_source,
                    in_links: 0,
                    out_links: 0,
                    held_since: None,
                    clicks: 0.0,
                    views: 0.0,
                });
            }
            Event::Held(seen) | Event::Fetched(seen) => self.settle(seen),
            Event::Log(rows) => rows.iter().for_each(|row| self.count(row)),
            Event::Asked(_) | Event::Hinted(_) | Event::Budget(_) | Event::Doubted(_) => {}
        }
    }

    fn settle(&mut self, seen: &Observation<'_>) {
        let first_time = self[seen.page].held_since.is_none();
        let standing = match seen.outcome {
            Outcome::Fetched(content) => {
                self.show(seen.page, &content);
                let page = &mut self.pages[seen.page.index()];
                page.held_since.get_or_insert(seen.at);
                Standing::Held
            }
            Outcome::Gone => Standing::Gone,
            Outcome::Failed(_) if first_time => Standing::Waiting,
            Outcome::Failed(_) => Standing::Held,
        };
        self.set(seen.page, standing);
    }

    fn set(&mut self, page: PageId, standing: Standing) {
        let waits = |standing| usize::from(standing == Standing::Waiting);
        let old = std::mem::replace(&mut self.pages[page.index()].standing, standing);
        self.waiting = self.waiting + waits(standing) - waits(old);
    }

    /// Compares the links shown now with those shown last.
    fn show(&mut self, page: PageId, content: &Content<'_>) {
        self.shown.extend(content.links.iter().map(|link| link.page.0).filter(|&to| to != page.0));
        self.shown.sort_unstable();
        self.shown.dedup();
        let mut old = self.log.links_of(page.0).peekable();
        for &to in &self.shown {
            while old.next_if(|&o| o < to).is_some() {}
            if old.peek() != Some(&to) {
                self.added.push(to);
            }
        }
        drop(old);
        self.log.append(page.0, self.shown.iter().copied());
        self.pages[page.index()].out_links = self.shown.len() as u32;
        for &to in &self.added {
            self.pages[to as usize].in_links += 1;
        }
    }

    fn count(&mut self, row: &Interest) {
        let Some(page) = self.pages.get_mut(row.page.index()) else { return };
        match row.kind {
            InterestKind::Click => page.clicks += row.count,
            InterestKind::View => page.views += row.count,
        }
    }

    /// Marks a page as chosen.
    pub fn choose(&mut self, page: PageId) {
        self.set(page, Standing::UnderWay);
    }

    /// Links on the page of the last event, ascending; empty if it was no fetch.
    pub fn shown(&self) -> &[u32] {
        &self.shown
    }

    /// Those of [`Book::shown`] that were not there at its last fetch.
    pub fn added(&self) -> &[u32] {
        &self.added
    }

    /// All pages, by number.
    pub fn pages(&self) -> &[Known] {
        &self.pages
    }

    /// Pages of the frontier.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// All links known.
    pub const fn log(&self) -> &LinkLog {
        &self.log
    }
}

impl std::ops::Index<PageId> for Book {
    type Output = Known;

    fn index(&self, page: PageId) -> &Known {
        &self.pages[page.index()]
    }
}
