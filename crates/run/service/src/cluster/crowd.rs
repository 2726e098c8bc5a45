//! All partitions of a cluster as one: those that are open here are asked directly, the others through
//! their owners.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tidewatch_core::Rate;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_node::{Answerer, Operator, Peers, Serving};
use tidewatch_search::shards::{Answer, Coverage, Shards, Step, Told};
use tidewatch_search::{IndexHealth, Searcher};
use tidewatch_server::ask::Asker;
use tidewatch_server::{Owners, Pending};
use tokio::sync::Semaphore;

/// How long a step of a search waits for a partition.
const SEARCH_PATIENCE: Duration = Duration::from_millis(1_500);
/// How long a question waits for a partition: a little longer than the owner does for its thread.
const ASK_PATIENCE: Duration = Duration::from_secs(6);
/// Steps of searches at once on this node: each is some milliseconds of one core.
const SEARCHES: usize = 8;

/// A question to another node.
#[derive(Serialize, Deserialize)]
enum Question {
    /// A step of a search.
    Search(Step),
    /// A question to the partition's thread.
    Ask(Vec<u8>),
}

/// A partition that is open here.
pub(super) struct Local {
    pub(super) asker: Asker,
    pub(super) searcher: Option<Searcher>,
    pub(super) health: Mutex<IndexHealth>,
    turns: Arc<Semaphore>,
}

/// All partitions of a cluster.
pub(crate) struct Crowd {
    peers: Peers,
    operator: Operator,
    here: Mutex<BTreeMap<u32, Arc<Local>>>,
    turns: Arc<Semaphore>,
    /// Pages in all indexes, as the nodes said last.
    indexed: AtomicU64,
}

impl Local {
    /// Takes a step of a search; `None` if there is no index or it fails.
    async fn search(&self, step: Step) -> Option<Told> {
        let (searcher, turns) = (self.searcher.clone()?, Arc::clone(&self.turns));
        let _turn = turns.acquire_owned().await.ok()?;
        tokio::task::spawn_blocking(move || searcher.take(&step).ok()).await.ok()?
    }

    /// Answers a question of another node.
    async fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        match postcard::from_bytes(question).ok()? {
            Question::Search(step) => postcard::to_stdvec(&self.search(step).await?).ok(),
            Question::Ask(asked) => self.asker.relay(&asked).await,
        }
    }
}

impl Crowd {
    pub(super) fn new(peers: Peers, operator: Operator) -> Crowd {
        let (here, indexed) = (Mutex::default(), AtomicU64::new(0));
        Crowd { peers, operator, here, turns: Arc::new(Semaphore::new(SEARCHES)), indexed }
    }

    fn here(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Local>>> {
        // Every change to the map is one insertion or removal.
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A partition was opened here. It answers other nodes until the [`Serving`] is dropped, and this one until
    /// [`Crowd::leave`] is called.
    pub(super) fn enter(
        &self,
        partition: u32,
        asker: Asker,
        searcher: Option<Searcher>,
    ) -> (Arc<Local>, Serving) {
        let (health, turns) = (Mutex::default(), Arc::clone(&self.turns));
        let local = Arc::new(Local { asker, searcher, health, turns });
        self.here().insert(partition, Arc::clone(&local));
        let answers = Arc::clone(&local);
        let answerer: Answerer = Arc::new(move |question| {
            let local = Arc::clone(&answers);
            Box::pin(async move { local.answer(&question).await })
        });
        (local, self.peers.serve(partition, answerer))
    }

    /// A partition is closed here.
    pub(super) fn leave(&self, partition: u32) {
        self.here().remove(&partition);
    }

    fn local(&self, partition: u32) -> Option<Arc<Local>> {
        self.here().get(&partition).cloned()
    }

    /// Pages in the indexes of this node.
    pub(super) fn indexed_here(&self) -> u64 {
        self.here().values().filter_map(|local| local.searcher.as_ref()).map(Searcher::pages).sum()
    }

    /// Pages in all indexes, as the nodes have said.
    pub(super) fn set_indexed(&self, pages: u64) {
        self.indexed.store(pages, Ordering::Relaxed);
    }

    /// The state of the indexes here.
    pub(super) fn health(&self) -> IndexHealth {
        let mut sum = IndexHealth::default();
        for local in self.here().values() {
            let health = local.health.lock().unwrap_or_else(PoisonError::into_inner);
            sum.slowest_s = sum.slowest_s.max(health.slowest_s);
            sum.failed = sum.failed.or_else(|| health.failed.clone());
        }
        IndexHealth { pages: self.pages(), ..sum }
    }

    async fn search_in(&self, partition: u32, step: Step) -> Option<Told> {
        if let Some(local) = self.local(partition) {
            return local.search(step).await;
        }
        let question = postcard::to_stdvec(&Question::Search(step)).ok()?;
        let answer = self.peers.ask(partition, question, SEARCH_PATIENCE).await?;
        postcard::from_bytes(&answer).ok()
    }

    async fn ask_one(&self, partition: u32, asked: Vec<u8>) -> Option<(u32, Vec<u8>)> {
        let answer = if let Some(local) = self.local(partition) {
            local.asker.relay(&asked).await?
        } else {
            let question = postcard::to_stdvec(&Question::Ask(asked)).ok()?;
            self.peers.ask(partition, question, ASK_PATIENCE).await?
        };
        Some((partition, answer))
    }

    /// The partitions that a step concerns.
    fn concerned(&self, step: &Step) -> Vec<u32> {
        let mut concerned = match step {
            Step::Count { .. } | Step::Best { .. } => (0..self.count()).collect(),
            Step::Show { pages, .. } => pages.iter().map(|page| page.partition()).collect(),
            Step::Page(page) => vec![page.partition()],
        };
        concerned.sort_unstable();
        concerned.dedup();
        concerned.retain(|partition| *partition < self.count());
        concerned
    }
}

impl Shards for Crowd {
    fn take(&self, step: Step) -> Answer<'_> {
        Box::pin(async move {
            let concerned = self.concerned(&step);
            let of = concerned.len() as u32;
            let asked = concerned.into_iter().map(|number| self.search_in(number, step.clone()));
            let told: Vec<Told> = join_all(asked).await.into_iter().flatten().collect();
            let coverage = Coverage { answered: told.len() as u32, of };
            (told.into_iter().reduce(Told::join), coverage)
        })
    }

    fn pages(&self) -> u64 {
        self.indexed.load(Ordering::Relaxed)
    }
}

impl Owners for Crowd {
    fn count(&self) -> u32 {
        self.operator.record().partitions
    }

    fn budget(&self) -> Rate {
        Rate::per_second(self.operator.record().budget_per_s).unwrap_or(Rate::ZERO)
    }

    fn ask(&self, questions: Vec<(u32, Vec<u8>)>) -> Pending<'_, Vec<(u32, Vec<u8>)>> {
        Box::pin(async move {
            let asked = questions.into_iter().map(|(number, asked)| self.ask_one(number, asked));
            join_all(asked).await.into_iter().flatten().collect()
        })
    }

    fn add_seeds(&self, seeds: Vec<CanonicalUrl>) -> Pending<'_, Result<(), String>> {
        Box::pin(
            async move { self.operator.add_seeds(&seeds).await.map_err(|error| error.to_string()) },
        )
    }
}
