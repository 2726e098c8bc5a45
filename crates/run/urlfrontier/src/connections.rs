//! Connections: bounded in number, altogether and by client.
//!
//! Beyond the limit new ones wait, unanswered, until another one ends. A connection that makes no call that is
//! let in ends after [`PATIENCE`], TLS handshake included. So whoever only holds connections open locks nobody
//! out for long.

use std::collections::HashMap;
use std::future::Future as _;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, stream};
use tidewatch_partition::network_of;
use tidewatch_server::PER_CLIENT;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tonic::transport::server::Connected;

/// How long to wait for a socket.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a connection may take until its first call.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A connection that holds its place until it ends.
pub(crate) struct Connection {
    stream: TcpStream,
    caller: Caller,
    /// The first call must come before.
    deadline: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
    _client: Client,
}

/// Says whether a connection has made a call that was let in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caller(Arc<AtomicBool>);

impl Caller {
    /// A call is let in: the connection may stay.
    pub(crate) fn let_in(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_let_in(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many connections each client has.
#[derive(Clone, Default)]
struct Clients(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A connection of a client, counted until it is dropped.
struct Client {
    clients: Clients,
    network: IpAddr,
}

impl Clients {
    /// `None` if the client has too many connections already. This machine may have all, because a proxy may
    /// run here.
    fn enter(&self, address: IpAddr) -> Option<Client> {
        let network = network_of(address);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(network).or_default();
        if *count >= PER_CLIENT && !network.is_loopback() {
            return None;
        }
        *count += 1;
        Some(Client { clients: self.clone(), network })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut counts = self.clients.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = counts.get(&self.network).map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            counts.remove(&self.network);
        } else {
            counts.insert(self.network, left);
        }
    }
}

/// The connections to a listener, at most `most` at a time, that may be silent for `patience` at first.
pub(crate) fn connections(
    listener: TcpListener,
    most: usize,
    patience: Duration,
) -> impl Stream<Item = io::Result<Connection>> {
    let (places, clients) = (Arc::new(Semaphore::new(most)), Clients::default());
    stream::unfold((listener, places, clients), move |(listener, places, clients)| async move {
        let place = Arc::clone(&places).acquire_owned().await.ok()?;
        let (stream, client) = accept(&listener, &clients).await;
        let connection = Connection {
            stream,
            caller: Caller::default(),
            deadline: Box::pin(tokio::time::sleep(patience)),
            _place: place,
            _client: client,
        };
        Some((Ok(connection), (listener, places, clients)))
    })
}

/// The next connection of a client that may have one more.
async fn accept(listener: &TcpListener, clients: &Clients) -> (TcpStream, Client) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let Some(client) = clients.enter(peer.ip()) else { continue };
                // Acknowledgements are small and should not wait for more of them. A failure only costs time.
                let _ = stream.set_nodelay(true);
                return (stream, client);
            }
            // Out of sockets: neither fatal nor lasting.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Caller {
        self.caller.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.caller.is_let_in() && this.deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut this.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// Silent connections in all places, and one that is let in.
    #[tokio::test]
    async fn whoever_only_holds_connections_open_locks_nobody_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let mut incoming = Box::pin(connections(listener, 3, Duration::from_millis(300)));
        let mut clients = Vec::new();
        for number in 0..6 {
            clients.push(TcpStream::connect(at).await.unwrap());
            let next = tokio::time::timeout(Duration::from_secs(20), incoming.next()).await;
            let mut connection = next.expect("a place becomes free").unwrap().unwrap();
            if number == 0 {
                connection.connect_info().let_in();
            }
            tokio::spawn(async move { connection.read(&mut [0; 8]).await });
        }
        tokio::time::sleep(Duration::from_millis(600)).await;
        let mut is_closed = Vec::new();
        for client in &mut clients {
            let (mut into, patience) = ([0; 8], Duration::from_millis(200));
            let read = client.read(&mut into);
            is_closed.push(tokio::time::timeout(patience, read).await.is_ok());
        }
        assert_eq!(is_closed, [false, true, true, true, true, true]);
    }

    #[test]
    fn a_client_has_so_many_connections_and_no_more() {
        let clients = Clients::default();
        let far: IpAddr = "192.0.2.1".parse().unwrap();
        let mut held: Vec<_> = (0..PER_CLIENT).map(|_| clients.enter(far).unwrap()).collect();
        assert!(clients.enter(far).is_none());
        assert!(clients.enter("192.0.2.2".parse().unwrap()).is_some());
        let near = (0..2 * PER_CLIENT).map(|_| clients.enter("127.0.0.1".parse().unwrap()));
        assert!(near.collect::<Vec<_>>().iter().all(Option::is_some));
        held.pop();
        assert!(clients.enter(far).is_some());
        held.clear();
        assert!(clients.0.lock().unwrap().is_empty());
    }
}
