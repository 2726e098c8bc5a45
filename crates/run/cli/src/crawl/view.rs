//! Shows a running crawl: one moving line on a terminal, log lines elsewhere.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tidewatch_core::PageId;
use tidewatch_partition::{Partition, Status, Watch};
use tidewatch_search::IndexHealth;
use tidewatch_service::{Descriptors, Observer};

use super::log::Log;
use crate::output;

/// How often a line is logged where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

pub(super) struct View {
    bar: Option<ProgressBar>,
    log: Log,
    print_stored: bool,
    last_line: Instant,
    last: (Instant, u64),
    /// Whether it was said that the policy panicked.
    has_warned: bool,
}

impl View {
    pub(super) fn new(log: Log, print_stored: bool) -> View {
        let is_plain = matches!(log, Log::Plain);
        let bar = (is_plain && output::is_watched()).then(ProgressBar::new_spinner);
        let now = Instant::now();
        View { bar, log, print_stored, last_line: now, last: (now, 0), has_warned: false }
    }

    /// Says once that the policy panicked, if it did.
    fn warn(&mut self, status: &Status) {
        if let Some(told) = status.panic_told().filter(|_| !self.has_warned) {
            self.has_warned = true;
            self.log.say("policy-panicked", &format!("tidewatch: {told}"), &[]);
        }
    }

    /// Logs that the crawl is open, and how long that took.
    pub(super) fn ready(&mut self, status: &Status, at: Option<SocketAddr>, took: Duration) {
        self.last.1 = status.tally.all_fetches();
        let (pages, hosts, seconds) = (status.pages, status.hosts, took.as_secs_f64());
        let (page, host) = (plural(pages, "page"), plural(hosts, "host"));
        let message = format!("ready after {seconds:.2} s: {page} on {host} known");
        let figures =
            [("pages", pages.into()), ("hosts", hosts.into()), ("seconds", seconds.into())];
        self.log.say("ready", &message, &figures);
        if let Some(at) = at {
            let at = format!("http://{at}/");
            let message = format!("search and dashboard at {at}");
            self.log.say("listening", &message, &[("at", at.into())]);
        }
    }

    /// Logs where publishers are listened to.
    pub(super) fn publishers(&self, at: Option<SocketAddr>) {
        if let Some(at) = at {
            let message = format!("publishers may speak at http://{at}/");
            self.log.say("publishers", &message, &[("at", at.to_string().into())]);
        }
    }

    /// Logs which URLs are taken in.
    pub(super) fn scope(&self, scope: &str) {
        self.log.say("scope", &format!("scope: {scope}"), &[("scope", scope.into())]);
    }

    /// Logs what the limit of open files allows.
    pub(super) fn descriptors(&self, descriptors: Option<Descriptors>) {
        if let Some(descriptors) = descriptors {
            let figures = [("limit", descriptors.limit.into()), ("cut", descriptors.is_cut.into())];
            self.log.say("open-files", &format!("open files: {descriptors}"), &figures);
        }
    }

    /// Logs on which hosts robots.txt is not obeyed.
    pub(super) fn own_hosts(&self, hosts: &[&str]) {
        if !hosts.is_empty() {
            let message =
                format!("robots.txt is not obeyed on your own hosts: {}", hosts.join(", "));
            self.log.say("own-hosts", &message, &[("hosts", hosts.into())]);
        }
    }

    pub(super) fn finish(&mut self, index: Option<IndexHealth>) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(why) = index.and_then(|health| health.failed) {
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

/// Progress in one line.
fn line(status: &Status, rate: f64) -> String {
    let dropped: u64 = status.tally.dropped.values().sum();
    let fresh = status.freshness.map_or("—".to_owned(), |freshness| freshness.to_string());
    let rereading = status.rereading.map_or_else(String::new, |(done, all)| {
        format!(", {done} of {all} pages read again for the new scope")
    });
    format!(
        "{} fetches ({rate:.1}/s, {:.0}% of the budget), {} of {} known pages stored, {}, {} \
         active, {} requests in progress, {} failed, {dropped} skipped, freshness {fresh}{rereading}",
        status.tally.all_fetches(),
        100.0 * rate / status.budget_per_s.max(f64::MIN_POSITIVE),
        status.tally.held,
        status.pages,
        plural(status.hosts, "host"),
        status.active_hosts,
        status.requests,
        status.failures
    )
}

/// `1 host`, `2 hosts`
fn plural(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl Watch for View {
    fn stored(&mut self, crawl: &Partition, pages: &[PageId]) {
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

    fn disk(&mut self, is_full: bool) {
        let (event, message) = if is_full {
            let pauses = "the disk is full: the crawl pauses until there is space";
            ("disk-full", pauses)
        } else {
            ("disk-free", "the disk has space again: the crawl resumes")
        };
        self.log.say(event, &format!("tidewatch: {message}"), &[]);
    }
}

impl Observer for View {
    fn progress(&mut self, status: &Status) {
        self.warn(status);
        if let Some(bar) = self.bar.clone() {
            let rate = self.rate(status);
            bar.set_message(line(status, rate));
            bar.tick();
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let rate = self.rate(status);
            let figures = [
                ("fetches", status.tally.all_fetches().into()),
                ("fetches_per_s", rate.into()),
                ("status", serde_json::to_value(status).unwrap_or_default()),
            ];
            self.log.say("progress", &line(status, rate), &figures);
        }
    }
}

#[cfg(test)]
mod tests {
    use tidewatch_core::Reason;
    use tidewatch_partition::{Freshness, FreshnessMeasure};

    use super::*;

    /// The line, the summary at the end and the dashboard show the same figures.
    #[test]
    fn the_line_shows_the_figures_of_the_status() {
        let by = FreshnessMeasure::Beliefs;
        let freshness = Some(Freshness { share: 0.786, margin: 0.05, by });
        let text = "freshness 78.6% ± 5.0% by change rates and random probes";
        let mut status = Status { freshness, failures: 3, ..Status::default() };
        status.tally.reasons.insert(Reason::Redirect, 363);
        status.tally.reasons.insert(Reason::IdleTimeout, 3);
        let line = line(&status, 1.0);
        assert!(line.contains(", 3 failed,"), "{line}");
        assert!(line.ends_with(text), "{line}");
        let table = crate::status::table(&status).to_text(200);
        assert!(table.contains(text), "{table}");
        // A redirect is an answer and no failure.
        let row = |reason: Reason| table.lines().find(|line| line.contains(&reason.to_string()));
        assert!(!row(Reason::Redirect).unwrap().contains("failed"), "{table}");
        assert!(row(Reason::IdleTimeout).unwrap().contains("failed"), "{table}");
    }
}
