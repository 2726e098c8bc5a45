//! Connections: bounded in number, size and time.

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

/// Connections at once; more are closed.
const CONNECTIONS: usize = 512;
/// Time limit for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest life of a connection. Readers of events reconnect.
const LONGEST: Duration = Duration::from_mins(10);
/// Most bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;

/// The address of the connection's other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Binds an address.
pub(crate) fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServerError> {
    let bound = std::net::TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|source| ServerError::Bind { address, source })
}

/// Serves connections until dropped.
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
    // The reader may have gone.
    let _ = tokio::time::timeout(LONGEST, serving).await;
}
