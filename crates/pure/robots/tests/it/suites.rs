//! robots.txt against the cases of Google's parser and the files of crawler-commons.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tidewatch_robots::{Robots, target_of};

use tidewatch_testing::suites as shared;

/// Google takes a permission for `/a/index.html` as one for `/a/`; RFC 9309 does not, and
/// we go by what is written.
const LEFT_TO_GOOGLE: &str = "GoogleOnly_IndexHTMLisDirectory";

#[test]
fn decides_as_google_does() {
    let Some(cases) = shared::bytes("google-robotstxt/cases.json") else { return };
    let cases: Vec<Value> = serde_json::from_slice(&cases).unwrap();
    for class in ["rfc9309", "google-only"] {
        let cases: Vec<_> = cases.iter().filter(|case| case["class"] == class).collect();
        let taken = cases.iter().filter(|case| case["test"] != LEFT_TO_GOOGLE);
        let failures: Vec<_> = taken.clone().filter_map(|case| failure(case)).collect();
        shared::judge(&format!("google-robotstxt {class}"), taken.count(), 65, &failures);
    }
}

fn failure(case: &Value) -> Option<String> {
    let text = |key: &str| case[key].as_str().unwrap();
    let robots = Robots::parse(text("robots_txt").as_bytes(), text("user_agent"));
    let allowed = robots.allows(&target_of(text("url")));
    (allowed != case["allowed"].as_bool().unwrap())
        .then(|| case.to_string().chars().take(300).collect())
}

const ROBOTS: &str = "crawler-commons/src/test/resources/robots";

fn read(file: &str, agent: &str) -> Option<Robots> {
    let bytes = shared::bytes(&Path::new(ROBOTS).join(file).to_string_lossy())?;
    Some(Robots::parse(&bytes, agent))
}

/// File, agent, path, whether allowed: what the comments in the files and RFC 9309 ask for.
const DECISIONS: [(&str, &str, &str, bool); 20] = [
    ("crawl-delay-group-merging.txt", "mybot", "/private/", false),
    ("crawl-delay-group-merging.txt", "yourbot", "/login/", false),
    ("crawl-delay-group-merging.txt", "other", "/login/", true),
    ("directive-typos-robots.txt", "bot1", "/desallow/", false),
    ("directive-typos-robots.txt", "bot1", "/dissalow/", false),
    ("directive-typos-robots.txt", "bot", "/desallow/", true),
    ("dos-line-endings.txt", "any", "/", true),
    ("extension-robots.txt", "mybot", "/private/x", false),
    ("extensions-group-merging.txt", "mybot", "/private/", false),
    ("extensions-group-merging.txt", "other", "/x", false),
    ("extensions-group-merging.txt", "other", "/llms.txt", true),
    ("malformed-path.txt", "any", "/wiki/Wikipedia_talk:Mediation_Committee/", false),
    ("malformed-path.txt", "any", "/wiki/Wikipedia_talk%3Mediation_Committee/", false),
    ("merge-rules.txt", "wget", "/foo/bar", true),
    ("merge-rules.txt", "wget", "/tmp/bar", false),
    ("merge-rules.txt", "curl", "/x", false),
    ("many-user-agents.txt", "wget", "/x", false),
    ("rfc9309-example-longest-match-robots.txt", "foobot", "/example/page/", true),
    ("rfc9309-example-longest-match-robots.txt", "foobot", "/example/page/disallowed.gif", false),
    ("rfc9309-example-simple-robots.txt", "other", "/x", true),
];

#[test]
fn reads_the_files_of_crawler_commons() {
    let mut failures = Vec::new();
    for (file, agent, path, want) in DECISIONS {
        let Some(robots) = read(file, agent) else { return };
        if robots.allows(path) != want {
            failures.push(format!("{file}: {agent} on {path}: {:?}", robots.decide(path)));
        }
    }
    shared::judge("crawler-commons robots", DECISIONS.len(), DECISIONS.len(), &failures);
    for file in shared::files(ROBOTS).unwrap() {
        Robots::parse(&std::fs::read(file).unwrap(), "any").allows("/x");
    }
}

#[test]
fn reads_delays_sitemaps_and_marks_of_byte_order() {
    let Some(robots) = read("crawl-delay-group-merging.txt", "mybot") else { return };
    assert_eq!(robots.crawl_delay(), Some(Duration::from_secs(10)));
    let others = read("crawl-delay-group-merging.txt", "other").unwrap();
    assert_eq!(others.crawl_delay(), Some(Duration::from_secs(30)));
    assert_eq!(read("sitemap-robots-dedup.txt", "x").unwrap().sitemaps().len(), 1);
    let marked = |kind| read(&format!("robots-with-{kind}-bom.txt"), "foobot").unwrap();
    let plain = marked("utf8");
    assert!(plain != Robots::absent());
    assert_eq!(marked("utf16le"), plain);
    assert_eq!(marked("utf16be"), plain);
}

#[test]
fn a_bomb_of_wildcards_is_decided_at_once() {
    let Some(bomb) = shared::bytes("bombs/robots-many-wildcards.txt") else { return };
    let started = Instant::now();
    let robots = Robots::parse(&bomb, "any");
    robots.allows(&format!("/{}", "a".repeat(10_000)));
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}
