//! Follows the crawl: tells it what becomes known of that web, notes what it
//! fetched for the referee, and shows how it goes.

use std::sync::atomic::Ordering;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{PageId, Rate, Time};
use tidewatch_math::stats::spearman;
use tidewatch_partition::{Crawl, CrawlError, Settled, Watch};
use tidewatch_server::Extra;
use tidewatch_trace::Page;
use tidewatch_web::{Accelerated, Clock as _};

use anyhow::{Context, Result};

use super::referee::Referee;
use super::screen::Screen;
use super::searchers::Searchers;
use super::summary::Summary;
use crate::hearing::Hearing;
use crate::site::Site;

pub(super) struct Follower {
    referee: Referee,
    clock: Accelerated,
    /// Births on the web that have been looked at.
    births: usize,
    /// When the crawl's last turn was, on the web.
    end: Time,
    summary: Summary,
    front: Site,
    screen: Screen,
    searchers: Searchers,
    hearing: Option<Hearing>,
}

impl Follower {
    pub(super) fn new(
        referee: Referee,
        clock: Accelerated,
        summary: Summary,
        front: Site,
        screen: Screen,
        searchers: Searchers,
        hearing: Option<Hearing>,
    ) -> Self {
        let (births, end) = (0, Time::ZERO);
        Follower { referee, clock, births, end, summary, front, screen, searchers, hearing }
    }

    /// Names the seeds that exist at the start.
    pub(super) fn sow(&mut self, crawl: &mut Crawl) -> Result<(), CrawlError> {
        let pages = &self.referee.world().trace().pages;
        for page in pages.iter().filter(|page| page.born == Time::ZERO) {
            sow_page(crawl, page, Time::ZERO)?;
        }
        Ok(())
    }

    /// Names the seeds that were born by `now` on the web, which is `at` for the crawl.
    fn pass_births(&mut self, crawl: &mut Crawl, now: Time, at: Time) -> Result<(), CrawlError> {
        let world = self.referee.world();
        while let Some(&number) = world.births().get(self.births) {
            let page = &world.trace().pages[number as usize];
            if page.born > now {
                break;
            }
            self.births += 1;
            sow_page(crawl, page, at)?;
        }
        Ok(())
    }

    fn update(&mut self, crawl: &Crawl, now: Time) {
        let summary = &mut self.summary;
        summary.real_s = now.seconds() / summary.speed;
        summary.simulated_s = now.seconds();
        summary.fresh_now = self.referee.fresh_share(now);
        summary.count(&crawl.status());
        summary.searches = self.searchers.done.asked.load(Ordering::Relaxed);
        summary.clicks = self.searchers.done.clicked.load(Ordering::Relaxed);
    }

    /// How well the policy's weights of copies agree in order with the clicks that they got.
    fn follows_clicks(&self, crawl: &mut Crawl) -> Option<f64> {
        let (mut clicks, mut weights) = (Vec::new(), Vec::new());
        for (page, clicked) in self.referee.clicked(self.end) {
            if let Some(weight) = crawl.weight(page) {
                clicks.push(clicked);
                weights.push(weight);
            }
        }
        Some(spearman(&clicks, &weights)).filter(|rho| rho.is_finite())
    }

    fn publish(&self, crawl: &Crawl) {
        let summary = &self.summary;
        let extra = Extra {
            name: "demo",
            about: summary.conditions(),
            table: summary.table(),
            json: serde_json::to_value(summary).unwrap_or_default(),
        };
        self.front.publish(crawl.status(), !summary.is_over, Some(extra));
    }

    /// The figures at the end, by a referee who knows the truth.
    pub(super) fn finish(mut self, crawl: &mut Crawl) -> Result<Summary> {
        self.screen.clear();
        let (end, summary) = (self.end, &self.summary);
        let budget = Rate::per_second(summary.budget_per_s / summary.speed);
        let verdict = self.referee.judge(end, budget.context("the budget is too large")?)?;
        self.update(crawl, end);
        self.summary.is_over = true;
        self.summary.weights_follow_clicks = self.follows_clicks(crawl);
        self.summary.judge(&verdict.measures, &verdict.bounds);
        self.publish(crawl);
        self.front.finish();
        Ok(self.summary)
    }
}

/// Names a page, if it is known without a link to it.
fn sow_page(crawl: &mut Crawl, page: &Page, at: Time) -> Result<(), CrawlError> {
    // A trace that is served has good addresses.
    match CanonicalUrl::parse(&page.url) {
        Ok(url) if page.is_seed => crawl.seed_as(&url, page.is_source, page.weight, at),
        _ => Ok(()),
    }
}

impl Watch for Follower {
    fn turn(&mut self, crawl: &mut Crawl, at: Time) -> Result<(), CrawlError> {
        let now = self.clock.now();
        self.end = now;
        self.front.turn(crawl, at);
        self.hearing.as_mut().map_or(Ok(()), |hearing| hearing.turn(crawl, at))?;
        self.pass_births(crawl, now, at)
    }

    fn stored(&mut self, crawl: &Crawl, pages: &[PageId]) {
        self.front.stored(crawl, pages);
    }

    fn settled(&mut self, crawl: &Crawl, settled: Settled, _: Time) {
        self.front.settled(settled);
        let (page, is_gone) = match settled {
            Settled::Held(page) => (page, false),
            Settled::Gone(page) => (page, true),
            Settled::Nothing => return,
        };
        // What comes in after the last turn does not count.
        if let Ok(url) = crawl.address(page) {
            self.referee.note(page, &url, self.clock.now(), is_gone);
        }
    }

    fn tick(&mut self, crawl: &Crawl, _: Time) {
        self.update(crawl, self.clock.now());
        self.screen.show(&self.summary);
        self.front.feed(crawl);
        self.publish(crawl);
    }
}
