//! Operates a running crawl: views for the operator, the budget, searchers' clicks.
//!
//! Views change nothing, so a replay takes the same decisions whether or not somebody looked.
//! Everything else goes on the tape.

use serde::{Deserialize, Serialize};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, Interest, PageId, Rate, Time};
use tidewatch_frontier::tape::{Input, Query};
use tidewatch_policy::Explanation;
use tidewatch_policy::explanation::{Belief, Due, Merit};
use tidewatch_store::{CopyRow, PageRow};

use super::{CrawlError, Partition, Suits, Suspicion, check_budget};
use crate::History;

/// Name under which the store keeps the position in the search log.
const HEARD: &str = "clicks-heard";

/// Name under which the store keeps the history of figures.
const HISTORY: &str = "history";

/// New entries of the search log, and the position after them.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// Views and clicks.
    pub rows: Vec<Interest>,
    /// Queries with unmet need, if they were computed anew.
    pub queries: Option<Vec<Query>>,
    /// The position in the log, in its reader's encoding.
    pub mark: Vec<u8>,
}

/// A host as an operator sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostView {
    /// Scheme, name and port.
    pub origin: String,
    /// Pages known.
    pub pages: u32,
    /// Seconds kept between two requests.
    pub gap_s: f64,
    /// Crawl-delay of its robots.txt, in seconds.
    pub crawl_delay_s: f64,
    /// Seconds until its next request may start; 0 if now.
    pub opens_in_s: f64,
    /// Errors in a row.
    pub troubles: u8,
    /// HTTP status of its robots.txt, once read.
    pub robots: Option<u16>,
    /// Least clicks that justify a fetch here, if the policy has a price.
    pub price: Option<f64>,
}

/// A source as an operator sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceView {
    /// Its URL.
    pub url: String,
    /// New links per day.
    pub links_per_day: f64,
    /// Expected clicks per new link.
    pub clicks_per_link: f64,
    /// Expected clicks from a visit now.
    pub worth: f64,
    /// Seconds until its next visit; `None` if none is planned.
    pub due_in_s: Option<f64>,
}

/// All that is known of a page.
#[derive(Clone, Debug)]
pub struct Portrait {
    /// The page.
    pub page: PageId,
    /// How it was found.
    pub row: PageRow,
    /// The page whose link named it first.
    pub via: Option<String>,
    /// Its newest copy.
    pub copy: Option<CopyRow>,
    /// What keeps it from being fetched, whatever it is worth.
    pub in_the_way: Option<String>,
    /// The policy's explanation, if it has one.
    pub why: Option<Explanation>,
    /// The doubt about it.
    pub suspicion: Suspicion,
    /// How well it fits the topic; `None` without a topic.
    pub suits: Option<Suits>,
    /// What it asks a form for, as a sentence.
    pub form: Option<String>,
}

impl HostView {
    /// The hosts with the most pages among those of all partitions, at most `most`.
    pub fn merge(parts: Vec<Vec<HostView>>, most: usize) -> Vec<HostView> {
        let mut all: Vec<_> = parts.into_iter().flatten().collect();
        all.sort_by_key(|host| std::cmp::Reverse(host.pages));
        all.truncate(most);
        all
    }
}

impl SourceView {
    /// The most valuable sources among those of all partitions, at most `most`.
    pub fn merge(parts: Vec<Vec<SourceView>>, most: usize) -> Vec<SourceView> {
        let mut all: Vec<_> = parts.into_iter().flatten().collect();
        all.sort_by(|a, b| b.worth.total_cmp(&a.worth));
        all.truncate(most);
        all
    }
}

impl Partition {
    /// Takes in entries of the search log; their position joins the same commit.
    pub fn hear(&mut self, heard: Heard) -> Result<(), CrawlError> {
        if !heard.rows.is_empty() {
            self.taped.tell(Input::Log(heard.rows))?;
        }
        if let Some(queries) = heard.queries {
            self.taped.tell(Input::Queries(queries))?;
        }
        self.pages.put_meta(HEARD, heard.mark);
        Ok(())
    }

    /// The position up to which the search log was taken in; empty at the beginning.
    pub fn heard(&self) -> Result<Vec<u8>, CrawlError> {
        Ok(self.pages.meta(HEARD)?.unwrap_or_default())
    }

    /// The history of the crawl's figures, which the first partition keeps.
    pub fn history(&self) -> Result<History, CrawlError> {
        Ok(self
            .pages
            .meta(HISTORY)?
            .map_or_else(History::default, |bytes| History::of_bytes(&bytes)))
    }

    /// Keeps the history of the crawl's figures. It joins the next commit.
    pub fn keep_history(&mut self, history: &History) {
        self.pages.put_meta(HISTORY, history.to_bytes());
    }

    /// Sets the budget, per second of the operator's clock. The next start goes back to the
    /// configured one.
    pub fn set_budget(&mut self, budget: Rate, now: Time) -> Result<(), CrawlError> {
        check_budget(budget)?;
        if let Some(member) = &self.member {
            // Each partition gets its share with its next report.
            member.ledger().set_total(budget);
            self.keep_total(budget);
            return Ok(());
        }
        self.grant(budget, now)
    }

    /// Sets this partition's own budget, per second of the operator's clock.
    pub(super) fn grant(&mut self, budget: Rate, now: Time) -> Result<(), CrawlError> {
        let budget = self.timeline.own_rate(budget);
        self.config.budget = budget;
        self.taped.tell(Input::Budget { budget, at: now })?;
        Ok(())
    }

    /// The hosts with the most pages, at most `most`.
    pub fn host_views(&mut self, most: usize, now: Time) -> Result<Vec<HostView>, CrawlError> {
        let mut order: Vec<HostId> = (0..self.pages.hosts() as u32).map(HostId).collect();
        order.sort_by_key(|&host| std::cmp::Reverse(self.pages.pages_of(host)));
        order.truncate(most);
        let pages = self.first_pages(&order);
        let mut views = Vec::with_capacity(order.len());
        for (host, page) in order.into_iter().zip(pages) {
            let memo = self.taped.memo(host);
            let robots = self.pages.host_row(host)?.robots;
            let why = page.and_then(|page| self.taped.why(page, now));
            let price = why.and_then(|why| match why.merit {
                Merit::Clicks { host_price, .. } => Some(host_price),
                _ => None,
            });
            views.push(HostView {
                origin: self.pages.origin(host).to_owned(),
                pages: self.pages.pages_of(host),
                gap_s: memo.gap.seconds(),
                crawl_delay_s: memo.crawl_delay.seconds(),
                opens_in_s: memo.opens.since(now).seconds(),
                troubles: memo.troubles,
                robots: robots.map(|robots| robots.status),
                price,
            });
        }
        Ok(views)
    }

    /// A page of each host.
    fn first_pages(&self, hosts: &[HostId]) -> Vec<Option<PageId>> {
        let mut first = vec![None; self.pages.hosts()];
        for page in (0..self.taped.next_page().0).map(PageId) {
            first[self.taped.host_of(page).index()].get_or_insert(page);
        }
        hosts.iter().map(|host| first[host.index()]).collect()
    }

    /// The most valuable sources among the first `scan` pages, at most `most`. Empty if the policy
    /// has no price.
    pub fn source_views(
        &mut self,
        most: usize,
        scan: u32,
        now: Time,
    ) -> Result<Vec<SourceView>, CrawlError> {
        let mut found = Vec::new();
        for page in (0..self.taped.next_page().0.min(scan)).map(PageId) {
            if let Some(why) = self.taped.why(page, now)
                && let Belief::Source { links_per_s, clicks_per_link, .. } = why.belief
                && let Merit::Clicks { worth: Some(worth), .. } = why.merit
            {
                found.push((page, worth, why.due, [links_per_s, clicks_per_link]));
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.truncate(most);
        let view =
            |(page, worth, due, [links_per_s, clicks_per_link]): (PageId, _, Due, [f64; 2])| {
                Ok(SourceView {
                    url: self.address(page)?.into_string(),
                    links_per_day: links_per_s * 86_400.0,
                    clicks_per_link,
                    worth,
                    due_in_s: due.time().map(|due| due.since(now).seconds()),
                })
            };
        found.into_iter().map(view).collect()
    }

    /// Expected clicks per second of a page's copy; `None` without a copy or if the policy cannot
    /// tell.
    pub fn weight(&mut self, page: PageId) -> Option<f64> {
        match self.taped.why(page, self.taped.last())?.belief {
            Belief::Copy { clicks_per_s, .. } => Some(clicks_per_s),
            _ => None,
        }
    }

    /// All that is known of the page at `url`; `None` if the crawl does not know it.
    pub fn portrait(
        &mut self,
        url: &CanonicalUrl,
        now: Time,
    ) -> Result<Option<Portrait>, CrawlError> {
        let Some(page) = self.pages.page_of(url.as_str())? else { return Ok(None) };
        let (row, copy) = (self.pages.page_row(page)?, self.pages.copy(page)?);
        let via = match row.via {
            Some(via) => Some(self.address(via)?.into_string()),
            None => self.pages.foreign_via(page)?,
        };
        let why = self.taped.why(page, now);
        let in_the_way = self.obstacle(url, now)?.or(self.remark(url)?);
        let (suspicion, suits) = (self.suspicion(url)?, self.suits_of(page)?);
        let form = self.form_told(url, now);
        Ok(Some(Portrait { page, row, via, copy, in_the_way, why, suspicion, suits, form }))
    }
}
