//! One fetch as the demo's loop sees it: a request, perhaps after the host's
//! `robots.txt`, and what came of it.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::header;
use tidewatch_core::PageId;
use tidewatch_core::url::CanonicalUrl;

use super::client::{self, Page};
use super::robots::Robots;

/// What to fetch.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) page: PageId,
    pub(super) url: CanonicalUrl,
    pub(super) address: SocketAddr,
    /// Of the copy held.
    pub(super) etag: Option<String>,
    /// Whether the host's `robots.txt` has to be fetched first.
    pub(super) needs_robots: bool,
    /// Real time between two requests to the host.
    pub(super) gap: Duration,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) page: PageId,
    /// The host's `robots.txt`, if it was asked for and answered.
    pub(super) robots: Option<Robots>,
    pub(super) found: Found,
    /// Seconds after which a host that is out of order asks to be tried again.
    pub(super) retry_after_s: Option<f64>,
    /// Statuses of the requests made; `None` for one without a reply.
    pub(super) statuses: Vec<Option<u16>>,
    pub(super) bytes: u64,
}

/// What a page turned out to be.
#[derive(Debug)]
pub(super) enum Found {
    /// There.
    Content { html: String, etag: Option<String> },
    /// As it was.
    Same,
    /// Elsewhere.
    Moved(CanonicalUrl),
    /// No more.
    Gone,
    /// Not to be fetched by crawlers.
    Disallowed,
    /// Nothing can be said; why, in a word.
    Failed(&'static str),
}

impl Job {
    pub(super) async fn run(self) -> Done {
        let mut done = Done {
            page: self.page,
            robots: None,
            found: Found::Failed("robots"),
            retry_after_s: None,
            statuses: Vec::new(),
            bytes: 0,
        };
        if self.needs_robots {
            let Some(robots) = self.fetch_robots(&mut done).await else { return done };
            let is_allowed = robots.allows(self.url.path_and_query());
            done.robots = Some(robots);
            if !is_allowed {
                done.found = Found::Disallowed;
                return done;
            }
            tokio::time::sleep(self.gap).await;
        }
        done.found = match self.get(&self.url, self.etag.as_deref(), &mut done).await {
            Ok(page) => self.judge(&page),
            Err(reason) => Found::Failed(reason),
        };
        done
    }

    /// A host without a `robots.txt` allows everything; one that cannot answer, nothing yet.
    async fn fetch_robots(&self, done: &mut Done) -> Option<Robots> {
        let url = self.url.join("/robots.txt").ok()?;
        let page = self.get(&url, None, done).await.ok()?;
        match page.status {
            200 => Some(Robots::parse(&String::from_utf8_lossy(&page.body))),
            400..=499 => Some(Robots::default()),
            _ => None,
        }
    }

    async fn get(
        &self,
        url: &CanonicalUrl,
        etag: Option<&str>,
        done: &mut Done,
    ) -> Result<Page, &'static str> {
        let page = client::get(url, self.address, etag).await;
        done.statuses.push(page.as_ref().ok().map(|page| page.status));
        if let Ok(page) = &page {
            done.bytes += page.body.len() as u64;
            let wait = page.header(header::RETRY_AFTER).and_then(|text| text.parse().ok());
            done.retry_after_s = wait.filter(|wait| (0.0..=86_400.0).contains(wait));
        }
        page
    }

    fn judge(&self, page: &Page) -> Found {
        match page.status {
            200 => Found::Content {
                html: String::from_utf8_lossy(&page.body).into_owned(),
                etag: page.header(header::ETAG).map(str::to_owned),
            },
            304 => Found::Same,
            301 | 302 | 303 | 307 | 308 => {
                let to = page.header(header::LOCATION).and_then(|to| self.url.join(to).ok());
                to.map_or(Found::Failed("redirect"), Found::Moved)
            }
            404 | 410 => Found::Gone,
            503 => Found::Failed("unavailable"),
            500..=599 => Found::Failed("server-error"),
            _ => Found::Failed("refused"),
        }
    }
}
