//! Carries out jobs over the network.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{
    AddressPolicy, BadHosts, BadRoots, CertificateDer, Dns, Failure, Fetched, Fetcher, Hosts,
    Proxy, Purpose, Request, Resolve, Validators, read_roots,
};

use crate::Config;
use crate::config::Site;
use crate::report::Reporter;
use crate::work::{Held, Job, Report};

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
    fetcher: Arc<Fetcher>,
    resolver: Arc<dyn Resolve>,
    reporter: Reporter,
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
        Net { fetcher: Arc::new(fetcher), resolver, reporter: Reporter::new(agent, level) }
    }

    /// Adds the words of pages to reports, with at most `text_bytes` of text, for an index.
    #[must_use]
    pub fn keep_text(self, text_bytes: usize) -> Net {
        Net { reporter: self.reporter.keep_text(text_bytes), ..self }
    }

    /// What fetches, for requests that are no jobs of the crawl. They obey its checks of addresses and its
    /// limits, and none of its politeness.
    pub fn fetcher(&self) -> Arc<Fetcher> {
        Arc::clone(&self.fetcher)
    }

    /// Carries out a job.
    pub async fn perform(&self, job: Job) -> Report {
        let asked = SystemTime::now();
        let fetched = match &job {
            Job::Resolve { host, name, .. } => {
                let began = Instant::now();
                let found = match name.trim_matches(['[', ']']).parse() {
                    Ok(address) => Ok(vec![address]),
                    Err(_) => self.resolver.resolve(name).await,
                };
                return Reporter::resolved(*host, found, began.elapsed());
            }
            Job::Robots { url, .. } => {
                let (purpose, held) = (Purpose::Robots, Validators::default());
                let request = Request { url: url.clone(), purpose, held };
                self.fetcher.fetch(&request, &mut |_| true).await
            }
            Job::Page { url, held, .. } => self.fetch(url, held.as_ref()).await,
        };
        self.reporter.report(&job, &fetched, asked)
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
