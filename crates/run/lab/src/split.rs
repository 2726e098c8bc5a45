//! A fixed split of the budget among three policies: refreshes, news (sources and the pages that they
//! reveal) and the frontier. The baseline for one price.
//!
//! Each part sees only its own pages, under its own page numbers, as if it crawled alone. A page is
//! news if it is a source or a source revealed it, frontier if it was found in any other way, and also
//! a refresh from its first fetch on. The part furthest behind its share is asked first; if it has no
//! page, the others are asked.

use rustc_hash::FxHashMap;
use tidewatch_core::{
    Content, Discovery, Event, HostId, Interest, LinkSeen, Observation, Outcome, PageId, PageKey,
    Rate, Time,
};
use tidewatch_policy::{Choice, Gate, Policy};

/// Numbers of the parts.
const REFRESH: usize = 0;
const NEWS: usize = 1;
const FRONTIER: usize = 2;

/// Policies for refreshes, news and the frontier, each with a share of the budget.
pub struct Split {
    parts: [Part; 3],
    pages: Vec<Page>,
}

struct Part {
    policy: Box<dyn Policy>,
    share: f64,
    /// Allowances received, divided by the share.
    used: f64,
    /// From the part's page numbers to the frontier's, and back.
    pages: Vec<PageId>,
    own: FxHashMap<PageId, PageId>,
}

/// The past of a page, for a part that learns of it later than the frontier did.
#[derive(Clone)]
struct Page {
    host: HostId,
    key: PageKey,
    url: Box<str>,
    weight: f64,
    is_source: bool,
    home: usize,
    is_held: bool,
}

impl Part {
    fn new(policy: Box<dyn Policy>, share: f64) -> Self {
        Part { policy, share, used: 0.0, pages: Vec::new(), own: FxHashMap::default() }
    }

    fn discover(&mut self, page: PageId, of: &Page, at: Time, via: Option<PageId>, is_held: bool) {
        let id = PageId(self.pages.len() as u32);
        self.pages.push(page);
        self.own.insert(page, id);
        let via = via.and_then(|via| self.own.get(&via).copied());
        self.policy.learn(&Event::Discovered(Discovery {
            page: id,
            host: of.host,
            key: of.key,
            url: &of.url,
            at,
            via,
            is_source: of.is_source,
            is_held,
            weight: of.weight,
        }));
    }

    /// Passes on an observation, in the part's own numbers.
    fn see(&mut self, seen: &Observation<'_>, is_held: bool) {
        let Some(&page) = self.own.get(&seen.page) else { return };
        let (mut links, mut anchors) = (Vec::new(), Vec::new());
        let outcome = match seen.outcome {
            Outcome::Fetched(content) => {
                for (i, link) in content.links.iter().enumerate() {
                    if let Some(&page) = self.own.get(&link.page) {
                        links.push(LinkSeen { page, is_new: link.is_new });
                        anchors.extend(content.anchors.get(i));
                    }
                }
                Outcome::Fetched(Content { links: &links, anchors: &anchors, ..content })
            }
            other => other,
        };
        let seen = Observation { page, outcome, ..*seen };
        self.policy.learn(&if is_held { Event::Held(seen) } else { Event::Fetched(seen) });
    }

    fn take_log(&mut self, rows: &[Interest]) {
        let own = |row: &Interest| Some(Interest { page: *self.own.get(&row.page)?, ..*row });
        let rows: Vec<Interest> = rows.iter().filter_map(own).collect();
        self.policy.learn(&Event::Log(&rows));
    }
}

impl Split {
    /// Policies and shares of refreshes, news and the frontier.
    pub fn new(policies: [Box<dyn Policy>; 3], shares: [f64; 3]) -> Self {
        let mut shares = shares.into_iter();
        let parts = policies.map(|policy| Part::new(policy, shares.next().unwrap_or(0.0)));
        Split { parts, pages: Vec::new() }
    }

    fn discover(&mut self, found: &Discovery<'_>) {
        let via = found.via.and_then(|via| self.pages.get(via.index()));
        let is_news = found.is_source || via.is_some_and(|via| via.is_source);
        let home = match (is_news, found.is_held) {
            (true, _) => NEWS,
            (false, true) => REFRESH,
            (false, false) => FRONTIER,
        };
        let page = Page {
            host: found.host,
            key: found.key,
            url: found.url.into(),
            weight: found.weight,
            is_source: found.is_source,
            home,
            is_held: found.is_held,
        };
        self.parts[home].discover(found.page, &page, found.at, found.via, found.is_held);
        self.pages.push(page);
    }

    fn see(&mut self, seen: &Observation<'_>, was_held: bool) {
        let page = &mut self.pages[seen.page.index()];
        let (home, is_first) = (page.home, !page.is_held);
        // After its first fetch a page is kept fresh by the refreshing part.
        let is_fetched = matches!(seen.outcome, Outcome::Fetched(_));
        self.parts[home].see(seen, was_held);
        if home != REFRESH && !page.is_source {
            if is_first && is_fetched {
                page.is_held = true;
                let page = page.clone();
                self.parts[REFRESH].discover(seen.page, &page, seen.at, None, true);
                self.parts[REFRESH].see(seen, true);
            } else if !is_first {
                self.parts[REFRESH].see(seen, was_held);
            }
        }
    }
}

impl Policy for Split {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => self.discover(found),
            Event::Held(seen) => self.see(seen, true),
            Event::Fetched(seen) => self.see(seen, false),
            Event::Log(rows) => self.parts.iter_mut().for_each(|part| part.take_log(rows)),
            Event::Asked(_) => self.parts.iter_mut().for_each(|part| part.policy.learn(event)),
            // A part plans with its own share.
            Event::Budget(rate) => self.parts.iter_mut().for_each(|part| {
                let own = Rate::per_second(part.share * rate.as_per_second());
                part.policy.learn(&Event::Budget(own.unwrap_or(Rate::ZERO)));
            }),
            Event::Hinted(_) | Event::Doubted(_) => {}
        }
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        let mut order = [REFRESH, NEWS, FRONTIER];
        order.sort_by(|&a, &b| self.parts[a].used.total_cmp(&self.parts[b].used));
        for (turn, part) in order.into_iter().enumerate() {
            let part = &mut self.parts[part];
            if part.share <= 0.0 {
                continue;
            }
            if turn == 0 {
                part.used += part.share.recip();
            }
            if let Choice::Fetch(page) = part.policy.choose(now, gate) {
                return Choice::Fetch(part.pages[page.index()]);
            }
        }
        Choice::Idle
    }
}
