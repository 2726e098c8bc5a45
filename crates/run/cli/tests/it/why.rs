//! A crawl by price explains itself once it has ended, and goes on as before.

use serde_json::Value;

use crate::living::Living;
use crate::tool::rows;

const CRAWL: &str = "crawl seeds --dir crawl --config crawl.toml --budget 8/s --for 4s";

#[test]
fn a_crawl_by_price_says_why_and_what_if() {
    let living = Living::serve(4, 10);
    living.folder.run(CRAWL).ok();
    living.folder.run("export pages --dir crawl -o pages.csv").ok();
    let pages = rows(&living.folder.read("pages.csv"));
    // Columns: page, url, host, depth, via, is_source, status, ….
    let held = pages.iter().find(|row| row[5] == "0" && row[6] == "200").expect("a page is held");
    let seed = &held[1];
    let told = living.folder.run(&format!("why {seed} --dir crawl")).ok();
    for words in ["A copy is held", "The price is", "due"] {
        assert!(told.contains(words), "no '{words}' in {told}");
    }
    let json = living.folder.run(&format!("why {seed} --dir crawl --json")).ok();
    let why: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(why["kind"], "refresh");
    assert!(why["price"].as_f64().unwrap() > 0.0 && why["worth"].as_f64().unwrap() >= 0.0);
    let json = living.folder.run("what-if --budget 10x --dir crawl --json").ok();
    let what_if: Value = serde_json::from_str(&json).unwrap();
    let price = |when: &str| what_if[when]["price"].as_f64().unwrap();
    assert!(price("then") < price("now"), "{what_if}");
    assert!(what_if["then"]["freshness"].as_f64() >= what_if["now"]["freshness"].as_f64());
    let unknown = living.folder.run("why http://nowhere.test/ --dir crawl");
    assert!(unknown.code == 1 && unknown.err.contains("does not know"), "{}", unknown.err);
    // Looking changed nothing: the history still leads to where the crawl goes on.
    living.folder.run(CRAWL).ok();
    let json = living.folder.run("lab replay --dir crawl --json").ok();
    let replayed: Value = serde_json::from_str(&json).unwrap();
    let decisions = replayed["decisions"].as_u64().unwrap();
    assert!(decisions > 40 && replayed["inputs"].as_u64().unwrap() > decisions, "{replayed}");
}

/// While a crawl runs, its directory is locked: the crawl itself answers, also one of several partitions.
#[test]
fn a_running_crawl_says_why() {
    for partitions in [1, 3] {
        let living = Living::serve(3, 4);
        let seeds = living.folder.read("seeds");
        let seed = seeds.lines().next().expect("a seed");
        let crawl = format!(
            "crawl seeds --dir crawl --config crawl.toml --budget 8/s --for 20s --partitions {partitions}"
        );
        std::thread::scope(|scope| {
            let crawl = scope.spawn(|| living.folder.run(&crawl));
            let began = std::time::Instant::now();
            let why = loop {
                let why = living.folder.run(&format!("why {seed} --dir crawl --json"));
                if why.code == 0 {
                    break serde_json::from_str::<Value>(&why.out).unwrap();
                }
                assert!(began.elapsed().as_secs() < 15, "{}", why.err);
                std::thread::sleep(std::time::Duration::from_millis(100));
            };
            assert!(!crawl.is_finished() && why["url"] == *seed, "{why}");
            let told = living.folder.run(&format!("why {seed} --dir crawl")).ok();
            assert!(told.starts_with(seed) && told.lines().count() > 1, "{told}");
            let unknown = living.folder.run(&format!("why {seed}never --dir crawl"));
            assert!(unknown.code == 1 && unknown.err.contains("does not know"), "{}", unknown.err);
            asks_for_rules(&living);
            labels_a_host(&living);
            crawl.join().unwrap().ok();
        });
        asks_for_rules(&living);
        labels_a_host(&living);
        living.folder.run(&format!("why {seed} --dir crawl")).ok();
    }
}

/// Rules are listed and decided about while a crawl runs, and when it does not.
fn asks_for_rules(living: &Living) {
    let listed = living.folder.run("rules --dir crawl --json").ok();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert!(listed["rules"].is_array(), "{listed}");
    let unknown = living.folder.run("rules --dir crawl --veto 0123456789abcdef");
    assert!(unknown.code == 1 && unknown.err.contains("knows no rule"), "{}", unknown.err);
    for wrong in ["--veto 12", "--pin 0123456789abcdef --undo 0123456789abcdef"] {
        assert_eq!(living.folder.run(&format!("rules --dir crawl {wrong}")).code, 2, "{wrong}");
    }
}

/// Hosts are labelled while a crawl runs, and when it does not; a label is listed until it is taken back.
fn labels_a_host(living: &Living) {
    let hosts = || -> Value {
        let listed = living.folder.run("label --dir crawl --json").ok();
        serde_json::from_str::<Value>(&listed).unwrap()["hosts"].take()
    };
    let told = living.folder.run("label --dir crawl http://pills.test/x spam").ok();
    assert_eq!(told, "http://pills.test is labelled spam.\n");
    let listed = hosts();
    assert_eq!(listed[0]["host"], "http://pills.test", "{listed}");
    assert_eq!(listed[0]["label"], "spam", "{listed}");
    assert!(listed[0]["chance"].as_f64().unwrap() > 0.9, "{listed}");
    living.folder.run("label --dir crawl http://pills.test/y none").ok();
    assert!(hosts().as_array().unwrap().iter().all(|host| host["label"].is_null()));
    for wrong in ["http://pills.test/", "http://pills.test/ bad"] {
        assert_eq!(living.folder.run(&format!("label --dir crawl {wrong}")).code, 2, "{wrong}");
    }
}

#[test]
fn a_crawl_without_a_price_explains_its_rule_but_no_other_budget() {
    let living = Living::serve(2, 3);
    let mut settings = String::from("policy = \"bfs\"\n");
    settings.push_str(&living.folder.read("crawl.toml"));
    living.folder.put("bfs.toml", settings.as_bytes());
    let crawl = "crawl seeds --dir crawl --config bfs.toml --budget 40/s --for 1s";
    living.folder.run(crawl).ok();
    let refused = living.folder.run("what-if --budget 2x --dir crawl");
    assert!(refused.code == 1 && refused.err.contains("has no price"), "{}", refused.err);
    let seeds = living.folder.read("seeds");
    let seed = seeds.lines().next().expect("a seed");
    let told = living.folder.run(&format!("why {seed} --dir crawl")).ok();
    // The front page of a host may be missing.
    let is_due = told.contains("Rule: ") && told.contains("when its turn comes");
    assert!(is_due || told.contains("that it does not exist"), "{told}");
    let nothing = living.folder.run("why http://a.test/ --dir nowhere");
    assert!(nothing.code == 1 && nothing.err.contains("holds no crawl"), "{}", nothing.err);
}
