//! Follows the crawl: names new seeds, records fetches for the referee, shows progress.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Time};
use tidewatch_math::stats::spearman;
use tidewatch_partition::{CrawlError, Partition, Partitions, Settled, Status, Watch};
use tidewatch_server::Extra;
use tidewatch_service::{Observer, Service};
use tidewatch_trace::TracePage;
use tidewatch_web::{Accelerated, WebClock as _};

use anyhow::{Context, Result};

use super::referee::Referee;
use super::screen::Screen;
use super::searchers::Searchers;
use super::summary::Summary;

pub(super) struct Follower {
    referee: Referee,
    clock: Accelerated,
    /// Pages born on the web of which each partition was told.
    births: BTreeMap<u32, usize>,
    /// When the crawl's last turn was, on the web.
    end: Time,
    summary: Summary,
    screen: Screen,
    searchers: Searchers,
}

impl Follower {
    pub(super) fn new(
        referee: Referee,
        clock: Accelerated,
        summary: Summary,
        screen: Screen,
        searchers: Searchers,
    ) -> Self {
        let (births, end) = (BTreeMap::new(), Time::ZERO);
        Follower { referee, clock, births, end, summary, screen, searchers }
    }

    /// Names the seeds that exist at the start.
    pub(super) fn sow(&mut self, crawl: &mut Partitions) -> Result<(), CrawlError> {
        let pages = &self.referee.world().trace().pages;
        for page in pages.iter().filter(|page| page.born == Time::ZERO) {
            crawl.parts_mut().iter_mut().try_for_each(|crawl| sow_page(crawl, page, Time::ZERO))?;
        }
        Ok(())
    }

    /// Names the seeds that were born by `now` on the web, which is `at` for the crawl.
    fn pass_births(
        &mut self,
        crawl: &mut Partition,
        now: Time,
        at: Time,
    ) -> Result<(), CrawlError> {
        let world = self.referee.world();
        let births = self.births.entry(crawl.number()).or_default();
        while let Some(&number) = world.births().get(*births) {
            let page = &world.trace().pages[number as usize];
            if page.born > now {
                break;
            }
            *births += 1;
            sow_page(crawl, page, at)?;
        }
        Ok(())
    }

    fn update(&mut self, status: &Status, now: Time) {
        let done = &self.searchers.done;
        let people = (done.asked.load(Ordering::Relaxed), done.clicked.load(Ordering::Relaxed));
        self.summary.update(now, status, self.referee.fresh_share(now), people);
    }

    /// Rank correlation of the policy's weights of copies with the clicks they got.
    fn follows_clicks(&self, crawl: &mut Partitions) -> Option<f64> {
        let (mut clicks, mut weights) = (Vec::new(), Vec::new());
        for (partition, page, clicked) in self.referee.clicked(self.end) {
            if let Some(weight) = crawl.parts_mut()[partition as usize].weight(page) {
                clicks.push(clicked);
                weights.push(weight);
            }
        }
        Some(spearman(&clicks, &weights)).filter(|rho| rho.is_finite())
    }

    /// The final figures, by a referee who knows the truth.
    pub(super) fn finish(mut self, service: &mut Service) -> Result<Summary> {
        self.screen.clear();
        let end = self.end;
        let budget = Rate::per_second(self.summary.budget_per_simulated_s());
        let verdict = self.referee.judge(end, budget.context("the budget is too large")?)?;
        self.update(&service.status(), end);
        let weights_follow_clicks = self.follows_clicks(service.crawl());
        self.summary.finish(&verdict.measures, &verdict.bounds, weights_follow_clicks);
        service.finish(self.extra());
        Ok(self.summary)
    }
}

impl Observer for Follower {
    fn progress(&mut self, status: &Status) {
        self.update(status, self.clock.now());
        self.screen.show(&self.summary);
    }

    fn extra(&self) -> Option<Extra> {
        let summary = &self.summary;
        Some(Extra {
            name: "demo",
            about: summary.conditions(),
            table: summary.table(),
            json: serde_json::to_value(summary).unwrap_or_default(),
        })
    }
}

/// Names a page, if it is known without a link to it.
fn sow_page(crawl: &mut Partition, page: &TracePage, at: Time) -> Result<(), CrawlError> {
    // A trace that is served has good addresses.
    match CanonicalUrl::parse(&page.url) {
        Ok(url) if page.is_seed && crawl.owns(&url) => {
            crawl.seed_as(&url, page.is_source, page.weight, at)
        }
        _ => Ok(()),
    }
}

impl Watch for Follower {
    fn turn(&mut self, crawl: &mut Partition, at: Time) -> Result<(), CrawlError> {
        let now = self.clock.now();
        self.end = now;
        self.pass_births(crawl, now, at)
    }

    fn settled(&mut self, crawl: &Partition, settled: Settled, _: Time) {
        let (page, is_gone) = match settled {
            Settled::Held(page) => (page, false),
            Settled::Gone(page) => (page, true),
            Settled::Nothing => return,
        };
        // What comes in after the last turn does not count.
        if let Ok(url) = crawl.address(page) {
            self.referee.note((crawl.number(), page), &url, self.clock.now(), is_gone);
        }
    }
}
