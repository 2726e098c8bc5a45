//! The 19 calls of the protocol.

use std::collections::HashMap;
use std::pin::Pin;

use futures_util::{Stream, TryStreamExt as _, stream};
use tidewatch_core::Span;
use tidewatch_keeper::{Ask, Given, Keeper, KeeperError, Refused, Taken, crawl_name};
use tonic::{Request, Response, Status, Streaming};

use crate::hearer::Notes;
use crate::lists::Lists;
use crate::protocol::url_frontier_server::UrlFrontier;
use crate::protocol::{
    AckMessage, Active, BatchAck, BlockQueueParams, Boolean, CountUrlParams, CrawlLimitParams,
    DeleteCrawlMessage, DiscoveredBatch, Empty, GetParams, ListUrlParams, Local, LogLevelParams,
    Long, Pagination, PurgeUrlParams, QueueDelayParams, QueueList, QueueWithinCrawlParams, Stats,
    StringList, UrlInfo, UrlItem, UrlStatusRequest, get_params,
};
use crate::{lists, metadata, puts};

/// Seconds of a lease where the fetcher names none.
const USUAL_LEASE_SECONDS: u32 = 30;
/// Queues of a list where the client names no number.
const USUAL_QUEUES: u32 = 100;
/// Most queues of a list, so that it fits into a message.
const MOST_QUEUES: u32 = 10_000;

type Answer<T> = Result<Response<T>, Status>;
type Flow<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Translates calls for a keeper.
pub(crate) struct Service {
    keeper: Keeper,
    address: String,
    notes: Notes,
    lists: Lists,
}

impl Service {
    pub(crate) fn new(keeper: Keeper, address: String, notes: Notes) -> Service {
        Service { keeper, address, notes, lists: Lists::default() }
    }
}

/// A failure of the keeper, as the protocol tells it.
#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn failed(error: KeeperError) -> Status {
    match error {
        KeeperError::Stopped(_) => Status::unavailable(error.to_string()),
        _ => Status::internal(error.to_string()),
    }
}

fn refused(refused: Refused) -> Status {
    match refused {
        Refused::UnknownQueue => Status::not_found(refused.to_string()),
        Refused::ManyCrawls | Refused::ManyQueues | Refused::ManyUrls => {
            Status::resource_exhausted(refused.to_string())
        }
        _ => Status::invalid_argument(refused.to_string()),
    }
}

/// A number of which 0 stands for no limit.
const fn or_all(number: u32) -> u32 {
    if number == 0 { u32::MAX } else { number }
}

fn done(result: Result<Result<(), Refused>, KeeperError>) -> Answer<Empty> {
    result.map_err(failed)?.map_err(refused)?;
    Ok(Response::new(Empty {}))
}

fn url_info(given: Given) -> UrlInfo {
    let mut metadata = metadata::unpack(&given.payload);
    if let Some(worth) = given.worth {
        metadata::add_worth(&mut metadata, worth);
    }
    let (key, crawl_id) = (given.queue.key.clone(), given.queue.crawl.clone());
    UrlInfo { url: given.url, key, metadata, crawl_id }
}

/// The URLs of an answer, read as the client takes them.
fn infos(taken: Taken) -> impl Stream<Item = Result<UrlInfo, Status>> + Send {
    let parts = stream::try_unfold(taken, |mut taken| async move {
        let part = taken.next().await.map_err(failed)?;
        let part = stream::iter(part.into_iter().map(|given| Ok(url_info(given))));
        Ok::<_, Status>((part.size_hint().0 > 0).then_some((part, taken)))
    });
    parts.try_flatten()
}

#[tonic::async_trait]
impl UrlFrontier for Service {
    type GetURLsStream = Flow<UrlInfo>;
    type PutURLsStream = Flow<AckMessage>;
    type PutDiscoveredStream = Flow<BatchAck>;
    type ListURLsStream = Flow<UrlItem>;

    async fn list_nodes(&self, _: Request<Empty>) -> Answer<StringList> {
        Ok(Response::new(StringList { values: vec![self.address.clone()] }))
    }

    async fn list_crawls(&self, _: Request<Local>) -> Answer<StringList> {
        let values = self.keeper.crawls().await.map_err(failed)?;
        Ok(Response::new(StringList { values }))
    }

    async fn delete_crawl(&self, request: Request<DeleteCrawlMessage>) -> Answer<Long> {
        let value = self.keeper.drop_crawl(request.into_inner().value).await.map_err(failed)?;
        Ok(Response::new(Long { value }))
    }

    async fn list_queues(&self, request: Request<Pagination>) -> Answer<QueueList> {
        let Pagination { start, size, include_inactive, crawl_id, .. } = request.into_inner();
        let size = if size == 0 { USUAL_QUEUES } else { size.min(MOST_QUEUES) };
        let name = crawl_name(&crawl_id).to_owned();
        let queues =
            self.keeper.queues(crawl_id, start as usize, size as usize, include_inactive).await;
        let values = queues.map_err(failed)?;
        let (size, total) = (values.len() as u32, 0);
        Ok(Response::new(QueueList { values, total, start, size, crawl_id: name }))
    }

    async fn get_ur_ls(&self, request: Request<GetParams>) -> Answer<Self::GetURLsStream> {
        let params = request.into_inner();
        let crawl = match params.item {
            Some(get_params::Item::CrawlId(crawl)) => Some(crawl),
            Some(get_params::Item::AnyCrawlId(_)) | None => None,
        };
        let key = Some(params.key).filter(|key| !key.is_empty());
        if key.is_some() && crawl.is_none() {
            // The reference answers with nothing.
            return Ok(Response::new(Box::pin(futures_util::stream::empty())));
        }
        let lease = match params.delay_requestable {
            0 => USUAL_LEASE_SECONDS,
            seconds => seconds,
        };
        let ask = Ask {
            crawl,
            key,
            queues: or_all(params.max_queues),
            urls: or_all(params.max_urls_per_queue),
            lease: Span::SECOND.times(lease.into()),
        };
        let taken = self.keeper.take_in_parts(ask).await.map_err(failed)?;
        Ok(Response::new(Box::pin(infos(taken))))
    }

    async fn put_ur_ls(&self, request: Request<Streaming<UrlItem>>) -> Answer<Self::PutURLsStream> {
        let acks = puts::items(self.keeper.clone(), self.notes.clone(), request.into_inner());
        Ok(Response::new(Box::pin(acks)))
    }

    async fn put_discovered(
        &self,
        request: Request<Streaming<DiscoveredBatch>>,
    ) -> Answer<Self::PutDiscoveredStream> {
        let acks = puts::batches(self.keeper.clone(), request.into_inner());
        Ok(Response::new(Box::pin(acks)))
    }

    async fn get_stats(&self, request: Request<QueueWithinCrawlParams>) -> Answer<Stats> {
        let QueueWithinCrawlParams { key, crawl_id, .. } = request.into_inner();
        let name = crawl_name(&crawl_id).to_owned();
        let figures = self.keeper.figures(crawl_id, key).await.map_err(failed)?;
        let counts = [("completed", figures.done), ("active_queues", figures.busy_queues)];
        let counts: HashMap<_, _> =
            counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        Ok(Response::new(Stats {
            size: figures.waiting + figures.held,
            in_process: u32::try_from(figures.held).unwrap_or(u32::MAX),
            counts,
            number_of_queues: figures.queues,
            crawl_id: name,
        }))
    }

    async fn delete_queue(&self, request: Request<QueueWithinCrawlParams>) -> Answer<Long> {
        let QueueWithinCrawlParams { key, crawl_id, .. } = request.into_inner();
        let value = self.keeper.drop_queue(crawl_id, key).await.map_err(failed)?;
        Ok(Response::new(Long { value }))
    }

    async fn block_queue_until(&self, request: Request<BlockQueueParams>) -> Answer<Empty> {
        let BlockQueueParams { key, time, crawl_id, .. } = request.into_inner();
        if key.is_empty() {
            // The reference does nothing.
            return Ok(Response::new(Empty {}));
        }
        done(self.keeper.block(crawl_id, key, time).await)
    }

    async fn set_active(&self, request: Request<Active>) -> Answer<Empty> {
        self.keeper.set_active(request.into_inner().state).await.map_err(failed)?;
        Ok(Response::new(Empty {}))
    }

    async fn get_active(&self, _: Request<Local>) -> Answer<Boolean> {
        let state = self.keeper.is_active().await.map_err(failed)?;
        Ok(Response::new(Boolean { state }))
    }

    async fn set_delay(&self, request: Request<QueueDelayParams>) -> Answer<Empty> {
        let QueueDelayParams { key, delay_requestable, crawl_id, .. } = request.into_inner();
        let gap = Span::SECOND.times(delay_requestable.into());
        done(self.keeper.set_gap(crawl_id, key, gap).await)
    }

    async fn set_log_level(&self, _: Request<LogLevelParams>) -> Answer<Empty> {
        // There are no log levels: whatever is worth telling is told once, on standard error.
        Ok(Response::new(Empty {}))
    }

    async fn set_crawl_limit(&self, request: Request<CrawlLimitParams>) -> Answer<Empty> {
        let CrawlLimitParams { key, limit, crawl_id, .. } = request.into_inner();
        done(self.keeper.set_limit(crawl_id, key, limit).await)
    }

    async fn get_url_status(&self, request: Request<UrlStatusRequest>) -> Answer<UrlItem> {
        let UrlStatusRequest { url, key, crawl_id } = request.into_inner();
        if url.is_empty() {
            return Err(Status::invalid_argument("the request has no URL"));
        }
        let listed = self.keeper.url(crawl_id, key, url).await.map_err(failed)?;
        let listed = listed.ok_or_else(|| Status::not_found("the URL is not known"))?;
        Ok(Response::new(lists::message(listed)))
    }

    async fn list_ur_ls(&self, request: Request<ListUrlParams>) -> Answer<Self::ListURLsStream> {
        let listed = self.lists.list(&self.keeper, request.into_inner()).await?;
        Ok(Response::new(Box::pin(listed)))
    }

    async fn count_ur_ls(&self, request: Request<CountUrlParams>) -> Answer<Long> {
        let value = self.lists.count(&self.keeper, request.into_inner()).await?;
        Ok(Response::new(Long { value }))
    }

    async fn purge_ur_ls(&self, request: Request<PurgeUrlParams>) -> Answer<Long> {
        let PurgeUrlParams { key, crawl_id, days } = request.into_inner();
        let value = self.keeper.purge(crawl_id, key, days).await.map_err(failed)?;
        Ok(Response::new(Long { value }))
    }
}
