//! Options of the commands that serve.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_service::{Listen, Publishers};

/// How to serve.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListenArgs {
    /// File with the token (at least 16 characters). Changes need it, and so does everything but the
    /// search page for requests from other machines or through a proxy.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another host name under which the server is reached; may be repeated.
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// A reverse proxy forwards all requests and names clients in X-Forwarded-For. Only the search
    /// page is public then; everything else needs the token.
    #[arg(long)]
    pub(crate) proxied: bool,
}

impl ListenArgs {
    /// Settings to serve at an address.
    pub(crate) fn at(&self, address: SocketAddr) -> Result<Listen> {
        let read = |file: &PathBuf| {
            let token = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the token in {}", file.display()))?;
            anyhow::Ok(token.trim().to_owned())
        };
        Ok(Listen {
            address,
            token: self.token_file.as_ref().map(read).transpose()?,
            names: self.names.clone(),
            is_proxied: self.proxied,
        })
    }
}

/// How to listen for publishers.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PublisherArgs {
    /// Listen at this address for publishers that say which pages are new or have changed. Anybody may
    /// connect to it; it serves nothing else.
    #[arg(long, value_name = "ADDR")]
    publishers: Option<SocketAddr>,
    /// With --publishers: take IndexNow submissions at /indexnow.
    #[arg(long, requires = "publishers")]
    indexnow: bool,
    /// With --publishers: subscribe at the WebSub hubs that feeds name. Hubs reach --publishers by this URL,
    /// such as `https://crawl.example`.
    #[arg(long, value_name = "URL", requires = "publishers")]
    websub: Option<String>,
}

impl PublisherArgs {
    /// What they ask for; `None` for nothing.
    pub(crate) fn settings(&self) -> Result<Option<Publishers>> {
        let Some(address) = self.publishers else { return Ok(None) };
        if !self.indexnow && self.websub.is_none() {
            bail!("--publishers needs --indexnow, --websub URL or both");
        }
        let read = |url: &String| {
            CanonicalUrl::parse(url).with_context(|| format!("--websub {url} is no URL"))
        };
        let websub = self.websub.as_ref().map(read).transpose()?;
        if let Some(url) = websub.as_ref().filter(|url| url.path_and_query() != "/") {
            bail!("--websub {url} has a path; hubs are told URL/websub/…, so give it without one");
        }
        Ok(Some(Publishers { address, indexnow: self.indexnow, websub }))
    }
}
