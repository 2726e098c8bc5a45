//! Lists and counts of URLs, read from disk.

use tidewatch_keeper::{Keeper, KeeperError, Listed};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::metadata;
use crate::protocol::{CountUrlParams, KnownUrlItem, ListUrlParams, UrlInfo, UrlItem, url_item};
use crate::service::failed;

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

/// Answers `ListURLs`.
pub(crate) async fn list(
    keeper: &Keeper,
    params: ListUrlParams,
) -> Result<ReceiverStream<Result<UrlItem, Status>>, Status> {
    let size = if params.size == 0 { USUAL_SIZE } else { params.size as usize };
    let filter = Filter::new(params.filter, params.ignore_case);
    let urls = keeper.urls(params.crawl_id, params.key).await.map_err(failed)?;
    let (outbox, inbox) = mpsc::channel(WAITING);
    tokio::task::spawn_blocking(move || {
        let wanted = urls.filter(|listed| filter.takes(listed));
        for listed in wanted.skip(params.start as usize).take(size) {
            let is_last = listed.is_err();
            if outbox.blocking_send(listed.map(message).map_err(failed)).is_err() || is_last {
                break;
            }
        }
    });
    Ok(ReceiverStream::new(inbox))
}

/// Answers `CountURLs`.
pub(crate) async fn count(keeper: &Keeper, params: CountUrlParams) -> Result<u64, Status> {
    let filter = Filter::new(params.filter, params.ignore_case);
    if filter.is_all() {
        let figures = keeper.figures(params.crawl_id, params.key).await.map_err(failed)?;
        return Ok(figures.urls());
    }
    let urls = keeper.urls(params.crawl_id, params.key).await.map_err(failed)?;
    let count = move || {
        let mut count = 0;
        for listed in urls.filter(|listed| filter.takes(listed)) {
            listed?;
            count += 1;
        }
        Ok(count)
    };
    let counted = tokio::task::spawn_blocking(count).await;
    counted.map_err(|_| Status::internal("counting stopped"))?.map_err(failed)
}
