//! Carries out jobs over the network.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidewatch_archive::{Digest, Exchange, Packed, Revisit, digest};
use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_core::{HostId, Reason, Span};
use tidewatch_fetch::{
    AddressPolicy, BadHosts, BadRoots, CertificateDer, Dns, End, Failure, Fetched, Fetcher, Hop,
    Hosts, Proxy, Purpose, Request, Resolve, Response, Validators, read_roots,
};
use tidewatch_parse::document::Source;
use tidewatch_parse::wall;
use tidewatch_robots::Wishes;

use crate::Config;
use crate::config::Site;
use crate::partition::overloaded;
use crate::read::{read, requisites_of};
use crate::work::{Came, Held, Job, Report};

/// How long a host's address is cached before the resolver, which honours the records' TTL, is
/// asked again.
const ADDRESS_HOLDS: Span = Span::MINUTE.times(10);

/// Why a [`Net`] cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum NoNetwork {
    /// A file that a setting names cannot be read.
    #[error("cannot read {key} {file}: {source}")]
    Unreadable {
        /// The setting.
        key: &'static str,
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The hosts file is malformed.
    #[error("network.hosts_file {file}: {bad}")]
    BadHosts {
        /// The file.
        file: String,
        /// What is wrong.
        bad: BadHosts,
    },
    /// The file of certificates is malformed.
    #[error("network.roots_file {file}: {bad}")]
    BadRoots {
        /// The file.
        file: String,
        /// What is wrong.
        bad: BadRoots,
    },
    /// The proxy is not `host:port`.
    #[error("network.proxy must be `host:port`, not `{0}`")]
    BadProxy(String),
    /// The system's DNS settings or the user agent cannot be used.
    #[error(transparent)]
    Fetcher(#[from] Failure),
}

/// Looks up addresses and fetches pages and robots.txt files.
pub struct Net {
    fetcher: Fetcher,
    resolver: Arc<dyn Resolve>,
    agent: String,
    level: u32,
    text_bytes: usize,
}

impl Net {
    /// The network that `config` describes. Must be called within a runtime.
    pub fn of(config: &Config) -> Result<Net, NoNetwork> {
        let hosts = match config.hosts_file.as_str() {
            "" => Hosts::default(),
            file => {
                let text = setting_file("network.hosts_file", file)?;
                Hosts::parse(&String::from_utf8_lossy(&text))
                    .map_err(|bad| NoNetwork::BadHosts { file: file.to_owned(), bad })?
            }
        };
        Net::with_hosts(config, hosts.otherwise(Arc::new(Dns::system()?)))
    }

    /// The same, with `hosts` in place of the configured file and DNS.
    pub fn with_hosts(config: &Config, hosts: Hosts) -> Result<Net, NoNetwork> {
        let version = env!("CARGO_PKG_VERSION");
        let agent = match config.contact.as_str() {
            "" => format!("{}/{version}", config.agent),
            contact => format!("{}/{version} (+{contact})", config.agent),
        };
        let mut options = tidewatch_fetch::Config::new(&agent);
        options.addresses = AddressPolicy { allow_all: config.allow_private, ..Default::default() };
        options.limits = config.fetch.clone();
        options.idle = config.idle_connections;
        // Without slots of their own, slow requests are given up by the usual limits alone.
        options.crowd =
            Some(config.slow_lane.requests).filter(|&most| most > 0).unwrap_or(usize::MAX);
        options.proxy = proxy(config)?;
        options.more_roots = roots(config)?;
        for (origin, name, value) in config.sites.iter().flat_map(Site::headers) {
            // The settings admit no other headers than can be sent.
            options.private_headers.add(origin, name, value);
        }
        let hosts = Arc::new(hosts);
        let fetcher = Fetcher::with(options, Arc::clone(&hosts) as _, Arc::clone(&hosts) as _)?;
        Ok(Net::new(fetcher, hosts, &config.agent, config.archive_level))
    }

    /// Fetches with `fetcher`, obeys robots directives for `agent`, and packs records at gzip's
    /// `level`. `resolver` is the fetcher's own.
    pub fn new(fetcher: Fetcher, resolver: Arc<dyn Resolve>, agent: &str, level: u32) -> Net {
        let (agent, level) = (agent.to_owned(), level.clamp(1, 9));
        Net { fetcher, resolver, agent, level, text_bytes: 0 }
    }

    /// Adds the words of pages to reports, with at most `text_bytes` of text, for an index.
    #[must_use]
    pub fn keep_text(self, text_bytes: usize) -> Net {
        Net { text_bytes, ..self }
    }

    /// Carries out a job.
    pub async fn perform(&self, job: Job) -> Report {
        match job {
            Job::Resolve { host, name, .. } => self.resolve(host, &name).await,
            Job::Robots { host, url } => self.robots(host, url).await,
            Job::Page { host, page, url, held, requisites, wishes } => {
                let asked = SystemTime::now();
                let fetched = self.fetch(&url, held.as_ref()).await;
                let response = fetched.response();
                let (status, body_bytes) =
                    response.map_or((None, 0), |r| (Some(r.status), r.body.len() as u64));
                // A page that makes the parser panic fails; its host and the crawl go on.
                let read = || {
                    let (mut came, packed) = self.read_page(&url, held.as_ref(), wishes, &fetched);
                    if let (Came::Content(content), Some(response), true) =
                        (&mut came, fetched.response(), requisites)
                    {
                        let content_type = response.header("content-type");
                        content.requisites = requisites_of(&url, content_type, &response.body);
                    }
                    (came, packed)
                };
                let (came, packed) = catch_unwind(AssertUnwindSafe(read))
                    .unwrap_or((Came::Refused(Reason::Other), None));
                let asked = fetched.hops.last().map_or(asked, |hop| hop.at);
                let (unix_micros, took) = (unix_micros(asked), took(&fetched));
                Report::Page { host, page, came, status, body_bytes, packed, unix_micros, took }
            }
        }
    }

    async fn resolve(&self, host: HostId, name: &str) -> Report {
        let began = Instant::now();
        let found = match name.trim_matches(['[', ']']).parse() {
            Ok(address) => Ok(vec![address]),
            Err(_) => self.resolver.resolve(name).await,
        };
        // The lowest address stands for all, so that all names of one server share it.
        let found = found.map_err(|failure| failure.reason());
        let found = found.and_then(|all| {
            all.into_iter().min().map(|address| (address, ADDRESS_HOLDS)).ok_or(Reason::NoAddress)
        });
        Report::Resolved { host, found, took: span(began.elapsed()) }
    }

    async fn robots(&self, host: HostId, url: CanonicalUrl) -> Report {
        let request = Request { url, purpose: Purpose::Robots, held: Validators::default() };
        let fetched = self.fetcher.fetch(&request, &mut |_| true).await;
        let took = took(&fetched);
        let retry_after = fetched.response().and_then(wait);
        let found = match (&fetched.end, fetched.response()) {
            // A challenge page in its place says nothing about what is allowed.
            (End::Answered, Some(response)) if is_wall(&request.url, response, 0) => {
                Err(Reason::Walled)
            }
            (End::Answered, Some(response)) => Ok((response.status, response.body.clone())),
            // RFC 9309 §2.3.1.2: as if there were no robots.txt.
            (End::Failed(Failure::TooManyRedirects { .. }), _) => Ok((404, Vec::new())),
            (end, _) => Err(end.reason().unwrap_or(Reason::Incomplete)),
        };
        Report::Robots { host, found, retry_after, took }
    }

    async fn fetch(&self, url: &CanonicalUrl, held: Option<&Held>) -> Fetched {
        let request = Request {
            url: url.clone(),
            purpose: Purpose::Page,
            held: held.map(validators).unwrap_or_default(),
        };
        // A redirect's target is a page of its own and waits for its own host's turn.
        self.fetcher.fetch(&request, &mut |_| false).await
    }

    fn read_page(
        &self,
        url: &CanonicalUrl,
        held: Option<&Held>,
        said: Wishes,
        fetched: &Fetched,
    ) -> (Came, Option<Packed>) {
        let Some(hop) = fetched.hops.last() else {
            return (Came::Nothing(fetched.end.reason().unwrap_or(Reason::Incomplete)), None);
        };
        let digest = hop.response.as_ref().map_or_else(Digest::default, |r| digest(&r.body));
        let mut came = self.came(url, &fetched.end, hop, digest);
        // A wall is not archived: replay would show it as a version of the page.
        let links = match &came {
            Came::Content(content) => Some(content.links.len()),
            Came::Overloaded(..) | Came::Refused(_) => Some(0),
            Came::Same | Came::Moved { .. } | Came::Gone | Came::Nothing(_) => None,
        };
        if let (Some(response), Some(links)) = (&hop.response, links)
            && is_wall(url, response, links)
        {
            return (Came::Overloaded(Reason::Walled, wait(response)), None);
        }
        let mut metadata = format!("fetchTimeMs: {}\r\n", hop.total.as_millis());
        let mut wishes = said;
        if let Came::Content(content) = &mut came {
            wishes = wishes.and(content.capture.wishes);
            content.capture.wishes = wishes;
        }
        if !wishes.is_empty() {
            let _ = write!(metadata, "usage: {wishes}\r\n");
        }
        let packed = hop.response.as_ref().filter(|_| fetched.failure().is_none());
        let packed = packed.map(|response| self.pack(url, hop, response, digest, held, &metadata));
        (came, packed)
    }

    fn came(&self, url: &CanonicalUrl, end: &End, hop: &Hop, digest: Digest) -> Came {
        let response = match (end, &hop.response) {
            (End::Failed(failure), _) => return Came::Nothing(failure.reason()),
            (_, None) => return Came::Nothing(Reason::Incomplete),
            (End::Redirect(to), Some(response)) => {
                let for_good = matches!(response.status, 301 | 308);
                return Came::Moved { to: to.clone(), for_good };
            }
            (End::Answered, Some(response)) => response,
        };
        if let Some(reason) = overloaded(response.status) {
            return Came::Overloaded(reason, wait(response));
        }
        match response.status {
            200..=299 => {
                let mut content = read(url, response, digest, &self.agent, self.text_bytes);
                content.capture.unix_micros = unix_micros(hop.at);
                Came::Content(Box::new(content))
            }
            304 => Came::Same,
            404 | 410 => Came::Gone,
            401 | 403 | 451 => Came::Refused(Reason::Forbidden),
            500.. => Came::Refused(Reason::ServerError),
            _ => Came::Refused(Reason::ClientError),
        }
    }

    fn pack(
        &self,
        url: &CanonicalUrl,
        hop: &Hop,
        response: &Response,
        digest: Digest,
        held: Option<&Held>,
        metadata: &str,
    ) -> Packed {
        let is_not_modified = response.status == 304;
        let repeats = |held: &&Held| is_not_modified || digest == held.digest;
        let revisit = held.filter(repeats).map(|held| Revisit {
            unix_micros: held.unix_micros,
            url: url.as_str(),
            digest: held.digest,
            is_not_modified,
        });

        let exchange = Exchange {
            url: url.as_str(),
            unix_micros: unix_micros(hop.at),
            address: hop.address,
            request_head: &hop.request_head,
            response_head: &response.head,
            is_h2: response.is_h2,
            body: &response.body,
            digest,
            media_type: &response.media_type(),
            status: response.status,
            truncated: match response {
                response if response.is_cut => Some("length"),
                response if response.is_damaged => Some("unspecified"),
                _ => None,
            },
            revisit,
            metadata,
        };
        Packed::new(&exchange, self.level)
    }
}

/// Whether a response is a challenge or block page.
fn is_wall(url: &CanonicalUrl, response: &Response, links: usize) -> bool {
    let Ok(base) = Base::of(url) else { return false };
    let source = Source {
        base: &base,
        content_type: response.header("content-type"),
        robots_tags: &[],
        kind: None,
        bytes: &response.body,
    };
    wall::recognise(&source, links, |name| response.header(name)).is_some()
}

fn setting_file(key: &'static str, file: &str) -> Result<Vec<u8>, NoNetwork> {
    let unreadable = |source| NoNetwork::Unreadable { key, file: file.to_owned(), source };
    std::fs::read(file).map_err(unreadable)
}

/// Certificates that are trusted besides Mozilla's.
fn roots(config: &Config) -> Result<Vec<CertificateDer<'static>>, NoNetwork> {
    let file = &config.roots_file;
    if file.is_empty() {
        return Ok(Vec::new());
    }
    let bad = |bad| NoNetwork::BadRoots { file: file.clone(), bad };
    read_roots(&setting_file("network.roots_file", file)?).map_err(bad)
}

fn proxy(config: &Config) -> Result<Option<Proxy>, NoNetwork> {
    if config.proxy.is_empty() {
        return Ok(None);
    }
    let bad = || NoNetwork::BadProxy(config.proxy.clone());
    let (host, port) = config.proxy.rsplit_once(':').ok_or_else(bad)?;
    let authorization = config.proxy_authorization.reveal().map(str::to_owned);
    Ok(Some(Proxy { host: host.to_owned(), port: port.parse().map_err(|_| bad())?, authorization }))
}

fn validators(held: &Held) -> Validators {
    Validators { etag: held.etag.clone(), last_modified: held.last_modified.clone() }
}

/// The response's Retry-After, as a time from now.
fn wait(response: &Response) -> Option<Span> {
    let now = unix_micros(SystemTime::now()) / 1_000_000;
    response.retry_after(now).map(span)
}

/// Time of the last hop, without waiting for our own turn.
fn took(fetched: &Fetched) -> Span {
    fetched.hops.last().map_or(Span::ZERO, |hop| span(hop.total))
}

fn span(duration: Duration) -> Span {
    Span::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

pub(crate) fn unix_micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
