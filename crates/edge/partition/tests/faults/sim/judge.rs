//! Watches a simulated crawl from outside and says which promise it broke first.
//!
//! The judge sees requests as servers do, and copies as readers of the directory do. After a crash it
//! knows what must have survived (what was synced) and what may have (what came later).

use std::collections::BTreeMap;
use std::net::IpAddr;

use tidewatch_archive::{Digest, digest, path_of, read_at};
use tidewatch_core::{Span, Time};
use tidewatch_partition::Partition;

use super::town::{Rules, Town};

/// How long a robots.txt may be relied on (RFC 9309 §2.4).
const ROBOTS_HOLD: Span = Span::DAY;
/// Unused budget that may be made up for.
const GRACE_S: f64 = 1.0;

/// A promise that was not kept.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("{0} was reported stored and is lost: {1}")]
    Lost(String, &'static str),
    #[error("{what} was asked {early} before its time, at {at}")]
    Rude { what: String, early: Span, at: Time },
    #[error("{0} got two requests at once, at {1}")]
    Twice(String, Time),
    #[error("{0} was requested against robots.txt, at {1}")]
    Disallowed(String, Time),
    #[error("{over:.2} fetches more than the budget allows, at {at}")]
    Budget { over: f64, at: Time },
    #[error("{pages} pages are known and {most} fit in memory")]
    Memory { pages: u32, most: u32 },
    #[error("{requests} requests are under way, of {most}")]
    Crowd { requests: usize, most: usize },
    #[error("the replay differs: {0}")]
    Replay(String),
    #[error("why: {0}")]
    Why(String),
    #[error("after {days} good days {missing} of {all} pages are not fetched, first {first}")]
    Unfetched { days: u64, missing: usize, all: usize, first: String },
    #[error("the crawl cannot be opened: {0}")]
    Unopened(String),
    #[error("the crawl ended without a cause: {0}")]
    Ended(String),
}

/// What the crawl was told to keep to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    pub(super) least_gap: Span,
    pub(super) address_gap: Span,
    pub(super) most_delay: Span,
    pub(super) most_rest: Span,
    pub(super) budget: f64,
    pub(super) most_pages: u32,
    pub(super) most_requests: usize,
}

/// What may be in memory, what may be on disk, and what has come since the last sync.
#[derive(Clone, Debug)]
struct Known<T> {
    now: Vec<T>,
    synced: Vec<T>,
    since: Vec<T>,
}

impl<T: Clone> Known<T> {
    fn new(value: T) -> Known<T> {
        Known { now: vec![value.clone()], synced: vec![value], since: Vec::new() }
    }

    fn set(&mut self, value: T) {
        self.now = vec![value.clone()];
        self.since.push(value);
    }

    fn sync(&mut self) {
        self.synced.clone_from(&self.now);
        self.since.clear();
    }

    fn crash(&mut self) {
        self.synced.append(&mut self.since);
        self.now.clone_from(&self.synced);
    }
}

/// A host or an address, as its server sees it.
#[derive(Clone, Debug)]
struct Door {
    is_busy: bool,
    ended: Option<Time>,
    /// When the host said that it may be asked again.
    retry: Known<Time>,
    /// Its robots.txt as last read.
    robots: Known<Option<(Rules, Time)>>,
}

impl Door {
    fn new() -> Door {
        Door {
            is_busy: false,
            ended: None,
            retry: Known::new(Time::ZERO),
            robots: Known::new(None),
        }
    }

    fn ask(&mut self, gap: Span, what: impl Fn() -> String, at: Time) -> Result<(), Broken> {
        let opens = self.ended.map_or(Time::ZERO, |ended| ended + gap);
        let opens = opens.max(self.retry.now.iter().copied().min().unwrap_or(Time::ZERO));
        if std::mem::replace(&mut self.is_busy, true) {
            return Err(Broken::Twice(what(), at));
        }
        if at < opens {
            return Err(Broken::Rude { what: what(), early: opens.since(at), at });
        }
        Ok(())
    }

    fn leave(&mut self, at: Time) {
        self.is_busy = false;
        self.ended = Some(at);
    }
}

/// What was served at an address, and what of it was reported stored.
#[derive(Clone, Debug, Default)]
struct Served {
    versions: Vec<Digest>,
    /// The last version when the copy was last settled, and when it was last reported stored.
    settled: Option<usize>,
    stored: Option<usize>,
    /// The crawl took the copy out since.
    may_be_gone: bool,
}

/// The judge.
pub(super) struct Judge {
    law: Law,
    hosts: BTreeMap<u64, Door>,
    addresses: BTreeMap<IpAddr, Door>,
    pages: BTreeMap<String, Served>,
    /// Fetches that are not paid for by the time that has passed, and when that was counted.
    debt: f64,
    counted: Time,
    /// Fetches since the last sync: after a crash the crawl may not know of them.
    unsynced: f64,
    forgiven: f64,
    broken: Option<Broken>,
    pub(super) requests: u64,
    pub(super) checked: u64,
}

impl Judge {
    pub(super) fn new(law: Law) -> Judge {
        Judge {
            law,
            hosts: BTreeMap::new(),
            addresses: BTreeMap::new(),
            pages: BTreeMap::new(),
            debt: 0.0,
            counted: Time::ZERO,
            unsynced: 0.0,
            forgiven: 0.0,
            broken: None,
            requests: 0,
            checked: 0,
        }
    }

    /// The first promise that was broken.
    pub(super) fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    pub(super) fn note(&mut self, found: Result<(), Broken>) {
        if let Err(broken) = found {
            self.broken.get_or_insert(broken);
        }
    }

    /// A request to a host begins; `path` is that of a page, or nothing for robots.txt.
    pub(super) fn asks(&mut self, host: u64, address: IpAddr, path: Option<&str>, at: Time) {
        self.requests += 1;
        let law = self.law;
        let door = self.hosts.entry(host).or_insert_with(Door::new);
        let delay = door.robots.now.iter().map(|read| {
            read.as_ref().map_or(Span::ZERO, |(rules, _)| rules.delay()).min(law.most_delay)
        });
        let gap = law.least_gap.max(delay.min().unwrap_or(Span::ZERO));
        let asked = door.ask(gap, || format!("host {host}"), at);
        let allowed = path.map_or(Ok(()), |path| {
            let is_allowed = door
                .robots
                .now
                .iter()
                .flatten()
                .any(|(rules, read)| rules.allow(path) && at < *read + ROBOTS_HOLD);
            let url = || Town::url(host, path).to_string();
            if is_allowed { Ok(()) } else { Err(Broken::Disallowed(url(), at)) }
        });
        let door = self.addresses.entry(address).or_insert_with(Door::new);
        let shared = door.ask(law.address_gap, || format!("address {address}"), at);
        self.note(asked.and(allowed).and(shared));
        if path.is_some() {
            self.spend(at);
        }
    }

    /// Counts a page request. Each host may have one that was paid for and waited for its turn.
    fn spend(&mut self, at: Time) {
        let law = self.law;
        self.debt = (self.debt - law.budget * at.since(self.counted).seconds()).max(0.0) + 1.0;
        (self.counted, self.unsynced) = (at, self.unsynced + 1.0);
        let most = 1.0 + law.budget * GRACE_S + self.hosts.len() as f64 + self.forgiven;
        if self.debt > most {
            self.note(Err(Broken::Budget { over: self.debt - most, at }));
        }
    }

    /// A request to a host ends.
    pub(super) fn ends(&mut self, host: u64, address: IpAddr, retry_after: Option<Span>, at: Time) {
        let door = self.hosts.entry(host).or_insert_with(Door::new);
        door.leave(at);
        door.retry.set(retry_after.map_or(Time::ZERO, |wait| at + wait.min(self.law.most_rest)));
        self.addresses.entry(address).or_insert_with(Door::new).leave(at);
    }

    /// The crawl has read a robots.txt.
    pub(super) fn reads(&mut self, host: u64, rules: Rules, at: Time) {
        self.hosts.entry(host).or_insert_with(Door::new).robots.set(Some((rules, at)));
    }

    /// A page's content was handed to the crawl.
    pub(super) fn serves(&mut self, url: &str, body: &[u8]) {
        self.pages.entry(url.to_owned()).or_default().versions.push(digest(body));
    }

    /// The crawl says that a page's copy is new or confirmed, or that it is gone.
    pub(super) fn settles(&mut self, url: &str, is_held: bool) {
        let page = self.pages.entry(url.to_owned()).or_default();
        page.settled = is_held.then(|| page.versions.len().saturating_sub(1));
        page.may_be_gone |= !is_held;
    }

    /// The crawl reports copies as stored.
    pub(super) fn stores(&mut self, url: &str) {
        let page = self.pages.entry(url.to_owned()).or_default();
        if let Some(settled) = page.settled {
            (page.stored, page.may_be_gone) = (Some(settled), false);
        }
    }

    /// Everything that the crawl was told before is synced.
    pub(super) fn synced(&mut self) {
        self.hosts.values_mut().for_each(|door| {
            door.retry.sync();
            door.robots.sync();
        });
        self.unsynced = 0.0;
    }

    /// The crawl has died: its requests are broken off.
    pub(super) fn dies(&mut self, at: Time) {
        for door in self.hosts.values_mut().chain(self.addresses.values_mut()) {
            if door.is_busy {
                door.leave(at);
            }
            door.retry.crash();
            door.robots.crash();
        }
        self.forgiven += std::mem::take(&mut self.unsynced);
    }

    /// Every copy that was reported stored is there.
    pub(super) fn opened(&mut self, partition: &Partition) {
        let archive = partition.store().dir().join("archive");
        let tables = partition.store().tables().unwrap();
        for (url, served) in &self.pages {
            let Some(stored) = served.stored else { continue };
            self.checked += 1;
            let lost = |why| Err(Broken::Lost(url.clone(), why));
            let page = partition.store().page_of(url).unwrap();
            let copy = page.and_then(|page| tables.copy(page).unwrap());
            let found = match copy {
                None if served.may_be_gone => Ok(()),
                None if page.is_none() => lost("the page is not known"),
                None => lost("there is no copy"),
                Some(copy) => {
                    let record = read_at(&path_of(&archive, copy.place.file), copy.place.offset);
                    match record {
                        Err(_) => lost("its record cannot be read"),
                        Ok(record) if record.field("WARC-Target-URI") != Some(url) => {
                            lost("its record is of another page")
                        }
                        Ok(record) => {
                            let body = digest(record.message().1);
                            let is_old = served.versions[..stored].contains(&body);
                            if served.versions[stored..].contains(&body) {
                                Ok(())
                            } else if is_old {
                                lost("its record is of an older version")
                            } else {
                                lost("its record was never served")
                            }
                        }
                    }
                }
            };
            if let Err(broken) = found {
                self.broken.get_or_insert(broken);
            }
        }
    }

    /// The crawl keeps within its memory.
    pub(super) fn weighs(&mut self, partition: &Partition, requests: usize) {
        let (pages, most) = (partition.store().pages(), self.law.most_pages);
        if pages > most {
            self.note(Err(Broken::Memory { pages, most }));
        }
        let most = self.law.most_requests;
        if requests > most {
            self.note(Err(Broken::Crowd { requests, most }));
        }
    }
}
