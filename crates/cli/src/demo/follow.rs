//! Follows the crawl: tells it what becomes known of that web, notes what it
//! fetched for the referee, and shows how it goes.

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Interest, Rate, Time};
use tidewatch_crawler::{Crawl, CrawlError, Settled, Watch};
use tidewatch_trace::Page;
use tidewatch_web::{Accelerated, Clock as _};

use anyhow::{Context, Result};

use super::referee::Referee;
use super::screen::Screen;
use super::summary::Summary;
use crate::serve::{Shown, Window};

pub(super) struct Follower {
    referee: Referee,
    clock: Accelerated,
    /// Births on the web that have been looked at.
    births: usize,
    /// When the crawl's last turn was, on the web.
    end: Time,
    summary: Summary,
    window: Window,
    screen: Screen,
}

impl Follower {
    pub(super) fn new(
        referee: Referee,
        clock: Accelerated,
        summary: Summary,
        window: Window,
        screen: Screen,
    ) -> Self {
        Follower { referee, clock, births: 0, end: Time::ZERO, summary, window, screen }
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

    /// A row of the search log in the crawl's own time.
    fn in_real_time(&self, row: Interest, now: Time, at: Time) -> Interest {
        let ago = now.since(row.at).seconds() / self.clock.speed();
        let ago = tidewatch_core::Span::from_seconds(ago).unwrap_or_default();
        Interest { at: at - ago, ..row }
    }

    fn update(&mut self, crawl: &Crawl, now: Time) {
        let summary = &mut self.summary;
        summary.real_s = now.seconds() / summary.speed;
        summary.simulated_s = now.seconds();
        summary.fresh_now = self.referee.fresh_share(now);
        summary.count(&crawl.status());
    }

    fn publish(&self) {
        let json = self.summary.to_json().unwrap_or_default();
        let html = self.summary.report().to_html();
        self.window.show(Shown::default().html("/", html).json("/status.json", json));
    }

    /// The figures at the end, by a referee who knows the truth.
    pub(super) fn finish(mut self, crawl: &Crawl) -> Result<Summary> {
        self.screen.clear();
        let (end, summary) = (self.end, &self.summary);
        let budget = Rate::per_second(summary.budget_per_s / summary.speed);
        let verdict = self.referee.judge(end, budget.context("the budget is too large")?)?;
        self.update(crawl, end);
        self.summary.is_over = true;
        self.summary.judge(&verdict.measures, &verdict.bounds);
        self.publish();
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
        while let Some(log) = self.referee.read_log(now) {
            let log = log.into_iter().map(|row| self.in_real_time(row, now, at)).collect();
            crawl.read_log(log)?;
        }
        self.pass_births(crawl, now, at)
    }

    fn settled(&mut self, crawl: &Crawl, settled: Settled, _: Time) {
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
        self.publish();
    }
}
