//! The crawl's figures in Prometheus's text format.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tidewatch_core::Reason;
use tidewatch_partition::Status;
use tidewatch_search::IndexHealth;

/// The media type of the text format.
pub(crate) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All figures in Prometheus's text format. Names and labels are a stable interface.
pub(crate) fn text(status: &Status, index: Option<&IndexHealth>) -> String {
    let (mut page, tally) = (Page(String::new()), &status.tally);
    page.gauge("pages_known", "Pages known.", f64::from(status.pages));
    page.gauge("pages_held", "Pages with a stored copy.", tally.held as f64);
    page.gauge("hosts_known", "Hosts known.", f64::from(status.hosts));
    page.gauge(
        "hosts_active",
        "Hosts with a page waiting or being fetched.",
        status.active_hosts as f64,
    );
    page.gauge("requests_active", "Requests in progress.", status.requests as f64);
    page.gauge("budget_per_second", "Fetches allowed per second.", status.budget_per_s);
    if let Some(freshness) = status.freshness {
        page.gauge("freshness_estimate", "Share of copies up to date.", freshness.share);
    }
    if let Some(price) = status.price {
        page.gauge("price", "Clicks that the marginal fetch brings.", price);
    }
    page.family("fetches_total", "Page requests by purpose.", "kind", &tally.fetches);
    page.family("responses_total", "Responses by status.", "status", &tally.statuses);
    let (failed, moved) = tally.reasons.iter().partition(|(reason, _)| reason.is_failure());
    page.family::<&Reason, &u64>("failures_total", "Failed requests.", "reason", &failed);
    page.family::<&Reason, &u64>("moved_total", "Redirected or gone.", "reason", &moved);
    page.family("dropped_total", "URLs and pages skipped.", "reason", &tally.dropped);
    page.counter("spared_total", "Links to other addresses of known pages.", tally.spared);
    page.counter("robots_total", "Requests for robots.txt.", tally.robots);
    page.counter("copies_total", "Copies stored.", tally.copies);
    page.counter("revisits_total", "Visits to pages with a copy.", tally.revisits);
    page.counter("changes_total", "Visits that saw a change.", tally.changes);
    page.counter("body_bytes_total", "Decoded bytes of bodies.", tally.body_bytes);
    page.counter("archive_bytes_total", "Bytes written to the archive.", tally.archive_bytes);
    if let Some(index) = index {
        page.counter("indexed_total", "Pages put into the index.", index.put);
        page.counter("unindexed_total", "Pages removed from the index.", index.removed);
    }
    page.0
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, about: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP tidewatch_{name} {about}\n# TYPE tidewatch_{name} {kind}");
    }

    fn gauge(&mut self, name: &str, about: &str, value: f64) {
        self.head(name, about, "gauge");
        let _ = writeln!(self.0, "tidewatch_{name} {value}");
    }

    fn counter(&mut self, name: &str, about: &str, value: u64) {
        self.head(name, about, "counter");
        let _ = writeln!(self.0, "tidewatch_{name} {value}");
    }

    fn family<K: std::fmt::Display, V: std::fmt::Display>(
        &mut self,
        name: &str,
        about: &str,
        label: &str,
        values: &BTreeMap<K, V>,
    ) {
        self.head(name, about, "counter");
        for (key, value) in values {
            // Keys are our own names and numbers: nothing to escape.
            let _ = writeln!(self.0, "tidewatch_{name}{{{label}=\"{key}\"}} {value}");
        }
    }
}
