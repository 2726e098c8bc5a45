//! The lab through the command: generate, compare, list.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::tool::Folder;

/// Two pages, each of which changes once in a hundred seconds.
pub(crate) const TINY: &[(&str, &str)] = &[
    ("tiny/trace.toml", "name = \"tiny\"\nduration = 100\n"),
    (
        "tiny/pages.csv",
        "page,url,host,born,died,is_source,weight\n\
         0,http://a.test/,a.test,0,,1,1\n1,http://a.test/x,a.test,0,,0,1\n",
    ),
    ("tiny/changes.csv", "page,at\n0,33\n1,71\n"),
];

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn has(value: &Value, wanted: &[&str]) {
    let keys = keys(value);
    wanted.iter().for_each(|name| assert!(keys.contains(name), "no '{name}' among {keys:?}"));
}

/// The document without what depends on the machine.
fn without_wall(json: &str) -> Value {
    let mut json: Value = serde_json::from_str(json).unwrap();
    for policy in json["policies"].as_array_mut().unwrap() {
        assert!(policy.as_object_mut().unwrap().remove("wall_s").unwrap().as_f64() >= Some(0.0));
    }
    json
}

#[test]
fn list_names_what_the_lab_knows() {
    let folder = Folder::with(&[]);
    let json: Value = serde_json::from_str(&folder.run("lab list --json").ok()).unwrap();
    let text = folder.run("lab list").ok();
    for (group, known) in
        [("experiments", "orders"), ("policies", "uniform"), ("generators", "renewal")]
    {
        let entries = json[group].as_array().unwrap();
        let mut names: Vec<&str> = entries.iter().map(|e| e["name"].as_str().unwrap()).collect();
        assert!(names.contains(&known) && names.iter().all(|name| text.contains(name)), "{group}");
        assert!(entries.iter().all(|e| !e["about"].as_str().unwrap().is_empty()), "{group}");
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{group} has a name twice");
    }
}

#[test]
fn a_tiny_trace_is_compared_in_figures_that_can_be_checked_by_hand() {
    let folder = Folder::with(TINY);
    let run = folder.run("lab compare --trace tiny --policies uniform --budget 0.1 --json -");
    let json = without_wall(&run.ok());
    let policy = &json["policies"][0];
    // Fetches at 10, 20, … alternate between the two pages, so each is fetched every 20 s, and a
    // change waits for less than that: freshness lies above 1 − (20 + 20)/200.
    assert_eq!(json["duration_s"].as_f64(), Some(100.0));
    assert!(policy["freshness"].as_f64().unwrap() > 0.8, "{policy}");
    let fetches = &policy["fetches"];
    let count = |kind: &str| fetches[kind].as_f64().unwrap();
    assert!((9.0..=10.0).contains(&(count("refresh") + count("source"))), "{fetches}");
    assert!(policy["profit_per_s"].is_null(), "the trace has no clicks");
    insta::assert_snapshot!("compare", serde_json::to_string_pretty(&json).unwrap());
    let table = folder.run("lab compare --trace tiny --policies uniform --budget 0.1");
    insta::assert_snapshot!("compare_table", table.ok());
}

#[test]
fn comparison_json_has_the_keys_that_scripts_rely_on() {
    let folder = Folder::with(&[]);
    folder.run("lab generate echo -o web --seed 3 --scale 0.01").ok();
    let args = "lab compare --trace web --policies bfs,uniform --budget 0.05 --repeat 2";
    folder.run(&format!("{args} --json out.json --report out.html")).ok();
    assert_eq!(folder.names(), ["out.html", "out.json", "web"]);
    let json: Value = serde_json::from_str(&folder.read("out.json")).unwrap();
    has(&json, &["trace", "budget", "duration_s", "measured_s", "bounds", "policies"]);
    assert!(json["bounds"].is_object());
    let policies = json["policies"].as_array().unwrap();
    assert_eq!((&policies[0]["name"], &policies[1]["name"]), (&"bfs".into(), &"uniform".into()));
    for policy in policies {
        has(policy, &["name", "profit_per_s", "freshness", "age_s", "fragment_staleness"]);
        has(policy, &["coverage", "fetches", "wall_s"]);
        has(&policy["fetches"], &["refresh", "source", "new", "frontier"]);
        assert_eq!(keys(&policy["fetches"]).len(), 4);
        assert!(policy["profit_per_s"].is_f64(), "{policy}");
    }
}

/// All bytes of a folder.
fn bytes(folder: &Folder, name: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder.path().join(name)).unwrap();
    let file = |path: std::path::PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap())
    };
    entries.map(|entry| file(entry.unwrap().path())).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = Folder::with(&[]);
    for (name, seed) in [("a", 3), ("b", 3), ("c", 4)] {
        folder.run(&format!("lab generate renewal --seed {seed} --scale 0.02 -o {name}")).ok();
    }
    assert!(bytes(&folder, "a").contains_key("pages.csv.zst"));
    assert_eq!(bytes(&folder, "a"), bytes(&folder, "b"));
    assert_ne!(bytes(&folder, "a"), bytes(&folder, "c"));
}

#[test]
fn the_number_of_threads_changes_nothing_but_the_time() {
    let folder = Folder::with(&[]);
    folder.run("lab generate renewal --seed 3 --scale 0.02 -o web").ok();
    let compare = |threads: u32| {
        let policies = "random,uniform,proportional,omniscient";
        let args = format!("lab compare --trace web --policies {policies} --budget 60/h");
        without_wall(&folder.run(&format!("{args} --repeat 2 --threads {threads} --json -")).ok())
    };
    assert_eq!(compare(1), compare(2));
}
