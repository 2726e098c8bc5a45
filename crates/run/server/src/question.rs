//! Questions that may go to the owner of a partition on another machine, and their answers.

use serde::{Deserialize, Serialize};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Time};
use tidewatch_partition::explain::{told, why_json};
use tidewatch_partition::hints::{HintRow, Received, Sender};
use tidewatch_partition::rules::{RuleName, RuleRow, Ruling, suspected, suspicion_json};
use tidewatch_partition::topic::{fits, fits_json};
use tidewatch_partition::{Account, CrawlError, HostView, Partition, Portrait, SourceView, Status};
use tidewatch_policy::WhatIf;

/// Hosts, sources and other rows listed.
pub(crate) const ROWS: usize = 100;
/// Pages searched for sources.
const SCANNED: u32 = 200_000;

/// A question to a partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Asked {
    /// Its figures.
    Status,
    /// The view of a page.
    Page(String),
    /// The answer to `tidewatch why`, as JSON.
    Why(String),
    /// Its demand by price.
    Demand,
    /// Predictions for two budgets of its own, in fetches per second.
    WhatIf(f64, f64),
    /// Its largest hosts.
    Hosts,
    /// Its best sources.
    Sources,
    /// Its rules.
    Rules,
    /// Vetoes or pins a rule, or withdraws that.
    Decide(Ruling, u64),
    /// Precision and recall of hints.
    Hints,
    /// Takes in hints of a sender.
    TakeHints(String, Vec<String>),
}

/// The answer to an [`Asked`] of the same name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    Status(Status),
    Page(PageView),
    Why(String),
    Demand(Account),
    WhatIf(Option<(WhatIf, WhatIf)>, Status),
    Hosts(Vec<HostView>),
    Sources(Vec<SourceView>),
    Rules(Vec<RuleRow>),
    Decided(bool),
    Hints(Vec<HintRow>),
    Received(Received),
}

/// The view of a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PageView {
    /// `None` if the crawl does not know the page.
    pub(crate) known: Option<KnownPage>,
    /// The crawl's time.
    pub(crate) now: Time,
}

/// A page that the crawl knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KnownPage {
    pub(crate) number: u32,
    pub(crate) depth: u16,
    pub(crate) is_source: bool,
    /// The page whose link named it first.
    pub(crate) via: Option<String>,
    pub(crate) copy: Option<CopyView>,
    /// The obstacle to fetching it, if there is one.
    pub(crate) in_the_way: Option<String>,
    /// The policy's explanation, if it has one.
    pub(crate) why: Option<WhyView>,
    /// The doubt about it, in a sentence.
    pub(crate) suspected: Option<String>,
    /// How well it fits the topic, in a sentence.
    pub(crate) suits: Option<String>,
    /// What it asks a form for, in a sentence.
    pub(crate) form: Option<String>,
}

/// The newest copy of a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CopyView {
    pub(crate) at: Time,
    pub(crate) changed_at: Time,
    pub(crate) visits: u32,
    pub(crate) changes: u32,
    pub(crate) links: u32,
    pub(crate) status: u16,
}

/// An explanation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WhyView {
    /// JSON, as the API gives it.
    pub(crate) json: String,
    /// In sentences, one a line.
    pub(crate) told: String,
}

impl PageView {
    fn of(url: &CanonicalUrl, found: Option<Portrait>, now: Time) -> PageView {
        PageView { known: found.map(|found| KnownPage::of(url, found, now)), now }
    }
}

impl KnownPage {
    fn of(url: &CanonicalUrl, found: Portrait, now: Time) -> KnownPage {
        let Portrait { page, row, via, copy, in_the_way, why, suspicion, suits, form } = found;
        let why = why.map(|why| {
            let mut json = why_json(&why, url.as_str(), now);
            json["in_the_way"] = in_the_way.clone().into();
            json["hygiene"] = suspicion_json(&suspicion, Some(&why));
            json["topic"] = fits_json(suits.as_ref());
            json["form"] = form.clone().into();
            WhyView { json: json.to_string(), told: told(&why, now) }
        });
        let copy = copy.map(|copy| CopyView {
            at: copy.at,
            changed_at: copy.changed_at,
            visits: copy.visits,
            changes: copy.changes,
            links: copy.links.len() as u32,
            status: copy.status,
        });
        let (number, suspected) = (page.0, suspected(&suspicion));
        let suits = suits.as_ref().map(fits);
        let (depth, is_source) = (row.depth, row.is_source);
        KnownPage { number, depth, is_source, via, copy, in_the_way, why, suspected, suits, form }
    }
}

impl Asked {
    /// The answer of a partition.
    pub(crate) fn answer(&self, crawl: &mut Partition, now: Time) -> Result<Told, CrawlError> {
        Ok(match self {
            Asked::Status => Told::Status(crawl.status()),
            Asked::Page(url) => {
                let url = CanonicalUrl::parse(url).ok();
                Told::Page(match url {
                    Some(url) => PageView::of(&url, crawl.portrait(&url, now)?, now),
                    None => PageView { known: None, now },
                })
            }
            Asked::Why(url) => Told::Why(match CanonicalUrl::parse(url) {
                Ok(url) => crawl.answer_why(&url, now)?.to_string(),
                Err(refused) => serde_json::json!({ "error": refused.to_string() }).to_string(),
            }),
            Asked::Demand => Told::Demand(crawl.account()),
            Asked::WhatIf(one, other) => {
                let at = |rate| crawl.what_if_at(Rate::per_second(rate)?);
                let both = at(*one).zip(at(*other));
                Told::WhatIf(both, crawl.status())
            }
            Asked::Hosts => Told::Hosts(crawl.host_views(ROWS, now)?),
            Asked::Sources => Told::Sources(crawl.source_views(ROWS, SCANNED, now)?),
            Asked::Rules => Told::Rules(crawl.rules(ROWS)),
            Asked::Decide(ruling, rule) => {
                crawl.check_writable()?;
                let is_known = crawl.decide(RuleName::of_number(*rule).0, *ruling)?;
                crawl.sync()?;
                Told::Decided(is_known)
            }
            Asked::Hints => Told::Hints(crawl.hint_rows(ROWS)),
            Asked::TakeHints(sender, urls) => {
                let sender = Sender::read(sender).unwrap_or_default();
                let urls = urls.iter().filter_map(|url| CanonicalUrl::parse(url).ok());
                Told::Received(take_hints(crawl, &sender, &urls.collect::<Vec<_>>(), now)?)
            }
        })
    }
}

/// Takes in hints of a sender, and syncs if that has changed anything.
pub(crate) fn take_hints(
    crawl: &mut Partition,
    sender: &Sender,
    urls: &[CanonicalUrl],
    now: Time,
) -> Result<Received, CrawlError> {
    crawl.check_writable()?;
    let received = crawl.take_hints(sender, urls, now)?;
    if received.hinted > 0 || received.new > 0 {
        crawl.sync()?;
    }
    Ok(received)
}
