//! Which pages are worth watching for new links?
//!
//! The procedure of `[LOSS13]`, §3.2: for every host that generates new content, look at its main
//! page; the sources are the main page and all pages one hop from it that are older than a few days,
//! since new pages are almost never sources. Feeds and sitemaps met on the way are sources whatever
//! their age. Most useful sources are within that one hop (86% in the paper), and what is useless
//! costs little: the schedule hardly visits it. So recall matters here, not precision.
//!
//! The life of a source: found by a review; watched; *retired* when it is gone, or when it yielded
//! nothing in many visits over weeks; on *parole* after a while, when a review may find it again.
//! Reviews repeat ([`Settings::repeat`]), each asking first for a look at main pages not seen since
//! the last. A page's age is the time since the crawl knows it; what was in the collection when the
//! crawl began counts as old.
//!
//! Pure and fed by the same events as a policy, so it works on the lab's webs as on the live one.

use tidewatch_core::{Discovery, Event, Observation, Outcome, PageId, Span, Time};

/// When pages become sources, and cease to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// A linked page is a source only if the crawl has known it for this time: "a few days".
    pub oldness: Span,
    /// Time between two reviews of a host.
    pub repeat: Span,
    /// A host generates content if this many new pages were found on it…
    pub fewest_new: u32,
    /// …within this time. A crawl younger than that counts every host.
    pub recent: Span,
    /// A source without new links in this many visits…
    pub barren_visits: u32,
    /// …and this time is retired…
    pub barren_time: Span,
    /// …and not taken back for this time.
    pub parole: Span,
    /// Sources that a host may have: a page with a million links must not make a million sources.
    pub most_per_host: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            oldness: Span::DAY.times(3),
            repeat: Span::DAY,
            fewest_new: 2,
            recent: Span::WEEK,
            barren_visits: 7,
            barren_time: Span::WEEK.times(2),
            parole: Span::WEEK.times(4),
            most_per_host: 500,
        }
    }
}

/// Finds sources as a crawl goes on.
#[derive(Debug)]
pub struct Finder {
    settings: Settings,
    began: Time,
    pages: Vec<Page>,
    hosts: Vec<Host>,
}

#[derive(Clone, Debug)]
struct Page {
    host: u32,
    /// Since when the crawl knows it; the origin of time if it was held at the beginning.
    known: Time,
    is_feed: bool,
    state: State,
}

/// The state of a page as a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Plain,
    /// Watched; since when it has yielded nothing, and in how many visits.
    Watched {
        barren_since: Time,
        barren_visits: u32,
    },
    Retired {
        until: Time,
    },
}

#[derive(Clone, Debug, Default)]
struct Host {
    main: Option<PageId>,
    /// When the main page was last looked at, and what it showed; feeds met on its pages besides.
    looked: Option<Time>,
    linked: Vec<PageId>,
    feeds: Vec<PageId>,
    /// New pages in this period and the one before, each as long as [`Settings::recent`].
    new: [u32; 2],
    period: u64,
    sources: usize,
}

/// What a review says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// Main pages to be fetched for the next review.
    pub look_at: Vec<PageId>,
    /// Pages to be watched from now on.
    pub found: Vec<PageId>,
    /// Sources to be watched no longer.
    pub retired: Vec<PageId>,
}

impl Finder {
    /// A finder that knows nothing yet, of a crawl that begins at `began`.
    pub fn new(settings: Settings, began: Time) -> Self {
        Finder { settings, began, pages: Vec::new(), hosts: Vec::new() }
    }

    /// Takes note of an event.
    pub fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => self.discover(found),
            Event::Held(seen) | Event::Fetched(seen) => self.see(seen),
            _ => {}
        }
    }

    /// Whether a page is watched.
    pub fn is_source(&self, page: PageId) -> bool {
        let state = self.pages.get(page.index()).map(|page| page.state);
        matches!(state, Some(State::Watched { .. }))
    }

    /// The sources of all hosts.
    pub fn sources(&self) -> impl Iterator<Item = PageId> + '_ {
        (0..self.pages.len() as u32).map(PageId).filter(|&page| self.is_source(page))
    }

    fn discover(&mut self, found: &Discovery<'_>) {
        let (host, index) = (found.host.0, found.page.index());
        debug_assert_eq!(index, self.pages.len());
        let known = if found.is_held { Time::ZERO } else { found.at };
        let is_feed = is_feed(found.url);
        self.pages.push(Page { host, known, is_feed, state: State::Plain });
        while self.hosts.len() <= host as usize {
            self.hosts.push(Host::default());
        }
        let period = self.period(found.at);
        let entry = &mut self.hosts[host as usize];
        if is_main(found.url) {
            entry.main = Some(found.page);
        } else if !found.is_held && found.via.is_some() {
            entry.enter(period);
            entry.new[0] = entry.new[0].saturating_add(1);
        }
    }

    fn see(&mut self, seen: &Observation<'_>) {
        let Some(page) = self.pages.get(seen.page.index()) else { return };
        let host = page.host as usize;
        let content = match seen.outcome {
            Outcome::Fetched(content) => content,
            Outcome::Gone => {
                self.retire(seen.page, seen.at);
                return;
            }
            Outcome::Failed(_) => return,
        };
        let has_new = content.links.iter().any(|link| link.is_new);
        if let State::Watched { barren_since, barren_visits } =
            &mut self.pages[seen.page.index()].state
        {
            *barren_visits = if has_new { 0 } else { barren_visits.saturating_add(1) };
            *barren_since = if has_new { seen.at } else { *barren_since };
        }
        let links = content.links.iter().map(|link| link.page);
        let own =
            |page: &PageId| self.pages.get(page.index()).is_some_and(|p| p.host as usize == host);
        let feeds = |page: &PageId| self.pages.get(page.index()).is_some_and(|page| page.is_feed);
        if self.hosts[host].main == Some(seen.page) {
            let mut linked: Vec<PageId> = links.clone().filter(own).collect();
            linked.sort_unstable();
            linked.dedup();
            self.hosts[host].linked = linked;
            self.hosts[host].looked = Some(seen.at);
        }
        let mut met: Vec<PageId> = links.filter(own).filter(feeds).collect();
        let known = &mut self.hosts[host].feeds;
        met.retain(|page| !known.contains(page));
        let room = self.settings.most_per_host.saturating_sub(known.len());
        known.extend(met.into_iter().take(room));
    }

    /// Reviews all hosts: which main pages to fetch, which pages to watch, which to give up.
    pub fn review(&mut self, now: Time) -> Review {
        let mut review = Review::default();
        for page in (0..self.pages.len() as u32).map(PageId) {
            if self.is_barren(page, now) {
                self.retire(page, now);
                review.retired.push(page);
            }
        }
        let period = self.period(now);
        for host in 0..self.hosts.len() {
            self.hosts[host].enter(period);
            if !self.generates(host, now) {
                continue;
            }
            let entry = &self.hosts[host];
            let Some(main) = entry.main else { continue };
            if entry.looked.is_none_or(|looked| now.since(looked) >= self.settings.repeat) {
                review.look_at.push(main);
            }
            let feeds = entry.feeds.iter().copied();
            let old = entry.linked.iter().copied().filter(|&page| self.is_old(page, now));
            let candidates: Vec<PageId> = std::iter::once(main).chain(feeds).chain(old).collect();
            for page in candidates {
                if self.promote(page, now) {
                    review.found.push(page);
                }
            }
        }
        review
    }

    /// Whether new pages keep coming on a host.
    fn generates(&self, host: usize, now: Time) -> bool {
        let young = now.since(self.began) < self.settings.recent;
        let [now, before] = self.hosts[host].new;
        young || now.saturating_add(before) >= self.settings.fewest_new
    }

    fn is_old(&self, page: PageId, now: Time) -> bool {
        now.since(self.pages[page.index()].known) >= self.settings.oldness
            || self.pages[page.index()].known == Time::ZERO
    }

    fn promote(&mut self, page: PageId, now: Time) -> bool {
        let entry = &mut self.pages[page.index()];
        let host = &mut self.hosts[entry.host as usize];
        let may = match entry.state {
            State::Plain => true,
            State::Watched { .. } => false,
            State::Retired { until } => now >= until,
        };
        if !may || host.sources >= self.settings.most_per_host {
            return false;
        }
        entry.state = State::Watched { barren_since: now, barren_visits: 0 };
        host.sources += 1;
        true
    }

    /// Main pages stay: everything else is found through them.
    fn is_barren(&self, page: PageId, now: Time) -> bool {
        let entry = &self.pages[page.index()];
        let State::Watched { barren_since, barren_visits } = entry.state else { return false };
        self.hosts[entry.host as usize].main != Some(page)
            && barren_visits >= self.settings.barren_visits
            && now.since(barren_since) >= self.settings.barren_time
    }

    fn retire(&mut self, page: PageId, now: Time) {
        let entry = &mut self.pages[page.index()];
        if matches!(entry.state, State::Watched { .. }) {
            self.hosts[entry.host as usize].sources -= 1;
        }
        entry.state = State::Retired { until: now + self.settings.parole };
    }

    fn period(&self, at: Time) -> u64 {
        at.as_micros() / self.settings.recent.as_micros().max(1)
    }
}

impl Host {
    /// Moves on to a period; a clock that goes back changes nothing.
    fn enter(&mut self, period: u64) {
        if period > self.period {
            let passed = period - self.period;
            self.new = [0, if passed == 1 { self.new[0] } else { 0 }];
            self.period = period;
        }
    }
}

/// Path and query of a URL in canonical form.
fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("/", |slash| &rest[slash..])
}

fn is_main(url: &str) -> bool {
    path(url) == "/"
}

/// Endings of the paths of feeds and sitemaps; a path that merely contains them is an article.
const FEED_ENDINGS: [&str; 10] = [
    ".rss", ".atom", "/rss", "/atom", "/feed", "/feed/", "/rss/", "rss.xml", "feed.xml", "atom.xml",
];

/// Whether a URL looks like a feed or a sitemap.
fn is_feed(url: &str) -> bool {
    let path = path(url).split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_sitemap = name.starts_with("sitemap")
        && [".xml", ".xml.gz", ".txt"].iter().any(|e| name.ends_with(e));
    is_sitemap || FEED_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_core::{Content, FetchKind, HostId, LinkSeen, PageKey};

    fn day(days: u64) -> Time {
        Time::ZERO + Span::DAY.times(days)
    }

    /// A crawl of one host, told page by page.
    struct Crawl {
        finder: Finder,
        pages: u32,
    }

    impl Crawl {
        fn new() -> Self {
            let mut crawl = Crawl { finder: Finder::new(Settings::default(), day(0)), pages: 0 };
            crawl.page("/", day(0), None);
            crawl
        }

        fn page(&mut self, path: &str, at: Time, via: Option<PageId>) -> PageId {
            let url = format!("https://news.test{path}");
            let page = PageId(self.pages);
            self.pages += 1;
            self.finder.learn(&Event::Discovered(Discovery {
                page,
                host: HostId(0),
                key: PageKey::of(&url),
                url: &url,
                at,
                via,
                is_source: false,
                is_held: via.is_none(),
                weight: 1.0,
            }));
            page
        }

        fn visit(&mut self, page: PageId, at: Time, links: &[(PageId, bool)]) {
            let links: Vec<LinkSeen> =
                links.iter().map(|&(page, is_new)| LinkSeen { page, is_new }).collect();
            let content = Content { links: &links, ..Content::default() };
            self.outcome(page, at, Outcome::Fetched(content));
        }

        fn outcome(&mut self, page: PageId, at: Time, outcome: Outcome<'_>) {
            let (kind, previous) = (FetchKind::Source, None);
            let seen = Observation { page, at, kind, previous, outcome };
            self.finder.learn(&Event::Fetched(seen));
        }
    }

    const MAIN: PageId = PageId(0);

    #[test]
    fn old_pages_one_hop_away_become_sources_and_new_ones_do_not() {
        let mut crawl = Crawl::new();
        let section = crawl.page("/politics/", day(0), None);
        let article = crawl.page("/politics/article-1", day(1), Some(MAIN));
        let deep = crawl.page("/politics/archive/", day(0), None);
        let feed = crawl.page("/politics/feed/", day(1), Some(section));
        let first = Review { look_at: vec![MAIN], found: vec![MAIN], ..Review::default() };
        assert_eq!(crawl.finder.review(day(1)), first);
        crawl.visit(MAIN, day(1), &[(section, false), (article, true)]);
        crawl.visit(section, day(1), &[(deep, false), (feed, true)]);
        let review = crawl.finder.review(day(1));
        assert_eq!(review.found, [feed, section]);
        assert!(review.look_at.is_empty() && !crawl.finder.is_source(deep));
        // Three days later the article is no longer new; if it still stands there it is a source.
        crawl.visit(MAIN, day(5), &[(section, false), (article, false)]);
        assert_eq!(crawl.finder.review(day(5)).found, [article]);
        assert_eq!(
            crawl.finder.review(day(6)),
            Review { look_at: vec![MAIN], ..Review::default() }
        );
    }

    #[test]
    fn sources_that_yield_nothing_are_retired_and_may_come_back() {
        let mut crawl = Crawl::new();
        let section = crawl.page("/quiet/", day(0), None);
        crawl.visit(MAIN, day(0), &[(section, false)]);
        crawl.finder.review(day(0));
        for week in 0..8_u64 {
            // The host itself stays alive.
            for i in 0..2 {
                let page = crawl.page(&format!("/a-{week}-{i}"), day(7 * week + 1), Some(MAIN));
                crawl.visit(MAIN, day(7 * week + 1), &[(section, false), (page, true)]);
            }
            (0..4).for_each(|i| crawl.visit(section, day(7 * week + 1 + i), &[]));
            let review = crawl.finder.review(day(7 * week + 6));
            match week {
                2 => assert_eq!(review.retired, [section]),
                // Four weeks of parole after day 20.
                6 => assert!(review.found.contains(&section)),
                _ => assert!(review.retired.is_empty() && !review.found.contains(&section)),
            }
        }
        assert!(crawl.finder.is_source(MAIN));
    }

    #[test]
    fn what_vanishes_is_retired_at_once_and_quiet_hosts_are_left_alone() {
        let mut crawl = Crawl::new();
        let section = crawl.page("/politics/", day(0), None);
        crawl.visit(MAIN, day(0), &[(section, false)]);
        crawl.finder.review(day(0));
        crawl.outcome(section, day(1), Outcome::Gone);
        assert_eq!(crawl.finder.sources().collect::<Vec<_>>(), [MAIN]);
        crawl.outcome(MAIN, day(2), Outcome::Failed(tidewatch_core::Reason::IdleTimeout));
        assert!(crawl.finder.is_source(MAIN));
        // No new page for weeks: nobody asks for the main page any more.
        assert!(crawl.finder.review(day(40)).look_at.is_empty());
    }

    #[test]
    fn a_page_of_a_million_links_makes_few_sources() {
        let mut crawl = Crawl::new();
        let links: Vec<(PageId, bool)> =
            (0..2000).map(|i| (crawl.page(&format!("/tag/{i}"), day(0), None), false)).collect();
        crawl.visit(MAIN, day(0), &links);
        let found = crawl.finder.review(day(0)).found;
        assert_eq!(found.len(), Settings::default().most_per_host);
    }

    #[test]
    fn feeds_are_told_by_their_urls() {
        for url in ["/rss", "/news/feed", "/x.rss?full=1", "/sitemap.xml", "/sitemap-news-2.xml.gz"]
        {
            assert!(is_feed(&format!("https://a.test{url}")), "{url}");
        }
        for url in ["/", "/rss-explained", "/feedback", "/my-sitemap-story.html", "/sitemaps/"] {
            assert!(!is_feed(&format!("https://a.test{url}")), "{url}");
        }
        assert!(
            is_main("https://a.test/") && is_main("https://a.test") && !is_main("https://a.test/x")
        );
    }
}
