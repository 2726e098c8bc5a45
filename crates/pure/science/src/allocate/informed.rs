//! Fetch rates where some pages announce every change \[K19\].
//!
//! A page that announces its changes is fetched when it does, with probability p: at the rate ρ = p·Δ,
//! and it is stale only after the changes that were passed over. Costs per unit of weight:
//!
//! | objective | silent page at rate f | announcing page |
//! |---|---|---|
//! | harmonic | ln(1 + Δ/f) | −ln p \[K19, Prop. 4\] |
//! | memoryless (binary) | Δ/(f + Δ) | 1 − p \[K19, eq. 13\] |
//!
//! Both are convex in the rate, so one price ω clears the whole budget. \[K19, Alg. 3\] searches the split
//! of the budget between the two groups instead; the tests compare. At a price ω a harmonic page takes
//! ρ = min(w/ω, Δ); a binary one takes Δ if w/Δ > ω and nothing below, and the page at the price takes
//! what is left.

use tidewatch_math::sum::sum;

use super::{AllocateError, Objective, Pages, pages};

/// Bisections of ln ω: the range of prices has 2⁸ times as many e-folds as a double has bits.
const HALVINGS: u32 = 96;
/// Prices are searched between e^−LOG_PRICE and e^LOG_PRICE: a weight over a rate is within 10^±100.
const LOG_PRICE: f64 = 240.0;

/// Fetch rates of silent pages and fetch probabilities of announcing ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Informed {
    /// Fetch rate of each silent page.
    pub rates: Vec<f64>,
    /// For each announcing page, the probability of a fetch at an announced change.
    pub probabilities: Vec<f64>,
    /// The price ω: marginal value of a fetch, in weight × time.
    pub price: f64,
}

impl Informed {
    /// Mean cost a page under these rates: harmonic for [`Objective::Harmonic`], otherwise binary
    /// \[K19, eq. 8, 12, 13\]. Infinite if a harmonic page is never fetched.
    pub fn cost(&self, silent: &Pages<'_>, announcing: &Pages<'_>, objective: Objective) -> f64 {
        let is_harmonic = objective == Objective::Harmonic;
        let columns = |pages: &Pages<'_>| -> Vec<(f64, f64)> {
            pages.weight.iter().copied().zip(pages.change_rate.iter().copied()).collect()
        };
        let rows = columns(silent).into_iter().zip(&self.rates);
        let silently = rows.filter(|((weight, change), _)| *weight > 0.0 && *change > 0.0);
        let silently = silently.map(|((weight, change), rate)| {
            let ratio = change / rate;
            weight * if is_harmonic { ratio.ln_1p() } else { 1.0 / (1.0 + ratio.recip()) }
        });
        let rows = columns(announcing).into_iter().zip(&self.probabilities);
        let announced = rows.filter(|((weight, change), _)| *weight > 0.0 && *change > 0.0);
        let announced =
            announced.map(|((weight, _), p)| weight * if is_harmonic { -p.ln() } else { 1.0 - p });
        sum(silently.chain(announced)) / (silent.len() + announcing.len()).max(1) as f64
    }
}

/// Best rates and probabilities for `budget` fetches per unit time; `objective` is
/// [`Objective::Harmonic`], or [`Objective::Memoryless`] for the binary cost. Bounds and hosts of the
/// pages are not used.
pub fn informed(
    silent: &Pages<'_>,
    announcing: &Pages<'_>,
    budget: f64,
    objective: Objective,
) -> Result<Informed, AllocateError> {
    if !pages::is_magnitude(budget) {
        return Err(AllocateError::Budget { budget });
    }
    silent.check(objective)?;
    announcing.check(objective)?;
    let demand = |log_price: f64| {
        let price = log_price.exp();
        sum(rates(silent, price, objective)) + sum(announced(announcing, price, objective))
    };
    let (mut cheap, mut dear) = (-LOG_PRICE, LOG_PRICE);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(cheap, dear);
        if demand(middle) > budget { cheap = middle } else { dear = middle }
    }
    let price = dear.exp();
    let spare = budget - demand(dear);
    let mut given: Vec<f64> = announced(announcing, price, objective).collect();
    if objective != Objective::Harmonic {
        share_rest(&mut given, announcing, cheap.exp(), spare);
    }
    let probability = |(rate, change): (&f64, &f64)| {
        if *change > 0.0 { (rate / change).min(1.0) } else { 1.0 }
    };
    Ok(Informed {
        rates: rates(silent, price, objective).collect(),
        probabilities: given.iter().zip(announcing.change_rate).map(probability).collect(),
        price,
    })
}

fn rates(pages: &Pages<'_>, price: f64, objective: Objective) -> impl Iterator<Item = f64> {
    let columns = pages.weight.iter().zip(pages.change_rate);
    columns.map(move |(weight, change)| objective.rate(price, *weight, *change))
}

/// Fetches per unit time of each announcing page at a price.
fn announced(pages: &Pages<'_>, price: f64, objective: Objective) -> impl Iterator<Item = f64> {
    let columns = pages.weight.iter().zip(pages.change_rate);
    columns.map(move |(&weight, &change)| match objective {
        Objective::Harmonic => (weight / price).min(change),
        _ if weight > price * change => change,
        _ => 0.0,
    })
}

/// Gives what is left of the budget to binary pages just below the price, in their order.
fn share_rest(given: &mut [f64], pages: &Pages<'_>, cheap: f64, mut spare: f64) {
    for (page, rate) in given.iter_mut().enumerate() {
        let (weight, change) = (pages.weight[page], pages.change_rate[page]);
        if *rate == 0.0 && spare > 0.0 && weight > 0.0 && weight >= cheap * change {
            *rate = change.min(spare);
            spare -= *rate;
        }
    }
}

/// Rates in proportion to weights \[K19, Prop. 9\]: the harmonic optimum where w/Δ is the same for all.
pub fn by_weight(pages: &Pages<'_>, budget: f64) -> Vec<f64> {
    let total = sum(pages.weight.iter().copied());
    let rate = |weight: &f64| if total > 0.0 { budget * (weight / total) } else { 0.0 };
    pages.weight.iter().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::super::allocate;
    use super::*;
    use proptest::prelude::*;
    use tidewatch_math::Draws;
    use tidewatch_math::special::normal_quantile;

    /// The bisection leaves 10⁻¹² of the price, the golden section 10⁻⁸ of the split, whose cost is flat.
    const CLOSE: f64 = 1e-9;

    /// Weights and change rates over decades.
    fn columns(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
        let mut draws = Draws::of(seed, "science.informed", 0);
        let mut power = |span: f64| 10f64.powf(span * (draws.uniform() - 0.5));
        (0..n).map(|_| (power(4.0), power(4.0))).unzip()
    }

    /// \[K19, Alg. 2\] as printed: clip what is above one, spread the rest anew.
    fn literal(weight: &[f64], change: &[f64], mut budget: f64) -> Vec<f64> {
        let mut p = vec![0.0; weight.len()];
        loop {
            let open: f64 = weight.iter().zip(&p).filter(|(_, p)| **p == 0.0).map(|(w, _)| w).sum();
            let guess: Vec<f64> =
                weight.iter().zip(change).map(|(w, c)| budget * w / (c * open)).collect();
            let full: Vec<usize> =
                (0..p.len()).filter(|&i| p[i] == 0.0 && guess[i] >= 1.0).collect();
            if full.is_empty() {
                for i in 0..p.len() {
                    p[i] = if p[i] == 0.0 { guess[i] } else { p[i] };
                }
                return p;
            }
            for i in full {
                p[i] = 1.0;
                budget -= change[i];
            }
        }
    }

    fn harmonic(weight: &[f64], change: &[f64], p: &[f64]) -> f64 {
        weight.iter().zip(change).zip(p).map(|((w, _), p)| -w * p.ln()).sum()
    }

    #[test]
    fn probabilities_are_those_of_the_printed_algorithm() {
        for seed in 0..20 {
            let (weight, change) = columns(30, seed);
            let budget = 0.3 * change.iter().sum::<f64>();
            let pages = Pages::new(&weight, &change);
            let plan = informed(&Pages::default(), &pages, budget, Objective::Harmonic).unwrap();
            for (ours, theirs) in plan.probabilities.iter().zip(literal(&weight, &change, budget)) {
                assert!((ours / theirs - 1.0).abs() < CLOSE, "{ours} {theirs}");
            }
        }
    }

    /// One price gives the split that \[K19, Alg. 3\] searches.
    #[test]
    fn one_price_finds_the_best_split() {
        for seed in 0..10 {
            let ((w1, c1), (w2, c2)) = (columns(25, seed), columns(15, 100 + seed));
            let (silent, loud) = (Pages::new(&w1, &c1), Pages::new(&w2, &c2));
            let budget = 0.2 * 40.0;
            let cost = |share: f64| {
                let rates = allocate(&silent, budget - share, Objective::Harmonic, None).unwrap();
                let silent: f64 =
                    (0..w1.len()).map(|i| w1[i] * (c1[i] / rates.rates[i]).ln_1p()).sum();
                silent + harmonic(&w2, &c2, &literal(&w2, &c2, share))
            };
            let (mut low, mut high) = (1e-9, budget.min(c2.iter().sum()) * (1.0 - 1e-9));
            for _ in 0..80 {
                let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
                if cost(a) < cost(b) { high = b } else { low = a }
            }
            let plan = informed(&silent, &loud, budget, Objective::Harmonic).unwrap();
            let ours = plan.cost(&silent, &loud, Objective::Harmonic) * 40.0;
            assert!((ours / cost(low) - 1.0).abs() < CLOSE, "{ours} {}", cost(low));
        }
    }

    /// The binary optimum is greedy: no page without its full share is worth more than one with some.
    #[test]
    fn binary_pages_are_served_in_the_order_of_worth() {
        let ((w1, c1), (w2, c2)) = (columns(25, 1), columns(25, 2));
        let (silent, loud) = (Pages::new(&w1, &c1), Pages::new(&w2, &c2));
        let plan = informed(&silent, &loud, 8.0, Objective::Memoryless).unwrap();
        let spent = plan.rates.iter().sum::<f64>()
            + plan.probabilities.iter().zip(&c2).map(|(p, c)| p * c).sum::<f64>();
        assert!((spent / 8.0 - 1.0).abs() < CLOSE, "{spent}");
        for (i, p) in plan.probabilities.iter().enumerate() {
            for (j, q) in plan.probabilities.iter().enumerate() {
                assert!(!(*p > 0.0 && *q < 1.0 && w2[i] / c2[i] < w2[j] / c2[j] * (1.0 - CLOSE)));
            }
        }
    }

    /// Published \[K19, Fig. 1, 2\]: harmonic costs 1 : 1.39 : 1.56 for the optimum, rates by weight, and
    /// the binary optimum with a floor of 0.4 even shares; 0.53 where all changes are announced. Their 18
    /// million pages cannot be had here. What holds for every population: the optimum is the least, and
    /// announcements pay. The ratios are those of the population: over the lognormal ones below, weight
    /// costs 1.03 to 1.66, the floor 1.02 to 1.31, announcements 0 to 0.67, and which of weight and floor
    /// is better differs.
    #[test]
    fn published_orders_hold_and_ratios_depend_on_the_pages() {
        let n = 500;
        let (mut weight_wins, mut floor_wins) = (0, 0);
        for (number, (log_rate, rate_spread, weight_spread)) in [
            (-3.0, 1.0, 2.0),
            (-2.0, 1.5, 1.0),
            (-2.0, 2.0, 0.5),
            (-1.0, 1.0, 1.0),
            (-1.0, 2.0, 2.0),
        ]
        .into_iter()
        .enumerate()
        {
            let mut draws = Draws::of(5, "science.informed.published", number as u64);
            let mut normal = || normal_quantile(draws.uniform_open());
            let (weight, change): (Vec<f64>, Vec<f64>) = (0..n)
                .map(|_| {
                    let rate = (log_rate + rate_spread * normal()).exp().clamp(5e-4, 7.0);
                    ((weight_spread * normal()).exp(), rate)
                })
                .unzip();
            let (pages, none) = (Pages::new(&weight, &change), Pages::default());
            // The paper's budget: a fifth of the pages a day.
            let budget = 0.2 * n as f64;
            let best = informed(&pages, &none, budget, Objective::Harmonic).unwrap();
            let optimum = best.cost(&pages, &none, Objective::Harmonic);
            let cost = |rates: Vec<f64>| {
                let plan = Informed { rates, ..best.clone() };
                plan.cost(&pages, &none, Objective::Harmonic) / optimum
            };
            let by_weight = cost(by_weight(&pages, budget));
            let floor = vec![0.4 * 0.2; n];
            let bounded = Pages { min: Some(&floor), ..pages };
            let plan = allocate(&bounded, budget, Objective::Memoryless, None).unwrap();
            let floored = cost(plan.rates);
            let told = informed(&none, &pages, budget, Objective::Harmonic).unwrap();
            let announced = told.cost(&none, &pages, Objective::Harmonic) / optimum;
            assert!(by_weight > 1.0 && floored > 1.0, "{by_weight} {floored}");
            assert!(announced < 1.0, "{announced}");
            if by_weight < floored { weight_wins += 1 } else { floor_wins += 1 }
        }
        assert!(weight_wins > 0 && floor_wins > 0, "{weight_wins} {floor_wins}");
    }

    proptest! {
        /// Any magnitudes give numbers, within the budget.
        #[test]
        fn all_magnitudes_give_plans(
            rows in proptest::collection::vec((-30.0..30.0_f64, -30.0..30.0_f64), 1..12),
            budget in -30.0..30.0_f64,
            is_harmonic: bool,
        ) {
            let weight: Vec<f64> = rows.iter().map(|row| 10f64.powf(row.0)).collect();
            let change: Vec<f64> = rows.iter().map(|row| 10f64.powf(row.1)).collect();
            let budget = 10f64.powf(budget);
            let (half, n) = (rows.len() / 2, rows.len());
            let silent = Pages::new(&weight[..half], &change[..half]);
            let loud = Pages::new(&weight[half..n], &change[half..n]);
            let objective = if is_harmonic { Objective::Harmonic } else { Objective::Memoryless };
            let plan = informed(&silent, &loud, budget, objective).unwrap();
            prop_assert!(plan.rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0));
            prop_assert!(plan.probabilities.iter().all(|p| (0.0..=1.0).contains(p)));
            let spent: f64 = plan.rates.iter().sum::<f64>()
                + plan.probabilities.iter().zip(loud.change_rate).map(|(p, c)| p * c).sum::<f64>();
            prop_assert!(spent <= budget * (1.0 + CLOSE), "{spent} of {budget}");
        }
    }
}
