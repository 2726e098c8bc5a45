//! What a crawl offers besides crawling: the index it feeds and the server that shows it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use tidewatch_core::{PageId, Time};
use tidewatch_partition::{Config, Crawl, Settled};
use tidewatch_search::clicks::{Desk, Settings};
use tidewatch_search::{Feeder, Health, Indexer, Searcher};
use tidewatch_server::{Extra, Figures, Options, Server};

/// Where and how to serve.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// A file with the token that changes need, and that other addresses than loopback need.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another name under which the server is reached; may be given more than once.
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// A reverse proxy forwards all requests and names clients in X-Forwarded-For. Only the search
    /// page is public then; everything else needs the token.
    #[arg(long)]
    pub(crate) proxied: bool,
}

impl ServeArgs {
    fn token(&self) -> Result<Option<String>> {
        let Some(file) = &self.token_file else { return Ok(None) };
        let token = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read the token in {}", file.display()))?;
        Ok(Some(token.trim().to_owned()))
    }
}

/// Index, server and search log of a crawl.
pub(crate) struct Site {
    pub(crate) server: Server,
    search: Option<Search>,
}

/// What there is where an index is kept.
struct Search {
    // Closed before the indexer is waited for.
    feeder: Option<Feeder>,
    indexer: Option<Indexer>,
    searcher: Searcher,
    desk: Arc<Desk>,
}

impl Site {
    /// Opens them. Must be called within a runtime.
    pub(crate) fn open(
        dir: &Path,
        listen: SocketAddr,
        args: &ServeArgs,
        config: &Config,
    ) -> Result<Site> {
        let search = if config.index { Some(Search::open(dir, config)?) } else { None };
        let options = Options {
            token: args.token()?,
            names: args.names.clone(),
            is_proxied: args.proxied,
            search: search.as_ref().map(|s| (s.searcher.clone(), Arc::clone(&s.desk))),
            reports: Some(dir.join("reports")),
        };
        Ok(Site { server: Server::open(listen, options)?, search })
    }

    /// What finds pages and takes clicks, where there is an index.
    pub(crate) fn searcher(&self) -> Option<(&Searcher, &Arc<Desk>)> {
        self.search.as_ref().map(|search| (&search.searcher, &search.desk))
    }

    /// These pages' copies are stored.
    pub(crate) fn stored(&mut self, crawl: &Crawl, pages: &[PageId]) {
        let feeder = self.search.as_mut().and_then(|search| search.feeder.as_mut());
        // A store that cannot be read stops the crawl by itself.
        let _ = feeder.map_or(Ok(()), |feeder| {
            feeder.stored(crawl.store(), pages, crawl.last(), &|time| crawl.unix_micros(time))
        });
    }

    /// A report was settled.
    pub(crate) fn settled(&mut self, settled: Settled) {
        if let (Settled::Gone(page), Some(search)) = (settled, &mut self.search)
            && let Some(feeder) = &mut search.feeder
        {
            feeder.gone(page);
        }
    }

    /// Answers questions.
    pub(crate) fn turn(&mut self, crawl: &mut Crawl, now: Time) {
        self.server.answer(crawl, now);
    }

    /// Hands over what waits, and makes clicks survive the machine.
    pub(crate) fn feed(&mut self, crawl: &Crawl) {
        if let Some(search) = &mut self.search {
            let _ = search.feeder.as_mut().map_or(Ok(()), |feeder| {
                feeder.feed(crawl.store(), &|time| crawl.unix_micros(time))
            });
            let _ = search.desk.sync();
        }
    }

    /// Shows how things stand.
    pub(crate) fn publish(
        &self,
        status: tidewatch_partition::Status,
        is_running: bool,
        extra: Option<Extra>,
    ) {
        self.server.publish(Figures { status, index: self.health(), is_running, extra });
    }

    /// How the indexer does.
    pub(crate) fn health(&self) -> Option<Health> {
        self.search.as_ref().and_then(|search| search.indexer.as_ref()).map(Indexer::health)
    }

    /// Finishes the index; the server goes on until dropped.
    pub(crate) fn finish(&mut self) -> Option<Health> {
        let search = self.search.as_mut()?;
        search.feeder = None;
        let _ = search.desk.sync();
        search.indexer.take().map(Indexer::finish)
    }
}

impl Search {
    fn open(dir: &Path, config: &Config) -> Result<Search> {
        let memory = (config.index_mb as usize) << 20;
        let (indexer, feeder) = Indexer::start(dir, memory, &config.agent)?;
        let settings = Settings { keep_days: config.keep_days, ..Settings::default() };
        let desk = Arc::new(Desk::open(dir, settings, now_s())?);
        let searcher = indexer.searcher();
        Ok(Search { feeder: Some(feeder), indexer: Some(indexer), searcher, desk })
    }
}

/// Seconds of Unix time.
pub(crate) fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
