//! What policies of papers need to know of pages: change rates and clicks, estimated while they crawl.

use rayon::prelude::*;
use tidewatch_core::{Discovery, HostId, Interest, InterestKind, Observation, Outcome};
use tidewatch_core::{PageKey, Span, Time};
use tidewatch_science::estimate::{
    Counts, Gamma, Member, Pool, Visit, posterior_from_sums, url_pattern,
};
use tidewatch_science::weight::{PageInterest, WeightPrior};

/// Half-life of interest: clicks of last week count half.
const HALF_LIFE: Span = Span::WEEK;
/// A given weight counts as so many clicks in as long a log.
const PRIOR_LOG: Span = Span::WEEK;
/// Expected clicks after which a page's own record outweighs its weight.
const PRIOR_STRENGTH: f64 = 1.0;

/// All pages that are known.
#[derive(Default)]
pub(super) struct Copies {
    pages: Vec<Copy>,
    has_log: bool,
}

/// One page.
pub(super) struct Copy {
    pub(super) host: HostId,
    pub(super) key: PageKey,
    pattern: u64,
    pub(super) weight: f64,
    pub(super) counts: Counts,
    interest: PageInterest,
    /// Last attempt to fetch it.
    pub(super) last: Option<Time>,
    pub(super) is_gone: bool,
}

impl Copies {
    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn get(&self, page: usize) -> Option<&Copy> {
        self.pages.get(page)
    }

    pub(super) fn of(&self, page: usize) -> &Copy {
        &self.pages[page]
    }

    /// Pages that are not gone.
    pub(super) fn live(&self) -> Vec<usize> {
        (0..self.pages.len()).filter(|&page| !self.pages[page].is_gone).collect()
    }

    pub(super) fn discovered(&mut self, found: &Discovery<'_>) {
        debug_assert_eq!(found.page.index(), self.pages.len());
        self.pages.push(Copy {
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

    /// Takes in a fetch; whether the page is still there.
    pub(super) fn fetched(&mut self, seen: &Observation<'_>) -> bool {
        let copy = &mut self.pages[seen.page.index()];
        copy.last = Some(seen.at);
        copy.is_gone = seen.outcome == Outcome::Gone;
        if let Outcome::Fetched(content) = seen.outcome
            && let (Some(gap), Some(changed)) = (seen.gap(), content.changed)
        {
            let dated = content.last_modified.filter(|_| changed);
            let age = dated.map(|at| seen.at.since(at).seconds().min(gap.seconds()));
            copy.counts.add(&Visit { gap: gap.seconds(), changed, age });
        }
        !copy.is_gone
    }

    pub(super) fn log(&mut self, rows: &[Interest]) {
        self.has_log = true;
        for row in rows.iter().filter(|row| row.kind == InterestKind::Click) {
            let interest = &mut self.pages[row.page.index()].interest;
            interest.click(row.at.seconds(), row.count, HALF_LIFE.seconds());
        }
    }

    /// Clicks per second: from the log, shrunk towards the weight; the weight alone without a log.
    pub(super) fn click_rate(&self, page: usize, now: Time) -> f64 {
        let copy = &self.pages[page];
        let (rate, seconds) = (copy.weight / PRIOR_LOG.seconds(), PRIOR_LOG.seconds());
        if !self.has_log {
            return rate;
        }
        let prior = WeightPrior { rate, seconds, strength: PRIOR_STRENGTH };
        copy.interest.click_rate(now.seconds(), HALF_LIFE.seconds(), &prior)
    }

    /// Posterior mean changes per second, pooled by host and URL pattern.
    pub(super) fn change_rates(&self, pages: &[usize]) -> Vec<f64> {
        let member = |&page: &usize| {
            let copy = &self.pages[page];
            let host = u64::from(copy.host.0);
            Member { host, pattern: copy.pattern, counts: copy.counts }
        };
        let members: Vec<Member> = pages.iter().map(member).collect();
        let Some(pool) = Pool::fit(&members) else { return vec![0.0; pages.len()] };
        let rate = |member: &Member| {
            let prior: Gamma = pool.prior(member.host, member.pattern);
            posterior_from_sums(&member.counts, &prior).estimate.rate
        };
        members.par_iter().map(rate).collect()
    }

    /// Longest wait until a page is visited again: it keeps at least 1/(1 + visits) of an even share of
    /// `budget` among `pages`, since an estimate that gave it up would never be corrected.
    pub(super) fn longest_wait(&self, page: usize, budget: f64, pages: usize) -> Span {
        let visits = self.pages[page].counts.visits() as f64;
        Span::from_seconds((1.0 + visits) * pages as f64 / budget).unwrap_or(Span::FOREVER)
    }
}
