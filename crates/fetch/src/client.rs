//! Fetching: exchanges, redirects, limits.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{
    body::Incoming,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use tidewatch_core::url::{Base, CanonicalUrl};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::{
    AddressPolicy, CertificateDer, Dial, Dns, End, Failure, Fetched, Hop, Limits, Proxy, Purpose,
    Request, Resolve, Response, Tcp,
    coding::{Body, codings},
    connect::{self, Connection, Connector, Sender},
};

/// Idle connections kept open, all origins together.
const MAX_IDLE: usize = 1024;

/// How long an idle connection is kept where others want its place. So long that its
/// host's next request is not about to come: a server must not see a new connection
/// before it has seen the end of the old one.
const IDLE_KEPT: Duration = Duration::from_mins(5);

/// Bytes kept of a redirect's body.
const REDIRECT_BODY_BYTES: usize = 16 * 1024;

/// Bytes of a replayed answer that are on their way at a time.
const REPLAY_BUFFER: usize = 16 * 1024;

/// How a fetcher behaves.
#[derive(Debug, Clone)]
pub struct Config {
    /// What it calls itself; see [`user_agent`].
    pub user_agent: String,
    /// Which addresses it may connect to beyond the public ones.
    pub addresses: AddressPolicy,
    /// How much and how long.
    pub limits: Limits,
    /// A proxy for all connections.
    pub proxy: Option<Proxy>,
    /// Roots to trust besides Mozilla's.
    pub more_roots: Vec<CertificateDer<'static>>,
    /// Whether HTTP/2 is offered over TLS.
    pub http2: bool,
}

impl Config {
    /// Public addresses only, default limits, no proxy.
    pub fn new(user_agent: &str) -> Self {
        Self {
            user_agent: user_agent.to_owned(),
            addresses: AddressPolicy::default(),
            limits: Limits::default(),
            proxy: None,
            more_roots: Vec::new(),
            http2: true,
        }
    }
}

/// What a crawler calls itself: its name, and where to complain.
///
/// `contact` is a URL or a mail address; `Tidewatch/0.1 (+https://example.com/bot)`.
pub fn user_agent(contact: &str) -> String {
    let contact: String = contact.chars().filter(char::is_ascii_graphic).collect();
    format!("Tidewatch/{} (+{contact})", env!("CARGO_PKG_VERSION"))
}

/// Makes fetches. Cheap to share: all methods take `&self`.
pub struct Fetcher {
    user_agent: HeaderValue,
    connector: Connector,
    idle: Mutex<HashMap<String, (Connection, Instant)>>,
}

impl Fetcher {
    /// With the system's DNS. The certificates and the user agent must be well-formed.
    pub fn new(config: Config) -> Result<Self, Failure> {
        let dns = Dns::system()?;
        Self::with(config, Arc::new(dns), Arc::new(Tcp))
    }

    /// With other names and sockets.
    pub fn with(
        config: Config,
        resolver: Arc<dyn Resolve>,
        dial: Arc<dyn Dial>,
    ) -> Result<Self, Failure> {
        let wrong = |_| Failure::Protocol { why: "the user agent is no header value".to_owned() };
        Ok(Self {
            user_agent: HeaderValue::from_str(&config.user_agent).map_err(wrong)?,
            connector: Connector {
                resolver,
                dial,
                policy: config.addresses,
                proxy: config.proxy,
                tls: Arc::new(connect::tls(&config.more_roots, config.http2)?),
                limits: config.limits,
            },
            idle: Mutex::default(),
        })
    }

    /// Makes a fetch. Of every redirect's target `may_follow` says whether it is wanted
    /// (allowed by robots.txt, polite now, within the crawl); one that is not ends the
    /// fetch with [`End::Redirect`].
    pub async fn fetch(
        &self,
        request: &Request,
        may_follow: &mut (dyn FnMut(&CanonicalUrl) -> bool + Send),
    ) -> Fetched {
        let limit = self.limits().total;
        let deadline = tokio::time::Instant::now() + limit;
        let mut hops = Vec::new();
        let mut url = request.url.clone();
        let end = loop {
            let mut hop = Hop::new(url);
            let exchange = self.exchange(&mut hop, request, hops.is_empty());
            let done = tokio::time::timeout_at(deadline, exchange).await;
            hop.total = hop.at.elapsed().unwrap_or_default();
            let next = match done.unwrap_or(Err(Failure::TotalTimeout { limit })) {
                Ok(()) => redirect(&hop),
                Err(failure) => Err(failure),
            };
            hops.push(hop);
            match next {
                Ok(None) => break End::Answered,
                Err(failure) => break End::Failed(failure),
                Ok(Some(target)) if !may_follow(&target) => break End::Redirect(target),
                Ok(Some(target)) => url = target,
            }
            let limit = match request.purpose {
                Purpose::Robots => self.limits().robots_redirects,
                Purpose::Page | Purpose::Sitemap => self.limits().redirects,
            };
            if hops.len() > limit {
                break End::Failed(Failure::TooManyRedirects { limit });
            }
        };
        Fetched { hops, end }
    }

    /// Reads an answer from memory exactly as if it had come over the wire, without any
    /// connection; a redirect is not followed. For archives and for tests.
    pub async fn replay(&self, request: &Request, answer: &[u8]) -> Fetched {
        let mut hop = Hop::new(request.url.clone());
        let exchange = self.replay_into(&mut hop, request, answer);
        let limit = self.limits().total;
        let done = tokio::time::timeout(limit, exchange).await;
        hop.total = hop.at.elapsed().unwrap_or_default();
        let done = done.unwrap_or(Err(Failure::TotalTimeout { limit }));
        let end = match done.and_then(|()| redirect(&hop)) {
            Ok(None) => End::Answered,
            Ok(Some(target)) => End::Redirect(target),
            Err(failure) => End::Failed(failure),
        };
        Fetched { hops: vec![hop], end }
    }

    async fn replay_into(
        &self,
        hop: &mut Hop,
        ask: &Request,
        answer: &[u8],
    ) -> Result<(), Failure> {
        let headers = self.headers(&hop.url, ask, true);
        hop.request_head = request_head(&hop.url, &headers);
        let (near, far) = tokio::io::duplex(REPLAY_BUFFER);
        let connection = self.connector.of_stream(near).await?;
        let exchange = async {
            let (connection, response) = self.send_over(connection, &hop.url, &headers).await?;
            self.receive(hop, ask, connection, response).await
        };
        let (done, ()) = tokio::join!(exchange, speak(far, answer));
        done
    }

    fn limits(&self) -> &Limits {
        &self.connector.limits
    }

    /// Sends one request and reads the answer into the hop.
    async fn exchange(&self, hop: &mut Hop, ask: &Request, is_first: bool) -> Result<(), Failure> {
        let started = Instant::now();
        let headers = self.headers(&hop.url, ask, is_first);
        hop.request_head = request_head(&hop.url, &headers);
        let (connection, response) = self.send(hop, &headers, started).await?;
        hop.first_byte = Some(started.elapsed());
        self.receive(hop, ask, connection, response).await
    }

    /// Reads the answer into the hop and keeps the connection if it can be used again.
    async fn receive(
        &self,
        hop: &mut Hop,
        ask: &Request,
        connection: Connection,
        response: hyper::Response<Incoming>,
    ) -> Result<(), Failure> {
        let (parts, body) = response.into_parts();
        let mut head = connection.tape.take();
        if head.is_empty() {
            head = synthetic_head(&parts);
        }
        let response = hop.response.insert(Response {
            status: parts.status.as_u16(),
            head,
            headers: parts.headers,
            body: Vec::new(),
            wire_bytes: 0,
            is_cut: false,
        });
        // HTTP/2 has no limit on the number of fields of its own.
        if response.headers.len() > self.limits().headers {
            return Err(Failure::HeadTooLarge);
        }
        let kept = self.body_limit(response, ask.purpose);
        self.read(response, body, kept).await?;
        // An answer from memory has no address and no connection to keep.
        if !response.is_cut && hop.address.is_some() {
            self.park(hop.url.origin(), connection);
        }
        Ok(())
    }

    /// Sends a request over an open connection, or a new one if there is none or it has died.
    async fn send(
        &self,
        hop: &mut Hop,
        headers: &HeaderMap,
        started: Instant,
    ) -> Result<(Connection, hyper::Response<Incoming>), Failure> {
        if let Some(connection) = self.unpark(hop.url.origin()) {
            hop.address = Some(connection.address);
            match self.send_over(connection, &hop.url, headers).await {
                // Servers close idle connections when they like; that is no answer.
                Err(Failure::Incomplete) => {}
                done => return done,
            }
        }
        let connection = self.connector.connect(&hop.url).await?;
        hop.connect = Some(started.elapsed());
        hop.address = Some(connection.address);
        self.send_over(connection, &hop.url, headers).await
    }

    async fn send_over(
        &self,
        mut connection: Connection,
        url: &CanonicalUrl,
        headers: &HeaderMap,
    ) -> Result<(Connection, hyper::Response<Incoming>), Failure> {
        let is_h2 = matches!(connection.sender, Sender::H2(_));
        let target =
            if is_h2 || connection.wants_whole_url { url.as_str() } else { url.path_and_query() };
        let mut request = hyper::Request::new(Empty::<Bytes>::new());
        *request.uri_mut() = target.parse().map_err(|_| Failure::Protocol {
            why: "the URL cannot stand in a request".to_owned(),
        })?;
        *request.headers_mut() = headers.clone();
        if let (true, Some(proxy)) = (connection.wants_whole_url, &self.connector.proxy)
            && let Some(Ok(value)) = proxy.authorization.as_deref().map(HeaderValue::from_str)
        {
            request.headers_mut().insert(header::PROXY_AUTHORIZATION, value);
        }
        connection.tape.rewind(self.limits().head_bytes);
        let sending = async {
            match &mut connection.sender {
                Sender::H1(sender) => {
                    sender.ready().await?;
                    sender.send_request(request).await
                }
                Sender::H2(sender) => {
                    request.headers_mut().remove(header::HOST);
                    sender.ready().await?;
                    sender.send_request(request).await
                }
            }
        };
        let limit = self.limits().idle;
        match tokio::time::timeout(limit, sending).await {
            Ok(Ok(response)) => Ok((connection, response)),
            Ok(Err(error)) => Err(Failure::of_hyper(&error)),
            Err(_) => Err(Failure::IdleTimeout { limit }),
        }
    }

    fn headers(&self, url: &CanonicalUrl, request: &Request, is_first: bool) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut put = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        let origin = url.origin();
        put(header::HOST, origin.split_once("://").map_or(origin, |(_, host)| host));
        put(
            header::ACCEPT,
            match request.purpose {
                Purpose::Page => "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                Purpose::Robots => "text/plain,*/*;q=0.8",
                Purpose::Sitemap => "application/xml,text/xml,text/plain,*/*;q=0.8",
            },
        );
        put(header::ACCEPT_ENCODING, "gzip, deflate, br, zstd");
        match &request.held {
            _ if !is_first => {}
            held if held.etag.is_some() => {
                put(header::IF_NONE_MATCH, held.etag.as_deref().unwrap_or_default());
            }
            held => {
                if let Some(date) = &held.last_modified {
                    put(header::IF_MODIFIED_SINCE, date);
                }
            }
        }
        headers.insert(header::USER_AGENT, self.user_agent.clone());
        headers
    }

    fn body_limit(&self, response: &Response, purpose: Purpose) -> usize {
        let limits = self.limits();
        match purpose {
            _ if is_redirect(response.status) => REDIRECT_BODY_BYTES,
            Purpose::Robots => limits.robots_bytes,
            Purpose::Sitemap => limits.sitemap_bytes,
            Purpose::Page if response.is_html() => limits.html_bytes,
            Purpose::Page => limits.other_bytes,
        }
    }

    /// Reads and decodes a body until its end, its limit, or its failure.
    async fn read(
        &self,
        response: &mut Response,
        mut body: Incoming,
        kept: usize,
    ) -> Result<(), Failure> {
        let names = response.headers.get_all(header::CONTENT_ENCODING).iter();
        let names = names.map(|value| value.to_str().unwrap_or("unreadable"));
        let codings = codings(names, self.limits().encodings)?;
        let length = response.header("content-length").and_then(|length| length.parse().ok());
        let mut decoding = Body::new(&codings, kept, length.unwrap_or(0))?;
        let done = self.pour(response, &mut body, &mut decoding).await;
        response.is_cut = decoding.is_cut();
        response.body = decoding.take();
        done
    }

    async fn pour(
        &self,
        response: &mut Response,
        body: &mut Incoming,
        decoding: &mut Body,
    ) -> Result<(), Failure> {
        let limits = self.limits();
        let mut pace = Pace::new(limits);
        loop {
            let next = tokio::time::timeout(limits.idle, body.frame()).await;
            let Some(frame) = next.map_err(|_| Failure::IdleTimeout { limit: limits.idle })? else {
                return decoding.finish();
            };
            let frame = frame.map_err(|error| Failure::of_hyper(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            response.wire_bytes += data.len() as u64;
            pace.note(data.len())?;
            if !decoding.push(&data)? {
                return Ok(());
            }
        }
    }

    /// Keeps a connection for the next fetch from the same origin.
    fn park(&self, origin: &str, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MAX_IDLE {
            idle.retain(|_, (connection, since)| {
                connection.is_open() && since.elapsed() < IDLE_KEPT
            });
        }
        if idle.len() < MAX_IDLE && connection.is_open() {
            idle.insert(origin.to_owned(), (connection, Instant::now()));
        }
    }

    fn unpark(&self, origin: &str) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // However old: one that is closed by the server is known to be, and one that is
        // not must not be replaced by a second.
        let (connection, _) = idle.remove(origin)?;
        connection.is_open().then_some(connection)
    }
}

impl Connection {
    fn is_open(&self) -> bool {
        match &self.sender {
            Sender::H1(sender) => !sender.is_closed(),
            Sender::H2(sender) => !sender.is_closed(),
        }
    }
}

impl Hop {
    fn new(url: CanonicalUrl) -> Self {
        Self {
            url,
            at: SystemTime::now(),
            address: None,
            request_head: Vec::new(),
            response: None,
            connect: None,
            first_byte: None,
            total: Duration::ZERO,
        }
    }
}

/// Plays the server: hears the start of a request, says the answer, hangs up.
async fn speak(mut far: DuplexStream, answer: &[u8]) {
    let mut heard = [0; 1024];
    if far.read(&mut heard).await.is_ok() {
        // A listener that has had enough is no failure.
        let _ = far.write_all(answer).await;
        let _ = far.shutdown().await;
    }
}

/// Watches that bytes come fast enough.
struct Pace<'a> {
    limits: &'a Limits,
    since: Instant,
    bytes: u64,
}

impl<'a> Pace<'a> {
    fn new(limits: &'a Limits) -> Self {
        Self { limits, since: Instant::now(), bytes: 0 }
    }

    fn note(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes += bytes as u64;
        let window = self.limits.slow_window;
        if self.since.elapsed() < window {
            return Ok(());
        }
        let min_bytes_per_s = self.limits.min_bytes_per_s;
        if (self.bytes as f64) < min_bytes_per_s as f64 * self.since.elapsed().as_secs_f64() {
            return Err(Failure::TooSlow { min_bytes_per_s, window });
        }
        *self = Self::new(self.limits);
        Ok(())
    }
}

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Where an answer sends us, if it does.
fn redirect(hop: &Hop) -> Result<Option<CanonicalUrl>, Failure> {
    let Some(response) = hop.response.as_ref().filter(|response| is_redirect(response.status))
    else {
        return Ok(None);
    };
    let location =
        response.headers.get(header::LOCATION).ok_or(Failure::RedirectWithoutLocation)?;
    // Servers write raw UTF-8 here, which the URL parser knows how to encode.
    let location = String::from_utf8_lossy(location.as_bytes());
    let base = Base::parse(hop.url.as_str()).map_err(Failure::RedirectRefused)?;
    base.join(&location).map(Some).map_err(Failure::RedirectRefused)
}

/// The head of a request as it goes over the wire in HTTP/1.1.
fn request_head(url: &CanonicalUrl, headers: &HeaderMap) -> Vec<u8> {
    let mut head = format!("GET {} HTTP/1.1\r\n", url.path_and_query()).into_bytes();
    push_fields(&mut head, headers);
    head
}

/// The head of an answer that came in a form other than lines.
fn synthetic_head(parts: &hyper::http::response::Parts) -> Vec<u8> {
    let mut line = String::new();
    let reason = parts.status.canonical_reason().unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = write!(line, "HTTP/1.1 {} {reason}\r\n", parts.status.as_u16());
    let mut head = line.into_bytes();
    push_fields(&mut head, &parts.headers);
    head
}

fn push_fields(head: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        head.extend_from_slice(title_case(name.as_str()).as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
}

fn title_case(name: &str) -> String {
    let mut starts_word = true;
    let upper = |c: char| {
        let cased = if starts_word { c.to_ascii_uppercase() } else { c };
        starts_word = c == '-';
        cased
    };
    name.chars().map(upper).collect()
}
