//! How sure are we that a rule is true?
//!
//! Two fetched pages whose URLs a rule unites are a trial of the rule: they show the same, or not. The
//! chance that the next such URL brings nothing of its own is the mean of a beta distribution,
//!
//! q = (c·m + hits) / (c + hits + misses),
//!
//! where m is the share of true rules among those of its kind. Rules are mostly all or nothing, so the
//! prior is bimodal: c = [`CONCENTRATION`] is small, and few trials outweigh it. The mean m is learnt
//! from all rules of the kind by credibility weights `[BS70]`: a rule with n trials counts
//! as c·n/(c + n) < c of them, so that one rule of a large host is one rule.

use serde::{Deserialize, Serialize};

use crate::rule::RuleKind;

/// Trials that the prior counts for: Beta(m, 1 − m) has most of its mass at 0 and 1.
const CONCENTRATION: f64 = 1.0;
/// Rules that the guess about a kind counts for.
const GUESS_WEIGHT: f64 = 3.0;
/// Trials remembered: beyond these old ones fade, so that a site may change its mind.
const MEMORY: f64 = 256.0;

/// Trials of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trials {
    pub(crate) hits: f64,
    pub(crate) misses: f64,
}

impl Trials {
    pub(crate) fn count(self) -> f64 {
        self.hits + self.misses
    }

    pub(crate) fn add(&mut self, is_hit: bool) {
        if self.count() >= MEMORY {
            let keep = (MEMORY - 1.0) / self.count();
            self.hits *= keep;
            self.misses *= keep;
        }
        *(if is_hit { &mut self.hits } else { &mut self.misses }) += 1.0;
    }

    /// The posterior mean below a prior mean.
    pub(crate) fn mean(self, prior: f64) -> f64 {
        (CONCENTRATION * prior + self.hits) / (CONCENTRATION + self.count())
    }

    /// Their weighted contribution to the trials of their kind.
    fn about_kind(self) -> Trials {
        let credit = CONCENTRATION / (CONCENTRATION + self.count());
        Trials { hits: credit * self.hits, misses: credit * self.misses }
    }
}

/// What rules say about the other rules of their kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Kinds {
    sums: [Trials; RuleKind::COUNT],
}

impl Kinds {
    /// Share of true rules among those of a kind.
    pub(crate) fn mean(&self, kind: RuleKind) -> f64 {
        let sum = self.sums[kind as usize];
        (GUESS_WEIGHT * kind.guess() + sum.hits) / (GUESS_WEIGHT + sum.count())
    }

    /// A rule of a kind went from some trials to others.
    pub(crate) fn moved(&mut self, kind: RuleKind, from: Trials, to: Trials) {
        let (from, to) = (from.about_kind(), to.about_kind());
        let sum = &mut self.sums[kind as usize];
        sum.hits = (sum.hits + to.hits - from.hits).max(0.0);
        sum.misses = (sum.misses + to.misses - from.misses).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few operations on numbers below one.
    const ROUNDING: f64 = 1e-12;

    fn trials(hits: u32, misses: u32) -> Trials {
        let mut trials = Trials::default();
        for i in 0..hits + misses {
            trials.add(i < hits);
        }
        trials
    }

    #[test]
    fn the_mean_is_the_share_of_hits_pulled_to_the_prior() {
        assert!((trials(0, 0).mean(0.3) - 0.3).abs() < ROUNDING);
        assert!((trials(3, 1).mean(0.5) - 3.5 / 5.0).abs() < ROUNDING);
    }

    #[test]
    fn a_rule_that_turns_false_is_forgotten() {
        let mut turned = trials(100_000, 0);
        for _ in 0..2 * MEMORY as u32 {
            turned.add(false);
        }
        assert!(turned.mean(0.5) < 0.2, "{}", turned.mean(0.5));
    }

    #[test]
    fn one_large_rule_counts_as_one_and_many_small_ones_add_up() {
        let mut one = Kinds::default();
        one.moved(RuleKind::Id, Trials::default(), trials(250, 0));
        let mut many = Kinds::default();
        for _ in 0..30 {
            many.moved(RuleKind::Id, Trials::default(), trials(10, 0));
        }
        let guess = RuleKind::Id.guess();
        assert!(one.mean(RuleKind::Id) - guess < (1.0 - guess) / GUESS_WEIGHT);
        assert!(many.mean(RuleKind::Id) > 0.95, "{}", many.mean(RuleKind::Id));
        assert!((many.mean(RuleKind::Case) - RuleKind::Case.guess()).abs() < ROUNDING);
    }

    #[test]
    fn what_is_taken_back_leaves_no_trace() {
        let mut kinds = Kinds::default();
        kinds.moved(RuleKind::Tail, Trials::default(), trials(5, 5));
        kinds.moved(RuleKind::Tail, trials(5, 5), Trials::default());
        assert!((kinds.mean(RuleKind::Tail) - RuleKind::Tail.guess()).abs() < ROUNDING);
    }
}
