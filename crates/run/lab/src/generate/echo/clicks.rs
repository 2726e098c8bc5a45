//! Clicks on a page over its life.
//!
//! The number of clicks is Poisson with the page's popularity as mean. Each click comes after an
//! awakening and a decay time (two exponentials; for a lasting page, uniform until the end) and is
//! accepted with a probability given by the rhythm of readers, otherwise drawn again: density ∝
//! decay × rhythm.

use rand_distr::{Distribution, Poisson};
use tidewatch_core::Time;
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_math::sample::Rhythm;
use tidewatch_trace::Count;

use super::super::rhythm::weekly;
use super::config::EchoConfig;
use super::links::micros;
use super::popularity::{Popularity, counted};
use super::publish::{Birth, key};
use super::site::Site;

const CLICK: u64 = purpose("echo.click");
/// Hour of the day with most clicks: early afternoon in `[GLO17]`.
const CLICK_PEAK_HOUR: f64 = 14.0;
/// Attempts to place a click. One in ten is accepted at the worst hour, so running out is practically
/// impossible.
const ATTEMPTS: u32 = 1000;

/// The rhythm of clicks.
pub(super) struct Readers {
    rhythm: Rhythm,
    /// The highest level of the rhythm.
    peak: f64,
}

/// The hours of the week at which readers click.
pub(in crate::generate) fn readers_rhythm(config: &EchoConfig) -> Rhythm {
    weekly(config.click_swing, config.weekend_clicks, CLICK_PEAK_HOUR)
}

impl Readers {
    pub(super) fn new(config: &EchoConfig) -> Self {
        let rhythm = readers_rhythm(config);
        let peak = rhythm.levels().iter().copied().fold(0.0, f64::max);
        Readers { rhythm, peak }
    }

    /// Rate of clicks at a time, relative to the busiest hour.
    fn chance(&self, at: f64) -> f64 {
        self.rhythm.level(at) / self.peak
    }
}

/// Clicks on a site's new pages, by (page, at); `first` numbers its first page.
pub(super) fn draw(
    config: &EchoConfig,
    seed: u64,
    (site, births): (&Site, &[Birth]),
    (popularity, readers): (&Popularity, &Readers),
    first: u32,
) -> Vec<Count> {
    let mut rows = Vec::new();
    let mut times = Vec::new();
    for (index, birth) in births.iter().enumerate().filter(|(_, birth)| birth.at >= 0.0) {
        let mut draws = Draws::keyed(seed, CLICK, key(site, index));
        let mean = popularity.clicks(birth.score) * counted(config, birth);
        // A mean of zero, which the Poisson law refuses, is a page without clicks.
        let clicks = Poisson::new(mean).map_or(0.0, |law| law.sample(&mut draws)) as usize;
        times.clear();
        times.extend((0..clicks).filter_map(|_| moment(config, birth, readers, &mut draws)));
        times.sort_unstable();
        gather(config.click_bin.as_micros(), first + index as u32, &times, &mut rows);
    }
    rows
}

/// Time of one click, in microseconds from the start.
fn moment(config: &EchoConfig, birth: &Birth, readers: &Readers, draws: &mut Draws) -> Option<u64> {
    let horizon = config.horizon();
    for _ in 0..ATTEMPTS {
        let lag = if birth.decay.is_infinite() {
            draws.uniform() * (horizon - birth.at)
        } else {
            let awake = 3600.0 * config.rise_hours * draws.exponential(1.0);
            awake + birth.decay * draws.exponential(1.0)
        };
        let at = birth.at + lag;
        if at < horizon && draws.chance(readers.chance(at)) {
            return Some(micros(at) as u64);
        }
    }
    None
}

/// Joins clicks within `bin` of the first into one row at the time of the first: no row precedes its
/// page, and none is off by more than `bin`.
fn gather(bin: u64, page: u32, times: &[u64], rows: &mut Vec<Count>) {
    let mut rest = times;
    while let Some(&start) = rest.first() {
        let count = rest.partition_point(|&at| at - start < bin.max(1));
        rows.push(Count { page, at: Time::from_micros(start), count: count as f64 });
        rest = &rest[count..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_every_click_once() {
        let mut rows = Vec::new();
        gather(10, 7, &[0, 3, 9, 10, 25, 25], &mut rows);
        let got: Vec<(u64, f64)> = rows.iter().map(|r| (r.at.as_micros(), r.count)).collect();
        assert_eq!(got, [(0, 3.0), (10, 1.0), (25, 2.0)]);
        assert!(rows.iter().all(|row| row.page == 7));
    }

    #[test]
    fn moments_lie_between_birth_and_the_end() {
        let config = EchoConfig::default();
        let readers = Readers::new(&config);
        for decay in [10.0, 36_000.0, 1e7, f64::INFINITY] {
            let birth = Birth {
                at: 1_000_000.0,
                category: 0,
                second: None,
                topic: 0,
                score: 0.0,
                liking: 0.0,
                decay,
            };
            let mut draws = Draws::new(1, 1);
            for _ in 0..200 {
                let at = moment(&config, &birth, &readers, &mut draws).unwrap() as f64 / 1e6;
                assert!((birth.at..=config.horizon()).contains(&at), "{at}");
            }
        }
    }
}
