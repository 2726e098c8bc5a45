//! The strict and the managed order on the same trace of changes, with the same fetcher.
//!
//! ```sh
//! cargo run --release -p tidewatch-queues --example managed_against_strict
//! ```
//!
//! A web of pages whose rates of change and of clicks differ widely; a fetcher that asks every minute for
//! as many URLs as its budget has saved up, one of each host, and brings them back at once. The budget visits
//! every page once a week on average. Strict dates come from a scheduler in the fetcher: a fixed interval, or
//! an adaptive one that halves its interval after a change and lengthens it by half without one, as
//! StormCrawler's does, within an hour and four weeks. Time is virtual, the queues are the server's own.
//!
//! Freshness is the share of time in which the copy equals the page: the mean over pages, and by clicks.

#![allow(clippy::print_stdout, reason = "prints what it measured")]

use std::time::Instant;

use tidewatch_core::{HostId, PageId, Rate, Span, Time};
use tidewatch_math::rng::Draws;
use tidewatch_policy::registry::{self, Setup};
use tidewatch_queues::{CrawlId, Effect, Facts, Input, News, Print, Queues, Want};

const PAGES: u32 = 5_000;
const HOSTS: u32 = 100;
const DAYS: u64 = 60;
/// Freshness counts from here on.
const WARM_DAYS: u64 = 20;
const STEP: Span = Span::MINUTE;
const WEEK_S: f64 = 7.0 * 86_400.0;
const SEED: u64 = 11;

/// Who sets dates.
#[derive(Clone, Copy, PartialEq)]
enum Dates {
    Every(Span),
    Adaptive,
}

/// When the order is told of clicks.
#[derive(Clone, Copy, PartialEq)]
enum Clicks {
    Never,
    /// With the page that comes back: what was clicked since it was fetched last.
    WithPage,
    /// Every day, of all pages that were fetched, as a search log is pushed.
    Daily,
}

/// A page and what the fetcher holds of it.
struct Page {
    /// When it changes.
    changes: Vec<Time>,
    clicks_per_day: f64,
    /// When it was fetched first and last.
    held: Option<Time>,
    fetched: Option<Time>,
    interval: Span,
    /// Seconds in which the copy was fresh, while it counts.
    fresh_s: f64,
}

impl Page {
    fn version(&self, now: Time) -> usize {
        self.changes.partition_point(|at| *at <= now)
    }

    /// Counts the time since the last fetch, and fetches. Whether it has changed.
    fn fetch(&mut self, now: Time) -> bool {
        let changed = self.fetched.is_some_and(|at| self.version(at) != self.version(now));
        self.count(now);
        self.held = self.held.or(Some(now));
        self.fetched = Some(now);
        changed
    }

    fn count(&mut self, now: Time) {
        let Some(at) = self.fetched else { return };
        let ends = self.changes.get(self.version(at)).map_or(now, |change| now.min(*change));
        let from = at.max(day(WARM_DAYS));
        self.fresh_s += ends.max(from).since(from).seconds();
    }
}

fn day(number: u64) -> Time {
    Time::ZERO + (Span::HOUR.times(24)).times(number)
}

/// The trace: the same for every order.
fn web() -> Vec<Page> {
    let page = |number: u32| {
        let mut rng = Draws::of(SEED, "trace", u64::from(number));
        // From once in three months to every eight hours; one in five never changes.
        let rate = 10_f64.powf(rng.uniform() * 2.4 - 1.95) / 86_400.0;
        let is_still = rng.chance(0.2);
        let (mut at, mut changes) = (0.0, Vec::new());
        while !is_still && at < DAYS as f64 * 86_400.0 {
            at += rng.exponential(rate);
            changes.push(Time::from_micros((at * 1e6) as u64));
        }
        let clicks_per_day = 10_f64.powf(rng.uniform() * 4.0 - 2.0);
        let interval = Span::HOUR.times(24);
        Page { changes, clicks_per_day, held: None, fetched: None, interval, fresh_s: 0.0 }
    };
    (0..PAGES).map(page).collect()
}

/// What came of a run.
struct Outcome {
    freshness: f64,
    by_clicks: f64,
    fetches: u64,
    never_fetched: usize,
}

/// Runs the fetcher.
fn run(mut queues: Queues, dates: Dates, clicks: Clicks) -> Outcome {
    let mut pages = web();
    let per_second = f64::from(PAGES) / WEEK_S;
    let budget = Rate::per_second(per_second).expect("a rate");
    put_all(&mut queues, budget);
    let (mut saved, mut fetches) = (0.0, 0);
    let mut now = Time::ZERO;
    while now < day(DAYS) {
        let today = now.since(Time::ZERO).seconds() as u64 / 86_400;
        now = now + STEP;
        if clicks == Clicks::Daily && now >= day(today + 1) {
            push_log(&mut queues, &pages, now);
        }
        saved += per_second * STEP.seconds();
        let want =
            Want { crawl: None, queue: None, queues: saved as u32, urls: 1, lease: Span::HOUR };
        let effect = queues.apply(&Input::Take { at: now, want, taken: Vec::new() }, "");
        let Effect::Taken(taken) = effect else { continue };
        saved = (saved - taken.len() as f64).min(per_second * 3_600.0);
        fetches += taken.len() as u64;
        for page in taken {
            bring_back(&mut queues, &mut pages, page, now, dates, clicks);
        }
    }
    pages.iter_mut().for_each(|page| page.count(day(DAYS)));
    let counted = (DAYS - WARM_DAYS) as f64 * 86_400.0;
    let plain: f64 = pages.iter().map(|page| page.fresh_s / counted).sum();
    let clicks: f64 = pages.iter().map(|page| page.clicks_per_day).sum();
    let fresh: f64 = pages.iter().map(|page| page.clicks_per_day * page.fresh_s / counted).sum();
    let never_fetched = pages.iter().filter(|page| page.fetched.is_none()).count();
    let (freshness, by_clicks) = (plain / f64::from(PAGES), fresh / clicks);
    Outcome { freshness, by_clicks, fetches, never_fetched }
}

fn put_all(queues: &mut Queues, budget: Rate) {
    let at = Time::ZERO;
    queues.apply(&Input::Crawl { name: "trace".into() }, "");
    for host in 0..HOSTS {
        queues
            .apply(&Input::Queue { crawl: CrawlId(0), key: format!("h{host}.example").into() }, "");
    }
    queues.apply(&Input::Budget { at, budget }, "");
    for number in 0..PAGES {
        let (queue, url) = place(number);
        let print = Print::of(1, queue, &url);
        let (news, facts) = (News::Discovered, None);
        queues.apply(&Input::Put { at, queue, print, news, facts }, &url);
    }
}

/// A page's queue and address.
fn place(number: u32) -> (HostId, String) {
    let queue = HostId(number % HOSTS);
    (queue, format!("http://h{}.example/{number}", queue.0))
}

/// Tells of a day's clicks.
fn push_log(queues: &mut Queues, pages: &[Page], now: Time) {
    for (number, page) in (0..).zip(pages) {
        let Some(held) = page.held else { continue };
        let days = (now.since(held).seconds() / 86_400.0).min(1.0);
        let facts = Facts { clicks: Some(page.clicks_per_day * days), ..Facts::default() };
        let (queue, url) = place(number);
        let (print, facts) = (Print::of(1, queue, &url), Some(Box::new(facts)));
        queues.apply(&Input::Put { at: now, queue, print, news: News::Discovered, facts }, &url);
    }
}

fn bring_back(
    queues: &mut Queues,
    pages: &mut [Page],
    page: PageId,
    now: Time,
    dates: Dates,
    clicks: Clicks,
) {
    let of = &mut pages[page.index()];
    // Nobody clicks a page that was never fetched.
    let waited = of.fetched.map(|at| now.since(at).seconds());
    let waited = waited.filter(|_| clicks == Clicks::WithPage);
    let changed = of.fetch(now);
    of.interval = match dates {
        Dates::Every(interval) => interval,
        Dates::Adaptive => {
            let factor = if changed { 0.5 } else { 1.5 };
            let micros = of.interval.as_micros() as f64 * factor;
            Span::from_micros(micros as u64).clamp(Span::HOUR, Span::HOUR.times(24 * 28))
        }
    };
    let (queue, url) = place(page.0);
    let facts = Facts {
        status: Some(200),
        digest: Some(of.version(now) as u64),
        clicks: waited.map(|waited| of.clicks_per_day * waited / 86_400.0),
        ..Facts::default()
    };
    let (print, news) = (Print::of(1, queue, &url), News::Fetched(now + of.interval));
    queues.apply(&Input::Put { at: now, queue, print, news, facts: Some(Box::new(facts)) }, &url);
}

fn managed(policy: &str) -> Queues {
    let entry = registry::find(policy).expect("a policy");
    Queues::managed_by((entry.make)(Setup::seeded(1)))
}

fn main() {
    println!(
        "| order | freshness | by clicks | fetches | never fetched | s |\n|---|---|---|---|---|---|"
    );
    let (day, week) = (Span::HOUR.times(24), Span::HOUR.times(24 * 7));
    let every = Dates::Every(day);
    let orders: [(&str, &dyn Fn() -> Queues, Dates, Clicks); 7] = [
        ("strict, every day", &Queues::default, Dates::Every(day), Clicks::Never),
        ("strict, every week", &Queues::default, Dates::Every(week), Clicks::Never),
        ("strict, adaptive", &Queues::default, Dates::Adaptive, Clicks::Never),
        ("managed, cgm", &|| managed("cgm"), every, Clicks::Never),
        ("managed, price", &|| managed("price"), every, Clicks::Never),
        ("managed, price, clicks with the page", &|| managed("price"), every, Clicks::WithPage),
        ("managed, price, clicks every day", &|| managed("price"), every, Clicks::Daily),
    ];
    for (name, make, dates, clicks) in orders {
        let began = Instant::now();
        let Outcome { freshness, by_clicks, fetches, never_fetched } = run(make(), dates, clicks);
        let took = began.elapsed().as_secs_f64();
        println!(
            "| {name} | {freshness:.3} | {by_clicks:.3} | {fetches} | {never_fetched} | {took:.1} |"
        );
    }
}
