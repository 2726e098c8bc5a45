//! The demo's figures, for a terminal, for scripts and for a browser.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Serialize;
use tidewatch_core::{DropReason, FetchKind, Reason, Time};
use tidewatch_lab::{Bounds, Measures};
use tidewatch_partition::{Freshness, Status};
use tidewatch_report::{Cell, Column, Table};

/// What the price means.
const PRICE: &str = "clicks per marginal fetch";
/// Why there is no price to print.
const NO_PRICE: &str = "this policy has no price";

/// The demo's conditions and figures. What is not known is `None`.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Summary {
    policy: String,
    seed: u64,
    /// Whether the figures are final.
    is_over: bool,
    real_s: f64,
    simulated_s: f64,
    /// Simulated seconds per real second.
    speed: f64,
    /// Fetches allowed per real second.
    budget_per_s: f64,
    hosts: u32,
    pages_known: u32,
    pages_held: u64,
    fetches: BTreeMap<&'static str, u64>,
    requests: u64,
    requests_per_s: f64,
    bytes: u64,
    /// Pages by the status of their answer.
    statuses: BTreeMap<String, u64>,
    redirects: u64,
    gone: u64,
    failures: BTreeMap<Reason, u64>,
    disallowed: u64,
    /// Addresses and pages left out, by reason.
    dropped: BTreeMap<DropReason, u64>,
    /// Share of the copies that are up to date right now.
    fresh_now: Option<f64>,
    /// The same as the crawl tells it, which does not know the truth.
    freshness_told: Option<Freshness>,
    freshness: Option<f64>,
    age_s: Option<f64>,
    /// Clicks to come on pages when first fetched, per simulated second.
    profit_per_s: Option<f64>,
    profit_bound_per_s: Option<f64>,
    served_per_s: Option<f64>,
    clicks_per_s: Option<f64>,
    coverage: Option<f64>,
    /// Searches by the web's people, and clicks that came of them.
    searches: u64,
    clicks: u64,
    /// Rank correlation of the policy's weights of copies with the clicks that they got.
    weights_follow_clicks: Option<f64>,
    price: Option<f64>,
    price_note: Option<&'static str>,
}

impl Summary {
    /// `speed` is in simulated seconds per real second, the budget in fetches per real second.
    pub(super) fn new(policy: &str, seed: u64, speed: f64, budget_per_s: f64) -> Self {
        let policy = policy.to_owned();
        Summary { policy, seed, speed, budget_per_s, ..Summary::default() }
    }

    /// Seconds since the start, in real time.
    pub(super) fn real_s(&self) -> f64 {
        self.real_s
    }

    /// Fetches allowed per simulated second.
    pub(super) fn budget_per_simulated_s(&self) -> f64 {
        self.budget_per_s / self.speed
    }

    /// Takes over the figures at `now` in simulated time: what the crawl counted, the share of copies
    /// that are up to date, and the searches and clicks of simulated people.
    pub(super) fn update(
        &mut self,
        now: Time,
        status: &Status,
        fresh_now: Option<f64>,
        (searches, clicks): (u64, u64),
    ) {
        self.real_s = now.seconds() / self.speed;
        self.simulated_s = now.seconds();
        (self.fresh_now, self.searches, self.clicks) = (fresh_now, searches, clicks);
        self.count(status);
    }

    fn count(&mut self, status: &Status) {
        let tally = &status.tally;
        (self.hosts, self.pages_known) = (status.hosts, status.pages);
        self.pages_held = tally.held;
        let fetches = |kind: &FetchKind| tally.fetches.get(kind.name()).copied().unwrap_or(0);
        self.fetches = FetchKind::ALL.iter().map(|kind| (kind.name(), fetches(kind))).collect();
        self.requests = tally.all_fetches() + tally.robots;
        self.requests_per_s = self.requests as f64 / self.real_s.max(f64::MIN_POSITIVE);
        self.bytes = tally.body_bytes;
        let answers = tally.statuses.iter().map(|(status, n)| (status.to_string(), *n));
        self.statuses = answers.collect();
        self.failures = tally.reasons.clone();
        self.redirects = self.failures.remove(&Reason::Redirect).unwrap_or(0);
        self.gone = self.failures.remove(&Reason::Gone).unwrap_or(0);
        self.dropped = tally.dropped.clone();
        self.disallowed = self.dropped.remove(&DropReason::Disallowed).unwrap_or(0);
        self.freshness_told = status.freshness;
        self.price = status.price;
        self.price_note = Some(if self.price.is_some() { PRICE } else { NO_PRICE });
    }

    /// Ends the demo with the referee's verdict and the rank correlation of weights with clicks.
    pub(super) fn finish(
        &mut self,
        measures: &Measures,
        bounds: &Bounds,
        weights_follow_clicks: Option<f64>,
    ) {
        (self.is_over, self.weights_follow_clicks) = (true, weights_follow_clicks);
        self.freshness = measures.freshness;
        self.age_s = measures.age_s;
        self.profit_per_s = measures.profit_per_s;
        self.profit_bound_per_s = bounds.profit_per_s;
        self.served_per_s = measures.served_per_s;
        self.clicks_per_s = bounds.clicks_per_s;
        self.coverage = measures.coverage;
    }

    pub(super) fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Progress in one line.
    pub(super) fn line(&self) -> String {
        let fetched: u64 = self.fetches.values().sum();
        let fresh = self.fresh_now.map_or("—".to_owned(), |f| format!("{:.0}%", 100.0 * f));
        format!(
            "{} of simulated time: {fetched} fetches, {} of {} known pages stored on {} hosts, \
             freshness {fresh}, {} failed",
            span(self.simulated_s),
            self.pages_held,
            self.pages_known,
            self.hosts,
            self.failures.values().sum::<u64>(),
        )
    }

    /// Name, value and note of every figure.
    fn rows(&self) -> Vec<(String, Cell, String)> {
        let row = |what: &str, cell, note: &str| (what.to_owned(), cell, note.to_owned());
        let share = |value: Option<f64>| Cell::maybe(value, 3);
        let of = |value: Option<f64>, what: &str| {
            value.map_or(String::new(), |v| format!("of {v:.4} {what}"))
        };
        let age = self.age_s.map_or_else(Cell::missing, |s| Cell::text(span(s)));
        let mut rows = vec![
            row(
                "freshness",
                share(self.freshness),
                "share of time that copies were up to date, weighted",
            ),
            row(
                "copies up to date",
                share(self.fresh_now),
                &format!(
                    "at the end; the crawl, which cannot know, says {}",
                    self.freshness_told
                        .map_or_else(|| "nothing".to_owned(), |told| told.to_string())
                ),
            ),
            row("age", age, "mean time since copies went stale"),
            row(
                "profit",
                Cell::maybe(self.profit_per_s, 4),
                &format!("clicks/s {}", of(self.profit_bound_per_s, "with no limit on fetches")),
            ),
            row(
                "clicks served fresh",
                Cell::maybe(self.served_per_s, 4),
                &format!("clicks/s {}", of(self.clicks_per_s, "in all")),
            ),
            row("coverage", share(self.coverage), "share of all pages that were fetched, weighted"),
            row(
                "searches",
                Cell::count(self.searches),
                &format!("by simulated people; {} clicked the page they wanted", self.clicks),
            ),
            row(
                "weights follow clicks",
                Cell::maybe(self.weights_follow_clicks, 3),
                "rank correlation of weights with clicks",
            ),
            row("price", Cell::maybe(self.price, 4), self.price_note.unwrap_or_default()),
        ];
        let fetched: u64 = self.fetches.values().sum();
        for kind in FetchKind::ALL {
            let n = self.fetches.get(kind.name()).copied().unwrap_or(0);
            let share = 100.0 * n as f64 / fetched.max(1) as f64;
            rows.push(row(
                &format!("budget: {}", kind.name()),
                Cell::count(n),
                &format!("fetches, {share:.1}% of {fetched}"),
            ));
        }
        rows.push(row("requests", Cell::count(self.requests), &self.request_note()));
        rows.push(row(
            "redirects",
            Cell::count(self.redirects),
            "fetches redirected to another URL",
        ));
        rows.push(row("gone", Cell::count(self.gone), "pages that no longer exist"));
        rows.push(row("failed fetches", sum(&self.failures), &listed(&self.failures)));
        rows.push(row(
            "disallowed URLs",
            Cell::count(self.disallowed),
            "skipped, as robots.txt says",
        ));
        rows.push(row("other skipped URLs", sum(&self.dropped), &listed(&self.dropped)));
        rows
    }

    fn request_note(&self) -> String {
        let statuses: Vec<_> = self.statuses.iter().map(|(s, n)| format!("{s}: {n}")).collect();
        format!(
            "{:.1}/s; {}; {:.1} MB",
            self.requests_per_s,
            statuses.join(", "),
            self.bytes as f64 / 1e6
        )
    }

    pub(super) fn table(&self) -> Table {
        let columns = [Column::text("Figure"), Column::number("Value"), Column::text("")];
        let rows = self.rows();
        rows.into_iter().fold(Table::new(columns), |table, (what, cell, note)| {
            table.row([Cell::text(what), cell, Cell::text(note)])
        })
    }

    /// The conditions, in a sentence.
    pub(super) fn conditions(&self) -> String {
        format!(
            "Policy {} with {} fetches/s for {:.0} s of real time, {} of simulated time \
             (1 s is {}), on {} hosts; {} pages known, {} stored.",
            self.policy,
            self.budget_per_s,
            self.real_s,
            span(self.simulated_s),
            span(self.speed),
            self.hosts,
            self.pages_known,
            self.pages_held,
        )
    }
}

fn sum<K>(counts: &BTreeMap<K, u64>) -> Cell {
    Cell::count(counts.values().sum())
}

fn listed<K: Display>(counts: &BTreeMap<K, u64>) -> String {
    let counts: Vec<_> = counts.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
    counts.join(", ")
}

/// A span for people: `4 h 12 min`, `12 min 3 s`, `7.5 s`.
fn span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole / 60 % 60),
        _ => format!("{} d {} h", whole / 86_400, whole / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_well() {
        assert_eq!(span(7.52), "7.5 s");
        assert_eq!(span(723.0), "12 min 3 s");
        assert_eq!(span(15_120.0), "4 h 12 min");
        assert_eq!(span(100_000.0), "1 d 3 h");
    }

    #[test]
    fn every_form_says_that_there_is_no_price() {
        let mut summary = Summary::new("random", 1, 1.0, 1.0);
        summary.update(Time::ZERO, &Status::default(), None, (0, 0));
        assert!(summary.table().to_text(200).contains(NO_PRICE));
        let json: serde_json::Value = serde_json::from_str(&summary.to_json().unwrap()).unwrap();
        assert!(json["price"].is_null());
        assert_eq!(json["price_note"], NO_PRICE);
    }
}
