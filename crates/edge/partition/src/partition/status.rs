//! A crawl's figures, also written to a file while it runs.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tidewatch_core::{Rate, Time};
use tidewatch_store::StoreError;

use super::Partition;
use crate::{CrawlError, Freshness, FreshnessMeasure, Partitions, Tally, Unspent};

const NAME: &str = "status.json";

/// Figures of a crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The policy that chooses.
    pub policy: String,
    /// Budget, in fetches per second of real time.
    pub budget_per_s: f64,
    /// Pages known.
    pub pages: u32,
    /// Hosts known.
    pub hosts: u32,
    /// Hosts with a page under way or waiting.
    pub active_hosts: usize,
    /// Requests under way.
    pub requests: usize,
    /// Share of copies that are up to date.
    #[serde(default)]
    pub freshness: Option<Freshness>,
    /// Failed requests. Redirects and pages that are gone are no failures.
    #[serde(default)]
    pub failures: u64,
    /// Clicks that the marginal fetch brings, where the policy has a price.
    #[serde(default)]
    pub price: Option<f64>,
    /// While copies are read again because the scope has changed: how many of how many pages.
    #[serde(default)]
    pub rereading: Option<(u32, u32)>,
    /// The part of the budget that was not spent lately; `None` until that is known.
    #[serde(default)]
    pub unspent: Option<Unspent>,
    /// What the policy's panic said, if every page is visited in turn instead since.
    #[serde(default)]
    pub panic: Option<String>,
    /// Counts since the crawl began.
    pub tally: Tally,
}

impl Status {
    /// The figures that a crawl wrote last into its directory, those of all partitions together.
    /// Figures that cannot be read are [`io::ErrorKind::InvalidData`].
    pub fn read(dir: &Path) -> io::Result<Status> {
        let damaged = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
        let dirs = Partitions::dirs(dir).map_err(|error| match error {
            CrawlError::Store(StoreError::Io { source, .. }) => source,
            other => damaged(other.to_string()),
        })?;
        let read = |dir: PathBuf| {
            let text = std::fs::read(dir.join(NAME))?;
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))
        };
        Ok(Status::sum(dirs.into_iter().map(read).collect::<io::Result<Vec<Status>>>()?))
    }

    /// The figures of several partitions together. Shares and prices are means, weighted by copies.
    pub fn sum(mut parts: Vec<Status>) -> Status {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let (mut sum, mut price) = (Status::default(), Mean::default());
        let (mut fresh, mut margin) = (Mean::default(), Mean::default());
        for part in parts {
            let weight = part.tally.held.max(1) as f64;
            sum.policy = part.policy;
            let (own, others) = (sum.budget_per_s, part.budget_per_s);
            sum.unspent = match (sum.unspent, part.unspent) {
                (Some(one), Some(other)) => Some(one.join(other, own, others)),
                (one, other) => one.or(other),
            };
            sum.budget_per_s += part.budget_per_s;
            sum.pages += part.pages;
            sum.hosts += part.hosts;
            sum.active_hosts += part.active_hosts;
            sum.requests += part.requests;
            sum.tally.add(&part.tally);
            if let Some((done, all)) = part.rereading {
                let sum = sum.rereading.get_or_insert_default();
                *sum = (sum.0 + done, sum.1 + all);
            }
            sum.panic = sum.panic.or(part.panic);
            price.add(part.price, weight);
            let believed = part.freshness.filter(|f| f.by == FreshnessMeasure::Beliefs);
            fresh.add(believed.map(|believed| believed.share), weight);
            // Beliefs of one kind of policy err in the same direction, so their margins do not cancel.
            margin.add(believed.map(|believed| believed.margin), weight);
        }
        sum.price = price.value();
        sum.freshness = fresh.value().zip(margin.value()).map(Freshness::believed);
        sum.derive()
    }

    /// Derives the figures that follow from counts: failures, and freshness if the policy has no beliefs.
    fn derive(mut self) -> Status {
        self.failures = self.tally.failures();
        self.freshness = self.freshness.or_else(|| self.tally.freshness());
        self
    }

    /// A sentence, if the policy panicked.
    pub fn panic_told(&self) -> Option<String> {
        let why = self.panic.as_ref()?;
        Some(format!(
            "The policy {} panicked ({why}). Since then every page is visited in turn. `tidewatch lab \
             replay` reproduces the panic; please report it.",
            self.policy
        ))
    }

    /// What an operator should know, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let unspent = self.unspent.and_then(|unspent| unspent.told());
        self.panic_told().into_iter().chain(unspent.map(|told| told + ".")).collect()
    }

    /// Writes the figures atomically.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        let new = dir.join("status.new");
        std::fs::write(&new, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(new, dir.join(NAME))
    }
}

/// A weighted mean of the known values.
#[derive(Default)]
struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, value: Option<f64>, weight: f64) {
        if let Some(value) = value {
            self.sum += value * weight;
            self.weight += weight;
        }
    }

    fn value(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

impl Partition {
    /// An even part of the crawl's budget, per second of the operator's clock, so that the sum over
    /// partitions is the budget, however it is granted.
    fn budget_part(&self) -> Rate {
        match self.member() {
            Some(member) => member.ledger().even_part(),
            None => self.budget(),
        }
    }

    /// Keeps count of how the budget is spent.
    pub(crate) fn note_spending(&mut self, now: Time) {
        let budget = self.taped.budget().as_per_second();
        let fetches = self.tally.all_fetches();
        self.spending.note(fetches, budget, now, || self.taped.kept_back(now));
    }

    /// The figures now.
    pub fn status(&self) -> Status {
        let (active_hosts, requests) = self.taped.activity();
        let standing = self.standing();
        Status {
            policy: self.config.policy.clone(),
            budget_per_s: self.budget_part().as_per_second(),
            pages: self.store().pages(),
            hosts: self.store().hosts(),
            active_hosts,
            requests,
            price: standing.as_ref().map(|standing| standing.price),
            freshness: standing.and_then(|standing| standing.freshness).map(Freshness::believed),
            rereading: self.rereading(),
            unspent: self.spending.unspent(),
            panic: self.taped.fallen().map(str::to_owned),
            tally: self.tally().clone(),
            ..Status::default()
        }
        .derive()
    }
}
