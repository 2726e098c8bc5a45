//! The freshness that a policy tells holds against the truth, within the margin that it tells.

use std::collections::BTreeMap;

use tidewatch_core::{PageId, Rate, Span, Time};
use tidewatch_frontier::Frontier;
use tidewatch_lab::engine::{Onlooker, run_watched};
use tidewatch_lab::generate::renewal::{self, Config, Rates};
use tidewatch_lab::{Settings, World};
use tidewatch_policy::{Setup, registry};

/// Crawls of each world.
const SEEDS: u64 = 6;
/// The share of crawls whose interval may miss the truth on one day: 5% by its definition. Of 30 crawls a
/// day, four standard deviations are 5% · 30 + 4 · √(30 · .05 · .95) = 6.3 of 30.
const MISSES: f64 = 6.3 / 30.0;
/// The widest that the mean interval may be after 30 days, to either side. An interval that is wider could
/// be right without saying much.
const WIDEST: f64 = 0.15;

/// Asks once a day, and compares.
struct Judge<'w> {
    world: &'w World,
    copies: BTreeMap<PageId, Time>,
    now: Time,
    /// Share told, truth and margin, day by day.
    told: Vec<(f64, f64, f64)>,
}

impl Judge<'_> {
    fn truth(&self) -> f64 {
        let is_fresh = |page: &PageId, at: &Time| {
            self.world.next_change(page.0, *at).is_none_or(|change| change > self.now)
        };
        let fresh = self.copies.iter().filter(|(page, at)| is_fresh(page, at)).count();
        fresh as f64 / self.copies.len() as f64
    }
}

impl Onlooker for Judge<'_> {
    fn before(&mut self, frontier: &Frontier<'_>, now: Time) {
        self.now = now;
        if now >= Time::ZERO + Span::DAY.times(1 + self.told.len() as u64) {
            let (share, margin) = frontier.standing().and_then(|told| told.freshness).unwrap();
            self.told.push((share, self.truth(), margin));
        }
    }

    fn after(&mut self, frontier: &Frontier<'_>) {
        for page in frontier.under_way() {
            self.copies.insert(page, self.now);
        }
    }
}

/// Worlds from one in which nothing changes to one in which most copies are stale, also such as the
/// policy's model does not fit.
fn worlds() -> Vec<(&'static str, Config)> {
    let base = Config { pages: 300, hosts: 10, duration: Span::DAY.times(31), ..Config::default() };
    let rates = |rates: &[f64]| Config { rates: Rates::Fixed(rates.to_vec()), ..base.clone() };
    let poisson = Config { laws: Config::poisson().laws, ..base.clone() };
    vec![
        ("mixed", base.clone()),
        ("poisson", poisson),
        ("still", rates(&[1e-6])),
        ("busy", rates(&[4.0])),
        ("halves", rates(&[1e-6, 3.0])),
    ]
}

#[test]
fn freshness_is_told_within_its_margin() {
    let mut told: Vec<Vec<(f64, f64, f64)>> = Vec::new();
    for (name, config) in worlds() {
        for seed in 0..SEEDS {
            let world = World::new(renewal::generate(&config, seed).trace).unwrap();
            let mut policy = (registry::find("price").unwrap().make)(Setup::seeded(seed));
            let copies = (0..world.len() as u32).map(|page| (PageId(page), Time::ZERO)).collect();
            let mut judge = Judge { world: &world, copies, now: Time::ZERO, told: Vec::new() };
            let settings = Settings::new(Rate::per_second(100.0 / 86_400.0).unwrap());
            run_watched(&world, policy.as_mut(), &settings, &mut judge).unwrap();
            let &(share, truth, margin) = judge.told.last().unwrap();
            eprintln!("{name} {seed}: told {share:.3} ± {margin:.3}, truth {truth:.3}");
            told.push(judge.told);
        }
    }
    let days = told.iter().map(Vec::len).min().unwrap();
    assert!(days >= 29, "{days}");
    let mean = |of: &dyn Fn(&(f64, f64, f64)) -> f64, day: usize| {
        told.iter().map(|told| of(&told[day])).sum::<f64>() / told.len() as f64
    };
    for day in 0..days {
        let is_missed =
            |told: &(f64, f64, f64)| f64::from(u8::from((told.0 - told.1).abs() > told.2));
        let missed = mean(&is_missed, day);
        let (error, margin) =
            (mean(&|told| (told.0 - told.1).abs(), day), mean(&|told| told.2, day));
        eprintln!("day {day}: {missed:.3} missed, error {error:.3}, margin {margin:.3}");
        assert!(missed <= MISSES, "day {day}: {missed} missed");
    }
    let margin = mean(&|told| told.2, days - 1);
    assert!(margin <= WIDEST, "{margin}");
}
