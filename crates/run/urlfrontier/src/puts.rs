//! The two streams that bring URLs.
//!
//! All messages that have already arrived are put in one commit, so a client that does not wait for each
//! acknowledgement needs fewer commits. A stream reads on only after they are acknowledged: that, and the
//! transport's flow control, bound what waits in memory.

use futures_util::{Stream, StreamExt as _};
use tidewatch_keeper::{Item, Keeper, Put, Said};
use tonic::Status;

use crate::hearer::Notes;
use crate::metadata;
use crate::protocol::ack_message::Status as Ack;
use crate::protocol::{
    AckMessage, BatchAck, DiscoveredBatch, DiscoveredUrlItem, KnownUrlItem, UrlInfo, UrlItem,
    url_item,
};

/// Messages of `PutURLs` that are put together.
const MOST_ITEMS: usize = 1_024;
/// Batches of `PutDiscovered` that are put together.
const MOST_BATCHES: usize = 16;
/// URLs of one batch.
const MOST_BATCH_URLS: usize = 10_000;

type Incoming<T> = tonic::Streaming<T>;

/// Answers `PutURLs`.
pub(crate) fn items(
    keeper: Keeper,
    notes: Notes,
    incoming: Incoming<UrlItem>,
) -> impl Stream<Item = Result<AckMessage, Status>> {
    let acks = incoming.ready_chunks(MOST_ITEMS).then(move |chunk| {
        let (keeper, notes) = (keeper.clone(), notes.clone());
        async move { put_items(&keeper, &notes, chunk).await }
    });
    acks.flat_map(futures_util::stream::iter)
}

async fn put_items(
    keeper: &Keeper,
    notes: &Notes,
    chunk: Vec<Result<UrlItem, Status>>,
) -> Vec<Result<AckMessage, Status>> {
    let (mut ids, mut items, mut failed) = (Vec::new(), Vec::new(), None);
    for message in chunk {
        match message {
            Ok(message) => {
                let (info, said) = match message.item {
                    Some(url_item::Item::Discovered(DiscoveredUrlItem { info })) => {
                        (info.unwrap_or_default(), Said::Discovered)
                    }
                    Some(url_item::Item::Known(KnownUrlItem { info, refetchable_from_date })) => {
                        (info.unwrap_or_default(), Said::Fetched(refetchable_from_date))
                    }
                    None => (UrlInfo::default(), Said::Discovered),
                };
                if said != Said::Discovered {
                    note_hubs(notes, &info);
                    notes.fetched(&info.url);
                }
                ids.push(if message.id.is_empty() { info.url.clone() } else { message.id });
                items.push(item(info, said));
            }
            Err(status) => failed = Some(Err(status)),
        }
    }
    let acks = acks(keeper, items).await;
    let message = |(id, status): (String, Ack)| Ok(AckMessage { id, status: status.into() });
    ids.into_iter().zip(acks).map(message).chain(failed).collect()
}

/// Answers `PutDiscovered`.
pub(crate) fn batches(
    keeper: Keeper,
    incoming: Incoming<DiscoveredBatch>,
) -> impl Stream<Item = Result<BatchAck, Status>> {
    let acks = incoming.ready_chunks(MOST_BATCHES).then(move |chunk| {
        let keeper = keeper.clone();
        async move { put_batches(&keeper, chunk).await }
    });
    acks.flat_map(futures_util::stream::iter)
}

async fn put_batches(
    keeper: &Keeper,
    chunk: Vec<Result<DiscoveredBatch, Status>>,
) -> Vec<Result<BatchAck, Status>> {
    let (mut ids, mut items, mut failed) = (Vec::new(), Vec::new(), None);
    for message in chunk {
        match message {
            Ok(batch) if batch.items.len() > MOST_BATCH_URLS => {
                let why = format!(
                    "a batch of {} URLs is too large; send at most {MOST_BATCH_URLS}",
                    batch.items.len()
                );
                failed = Some(Err(Status::invalid_argument(why)));
                break;
            }
            Ok(batch) => {
                ids.push((batch.id, batch.items.len()));
                items.extend(batch.items.into_iter().map(|info| item(info, Said::Discovered)));
            }
            Err(status) => failed = Some(Err(status)),
        }
    }
    let mut acks = acks(keeper, items).await.into_iter();
    let message = |(id, size): (String, usize)| {
        let statuses = acks.by_ref().take(size).map(i32::from).collect();
        Ok(BatchAck { id, statuses })
    };
    ids.into_iter().map(message).collect::<Vec<_>>().into_iter().chain(failed).collect()
}

fn item(info: UrlInfo, said: Said) -> Item {
    let UrlInfo { url, key, metadata, crawl_id } = info;
    let told = metadata::telling(&metadata);
    Item { crawl: crawl_id, key, url, said, payload: metadata::pack(metadata), told }
}

/// Notes the hubs that a fetcher found in a feed.
fn note_hubs(notes: &Notes, info: &UrlInfo) {
    let Some(hubs) = info.metadata.get("tidewatch.hub") else { return };
    let own = info.metadata.get("tidewatch.self").and_then(|list| list.values.first());
    notes.note(&info.url, &hubs.values, own.map(String::as_str));
}

/// Puts URLs; returns the status of each.
async fn acks(keeper: &Keeper, items: Vec<Item>) -> Vec<Ack> {
    let count = items.len();
    if count == 0 {
        return Vec::new();
    }
    match keeper.put(items).await {
        Ok(puts) => puts.into_iter().map(ack).collect(),
        // They may not be on disk; the client may send them again.
        Err(_) => vec![Ack::Fail; count],
    }
}

fn ack(put: Put) -> Ack {
    match put {
        Put::Added | Put::Updated => Ack::Ok,
        Put::Known | Put::Refused(_) => Ack::Skipped,
    }
}
