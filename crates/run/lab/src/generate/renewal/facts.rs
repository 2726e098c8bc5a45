//! Compares the web with the figures it is calibrated to.

use tidewatch_core::{Span, Time};
use tidewatch_trace::Trace;

use super::{Config, GapLaw, PageLaw, Rates, SECONDS_PER_DAY, Weights, clock};
use crate::generate::Fact;
use crate::generate::shared::{known, mean, shape, squared_cv, top_share};

/// Share of the pages with most weight.
const TOP: f64 = 0.01;
/// Fewest expected changes of a page for the index of dispersion.
const FEWEST: f64 = 1.0;

pub(super) fn facts(
    config: &Config,
    laws: &[PageLaw],
    weights: &[f64],
    trace: &Trace,
    seed: u64,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    rates(config, laws, &mut facts);
    first_changes(trace, &mut facts);
    by_law(config, laws, trace, seed, &mut facts);
    facts.push(top_weight(config, weights));
    facts
}

fn rates(config: &Config, laws: &[PageLaw], facts: &mut Vec<Fact>) {
    let daily: Vec<f64> = laws.iter().map(|l| l.rate * SECONDS_PER_DAY).collect();
    let (what_mean, what_cv) =
        ("mean change rate, per day", "squared coefficient of variation of change rates");
    if let Rates::Gamma { mean_per_day, squared_cv: cv2 } = config.rates {
        let source = "setting, gamma law [CGM03, eq. 5.6-5.7]";
        facts.push(known(what_mean, mean_per_day, mean(&daily), source));
        facts.push(known(what_cv, cv2, squared_cv(&daily), source));
    } else {
        facts.push(shape(what_mean, mean(&daily), "setting, list"));
        facts.push(shape(what_cv, squared_cv(&daily), "setting, list"));
    }
}

/// Share of pages changed within the first day, and within ten days.
fn first_changes(trace: &Trace, facts: &mut Vec<Fact>) {
    let changes = trace.changes.as_deref().unwrap_or_default();
    let changed_by = |age: Span| {
        let by = Time::ZERO + age;
        let firsts = changes.chunk_by(|a, b| a.page == b.page);
        firsts.filter(|of_page| of_page[0].at < by).count() as f64 / trace.pages.len() as f64
    };
    let source = "[WSY02, introduction]";
    facts.push(known("share of pages changed within a day", 0.23, changed_by(Span::DAY), source));
    let ten = changed_by(Span::DAY.times(10));
    facts.push(known("share of pages changed within ten days", 0.5, ten, source));
}

/// For each law: changes per expected change, and the index of dispersion.
fn by_law(config: &Config, laws: &[PageLaw], trace: &Trace, seed: u64, facts: &mut Vec<Fact>) {
    let mut counts = vec![0.0_f64; laws.len()];
    for change in trace.changes.iter().flatten() {
        counts[change.page as usize] += 1.0;
    }
    let active: Vec<f64> = (0..laws.len()).map(|page| clock(config, seed, page).total()).collect();
    for (at, &(law, _)) in config.laws.iter().enumerate() {
        if !law.has_mean() || config.laws[..at].iter().any(|l| l.0 == law) {
            continue;
        }
        let (mut expected, mut came, mut time) = (0.0, 0.0, 0.0);
        let mut spreads = Vec::new();
        let of_law = laws.iter().zip(&counts).zip(&active);
        for ((page, &count), &active) in of_law.filter(|((p, _), _)| p.law == law && p.rate > 0.0) {
            let mean = page.rate * active;
            expected += mean;
            came += count;
            if mean >= FEWEST {
                spreads.push((count - mean).powi(2) / mean);
            }
            time += active;
        }
        if time <= 0.0 {
            continue;
        }
        let name = law.name();
        let stationary = "exact for a stationary process";
        facts.push(known(
            &format!("{name}: changes per expected change"),
            1.0,
            came / expected,
            stationary,
        ));
        let gap = time / came / SECONDS_PER_DAY;
        let wanted = time / expected / SECONDS_PER_DAY;
        facts.push(known(
            &format!("{name}: page-days per change"),
            wanted,
            gap,
            "1 / mean drawn rate",
        ));
        let spread = mean(&spreads);
        let what = format!("{name}: index of dispersion of the number of changes");
        facts.push(if law == GapLaw::Poisson {
            known(&what, 1.0, spread, "exact for a Poisson process")
        } else {
            shape(&what, spread, "above 1 bursty, below 1 regular")
        });
    }
}

fn top_weight(config: &Config, weights: &[f64]) -> Fact {
    let ours = top_share(weights, TOP);
    let what = "share of weight on the top 1 % of pages";
    if let Weights::Embarrassment { .. } = config.weights {
        return shape(what, ours, "a product of skewed factors [WSY02]");
    }
    let exponent = config.weights.exponent();
    let zipf = |n: usize| (1..=n).map(|r| (r as f64).powf(-exponent)).sum::<f64>();
    let top = (TOP * weights.len() as f64).ceil() as usize;
    known(what, zipf(top) / zipf(weights.len()), ours, "setting, Zipf's law")
}
