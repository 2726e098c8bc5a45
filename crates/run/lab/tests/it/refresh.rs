//! The classic refresh policies on pages that obey the classic assumptions.

use tidewatch_core::{Rate, Span};
use tidewatch_lab::compare::{Comparison, Contest, compare};
use tidewatch_lab::generate::renewal::{self, Config, truth};
use tidewatch_lab::{Settings, World, policies};
use tidewatch_science::allocate::{Objective, Pages, allocate};

const SEED: u64 = 5;

fn config() -> Config {
    Config { pages: 500, hosts: 20, duration: Span::DAY.times(90), ..Config::poisson() }
}

/// One fetch per page in four days, for pages that change every two days on average.
fn contest(names: &[&str]) -> Comparison {
    let world = World::new(renewal::generate(&config(), SEED).trace).unwrap();
    let budget = world.len() as f64 / Span::DAY.times(4).seconds();
    let settings = Settings {
        measure_last: Some(Span::DAY.times(45)),
        ..Settings::new(Rate::per_second(budget).unwrap())
    };
    let policies = names.iter().map(|name| policies::find(name).unwrap()).collect();
    let contest = Contest { policies, settings, seed: SEED, repeat: 1 };
    compare(&world, &contest, || {}).unwrap()
}

fn freshness(of: &Comparison, name: &str) -> f64 {
    let standing = of.standings.iter().find(|s| s.name == name).unwrap();
    standing.runs[0].freshness.unwrap()
}

#[test]
fn classic_order_of_policies() {
    let names = ["uniform", "cgm", "cgm-oracle", "omniscient"];
    let result = contest(&names);
    let [uniform, cgm, known, omniscient] = names.map(|n| freshness(&result, n));
    assert!(uniform < cgm, "{uniform} {cgm}");
    assert!(cgm <= known, "{cgm} {known}");
    assert!(known < omniscient, "{known} {omniscient}");
    let age = |name: &str| {
        let result = contest(&[name]);
        result.standings[0].runs[0].age_s.unwrap()
    };
    assert!(age("age") < age("cgm"), "the age policy is for age");
}

#[test]
fn an_oracle_reaches_the_closed_form() {
    // The best freshness for the true rates, by the formula.
    let rates: Vec<f64> = truth(&config(), SEED).iter().map(|law| law.rate).collect();
    let weights = vec![1.0; rates.len()];
    let pages = Pages::new(&weights, &rates);
    let budget = rates.len() as f64 / Span::DAY.times(4).seconds();
    let best = allocate(&pages, budget, Objective::Freshness, None).unwrap();
    let (score, total) = best.score(&pages, Objective::Freshness);
    let reached = freshness(&contest(&["cgm-oracle"]), "cgm-oracle");
    // 500 pages over 45 days see some 11,000 changes: freshness is uncertain by
    // about 1/√11,000, and the oracle knows the rates realised, not the true ones.
    let uncertainty = 3.0 / 11_000f64.sqrt();
    assert!((reached - score / total).abs() < uncertainty, "{reached} against {}", score / total);
}
