//! What sources show, and what it brings.
//!
//! The life of a new page here: *found* on a page that was fetched, with what can be seen of it from
//! outside; *shown* by further pages while it waits, which speaks for it; *fetched* when worth the
//! price; a day later the log has told how it was clicked, and the predictor learns; then it is let go.
//! Pages that are never fetched are let go after a week.
//!
//! What the finding visit has earned, where several sources show a page, is told by [`super::credit`];
//! what pages bring that are on no source, or were there before its first visit, by
//! [`super::prospects`]. Of those that are let go the factor is kept, in their page's state.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, Interest, LinkSeen, PageId, Span, Time};

use super::credit::Credits;
use super::predict::{Predictor, feature, magnitude, of_url, words};
use super::prospects::Prospects;
use super::source::Source;
use super::value::Value;
use crate::echo::{Assumed, Beliefs, Counting, Pace, Pooling};

/// A page is learnt from so long after its fetch…
const LEARN_AFTER: Span = Span::DAY;
/// …and let go unfetched after this time.
const LET_GO: Span = Span::WEEK;
/// Nobody else showed it: after so long the visit that found it has earned it alone.
const ALONE_AFTER: Span = Span::DAY.times(2);
/// Visits from which new-link rates are told, as in `[LOSS13]`.
const MEMORY: usize = 7;
/// Seconds in which what is handed on is counted.
const CENTURY: f64 = 100.0 * 365.25 * 86_400.0;
/// Stands for "not on a source".
pub const NO_SOURCE: u32 = u32::MAX;

/// What is left out, to see what it brings.
#[allow(clippy::struct_excessive_bools, reason = "each can be left out by itself")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Pages by themselves, not by their source alone.
    pub prediction: bool,
    /// What would have been found elsewhere.
    pub credit: bool,
    /// Sources learn from one another.
    pub pooling: bool,
    /// Hosts have hours at which they publish and change.
    pub rhythm: bool,
}

impl Parts {
    /// What is used where nothing else is asked for. Credit is left out: `lab run price-vs-echo` earns
    /// less with it at every budget, since arrivals already count only what nobody had found before.
    pub const DEFAULT: Parts =
        Parts { prediction: true, credit: false, pooling: true, rhythm: true };
}

/// Sources and new pages.
#[derive(Debug, Serialize, Deserialize)]
pub struct News {
    parts: Parts,
    beliefs: Beliefs,
    predictor: Predictor,
    prospects: Prospects,
    credits: Credits,
    /// By source: its host.
    hosts: Vec<HostId>,
    fresh: FxHashMap<PageId, Fresh>,
}

/// A page found and not yet let go.
#[derive(Debug, Serialize, Deserialize)]
struct Fresh {
    host: HostId,
    /// The source that speaks for it, and the one on which it was found.
    source: u32,
    finder: u32,
    found: Time,
    born: Time,
    fetched: Option<Time>,
    /// Pages that show it.
    shown: u16,
    /// Hours after it was found until a second page showed it, and one more; zero before.
    again: u16,
    /// Clicks a second that they hand on.
    flow: f32,
    is_credited: bool,
    /// What is seen of it, of which the first `lasting` do not change.
    features: Vec<u32>,
    lasting: u16,
}

impl Fresh {
    /// Says anew how many pages show it by now, how fast they became more and what they hand on.
    fn describe(&mut self) {
        self.features.truncate(self.lasting.into());
        self.features.push(magnitude("shown", self.shown.into()));
        if self.again > 0 {
            self.features.push(magnitude("again", self.again.into()));
        }
        if self.source == NO_SOURCE {
            // In clicks a century, to be whole numbers: a hundredth of a click a year is nothing.
            self.features.push(magnitude("flow", (f64::from(self.flow) * CENTURY) as usize));
        }
    }

    /// Adds where it stands among the links of the page on which it was found, and how it is called.
    fn add_link(&mut self, place: usize, anchor: Option<&str>) {
        self.features.truncate(self.lasting.into());
        self.features.push(magnitude("place", place + 1));
        words("link", anchor.unwrap_or_default(), &mut self.features);
        self.lasting = self.features.len() as u16;
    }
}

impl News {
    /// Nothing known yet. `logs_all`: whether the log tells the clicks of pages never fetched too.
    pub fn new(parts: Parts, logs_all: bool) -> Self {
        let pooling = if parts.pooling { Pooling::All } else { Pooling::Alone };
        let pace = if parts.rhythm { Pace::Rhythm } else { Pace::Steady };
        let beliefs = Beliefs::new(MEMORY, pace, Counting::Discoveries, pooling);
        News {
            parts,
            beliefs: beliefs.assuming(Assumed::A_CLICK).with_log_of_all(logs_all),
            predictor: Predictor::default(),
            prospects: Prospects::default(),
            credits: Credits::default(),
            hosts: Vec::new(),
            fresh: FxHashMap::default(),
        }
    }

    /// Adds the next source.
    pub fn add_source(&mut self, host: HostId) -> u32 {
        self.beliefs.add_source(host.0);
        self.hosts.push(host);
        self.hosts.len() as u32 - 1
    }

    /// A page became known, on a source or elsewhere.
    pub fn found(&mut self, page: PageId, host: HostId, url: &str, source: u32, at: Time) {
        let born = match self.hosts.get(source as usize) {
            Some(_) => self.beliefs.found(source as usize, page, at),
            None => Some(at),
        };
        // What a first visit shows is not new: one more page that somebody may want.
        let finder = source;
        let (source, born) = born.map_or((NO_SOURCE, at), |born| (source, born));
        let mut features = of_url(host.0, url);
        let hour = at.seconds() / 3600.0 % 24.0;
        features.push(feature("hour", &(hour as u32).to_string()));
        let lasting = features.len() as u16;
        let mut fresh = Fresh {
            host,
            source,
            finder,
            found: at,
            born,
            fetched: None,
            shown: 0,
            again: 0,
            flow: 0.0,
            is_credited: false,
            features,
            lasting,
        };
        fresh.describe();
        self.fresh.insert(page, fresh);
    }

    /// A page that has so many clicks a second was fetched and shows these links. Pages among them
    /// that wait, whose worth may have changed, are handed to `changed`.
    pub fn showed(
        &mut self,
        Shows { source, clicks, is_first }: Shows,
        at: Time,
        links: Option<&[LinkSeen]>,
        anchors: &[&str],
        mut changed: impl FnMut(PageId),
    ) {
        let links_out = links.map_or(0, <[LinkSeen]>::len).max(1);
        for (place, link) in links.unwrap_or_default().iter().enumerate() {
            let Some(fresh) = self.fresh.get_mut(&link.page) else { continue };
            if is_first {
                fresh.flow += (clicks / links_out as f64) as f32;
            } else if source == NO_SOURCE {
                // It has shown the same before.
                continue;
            }
            if link.is_new {
                fresh.add_link(place, anchors.get(place).copied());
            } else if source != NO_SOURCE && source == fresh.finder {
                continue;
            } else if !fresh.is_credited && fresh.source != NO_SOURCE && source != NO_SOURCE {
                fresh.is_credited = true;
                let decay = self.beliefs.curve(fresh.source as usize).decay;
                let part = -(-decay * at.since(fresh.found).seconds()).exp_m1();
                let host = self.hosts[fresh.source as usize];
                self.credits.count(host, part);
            }
            fresh.shown = fresh.shown.saturating_add(1);
            if fresh.shown == 2 {
                fresh.again = 1 + (at.since(fresh.found).seconds() / 3600.0) as u16;
            }
            fresh.describe();
            if link.is_new && fresh.source != NO_SOURCE {
                self.predictor.saw(&fresh.features);
            }
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

    /// Takes in the log, by which a copy of weight one has so many clicks a second.
    pub fn take_log(&mut self, rows: &[Interest], now: Time, unit: f64) {
        self.prospects.assume(unit);
        self.beliefs.take_log(rows, now);
    }

    /// Learns from pages that have been read for a day, and lets go of what is over. Prospects that
    /// are let go unfetched are handed to `keep` with their factor.
    pub fn let_go(&mut self, now: Time, mut keep: impl FnMut(PageId, f64)) {
        let mut over: Vec<PageId> = Vec::new();
        for (&page, fresh) in &mut self.fresh {
            if !fresh.is_credited
                && fresh.source != NO_SOURCE
                && now.since(fresh.found) >= ALONE_AFTER
            {
                fresh.is_credited = true;
                let host = self.hosts[fresh.source as usize];
                self.credits.count(host, 1.0);
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
                if fresh.source == NO_SOURCE && fresh.fetched.is_none() {
                    keep(page, self.prospect_factor(&fresh));
                }
            }
        }
    }

    fn learn(&mut self, page: PageId, fresh: &Fresh) {
        let Some(shown) = self.beliefs.ledger.shown(page) else { return };
        let clicks: f64 = shown.clicks().map(|(_, count)| count).sum();
        if fresh.source == NO_SOURCE {
            if fresh.fetched.is_none() {
                return;
            }
            // Only what the log could have told counts: without one nothing is known of clicks.
            let seen = shown.lived.seconds() - shown.open.seconds();
            if seen > 0.0 {
                let factor = self.prospect_factor(fresh);
                self.prospects.learn(fresh.host, &fresh.features, factor, seen, clicks);
            }
            return;
        }
        let curve = self.beliefs.curve(fresh.source as usize);
        let scale = self.beliefs.ledger.scale();
        let lost = |age: Span| (-curve.decay * age.seconds()).exp();
        let base = curve.profit / scale * (lost(shown.open) - lost(shown.lived));
        self.predictor.learn(&fresh.features, base, clicks);
    }

    /// Mean clicks of prospects on a host.
    pub fn prospect(&self, host: HostId) -> f64 {
        self.prospects.mean(host)
    }

    fn prospect_factor(&self, fresh: &Fresh) -> f64 {
        if self.parts.prediction { self.prospects.factor(&fresh.features) } else { 1.0 }
    }

    /// What a page that waits is worth, and since when its clicks are being lost.
    pub fn value(&self, page: PageId) -> Option<(Value, Time)> {
        let fresh = self.fresh.get(&page)?;
        if fresh.source == NO_SOURCE {
            let clicks = self.prospect(fresh.host) * self.prospect_factor(fresh);
            return Some((Value::Once { clicks, decay: 0.0 }, fresh.found));
        }
        let curve = self.beliefs.curve(fresh.source as usize);
        let factor =
            if self.parts.prediction { self.predictor.factor(&fresh.features) } else { 1.0 };
        Some((Value::Once { clicks: curve.profit * factor, decay: curve.decay }, fresh.born))
    }

    /// What visits to a source are worth at a time.
    pub fn source(&self, source: u32, now: Time) -> Source {
        let (curve, host) = (self.beliefs.curve(source as usize), self.hosts[source as usize]);
        Source {
            arrivals: self.beliefs.arrivals(source as usize, now),
            credit: if self.parts.credit { self.credits.of(host) } else { 1.0 },
            profit: curve.profit,
            decay: curve.decay,
            spread: if self.parts.prediction { self.predictor.spread() } else { 0.0 },
        }
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

/// A page that shows links.
#[derive(Clone, Copy, Debug)]
pub struct Shows {
    /// Its number among sources.
    pub source: u32,
    /// Its clicks a second.
    pub clicks: f64,
    /// Whether it was never seen before.
    pub is_first: bool,
}

#[cfg(test)]
mod tests {
    use tidewatch_core::InterestKind;

    use super::super::clicks::UNIT;
    use super::*;

    const HOST: HostId = HostId(0);

    fn at(days: f64) -> Time {
        Time::from_seconds(86_400.0 * days).unwrap()
    }

    fn links(page: PageId) -> [LinkSeen; 1] {
        [LinkSeen { page, is_new: true }]
    }

    #[test]
    fn prospects_wait_for_as_long_as_it_takes() {
        let mut news = News::new(Parts::DEFAULT, false);
        news.found(PageId(0), HOST, "http://a.test/x", NO_SOURCE, at(0.0));
        let clicks = |value: Option<(Value, Time)>| match value {
            Some((Value::Once { clicks, decay: 0.0 }, _)) => clicks,
            other => panic!("{other:?}"),
        };
        let first = clicks(news.value(PageId(0)));
        let mut kept = Vec::new();
        news.let_go(at(6.0), |page, factor| kept.push((page, factor)));
        assert!(kept.is_empty() && news.value(PageId(0)).is_some());
        news.let_go(at(8.0), |page, factor| kept.push((page, factor)));
        let [(page, factor)] = kept[..] else { panic!("{kept:?}") };
        assert!(news.value(page).is_none());
        assert!((factor * news.prospect(HOST) / first - 1.0).abs() < 1e-9);
    }

    /// What stood there before the first visit is not news: nobody knows that its time is over.
    #[test]
    fn a_first_visit_shows_prospects_and_the_next_one_news() {
        let mut news = News::new(Parts::DEFAULT, false);
        let source = news.add_source(HOST);
        let waits = [PageId(0), PageId(1)].map(|page| {
            let now = at(f64::from(page.0));
            news.found(page, HOST, "http://a.test/x", source, now);
            let shows = Shows { source, clicks: 0.0, is_first: page.0 == 0 };
            news.showed(shows, now, Some(&links(page)), &[], |_| {});
            match news.value(page) {
                Some((Value::Once { decay, .. }, _)) => (decay, news.is_on_source(page)),
                other => panic!("{other:?}"),
            }
        });
        assert!(matches!(waits, [(0.0, false), (decay, true)] if decay > 0.0), "{waits:?}");
        // Its source shows it for as long as it likes: that is one page.
        let again = [LinkSeen { page: PageId(0), is_new: false }];
        let shows = Shows { source, clicks: 0.0, is_first: false };
        news.showed(shows, at(2.0), Some(&again), &[], |_| {});
        assert_eq!(news.shown_by(PageId(0)), Some(1));
    }

    /// Pages that clicked pages link to are clicked in this web, others are not.
    #[test]
    fn what_clicked_pages_hand_on_is_learnt() {
        let mut news = News::new(Parts::DEFAULT, false);
        let mut number = 0;
        let mut find = |news: &mut News, clicks: f64, now: Time| {
            let page = PageId(number);
            number += 1;
            news.found(page, HOST, "http://a.test/x", NO_SOURCE, now);
            let shows = Shows { source: NO_SOURCE, clicks, is_first: true };
            news.showed(shows, now, Some(&links(page)), &[], |_| {});
            page
        };
        for day in 0..60u32 {
            let now = at(2.0 * f64::from(day));
            for clicks in [0.0, 1e-3] {
                let page = find(&mut news, clicks, now);
                news.fetched(page, now);
                let click = |hour: u32| Interest {
                    page,
                    at: now + Span::HOUR.times(u64::from(hour)),
                    count: 1.0,
                    kind: InterestKind::Click,
                };
                let rows: Vec<Interest> = (1..5).map(click).collect();
                let rows = if clicks > 0.0 { &rows[..] } else { &[] };
                news.take_log(rows, now + Span::DAY, UNIT);
            }
            news.let_go(now + Span::DAY.times(2), |_, _| {});
        }
        let mut worth = |clicks: f64| {
            let page = find(&mut news, clicks, at(200.0));
            match news.value(page) {
                Some((Value::Once { clicks, .. }, _)) => clicks,
                other => panic!("{other:?}"),
            }
        };
        let (dull, lively) = (worth(0.0), worth(1e-3));
        assert!(lively > 2.0 * dull, "{lively} {dull}");
    }
}
