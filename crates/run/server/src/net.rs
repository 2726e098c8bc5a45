//! Connections: a bounded number, with bounded patience.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::ServerError;

/// Connections at once; more are turned away.
const CONNECTIONS: usize = 512;
/// Patience with the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest life of a connection. Whoever follows the figures connects again.
const LONGEST: Duration = Duration::from_mins(10);
/// Most bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;

/// Who is at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Takes an address.
pub(crate) fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServerError> {
    let bound = std::net::TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|source| ServerError::Bind { address, source })
}

/// Serves whoever comes, until dropped.
pub(crate) async fn accept(listener: TcpListener, router: Router) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) if connections.len() < CONNECTIONS => {
                    connections.spawn(serve(stream, peer, router.clone()));
                }
                Ok(_) => {}
                // Out of sockets: neither fatal nor lasting.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, router: Router) {
    let inner = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        inner.call(request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // A reader that went away is no concern of ours.
    let _ = tokio::time::timeout(LONGEST, serving).await;
}
