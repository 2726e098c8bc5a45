//! Views and clicks of pages, day by day.

use rand_distr::{Binomial, Distribution, Poisson};
use rayon::prelude::*;
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_trace::Count;

use super::Config;
use super::population::{Appeal, Population};
use crate::generate::shared::instant;

const SECONDS_PER_DAY: f64 = 86_400.0;
/// Range of the click-through rate, uniform over pages.
const CLICK_THROUGH: (f64, f64) = (0.1, 0.5);

/// Views and clicks, each by (page, at). Both continue for `config.horizon` after the end, so that
/// late pages are clicked too. Clicks are a thinning of views.
pub(super) fn draw(config: &Config, who: &Population, seed: u64) -> (Vec<Count>, Vec<Count>) {
    let label = purpose("graph.clicks");
    let rows: Vec<(Count, f64)> = (0..who.len())
        .into_par_iter()
        .flat_map_iter(|page| days(config, who, page, Draws::keyed(seed, label, page as u64)))
        .collect();
    let clicks = rows
        .iter()
        .filter(|(_, clicks)| *clicks > 0.0)
        .map(|(view, clicks)| Count { count: *clicks, ..*view })
        .collect();
    (rows.into_iter().map(|(view, _)| view).collect(), clicks)
}

/// The days on which a page was viewed, with the clicks of that day.
fn days(config: &Config, who: &Population, page: usize, mut draws: Draws) -> Vec<(Count, f64)> {
    let (low, high) = CLICK_THROUGH;
    let usual = low + (high - low) * draws.uniform();
    let (impact, through) = match who.appeal[page] {
        Appeal::None => return Vec::new(),
        Appeal::Shown(impact) => (impact, 0.0),
        Appeal::Clicked(impact) => (impact, usual),
    };
    let days = config.duration.seconds() / SECONDS_PER_DAY;
    let views_per_day = impact * config.clicks_per_page / usual / days;
    let (born, end) = (who.born[page], config.duration.seconds() + config.horizon.seconds());
    let mut rows = Vec::new();
    let mut day = (born / SECONDS_PER_DAY).floor();
    while day * SECONDS_PER_DAY < end {
        let from = born.max(day * SECONDS_PER_DAY);
        let until = end.min((day + 1.0) * SECONDS_PER_DAY);
        let mean = views_per_day * (until - from) / SECONDS_PER_DAY;
        let views: f64 = Poisson::new(mean).map_or(0.0, |law| law.sample(&mut draws));
        if views > 0.0 {
            let at = instant(from + (until - from) * draws.uniform());
            let clicks =
                Binomial::new(views as u64, through).map_or(0, |law| law.sample(&mut draws));
            rows.push((Count { page: page as u32, at, count: views }, clicks as f64));
        }
        day += 1.0;
    }
    rows
}
