//! The socket: who may connect, how much may be sent.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{AddressPolicy, Failure, Fetcher};
use tidewatch_keeper::{Keeper, KeeperError, Settings};
use tidewatch_partition::Doorkeeper;
use tidewatch_push::{Push, PushError, PushOptions, PushReport};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::service::InterceptorLayer;
use tonic::transport::{Identity, ServerTlsConfig};
use tonic::{Request, Status};

use crate::connections::{Caller, PATIENCE, connections};
use crate::hearer::{Hearing, Notes};
use crate::protocol::url_frontier_server::UrlFrontierServer;
use crate::service::Service;
use crate::{desk, why};

/// Most bytes of one message.
const MOST_MESSAGE_BYTES: usize = 16 << 20;
/// Most connections at a time.
pub const MOST_CONNECTIONS: usize = 512;
/// Of so many connections, publishers may have as many as one more.
const PUBLISHERS_SHARE: usize = 4;
/// Most calls at a time on one connection.
const MOST_STREAMS: u32 = 256;
/// A connection that answers no ping for so long is closed.
const SILENCE: Duration = Duration::from_secs(20);
/// How long running calls may take to end when the server stops.
const LAST_CALLS: Duration = Duration::from_secs(3);
/// Least time between two requests to a site, for key files and to hubs: what crawls keep by default.
const PUBLISHERS_GAP: Duration = Duration::from_secs(2);
/// Shortest token.
const LEAST_TOKEN_BYTES: usize = 16;

/// How to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen. Any address but loopback needs `secured`.
    pub address: SocketAddr,
    /// What to keep, and who decides.
    pub settings: Settings,
    /// Who may connect; `None` for everybody on this machine.
    pub secured: Option<Secured>,
    /// Where to show figures and answer why and what-if over HTTP; loopback only.
    pub desk: Option<SocketAddr>,
    /// Listen for publishers that say what has changed.
    pub publishers: Option<Publishers>,
    /// Connections at a time, at most [`MOST_CONNECTIONS`]: as many as the limit of open files leaves.
    pub connections: usize,
}

/// How to listen for publishers, away from the protocol and its token: anybody may speak here.
#[derive(Clone, Debug)]
pub struct Publishers {
    /// The address to bind.
    pub address: SocketAddr,
    /// Take IndexNow submissions.
    pub indexnow: bool,
    /// Subscribe at the hubs that fetchers name; they reach `address` by this URL.
    pub websub: Option<CanonicalUrl>,
    /// Fetch key files from private addresses too, and ask hubs there.
    pub allow_private: bool,
    /// The `User-Agent` of these requests.
    pub user_agent: String,
}

/// How connections are secured.
#[derive(Clone, Debug)]
pub struct Secured {
    /// Certificate chain, PEM.
    pub certificate: Vec<u8>,
    /// Its private key, PEM.
    pub key: Vec<u8>,
    /// What clients send as `authorization: Bearer TOKEN`.
    pub token: String,
}

/// Errors that stop the server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address can be reached from other machines.
    #[error(
        "{0} can be reached from other machines; that needs --token-file, --tls-cert and --tls-key"
    )]
    Unsecured(SocketAddr),
    /// The operator's view is for this machine.
    #[error("{0} can be reached from other machines; figures are shown on loopback only")]
    PublicDesk(SocketAddr),
    /// The address for the operator's view or for publishers cannot be bound.
    #[error(transparent)]
    Http(#[from] tidewatch_server::ServerError),
    /// Publishers cannot be listened to.
    #[error(transparent)]
    Push(#[from] PushError),
    /// Key files cannot be fetched.
    #[error(transparent)]
    Fetcher(#[from] Failure),
    /// The token is too short.
    #[error("the token has fewer than {LEAST_TOKEN_BYTES} characters")]
    ShortToken,
    /// The address cannot be used.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The URLs cannot be kept.
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    /// The transport failed.
    #[error("the server failed: {0}; check certificate and key")]
    Transport(#[from] tonic::transport::Error),
}

/// A server that listens and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    connections: usize,
    keeper: Keeper,
    secured: Option<Secured>,
    notes: Notes,
    desk: Option<(SocketAddr, JoinSet<()>)>,
    push: Option<Push>,
    _door: Option<Doorkeeper>,
}

impl Server {
    /// Opens the directory, then the socket.
    pub async fn bind(options: Options) -> Result<Server, ServerError> {
        let Options { address, settings, secured, desk, publishers, connections } = options;
        let connections = connections.clamp(1, MOST_CONNECTIONS);
        match &secured {
            None if !address.ip().is_loopback() => return Err(ServerError::Unsecured(address)),
            Some(secured) if secured.token.len() < LEAST_TOKEN_BYTES => {
                return Err(ServerError::ShortToken);
            }
            _ => {}
        }
        let keeper = Keeper::open(&settings)?;
        let failed = |source| ServerError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let notes = Notes::default();
        let file = settings.dir.join("push.json");
        let most = connections.div_ceil(PUBLISHERS_SHARE);
        let push = publishers.map(|publishers| ear(&publishers, file, most, &keeper, &notes));
        let push = push.transpose()?;
        let told = push.as_ref().map(|push| told(push.reporter()));
        let desk = desk.map(|desk| desk::open(desk, &keeper, told)).transpose()?;
        Ok(Server {
            _door: why::door(&settings.dir, &keeper),
            listener,
            address,
            connections,
            keeper,
            secured,
            notes,
            desk,
            push,
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where figures are shown, if they are.
    pub fn desk(&self) -> Option<SocketAddr> {
        self.desk.as_ref().map(|(address, _)| *address)
    }

    /// Where publishers are listened to, if they are.
    pub fn publishers_at(&self) -> Option<SocketAddr> {
        self.push.as_ref().map(Push::address)
    }

    /// What it keeps.
    pub const fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Serves until `stop` ends.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServerError> {
        let keeper = self.keeper.clone();
        let service = Service::new(self.keeper, self.address.to_string(), self.notes);
        let service = UrlFrontierServer::new(service)
            .max_decoding_message_size(MOST_MESSAGE_BYTES)
            .max_encoding_message_size(MOST_MESSAGE_BYTES);
        let mut server = tonic::transport::Server::builder()
            .max_concurrent_streams(MOST_STREAMS)
            .http2_keepalive_interval(Some(SILENCE))
            .http2_keepalive_timeout(Some(SILENCE));
        if let Some(Secured { certificate, key, .. }) = &self.secured {
            let identity = Identity::from_pem(certificate, key);
            server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
        }
        let wanted = self.secured.map(|secured| format!("Bearer {}", secured.token));
        let check = move |request| check(request, wanted.as_deref());
        let incoming = Box::pin(connections(self.listener, self.connections, PATIENCE));
        let (tell, stopping) = tokio::sync::oneshot::channel();
        let served = server
            .layer(InterceptorLayer::new(check))
            .add_service(service)
            .serve_with_incoming_shutdown(incoming, async {
                // Dropped unsent if the server ends before it is told to.
                let _ = stopping.await;
            });
        let mut served = std::pin::pin!(served);
        tokio::select! {
            ended = &mut served => return Ok(ended?),
            () = stop => {}
        }
        let _ = tell.send(());
        // Streams may stay open for ever; all that was acknowledged is on disk.
        let ended = tokio::time::timeout(LAST_CALLS, served).await;
        keeper.save().await?;
        ended.map_or(Ok(()), |ended| Ok(ended?))
    }
}

/// Listens for publishers.
fn ear(
    publishers: &Publishers,
    file: PathBuf,
    connections: usize,
    keeper: &Keeper,
    notes: &Notes,
) -> Result<Push, ServerError> {
    let Publishers { address, indexnow, ref websub, allow_private, ref user_agent } = *publishers;
    let addresses = AddressPolicy { allow_all: allow_private, ..AddressPolicy::default() };
    let config = tidewatch_fetch::Config { addresses, ..tidewatch_fetch::Config::new(user_agent) };
    let (websub, gap) = (websub.clone(), PUBLISHERS_GAP);
    let options = PushOptions { address, indexnow, websub, file, gap, connections };
    let hearing = Hearing::new(keeper.clone(), notes.clone());
    Ok(Push::open(&options, &Fetcher::new(config)?, hearing)?)
}

fn told(report: impl Fn() -> PushReport + Send + Sync + 'static) -> desk::Told {
    Arc::new(move || serde_json::to_value(report()).unwrap_or_default())
}

/// Refuses calls without the token.
fn check(request: Request<()>, wanted: Option<&str>) -> Result<Request<()>, Status> {
    let Some(wanted) = wanted else { return Ok(let_in(request)) };
    let given = request.metadata().get("authorization").map_or(&[][..], |value| value.as_bytes());
    if is_same(given, wanted.as_bytes()) {
        Ok(let_in(request))
    } else {
        Err(Status::unauthenticated("send the token as 'authorization: Bearer TOKEN'"))
    }
}

/// Lets the request's connection stay.
fn let_in(request: Request<()>) -> Request<()> {
    if let Some(caller) = request.extensions().get::<Caller>() {
        caller.let_in();
    }
    request
}

/// Compares in constant time.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
