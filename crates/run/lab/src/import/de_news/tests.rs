use super::super::Join;
use super::super::clock::Moment;
use super::super::testing::{Files, fact, run};
use super::*;
use tidewatch_core::{Span, Time};

const PAGES: &str = "page_id|path|url\n0|a|https://n.example/\n2|b|https://n.example/sport\n3|c|https://m.example/\n";
const ARTICLES: &str = "article_id|url\n0|https://n.example/x\n1|https://n.example/x#comments\n\
                        2|https://n.example/sport?utm_source=front\n3|javascript:void(0)\n4|https://n.example/y\n5|https://n.example/z\n";
/// Source 0: good at 1000, 2000, broken at 3000 and 4000, good at 5000, 6000.
/// Source 2: first seen at 1010. Source 3: never lists anything.
const SNAPSHOTS: &str = "ts|page_id|status|n_links|n_retitled|order_changed\n\
    1000|0|200|2|0|1\n2000|0|200|3|0|0\n3000|0|200|0|0|0\n4000|0|503|1|0|0\n5000|0|200|3|0|1\n6000|0|200|3|1|0\n\
    1010|2|200|1|0|1\n6010|2|200|1|0|0\n900|3|200|0|0|0\n";
const EVENTS: &str = "ts|page_id|op|article_id|pos\n\
    1000|0|+|0|0\n1000|0|+|3|1\n2000|0|+|4|0\n2000|0|-|0|-1\n2000|0|+|1|2\n\
    3000|0|-|1|-1\n3000|0|-|4|-1\n4000|0|+|5|0\n5000|0|+|1|3\n5000|0|+|2|7\n5000|0|~|5|0\n\
    1010|2|+|5|4\n6010|2|-|5|-1\n6010|2|+|4|6\n";

fn files(events: &str) -> Files {
    let tables = [
        ("pages.tsv", PAGES),
        ("articles.tsv", ARTICLES),
        ("snapshots.tsv", SNAPSHOTS),
        ("events.tsv", events),
    ];
    Files::tabs(&tables)
}

type Shown = (u64, u64, f64, Option<f64>);

/// Links as ids and seconds.
fn links(trace: &Trace) -> Vec<Shown> {
    let id = |page: u32| trace.pages[page as usize].id;
    let row = |l: &TraceLink| {
        (id(l.source), id(l.page), l.appears.seconds(), l.disappears.map(Time::seconds))
    };
    trace.links.iter().map(row).collect()
}

#[test]
fn listings_become_links_through_outages_and_duplicates() {
    let imported = run(NAME, &files(EVENTS).args()).unwrap();
    let trace = &imported.trace;
    assert_eq!(trace.start.as_deref(), Some("1970-01-01T00:15:00Z"));
    // Time 0 is 900. Article ids count on from 4.
    let pages: Vec<_> =
        trace.pages.iter().map(|p| (p.id, &*p.url, p.born.seconds(), p.is_source)).collect();
    assert_eq!(
        pages,
        [
            (0, "https://n.example/", 0.0, true),
            (2, "https://n.example/sport", 0.0, true),
            (4, "https://n.example/x", 0.0, false),
            (8, "https://n.example/y", 1100.0, false),
            (9, "https://n.example/z", 0.0, false),
        ]
    );
    assert_eq!(
        links(trace),
        [
            // x stays through its change of spelling and the outage…
            (0, 4, 0.0, None),
            // …y, gone in the outage and not back, leaves when it ends…
            (0, 8, 1100.0, Some(4100.0)),
            // …the section page and z, seen in the outage, appear when it ends.
            (0, 2, 4100.0, None),
            (0, 9, 4100.0, None),
            (2, 9, 0.0, None),
        ]
    );
    let changes: Vec<_> =
        trace.changes.iter().flatten().map(|c| (c.page, c.at.seconds())).collect();
    // At 5000 by pages, at 6000 by titles; the order at 5000 follows an outage.
    assert_eq!(changes, [(0, 1100.0), (0, 4100.0), (0, 5100.0)]);
    for (what, count) in [
        ("sources dropped: no visit listed a link", 1),
        ("failed visits: error status", 1),
        ("failed visits: no links", 2),
        ("articles dropped: URL refused", 1),
        ("articles merged: same canonical URL as an earlier one", 2),
        ("articles that are sources", 1),
        ("events dropped: invalid URL of the article", 1),
        ("events without effect: retitled", 1),
    ] {
        assert_eq!(fact(&imported, what), count, "{what}");
    }
}

#[test]
fn a_window_starts_with_the_current_links() {
    let files = files(EVENTS);
    let args = ImportArgs {
        from: Moment::from_unix_seconds(2500),
        length: Some(Span::SECOND.times(2600)),
        ..files.args()
    };
    let trace = run(NAME, &args).unwrap().trace;
    assert_eq!(
        links(&trace),
        [
            (0, 4, 0.0, None),
            (0, 8, 0.0, Some(2500.0)),
            (0, 2, 2500.0, None),
            (0, 9, 2500.0, None),
            (2, 9, 0.0, None),
        ]
    );
    assert!(trace.pages.iter().all(|page| page.born == Time::ZERO));
    assert_eq!(trace.duration, Span::SECOND.times(2600));
}

#[test]
fn long_outages_are_absences() {
    let snapshots = "ts|page_id|status|n_links|n_retitled|order_changed\n\
        0|0|200|1|0|0\n1000|0|404|0|0|0\n50000|0|404|0|0|0\n90000|0|200|1|0|0\n91000|0|404|0|0|0\n";
    let events =
        "ts|page_id|op|article_id|pos\n0|0|+|0|0\n1000|0|-|0|-1\n90000|0|+|0|1\n91000|0|-|0|-1\n";
    let files = files(events);
    std::fs::write(files.file("snapshots.tsv"), snapshots.replace('|', "\t")).unwrap();
    let trace = run(NAME, &files.args()).unwrap().trace;
    // The last outage may yet end: the link stands.
    assert_eq!(links(&trace), [(0, 4, 0.0, Some(1000.0)), (0, 4, 90000.0, None)]);
}

#[test]
fn errors_name_row_and_column() {
    let wrong = |events: &str| {
        let events = format!("ts|page_id|op|article_id|pos\n{}", events.replace('\n', "|0\n"));
        run(NAME, &files(&events).args()).unwrap_err().to_string()
    };
    let text = wrong("1000|0|+|0\n1000|0|+|77\n");
    assert!(
        text.ends_with(
            "events.tsv, line 3, column 'article_id': '77' is not an id of articles.tsv"
        )
    );
    assert!(wrong("1500|0|+|0\n").contains("column 'ts': '1500' is not the time of a visit"));
    assert!(wrong("2000|0|+|0\n1000|0|+|1\n").contains("line 3, column 'ts': '1000' is before"));
    assert!(wrong("1000|0|-|0\n").contains("is removed from a page that did not list it"));
    assert!(wrong("1000|0|*|0\n").contains("column 'op': '*' is not an event"));
    assert!(wrong("1000|9|+|0\n").contains("'9' is not a page_id of pages.tsv"));
}

/// Bin 1000 starts at 1200000 s; the warm-up ends with bin 1216.
fn clicks() -> Files {
    let articles =
        "article_id|first_click_ms\n1|1200000000\n2|1459200000\n3|1459260000\n4|1459200000\n";
    let bins =
        "article_id|bin_20min_epoch|clicks\n1|1500|1\n2|1216|1\n3|1216|90\n3|1217|9\n4|1216|5\n";
    Files::tabs(&[("articles.tsv", articles), ("article_20min_clicks.tsv", bins)])
}

fn joined(join: Join) -> (Imported, Vec<(u64, f64, f64)>) {
    let (files, clicks) = (files(EVENTS), clicks());
    let args =
        ImportArgs { clicks: Some(clicks.path().to_owned()), join: Some(join), ..files.args() };
    let imported = run(NAME, &args).unwrap();
    let trace = &imported.trace;
    let row =
        |c: &tidewatch_trace::Count| (trace.pages[c.page as usize].id, c.at.seconds(), c.count);
    let rows = trace.clicks.iter().flatten().map(row).collect();
    (imported, rows)
}

#[test]
fn a_join_by_rank_gives_young_pages_the_best_curves() {
    let (imported, clicks) = joined(Join::Rank);
    // Only y, born at 1100, is young. Curve 3 has most clicks: its first bin's
    // lie (1200 − 60)/2 after its birth, the next bin's 1800 − 60.
    assert_eq!(clicks, [(8, 1100.0 + 570.0, 90.0), (8, 1100.0 + 1740.0, 9.0)]);
    assert!(imported.notes.iter().any(|note| note.starts_with("Synthetic join:")));
    assert!(imported.trace.note.unwrap().contains("Synthetic join"));
}

#[test]
fn a_join_at_random_is_reproducible() {
    let (imported, clicks) = joined(Join::Random);
    assert_eq!(clicks, joined(Join::Random).1);
    assert!(clicks.iter().all(|&(page, at, _)| page == 8 && at > 1100.0));
    assert_eq!(fact(&imported, "pages with a click curve"), 1);
}
