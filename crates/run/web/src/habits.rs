//! How hosts of the served web behave and misbehave.
//!
//! Every property of a host, page or period is a pure function of the seed, so a web misbehaves the
//! same way every time.

use std::time::Duration;

use tidewatch_core::{Span, Time};
use tidewatch_math::rng::Draws;

/// Frequency of each behaviour, as shares of hosts or pages from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebHabits {
    /// Hosts without a `robots.txt` (404).
    pub without_robots: f64,
    /// Hosts, among those with a `robots.txt`, that disallow `/private/` and still link to it.
    pub private: f64,
    /// Hosts, among those with a `robots.txt`, that set a `Crawl-delay`.
    pub crawl_delay: f64,
    /// Longest `Crawl-delay`, in whole seconds of the trace's time.
    pub longest_crawl_delay_s: u64,
    /// Pages linked by an old URL that redirects.
    pub moved: f64,
    /// Share of the redirects, except those in loops, that are made by a page with status 200: with a meta
    /// refresh or a script.
    pub redirect_in_page: f64,
    /// Hosts that link to a redirect loop.
    pub circle: f64,
    /// Dead pages that reply 410 instead of 404.
    pub gone: f64,
    /// Probability that a host is down (503) in a period.
    pub outage: f64,
    /// Length of such a period.
    pub outage_period: Span,
    /// Probability that a page fails (500) in a period.
    pub failure: f64,
    /// Length of such a period.
    pub failure_period: Span,
    /// Probability that a host answers with challenge pages in a period.
    pub wall: f64,
    /// Length of such a period.
    pub wall_period: Span,
    /// Hosts whose pages repeat a few keywords over and over.
    pub stuffed: f64,
    /// Hosts that reply slowly.
    pub slow: f64,
    /// Longest delay, in real time.
    pub slowest: Duration,
    /// Hosts with a search box. On these, pages that no link leads to are found only by searching.
    pub search: f64,
}

impl Default for WebHabits {
    /// A web with a little of everything.
    fn default() -> Self {
        WebHabits {
            without_robots: 0.15,
            private: 0.4,
            crawl_delay: 0.2,
            longest_crawl_delay_s: 20,
            moved: 0.05,
            redirect_in_page: 0.0,
            circle: 0.1,
            gone: 0.3,
            outage: 0.01,
            outage_period: Span::MINUTE.times(30),
            failure: 0.003,
            failure_period: Span::MINUTE.times(10),
            wall: 0.0,
            wall_period: Span::HOUR,
            stuffed: 0.0,
            slow: 0.08,
            slowest: Duration::from_millis(400),
            search: 0.0,
        }
    }
}

impl WebHabits {
    /// A web without faults: every host has a `robots.txt` that allows everything, no page has moved or
    /// fails, and all hosts are fast.
    pub fn faultless() -> Self {
        WebHabits {
            without_robots: 0.0,
            private: 0.0,
            crawl_delay: 0.0,
            moved: 0.0,
            circle: 0.0,
            gone: 0.0,
            outage: 0.0,
            failure: 0.0,
            wall: 0.0,
            slow: 0.0,
            ..WebHabits::default()
        }
    }

    pub(crate) fn host(&self, seed: u64, host: u32) -> HostHabits {
        let mut draws = Draws::of(seed, "web.host", u64::from(host));
        let has_robots = !draws.chance(self.without_robots);
        let has_private = draws.chance(self.private) && has_robots;
        let asks_for_pause = draws.chance(self.crawl_delay) && has_robots;
        let pause = 1 + draws.below(self.longest_crawl_delay_s.max(1));
        let has_circle = draws.chance(self.circle);
        let is_slow = draws.chance(self.slow);
        let delay = self.slowest.mul_f64(0.5 + draws.uniform() / 2.0);
        let has_search = draws.chance(self.search);
        HostHabits {
            has_robots,
            has_private,
            crawl_delay_s: asks_for_pause.then_some(pause),
            has_circle,
            delay: if is_slow { delay } else { Duration::ZERO },
            has_search,
        }
    }

    /// The redirect to a page, if it is not linked by its own URL.
    pub(crate) fn moved(&self, seed: u64, page: u32) -> Option<Moved> {
        let mut draws = Draws::of(seed, "web.moved", u64::from(page));
        let moved = draws.chance(self.moved);
        let way = [Moved::Once, Moved::ForNow, Moved::Twice, Moved::Elsewhere];
        moved.then(|| way[draws.below(way.len() as u64) as usize])
    }

    /// How the redirect to a page is made.
    pub(crate) fn by(&self, seed: u64, page: u32) -> MovedBy {
        let mut draws = Draws::of(seed, "web.moved-by", u64::from(page));
        match (draws.chance(self.redirect_in_page), draws.chance(0.5)) {
            (false, _) => MovedBy::Status,
            (true, false) => MovedBy::Refresh,
            (true, true) => MovedBy::Script,
        }
    }

    /// Whether a dead page replies 410.
    pub(crate) fn says_gone(&self, seed: u64, page: u32) -> bool {
        Draws::of(seed, "web.gone", u64::from(page)).chance(self.gone)
    }

    /// When the outage of `host` at `now` ends, if there is one.
    pub(crate) fn outage(&self, seed: u64, host: u32, now: Time) -> Option<Time> {
        let period = self.outage_period.as_micros().max(1);
        let number = now.as_micros() / period;
        let mut draws = Draws::of(seed, "web.outage", u64::from(host));
        draws.seek(number);
        draws.chance(self.outage).then(|| Time::ZERO + self.outage_period.times(number + 1))
    }

    /// The challenge pages of `host` at `now`, if it has raised a wall.
    pub(crate) fn wall(&self, seed: u64, host: u32, now: Time) -> Option<WebWall> {
        let mut draws = Draws::of(seed, "web.wall", u64::from(host));
        draws.seek(2 * (now.as_micros() / self.wall_period.as_micros().max(1)));
        let is_up = draws.chance(self.wall);
        let kind = WebWall::ALL[draws.below(WebWall::ALL.len() as u64) as usize];
        is_up.then_some(kind)
    }

    /// Whether the pages of a host are stuffed with keywords.
    pub(crate) fn is_stuffed(&self, seed: u64, host: u32) -> bool {
        Draws::of(seed, "web.stuffed", u64::from(host)).chance(self.stuffed)
    }

    /// Whether fetching `page` at `now` fails.
    pub(crate) fn fails(&self, seed: u64, page: u32, now: Time) -> bool {
        let mut draws = Draws::of(seed, "web.failure", u64::from(page));
        draws.seek(now.as_micros() / self.failure_period.as_micros().max(1));
        draws.chance(self.failure)
    }
}

/// The behaviour of one host.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a habit of its own")]
pub(crate) struct HostHabits {
    pub(crate) has_robots: bool,
    pub(crate) has_private: bool,
    pub(crate) crawl_delay_s: Option<u64>,
    pub(crate) has_circle: bool,
    pub(crate) delay: Duration,
    pub(crate) has_search: bool,
}

/// How a wall looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebWall {
    /// Status 200; a script of the service gives it away.
    Script,
    /// Status 403 and a header that says so.
    Header,
    /// Status 429 with a puzzle.
    Limit,
    /// Status 503 with a browser check.
    Check,
}

impl WebWall {
    const ALL: [WebWall; 4] = [WebWall::Script, WebWall::Header, WebWall::Limit, WebWall::Check];
}

/// What makes a redirect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MovedBy {
    /// The status and a header.
    Status,
    /// A meta element.
    Refresh,
    /// A script.
    Script,
}

/// How the linked URL of a page redirects to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// 301 from an old URL.
    Once,
    /// 302 from an old URL.
    ForNow,
    /// 301 from a still older URL to the old one, then 302.
    Twice,
    /// 301 from a URL on the next host.
    Elsewhere,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faultless_web_has_no_faults() {
        let habits = WebHabits::faultless();
        for i in 0..1000 {
            let host = habits.host(7, i);
            assert!(host.has_robots && !host.has_private && !host.has_circle);
            assert_eq!((host.crawl_delay_s, host.delay), (None, Duration::ZERO));
            assert_eq!(habits.moved(7, i), None);
            let now = Time::ZERO + Span::HOUR.times(u64::from(i));
            assert!(!habits.fails(7, i, now) && habits.outage(7, i, now).is_none());
        }
    }

    #[test]
    fn an_outage_lasts_for_its_period_and_says_when_it_ends() {
        let habits = WebHabits { outage: 0.5, ..WebHabits::faultless() };
        let period = habits.outage_period;
        let starts = (0..100).map(|n| Time::ZERO + period.times(n));
        let start = starts.into_iter().find(|&t| habits.outage(1, 2, t).is_some()).unwrap();
        let last = start + period - Time::from_micros(1).since(Time::ZERO);
        for now in [start, last] {
            assert_eq!(habits.outage(1, 2, now), Some(start + period));
        }
    }

    #[test]
    fn shares_are_met() {
        let habits = WebHabits::default();
        let moved = (0..10_000).filter(|&page| habits.moved(3, page).is_some()).count() as f64;
        // Six standard deviations of a binomial count.
        let spread = 6.0 * (10_000.0 * habits.moved * (1.0 - habits.moved)).sqrt();
        assert!((moved - 10_000.0 * habits.moved).abs() < spread, "{moved}");
    }
}
