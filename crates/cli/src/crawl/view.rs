//! A crawl as its operator sees it: one line that moves, or plain lines.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tidewatch_core::{PageId, Time};
use tidewatch_crawler::{Crawl, Status, Watch};

use crate::output;

/// How often a line is printed where no one watches.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

pub(super) struct View {
    bar: Option<ProgressBar>,
    print_stored: bool,
    last_line: Instant,
    last: (Instant, u64),
}

impl View {
    pub(super) fn new(print_stored: bool) -> View {
        let bar = output::is_watched().then(ProgressBar::new_spinner);
        let now = Instant::now();
        View { bar, print_stored, last_line: now, last: (now, 0) }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&mut self, status: &Status) -> String {
        let fetches = status.tally.all_fetches();
        let (then, before) = std::mem::replace(&mut self.last, (Instant::now(), fetches));
        let seconds = then.elapsed().as_secs_f64().max(0.001);
        let rate = fetches.saturating_sub(before) as f64 / seconds;
        let failures: u64 = status.tally.reasons.values().sum();
        format!(
            "{fetches} fetches ({rate:.1}/s), {} pages known, {} hosts, {} active, {} requests \
             under way, {failures} dropped or failed",
            status.pages, status.hosts, status.active_hosts, status.requests
        )
    }
}

impl Watch for View {
    fn stored(&mut self, crawl: &Crawl, pages: &[PageId]) {
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

    fn tick(&mut self, crawl: &Crawl, _: Time) {
        let status = crawl.status();
        if let Some(bar) = self.bar.clone() {
            let line = self.line(&status);
            bar.set_message(line);
            bar.tick();
        } else if self.last_line.elapsed() >= PLAIN_EVERY {
            self.last_line = Instant::now();
            eprintln!("{}", self.line(&status));
        }
    }

    fn disk(&mut self, is_full: bool) {
        let what = if is_full {
            "the disk is full: the crawl pauses, and goes on by itself once there is room"
        } else {
            "there is room on the disk again: the crawl goes on"
        };
        eprintln!("tidewatch: {what}");
    }
}

/// What a crawl has come to.
pub(super) fn summary(crawl: &Crawl) -> String {
    crate::status::text(&crawl.status())
}
