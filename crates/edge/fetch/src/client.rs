//! Makes a fetch: one exchange per redirect hop.
//!
//! An exchange sends a request ([`send`]) over an idle connection ([`idle`]) or a new one, and
//! reads the response ([`receive`]).

mod idle;
mod receive;
mod send;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use tidewatch_core::url::{Base, CanonicalUrl};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use crate::{
    AddressPolicy, CertificateDer, Dial, Dns, End, Failure, Fetched, Hop, Limits, Proxy, Purpose,
    Request, Resolve, Tcp, connect::Connector, crowd::Crowd,
};

use self::{idle::Idle, send::request_head};

/// Buffer for replayed responses, bytes.
const REPLAY_BUFFER: usize = 16 * 1024;

/// Media type of a posted form.
const FORM: &str = "application/x-www-form-urlencoded";

/// How a fetcher behaves.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its `User-Agent`; see [`user_agent`].
    pub user_agent: String,
    /// Non-public addresses that it may connect to.
    pub addresses: AddressPolicy,
    /// Limits on size and time.
    pub limits: Limits,
    /// Fetches under way at which the fetcher is crowded: patience with servers that make no
    /// progress shrinks from half of it on.
    pub crowd: usize,
    /// Most idle connections that are kept for the next request.
    pub idle: usize,
    /// A proxy for all connections.
    pub proxy: Option<Proxy>,
    /// Roots to trust besides Mozilla's.
    pub more_roots: Vec<CertificateDer<'static>>,
    /// Whether HTTP/2 is offered over TLS.
    pub http2: bool,
    /// Headers for single origins, such as `https://a.example`. They are sent to no other origin, also
    /// not across a redirect, and recorded nowhere.
    pub private_headers: PrivateHeaders,
}

/// Headers by origin. Their values are not shown.
#[derive(Clone, Default)]
pub struct PrivateHeaders(BTreeMap<String, HeaderMap>);

impl PrivateHeaders {
    /// Adds a header for an origin; `false` if its name or value cannot be sent.
    pub fn add(&mut self, origin: &str, name: &str, value: &str) -> bool {
        let name = HeaderName::from_bytes(name.as_bytes());
        let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_str(value)) else { return false };
        value.set_sensitive(true);
        self.0.entry(origin.to_owned()).or_default().append(name, value);
        true
    }

    /// Adds the headers of the request's origin.
    fn put(&self, url: &CanonicalUrl, headers: &mut HeaderMap) {
        for (name, value) in self.0.get(url.origin()).into_iter().flatten() {
            headers.append(name, value.clone());
        }
    }
}

impl std::fmt::Debug for PrivateHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Config {
    /// Public addresses only, default limits, no proxy.
    pub fn new(user_agent: &str) -> Self {
        Self {
            user_agent: user_agent.to_owned(),
            addresses: AddressPolicy::default(),
            limits: Limits::default(),
            crowd: usize::MAX,
            idle: 1_024,
            proxy: None,
            more_roots: Vec::new(),
            http2: true,
            private_headers: PrivateHeaders::default(),
        }
    }
}

/// Reads the certificates of a PEM file, for [`Config::more_roots`].
pub fn read_roots(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BadRoots> {
    let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match roots {
        Ok(roots) if !roots.is_empty() => Ok(roots),
        Ok(_) => Err(BadRoots::None),
        Err(error) => Err(BadRoots::Malformed(error.to_string())),
    }
}

/// Why a PEM file gives no certificates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRoots {
    /// It holds none.
    #[error("it holds no certificate; write them in PEM, from -----BEGIN CERTIFICATE-----")]
    None,
    /// It is not PEM.
    #[error("it is not PEM: {0}")]
    Malformed(String),
}

/// The crawler's `User-Agent`: its name, and where to complain.
///
/// `contact` is a URL or a mail address; `Tidewatch/0.1 (+https://example.com/bot)`.
pub fn user_agent(contact: &str) -> String {
    let contact: String = contact.chars().filter(char::is_ascii_graphic).collect();
    format!("Tidewatch/{} (+{contact})", env!("CARGO_PKG_VERSION"))
}

/// Makes fetches. Cheap to share: all methods take `&self`.
pub struct Fetcher {
    user_agent: HeaderValue,
    connector: Arc<Connector>,
    idle: Idle,
    crowd: Arc<Crowd>,
    private_headers: PrivateHeaders,
    sends_private_headers: bool,
}

impl Fetcher {
    /// Uses the system's DNS. Fails if a certificate or the user agent is malformed.
    pub fn new(config: Config) -> Result<Self, Failure> {
        let dns = Dns::system()?;
        Self::with(config, Arc::new(dns), Arc::new(Tcp))
    }

    /// Uses another resolver and dialler.
    pub fn with(
        config: Config,
        resolver: Arc<dyn Resolve>,
        dial: Arc<dyn Dial>,
    ) -> Result<Self, Failure> {
        let wrong = |_| Failure::Protocol { why: "the user agent is no header value".to_owned() };
        let crowd = Arc::new(Crowd::new(config.crowd));
        Ok(Self {
            user_agent: HeaderValue::from_str(&config.user_agent).map_err(wrong)?,
            connector: Arc::new(Connector::new(&config, resolver, dial, Arc::clone(&crowd))?),
            idle: Idle::new(config.idle),
            crowd,
            private_headers: config.private_headers,
            sends_private_headers: true,
        })
    }

    /// A fetcher with the same settings for requests that strangers cause: it sends no private headers and
    /// keeps no idle connection.
    #[must_use]
    pub fn for_strangers(&self) -> Self {
        Self {
            user_agent: self.user_agent.clone(),
            connector: Arc::clone(&self.connector),
            idle: Idle::new(0),
            crowd: Arc::clone(&self.crowd),
            private_headers: self.private_headers.clone(),
            sends_private_headers: false,
        }
    }

    /// Whether there are private headers for the URL's origin, sent or not.
    pub fn has_private_headers(&self, url: &CanonicalUrl) -> bool {
        self.private_headers.0.contains_key(url.origin())
    }

    /// Makes a fetch. `may_follow` decides on every redirect's target (allowed by robots.txt,
    /// polite now, within the crawl); a refusal ends the fetch with [`End::Redirect`].
    pub async fn fetch(
        &self,
        request: &Request,
        may_follow: &mut (dyn FnMut(&CanonicalUrl) -> bool + Send),
    ) -> Fetched {
        let _place = self.crowd.join();
        let limit = self.limits().total;
        let deadline = tokio::time::Instant::now() + limit;
        let (mut hops, no_form) = (Vec::new(), Bytes::new());
        let mut url = request.url.clone();
        let end = loop {
            let mut hop = Hop::new(url);
            let exchange = self.exchange(&mut hop, request, hops.is_empty(), &no_form);
            let done = tokio::time::timeout_at(deadline, exchange).await;
            hop.total = hop.at.elapsed().unwrap_or_default();
            let next = judge(&mut hop, done.unwrap_or(Err(Failure::TotalTimeout { limit })));
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

    /// Posts a form, URL-encoded and not empty, with the same checks of addresses and the same limits as a
    /// fetch. Does not follow redirects. Not recorded in the head are the fields that the connection adds.
    pub async fn post(&self, url: &CanonicalUrl, form: String) -> Fetched {
        let _place = self.crowd.join();
        let (request, form) = (Request::page(url.clone()), Bytes::from(form));
        let mut hop = Hop::new(url.clone());
        let limit = self.limits().total;
        let done =
            tokio::time::timeout(limit, self.exchange(&mut hop, &request, true, &form)).await;
        Self::end(hop, done.unwrap_or(Err(Failure::TotalTimeout { limit })))
    }

    /// Reads a response from memory exactly as if from the wire, without a connection; does
    /// not follow redirects. For archives and tests.
    pub async fn replay(&self, request: &Request, answer: &[u8]) -> Fetched {
        let mut hop = Hop::new(request.url.clone());
        let exchange = self.replay_into(&mut hop, request, answer);
        let limit = self.limits().total;
        let done = tokio::time::timeout(limit, exchange).await;
        Self::end(hop, done.unwrap_or(Err(Failure::TotalTimeout { limit })))
    }

    /// The end of a fetch of one exchange.
    fn end(mut hop: Hop, done: Result<(), Failure>) -> Fetched {
        hop.total = hop.at.elapsed().unwrap_or_default();
        let end = match judge(&mut hop, done) {
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
        let form = Bytes::new();
        hop.request_head = request_head(&hop.url, &headers, &form);
        let (near, far) = tokio::io::duplex(REPLAY_BUFFER);
        let connection = self.connector.of_stream(near).await?;
        let exchange = async {
            let (connection, response) =
                self.send_over(connection, &hop.url, &headers, &form).await?;
            self.receive(hop, ask, connection, response).await
        };
        let (done, ()) = tokio::join!(exchange, speak(far, answer));
        done
    }

    fn limits(&self) -> &Limits {
        self.connector.limits()
    }

    /// Sends one request and reads the response into `hop`.
    async fn exchange(
        &self,
        hop: &mut Hop,
        ask: &Request,
        is_first: bool,
        form: &Bytes,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let mut headers = self.headers(&hop.url, ask, is_first);
        if !form.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(FORM));
        }
        hop.request_head = request_head(&hop.url, &headers, form);
        let (connection, response) = self.send(hop, &headers, form, started).await?;
        hop.first_byte = Some(started.elapsed());
        self.receive(hop, ask, connection, response).await
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

/// Plays the server: reads the start of a request, writes `answer`, closes.
async fn speak(mut far: DuplexStream, answer: &[u8]) {
    let mut heard = [0; 1024];
    if far.read(&mut heard).await.is_ok() {
        // A reader that stops at its limit is no failure.
        let _ = far.write_all(answer).await;
        let _ = far.shutdown().await;
    }
}

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The redirect target of a response, if any. Status and Location decide: only a page needs its
/// body.
fn judge(hop: &mut Hop, done: Result<(), Failure>) -> Result<Option<CanonicalUrl>, Failure> {
    match (done, &mut hop.response) {
        (Ok(()), _) => {}
        (Err(failure), Some(response))
            if failure.is_of_body() && !(200..300).contains(&response.status) =>
        {
            response.is_damaged = true;
        }
        (Err(failure), _) => return Err(failure),
    }
    let Some(response) = hop.response.as_ref().filter(|response| is_redirect(response.status))
    else {
        return Ok(None);
    };
    let location =
        response.headers.get(header::LOCATION).ok_or(Failure::RedirectWithoutLocation)?;
    let base = Base::parse(hop.url.as_str()).map_err(Failure::RedirectRefused)?;
    base.join(&location_text(location.as_bytes())).map(Some).map_err(Failure::RedirectRefused)
}

/// A Location as text. Servers write raw UTF-8, which the URL parser encodes; bytes of any other
/// encoding are percent-encoded as they are, as browsers do.
fn location_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(3 * bytes.len());
    for byte in bytes {
        match byte {
            0..0x80 => text.push(char::from(*byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(text, "%{byte:02X}")),
        }
    }
    Cow::Owned(text)
}
