//! Connections: bounded in number, size and time.
//!
//! When all places are taken, a new connection gets the place of the one that has been idle longest,
//! of the client that has the most. A connection that is answered is never closed for another; the
//! only long answers are event streams, which are few (`events`). So whoever only holds
//! connections open locks nobody out, and this machine always finds a place.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use hyper::Request;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tidewatch_partition::network_of;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, Id, JoinSet};

use crate::ServerError;

/// Connections at once.
const CONNECTIONS: usize = 512;
/// Of so many connections, one is for this machine alone.
const OWN_SHARE: usize = 8;
/// Connections at once of one client, unless it is this machine, where a proxy may run.
pub const PER_CLIENT: usize = 64;
/// Time limit for the head of a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest life of a connection. Readers of events reconnect.
const LONGEST: Duration = Duration::from_mins(10);
/// Most bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;

/// The address of the connection's other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Binds an address.
pub fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServerError> {
    let bound = std::net::TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|source| ServerError::Bind { address, source })
}

/// Serves at most so many connections until dropped.
pub async fn accept(listener: TcpListener, router: Router, most: usize) {
    let (mut connections, mut places) = (JoinSet::new(), Places::new(most));
    loop {
        tokio::select! {
            Some(ended) = connections.join_next_with_id() => {
                places.leave(ended.map_or_else(|error| error.id(), |(id, ())| id));
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) if places.make_room(network_of(peer.ip())) => {
                    let is_busy = Arc::new(AtomicBool::new(false));
                    let serving = serve(stream, peer, router.clone(), Arc::clone(&is_busy));
                    places.take(connections.spawn(serving), network_of(peer.ip()), is_busy);
                }
                Ok(_) => {}
                // Out of sockets: neither fatal nor lasting.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

/// A connection.
struct Place {
    task: AbortHandle,
    client: IpAddr,
    since: Instant,
    is_busy: Arc<AtomicBool>,
}

/// The connections, oldest first.
struct Places {
    all: Vec<Place>,
    most: usize,
}

impl Places {
    fn new(most: usize) -> Places {
        Places { all: Vec::new(), most: most.clamp(OWN_SHARE, CONNECTIONS) }
    }

    fn take(&mut self, task: AbortHandle, client: IpAddr, is_busy: Arc<AtomicBool>) {
        self.all.push(Place { task, client, since: Instant::now(), is_busy });
    }

    fn leave(&mut self, id: Id) {
        self.all.retain(|place| place.task.id() != id);
    }

    fn of(&self, client: IpAddr) -> usize {
        self.all.iter().filter(|place| place.client == client).count()
    }

    /// Makes room for a connection of `client`, if there is none; `false` if there can be none.
    fn make_room(&mut self, client: IpAddr) -> bool {
        let most = if client.is_loopback() { self.most } else { self.most - self.most / OWN_SHARE };
        let is_over = !client.is_loopback() && self.of(client) >= PER_CLIENT;
        if !is_over && self.all.len() < most {
            return true;
        }
        let is_idle = |place: &&Place| !place.is_busy.load(Ordering::Relaxed);
        let idle =
            self.all.iter().filter(is_idle).filter(|place| !is_over || place.client == client);
        let evicted = idle.max_by_key(|place| (self.of(place.client), place.since.elapsed()));
        let Some(id) = evicted.map(|place| {
            place.task.abort();
            place.task.id()
        }) else {
            return false;
        };
        self.leave(id);
        true
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, router: Router, is_busy: Arc<AtomicBool>) {
    let inner = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        let busy = Busy::new(&is_busy);
        let answering = inner.call(request);
        async move { answering.await.map(|answer| answer.map(|body| Answer { body, _busy: busy })) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // The reader may have gone.
    let _ = tokio::time::timeout(LONGEST, serving).await;
}

/// Says that a connection is answered, until dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn new(is_busy: &Arc<AtomicBool>) -> Busy {
        is_busy.store(true, Ordering::Relaxed);
        Busy(Arc::clone(is_busy))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The body of an answer; the connection is busy until it is sent.
struct Answer {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}
