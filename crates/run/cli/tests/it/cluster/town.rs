//! Brokers and nodes as processes, and a web that they crawl.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tidewatch_core::{Span, Time};
use tidewatch_lab::generate::renewal;
use tidewatch_node::dev::{Brokers, Habits};
use tidewatch_testing::{living, s3::S3};
use tidewatch_trace::TraceLink;
use tidewatch_web::{WebHabits, WebServer, over_http};
use tokio::runtime::Runtime;

use super::proxy::Road;
use crate::tool::Folder;

pub(super) const NODES: usize = 3;
pub(super) const PARTITIONS: u32 = 12;
/// Where checkpoints go.
pub(super) const BUCKET: &str = "tidewatch";
/// What the settings say.
pub(super) const HOST_GAP: Duration = Duration::from_millis(200);
pub(super) const ADDRESS_GAP: Duration = Duration::from_millis(50);
/// Seconds that the nodes' clocks are ahead.
const SKEWS: [i64; NODES] = [3600, -3600, 0];
/// How long nodes that are told to stop may take.
const LAST_WAIT: Duration = Duration::from_secs(100);

/// The size of the web. Page `k` shows one link, to page `k + chains`, and is shown by one page only: a link
/// that is lost hides the rest of its chain.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) hosts: usize,
    pub(super) pages: usize,
    pub(super) chains: usize,
}

pub(super) struct Town {
    pub(super) folder: Folder,
    pub(super) server: WebServer,
    pub(super) brokers: Brokers,
    /// The URL of every page, by its number.
    pub(super) urls: Vec<String>,
    size: Size,
    roads: Vec<Vec<Road>>,
    nodes: Vec<Option<Child>>,
    /// How often each node was started.
    starts: [usize; NODES],
    shim: PathBuf,
    checkpoints: S3,
    _runtime: Runtime,
}

impl Town {
    pub(super) fn build(program: &Path, checkpoints: S3, size: Size, length: Span) -> Town {
        let runtime = Runtime::new().unwrap();
        let config = renewal::Config { duration: length, ..living::web(size.hosts, size.pages) };
        let mut trace = over_http(renewal::generate(&config, 5).trace).unwrap();
        // Feeds leave sources out, so links are the only way to a page.
        trace.pages.iter_mut().for_each(|page| page.is_source = true);
        let chained = |source: usize| TraceLink {
            source: source as u32,
            page: (source + size.chains) as u32,
            appears: Time::ZERO,
            disappears: None,
            position: None,
        };
        trace.links = (0..size.pages - size.chains).map(chained).collect();
        let urls: Vec<String> = trace.pages.iter().map(|page| page.url.to_string()).collect();
        // Without robots.txt nothing names a sitemap.
        let habits = WebHabits { without_robots: 1.0, ..WebHabits::faultless() };
        // Two hosts share an address, and may have different owners.
        let server = living::serve_trace(&runtime, trace, 5, habits, size.hosts / 2);
        let folder = Folder::with(&[]);
        let brokers =
            Brokers::start(program, &folder.path().join("brokers"), Habits::default()).unwrap();
        let roads =
            (0..NODES).map(|_| brokers.ports().iter().map(|port| Road::to(*port)).collect());
        let town = Town {
            roads: roads.collect(),
            nodes: (0..NODES).map(|_| None).collect(),
            starts: [0; NODES],
            shim: shim(folder.path()),
            checkpoints,
            _runtime: runtime,
            folder,
            server,
            brokers,
            urls,
            size,
        };
        town.write_files();
        town
    }

    fn write_files(&self) {
        let mut hosts = String::new();
        for (name, at) in self.server.names().iter() {
            writeln!(hosts, "{at} {name}").unwrap();
        }
        self.folder.put("hosts", hosts.as_bytes());
        self.folder.put("seeds", self.urls[..self.size.chains].join("\n").as_bytes());
        for node in 0..NODES {
            let settings = format!(
                "[agent]\nname = \"Node{node}\"\n[politeness]\nallow_private = true\n\
                 least_gap = \"{}ms\"\nmost_gap = \"{0}ms\"\naddress_gap = \"{}ms\"\nfirst_rest = \"1s\"\n\
                 [revisit]\nusual = \"10m\"\n[network]\nhosts_file = '{}'\n",
                HOST_GAP.as_millis(),
                ADDRESS_GAP.as_millis(),
                self.folder.path().join("hosts").display()
            );
            self.folder.put(&format!("node-{node}.toml"), settings.as_bytes());
        }
    }

    pub(super) fn start(&mut self, node: usize) {
        let start = self.starts[node];
        self.starts[node] += 1;
        let roads: Vec<String> = self.roads[node].iter().map(Road::url).collect();
        let file = |kind| File::create(self.path(&format!("node-{node}-{start}.{kind}"))).unwrap();
        let args = format!(
            "crawl seeds --scope everything --dir node-{node} --config node-{node}.toml --checkpoints s3://{BUCKET}/town \
             --checkpoint-every 20s --budget 60/s --partitions {PARTITIONS} --print-stored --cluster {}",
            roads.join(",")
        );
        // A long run may use a copy, so that a build does not change it.
        let usual = || env!("CARGO_BIN_EXE_tidewatch").into();
        let child = Command::new(std::env::var_os("TIDEWATCH_PROGRAM").unwrap_or_else(usual))
            .args(args.split_whitespace())
            .current_dir(self.folder.path())
            .envs(self.checkpoints.environment())
            .env("LD_PRELOAD", &self.shim)
            .env("SKEW", SKEWS[node].to_string())
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn()
            .unwrap();
        self.nodes[node] = Some(child);
    }

    pub(super) fn kill(&mut self, node: usize) {
        let mut child = self.nodes[node].take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(super) fn cut(&self, node: usize, is_cut: bool) {
        self.roads[node].iter().for_each(|road| road.block(is_cut));
    }

    /// Fails if a node has ended by itself.
    pub(super) fn all_run(&mut self) {
        for node in 0..NODES {
            let ended = self.nodes[node].as_mut().and_then(|child| child.try_wait().unwrap());
            if let Some(status) = ended {
                panic!("node {node} ended with {status}: {}", self.told(node));
            }
        }
    }

    /// What a node said since it was started last.
    pub(super) fn told(&self, node: usize) -> String {
        self.folder.read(&format!("node-{node}-{}.err", self.starts[node] - 1))
    }

    /// Tells all nodes to stop and waits until they have.
    pub(super) fn stop(&mut self) {
        let began = Instant::now();
        for child in self.nodes.iter().flatten() {
            let told = Command::new("kill").arg(child.id().to_string()).status().unwrap();
            assert!(told.success());
        }
        for node in 0..NODES {
            let mut child = self.nodes[node].take().unwrap();
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                assert!(began.elapsed() < LAST_WAIT, "node {node} goes on: {}", self.told(node));
                std::thread::sleep(Duration::from_millis(50));
            };
            assert!(status.success(), "node {node}: {}", self.told(node));
        }
    }

    /// Every URL that a node has reported stored.
    pub(super) fn stored(&self) -> HashSet<String> {
        let mut stored = HashSet::new();
        for (node, starts) in self.starts.into_iter().enumerate() {
            for start in 0..starts {
                let text = self.folder.read(&format!("node-{node}-{start}.out"));
                // A kill may tear the last line.
                let whole = text.rfind('\n').map_or("", |end| &text[..end]);
                stored.extend(whole.lines().map(str::to_owned));
            }
        }
        stored
    }

    /// How many pages of the web are among them; feeds are stored too.
    pub(super) fn pages_stored(&self) -> usize {
        let stored = self.stored();
        self.urls.iter().filter(|url| stored.contains(*url)).count()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The page that a page links to.
    pub(super) fn linked_by(&self, page: usize) -> Option<usize> {
        Some(page + self.size.chains).filter(|linked| *linked < self.urls.len())
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        for node in 0..NODES {
            if self.nodes[node].is_some() {
                self.kill(node);
            }
        }
        if std::thread::panicking()
            && let Ok(keep) = std::env::var("TIDEWATCH_KEEP")
        {
            let _ = Command::new("cp").arg("-r").arg(self.folder.path()).arg(keep).status();
        }
    }
}

/// Builds the library that makes clocks wrong.
fn shim(dir: &Path) -> PathBuf {
    let (source, library) = (dir.join("skew.c"), dir.join("skew.so"));
    fs::write(&source, include_str!("skew.c")).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]);
    assert!(compiler.status().unwrap().success());
    library
}
