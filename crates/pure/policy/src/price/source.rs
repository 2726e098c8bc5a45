//! A page watched for new links, and what a visit to it is worth.

use tidewatch_math::roots::{Stop, solve};
use tidewatch_math::special::{g, g_inv};

/// A page watched for new links.
///
/// It shows λ new pages a second, each worth v·e^(−μa) at age a, of which only those worth the price
/// are fetched: a page brings the surplus (v·e^(−μa) − ω)₊, until a* = ln(v/ω)/μ. What a visit after
/// τ gains over one at every instant is lost to all pages of age below τ,
/// ```text
/// W(τ) = λE[∫₀^τ s(a) da − τ·s(τ)],  s(a) = (v·e^(−μa) − ω)₊
///      = λE[ (v/μ)·g(μτ)                      for τ ≤ a*,
///            (v − ω)/μ − (ω/μ)·ln(v/ω)        beyond ],  g(x) = 1 − (1 + x)e⁻ˣ,
/// ```
/// and a visit is due when W(τ) = ω. Below a* this is the condition of `[LOSS13, eq. 4]` in the
/// continuous limit; beyond, waiting loses nothing more, so that a source whose pages together leave
/// less surplus than a visit costs is never visited, and one with v ≤ ω neither, however many links it
/// shows. `[LOSS13]` counts neither.
///
/// Predicted values v of one source's pages are log-normal about their mean; the expectation
/// is taken at three points (Gauss–Hermite).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// New pages a second, λ.
    pub arrivals: f64,
    /// Mean clicks of a page fetched at birth, P.
    pub profit: f64,
    /// The rate per second at which they are lost, μ.
    pub decay: f64,
    /// Standard deviation of ln v.
    pub spread: f64,
}

/// Nodes and weights for a standard normal variable, exact for polynomials up to degree five.
const NORMAL_3: [(f64, f64); 3] =
    [(-1.732_050_807_568_877_2, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.732_050_807_568_877_2, 1.0 / 6.0)];
/// Relative precision of waits: far finer than the beliefs.
const WAIT_WIDTH: f64 = 1e-9;

impl Source {
    /// Values v with their chances.
    fn values(&self) -> [(f64, f64); 3] {
        NORMAL_3.map(|(x, chance)| {
            let log = self.spread * x - 0.5 * self.spread * self.spread;
            (self.profit * log.exp(), chance)
        })
    }

    fn is_sound(&self) -> bool {
        let all = [self.arrivals, self.profit, self.decay];
        all.iter().all(|x| *x > 0.0 && x.is_finite()) && self.spread.is_finite()
    }

    /// W(τ), clicks.
    pub fn worth(&self, elapsed: f64, price: f64) -> f64 {
        if !self.is_sound() {
            return 0.0;
        }
        let sum: f64 = self
            .values()
            .iter()
            .filter(|(value, _)| *value > price)
            .map(|&(value, chance)| chance * lost(value, self.decay, elapsed, price))
            .sum();
        self.arrivals * sum
    }

    /// The time after which a visit is worth the price; infinite where it never is.
    pub fn wait(&self, price: f64) -> f64 {
        let never = f64::INFINITY;
        if !self.is_sound() || self.worth(never, price) <= price {
            return never;
        }
        if price <= 0.0 {
            return 0.0;
        }
        let values = self.values();
        // W is at most that of values that never saturate.
        let all: f64 = values.iter().filter(|v| v.0 > price).map(|v| v.0 * v.1).sum();
        let low = g_inv((price * self.decay / (self.arrivals * all)).min(1.0)) / self.decay;
        let high = values.iter().map(|v| (v.0 / price).ln() / self.decay).fold(low, f64::max);
        let short = |tau: f64| self.worth(tau, price) - price;
        // At `low` the worth is the price where nothing saturates; rounding may say otherwise.
        if short(low) >= 0.0 || low >= high {
            return low;
        }
        solve(short, (low, high), Stop::relative(WAIT_WIDTH)).map_or(high, |root| root.x)
    }

    /// Pages a second that are fetched when it is visited every `wait`.
    pub fn pages(&self, wait: f64, price: f64) -> f64 {
        if !self.is_sound() || !wait.is_finite() {
            return 0.0;
        }
        let part = |value: f64| {
            if value <= price {
                return 0.0;
            }
            let until = (value / price).ln() / self.decay;
            (until / wait).min(1.0)
        };
        self.arrivals * self.values().iter().map(|&(v, chance)| chance * part(v)).sum::<f64>()
    }

    /// Clicks a second that its pages bring when it is visited every `wait`.
    pub fn brings(&self, wait: f64, price: f64) -> f64 {
        if !self.is_sound() || !wait.is_finite() || wait <= 0.0 {
            return 0.0;
        }
        let mean = |value: f64| {
            let until = if price > 0.0 { (value / price).ln() / self.decay } else { wait };
            let age = wait.min(until).max(0.0);
            value * -(-self.decay * age).exp_m1() / (self.decay * wait)
        };
        self.arrivals * self.values().iter().map(|&(v, chance)| chance * mean(v)).sum::<f64>()
    }
}

/// ∫₀^τ s − τs(τ) for a page of value v > ω. At a* = ln(v/ω)/μ both forms are the same, so beyond it the
/// first one stands still.
fn lost(value: f64, decay: f64, elapsed: f64, price: f64) -> f64 {
    let most = if price > 0.0 { (value / price).ln() } else { f64::INFINITY };
    value / decay * g((decay * elapsed).min(most))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidewatch_math::quadrature::{Aim, integrate};

    use super::*;
    use crate::echo::{Charge, Terms, solve as echo_solve};
    use crate::price::Value;

    const SOURCE: Source =
        Source { arrivals: 1e-3, profit: 5.0, decay: 1.0 / 40_000.0, spread: 0.8 };

    /// Quadrature is asked for 10⁻⁹ of values of order one to a hundred.
    const QUADRATURE: f64 = 1e-7;

    /// The integral as it is defined, value by value, up to the corner where the surplus ends.
    fn literal(source: &Source, elapsed: f64, price: f64) -> f64 {
        let aim = Aim { absolute: 1e-10, relative: 1e-10, evaluations: 1_000_000 };
        let of = |&(v, chance): &(f64, f64)| {
            let surplus = |age: f64| (v * (-source.decay * age).exp() - price).max(0.0);
            let corner = ((v / price).ln() / source.decay).clamp(0.0, elapsed);
            let area = integrate(surplus, 0.0, corner, aim).unwrap().value;
            chance * (area - elapsed * surplus(elapsed))
        };
        source.arrivals * source.values().iter().map(of).sum::<f64>()
    }

    proptest! {
        #[test]
        fn a_visit_is_worth_its_definition(
            spread in 0.0f64..1.5, price in 0.01f64..20.0, elapsed in 1.0f64..400_000.0,
        ) {
            let source = Source { spread, ..SOURCE };
            let (closed, slow) = (source.worth(elapsed, price), literal(&source, elapsed, price));
            prop_assert!((closed - slow).abs() < QUADRATURE * (1.0 + slow), "{closed} {slow}");
        }

        #[test]
        fn the_wait_meets_the_price(
            arrivals in 1e-6f64..1.0, profit in 0.01f64..100.0, spread in 0.0f64..1.5,
            price in 1e-3f64..50.0,
        ) {
            let source = Source { arrivals, profit, spread, ..SOURCE };
            let wait = source.wait(price);
            if wait.is_finite() {
                let worth = source.worth(wait, price);
                prop_assert!((worth / price - 1.0).abs() < 1e-6, "{wait} {worth}");
            } else {
                prop_assert!(source.worth(1e12, price) <= price);
            }
        }

        #[test]
        fn demand_falls_with_the_price(price in 1e-3f64..50.0, factor in 1.0f64..3.0) {
            let value = Value::Source(SOURCE);
            prop_assert!(value.demand(price * factor) <= value.demand(price) * (1.0 + 1e-6));
        }
    }

    /// Where pages are worth far more than a fetch, the wait is that of Algorithm 1: its price is of a
    /// visit alone, and pages cost nothing against what they bring.
    #[test]
    fn rich_sources_are_visited_as_by_algorithm_1() {
        let terms: Vec<Terms> = (1..=5)
            .map(|i| Terms {
                profit: 1000.0 * f64::from(i),
                decay: 1e-5 * f64::from(i),
                arrivals: 1e-2 / f64::from(i),
            })
            .collect();
        let schedule = echo_solve(&terms, 0.1, Charge::VisitsAndPages);
        for (terms, interval) in terms.iter().zip(&schedule.intervals) {
            let source = Source {
                arrivals: terms.arrivals,
                profit: terms.profit,
                decay: terms.decay,
                spread: 0.0,
            };
            // The paper's p = P/(1 − e^(−μ/λ)) and λP/μ agree to the first order of μ/λ.
            let first_order = terms.decay / terms.arrivals;
            let wait = source.wait(schedule.price);
            assert!((wait / interval - 1.0).abs() < first_order, "{wait} {interval}");
        }
    }

    #[test]
    fn dull_sources_are_never_visited_however_busy() {
        let busy = Source { arrivals: 1e6, profit: 0.9, spread: 0.0, ..SOURCE };
        assert!(busy.wait(1.0).is_infinite() && busy.wait(0.5) < 1.0);
    }

    #[test]
    fn nonsense_is_worth_nothing() {
        for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let source = Source { profit: bad, ..SOURCE };
            assert!(source.worth(1.0, 1.0) <= 0.0 && source.wait(1.0).is_infinite());
            assert!(Value::Source(source).demand(1.0) <= 0.0);
        }
    }
}
