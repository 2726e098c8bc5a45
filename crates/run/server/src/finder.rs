//! Finds pages in the index of this process, or in all indexes of a cluster.

use std::sync::Arc;

use tidewatch_search::shards::{self, Shards, Step, Told};
use tidewatch_search::{PageRef, Query, SearchError, SearchResults, Searcher};

/// Finds pages. Cheap to clone.
#[derive(Clone)]
pub enum Finder {
    /// In an index of this process, which holds all pages.
    Index(Searcher),
    /// In indexes that may be elsewhere.
    Shards(Arc<dyn Shards>),
}

/// Where a page is.
pub(crate) enum Whereabouts {
    /// At this address.
    Url(String),
    /// It has left the index.
    Gone,
    /// The owner of the page does not answer.
    Unknown,
}

impl Finder {
    /// Pages that can be found.
    pub(crate) fn pages(&self) -> u64 {
        match self {
            Finder::Index(searcher) => searcher.pages(),
            Finder::Shards(shards) => shards.pages(),
        }
    }

    /// Results from elsewhere; `None` if the index is here, where [`Finder::search`] finds them.
    pub(crate) async fn gather(
        &self,
        query: &Query,
        skip: usize,
        count: usize,
        now_s: i64,
    ) -> Option<SearchResults> {
        let Finder::Shards(shards) = self else { return None };
        Some(shards::search(&**shards, query, skip, count, now_s).await)
    }

    /// The results that were gathered, or those of the index here.
    pub(crate) fn search(
        &self,
        gathered: Option<SearchResults>,
        query: &Query,
        skip: usize,
        count: usize,
        now_s: i64,
    ) -> Result<SearchResults, SearchError> {
        match (gathered, self) {
            (None, Finder::Index(searcher)) => searcher.search(query, skip, count, now_s),
            (gathered, _) => Ok(gathered.unwrap_or_default()),
        }
    }

    /// Where a page is.
    pub(crate) async fn find(&self, page: PageRef) -> Result<Whereabouts, SearchError> {
        let (found, is_sure) = match self {
            Finder::Index(searcher) => {
                let searcher = searcher.clone();
                match tokio::task::spawn_blocking(move || searcher.page(page)).await {
                    Ok(found) => (found?, true),
                    Err(_) => (None, false),
                }
            }
            Finder::Shards(shards) => match shards.take(Step::Page(page)).await {
                (Some(Told::Page(found)), _) => (found, true),
                _ => (None, false),
            },
        };
        Ok(match found {
            Some(page) => Whereabouts::Url(page.url),
            None if is_sure => Whereabouts::Gone,
            None => Whereabouts::Unknown,
        })
    }
}
