use std::collections::HashMap;

use super::*;
use crate::generate::shared::testing::on_one_and_two_threads;

fn small() -> UncleanConfig {
    UncleanConfig { scale: 0.15, calendar_days: 60, maze_pages: 80, ..UncleanConfig::default() }
}

/// Every kind of waste on as many hosts as possible.
fn dirty() -> UncleanConfig {
    UncleanConfig {
        aliasing: 1.0,
        sessions: 0.5,
        mirrors: 0.5,
        facets: 0.5,
        calendars: 0.5,
        mazes: 0.5,
        missing: 1.0,
        ..small()
    }
}

fn class_of(trace: &Trace) -> HashMap<u32, TruthClass> {
    trace.truth.iter().flatten().map(|row| (row.page, row.class)).collect()
}

#[test]
fn the_web_is_valid_and_has_every_class() {
    let trace = generate(&dirty(), 1).trace;
    trace.check().unwrap();
    let classes = class_of(&trace);
    for class in TruthClass::ALL.iter().filter(|class| **class != TruthClass::Own) {
        assert!(classes.values().any(|found| found == class), "no page is of class {class}");
    }
}

/// Clicks belong to pages with content of their own, and a warm start holds no waste.
#[test]
fn waste_has_no_clicks_and_is_not_held() {
    let trace = generate(&dirty(), 2).trace;
    let classes = class_of(&trace);
    assert!(trace.clicks.iter().flatten().all(|row| !classes.contains_key(&row.page)));
    assert!(classes.keys().all(|&page| trace.pages[page as usize].born > Time::ZERO));
}

/// Repeats have the fragments of what they repeat, but for a frame and a number.
#[test]
fn repeats_say_what_they_repeat() {
    /// Fragments that a repeat may have of its own: the frame of another host, or a session's number.
    const DIFFERENT: usize = 6;
    let trace = generate(&dirty(), 3).trace;
    let versions = trace.versions.as_ref().unwrap();
    let of_page: HashMap<u32, &[u64]> =
        versions.rows.iter().map(|row| (row.page, versions.added(row))).collect();
    let mut compared = 0;
    for row in trace.truth.iter().flatten() {
        let Some(root) = row.same_as.and_then(|same| of_page.get(&same)) else { continue };
        let own = of_page[&row.page];
        let missing = own.iter().filter(|hash| !root.contains(hash)).count();
        assert!(missing <= DIFFERENT, "{missing} of {} differ", own.len());
        compared += 1;
    }
    assert!(compared > 1000, "{compared}");
}

/// The pages that links lead to from the seeds, at any time.
fn reached(trace: &Trace) -> Vec<bool> {
    let mut reached: Vec<bool> = trace.pages.iter().map(|page| page.is_seed).collect();
    let mut open: Vec<u32> =
        (0..trace.pages.len() as u32).filter(|&page| reached[page as usize]).collect();
    let mut out: HashMap<u32, Vec<u32>> = HashMap::new();
    trace.links.iter().for_each(|link| out.entry(link.source).or_default().push(link.page));
    while let Some(page) = open.pop() {
        for &target in out.get(&page).map_or(&[][..], Vec::as_slice) {
            if !std::mem::replace(&mut reached[target as usize], true) {
                open.push(target);
            }
        }
    }
    reached
}

/// Crawlers find waste by links. Second addresses and session numbers take the place of other addresses
/// in links, so a web without them shows the rest.
#[test]
fn every_class_can_be_reached_from_the_seeds() {
    use TruthClass::{Alias, Own, Session};
    /// Share of a class that is linked: most renamed pages leave their sources before the new title comes.
    const LEAST: f64 = 0.2;
    let plain = UncleanConfig { aliasing: 0.0, sessions: 0.0, ..dirty() };
    let aliased = UncleanConfig { sessions: 0.0, ..dirty() };
    for (config, is_looked_at) in [
        (plain, (|class| ![Own, Alias, Session].contains(&class)) as fn(TruthClass) -> bool),
        (aliased, |class| class == Alias),
        (dirty(), |class| class == Session),
    ] {
        let trace = generate(&config, 4).trace;
        let reached = reached(&trace);
        for &class in TruthClass::ALL.iter().filter(|class| is_looked_at(**class)) {
            let rows = || trace.truth.iter().flatten().filter(|row| row.class == class);
            let found = rows().filter(|row| reached[row.page as usize]).count() as f64;
            let all = rows().count() as f64;
            assert!(found > LEAST * all, "{found} of {all} of class {class}");
        }
    }
}

#[test]
fn a_clean_web_has_no_truth_to_tell() {
    let trace = generate(&UncleanConfig { scale: 0.05, ..UncleanConfig::clean() }, 5).trace;
    trace.check().unwrap();
    assert_eq!(trace.truth.as_deref(), Some(&[][..]));
    assert!(trace.pages.iter().any(|page| page.url.contains("/guide/")));
}

#[test]
fn threads_do_not_matter() {
    let config = UncleanConfig { scale: 0.05, ..dirty() };
    let [one, two] = on_one_and_two_threads(|| generate(&config, 7));
    assert!(one.trace == two.trace, "the trace depends on the number of threads");
}

#[test]
fn an_invalid_setting_is_named() {
    UncleanConfig::default().check().unwrap();
    let bad = UncleanConfig { mazes: 1.5, ..UncleanConfig::default() };
    assert_eq!(bad.check().unwrap_err().setting, "mazes");
}
