//! Options that say which URLs a crawl takes in.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tidewatch_partition::Config;
use tidewatch_partition::config::Site;
use tidewatch_partition::scope::{FileType, ListedHost, Reach, UrlPattern};
use toml::Value;

/// Each overrules the setting of the same meaning, and the scope that the crawl was begun with.
#[derive(clap::Args)]
#[command(next_help_heading = "Scope")]
pub(super) struct ScopeArgs {
    /// How far from the seeds: host (their hosts, with and without www.), domain (their registrable
    /// domains; the default), everything (the whole web), or rules (--hosts and --include alone).
    #[arg(long, value_name = "REACH")]
    scope: Option<Reach>,
    /// Take in only URLs that match: /docs/* (path and query), https://a.example/* (whole URL) or
    /// *.pdf (URL without scheme). * stands for any characters. May be repeated.
    #[arg(long, value_name = "PATTERN")]
    include: Vec<UrlPattern>,
    /// Take in no URL that matches. May be repeated.
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<UrlPattern>,
    /// A file of hosts in scope besides those of the seeds, one a line: a.example, or *.a.example with
    /// all its subdomains.
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// File types wanted, such as html,pdf. Name html if links are to be followed; sitemaps and feeds
    /// are always read.
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    types: Vec<FileType>,
    /// Fetch style sheets, scripts, images and fonts of the pages taken in too, from any host, so
    /// that the archive shows the pages as they were.
    #[arg(long)]
    requisites: bool,
    /// Most links and redirects from a seed to a page.
    #[arg(long, value_name = "N")]
    depth: Option<u16>,
    /// Most pages of one host.
    #[arg(long, value_name = "N")]
    pages_per_host: Option<u32>,
    /// Ask the search forms of this host, by GET alone: a.example, or *.a.example with all its subdomains.
    /// Off otherwise. May be repeated; to be given at every start.
    #[arg(long, value_name = "HOST")]
    forms: Vec<ListedHost>,
    /// A host of your own, whose robots.txt is not obeyed. May be repeated.
    #[arg(long, value_name = "HOST")]
    own: Vec<String>,
    /// Fetch from private and loopback addresses. For your own network only.
    #[arg(long)]
    allow_private: bool,
}

impl ScopeArgs {
    /// Sets what was named.
    pub(super) fn apply(&self, config: &mut Config) -> Result<()> {
        let mut set = |key: &str, value: Option<Value>| -> Result<()> {
            Ok(value.map_or(Ok(()), |value| config.set(key, &value))?)
        };
        let text = |item: String| Value::String(item);
        set("scope.reach", self.scope.map(|reach| text(reach.to_string())))?;
        set("scope.include", list(&self.include))?;
        set("scope.exclude", list(&self.exclude))?;
        set("scope.types", list(&self.types))?;
        let hosts = self.hosts.as_deref().map(read_hosts).transpose()?;
        set("scope.hosts", hosts.as_deref().and_then(list))?;
        set("forms.hosts", list(&self.forms))?;
        set("scope.requisites", self.requisites.then_some(Value::Boolean(true)))?;
        set("hygiene.depth", self.depth.map(|depth| Value::Integer(depth.into())))?;
        set("hygiene.pages_per_host", self.pages_per_host.map(|most| Value::Integer(most.into())))?;
        set("politeness.allow_private", self.allow_private.then_some(Value::Boolean(true)))?;
        for host in &self.own {
            config.sites.push(Site::new(host)?.owned());
        }
        Ok(())
    }
}

pub(super) fn list<T: ToString>(items: &[T]) -> Option<Value> {
    let items: Vec<Value> = items.iter().map(|item| Value::String(item.to_string())).collect();
    (!items.is_empty()).then_some(Value::Array(items))
}

/// Reads a list of hosts; `#` starts a comment.
fn read_hosts(path: &Path) -> Result<Vec<ListedHost>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the hosts in {}", path.display()))?;
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            let host = line.parse();
            hosts.push(host.with_context(|| format!("{}, line {}", path.display(), number + 1))?);
        }
    }
    Ok(hosts)
}
