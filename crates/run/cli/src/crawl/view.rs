//! A crawl as its operator sees it: one line that moves, or lines in a log, and figures over HTTP.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tidewatch_core::{PageId, Time};
use tidewatch_partition::{Crawl, CrawlError, Settled, Status, Watch};

use super::log::Log;
use crate::hearing::Hearing;
use crate::output;
use crate::site::Site;

/// How often a line is printed where no one watches.
const LINE_EVERY: Duration = Duration::from_secs(10);

pub(super) struct View {
    bar: Option<ProgressBar>,
    log: Log,
    site: Option<Site>,
    hearing: Hearing,
    print_stored: bool,
    last_line: Instant,
    last: (Instant, u64),
}

impl View {
    pub(super) fn new(log: Log, site: Option<Site>, hearing: Hearing, print_stored: bool) -> View {
        let is_plain = matches!(log, Log::Plain);
        let bar = (is_plain && output::is_watched()).then(ProgressBar::new_spinner);
        let now = Instant::now();
        View { bar, log, site, hearing, print_stored, last_line: now, last: (now, 0) }
    }

    /// Says that the crawl is open, and how long that took.
    pub(super) fn ready(&mut self, crawl: &Crawl, took: Duration) {
        let status = crawl.status();
        self.last.1 = status.tally.all_fetches();
        let (pages, hosts, seconds) = (status.pages, status.hosts, took.as_secs_f64());
        let message = format!("ready after {seconds:.2} s: {pages} pages on {hosts} hosts known");
        let figures =
            [("pages", pages.into()), ("hosts", hosts.into()), ("seconds", seconds.into())];
        self.log.say("ready", &message, &figures);
        if let Some(site) = &self.site {
            let at = format!("http://{}/", site.server.address);
            self.log.say(
                "listening",
                &format!("search and dashboard at {at}"),
                &[("at", at.into())],
            );
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(why) =
            self.site.as_mut().and_then(Site::finish).and_then(|health| health.failed)
        {
            self.log.say("index-failed", &format!("tidewatch: {why}"), &[]);
        }
    }

    /// Fetches per second since the last line.
    fn rate(&mut self, status: &Status) -> f64 {
        let fetches = status.tally.all_fetches();
        let (then, before) = std::mem::replace(&mut self.last, (Instant::now(), fetches));
        fetches.saturating_sub(before) as f64 / then.elapsed().as_secs_f64().max(0.001)
    }
}

/// One line for somebody who waits.
fn line(status: &Status, rate: f64) -> String {
    let failures: u64 = status.tally.reasons.values().sum();
    let dropped: u64 = status.tally.dropped.values().sum();
    let fresh =
        status.freshness_estimate.map_or("—".to_owned(), |f| format!("{:.0}%", 100.0 * f));
    format!(
        "{} fetches ({rate:.1}/s, {:.0}% of the budget), {} of {} known pages held, {} hosts, {} \
         active, {} requests under way, {failures} failed, {dropped} dropped, {fresh} fresh",
        status.tally.all_fetches(),
        100.0 * rate / status.budget_per_s.max(f64::MIN_POSITIVE),
        status.tally.held,
        status.pages,
        status.hosts,
        status.active_hosts,
        status.requests
    )
}

impl Watch for View {
    fn stored(&mut self, crawl: &Crawl, pages: &[PageId]) {
        if let Some(site) = &mut self.site {
            site.stored(crawl, pages);
        }
        if !self.print_stored {
            return;
        }
        let mut lines = String::new();
        for &page in pages {
            if let Ok(url) = crawl.address(page) {
                let _ = writeln!(lines, "{url}");
            }
        }
        let _ = output::print(&lines);
    }

    fn turn(&mut self, crawl: &mut Crawl, now: Time) -> Result<(), CrawlError> {
        if let Some(site) = &mut self.site {
            site.turn(crawl, now);
        }
        self.hearing.turn(crawl, now)
    }

    fn settled(&mut self, _: &Crawl, settled: Settled, _: Time) {
        if let Some(site) = &mut self.site {
            site.settled(settled);
        }
    }

    fn tick(&mut self, crawl: &Crawl, _: Time) {
        let status = crawl.status();
        if let Some(site) = &mut self.site {
            site.feed(crawl);
            site.publish(status.clone(), true, None);
        }
        if let Some(bar) = self.bar.clone() {
            let rate = self.rate(&status);
            bar.set_message(line(&status, rate));
            bar.tick();
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let rate = self.rate(&status);
            let figures = [
                ("fetches", status.tally.all_fetches().into()),
                ("fetches_per_s", rate.into()),
                ("status", serde_json::to_value(&status).unwrap_or_default()),
            ];
            self.log.say("progress", &line(&status, rate), &figures);
        }
    }

    fn disk(&mut self, is_full: bool) {
        let (event, message) = if is_full {
            let pauses = "the disk is full: the crawl pauses, and goes on once there is room";
            ("disk-full", pauses)
        } else {
            ("disk-free", "there is room on the disk again: the crawl goes on")
        };
        self.log.say(event, &format!("tidewatch: {message}"), &[]);
    }
}
