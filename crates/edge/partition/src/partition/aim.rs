//! How well pages fit the wanted topic, and how much less the others are worth.
//!
//! A page's *fit* is the probability that it is wanted. The fit of a fetched page follows from its words
//! ([`Topic`]), that of a waiting page from the links to it ([`Leads`]), that of a source from the pages it
//! led to. The page's value is multiplied by e + (1 − e)·fit, where e is the relative value of an unwanted
//! page. The policy is told this factor as a doubt, combined with the doubt of [`judge`](super::judge), so
//! price and explanations know nothing of topics. The policy fetches some doubted pages at random, which
//! corrects wrong beliefs.
//!
//! When the number of fetched pages has grown by a tenth, waiting pages are judged again, some in every turn
//! of the loop.
//!
//! Doubts are on the tape, so a replay needs no topic. The topic's state is a file beside the frontier's
//! snapshot; a crash loses what was learnt since the last one.

use std::path::Path;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{FetchKind, PageId, Time};
use tidewatch_store::PageRow;
use tidewatch_topic::{Gist, Leads, Link, LinkWords, Topic};

use super::{CrawlError, Partition};
use crate::Config;
use crate::kept;
use crate::pages::Pages;
use crate::work::Content;

/// The state's file; the last character of its magic counts versions.
const FILE: &str = "topic.snapshot";
const MAGIC: [u8; 8] = *b"tidetop2";
/// Name under which the store keeps the topic of the last start; absent if there was none.
const AIMED: &str = "topic";
/// Name under which the store keeps the examples that were files then.
const EXAMPLES: &str = "topic-examples";
/// Pages judged again, and pages looked at, in one turn of the loop.
const JUDGED: usize = 128;
const LOOKED_AT: usize = 1 << 14;
/// Pages are judged again when the number of fetched pages has grown by this many and a tenth.
const SOME: u64 = 16;

/// The wanted topic and everything learnt about it.
#[derive(Serialize, Deserialize)]
pub(super) struct Aim {
    topic: Topic,
    leads: Leads,
    /// The words of the link to a page, by page.
    words: Vec<LinkWords>,
    /// URLs of examples that have not been fetched yet.
    expected: FxHashSet<String>,
    /// Pages fetched.
    came: u64,
    /// How many had been fetched when pages were judged again last.
    judged_at: u64,
    /// The next page to judge again, and whether pages held are judged too.
    round: Option<(PageId, bool)>,
    /// Relative value of an unwanted page: e.
    #[serde(skip)]
    elsewhere: f64,
}

/// How well a page fits the topic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suits {
    /// The probability.
    pub chance: f64,
    /// The evidence.
    pub by: SuitsBy,
}

/// The evidence for a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuitsBy {
    /// The page's own words.
    Words,
    /// The pages that it led to.
    Links,
    /// The links that lead to it.
    Leads,
}

impl Aim {
    /// The topic of the settings with its learnt state; `None` if there is no topic and never was one.
    pub(super) fn of(pages: &mut Pages, config: &Config) -> Result<Option<Aim>, CrawlError> {
        let (rules, before) = (&config.topic, pages.meta(AIMED)?);
        let now = if rules.is_empty() { Vec::new() } else { config.topic_toml().into_bytes() };
        let is_other = before.as_deref().unwrap_or_default() != now;
        if rules.is_empty() && !is_other {
            return Ok(None);
        }
        pages.put_meta(AIMED, now);
        let stored = kept::read(pages.store().dir(), FILE, MAGIC).filter(|_| !is_other);
        let stored = stored.and_then(|bytes| postcard::from_bytes::<Aim>(&bytes).ok());
        let mut aim = if let Some(aim) = stored {
            aim
        } else {
            let known = pages.meta(EXAMPLES)?.filter(|_| !is_other);
            let known = known.and_then(|bytes| postcard::from_bytes(&bytes).ok());
            let files: Vec<Gist> = known.map_or_else(|| rules.files(), Ok)?;
            pages.put_meta(EXAMPLES, postcard::to_stdvec(&files).unwrap_or_default());
            Aim::new(config, &files)
        };
        // Without a topic all pages are worth the same again.
        aim.elsewhere = if rules.is_empty() { 1.0 } else { rules.elsewhere() };
        Ok(Some(aim))
    }

    fn new(config: &Config, examples: &[Gist]) -> Aim {
        let mut topic = Topic::new(config.topic.wanted(), config.seed);
        examples.iter().for_each(|gist| topic.give(gist));
        Aim {
            topic,
            leads: Leads::default(),
            words: Vec::new(),
            expected: config.topic.urls().map(|url| url.as_str().to_owned()).collect(),
            came: 0,
            judged_at: 0,
            round: Some((PageId(0), true)),
            elsewhere: 1.0,
        }
    }

    /// Writes the state. Without it the next start learns anew, so a failure is no error.
    pub(super) fn save(&self, dir: &Path) {
        if let Ok(state) = postcard::to_stdvec(self) {
            let _ = kept::write(dir, FILE, MAGIC, &state);
        }
    }

    /// Relative value of a page with this fit: e + (1 − e)·fit.
    fn share(&self, suits: Suits) -> f64 {
        self.elsewhere + (1.0 - self.elsewhere) * suits.chance
    }

    /// Evidence of the words of the link to a page, in log odds.
    fn lean(&self, page: PageId) -> f64 {
        self.words.get(page.index()).map_or(0.0, |words| self.topic.lean(words))
    }

    /// Judges a page.
    fn suits(&self, page: PageId, row: &PageRow, url: &str, via_host: bool) -> Suits {
        if let Some(chance) = self.leads.fit(page) {
            return if row.is_source {
                Suits { chance: self.leads.yield_of(page), by: SuitsBy::Links }
            } else {
                Suits { chance, by: SuitsBy::Words }
            };
        }
        let link = self.link(page, row, url, via_host);
        Suits { chance: self.leads.judge(&link), by: SuitsBy::Leads }
    }

    fn link<'l>(&self, page: PageId, row: &PageRow, url: &'l str, is_inner: bool) -> Link<'l> {
        Link { via: row.via, host: row.host, url, lean: self.lean(page), is_inner }
    }
}

impl Partition {
    /// Notes the words of the link to a new page, and tells the policy the page's worth.
    pub(super) fn aim_at(
        &mut self,
        page: PageId,
        url: &CanonicalUrl,
        words: &str,
        now: Time,
    ) -> Result<(), CrawlError> {
        let Some(aim) = &mut self.aim else { return Ok(()) };
        if aim.words.len() <= page.index() {
            aim.words.resize(page.index() + 1, LinkWords::default());
        }
        aim.words[page.index()] = LinkWords::of(words, url.as_str());
        self.tell_worth(page, None, now)
    }

    /// Learns from a fetched page, and tells the policy its worth.
    pub(super) fn aim_by(
        &mut self,
        page: PageId,
        row: &PageRow,
        content: &mut Content,
        is_first: bool,
        now: Time,
    ) -> Result<(), CrawlError> {
        if self.aim.is_none() {
            return Ok(());
        }
        let url = self.address(page)?;
        let is_inner = self.is_inner(row);
        let Some(aim) = &mut self.aim else { return Ok(()) };
        let gist = content.gist.take().unwrap_or_default();
        let link = aim.link(page, row, url.as_str(), is_inner);
        if aim.expected.remove(url.as_str()) {
            aim.topic.give(&gist);
        }
        let fit = match () {
            // Images, and pages that may not be indexed, have no words: their links decide.
            () if gist.is_empty() => aim.leads.judge(&link),
            () if is_first => {
                let (fit, is_new) = aim.topic.meet(&gist);
                if is_new && aim.round.is_none() {
                    aim.judged_at = 0;
                }
                fit.chance
            }
            () => aim.topic.fit(&gist).chance,
        };
        if is_first {
            aim.came += 1;
            aim.leads.learn(&link, fit);
        }
        aim.leads.came(page, fit);
        self.tell_worth(page, Some(0.0), now)
    }

    /// Whether the crawl has a topic, or had one when it was opened.
    pub fn has_topic(&self) -> bool {
        self.aim.is_some()
    }

    /// Whether the page that named a page lies on the same host.
    fn is_inner(&self, row: &PageRow) -> bool {
        row.via.is_some_and(|via| self.taped.host_of(via) == row.host)
    }

    /// Relative value of a page by its fit.
    pub(super) fn wanted_share(&self, page: PageId) -> Result<f64, CrawlError> {
        let Some(aim) = &self.aim else { return Ok(1.0) };
        Ok(self.suits_of(page)?.map_or(1.0, |suits| aim.share(suits)))
    }

    /// How well a page fits the topic; `None` without a topic.
    pub(super) fn suits_of(&self, page: PageId) -> Result<Option<Suits>, CrawlError> {
        let Some(aim) = &self.aim else { return Ok(None) };
        let row = self.pages.page_row(page)?;
        // Before its first visit a source has no fit.
        if row.is_source && aim.leads.fit(page).is_none() {
            return Ok(None);
        }
        let url = self.address(page)?;
        Ok(Some(aim.suits(page, &row, url.as_str(), self.is_inner(&row))))
    }

    /// Judges some pages again, if enough pages were fetched since the last time.
    pub(super) fn aim_again(&mut self, now: Time) -> Result<(), CrawlError> {
        let end = self.taped.next_page();
        let Some(aim) = &mut self.aim else { return Ok(()) };
        if aim.round.is_none() && aim.came >= aim.judged_at + aim.judged_at / 10 + SOME {
            aim.round = Some((PageId(0), false));
        }
        let Some((mut page, all)) = aim.round else { return Ok(()) };
        if page.0 == 0 {
            aim.judged_at = aim.came;
        }
        let (mut judged, mut looked) = (0, 0);
        while page < end && judged < JUDGED && looked < LOOKED_AT {
            let is_settled = self.taped.fetch_kind(page) == FetchKind::Refresh && !all;
            if !is_settled {
                self.tell_worth(page, None, now)?;
                judged += 1;
            }
            looked += 1;
            page = PageId(page.0 + 1);
        }
        if let Some(aim) = &mut self.aim {
            aim.round = (page < end).then_some((page, all));
        }
        Ok(())
    }
}
