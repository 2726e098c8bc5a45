//! Importers on public data sets.
//!
//! The expected figures are those of the data sets' own descriptions, or counts made by other means.

use std::path::PathBuf;

use tidewatch_core::Span;
use tidewatch_lab::World;
use tidewatch_lab::import::{ImportArgs, Imported, Importer};
use tidewatch_testing::suites::data;

fn import(format: &str, args: &ImportArgs) -> Imported {
    Importer::named(format).unwrap().run(args).unwrap()
}

fn all_of(path: PathBuf) -> ImportArgs {
    ImportArgs { path, ..ImportArgs::default() }
}

fn fact(imported: &Imported, what: &str) -> u64 {
    imported.facts.iter().find(|fact| fact.what == what).unwrap().count
}

/// The lab can run on what came out: above all, no two pages share a URL.
fn runs(imported: Imported) -> World {
    World::new(imported.trace).unwrap()
}

#[test]
fn a_week_of_news_sources() {
    let Some(path) = data("de_news_hubs_hourly_2022") else { return };
    let from = Some("2022-03-01".parse().unwrap());
    let args = ImportArgs { from, length: Some(Span::WEEK), ..all_of(path) };
    let imported = import("de-news-hubs", &args);
    assert_eq!(fact(&imported, "sources read"), 135);
    assert_eq!(fact(&imported, "visits read"), 996_775);
    assert_eq!(fact(&imported, "events read"), 3_481_411);
    assert_eq!(fact(&imported, "articles read"), 661_667);
    // Addresses that differ in the fragment alone are 14,720: at least those merge.
    assert!(fact(&imported, "articles merged: same canonical URL as an earlier one") >= 14_720);
    let trace = &imported.trace;
    assert_eq!(trace.start.as_deref(), Some("2022-03-01T00:00:00Z"));
    assert_eq!(trace.duration, Span::WEEK);
    assert_eq!(trace.pages.iter().filter(|page| page.is_source).count(), 130);
    // Every page but a source is there because a source shows it.
    let mut is_shown: Vec<bool> = trace.pages.iter().map(|page| page.is_source).collect();
    for link in trace.links.iter().filter(|link| trace.pages[link.source as usize].is_source) {
        is_shown[link.page as usize] = true;
    }
    assert_eq!(is_shown.iter().filter(|shown| !**shown).count(), 0);
    runs(imported);
}

#[test]
fn half_a_month_of_clicks() {
    let Some(path) = data("globo_clicks") else { return };
    let imported = import("globo-clicks", &all_of(path));
    assert_eq!(fact(&imported, "articles read"), 46_033);
    assert_eq!(fact(&imported, "bins read"), 401_361);
    assert_eq!(fact(&imported, "articles dropped: first clicked in the first three days"), 12_797);
    runs(imported);
}

#[test]
fn a_month_of_an_aggregator() {
    let Some(path) = data("hn_frontpage") else { return };
    let from = Some("2021-06-01".parse().unwrap());
    let args = ImportArgs { from, length: Some(Span::DAY.times(30)), ..all_of(path) };
    let imported = import("hn-frontpage", &args);
    assert_eq!(fact(&imported, "rows read"), 933_728);
    assert_eq!(fact(&imported, "observations of the front page"), 32_116);
    assert_eq!(fact(&imported, "items read"), 66_197);
    assert_eq!(fact(&imported, "losses of points counted as 0"), 36);
    // At any time the front page shows at most 30 pages.
    let noon = tidewatch_core::Time::ZERO + Span::DAY.times(15);
    let stands = imported
        .trace
        .links
        .iter()
        .filter(|link| link.appears <= noon && link.disappears.is_none_or(|gone| noon < gone));
    assert!((25..=30).contains(&stands.count()));
    runs(imported);
}

#[test]
fn legal_pages() {
    let Some(path) = data("ota_terms") else { return };
    let imported = import("ota-terms", &all_of(path));
    assert_eq!(fact(&imported, "documents read"), 949);
    assert_eq!(fact(&imported, "events read"), 321_329);
    assert_eq!(fact(&imported, "text versions read"), 37_846);
    assert_eq!(fact(&imported, "text versions earlier than the previous one"), 94);
    runs(imported);
}

#[test]
fn a_year_of_documentation() {
    let Some(path) = data("mdn_site") else { return };
    let from = Some("2024-01-01".parse().unwrap());
    let args = ImportArgs { from, length: Some(Span::DAY.times(365)), ..all_of(path) };
    let imported = import("mdn-site", &args);
    assert_eq!(fact(&imported, "pages read"), 21_634);
    assert_eq!(fact(&imported, "commits of pages read"), 336_233);
    assert_eq!(fact(&imported, "commits dropped: more than 50 pages at once"), 234_923);
    assert_eq!(fact(&imported, "links read"), 127_158);
    runs(imported);
}

#[test]
fn a_crawled_university() {
    let Some(path) = data("web_graphs/hollins_links.txt.gz") else { return };
    let imported = import("web-graph", &all_of(path));
    assert_eq!(imported.trace.pages.len(), 6_012);
    assert_eq!(imported.trace.links.len(), 23_875);
    runs(imported);
}
