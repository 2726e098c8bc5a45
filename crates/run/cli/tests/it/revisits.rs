//! How often a page is asked for over real HTTP.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::Value;
use tidewatch_web::Served;

use crate::living::Living;

/// How often each page was asked for.
fn visits(living: &Living) -> HashMap<u32, usize> {
    let mut visits = HashMap::new();
    for request in living.server.log().requests() {
        if let Served::Page(page) = request.served {
            *visits.entry(page).or_default() += 1;
        }
    }
    visits
}

/// `--once` asks for every page once and ends with exit code 0, in one partition and in three.
#[test]
fn once_fetches_every_page_once_and_ends() {
    for partitions in [1, 3] {
        let (living, began) = (Living::serve(3, 8), Instant::now());
        let told = living
            .folder
            .run(&format!(
                "crawl seeds --dir crawl --config crawl.toml --budget 200/s --once --for 100s \
                 --partitions {partitions}"
            ))
            .ok();
        assert!(told.contains("every page in scope that answers was fetched"), "{told}");
        let visits = visits(&living);
        assert!(visits.len() == 24 && visits.values().all(|times| *times == 1), "{visits:?}");
        assert!(began.elapsed().as_secs() < 60, "it ends when nothing is left");
    }
}

/// By default a page is not asked for again within minutes, and `status` says what is left of the budget.
#[test]
fn small_sites_are_left_alone_and_the_budget_stays_unspent() {
    let living = Living::serve(2, 3);
    let crawl = "crawl seeds --dir crawl --config crawl.toml --budget 20/s --for 6s \
                 --min-revisit 4h --print-stored";
    let stored = living.folder.run(crawl).ok();
    let visits = visits(&living);
    assert!(visits.len() == 6 && visits.values().all(|times| *times == 1), "{visits:?}");
    let told = living.folder.run("status --dir crawl").ok();
    assert!(told.contains("unspent, %"), "{told}");
    assert!(told.contains("% of the budget is left unspent: "), "{told}");
    let json = living.folder.run("status --dir crawl --json").ok();
    let status: Value = serde_json::from_str(&json).unwrap();
    assert!(status["unspent"]["share"].as_f64().unwrap() > 0.5, "{json}");
    let page = stored.lines().find(|line| line.starts_with("http://")).expect("a stored page");
    let told = living.folder.run(&format!("why {page} --dir crawl")).ok();
    assert!(told.contains("it rests for "), "{told}");
}
