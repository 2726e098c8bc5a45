//! What others do with a crawl while it runs: look at it, steer it, tell it what searchers did.
//!
//! Looking changes nothing, so that a replay takes the same decisions whether somebody looked or not.
//! Everything else goes on the tape.

use serde::Serialize;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{HostId, Interest, PageId, Rate, Time};
use tidewatch_frontier::tape::{Input, Query};
use tidewatch_policy::Explanation;
use tidewatch_policy::explanation::{Belief, Due, Merit};
use tidewatch_store::{CopyRow, PageRow};

use super::{CrawlError, Partition};

/// Under which name the store keeps how far the search log has been heard.
const HEARD: &str = "clicks-heard";

/// What the search log says, and how far it has been read then.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// Views and clicks.
    pub rows: Vec<Interest>,
    /// What is asked in vain, where that is known anew.
    pub queries: Option<Vec<Query>>,
    /// The place in the log, as its reader writes it.
    pub mark: Vec<u8>,
}

/// A host as an operator sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostView {
    /// Scheme, name and port.
    pub origin: String,
    /// Pages known.
    pub pages: u32,
    /// Seconds kept between two requests.
    pub gap_s: f64,
    /// Seconds that its robots.txt asks for.
    pub crawl_delay_s: f64,
    /// Seconds until it may be asked again; 0 if it may now.
    pub opens_in_s: f64,
    /// Troubles in a row.
    pub troubles: u8,
    /// Status with which its robots.txt came, once read.
    pub robots: Option<u16>,
    /// Clicks that a fetch must bring here, where the policy has a price.
    pub price: Option<f64>,
}

/// A source as an operator sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceView {
    /// Its address.
    pub url: String,
    /// New links that it shows in a day.
    pub links_per_day: f64,
    /// Clicks that each brings.
    pub clicks_per_link: f64,
    /// Clicks that a visit would bring now.
    pub worth: f64,
    /// Seconds until it is visited, unless it is not.
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
    /// What decides about it, where the policy can tell.
    pub why: Option<Explanation>,
}

impl Partition {
    /// Takes in what searchers did; with it, that it has been heard.
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

    /// The place in the search log up to which it has been heard; empty at the beginning.
    pub fn heard(&self) -> Result<Vec<u8>, CrawlError> {
        Ok(self.pages.meta(HEARD)?.unwrap_or_default())
    }

    /// Sets the budget, by the operator's second, from now on; a start sets that of its configuration
    /// again.
    pub fn set_budget(&mut self, budget: Rate, now: Time) -> Result<(), CrawlError> {
        if let Some(member) = &self.member {
            // The partitions' shares of it follow.
            member.set_total(budget);
            return Ok(());
        }
        self.grant(budget, now)
    }

    /// Sets this partition's own budget, by the operator's second.
    pub(super) fn grant(&mut self, budget: Rate, now: Time) -> Result<(), CrawlError> {
        let budget = self.timeline.own_rate(budget);
        self.config.budget = budget;
        self.taped.tell(Input::Budget { budget, at: now })?;
        Ok(())
    }

    /// The hosts with the most pages, at most so many.
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

    /// Sources that are worth the most, at most so many of the first `scan` pages. Empty where the
    /// policy has no price.
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
                && let Merit::Clicks { worth, .. } = why.merit
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

    /// Clicks a second that a copy is taken to get; `None` where the policy cannot tell, or there is no
    /// copy.
    pub fn weight(&mut self, page: PageId) -> Option<f64> {
        match self.taped.why(page, self.taped.last())?.belief {
            Belief::Copy { clicks_per_s, .. } => Some(clicks_per_s),
            _ => None,
        }
    }

    /// All that is known of a page; `None` if it is not known.
    pub fn portrait(
        &mut self,
        url: &CanonicalUrl,
        now: Time,
    ) -> Result<Option<Portrait>, CrawlError> {
        let Some(page) = self.pages.page_of(url.as_str())? else { return Ok(None) };
        let (row, copy) = (self.pages.page_row(page)?, self.pages.copy(page)?);
        let via = row.via.map(|via| self.address(via)).transpose()?;
        let why = self.taped.why(page, now);
        let via = via.map(CanonicalUrl::into_string);
        Ok(Some(Portrait { page, row, via, copy, why }))
    }
}
