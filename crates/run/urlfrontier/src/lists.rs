//! Lists and counts of URLs, read from disk.

use std::sync::Arc;
use std::time::Duration;

use tidewatch_keeper::{Keeper, KeeperError, Listed};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::metadata;
use crate::protocol::{CountUrlParams, KnownUrlItem, ListUrlParams, UrlInfo, UrlItem, url_item};
use crate::service::failed;

/// Lists and counts that are read at a time: each holds a thread.
const MOST_AT_ONCE: usize = 16;
/// A list ends if its client takes nothing for so long.
const PATIENCE: Duration = Duration::from_secs(30);
/// URLs of a list that wait for the client.
const WAITING: usize = 64;
/// URLs of a list where the client names no number.
const USUAL_SIZE: usize = 100;

/// Which URLs are meant.
struct Filter {
    text: String,
    is_caseless: bool,
}

impl Filter {
    fn new(text: Option<String>, is_caseless: Option<bool>) -> Filter {
        let is_caseless = is_caseless.unwrap_or(false);
        let text = text.filter(|text| !text.trim().is_empty()).unwrap_or_default();
        Filter { text: if is_caseless { text.to_lowercase() } else { text }, is_caseless }
    }

    fn is_all(&self) -> bool {
        self.text.is_empty()
    }

    fn takes(&self, listed: &Result<Listed, KeeperError>) -> bool {
        let Ok(listed) = listed else { return true };
        if self.is_caseless {
            listed.url.to_lowercase().contains(&self.text)
        } else {
            listed.url.contains(&self.text)
        }
    }
}

/// A URL as the protocol tells it.
pub(crate) fn message(listed: Listed) -> UrlItem {
    let Listed { queue, url, due, put, payload } = listed;
    let info = UrlInfo {
        url,
        key: queue.key.clone(),
        metadata: metadata::unpack(&payload),
        crawl_id: queue.crawl.clone(),
    };
    let known = KnownUrlItem { info: Some(info), refetchable_from_date: due };
    UrlItem { item: Some(url_item::Item::Known(known)), id: String::new(), creation_date: put }
}

/// Reads lists and counts, a few at a time.
pub(crate) struct Lists {
    places: Arc<Semaphore>,
    patience: Duration,
}

impl Default for Lists {
    fn default() -> Lists {
        Lists { places: Arc::new(Semaphore::new(MOST_AT_ONCE)), patience: PATIENCE }
    }
}

impl Lists {
    fn place(&self) -> Result<OwnedSemaphorePermit, Status> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.map_err(|_| {
            Status::resource_exhausted(format!(
                "{MOST_AT_ONCE} lists and counts are read already; try again later"
            ))
        })
    }

    /// Answers `ListURLs`.
    pub(crate) async fn list(
        &self,
        keeper: &Keeper,
        params: ListUrlParams,
    ) -> Result<ReceiverStream<Result<UrlItem, Status>>, Status> {
        let (place, patience) = (self.place()?, self.patience);
        let size = if params.size == 0 { USUAL_SIZE } else { params.size as usize };
        let filter = Filter::new(params.filter, params.ignore_case);
        let urls = keeper.urls(params.crawl_id, params.key).await.map_err(failed)?;
        let (outbox, inbox) = mpsc::channel(WAITING);
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || {
            let _place = place;
            let wanted = urls.filter(|listed| filter.takes(listed));
            for listed in wanted.skip(params.start as usize).take(size) {
                let is_last = listed.is_err();
                let item = listed.map(message).map_err(failed);
                let sent = runtime.block_on(outbox.send_timeout(item, patience));
                if sent.is_err() || is_last {
                    break;
                }
            }
        });
        Ok(ReceiverStream::new(inbox))
    }

    /// Answers `CountURLs`.
    pub(crate) async fn count(
        &self,
        keeper: &Keeper,
        params: CountUrlParams,
    ) -> Result<u64, Status> {
        let filter = Filter::new(params.filter, params.ignore_case);
        if filter.is_all() {
            let figures = keeper.figures(params.crawl_id, params.key).await.map_err(failed)?;
            return Ok(figures.urls());
        }
        let place = self.place()?;
        let urls = keeper.urls(params.crawl_id, params.key).await.map_err(failed)?;
        let count = move || {
            let (_place, mut count) = (place, 0);
            for listed in urls.filter(|listed| filter.takes(listed)) {
                listed?;
                count += 1;
            }
            Ok(count)
        };
        let counted = tokio::task::spawn_blocking(count).await;
        counted.map_err(|_| Status::internal("counting stopped"))?.map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use tidewatch_keeper::{Item, Order, Said, Settings};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn clients_that_read_nothing_hold_a_few_places_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let settings =
            Settings { dir: dir.path().to_owned(), order: Order::Strict, cache: 8 << 20 };
        let keeper = Keeper::open(&settings).unwrap();
        let item = |number: usize| Item {
            crawl: String::new(),
            key: String::new(),
            url: format!("http://a.example/{number}"),
            said: Said::Discovered,
            payload: Vec::new(),
            told: None,
        };
        keeper.put((0..2 * WAITING).map(item).collect()).await.unwrap();
        let lists = Lists { patience: Duration::from_millis(300), ..Lists::default() };
        let params = || ListUrlParams { size: u32::MAX, ..ListUrlParams::default() };
        let mut unread = Vec::new();
        for _ in 0..MOST_AT_ONCE {
            unread.push(lists.list(&keeper, params()).await.unwrap());
        }
        let refused = lists.list(&keeper, params()).await.err().unwrap();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(lists.list(&keeper, params()).await.is_ok(), "their time is over");
    }
}
