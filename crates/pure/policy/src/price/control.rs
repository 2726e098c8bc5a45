//! Keeps the price where the budget is spent, between two solutions of the market.
//!
//! The solved price holds on average. By day more is worth fetching than at night, and beliefs are wrong
//! in unknown ways. So the price is multiplied by a factor that rises while due pages have to wait, and
//! falls while nothing is due and allowances would lapse: an integral controller on the logarithm, so
//! that it works alike at any price.

use serde::{Deserialize, Serialize};
use tidewatch_core::{Span, Time};

/// While everything waits, or nothing is due, the price changes e-fold in this time…
const PACE: Span = Span::HOUR.times(2);
/// …but at most by this share from one choice to the next, and by this much in all.
const MOST_STEP: f64 = 0.05;
const MOST_FACTOR: f64 = 1e4;

/// How a choice went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// Something worth the price had been waiting.
    Waiting,
    /// Something had just become worth the price.
    InTime,
    /// Nothing was worth the price.
    Slack,
}

/// The factor on the price.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Controller {
    log: f64,
    last: Option<Time>,
}

impl Controller {
    /// The factor now.
    pub(super) fn factor(&self) -> f64 {
        self.log.exp()
    }

    /// Takes note of a choice.
    pub(super) fn note(&mut self, now: Time, load: Load) {
        let passed = self.last.map_or(Span::ZERO, |last| now.since(last));
        self.last = Some(now);
        let step = (passed.seconds() / PACE.seconds()).min(MOST_STEP);
        let most = MOST_FACTOR.ln();
        let sign = match load {
            Load::Waiting => 1.0,
            Load::InTime => 0.0,
            Load::Slack => -1.0,
        };
        self.log = (self.log + sign * step).clamp(-most, most);
    }

    /// The market was solved again, so the part of the correction that the solution has taken over is
    /// dropped. `solved` is the new price over the old.
    pub(super) fn solved(&mut self, solved: f64) {
        let moved = solved.ln();
        if moved.is_finite() && moved * self.log > 0.0 {
            self.log -= moved.abs().min(self.log.abs()) * self.log.signum();
        }
    }

    /// Resets the factor, for a budget that jumped.
    pub(super) fn reset(&mut self) {
        self.log = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_math::Draws;

    /// `level` items of value 1/u arrive per allowance, of which a share ρ = level/ω is worth ω; then ten
    /// times as many. They queue as in M/D/1, with chances
    /// 1 − ρ, (1 − ρ)(e^ρ − 1) and (1 − ρ)(e^2ρ − (1 + ρ)e^ρ) of none, one and two; slack is as frequent
    /// as waiting, which leaves the price in balance, at ρ = 0.74.
    #[test]
    fn the_price_settles_where_demand_meets_the_budget() {
        const STEPS: usize = 40_000;
        let mut control = Controller::default();
        let mut draws = Draws::of(2, "price.control", 0);
        let (mut waiting, mut now) = (Vec::<f64>::new(), Time::ZERO);
        for level in [10, 100] {
            let mut logs = 0.0;
            for step in 0..STEPS {
                now = now + Span::SECOND.times(10);
                waiting.extend((0..level).map(|_| draws.uniform().recip()));
                // What is not worth the price is not kept, as in the policy.
                waiting.retain(|value| *value >= control.factor());
                let load = match waiting.len() {
                    0 => Load::Slack,
                    1 | 2 => Load::InTime,
                    _ => Load::Waiting,
                };
                waiting.pop();
                control.note(now, load);
                logs += if step >= STEPS / 2 { control.factor().ln() } else { 0.0 };
            }
            let mean = (logs / (STEPS / 2) as f64).exp();
            // The price moves by a few per cent about its mean; ten items are not quite Poisson.
            assert!((mean * 0.74 / f64::from(level) - 1.0).abs() < 0.05, "{level}: {mean}");
        }
    }

    #[test]
    fn a_solution_takes_over() {
        let mut control = Controller { log: 2.0, ..Controller::default() };
        control.solved(1.5f64.exp());
        assert!((control.log - 0.5).abs() < 1e-12);
        control.solved(9.0);
        assert!(control.log.abs() < 1e-12);
        control.solved(0.1);
        assert!(control.log.abs() < 1e-12);
    }
}
