//! A small web has the published shape, and is the same on any number of threads.

use std::collections::HashSet;

use tidewatch_core::Span;

use super::*;
use crate::generate::shared::testing::on_one_and_two_threads;

/// 5 news sites, 3 blogs, 150 sources, about 20,750 pages.
fn small() -> EchoConfig {
    EchoConfig { scale: 0.05, ..EchoConfig::default() }
}

fn fact(generated: &Generated, what: &str) -> (f64, f64) {
    let fact = generated.facts.iter().find(|fact| fact.what == what).unwrap();
    (fact.published.unwrap(), fact.ours)
}

/// Three standard errors of counts of tens of thousands, and links lost at the end of the trace.
const COUNT_TOLERANCE: f64 = 0.03;
/// Clicks are Poisson around a solved mean: three standard errors of 22,000 clicks, and of 4,000
/// clicked pages.
const CLICK_TOLERANCE: f64 = 0.05;
/// Shapes measured on other data: within a factor of 1.6, because the small web has few hosts.
const SHAPE_FACTOR: f64 = 1.6;

#[test]
fn counts_meet_the_published_figures() {
    let web = generate(&small(), 1);
    for (what, tolerance) in [
        ("content sources", COUNT_TOLERANCE),
        ("new pages", COUNT_TOLERANCE),
        ("links from sources to new pages", COUNT_TOLERANCE),
        ("share of new pages ever clicked", CLICK_TOLERANCE),
        ("clicks per second on the pages of the last week", CLICK_TOLERANCE),
    ] {
        let (published, ours) = fact(&web, what);
        assert!((ours / published - 1.0).abs() < tolerance, "{what}: {ours}, not {published}");
    }
}

#[test]
fn shapes_resemble_the_measured_ones() {
    let web = generate(&small(), 1);
    for what in [
        "hours from the first to half of a page's clicks, median",
        "hours from the first to 90% of a page's clicks, median",
        "share of clicks within a week of birth",
        "new pages, busiest over quietest hour of the day",
        "new pages, weekend day over working day",
        "share of clicks on the top 1% of clicked pages",
        "share of clicked pages with lasting interest",
    ] {
        let (published, ours) = fact(&web, what);
        let factor = (ours / published).max(published / ours);
        assert!(factor < SHAPE_FACTOR, "{what}: {ours}, not {published}");
    }
}

#[test]
fn the_trace_is_valid() {
    let config = small();
    let trace = generate(&config, 2).trace;
    trace.check().unwrap();
    let Trace { pages, hosts, links, clicks, .. } = trace;
    for page in &pages {
        assert!(page.url.starts_with(&format!("https://{}/", hosts[page.host as usize].name)));
        assert_eq!(page.is_seed, page.is_source);
    }
    let urls: HashSet<&str> = pages.iter().map(|page| &*page.url).collect();
    assert_eq!(urls.len(), pages.len(), "URLs repeat");
    let pairs: HashSet<(u32, u32)> = links.iter().map(|link| (link.source, link.page)).collect();
    assert_eq!(pairs.len(), links.len(), "a source shows a page twice");
    for link in &links {
        let page = &pages[link.page as usize];
        assert!(pages[link.source as usize].is_source && !page.is_source);
        assert!(link.appears >= page.born && link.appears.seconds() < config.duration.seconds());
    }
    for row in clicks.iter().flatten() {
        let born = pages[row.page as usize].born;
        assert!(row.at >= born && row.at.seconds() <= config.horizon());
        assert!(born > Time::ZERO, "an old page is clicked");
    }
}

/// Time within which all but a few pages in a thousand are shown by some source.
const FIRST_LINK: Span = Span::from_micros(10 * 60 * 1_000_000);

#[test]
fn a_new_page_is_shown_within_minutes() {
    let trace = generate(&small(), 3).trace;
    let mut first = vec![Time::NEVER; trace.pages.len()];
    for link in &trace.links {
        let at = &mut first[link.page as usize];
        *at = link.appears.min(*at);
    }
    let new = trace.pages.iter().zip(&first).filter(|(page, _)| page.born > Time::ZERO);
    let (mut prompt, mut all) = (0, 0);
    for (page, first) in new {
        all += 1;
        prompt += usize::from(first.since(page.born) < FIRST_LINK);
    }
    assert!(prompt as f64 > 0.995 * f64::from(all), "{prompt} of {all}");
}

/// The lists' lengths at the start and at the end agree within a quarter: sources that fill in
/// less than the burn-in are full, and the slowest hold a small part of all links.
const STATIONARY: f64 = 0.25;

#[test]
fn sources_are_as_full_at_the_start_as_at_the_end() {
    let trace = generate(&small(), 4).trace;
    let shown_at = |at: Time| {
        let shown =
            |link: &&TraceLink| link.appears <= at && link.disappears.is_none_or(|gone| gone > at);
        trace.links.iter().filter(shown).count() as f64
    };
    let (start, end) = (shown_at(Time::ZERO), shown_at(Time::ZERO + trace.duration));
    assert!((start / end - 1.0).abs() < STATIONARY, "{start} links at the start, {end} at the end");
}

#[test]
fn threads_do_not_matter_and_seeds_do() {
    let config = EchoConfig { scale: 0.02, ..EchoConfig::default() };
    let [one, two] = on_one_and_two_threads(|| generate(&config, 7));
    assert!(one.trace == two.trace, "the trace depends on the number of threads");
    assert_eq!(one.facts, two.facts);
    assert!(generate(&config, 8).trace != one.trace);
}

#[test]
fn the_default_is_valid_and_invalid_settings_are_named() {
    EchoConfig::default().check().unwrap();
    let refusal = EchoConfig { scale: f64::NAN, ..EchoConfig::default() }.check().unwrap_err();
    assert_eq!(refusal.setting, "scale");
    let crowded = EchoConfig { host_share: 0.9, ..EchoConfig::default() }.check().unwrap_err();
    assert_eq!(crowded.setting, "host_share + category_share + topic_share");
}

#[test]
fn the_smallest_webs_are_generated() {
    for scale in [1e-6, 1e-4, 1e-3] {
        let config = EchoConfig { scale, ..EchoConfig::default() };
        let trace = generate(&config, 1).trace;
        assert_eq!(trace.hosts.len(), 2);
        assert!(trace.pages.iter().filter(|page| page.is_source).count() >= 6);
    }
}
