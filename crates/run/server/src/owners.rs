//! Partitions whose owners may be other machines.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use tidewatch_core::Rate;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_report::Table;
use tidewatch_search::shards::Coverage;

/// A boxed future.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Carries questions to the owners of partitions, wherever they are.
pub trait Owners: Send + Sync {
    /// How many partitions there are.
    fn count(&self) -> u32;
    /// The budget of the whole crawl.
    fn budget(&self) -> Rate;
    /// Asks the owners of some partitions; returns the answers that come in time.
    fn ask(&self, questions: Vec<(u32, Vec<u8>)>) -> Pending<'_, Vec<(u32, Vec<u8>)>>;
    /// Adds seeds, of which every partition hears. An error is a sentence.
    fn add_seeds(&self, seeds: Vec<CanonicalUrl>) -> Pending<'_, Result<(), String>>;
}

/// The cluster that a crawl runs on, as an operator sees it and moves it.
pub trait Cluster: Send + Sync {
    /// Its figures, once there are some.
    fn view(&self) -> Option<ClusterView>;
    /// Moves a partition to the node whose name begins with `to`. Returns what its owner says; `None` if
    /// no owner answers.
    fn give(&self, partition: u32, to: String) -> Pending<'_, Result<Option<String>, String>>;
    /// Makes a node hand everything over and end.
    fn drain(&self, node: String) -> Pending<'_, Result<Option<String>, String>>;
}

/// The figures of a cluster.
#[derive(Clone)]
pub struct ClusterView {
    /// In a sentence.
    pub told: String,
    /// Its nodes.
    pub nodes: Table,
    /// Its partitions.
    pub partitions: Table,
    /// Warnings, in sentences.
    pub notes: Vec<String>,
    /// For programs.
    pub json: Value,
}

/// An answer, and which part of the crawl it rests on.
#[derive(Clone, Copy, Debug)]
pub struct Partial<T> {
    /// The answer.
    pub found: T,
    /// The partitions that answered.
    pub coverage: Coverage,
}

impl<T> Partial<T> {
    /// Applies `to` to the answer; the coverage stays.
    pub(crate) fn map<U>(self, to: impl FnOnce(T) -> U) -> Partial<U> {
        Partial { found: to(self.found), coverage: self.coverage }
    }
}
