//! What sources show, and what it brings.
//!
//! The life of a new page here: *found* on a page that was fetched, with what can be seen of it from
//! outside; *shown* by further pages while it waits; *fetched* when worth the price; a day later the
//! predictor learns from its clicks, and it is dropped. Pages never fetched are dropped after a week.
//!
//! Pages on no source, or on it before its first visit, are [`super::prospects`]; when one is dropped, its
//! factor is kept in the page's state.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{Asked, HostId, Interest, LinkSeen, PageId, Span, Time};

use super::predict::{Levels, Predictor, feature, magnitude, of_url, words};
use super::prospects::{Described, Prospects};
use super::source::Source;
use super::value::Value;
use crate::Return;
use crate::echo::{Assumed, Beliefs, Counting, Pace, Pooling};
use crate::frontier::Needs;

/// The predictor learns from a page this long after its fetch.
const LEARN_AFTER: Span = Span::DAY;
/// It waits until a second source has shown the page, but no longer than this: by then the features that
/// change are settled.
const SETTLED: Span = Span::DAY.times(2);
/// A page not fetched is dropped after this time.
const LET_GO: Span = Span::WEEK;
/// Most returns that wait for `take_returns`: more than a busy crawl makes in a day.
const MOST_RETURNS: usize = 1 << 14;
/// Visits from which new-link rates are estimated, as in `[LOSS13]`.
const MEMORY: usize = 7;

/// Parts of the model, each of which an experiment may leave out.
#[allow(clippy::struct_excessive_bools, reason = "each can be left out by itself")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Predict every page by its features, not by its source alone.
    pub prediction: bool,
    /// Sources learn from one another.
    pub pooling: bool,
    /// Hosts have hours at which they publish and change.
    pub rhythm: bool,
    /// Weigh pages of the frontier by the pages that link to them.
    pub links: bool,
}

impl Parts {
    /// The default.
    pub const DEFAULT: Parts = Parts { prediction: true, pooling: true, rhythm: true, links: true };
}

/// Sources and new pages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct News {
    parts: Parts,
    beliefs: Beliefs,
    predictor: Predictor,
    prospects: Prospects,
    /// Number of sources.
    sources: u32,
    fresh: FxHashMap<PageId, Fresh>,
    /// What users search for.
    needs: Needs,
    /// Sum of the overlaps of pages found with it, and their number.
    overlaps: (f64, f64),
    /// What pages brought, until it is taken.
    #[serde(skip)]
    returns: Vec<Return>,
}

/// A page found and not yet dropped.
#[derive(Debug, Serialize, Deserialize)]
struct Fresh {
    host: HostId,
    /// The source whose curve it follows (`None` for prospects), and the one on which it was found.
    source: Option<u32>,
    finder: Option<u32>,
    found: Time,
    born: Time,
    fetched: Option<Time>,
    /// Pages that show it.
    shown: u16,
    /// Hours after it was found until a second page showed it, and one more; zero before.
    again: u16,
    /// Its overlap with what users search for.
    overlap: f32,
    /// Its levels when it was fetched.
    levels: [f32; 2],
    /// Features, of which the first `lasting` do not change.
    features: Vec<u32>,
    lasting: u16,
}

impl Fresh {
    /// Updates the features that change: how many pages show it, how soon the second did.
    fn describe(&mut self) {
        self.features.truncate(self.lasting.into());
        self.features.push(magnitude("shown", self.shown.into()));
        if self.again > 0 {
            self.features.push(magnitude("again", self.again.into()));
        }
    }

    /// Adds the position and the text of the link on which it was found.
    fn add_link(&mut self, place: usize, anchor: Option<&str>) {
        self.features.truncate(self.lasting.into());
        self.features.push(magnitude("place", place + 1));
        words("link", anchor.unwrap_or_default(), &mut self.features);
        self.lasting = self.features.len() as u16;
    }
}

impl News {
    /// Nothing known yet. `logs_all`: whether the log also has the clicks of pages never fetched.
    pub(super) fn new(parts: Parts, logs_all: bool) -> Self {
        let pooling = if parts.pooling { Pooling::All } else { Pooling::Alone };
        let pace = if parts.rhythm { Pace::Rhythm } else { Pace::Steady };
        let beliefs = Beliefs::new(MEMORY, pace, Counting::Discoveries, pooling);
        News {
            parts,
            beliefs: beliefs.assuming(Assumed::A_CLICK).with_log_of_all(logs_all),
            predictor: Predictor::default(),
            prospects: Prospects::default(),
            sources: 0,
            fresh: FxHashMap::default(),
            needs: Needs::default(),
            overlaps: (0.0, 0.0),
            returns: Vec::new(),
        }
    }

    /// What pages brought since the last call.
    pub(super) fn take_returns(&mut self) -> Vec<Return> {
        std::mem::take(&mut self.returns)
    }

    /// Adds the next source.
    pub(super) fn add_source(&mut self, host: HostId) -> u32 {
        self.beliefs.add_source(host.0);
        self.sources += 1;
        self.sources - 1
    }

    /// A page became known, on a source or elsewhere.
    pub(super) fn found(
        &mut self,
        page: PageId,
        host: HostId,
        url: &str,
        source: Option<u32>,
        at: Time,
    ) {
        let finder = source;
        let born = match source {
            Some(source) => self.beliefs.found(source as usize, page, at),
            None => Some(at),
        };
        // What a first visit shows is not new: one more page that somebody may want.
        let (source, born) = born.map_or((None, at), |born| (source, born));
        let mut features = of_url(host.0, url);
        let hour = at.seconds() / 3600.0 % 24.0;
        features.push(feature("hour", &(hour as u32).to_string()));
        let lasting = features.len() as u16;
        let overlap = self.needs.overlap_of(url, "");
        if !self.needs.is_empty() {
            self.overlaps = (self.overlaps.0 + overlap, self.overlaps.1 + 1.0);
        }
        let mut fresh = Fresh {
            host,
            source,
            finder,
            found: at,
            born,
            fetched: None,
            shown: 0,
            again: 0,
            overlap: overlap as f32,
            levels: [0.0; 2],
            features,
            lasting,
        };
        fresh.describe();
        self.fresh.insert(page, fresh);
    }

    /// A page was fetched and shows `links`. Returns those among them that wait for a first fetch,
    /// whose worth may have changed.
    pub(super) fn showed(
        &mut self,
        Shows { source, is_first }: Shows,
        at: Time,
        links: &[LinkSeen],
        anchors: &[&str],
    ) -> Vec<PageId> {
        let mut changed = Vec::new();
        for (place, link) in links.iter().enumerate() {
            let Some(fresh) = self.fresh.get_mut(&link.page) else { continue };
            if !is_first && source.is_none() {
                // It has shown the same before.
                continue;
            }
            if link.is_new {
                fresh.add_link(place, anchors.get(place).copied());
            } else if source.is_some() && source == fresh.finder {
                continue;
            }
            fresh.shown = fresh.shown.saturating_add(1);
            if fresh.shown == 2 {
                let hours = at.since(fresh.found).seconds() / 3600.0;
                fresh.again = (1.0 + hours) as u16;
            }
            fresh.describe();
            if link.is_new && fresh.source.is_some() {
                self.predictor.saw(&fresh.features);
            }
            if fresh.fetched.is_none() {
                changed.push(link.page);
            }
        }
        if let Some(source) = source {
            self.beliefs.visited(source as usize, at, Some(links));
        }
        changed
    }

    /// A page of this level by links was fetched for the first time.
    pub(super) fn fetched(&mut self, page: PageId, level: f64, at: Time) {
        self.beliefs.ledger.open(page, at);
        let levels = self.fresh.get(&page).map(|fresh| self.levels(fresh, level));
        let levels = levels.unwrap_or_default().map(|level| level as f32);
        if let Some(fresh) = self.fresh.get_mut(&page) {
            fresh.fetched = Some(at);
            fresh.levels = levels;
            if fresh.source.is_none() {
                // Followed from its fetch on.
                self.beliefs.ledger.expect(page, at);
                self.beliefs.ledger.open(page, at);
            }
        }
    }

    /// Takes in the log; `unit` is the clicks per second of a copy of weight one.
    pub(super) fn take_log(&mut self, rows: &[Interest], now: Time, unit: f64) {
        self.prospects.assume(unit);
        self.beliefs.take_log(rows, now);
    }

    /// Learns from pages that were fetched a day ago, and lets go of what is over. Returns the prospects
    /// that are let go unfetched, with the factor of all but their links. `own` is the chance of a page to
    /// bring something of its own: what is doubted is expected to bring less.
    pub(super) fn let_go(&mut self, now: Time, own: impl Fn(PageId) -> f64) -> Vec<(PageId, f64)> {
        let mut over: Vec<PageId> = Vec::new();
        for (&page, fresh) in &self.fresh {
            let is_over = match fresh.fetched {
                Some(at) => now.since(at) >= LEARN_AFTER,
                None => now.since(fresh.found) >= LET_GO,
            };
            let is_settled =
                fresh.source.is_none() || fresh.shown > 1 || now.since(fresh.found) >= SETTLED;
            if is_over && is_settled {
                over.push(page);
            }
        }
        // The order of the map is not stable, and a replay must learn in the same order.
        over.sort_unstable();
        let mut kept = Vec::new();
        for page in over {
            if let Some(fresh) = self.fresh.remove(&page) {
                self.learn(page, &fresh, own(page));
                if fresh.source.is_none() && fresh.fetched.is_none() {
                    let by_queries = self.prospects.level_factor(self.levels(&fresh, 0.0));
                    kept.push((page, self.prospect_factor(&fresh) * by_queries));
                }
            }
        }
        kept
    }

    fn learn(&mut self, page: PageId, fresh: &Fresh, own: f64) {
        let Some(shown) = self.beliefs.ledger.shown(page) else { return };
        let clicks: f64 = shown.clicks().map(|(_, count)| count).sum();
        let Some(source) = fresh.source else {
            if fresh.fetched.is_none() {
                return;
            }
            // Only time that the log covers counts.
            let seen = shown.lived.seconds() - shown.open.seconds();
            let (features, levels) = (&fresh.features[..], fresh.levels.map(f64::from));
            let prospect = Described { features, levels, factor: self.prospect_factor(fresh) };
            let (expected, weight) = self.prospects.expected(fresh.host, prospect, seen);
            if own * seen > 0.0 {
                self.prospects.learn(fresh.host, prospect, own * seen, clicks);
            }
            return self.note_return(Return { page, expected, clicks, weight });
        };
        let curve = self.beliefs.curve(source as usize);
        let scale = self.beliefs.ledger.scale();
        let lost = |age: Span| (-curve.decay * age.seconds()).exp();
        let base = curve.profit / scale * (lost(shown.open) - lost(shown.lived));
        let expected = base * self.predictor.factor(&fresh.features);
        let weight = self.predictor.tells(expected);
        self.predictor.learn(&fresh.features, [0.0; 2], own * base, clicks);
        if fresh.fetched.is_some() {
            self.note_return(Return { page, expected, clicks, weight });
        }
    }

    fn note_return(&mut self, of_page: Return) {
        if of_page.expected > 0.0 && self.returns.len() < MOST_RETURNS {
            self.returns.push(of_page);
        }
    }

    /// Expected clicks of a prospect by its host and its level.
    pub(super) fn prospect(&self, host: HostId, level: f64) -> f64 {
        self.prospects.mean(host) * self.prospects.level_factor([level, 0.0])
    }

    /// A page's levels by links and by queries.
    fn levels(&self, fresh: &Fresh, by_links: f64) -> Levels {
        let (sum, count) = self.overlaps;
        let by_queries =
            if sum > 0.0 { (f64::from(fresh.overlap) * count / sum).ln_1p() } else { 0.0 };
        [by_links, by_queries]
    }

    /// Takes in what users search for.
    pub(super) fn asked(&mut self, asked: &[Asked<'_>]) {
        self.needs = Needs::new(asked.iter().copied());
        self.overlaps = (0.0, 0.0);
    }

    fn prospect_factor(&self, fresh: &Fresh) -> f64 {
        if self.parts.prediction { self.prospects.factor(&fresh.features) } else { 1.0 }
    }

    /// The value of a page of this level by links that waits for its first fetch, and since when it loses
    /// clicks.
    pub(super) fn value(&self, page: PageId, level: f64) -> Option<(Value, Time)> {
        let fresh = self.fresh.get(&page)?;
        let Some(source) = fresh.source else {
            let by_levels = self.prospects.level_factor(self.levels(fresh, level));
            let clicks = self.prospects.mean(fresh.host) * by_levels * self.prospect_factor(fresh);
            return Some((Value::Once { clicks, decay: 0.0 }, fresh.found));
        };
        let curve = self.beliefs.curve(source as usize);
        let factor =
            if self.parts.prediction { self.predictor.factor(&fresh.features) } else { 1.0 };
        Some((Value::Once { clicks: curve.profit * factor, decay: curve.decay }, fresh.born))
    }

    /// The value of visits to a source at `now`.
    pub(super) fn source(&self, source: u32, now: Time) -> Source {
        let curve = self.beliefs.curve(source as usize);
        Source {
            arrivals: self.beliefs.arrivals(source as usize, now),
            profit: curve.profit,
            decay: curve.decay,
            spread: if self.parts.prediction { self.predictor.spread() } else { 0.0 },
        }
    }

    /// Seconds since a page that waits for its first fetch was found.
    pub(super) fn waited(&self, page: PageId, now: Time) -> f64 {
        self.fresh.get(&page).map_or(0.0, |fresh| now.since(fresh.found).seconds())
    }

    /// Whether a source revealed a page that waits.
    pub(super) fn is_on_source(&self, page: PageId) -> bool {
        self.fresh.get(&page).is_some_and(|fresh| fresh.source.is_some())
    }

    /// How many pages show one that waits, for explanations.
    pub(super) fn shown_by(&self, page: PageId) -> Option<u16> {
        self.fresh.get(&page).map(|fresh| fresh.shown)
    }
}

/// A page that shows links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shows {
    /// Its number among sources, if it is one.
    pub(super) source: Option<u32>,
    /// Whether it was never seen before.
    pub(super) is_first: bool,
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
        news.found(PageId(0), HOST, "http://a.test/x", None, at(0.0));
        let clicks = |value: Option<(Value, Time)>| match value {
            Some((Value::Once { clicks, decay: 0.0 }, _)) => clicks,
            other => panic!("{other:?}"),
        };
        let first = clicks(news.value(PageId(0), 0.0));
        assert!(news.let_go(at(6.0), |_| 1.0).is_empty() && news.value(PageId(0), 0.0).is_some());
        let kept = news.let_go(at(8.0), |_| 1.0);
        let [(page, factor)] = kept[..] else { panic!("{kept:?}") };
        assert!(news.value(page, 0.0).is_none());
        assert!((factor * news.prospect(HOST, 0.0) / first - 1.0).abs() < 1e-9);
    }

    /// What a page brought is told once, a day after its fetch: what was expected of it without its doubt.
    #[test]
    fn what_pages_brought_is_told_once() {
        let mut news = News::new(Parts::DEFAULT, false);
        let page = PageId(0);
        news.found(page, HOST, "http://a.test/x", None, at(0.0));
        let Some((Value::Once { clicks: in_two_weeks, .. }, _)) = news.value(page, 0.0) else {
            panic!("it waits")
        };
        news.fetched(page, 0.0, at(0.0));
        let click = Interest { page, at: at(0.5), count: 3.0, kind: InterestKind::Click };
        news.take_log(&[click], at(1.0), UNIT);
        assert!(news.take_returns().is_empty());
        news.let_go(at(2.0), |_| 0.25);
        let [told] = news.take_returns()[..] else { panic!("one page was let go") };
        assert_eq!((told.page, told.clicks), (page, 3.0));
        assert!((told.expected * 14.0 / in_two_weeks - 1.0).abs() < 1e-9, "{told:?}");
        assert!(told.weight > 0.0 && told.weight < 1.0, "{told:?}");
        assert!(news.take_returns().is_empty());
    }

    /// What stood there before the first visit is not news: nobody knows that its time is over.
    #[test]
    fn a_first_visit_shows_prospects_and_the_next_one_news() {
        let mut news = News::new(Parts::DEFAULT, false);
        let source = Some(news.add_source(HOST));
        let waits = [PageId(0), PageId(1)].map(|page| {
            let now = at(f64::from(page.0));
            news.found(page, HOST, "http://a.test/x", source, now);
            let shows = Shows { source, is_first: page.0 == 0 };
            news.showed(shows, now, &links(page), &[]);
            match news.value(page, 0.0) {
                Some((Value::Once { decay, .. }, _)) => (decay, news.is_on_source(page)),
                other => panic!("{other:?}"),
            }
        });
        assert!(matches!(waits, [(0.0, false), (decay, true)] if decay > 0.0), "{waits:?}");
        // Its source shows it for as long as it likes: that is one page.
        let again = [LinkSeen { page: PageId(0), is_new: false }];
        let shows = Shows { source, is_first: false };
        news.showed(shows, at(2.0), &again, &[]);
        assert_eq!(news.shown_by(PageId(0)), Some(1));
    }

    /// Pages of a high level are clicked in this web, others are not.
    #[test]
    fn what_a_level_is_worth_is_learnt() {
        let mut news = News::new(Parts::DEFAULT, false);
        let worth = |news: &mut News, page: PageId, level: f64, now: Time| {
            news.found(page, HOST, "http://a.test/x", None, now);
            news.showed(Shows { source: None, is_first: true }, now, &links(page), &[]);
            match news.value(page, level) {
                Some((Value::Once { clicks, .. }, _)) => clicks,
                other => panic!("{other:?}"),
            }
        };
        let ratio = |news: &mut News, number: u32, now: Time| {
            worth(news, PageId(number), 1.0, now) / worth(news, PageId(number + 1), -1.0, now)
        };
        let before = ratio(&mut news, 1000, at(0.0));
        for day in 0..60u32 {
            let now = at(2.0 * f64::from(day));
            for (page, level) in [(PageId(2 * day), -1.0), (PageId(2 * day + 1), 1.0)] {
                worth(&mut news, page, level, now);
                news.fetched(page, level, now);
                let click = |hour: u32| Interest {
                    page,
                    at: now + Span::HOUR.times(u64::from(hour)),
                    count: 1.0,
                    kind: InterestKind::Click,
                };
                let rows: Vec<Interest> = (1..5).map(click).collect();
                let rows = if level > 0.0 { &rows[..] } else { &[] };
                news.take_log(rows, now + Span::DAY, UNIT);
            }
            news.let_go(now + Span::DAY.times(2), |_| 1.0);
        }
        let after = ratio(&mut news, 2000, at(200.0));
        assert!(after > 2.0 * before, "{before} {after}");
    }
}
