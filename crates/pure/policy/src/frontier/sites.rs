//! Orders by the size of a site, and by how many new pages a page reveals.

use std::collections::VecDeque;

use tidewatch_core::{Event, HostId, Outcome, PageId, Span, Time};

use super::book::{Book, Standing};
use super::ranked::{REVISITS, Turns};
use crate::due::DueQueue;
use crate::explanation::{Due, Early, Explanation, Lever, Merit};
use crate::{Agenda, Choice, Gate, Highest, Policy};

/// The site with the most waiting pages first `[ON10]`; within a site, first found first.
pub struct SiteSize {
    book: Book,
    sites: Sites,
    sources: Agenda<u64>,
    visits: u64,
    turns: Turns,
}

impl Default for SiteSize {
    /// A policy that knows no page.
    fn default() -> Self {
        SiteSize {
            book: Book::default(),
            sites: Sites::default(),
            sources: Agenda::default(),
            visits: 0,
            turns: Turns::new(REVISITS),
        }
    }
}

/// Waiting pages by site.
#[derive(Default)]
struct Sites {
    /// By host, first found first.
    waiting: Vec<VecDeque<PageId>>,
    /// For every host its next page, by the number waiting; only the newest entry counts.
    queue: Agenda<Highest>,
}

impl Sites {
    fn push(&mut self, page: PageId, host: HostId) {
        if self.waiting.len() <= host.index() {
            self.waiting.resize_with(host.index() + 1, VecDeque::new);
        }
        self.waiting[host.index()].push_back(page);
        self.enter(host);
    }

    fn enter(&mut self, host: HostId) {
        let line = &self.waiting[host.index()];
        if let Some(&page) = line.front() {
            self.queue.push(Highest(line.len() as f64), host, page);
        }
    }

    fn pop(&mut self, book: &Book, now: Time, gate: &dyn Gate) -> Option<PageId> {
        while let Some((Highest(size), page)) = self.queue.pop(now, gate) {
            let host = book[page].host;
            let line = &mut self.waiting[host.index()];
            if line.front() == Some(&page) && line.len() == size as usize {
                line.pop_front();
                self.enter(host);
                return Some(page);
            }
        }
        None
    }

    fn len(&self, host: HostId) -> usize {
        self.waiting.get(host.index()).map_or(0, VecDeque::len)
    }
}

impl Policy for SiteSize {
    fn learn(&mut self, event: &Event<'_>) {
        self.book.learn(event);
        match event {
            Event::Discovered(found) if !found.is_held => {
                self.sites.push(found.page, found.host);
            }
            Event::Held(seen) | Event::Fetched(seen) => {
                self.visits += 1;
                let page = self.book[seen.page];
                if page.standing == Standing::Waiting {
                    self.sites.push(seen.page, page.host);
                } else if page.is_source && page.standing == Standing::Held {
                    self.sources.push(self.visits, page.host, seen.page);
                }
            }
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let source = || Some(self.sources.pop(now, gate)?.1);
        let page = self.turns.take(source, || self.sites.pop(&self.book, now, gate));
        let Some(page) = page else { return Choice::Idle };
        self.book.choose(page);
        Choice::Fetch(page)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str =
            "the site with most pages waiting comes first; the score is their number";
        let known = self.book.pages().get(page.index())?;
        let waiting = self.sites.len(known.host);
        let due = match known.standing {
            Standing::Waiting => Due::InTurn,
            Standing::UnderWay => Due::UnderWay,
            Standing::Held if known.is_source => Due::InTurn,
            Standing::Held | Standing::Gone => Due::Never,
        };
        Some(Explanation {
            kind: Some(known.kind()),
            since: known.held_since,
            is_gone: known.standing == Standing::Gone,
            ..Explanation::new(page, RULE, Merit::Score(waiting as f64), due)
        })
    }
}

/// Share of fetches that watch pages known to reveal others.
const WATCHING: f64 = 0.3;
/// Prior: a page reveals one new page in this time.
const USUAL_SPAWN: Span = Span::from_micros(10 * Span::DAY.as_micros());

/// Few old pages reveal most new ones `[ON10, §4]`: watch those, and fetch what they reveal.
///
/// A page's spawning rate is the number of pages that its revisits were the first to reveal, per
/// time watched (with a prior of one page in ten days). It is due when it is expected to reveal
/// one; the page due first is watched first.
pub struct SpawningRate {
    book: Book,
    new: DueQueue<u32>,
    watched: DueQueue,
    /// Pages revealed by visits after the first, and the last visit.
    spawned: Vec<(u32, Option<Time>)>,
    turns: Turns,
}

impl Default for SpawningRate {
    /// A policy that knows no page.
    fn default() -> Self {
        SpawningRate {
            book: Book::default(),
            new: DueQueue::default(),
            watched: DueQueue::default(),
            spawned: Vec::new(),
            turns: Turns::new(WATCHING),
        }
    }
}

impl SpawningRate {
    /// The time after a visit at `last` in which the page is expected to reveal a new one.
    fn wait(&self, page: PageId, last: Time) -> Span {
        let (spawned, _) = self.spawned[page.index()];
        let watched = self.book[page].held_since.map_or(Span::ZERO, |since| last.since(since));
        let wait = (watched.seconds() + USUAL_SPAWN.seconds()) / (f64::from(spawned) + 1.0);
        Span::from_seconds(wait).unwrap_or(Span::FOREVER)
    }

    fn watch(&mut self, page: PageId, at: Time) {
        let due = at + self.wait(page, at);
        self.watched.push(due, self.book[page].host, page);
    }
}

impl Policy for SpawningRate {
    fn learn(&mut self, event: &Event<'_>) {
        self.book.learn(event);
        match event {
            Event::Discovered(found) => {
                self.spawned.push((0, None));
                if let Some(via) = found.via {
                    let (spawned, seen) = &mut self.spawned[via.index()];
                    *spawned += u32::from(seen.is_some());
                }
                if !found.is_held {
                    self.new.put(found.page.0, found.host, found.page);
                }
            }
            Event::Held(seen) | Event::Fetched(seen) => {
                let page = self.book[seen.page];
                if page.standing == Standing::Waiting {
                    self.new.put(seen.page.0, page.host, seen.page);
                } else if seen.outcome != Outcome::Gone {
                    self.spawned[seen.page.index()].1 = Some(seen.at);
                    self.watch(seen.page, seen.at);
                }
            }
            _ => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let watched = || self.watched.pop(now, gate);
        let page = self.turns.take(watched, || Some(self.new.take_if(now, gate, |_| true)?.1));
        let Some(page) = page else { return Choice::Idle };
        self.book.choose(page);
        Choice::Fetch(page)
    }

    fn why(&self, page: PageId, _: Time) -> Option<Explanation> {
        const RULE: &str =
            "new pages come first found first; held pages when one new link is expected";
        let known = self.book.pages().get(page.index())?;
        let (_, last) = self.spawned[page.index()];
        let (merit, due, early) = match (known.standing, last) {
            (Standing::UnderWay, _) => (Merit::Turn, Due::UnderWay, Early::No),
            (Standing::Gone, _) => (Merit::Turn, Due::Never, Early::No),
            (_, None) => (Merit::Turn, Due::InTurn, Early::No),
            (_, Some(last)) => {
                let wait = self.wait(page, last);
                (Merit::Every(wait), Due::At(last + wait), Early::Spare)
            }
        };
        Some(Explanation {
            kind: Some(known.kind()),
            since: last,
            is_gone: known.standing == Standing::Gone,
            early,
            sooner: &[Lever::NewLinks],
            ..Explanation::new(page, RULE, merit, due)
        })
    }
}
