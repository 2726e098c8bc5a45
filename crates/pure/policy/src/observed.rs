//! Change rates and clicks of pages, estimated while they are crawled.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tidewatch_core::{Discovery, HostId, Interest, InterestKind, Observation, Outcome};
use tidewatch_core::{PageKey, Span, Time};
use tidewatch_science::estimate::{
    Counts, Gamma, Member, Pool, Visit, posterior_from_sums, url_pattern,
};
use tidewatch_science::weight::{PageInterest, WeightPrior};

/// Half-life of interest: clicks of last week count half.
const HALF_LIFE: Span = Span::WEEK;
/// A given weight counts as that many clicks in a log this long.
const PRIOR_LOG: Span = Span::WEEK;
/// Expected clicks after which a page's own record outweighs its weight.
const PRIOR_STRENGTH: f64 = 1.0;

/// All known pages, by page number.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ObservedPages {
    pages: Vec<ObservedPage>,
    has_log: bool,
}

/// What was observed of one page.
#[derive(Serialize, Deserialize)]
pub(crate) struct ObservedPage {
    host: HostId,
    key: PageKey,
    pattern: u64,
    weight: f64,
    counts: Counts,
    interest: PageInterest,
    last: Option<Time>,
    is_gone: bool,
}

impl ObservedPage {
    pub(crate) fn host(&self) -> HostId {
        self.host
    }

    pub(crate) fn key(&self) -> PageKey {
        self.key
    }

    /// The weight that the page came with.
    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    /// Its visits and the changes they saw.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The last attempt to fetch it.
    pub(crate) fn last(&self) -> Option<Time> {
        self.last
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// The last attempt to fetch a page that is still there.
    pub(crate) fn last_if_live(&self) -> Option<Time> {
        self.last.filter(|_| !self.is_gone)
    }
}

impl ObservedPages {
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    pub(crate) fn get(&self, page: usize) -> Option<&ObservedPage> {
        self.pages.get(page)
    }

    /// Panics if the page is not known.
    pub(crate) fn of(&self, page: usize) -> &ObservedPage {
        &self.pages[page]
    }

    /// Pages that are not gone.
    pub(crate) fn live(&self) -> Vec<usize> {
        (0..self.pages.len()).filter(|&page| !self.pages[page].is_gone).collect()
    }

    pub(crate) fn discovered(&mut self, found: &Discovery<'_>) {
        debug_assert_eq!(found.page.index(), self.pages.len());
        self.pages.push(ObservedPage {
            host: found.host,
            key: found.key,
            pattern: PageKey::of(&url_pattern(found.url)).0,
            weight: found.weight,
            counts: Counts::default(),
            interest: PageInterest::new(found.at.seconds()),
            last: None,
            is_gone: false,
        });
    }

    /// Records a fetch; returns whether the page is still there.
    pub(crate) fn fetched(&mut self, seen: &Observation<'_>) -> bool {
        let page = &mut self.pages[seen.page.index()];
        page.last = Some(seen.at);
        page.is_gone = seen.outcome == Outcome::Gone;
        if let Outcome::Fetched(content) = seen.outcome
            && let (Some(gap), Some(changed)) = (seen.gap(), content.changed)
        {
            let dated = content.last_modified.filter(|_| changed);
            let age = dated.map(|at| seen.at.since(at).seconds().min(gap.seconds()));
            page.counts.add(&Visit { gap: gap.seconds(), changed, age });
        }
        !page.is_gone
    }

    pub(crate) fn log(&mut self, rows: &[Interest]) {
        self.has_log = true;
        for row in rows.iter().filter(|row| row.kind == InterestKind::Click) {
            let interest = &mut self.pages[row.page.index()].interest;
            interest.click(row.at.seconds(), row.count, HALF_LIFE.seconds());
        }
    }

    /// Clicks per second: from the log, shrunk towards the weight; the weight alone without a log.
    pub(crate) fn click_rate(&self, page: usize, now: Time) -> f64 {
        if self.has_log { self.logged_click_rate(page, now) } else { self.prior(page).rate }
    }

    /// Clicks per second from the log, shrunk towards the weight. No log counts as an empty one.
    pub(crate) fn logged_click_rate(&self, page: usize, now: Time) -> f64 {
        let interest = &self.pages[page].interest;
        interest.click_rate(now.seconds(), HALF_LIFE.seconds(), &self.prior(page))
    }

    fn prior(&self, page: usize) -> WeightPrior {
        let seconds = PRIOR_LOG.seconds();
        let rate = self.pages[page].weight / seconds;
        WeightPrior { rate, seconds, strength: PRIOR_STRENGTH }
    }

    /// Posterior mean changes per second, pooled by host and URL pattern.
    pub(crate) fn change_rates(&self, pages: &[usize]) -> Vec<f64> {
        let member = |&page: &usize| {
            let page = &self.pages[page];
            let host = u64::from(page.host.0);
            Member { host, pattern: page.pattern, counts: page.counts }
        };
        let members: Vec<Member> = pages.iter().map(member).collect();
        let Some(pool) = Pool::fit(&members) else { return vec![0.0; pages.len()] };
        let rate = |member: &Member| {
            let prior: Gamma = pool.prior(member.host, member.pattern);
            posterior_from_sums(&member.counts, &prior).estimate.rate
        };
        members.par_iter().map(rate).collect()
    }

    /// The lowest rate at which a page is visited: 1/(1 + visits) of an even share of `budget` among
    /// `pages`, since an estimate that gave it up would never be corrected.
    pub(crate) fn lowest_rate(&self, page: usize, budget: f64, pages: usize) -> f64 {
        let even = budget / pages as f64;
        even / (1.0 + self.pages[page].counts.visits() as f64)
    }

    /// The longest wait until a page is visited again: the inverse of the lowest rate.
    pub(crate) fn longest_wait(&self, page: usize, budget: f64, pages: usize) -> Span {
        let visits = self.pages[page].counts.visits() as f64;
        Span::from_seconds((1.0 + visits) * pages as f64 / budget).unwrap_or(Span::FOREVER)
    }
}
