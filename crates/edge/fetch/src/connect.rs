//! The one place where a socket connects, and where the address is checked.
//!
//! A host becomes addresses (a literal, a built-in name, or a resolver's answer). Each is
//! checked against the policy directly before it is dialled, and nothing else opens a
//! socket: seeds, links, redirects, robots.txt, sitemaps and feeds all come through here.
//!
//! A proxy's own address is the operator's choice and not checked. The target's addresses
//! are still resolved and checked here; a proxy that resolves differently must do its own
//! filtering.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tidewatch_core::url::CanonicalUrl;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{self, ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::ServerName},
};

use crate::{
    AddressPolicy, Config, Failure, Limits, Resolve,
    connection::{Connection, Sender},
    crowd::Crowd,
    resolve::built_in,
    tape::{Recorded, Tape, head_end},
};

/// A pending connection.
pub type Dialling = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

/// Opens sockets, after the address check. Tests use a stub.
pub trait Dial: Send + Sync {
    /// Connects to a checked address.
    fn dial(&self, to: SocketAddr) -> Dialling;
}

/// Plain TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp;

impl Dial for Tcp {
    fn dial(&self, to: SocketAddr) -> Dialling {
        Box::pin(async move {
            let stream = TcpStream::connect(to).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }
}

/// An HTTP proxy that all connections go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The value of `Proxy-Authorization`, if any.
    pub authorization: Option<String>,
}

/// Most addresses tried per host.
const MAX_ADDRESSES: usize = 4;

/// Largest proxy response to `CONNECT`.
const MAX_PROXY_HEAD: usize = 8 * 1024;

/// Flow-control window of one HTTP/2 stream, bytes.
const H2_WINDOW: u32 = 256 * 1024;

/// Smallest buffer that hyper accepts.
const MIN_BUFFER: usize = 8 * 1024;

/// Opens connections.
pub(crate) struct Connector {
    resolver: Arc<dyn Resolve>,
    dial: Arc<dyn Dial>,
    policy: AddressPolicy,
    proxy: Option<Proxy>,
    tls: Arc<ClientConfig>,
    limits: Limits,
    crowd: Arc<Crowd>,
}

/// The TLS configuration: Mozilla's roots and any others given.
fn tls(more_roots: &[CertificateDer<'static>], offers_h2: bool) -> Result<ClientConfig, Failure> {
    let failed = |error: rustls::Error| Failure::Tls { why: error.to_string() };
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for root in more_roots {
        roots.add(root.clone()).map_err(failed)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = versions.map_err(failed)?.with_root_certificates(roots).with_no_client_auth();
    if offers_h2 {
        config.alpn_protocols.push(b"h2".to_vec());
    }
    config.alpn_protocols.push(b"http/1.1".to_vec());
    Ok(config)
}

impl Connector {
    /// Fails if a certificate of `config` is malformed.
    pub(crate) fn new(
        config: &Config,
        resolver: Arc<dyn Resolve>,
        dial: Arc<dyn Dial>,
        crowd: Arc<Crowd>,
    ) -> Result<Self, Failure> {
        Ok(Connector {
            resolver,
            dial,
            policy: config.addresses.clone(),
            proxy: config.proxy.clone(),
            tls: Arc::new(tls(&config.more_roots, config.http2)?),
            limits: config.limits.clone(),
            crowd,
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The value of `Proxy-Authorization`, if the proxy needs one.
    pub(crate) fn proxy_authorization(&self) -> Option<&str> {
        self.proxy.as_ref()?.authorization.as_deref()
    }

    /// Opens a connection for `url` within the connect limit.
    pub(crate) async fn connect(&self, url: &CanonicalUrl) -> Result<Connection, Failure> {
        let limit = self.limits.connect;
        let connecting = self.crowd.limit(limit, Box::pin(self.open(url)));
        connecting.await.unwrap_or(Err(Failure::ConnectTimeout { limit }))
    }

    async fn open(&self, url: &CanonicalUrl) -> Result<Connection, Failure> {
        let targets = self.allowed(url).await?;
        let Some(proxy) = &self.proxy else {
            let (socket, address) = self.reach(&targets).await?;
            return self.secure(url, socket, address).await;
        };
        let (mut socket, _) = self.reach(&self.proxy_addresses(proxy).await?).await?;
        let address = targets[0].ip();
        if url.is_https() {
            tunnel(&mut socket, url, proxy).await?;
            return self.secure(url, socket, address).await;
        }
        Ok(self.secure(url, socket, address).await?.with_whole_urls())
    }

    /// The addresses of the host of `url` that the policy allows; fails if there are none.
    async fn allowed(&self, url: &CanonicalUrl) -> Result<Vec<SocketAddr>, Failure> {
        let host = url.host();
        let mut found = match (url.ip(), built_in(host)) {
            (Some(address), _) => vec![address],
            (None, Some(addresses)) => addresses,
            (None, None) => self.resolver.resolve(host).await?,
        };
        // IPv4 first: machines without an IPv6 route are common.
        found.sort_by_key(IpAddr::is_ipv6);
        let mut blocked = None;
        let mut allowed = Vec::new();
        for address in found {
            match self.policy.check(address) {
                Ok(()) => allowed.push(SocketAddr::new(address, url.port())),
                Err(kind) => blocked = Some(Failure::BlockedAddress { address, kind }),
            }
        }
        match blocked {
            Some(blocked) if allowed.is_empty() => Err(blocked),
            _ if allowed.is_empty() => Err(Failure::NoAddress { host: host.to_owned() }),
            _ => Ok(allowed),
        }
    }

    async fn proxy_addresses(&self, proxy: &Proxy) -> Result<Vec<SocketAddr>, Failure> {
        let found = match (proxy.host.parse(), built_in(&proxy.host)) {
            (Ok(address), _) => vec![address],
            (Err(_), Some(addresses)) => addresses,
            (Err(_), None) => self.resolver.resolve(&proxy.host).await?,
        };
        Ok(found.into_iter().map(|address| SocketAddr::new(address, proxy.port)).collect())
    }

    /// Dials the targets in order until one connects.
    async fn reach(&self, targets: &[SocketAddr]) -> Result<(TcpStream, IpAddr), Failure> {
        let mut last = None;
        for target in targets.iter().take(MAX_ADDRESSES) {
            match self.dial.dial(*target).await {
                Ok(socket) => return Ok((socket, target.ip())),
                Err(error) => last = Some(error),
            }
        }
        if last.as_ref().and_then(io::Error::raw_os_error).is_some_and(is_too_many_open) {
            return Err(Failure::TooManyOpen);
        }
        let why = last.map_or_else(|| "no address".to_owned(), |error| error.to_string());
        Err(Failure::Connect { why })
    }

    async fn secure(
        &self,
        url: &CanonicalUrl,
        socket: TcpStream,
        address: IpAddr,
    ) -> Result<Connection, Failure> {
        let tape = Tape::default();
        let sender = if url.is_https() {
            let failed = |why: String| Failure::Tls { why };
            let host = url.host().trim_start_matches('[').trim_end_matches(']').to_owned();
            let name = ServerName::try_from(host).map_err(|error| failed(error.to_string()))?;
            let connecting = TlsConnector::from(self.tls.clone()).connect(name, socket);
            let secure = connecting.await.map_err(|error| failed(error.to_string()))?;
            let is_h2 = secure.get_ref().1.alpn_protocol() == Some(b"h2");
            if is_h2 { self.h2(secure).await? } else { self.h1(secure, &tape).await? }
        } else {
            self.h1(socket, &tape).await?
        };
        Ok(Connection::new(sender, tape, address))
    }

    /// Makes a connection over an open stream.
    pub(crate) async fn of_stream<S>(&self, stream: S) -> Result<Connection, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tape = Tape::default();
        let sender = self.h1(stream, &tape).await?;
        let address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Ok(Connection::new(sender, tape, address))
    }

    async fn h1<S>(&self, socket: S, tape: &Tape) -> Result<Sender, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = TokioIo::new(Recorded::new(socket, tape.clone()));
        let handshake = http1::Builder::new()
            .max_headers(self.limits.headers)
            .max_header_size(self.limits.head_bytes)
            .max_buf_size(self.limits.head_bytes.max(MIN_BUFFER))
            .title_case_headers(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .handshake(io)
            .await;
        let (sender, connection) = handshake.map_err(|error| Failure::of_hyper(&error))?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(Sender::H1(sender))
    }

    async fn h2<S>(&self, socket: S) -> Result<Sender, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = http2::Builder::new(TokioExecutor::new())
            .max_header_list_size(u32::try_from(self.limits.head_bytes).unwrap_or(u32::MAX))
            .initial_stream_window_size(H2_WINDOW)
            .initial_connection_window_size(H2_WINDOW)
            .handshake(TokioIo::new(socket))
            .await;
        let (sender, connection) = handshake.map_err(|error| Failure::of_hyper(&error))?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(Sender::H2(sender))
    }
}

/// Whether an error of the system says that too many files are open, in this process (EMFILE) or on
/// this machine (ENFILE).
const fn is_too_many_open(error: i32) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error, ENFILE | EMFILE)
}

/// Asks a proxy to connect to the target.
async fn tunnel(socket: &mut TcpStream, url: &CanonicalUrl, proxy: &Proxy) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Proxy { why: error.to_string() };
    let target = format!("{}:{}", url.host(), url.port());
    let authorization = match &proxy.authorization {
        Some(value) => format!("Proxy-Authorization: {value}\r\n"),
        None => String::new(),
    };
    let ask = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n");
    socket.write_all(ask.as_bytes()).await.map_err(failed)?;
    let mut head = Vec::new();
    while head_end(&head, 0).is_none() {
        // Read byte by byte, to consume nothing after the head.
        head.push(socket.read_u8().await.map_err(failed)?);
        if head.len() > MAX_PROXY_HEAD {
            return Err(Failure::Proxy { why: "its answer is too long".to_owned() });
        }
    }
    let line = String::from_utf8_lossy(&head);
    let line = line.lines().next().unwrap_or_default();
    match line.split(' ').nth(1) {
        Some(status) if status.starts_with('2') => Ok(()),
        _ => Err(Failure::Proxy { why: line.to_owned() }),
    }
}
