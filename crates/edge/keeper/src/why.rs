//! Questions that change nothing: why a URL is given out when it is, and what another budget would bring.

use std::sync::Arc;

use tidewatch_core::{Rate, Time};
use tidewatch_policy::WhatIf;
use tidewatch_policy::explanation::Explanation;
use tidewatch_queues::{Figures, Standing};

use crate::KeeperError;
use crate::keeper::{Keeper, QueueName};
use crate::names::{crawl_name, usual_key};

/// Why a URL of a crawl is given out when it is.
#[derive(Clone, Debug)]
pub struct WhyUrl {
    /// Its queue.
    pub queue: Arc<QueueName>,
    /// How it stands.
    pub standing: Standing,
    /// What the policy says of it, if one decides.
    pub explanation: Option<Explanation>,
    /// When this was so.
    pub now: Time,
}

impl Keeper {
    /// How a URL stands in every crawl that knows it, in the queue of its host.
    pub async fn why(&self, url: String) -> Result<Vec<WhyUrl>, KeeperError> {
        self.ask(move |engine| {
            engine.tick();
            let (now, queues) = (engine.now(), engine.queues());
            let Some(key) = usual_key(&url) else { return Vec::new() };
            let crawls: Vec<_> = queues.crawls().filter_map(|name| queues.crawl(name)).collect();
            let found = crawls.into_iter().filter_map(|crawl| {
                let queue = queues.queue(crawl, key)?;
                let page = engine.find_in(queue, &url)?;
                let standing = queues.standing(page, now)?;
                let explanation = queues.explain(page, now);
                Some(WhyUrl { queue: engine.name_of(queue)?, standing, explanation, now })
            });
            found.collect()
        })
        .await
    }

    /// The crawl that knows the host of a URL, the usual one first; `None` if there is none.
    pub async fn crawl_of(&self, url: String) -> Result<Option<String>, KeeperError> {
        self.ask(move |engine| {
            let (key, queues) = (usual_key(&url)?, engine.queues());
            let usual = std::iter::once(crawl_name(""));
            let mut names = usual.chain(queues.crawls());
            let knows = |name: &&str| {
                queues.crawl(name).is_some_and(|crawl| queues.queue(crawl, key).is_some())
            };
            names.find(knows).map(str::to_owned)
        })
        .await
    }

    /// What the budget and another one bring; `None` without a policy that has a price.
    pub async fn what_if(
        &self,
        other: impl FnOnce(Rate) -> Option<Rate> + Send + 'static,
    ) -> Result<Option<(WhatIf, WhatIf)>, KeeperError> {
        self.ask(move |engine| {
            let queues = engine.queues();
            let now = queues.budget()?;
            queues.what_if(now).zip(queues.what_if(other(now)?))
        })
        .await
    }

    /// The budget, if a policy decides, and the figures of all crawls by name.
    pub async fn overview(&self) -> Result<(Option<Rate>, Vec<(String, Figures)>), KeeperError> {
        self.ask(|engine| {
            engine.tick();
            let queues = engine.queues();
            let figures = |name: &str| {
                queues.crawl(name).map(|crawl| (name.to_owned(), queues.crawl_figures(crawl)))
            };
            (queues.budget(), queues.crawls().filter_map(figures).collect())
        })
        .await
    }
}
