//! Options of the commands that serve.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use tidewatch_service::Listen;

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
