//! Searching and clicking.

use tidewatch_core::{InterestKind, PageId};
use tidewatch_search::clicks::{ClickSettings, Entry, Feedback, Mark, Rows};

use crate::{Stage, page};

fn stage() -> Stage {
    let pages: Vec<_> =
        (1..=25).map(|n| page(n, &format!("Tide {n}"), "High water at noon")).collect();
    Stage::new(&pages)
}

/// The signed links of a page, in order.
fn links(body: &str) -> Vec<String> {
    let parts = body.split("href=\"/go?t=").skip(1);
    parts.map(|part| format!("/go?t={}", part.split('"').next().unwrap())).collect()
}

fn log(stage: &Stage) -> Vec<Entry> {
    Rows::read(stage.desk.dir(), Mark::default(), 1_000).unwrap().entries
}

#[test]
fn results_are_shown_paged_and_counted() {
    let stage = stage();
    let first = stage.get("/search?q=tide");
    assert_eq!((first.status, links(&first.body).len()), (200, 10));
    assert!(first.body.contains("<mark>Tide") || first.body.contains("25 pages in"));
    // When it changed before the crawl saw it is not known.
    assert!(first.body.contains("this version first seen 1 hour ago"), "{}", first.body);
    assert!(first.body.contains("rel=\"next\" href=\"/search?q=tide&amp;page=2\""));
    let last = stage.get("/search?q=tide&page=3");
    assert!(
        links(&last.body).len() == 5 && last.body.contains("<ol class=\"results\" start=\"21\">")
    );
    let beyond = stage.get("/search?q=tide&page=9");
    assert!(beyond.body.contains("There are no more results"));
    let shown = log(&stage);
    assert!(
        matches!(&shown[0], Entry::Shown { query, first: 1, pages, .. } if query == "tide" && pages.len() == 10)
    );
    let text = std::fs::read_to_string(
        std::fs::read_dir(stage.desk.dir())
            .unwrap()
            .flatten()
            .map(|file| file.path())
            .find(|path| path.extension().is_some_and(|e| e == "jsonl"))
            .unwrap(),
    )
    .unwrap();
    assert!(!text.contains("127.0.0.1") && !text.contains("localhost"), "no address is kept");
}

#[test]
fn a_click_leads_on_and_counts_once() {
    let stage = stage();
    let links = links(&stage.get("/search?q=tide").body);
    let answer = stage.get(&links[2]);
    assert_eq!(answer.status, 303);
    assert!(answer.head.contains("location: https://host.example/"), "{}", answer.head);
    assert!(answer.head.contains("referrer-policy: no-referrer"));
    assert_eq!(stage.get(&links[2]).status, 303, "again, without counting");
    let clicks: Vec<_> = log(&stage)
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Clicked { page, position, .. } => Some((page, position)),
            _ => None,
        })
        .collect();
    assert_eq!(clicks.len(), 1);
    assert_eq!(clicks[0].1, 3);
    let mut nobody = |_: &str| None;
    let mut feedback =
        Feedback::open(stage.desk.dir(), 0, Mark::default(), 1.0, &mut nobody).unwrap();
    let heard = feedback.read(&mut nobody).unwrap();
    let click = heard.rows.iter().find(|row| row.kind == InterestKind::Click).unwrap();
    assert_eq!(click.page, clicks[0].0.page());
}

#[test]
fn forged_old_and_outdated_links_are_met_with_a_helpful_page() {
    let mut stage = stage();
    let links_ = links(&stage.get("/search?q=tide").body);
    let forged = links_[0].replace("t=", "t=0");
    for path in [&forged, "/go", "/go?t=", "/go?t=%00", "/go?x=1", "/go?t=..%2f"] {
        let answer = stage.get(path);
        assert_eq!(answer.status, 403, "{path}");
        assert!(answer.body.contains("Search again"), "{path}");
    }
    (1..=25).for_each(|n| stage.writer.remove(PageId(n).into()));
    stage.writer.commit(&[]).unwrap();
    let gone = stage.get(&links_[0]);
    assert!(gone.status == 410 && gone.body.contains("has left the index"));
    let quick = Stage::with(
        &[page(1, "Tide", "x")],
        ClickSettings { expires_s: -5, ..ClickSettings::default() },
    );
    let old = quick.get(&links(&quick.get("/search?q=tide").body)[0]);
    assert!(
        old.status == 410
            && old.body.contains("not counted")
            && old.body.contains("https://host.example/1")
    );
    assert!(log(&quick).iter().all(|entry| matches!(entry, Entry::Shown { .. })));
}

#[test]
fn absurd_queries_get_a_helpful_page() {
    let stage = stage();
    let long = format!("/search?q={}", "water+".repeat(1_700));
    for path in [
        "/search",
        "/search?q=",
        "/search?q=%FF%FE",
        "/search?q=%00",
        "/search?q=%22",
        "/search?q=-",
        "/search?page=x",
        "/search?q=tide&page=-1",
        "/search?q=tide&page=99999999999999999999",
        "/search?q=a&q=b",
        "/search?%",
        "/search?q=%ZZ",
        "/search?q=after:never",
        &long,
    ] {
        let answer = stage.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.body.contains("role=\"search\""), "{path}");
    }
    assert!(stage.get("/search?q=after:never+tide").body.contains("is no date"));
    assert!(stage.get(&long).body.contains("Only the first"));
    assert!(stage.get("/search?q=unheard").body.contains("No page matches"));
}

#[test]
fn programs_get_json() {
    let stage = stage();
    let found: serde_json::Value =
        serde_json::from_str(&stage.get("/api/search?q=tide&count=3").body).unwrap();
    assert_eq!((found["total"].as_u64(), found["hits"].as_array().unwrap().len()), (Some(25), 3));
    assert!(found["hits"][0]["snippet"]["pieces"].is_array());
    assert!(log(&stage).is_empty(), "programs are not searchers");
    let opensearch = stage.get("/opensearch.xml");
    assert!(opensearch.body.contains("http://localhost/search?q={searchTerms}"));
}

#[test]
fn a_server_without_an_index_or_crawl_says_so() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let options = tidewatch_server::Options::default();
    let asker = tidewatch_server::ask::channel(1).0;
    let at = "127.0.0.1:0".parse().unwrap();
    let server = tidewatch_server::Server::open(at, asker, options).unwrap();
    let get = |path| crate::send(server.address, "GET", path, &[]);
    assert!(get("/").head.contains("location: /dashboard"));
    assert_eq!(get("/search?q=x").status, 404);
    assert!(get("/dashboard").body.contains("tidewatch crawl"));
    assert_eq!(get("/status.json").status, 503);
}
