//! New pages: time of birth, category, topic and popularity.

use rand_distr::{Distribution, StandardNormal};
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_math::sample::Rhythm;

use super::super::rhythm::weekly;
use super::config::EchoConfig;
use super::site::Site;
use super::words::{CATEGORIES, TOPICS};

const PAGE: u64 = purpose("echo.page");
const TOPIC: u64 = purpose("echo.topic");
/// Hour of the day at which most is published: around noon in `[DEN22]`.
const PUBLICATION_PEAK_HOUR: f64 = 12.5;

/// A page from the moment of its publication.
pub(super) struct Birth {
    /// Seconds from the start; negative before it.
    pub(super) at: f64,
    /// Index into the site's categories…
    pub(super) category: u16,
    /// …and into a second one, if it is shown there too.
    pub(super) second: Option<u16>,
    pub(super) topic: u16,
    /// Standardised logarithm of its popularity.
    pub(super) score: f64,
    /// Editors' preference; standard normal within a site.
    pub(super) liking: f64,
    /// Mean seconds that interest lasts; infinite if it does not decay.
    pub(super) decay: f64,
}

/// The key of a page's random numbers.
pub(super) fn key(site: &Site, page: usize) -> u64 {
    (u64::from(site.number) << 32) | page as u64
}

/// The rhythm of publication.
pub(super) fn rhythm(config: &EchoConfig) -> Rhythm {
    weekly(config.publication_swing, config.weekend_publication, PUBLICATION_PEAK_HOUR)
}

/// All pages of a site from the burn-in to the end, by time: a Poisson process modulated by the rhythm.
pub(super) fn publish(config: &EchoConfig, seed: u64, site: &Site, rhythm: &Rhythm) -> Vec<Birth> {
    let gaps = Draws::of(seed, "echo.birth", u64::from(site.number));
    let (from, until) = (-config.burn_in.seconds(), config.duration.seconds());
    let times = rhythm.arrivals(site.rate, from, until, gaps).into_iter().flatten();
    let page = |(index, at): (usize, f64)| {
        birth(config, seed, site, at, Draws::keyed(seed, PAGE, key(site, index)))
    };
    times.enumerate().map(page).collect()
}

fn birth(config: &EchoConfig, seed: u64, site: &Site, at: f64, mut draws: Draws) -> Birth {
    let category = pick_category(site, draws.uniform());
    // Squaring makes the first topics of a category more frequent.
    let topic = (draws.uniform().powi(2) * TOPICS as f64) as u64;
    let other = pick_category(site, draws.uniform());
    let second = draws.chance(config.second_category_share).then_some(other);
    let mut normal = || -> f64 { StandardNormal.sample(&mut draws) };
    let own = merit(config, seed, site, category, topic, normal());
    let host = config.host_share.sqrt() * site.appeal;
    let of_category = config.category_share.sqrt() * site.categories[category].appeal;
    let own_share = (1.0 - config.host_share - config.category_share).max(0.0).sqrt();
    let score = host + of_category + own_share * own;
    let liking = mix(config.editor_correlation, own, normal());
    let decay = decay(config, site, category, score, normal());
    let lasting = draws.chance(config.lasting_share);
    Birth {
        at,
        category: category as u16,
        second: second.filter(|&other| other != category).map(|other| other as u16),
        topic: topic as u16,
        score,
        liking,
        decay: if lasting { f64::INFINITY } else { decay },
    }
}

fn pick_category(site: &Site, quantile: f64) -> usize {
    site.categories
        .partition_point(|category| category.upto <= quantile)
        .min(site.categories.len() - 1)
}

/// A standard normal that has the given correlation with `known`.
fn mix(correlation: f64, known: f64, fresh: f64) -> f64 {
    correlation * known + (1.0 - correlation * correlation).max(0.0).sqrt() * fresh
}

/// Popularity within host and category: the parts of the topic and of the page.
fn merit(
    config: &EchoConfig,
    seed: u64,
    site: &Site,
    category: usize,
    topic: u64,
    own: f64,
) -> f64 {
    let name = site.categories[category].name as u64;
    debug_assert!(name < CATEGORIES.len() as u64);
    let fame = StandardNormal.sample(&mut Draws::keyed(seed, TOPIC, name * TOPICS + topic));
    let within = 1.0 - config.host_share - config.category_share;
    let share = if within > 0.0 { (config.topic_share / within).min(1.0) } else { 0.0 };
    mix(share.sqrt(), fame, own)
}

/// Mean seconds that interest in a page lasts: lognormal, partly explained by category and by
/// popularity.
fn decay(config: &EchoConfig, site: &Site, category: usize, score: f64, own: f64) -> f64 {
    let (shared, with_score) = (config.decay_category_share, config.decay_correlation);
    let rest = (1.0 - shared - with_score * with_score).max(0.0).sqrt();
    let pace = shared.sqrt() * site.categories[category].pace + with_score * score + rest * own;
    let blog = if site.is_blog { config.blog_decay_factor } else { 1.0 };
    3600.0 * config.decay_hours * blog * (config.decay_spread * pace).exp()
}

#[cfg(test)]
mod tests {
    use super::super::site;
    use super::*;

    #[test]
    fn births_come_in_order_at_the_host_rate() {
        let config = EchoConfig { scale: 0.05, ..EchoConfig::default() };
        let sites = site::plan(&config, 5);
        let rhythm = rhythm(&config);
        let busiest = sites.iter().max_by(|a, b| a.rate.total_cmp(&b.rate)).unwrap();
        let births = publish(&config, 5, busiest, &rhythm);
        assert!(births.windows(2).all(|two| two[0].at <= two[1].at));
        let expected = busiest.rate * (config.burn_in + config.duration).seconds();
        // Four standard deviations of a Poisson count.
        assert!((births.len() as f64 - expected).abs() < 4.0 * expected.sqrt());
        assert!(births[0].at >= -config.burn_in.seconds());
    }

    #[test]
    fn a_mix_keeps_unit_variance_and_correlation() {
        let (mut square, mut product) = (0.0, 0.0);
        for item in 0..20_000 {
            let mut draws = Draws::new(1, item);
            let (known, fresh): (f64, f64) =
                (StandardNormal.sample(&mut draws), StandardNormal.sample(&mut draws));
            let mixed = mix(0.3, known, fresh);
            square += mixed * mixed / 20_000.0;
            product += mixed * known / 20_000.0;
        }
        // Standard errors are √(2/20000) = 0.01 and about 0.0074; four of them.
        assert!((square - 1.0).abs() < 0.04, "{square}");
        assert!((product - 0.3).abs() < 0.03, "{product}");
    }
}
