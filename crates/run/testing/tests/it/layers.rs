//! The layers `run → edge → pure`, checked on the dependency graph that `cargo metadata` prints.
//!
//! Only normal dependencies count: tests of a pure crate may use anything. What a pure crate calls
//! in `std` is checked by clippy, with the lists in `crates/pure/clippy.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// External crates that read clocks, files, sockets or the environment. No pure crate may depend
/// on them, not even through another crate.
///
/// `getrandom` and `libc` are missing from this list on purpose: `cargo metadata` resolves features
/// for the whole workspace, so they appear below `rand` and `rayon` because other crates' tests
/// want them. Clippy forbids the functions of `rand` that would use them.
const DOES_IO: &[&str] = &[
    "async-std",
    "axum",
    "chrono",
    "curl",
    "dirs",
    "fastrand",
    "fjall",
    "heed",
    "hickory-resolver",
    "home",
    "hyper",
    "hyper-util",
    "indicatif",
    "jiff",
    "memmap2",
    "mio",
    "nix",
    "notify",
    "num_cpus",
    "parquet",
    "redb",
    "reqwest",
    "rocksdb",
    "rusqlite",
    "rustix",
    "rustls",
    "smol",
    "socket2",
    "tantivy",
    "tempfile",
    "time",
    "tokio",
    "tokio-rustls",
    "ureq",
    "uuid",
    "walkdir",
];

/// The line that turns the lints on. `forbid` lets no part of the crate turn them off again.
const LINT: &str =
    "#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Pure,
    Edge,
    Run,
}

/// Packages by id, with their normal dependencies.
struct Graph {
    names: BTreeMap<String, String>,
    layers: BTreeMap<String, Layer>,
    dependencies: BTreeMap<String, Vec<String>>,
}

pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn host_triple() -> String {
    let version = Command::new("rustc").arg("-vV").output().expect("rustc runs").stdout;
    let version = String::from_utf8(version).expect("UTF-8");
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

/// The graph as `cargo` resolves it for this machine.
fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform"])
        .arg(host_triple())
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn layer_of(manifest: &str) -> Layer {
    let folder = Path::new(manifest).ancestors().nth(2).and_then(Path::file_name);
    match folder.and_then(|name| name.to_str()) {
        Some("pure") => Layer::Pure,
        Some("edge") => Layer::Edge,
        Some("run") => Layer::Run,
        _ => panic!("{manifest} is not in crates/pure, crates/edge or crates/run"),
    }
}

impl Graph {
    fn new(metadata: &Value) -> Graph {
        let members: BTreeSet<String> =
            list(&metadata["workspace_members"]).iter().map(text).collect();
        let mut graph = Graph {
            names: BTreeMap::new(),
            layers: BTreeMap::new(),
            dependencies: BTreeMap::new(),
        };
        for package in list(&metadata["packages"]) {
            let id = text(&package["id"]);
            if members.contains(&id) {
                graph.layers.insert(id.clone(), layer_of(&text(&package["manifest_path"])));
            }
            graph.names.insert(id, text(&package["name"]));
        }
        for node in list(&metadata["resolve"]["nodes"]) {
            let is_normal = |kinds: &Value| list(kinds).iter().any(|kind| kind["kind"].is_null());
            let normal = list(&node["deps"]).iter().filter(|dep| is_normal(&dep["dep_kinds"]));
            let ids = normal.map(|dep| text(&dep["pkg"])).collect();
            graph.dependencies.insert(text(&node["id"]), ids);
        }
        graph
    }

    /// Everything that `id` depends on, directly or not.
    fn below(&self, id: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            for next in &self.dependencies[id] {
                if found.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        found
    }

    /// One sentence for every dependency that points upwards or does I/O.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (id, layer) in &self.layers {
            for below in self.below(id) {
                let (name, other) = (&self.names[id], &self.names[below]);
                if let Some(theirs) = self.layers.get(below)
                    && theirs > layer
                {
                    faults.push(format!("{name} ({layer:?}) depends on {other} ({theirs:?})"));
                }
                if *layer == Layer::Pure && DOES_IO.contains(&other.as_str()) {
                    faults.push(format!("{name} is pure and depends on {other}, which does I/O"));
                }
            }
        }
        faults
    }
}

#[test]
fn dependencies_point_from_run_to_edge_to_pure() {
    let graph = Graph::new(&metadata());
    for layer in [Layer::Pure, Layer::Edge, Layer::Run] {
        assert!(graph.layers.values().any(|other| *other == layer), "no crate is {layer:?}");
    }
    let faults = graph.faults();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn upward_and_io_dependencies_are_found() {
    let ids = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let graph = Graph {
        names: ["core", "store", "lab", "tokio", "serde"]
            .into_iter()
            .map(|name| (name.to_owned(), name.to_owned()))
            .collect(),
        layers: [("core", Layer::Pure), ("store", Layer::Edge), ("lab", Layer::Run)]
            .into_iter()
            .map(|(name, layer)| (name.to_owned(), layer))
            .collect(),
        dependencies: [
            ("core", ids(&["serde"])),
            ("serde", ids(&["tokio"])),
            ("tokio", ids(&[])),
            ("store", ids(&["lab", "tokio"])),
            ("lab", ids(&["core"])),
        ]
        .into_iter()
        .map(|(name, ids)| (name.to_owned(), ids))
        .collect(),
    };
    let expected =
        ["core is pure and depends on tokio, which does I/O", "store (Edge) depends on lab (Run)"];
    assert_eq!(graph.faults(), expected);
}

#[test]
fn pure_crates_turn_the_lints_on() {
    let folders = std::fs::read_dir(root().join("crates/pure")).expect("crates/pure");
    let mut checked = 0;
    for folder in folders.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir())
    {
        let file = folder.join("src/lib.rs");
        let source = std::fs::read_to_string(&file).expect("a pure crate is a library");
        assert!(source.lines().any(|line| line == LINT), "{} lacks {LINT}", file.display());
        checked += 1;
    }
    assert!(checked > 0);
}
