//! The freshness that price tells, against the truth, on webs that change by other laws than it believes.

use std::collections::HashMap;

use rayon::prelude::*;
use tidewatch_core::{Event, Outcome, PageId, Rate, Span, Time};
use tidewatch_lab::engine::run;
use tidewatch_lab::generate::renewal::{self, Config, Weights};
use tidewatch_lab::{Settings, World};
use tidewatch_policy::price::{Price, Settings as PriceSettings};
use tidewatch_policy::{Choice, Gate, Policy};

const PAGES: usize = 300;
/// Time between two looks.
const LOOK: Span = Span::DAY.times(2);
/// Least share of looks at which an interval of 95% covers the truth: two standard deviations below .95 for
/// 60 crawls, as if all looks at one crawl were one.
const COVERED: f64 = 0.894;
/// Half the interval of one who knows nothing, which is 1.96/√12.
const TELLING: f64 = 0.283;
/// Other webs than those on which the misfit was measured (1 to 6).
const SEEDS: std::ops::Range<u64> = 11..17;

/// Price, and beside it what it is told and cannot know.
struct Watched<'w> {
    price: Price,
    /// Changes of every page of the trace by its URL, in order.
    changes: &'w HashMap<Box<str>, Vec<Time>>,
    /// URL and time of every copy.
    copies: Vec<(String, Option<Time>)>,
    next_look: Time,
    looks: Vec<Look>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    told: f64,
    margin: f64,
    truth: f64,
}

impl Watched<'_> {
    /// Share of copies whose page has not changed since.
    fn truth(&self, now: Time) -> f64 {
        let is_fresh = |url: &str, copied: Time| {
            let changes = &self.changes[url];
            let next = changes.partition_point(|at| *at <= copied);
            changes.get(next).is_none_or(|at| *at > now)
        };
        let copies = self.copies.iter().filter_map(|(url, copied)| Some((url, (*copied)?)));
        let fresh = copies.clone().filter(|(url, copied)| is_fresh(url, *copied)).count();
        fresh as f64 / copies.count() as f64
    }

    fn copied(&mut self, page: PageId, at: Time) {
        self.copies[page.index()].1 = Some(at);
    }
}

impl Policy for Watched<'_> {
    fn learn(&mut self, event: &Event<'_>) {
        match event {
            Event::Discovered(found) => self.copies.push((found.url.to_owned(), None)),
            Event::Held(seen) => self.copied(seen.page, seen.at),
            Event::Fetched(seen) if matches!(seen.outcome, Outcome::Fetched(_)) => {
                self.copied(seen.page, seen.at);
            }
            _ => {}
        }
        self.price.learn(event);
    }

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        if now >= self.next_look {
            self.next_look = now + LOOK;
            let (told, margin) = self.price.standing().unwrap().freshness.unwrap();
            self.looks.push(Look { told, margin, truth: self.truth(now) });
        }
        self.price.choose(now, gate)
    }
}

/// Looks at one crawl of `visits` fetches a page and day.
fn looks(config: &Config, seed: u64, visits: f64) -> Vec<Look> {
    let trace = renewal::generate(config, seed).trace;
    let mut changes: HashMap<Box<str>, Vec<Time>> =
        trace.pages.iter().map(|page| (page.url.clone(), Vec::new())).collect();
    for change in trace.changes.iter().flatten() {
        let url = &trace.pages[change.page as usize].url;
        changes.get_mut(url).unwrap().push(change.at);
    }
    changes.values_mut().for_each(|of_page| of_page.sort_unstable());
    let mut watched = Watched {
        price: Price::new(PriceSettings::default(), seed),
        changes: &changes,
        copies: Vec::new(),
        next_look: Time::ZERO + LOOK,
        looks: Vec::new(),
    };
    let per_second = visits * changes.len() as f64 / 86_400.0;
    let settings = Settings::new(Rate::per_second(per_second).unwrap());
    let measures = run(&World::new(trace).unwrap(), &mut watched, &settings).unwrap();
    let truths = watched.looks.iter().map(|look| look.truth);
    let looked = truths.sum::<f64>() / watched.looks.len() as f64;
    if config.weights == Weights::Equal {
        // Looks every two days against the meter's integral.
        let measured = measures.freshness.unwrap();
        assert!((looked - measured).abs() < 0.03, "{looked} looked at, {measured} measured");
    }
    watched.looks
}

/// Webs that change by the law that price believes in, and by others.
fn webs() -> [(&'static str, Config); 5] {
    [
        ("poisson", Config::poisson()),
        ("mixture", Config::default()),
        ("stopping", Config::stopping()),
        ("drifting", Config::drifting()),
        ("fast", Config::fast()),
    ]
    .map(|(name, web)| (name, Config { pages: PAGES, hosts: 20, ..web }))
}

/// The told interval of 95% covers the truth that often, over all crawls, and says something on every web.
#[test]
fn the_freshness_told_agrees_with_the_truth() {
    let mut covered = Vec::new();
    for (name, web) in webs() {
        for visits in [0.03, 0.3] {
            let crawls: Vec<Vec<Look>> =
                SEEDS.into_par_iter().map(|seed| looks(&web, seed, visits)).collect();
            let share = |looks: &Vec<Look>| {
                let is_covered = |look: &&Look| (look.told - look.truth).abs() <= look.margin;
                looks.iter().filter(is_covered).count() as f64 / looks.len() as f64
            };
            covered.extend(crawls.iter().map(share));
            let late = crawls.iter().flat_map(|looks| &looks[looks.len() / 2..]);
            let widest = late.map(|look| look.margin).fold(0.0, f64::max);
            assert!(widest <= TELLING, "{name}, {visits} visits: ± {widest}");
        }
    }
    let share = covered.iter().sum::<f64>() / covered.len() as f64;
    println!("{share} of the looks at {} crawls were covered", covered.len());
    assert!(share >= COVERED, "{share} of the looks at {} crawls: {covered:?}", covered.len());
}
