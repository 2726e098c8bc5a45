//! A crawl's figures, for whoever asks: also while it runs, from a file.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Crawl, Tally};

const NAME: &str = "status.json";

/// Figures of a crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The policy that chooses.
    pub policy: String,
    /// Fetches that it may spend in a second of ours, whatever its own time does.
    pub budget_per_s: f64,
    /// Pages known.
    pub pages: u32,
    /// Hosts known.
    pub hosts: u32,
    /// Hosts with a page under way or waiting.
    pub active_hosts: usize,
    /// Requests under way.
    pub requests: usize,
    /// Estimated share of time that copies are up to date.
    pub freshness_estimate: Option<f64>,
    /// Clicks that the marginal fetch brings, where the policy has a price.
    #[serde(default)]
    pub price: Option<f64>,
    /// Share of copies found up to date by probes at random, and the half-width of its 95% interval.
    #[serde(default)]
    pub freshness_probed: Option<(f64, f64)>,
    /// Counts since the crawl began.
    pub tally: Tally,
}

impl Status {
    /// The figures that a crawl wrote last into its directory. Figures that cannot be read
    /// are [`io::ErrorKind::InvalidData`].
    pub fn read(dir: &Path) -> io::Result<Status> {
        let text = std::fs::read(dir.join(NAME))?;
        let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        serde_json::from_slice(&text).map_err(damaged)
    }

    /// Writes them, so that a reader sees old or new and nothing between.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        let new = dir.join("status.new");
        std::fs::write(&new, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(new, dir.join(NAME))
    }
}

impl Crawl {
    /// The figures now.
    pub fn status(&self) -> Status {
        let (active_hosts, requests) = self.activity();
        Status {
            policy: self.config.policy.clone(),
            budget_per_s: self.config.budget.as_per_second() * self.pace,
            pages: self.store().pages(),
            hosts: self.store().hosts(),
            active_hosts,
            requests,
            freshness_estimate: self.tally().freshness_estimate(),
            price: self.standing().map(|standing| standing.price),
            freshness_probed: self.standing().and_then(|standing| standing.freshness),
            tally: self.tally().clone(),
        }
    }
}
