//! What sources show, and what it brings.
//!
//! The life of a new page here: *found* on a page that was fetched, with what can be seen of it from
//! outside; *shown* by further pages while it waits, which speaks for it; *fetched* when worth the
//! price; a day later the log has told how it was clicked, and the predictor learns; then it is let go.
//! Pages that are never fetched are let go after a week.
//!
//! **Credit.** A page stands on several sources. What the visit that found it has earned is only what
//! would have been lost until the next of them was looked at: of clicks that fade at rate μ, found at
//! t₁ and seen elsewhere at t₂, the part 1 − e^(−μ(t₂ − t₁)). The mean over a host's pages, κ, scales
//! what its sources are worth.
//!
//! **Pages not on sources** are prospects: they bring the clicks that pages found in the same way on
//! their host have brought, or on average where little is known of the host.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, Interest, LinkSeen, PageId, Span, Time};

use super::predict::{Predictor, feature, magnitude, of_url, words};
use super::value::{Source, Value};
use crate::echo::{Assumed, Beliefs, Counting, Pace, Pooling};
use crate::estimate::Evidence;

/// A page is learnt from so long after its fetch…
const LEARN_AFTER: Span = Span::DAY;
/// …and let go unfetched after this time.
const LET_GO: Span = Span::WEEK;
/// Nobody else showed it: after so long the visit that found it has earned it alone.
const ALONE_AFTER: Span = Span::DAY.times(2);
/// Visits from which new-link rates are told, as in `[LOSS13]`.
const MEMORY: usize = 7;
/// Pages whose credit is as good as a host's own.
const CREDIT_PAGES: f64 = 5.0;
/// For so long a prospect brings clicks once it is in the collection.
const PROSPECT_LIFE: Span = Span::WEEK.times(2);
/// Before anything is known: clicks of a prospect, a click a week as of a copy, and how many pages that
/// belief is worth.
const PROSPECT_CLICKS: f64 = 2.0;
const PROSPECT_PAGES: f64 = 10.0;
/// Shape of the distribution of hosts' means about the average of all.
const HOST_SHAPE: f64 = 1.0;
/// Stands for "not on a source".
pub const NO_SOURCE: u32 = u32::MAX;

/// What is left out, to see what it brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Pages by themselves, not by their source alone.
    pub prediction: bool,
    /// What would have been found elsewhere.
    pub credit: bool,
    /// Sources learn from one another.
    pub pooling: bool,
}

impl Parts {
    /// What is used where nothing else is asked for. Credit is left out: `lab run price-vs-echo` earns
    /// less with it at every budget, since arrivals already count only what nobody had found before.
    pub const DEFAULT: Parts = Parts { prediction: true, credit: false, pooling: true };
}

/// Sources and new pages.
#[derive(Debug, Serialize, Deserialize)]
pub struct News {
    parts: Parts,
    beliefs: Beliefs,
    predictor: Predictor,
    prospects: Predictor,
    /// By source: its host.
    hosts: Vec<HostId>,
    fresh: FxHashMap<PageId, Fresh>,
    /// By host: credit earned, and pages it was earned with; the same of all.
    credits: Vec<[f64; 2]>,
    credit: [f64; 2],
    /// By host: clicks of prospects, and pages.
    earned: Vec<Evidence>,
    earned_by_all: Evidence,
    swept: Time,
}

/// A page found and not yet let go.
#[derive(Debug, Serialize, Deserialize)]
struct Fresh {
    host: HostId,
    source: u32,
    found: Time,
    born: Time,
    fetched: Option<Time>,
    /// Pages that show it.
    shown: u16,
    is_credited: bool,
    features: Vec<u32>,
}

impl News {
    /// Nothing known yet. `logs_all`: whether the log tells the clicks of pages never fetched too.
    pub fn new(parts: Parts, logs_all: bool) -> Self {
        let pooling = if parts.pooling { Pooling::All } else { Pooling::Alone };
        let beliefs = Beliefs::new(MEMORY, Pace::Rhythm, Counting::Discoveries, pooling);
        News {
            parts,
            beliefs: beliefs.assuming(Assumed::A_CLICK).with_log_of_all(logs_all),
            predictor: Predictor::default(),
            prospects: Predictor::default(),
            hosts: Vec::new(),
            fresh: FxHashMap::default(),
            credits: Vec::new(),
            credit: [0.0; 2],
            earned: Vec::new(),
            earned_by_all: Evidence {
                changes: PROSPECT_CLICKS * PROSPECT_PAGES,
                time: PROSPECT_PAGES,
            },
            swept: Time::ZERO,
        }
    }

    /// Adds the next source.
    pub fn add_source(&mut self, host: HostId) -> u32 {
        self.beliefs.add_source(host.0);
        self.hosts.push(host);
        self.room_for(host);
        self.hosts.len() as u32 - 1
    }

    fn room_for(&mut self, host: HostId) {
        let hosts = self.credits.len().max(host.index() + 1);
        self.credits.resize(hosts, [0.0; 2]);
        self.earned.resize(hosts, Evidence::default());
    }

    /// A page became known, on a source or elsewhere.
    pub fn found(&mut self, page: PageId, host: HostId, url: &str, source: u32, at: Time) {
        self.room_for(host);
        let born = match self.hosts.get(source as usize) {
            Some(_) => self.beliefs.found(source as usize, page, at),
            None => Some(at),
        };
        let mut features = of_url(host.0, url);
        let hour = at.seconds() / 3600.0 % 24.0;
        features.push(feature("hour", &(hour as u32).to_string()));
        // What a first visit shows is old: its clicks are over, as far as is known.
        let born = born.unwrap_or(at - LET_GO);
        let (fetched, shown, is_credited) = (None, 0, false);
        let fresh = Fresh { host, source, found: at, born, fetched, shown, is_credited, features };
        self.fresh.insert(page, fresh);
    }

    /// A page was fetched and shows these links. Pages among them that wait, whose worth may have
    /// changed, are handed to `changed`.
    pub fn showed(
        &mut self,
        source: u32,
        at: Time,
        links: Option<&[LinkSeen]>,
        anchors: &[&str],
        mut changed: impl FnMut(PageId),
    ) {
        for (place, link) in links.unwrap_or_default().iter().enumerate() {
            let Some(fresh) = self.fresh.get_mut(&link.page) else { continue };
            if link.is_new {
                fresh.features.push(magnitude("place", place + 1));
                if let Some(anchor) = anchors.get(place) {
                    words("link", anchor, &mut fresh.features);
                }
            } else if source != NO_SOURCE && source == fresh.source {
                continue;
            } else if !fresh.is_credited && fresh.source != NO_SOURCE && source != NO_SOURCE {
                fresh.is_credited = true;
                let decay = self.beliefs.curve(fresh.source as usize).decay;
                let part = -(-decay * at.since(fresh.found).seconds()).exp_m1();
                let host = self.hosts[fresh.source as usize];
                count(&mut self.credits[host.index()], &mut self.credit, part);
            }
            fresh.shown = fresh.shown.saturating_add(1);
            if fresh.fetched.is_none() {
                changed(link.page);
            }
        }
        if source != NO_SOURCE {
            self.beliefs.visited(source as usize, at, links);
        }
    }

    /// A page was fetched for the first time.
    pub fn fetched(&mut self, page: PageId, at: Time) {
        self.beliefs.ledger.open(page, at);
        if let Some(fresh) = self.fresh.get_mut(&page) {
            fresh.fetched = Some(at);
            if fresh.source == NO_SOURCE {
                // Followed from its fetch on.
                self.beliefs.ledger.expect(page, at);
                self.beliefs.ledger.open(page, at);
            }
        }
    }

    /// Takes in the log, learns from pages that have been read for a day, lets go of what is over.
    pub fn take_log(&mut self, rows: &[Interest], now: Time) {
        self.beliefs.take_log(rows, now);
        if now.since(self.swept) < Span::HOUR {
            return;
        }
        self.swept = now;
        let mut over: Vec<PageId> = Vec::new();
        for (&page, fresh) in &mut self.fresh {
            if !fresh.is_credited
                && fresh.source != NO_SOURCE
                && now.since(fresh.found) >= ALONE_AFTER
            {
                fresh.is_credited = true;
                let host = self.hosts[fresh.source as usize];
                count(&mut self.credits[host.index()], &mut self.credit, 1.0);
            }
            let is_over = match fresh.fetched {
                Some(at) => now.since(at) >= LEARN_AFTER,
                None => now.since(fresh.found) >= LET_GO,
            };
            if is_over && (fresh.is_credited || fresh.source == NO_SOURCE) {
                over.push(page);
            }
        }
        // The map has no order of its own that a replay could rely on.
        over.sort_unstable();
        for page in over {
            if let Some(fresh) = self.fresh.remove(&page) {
                self.learn(page, &fresh);
            }
        }
    }

    fn learn(&mut self, page: PageId, fresh: &Fresh) {
        let Some(shown) = self.beliefs.ledger.shown(page) else { return };
        let clicks: f64 = shown.clicks().map(|(_, count)| count).sum();
        let features = full(fresh);
        if fresh.source == NO_SOURCE {
            if fresh.fetched.is_none() {
                return;
            }
            let part = (shown.lived.seconds() - shown.open.seconds()).max(0.0);
            let scaled = clicks * PROSPECT_LIFE.seconds() / part.max(LEARN_AFTER.seconds());
            let base = self.prospect(fresh.host);
            self.prospects.learn(&features, base, scaled);
            for evidence in [&mut self.earned[fresh.host.index()], &mut self.earned_by_all] {
                evidence.changes += scaled;
                evidence.time += 1.0;
            }
            return;
        }
        let curve = self.beliefs.curve(fresh.source as usize);
        let scale = self.beliefs.ledger.scale();
        let lost = |age: Span| (-curve.decay * age.seconds()).exp();
        let base = curve.profit / scale * (lost(shown.open) - lost(shown.lived));
        self.predictor.learn(&features, base, clicks);
    }

    /// Mean clicks of prospects on a host.
    fn prospect(&self, host: HostId) -> f64 {
        let all = self.earned_by_all.changes / self.earned_by_all.time;
        self.earned[host.index()].shrunk(HOST_SHAPE, all)
    }

    /// What a page that waits is worth, and since when its clicks are being lost.
    pub fn value(&mut self, page: PageId) -> Option<(Value, Time)> {
        let fresh = self.fresh.get(&page)?;
        let features = full(fresh);
        if fresh.source == NO_SOURCE {
            let factor = if self.parts.prediction { self.prospects.factor(&features) } else { 1.0 };
            let clicks = self.prospect(fresh.host) * factor;
            return Some((
                Value::Once { clicks, decay: PROSPECT_LIFE.seconds().recip() },
                fresh.found,
            ));
        }
        let curve = self.beliefs.curve(fresh.source as usize);
        self.predictor.saw(&features);
        let factor = if self.parts.prediction { self.predictor.factor(&features) } else { 1.0 };
        Some((Value::Once { clicks: curve.profit * factor, decay: curve.decay }, fresh.born))
    }

    /// What visits to a source are worth at a time.
    pub fn source(&self, source: u32, now: Time) -> Source {
        let curve = self.beliefs.curve(source as usize);
        Source {
            arrivals: self.beliefs.arrivals(source as usize, now),
            credit: self.credit(self.hosts[source as usize]),
            profit: curve.profit,
            decay: curve.decay,
            spread: if self.parts.prediction { self.predictor.spread() } else { 0.0 },
        }
    }

    /// κ of a host.
    fn credit(&self, host: HostId) -> f64 {
        if !self.parts.credit {
            return 1.0;
        }
        let all = (self.credit[0] + 1.0) / (self.credit[1] + 1.0);
        let [earned, pages] = self.credits[host.index()];
        (earned + CREDIT_PAGES * all) / (pages + CREDIT_PAGES)
    }

    /// Seconds since a page was found that waits to be fetched for the first time.
    pub fn waited(&self, page: PageId, now: Time) -> f64 {
        self.fresh.get(&page).map_or(0.0, |fresh| now.since(fresh.found).seconds())
    }

    /// Whether a source revealed a page that waits.
    pub fn is_on_source(&self, page: PageId) -> bool {
        self.fresh.get(&page).is_some_and(|fresh| fresh.source != NO_SOURCE)
    }

    /// How many pages show one that waits, for explanations.
    pub fn shown_by(&self, page: PageId) -> Option<u16> {
        self.fresh.get(&page).map(|fresh| fresh.shown)
    }
}

fn count(of_host: &mut [f64; 2], of_all: &mut [f64; 2], part: f64) {
    for sums in [of_host, of_all] {
        sums[0] += part;
        sums[1] += 1.0;
    }
}

/// What was seen of a page, with how many pages show it by now.
fn full(fresh: &Fresh) -> Vec<u32> {
    let mut features = fresh.features.clone();
    features.push(magnitude("shown", usize::from(fresh.shown)));
    features
}
