//! Pages with binary changes: the model of refresh-frequency theory.
//!
//! Each page has a long-run change rate λ, drawn from a gamma law as in
//! `[CGM03]`, a law of gaps as in `[WSY02]`, and a weight. Changes are a stationary renewal process (see
//! [`GapLaw`]), so that time averages over the trace estimate what the theory computes. There are no
//! links; every page is known from the start.
//!
//! The defaults are solved for two published figures: 23 % of web pages change
//! within a day, half of them within ten days `[WSY02]`. With Poisson pages and
//! gamma rates (mean m, squared coefficient of variation δ²) the chance of no
//! change within t is (1 + mδ²t)^(−1/δ²), and the two figures give m = 0.506 a
//! day and δ² = 4.60. The default mixture of laws keeps these rates; the facts show its figures.

mod course;
mod facts;
mod law;
mod weights;

pub use course::Course;
pub use law::{GapLaw, PageLaw, UpdateSlots};
pub use weights::{RankOrder, Weights};

use course::Clock;
use rayon::prelude::*;
use tidewatch_core::{Span, Time};
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_math::sample::GammaRates;
use tidewatch_trace::{Change, Trace, TracePage};

use super::Generated;
use super::shared::{BadSetting, Checker, MOST_ITEMS, assign_hosts, instant, scaled};

const SECONDS_PER_DAY: f64 = 86_400.0;

/// Settings of the renewal web.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Multiplies `pages` and `hosts`.
    pub scale: f64,
    /// Number of pages.
    pub pages: usize,
    /// Largest number of hosts; small ones may stay without a page.
    pub hosts: usize,
    /// Exponent of Zipf's law of host sizes; 0 = equal.
    pub host_exponent: f64,
    /// Length of the trace.
    pub duration: Span,
    /// Change rates of the pages.
    pub rates: Rates,
    /// Laws of gaps and the share of pages under each; shares need not sum to 1.
    pub laws: Vec<(GapLaw, f64)>,
    /// Weights of the pages.
    pub weights: Weights,
    /// How change rates move over time.
    pub course: Course,
}

/// Where change rates come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Rates {
    /// A gamma law `[CGM03]`: shape 1/δ², scale mean·δ².
    Gamma {
        /// Changes a day, on average over pages.
        mean_per_day: f64,
        /// δ² = variance / mean²; 0 = all pages equal.
        squared_cv: f64,
    },
    /// This list, in changes a day, repeated over the pages.
    Fixed(Vec<f64>),
}

impl Default for Config {
    /// Ten thousand pages under a mixture of laws, as `[WSY02]` describes it: often Weibull, sometimes
    /// Pareto, rarely Poisson, some quasi-deterministic.
    fn default() -> Self {
        Config {
            scale: 1.0,
            pages: 10_000,
            hosts: 500,
            host_exponent: 0.8,
            duration: Span::DAY.times(60),
            rates: Rates::Gamma { mean_per_day: 0.506, squared_cv: 4.60 },
            laws: vec![
                (GapLaw::Poisson, 0.2),
                (GapLaw::Weibull { shape: 0.7 }, 0.4),
                (GapLaw::Pareto { shape: 1.5 }, 0.2),
                (GapLaw::Quasi { slots: 8, chance: 0.5 }, 0.2),
            ],
            weights: Weights::Zipf { exponent: 0.8, order: RankOrder::Random },
            course: Course::Steady,
        }
    }
}

impl Config {
    /// Poisson pages of equal weight: the model of `[CGM03]`.
    pub fn poisson() -> Self {
        Config { laws: vec![(GapLaw::Poisson, 1.0)], weights: Weights::Equal, ..Config::default() }
    }

    /// Pages that stop changing for good, on average in the middle of the trace.
    pub fn stopping() -> Self {
        let usual = Config::default();
        let mean = Span::from_micros(usual.duration.as_micros() / 2);
        Config { course: Course::Stops { mean }, ..usual }
    }

    /// Pages whose rates drift: within ten days most of what is known of a rate is out of date.
    pub fn drifting() -> Self {
        let course = Course::Drifts { spread: 1.0, memory: Span::DAY.times(10) };
        Config { course, ..Config::default() }
    }

    /// Poisson pages that change twenty times a day on average, far more often than a crawler can
    /// follow: the best schedule gives most of them up.
    pub fn fast() -> Self {
        let rates = Rates::Gamma { mean_per_day: 20.0, squared_cv: 4.60 };
        Config { pages: 2_000, hosts: 100, rates, ..Config::poisson() }
    }

    /// Refuses the first invalid setting.
    pub fn check(&self) -> Result<(), BadSetting> {
        let check = Checker("renewal");
        check.positive("scale", self.scale)?;
        check.count("pages", self.pages as f64 * self.scale)?;
        check.count("hosts", self.hosts as f64 * self.scale)?;
        check.not_negative("host_exponent", self.host_exponent)?;
        check.span("duration", self.duration)?;
        check.not_negative("weights.exponent", self.weights.exponent())?;
        self.course.check(&check)?;
        for &(law, share) in &self.laws {
            check.not_negative("share of a law", share)?;
            match law {
                GapLaw::Poisson => {}
                GapLaw::Weibull { shape } => {
                    check.positive("shape", shape)?;
                    check.not_negative("Weibull shape less 0.05", shape - 0.05)?;
                }
                GapLaw::Pareto { shape } => check.positive("shape", shape)?,
                GapLaw::Quasi { slots, chance } => {
                    check.count("slots", f64::from(slots))?;
                    check.positive("chance", chance)?;
                    check.share("chance", chance)?;
                }
            }
        }
        check.positive("sum of the shares of laws", self.laws.iter().map(|l| l.1).sum())?;
        self.check_rates(&check)
    }

    fn check_rates(&self, check: &Checker) -> Result<(), BadSetting> {
        let mean = match &self.rates {
            Rates::Gamma { mean_per_day, squared_cv } => {
                check.not_negative("squared_cv", *squared_cv)?;
                *mean_per_day
            }
            Rates::Fixed(rates) => {
                check.count("number of rates", rates.len() as f64)?;
                for &rate in rates {
                    check.not_negative("rate", rate)?;
                }
                rates.iter().sum::<f64>() / rates.len() as f64
            }
        };
        check.not_negative("mean_per_day", mean)?;
        let changes =
            mean / SECONDS_PER_DAY * self.duration.seconds() * self.pages as f64 * self.scale;
        check.count("expected number of changes (at most)", changes.clamp(1.0, 2.0 * MOST_ITEMS))
    }
}

/// The true process of each page, recomputed from the same settings, for oracles and tests. Panics
/// if [`Config::check`] fails.
pub fn truth(config: &Config, seed: u64) -> Vec<PageLaw> {
    assert_eq!(config.check(), Ok(()), "the settings were not checked");
    let pages = scaled(config.pages, config.scale);
    let labels = [purpose("renewal.rate"), purpose("renewal.law"), purpose("renewal.timetable")];
    (0..pages as u64)
        .into_par_iter()
        .map(|page| {
            let [mut rate, mut law, mut timetable] = labels.map(|l| Draws::keyed(seed, l, page));
            let rate = config.rates.draw(page as usize, &mut rate) / SECONDS_PER_DAY;
            PageLaw::new(rate, pick(&config.laws, law.uniform()), &mut timetable)
        })
        .collect()
}

/// Generates the web. Panics if [`Config::check`] fails.
pub fn generate(config: &Config, seed: u64) -> Generated {
    let laws = truth(config, seed);
    let rates: Vec<f64> = laws.iter().map(|law| law.rate).collect();
    let weights = config.weights.draw(&rates, seed);
    let trace = Trace {
        name: "renewal".to_owned(),
        duration: config.duration,
        note: Some(format!("Synthetic pages with binary changes, seed {seed}.")),
        changes: Some(draw_changes(&laws, config, seed)),
        ..pages(config, &weights, seed)
    };
    let facts = facts::facts(config, &laws, &weights, &trace, seed);
    Generated { trace, facts }
}

/// A trace with pages and hosts only.
fn pages(config: &Config, weights: &[f64], seed: u64) -> Trace {
    let hosts = scaled(config.hosts, config.scale);
    let (of_page, hosts) =
        assign_hosts(weights.len(), hosts, config.host_exponent, seed, "renewal.host");
    let page = |(id, &weight): (usize, &f64)| TracePage {
        id: id as u64,
        url: format!("https://{}/{id}", hosts[of_page[id] as usize].name).into_boxed_str(),
        host: of_page[id],
        born: instant(0.0),
        died: None,
        is_source: false,
        weight,
        is_seed: true,
    };
    let pages = weights.par_iter().enumerate().map(page).collect();
    Trace { pages, hosts, ..Trace::default() }
}

/// The clock of a page.
fn clock(config: &Config, seed: u64, page: usize) -> Clock {
    let mut draws = Draws::keyed(seed, purpose("renewal.course"), page as u64);
    config.course.clock(config.duration.seconds(), &mut draws)
}

fn draw_changes(laws: &[PageLaw], config: &Config, seed: u64) -> Vec<Change> {
    let label = purpose("renewal.changes");
    let end = Time::ZERO + config.duration;
    laws.par_iter()
        .enumerate()
        .flat_map_iter(|(page, law)| {
            let mut draws = Draws::keyed(seed, label, page as u64);
            let clock = clock(config, seed, page);
            let times = clock.calendar(law.changes(clock.total(), &mut draws));
            let mut times: Vec<_> = times.into_iter().map(instant).collect();
            // Two changes within a microsecond count as one.
            times.dedup();
            times.retain(|at| *at < end);
            times.into_iter().map(move |at| Change { page: page as u32, at })
        })
        .collect()
}

impl Rates {
    /// A page's rate in changes a day.
    fn draw(&self, page: usize, draws: &mut Draws) -> f64 {
        match self {
            Rates::Fixed(rates) => rates[page % rates.len()],
            Rates::Gamma { mean_per_day, squared_cv } => {
                // Refused only where the mean is zero.
                GammaRates::new(*mean_per_day, *squared_cv)
                    .map_or(*mean_per_day, |law| law.sample(draws))
            }
        }
    }
}

/// The law at a quantile of the shares.
fn pick(laws: &[(GapLaw, f64)], quantile: f64) -> GapLaw {
    let total: f64 = laws.iter().map(|l| l.1).sum();
    let mut left = quantile * total;
    let found = laws.iter().filter(|l| l.1 > 0.0).find(|l| {
        left -= l.1;
        left < 0.0
    });
    found.or(laws.last()).map_or(GapLaw::Poisson, |l| l.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::shared::testing::on_one_and_two_threads;

    #[test]
    fn courses_change_when_pages_change() {
        let steady = Config { pages: 500, ..Config::poisson() };
        let course = |course| generate(&Config { course, ..steady.clone() }, 5).trace;
        let [stops, drifts] = [
            course(Course::Stops { mean: Span::DAY.times(10) }),
            course(Course::Drifts { spread: 1.0, memory: Span::DAY.times(10) }),
        ];
        stops.check().unwrap();
        drifts.check().unwrap();
        let late = |trace: &Trace| {
            let day_50 = Time::ZERO + Span::DAY.times(50);
            trace.changes.iter().flatten().filter(|change| change.at > day_50).count() as f64
        };
        let all = generate(&steady, 5).trace;
        // After fifty days e⁻⁵ of the pages still change.
        assert!(late(&stops) < 0.05 * late(&all), "{} of {}", late(&stops), late(&all));
        assert!(late(&drifts) > 0.3 * late(&all), "{} of {}", late(&drifts), late(&all));
    }

    fn small() -> Config {
        Config { pages: 2000, duration: Span::DAY.times(40), ..Config::default() }
    }

    #[test]
    fn threads_do_not_matter() {
        let [one, two] = on_one_and_two_threads(|| generate(&small(), 3));
        assert_eq!(one.trace, two.trace);
        assert_eq!(one.facts, two.facts);
        assert_ne!(one.trace, generate(&small(), 4).trace);
    }

    #[test]
    fn tables_are_in_order_and_inside() {
        let trace = generate(&small(), 1).trace;
        trace.check().unwrap();
        let changes = trace.changes.unwrap();
        assert!(changes.is_sorted_by(|a, b| (a.page, a.at) < (b.page, b.at)));
        assert!(changes.iter().all(|c| c.at < Time::ZERO + trace.duration));
        assert_eq!(trace.pages.len(), 2000);
        assert!(trace.pages.iter().all(|p| (p.host as usize) < trace.hosts.len()));
    }

    #[test]
    fn the_number_of_changes_is_poisson_for_poisson_pages() {
        let config = Config { rates: Rates::Fixed(vec![0.5]), pages: 20_000, ..Config::poisson() };
        let trace = generate(&config, 8).trace;
        let mut counts = vec![0.0_f64; 20_000];
        trace.changes.unwrap().iter().for_each(|c| counts[c.page as usize] += 1.0);
        let (mean, n) = (0.5 * 60.0, 20_000.0_f64);
        let ours = counts.iter().sum::<f64>() / n;
        let spread = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / n / mean;
        // Five standard errors: of the mean √(m/n), of variance/mean √(2/n) (Poisson, m ≫ 1).
        assert!((ours - mean).abs() < 5.0 * (mean / n).sqrt(), "{ours}");
        assert!((spread - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{spread}");
    }

    #[test]
    fn the_start_is_stationary() {
        // Bursty and regular alike: as many changes in the first day as in the last.
        for law in [
            GapLaw::Weibull { shape: 0.5 },
            GapLaw::Weibull { shape: 4.0 },
            GapLaw::Pareto { shape: 2.5 },
        ] {
            let config = Config {
                rates: Rates::Fixed(vec![0.3]),
                laws: vec![(law, 1.0)],
                pages: 30_000,
                duration: Span::DAY.times(20),
                ..Config::default()
            };
            let changes = generate(&config, 6).trace.changes.unwrap();
            let day = |d: f64| {
                let within = |t: Time| (t.seconds() / SECONDS_PER_DAY - d - 0.5).abs() < 0.5;
                changes.iter().filter(|c| within(c.at)).count() as f64
            };
            let expected: f64 = 0.3 * 30_000.0;
            for d in [0.0, 19.0] {
                // Weibull ½ has variance/mean of counts below 5 (its gaps' δ²), the others below 2.
                let five_sigma = 5.0 * (5.0 * expected).sqrt();
                assert!((day(d) - expected).abs() < five_sigma, "{law:?}, day {d}: {}", day(d));
            }
        }
    }

    #[test]
    fn gamma_rates_have_their_moments() {
        let config = Config { pages: 200_000, ..Config::default() };
        let rates: Vec<f64> = truth(&config, 2).iter().map(|l| l.rate * SECONDS_PER_DAY).collect();
        let (mean, cv2) =
            (crate::generate::shared::mean(&rates), crate::generate::shared::squared_cv(&rates));
        // Five standard errors: of the mean √(δ²/n); of δ² at most √((2 + 6δ² + 4δ²)/n), from the
        // kurtosis 3 + 6δ² of a gamma law and twice the error of the mean.
        let (delta2, n) = (4.6_f64, 200_000.0);
        let (of_mean, of_cv2) = ((delta2 / n).sqrt(), ((2.0 + 10.0 * delta2) / n).sqrt());
        assert!((mean / 0.506 - 1.0).abs() < 5.0 * of_mean, "{mean}");
        assert!((cv2 / delta2 - 1.0).abs() < 5.0 * of_cv2, "{cv2}");
    }

    #[test]
    fn invalid_settings_are_refused() {
        let bad = [
            Config { pages: 0, ..Config::default() },
            Config { laws: vec![], ..Config::default() },
            Config { laws: vec![(GapLaw::Weibull { shape: 0.0 }, 1.0)], ..Config::default() },
            Config {
                laws: vec![(GapLaw::Quasi { slots: 0, chance: 0.5 }, 1.0)],
                ..Config::default()
            },
            Config { rates: Rates::Fixed(vec![]), ..Config::default() },
            Config { rates: Rates::Fixed(vec![f64::NAN]), ..Config::default() },
            Config { rates: Rates::Fixed(vec![1e12]), ..Config::default() },
            Config { duration: Span::FOREVER, ..Config::default() },
            Config { scale: -1.0, ..Config::default() },
            Config { course: Course::Stops { mean: Span::FOREVER }, ..Config::default() },
            Config {
                course: Course::Drifts { spread: f64::NAN, memory: Span::DAY },
                ..Config::default()
            },
        ];
        for config in bad {
            assert!(config.check().is_err(), "{config:?}");
        }
        assert_eq!(Config::default().check(), Ok(()));
    }
}
