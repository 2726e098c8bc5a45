//! The engine against figures worked out on paper.

use std::sync::mpsc::{Sender, channel};

use tidewatch_core::{Event, HostId, Outcome, PageId, Rate, Span, Time};
use tidewatch_frontier::Politeness;
use tidewatch_lab::engine::{bounds, judge, run};
use tidewatch_lab::{LabError, Measures, Settings, Start, World};
use tidewatch_policy::{Choice, Gate, Policy};
use tidewatch_trace::{Host, Trace, TraceLink, TracePage};

use crate::worlds::{at, changing, newsroom, page, trace, versioned};

/// Fetches given pages at given times and reports what it was told.
struct Script {
    plan: Vec<(f64, u32)>,
    told: Sender<String>,
}

impl Policy for Script {
    fn learn(&mut self, event: &Event<'_>) {
        let line = match event {
            Event::Budget(rate) => format!("budget {}", rate.as_per_second()),
            Event::Discovered(found) => {
                format!("{} page {} held {}", found.at, found.page.0, found.is_held)
            }
            Event::Held(seen) => format!("{} held {}", seen.at, seen.page.0),
            Event::Fetched(seen) => match seen.outcome {
                Outcome::Fetched(content) => format!(
                    "{} {} {} changed {:?} sketch {:?} links {:?}",
                    seen.at,
                    seen.kind.name(),
                    seen.page.0,
                    content.changed,
                    content.sketch,
                    content.links.iter().map(|l| (l.page.0, l.is_new)).collect::<Vec<_>>()
                ),
                other => format!("{} {} {} {other:?}", seen.at, seen.kind.name(), seen.page.0),
            },
            Event::Log(rows) => {
                let rows = rows.iter().map(|r| format!(" {}@{}x{}", r.page.0, r.at, r.count));
                format!("log{}", rows.collect::<String>())
            }
            Event::Asked(rows) => format!("asked {}", rows.len()),
            Event::Hinted(hint) => format!("{} hint {}", hint.at, hint.page.0),
            Event::Doubted(said) => format!("{} doubt {} {}", said.at, said.page.0, said.doubt),
        };
        self.told.send(line).unwrap();
    }

    fn choose(&mut self, now: Time, _: &dyn Gate) -> Choice {
        match self.plan.first() {
            Some(&(when, page)) if at(when) == now => {
                self.plan.remove(0);
                Choice::Fetch(PageId(page))
            }
            _ => Choice::Idle,
        }
    }
}

/// One choice a second.
fn settings() -> Settings {
    Settings { log_push: Span::SECOND.times(50), ..Settings::new(Rate::per_second(1.0).unwrap()) }
}

fn play(
    trace: Trace,
    plan: &[(f64, u32)],
    settings: &Settings,
) -> Result<(Measures, Vec<String>), LabError> {
    let world = World::new(trace)?;
    let (told, heard) = channel();
    let mut script = Script { plan: plan.to_vec(), told };
    let measures = run(&world, &mut script, settings)?;
    assert!(script.plan.is_empty(), "unplayed: {:?}", script.plan);
    drop(script);
    Ok((measures, heard.iter().collect()))
}

/// Sums of a few decimal numbers; only rounding may differ.
const ROUNDING: f64 = 1e-12;

fn close(got: Option<f64>, wanted: f64) {
    let got = got.expect("the trace gives this measure");
    assert!((got - wanted).abs() < ROUNDING, "{got} is not {wanted}");
}

#[test]
fn a_policy_hears_what_a_crawler_would_learn_and_no_more() {
    let plan = [(20.0, 0), (21.0, 1), (60.0, 0), (61.0, 2)];
    let (measures, told) = play(newsroom(), &plan, &settings()).unwrap();
    assert_eq!(
        told,
        [
            "budget 1",
            "0 page 0 held true",
            "0 held 0",
            "20 page 1 held false",
            "20 source 0 changed Some(true) sketch [] links [(1, true)]",
            "21 new 1 changed None sketch [] links []",
            // The click at 15 s came before the page was held.
            "log 1@30x2",
            "60 page 2 held false",
            "60 source 0 changed Some(true) sketch [] links [(2, true)]",
            "61 new 2 changed None sketch [] links []",
            // 55 s: not held then. 200 s: after the end.
            "log 1@60x4",
        ]
    );
    close(measures.profit_per_s, (6.0 + 16.0) / 100.0);
    close(measures.served_per_s, 6.0 / 100.0);
    close(measures.coverage, 1.0);
    assert_eq!(measures.fetches, [0, 2, 2, 0]);
    assert_eq!(measures.freshness, None);
}

/// A source shows page 2 from 50 s on, but page 1 reveals it at 20 s.
#[test]
fn a_page_is_new_only_if_a_source_revealed_it() {
    let mut trace = newsroom();
    let appears = at(15.0);
    trace.pages[1] = page(1, 0.0);
    trace.links = vec![
        trace.links[1],
        TraceLink { source: 1, page: 2, appears, disappears: None, position: None },
    ];
    let (measures, told) = play(trace, &[(20.0, 1), (21.0, 2)], &settings()).unwrap();
    assert!(told.iter().any(|line| line.starts_with("21 frontier 2")), "{told:?}");
    assert_eq!(measures.fetches, [1, 0, 0, 1]);
}

#[test]
fn links_that_scrolled_off_are_never_seen() {
    let (measures, told) = play(newsroom(), &[(45.0, 0)], &settings()).unwrap();
    assert!(told.iter().any(|line| line.ends_with("links []")), "{told:?}");
    close(measures.coverage, 0.0);
}

#[test]
fn only_fetches_in_the_window_count() {
    let late = Settings { measure_last: Some(Span::SECOND.times(40)), ..settings() };
    let plan = [(20.0, 0), (21.0, 1), (60.0, 0), (61.0, 2)];
    let (measures, _) = play(newsroom(), &plan, &late).unwrap();
    close(measures.profit_per_s, 16.0 / 40.0);
    assert_eq!(measures.fetches, [0, 1, 1, 0]);
    // The last choice is at 99 s: forty choices, two of them used.
    assert_eq!(measures.idle, 38);
}

#[test]
fn unlimited_budget_bounds_the_profit() {
    let world = World::new(newsroom()).unwrap();
    let bound = bounds(&world, &settings()).unwrap();
    close(bound.profit_per_s, (7.0 + 24.0) / 100.0);
    close(bound.clicks_per_s, 15.0 / 100.0);
}

#[test]
fn freshness_and_age_are_integrated_exactly() {
    // Copies at 0 (stale at 10), 20 (stale at 30) and 80 (fresh to the end).
    let (measures, told) = play(changing(), &[(20.0, 0), (80.0, 0)], &settings()).unwrap();
    close(measures.freshness, (10.0 + 10.0 + 20.0) / 100.0);
    close(measures.age_s, (10.0 * 10.0 / 2.0 + 50.0 * 50.0 / 2.0) / 100.0);
    assert!(told[3].starts_with("20 refresh 0 changed Some(true)"), "{}", told[3]);
    let late = Settings { measure_last: Some(Span::SECOND.times(50)), ..settings() };
    let (measures, _) = play(changing(), &[(20.0, 0), (80.0, 0)], &late).unwrap();
    close(measures.freshness, 20.0 / 50.0);
    close(measures.age_s, (50.0 * 50.0 - 20.0 * 20.0) / 2.0 / 50.0);
}

#[test]
fn divergence_is_integrated_exactly() {
    // No refresh: 0 until 20 s, 1 − 3/5 until 60 s, then 1 − 2/6.
    let (measures, _) = play(versioned(), &[], &settings()).unwrap();
    close(measures.fragment_staleness, (40.0 * 0.4 + 40.0 * (2.0 / 3.0)) / 100.0);
    close(measures.freshness, 0.2);
    // Refreshed at 50 s: from 60 s on 1 − 3/5 against {1,2,3,5}.
    let (measures, told) = play(versioned(), &[(50.0, 0)], &settings()).unwrap();
    close(measures.fragment_staleness, (30.0 * 0.4 + 40.0 * 0.4) / 100.0);
    assert!(told.iter().any(|line| line.contains("sketch [1, 2, 3, 5]")), "{told:?}");
    let short = Settings { sketch_len: 2, ..settings() };
    let (_, told) = play(versioned(), &[(50.0, 0)], &short).unwrap();
    assert!(told.iter().any(|line| line.contains("sketch [1, 2]")), "{told:?}");
}

#[test]
fn a_recorded_crawl_is_judged_like_a_simulated_one() {
    let plan = [(20.0, 0), (21.0, 1), (60.0, 0), (61.0, 2)];
    let (simulated, _) = play(newsroom(), &plan, &settings()).unwrap();
    let world = World::new(newsroom()).unwrap();
    let log: Vec<(Time, u32)> = plan.iter().map(|&(when, page)| (at(when), page)).collect();
    let judged = judge(&world, &settings(), &log).unwrap();
    // A record does not say how often the crawler idled.
    assert_eq!(Measures { idle: simulated.idle, ..judged }, simulated);
}

#[test]
fn a_dead_page_is_stale_until_found_gone() {
    let dying = TracePage { died: Some(at(40.0)), ..page(0, 0.0) };
    let trace = Trace { changes: Some(vec![]), ..trace(100, vec![dying, page(1, 0.0)]) };
    let (measures, told) = play(trace, &[(60.0, 0)], &settings()).unwrap();
    // Held: 60 s of page 0, 100 s of page 1. Stale: 20 s of page 0.
    close(measures.freshness, 140.0 / 160.0);
    close(measures.age_s, 20.0 * 20.0 / 2.0 / 160.0);
    assert_eq!(measures.gone, 1);
    assert!(told.contains(&"60 refresh 0 Gone".to_owned()), "{told:?}");
}

#[test]
fn a_cold_start_knows_only_seeds() {
    let cold = Settings { start: Start::Cold, ..settings() };
    let (measures, told) = play(newsroom(), &[(20.0, 0), (21.0, 1)], &cold).unwrap();
    assert_eq!(
        told[1..4],
        [
            "0 page 0 held false",
            "20 page 1 held false",
            "20 frontier 0 changed None sketch [] links [(1, true)]"
        ]
    );
    close(measures.coverage, 0.5);
}

#[test]
fn a_closed_host_is_closed() {
    let limited = Trace {
        hosts: vec![Host { name: "host.example".into(), max_rate: Rate::per_second(0.1) }],
        ..changing()
    };
    assert!(play(limited.clone(), &[(5.0, 0), (15.0, 0)], &settings()).is_ok());
    let error = play(limited, &[(5.0, 0), (14.0, 0)], &settings()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bug in the policy: it chose page 0 at 14, but politeness closes the host until 15"
    );
}

#[test]
fn a_page_that_the_policy_was_never_told_of_is_refused() {
    let error = play(changing(), &[(5.0, 7)], &settings()).unwrap_err();
    assert_eq!(error.to_string(), "bug in the policy: it chose page 7, which it was never told of");
}

/// Where robots.txt has to be read, that is a request too, and the page waits for the gap after it.
#[test]
fn robots_txt_is_read_before_the_first_page_of_a_host() {
    let limited = Trace {
        hosts: vec![Host { name: "host.example".into(), max_rate: Rate::per_second(0.1) }],
        ..changing()
    };
    for (robots_time, fetched) in [(None, 5), (Some(Span::ZERO), 15), (Some(Span::SECOND), 16)] {
        let settings = Settings { robots_time, ..settings() };
        let (measures, told) = play(limited.clone(), &[(5.0, 0)], &settings).unwrap();
        assert!(
            told.iter().any(|line| line.starts_with(&format!("{fetched} refresh"))),
            "{told:?}"
        );
        assert_eq!((measures.fetches, measures.idle), ([1, 0, 0, 0], 98));
    }
}

/// Fetches page 0 whenever its host is open.
struct Eager;

impl Policy for Eager {
    fn learn(&mut self, _: &Event<'_>) {}

    fn choose(&mut self, now: Time, gate: &dyn Gate) -> Choice {
        if gate.opens_at(HostId(0)) <= now { Choice::Fetch(PageId(0)) } else { Choice::Idle }
    }
}

/// A host has one job at a time, and rests after each: chosen at 1, 5, 9, … s, each fetch ends a
/// second later and closes the host for three.
#[test]
fn fetches_that_take_time_keep_their_host_busy() {
    let gap = Span::SECOND.times(3);
    let rules = Politeness { least_gap: gap, most_gap: gap, ..Politeness::CRAWL_DELAY_ONLY };
    let settings = Settings { politeness: rules, fetch_time: Span::SECOND, ..settings() };
    let measures = run(&World::new(changing()).unwrap(), &mut Eager, &settings).unwrap();
    // The last one is chosen at 97 s and ends at 98 s; there are choices from 1 to 99 s.
    assert_eq!((measures.fetches, measures.idle), ([25, 0, 0, 0], 99 - 25));
}

/// An empty log would say that nobody clicks.
#[test]
fn where_nobody_keeps_a_log_none_is_pushed() {
    let logs = |trace: Trace| {
        let (_, told) = play(trace, &[], &settings()).unwrap();
        told.iter().filter(|line| line.starts_with("log")).count()
    };
    let unclicked = Trace { clicks: Some(Vec::new()), ..newsroom() };
    let unlogged = Trace { clicks: None, views: None, ..newsroom() };
    assert_eq!((logs(newsroom()), logs(unclicked), logs(unlogged)), (2, 2, 0));
}

#[test]
fn impossible_conditions_are_refused() {
    let budget = |rate| Settings { budget: Rate::per_second(rate).unwrap(), ..settings() };
    let refused = |settings: &Settings| play(changing(), &[], settings).unwrap_err().to_string();
    assert!(refused(&budget(0.0)).contains("above zero"));
    assert!(refused(&budget(1e300)).contains("more than 10¹¹ fetches"));
    let longer = Settings { measure_last: Some(Span::DAY), ..settings() };
    assert!(refused(&longer).contains("cannot measure the last 86400s"));
    let silent = Settings { log_push: Span::ZERO, ..settings() };
    assert!(refused(&silent).contains("log push"));
    let twins =
        Trace { pages: vec![page(1, 0.0), TracePage { id: 2, ..page(1, 0.0) }], ..changing() };
    let error = World::new(twins).unwrap_err().to_string();
    assert!(error.contains("pages 1 and 2") && error.contains("same URL"), "{error}");
}
