//! Every node shows the whole crawl: search, clicks, explanations, predictions, figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_node::dev::{Brokers, Habits};
use tidewatch_partition::owner;
use tidewatch_testing::living;
use tidewatch_web::{WebHabits, WebServer};
use tokio::runtime::Runtime;

use crate::tool::Folder;

const NODES: usize = 3;
const PARTITIONS: u32 = 6;
const TOKEN: &str = "a token of enough characters";
/// One click on a page that nobody else has clicked makes it worth more by this factor at least; what its
/// copy is worth changes by less without.
const CLICKED: f64 = 1.2;
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// Three nodes that crawl a small web, each with a server.
struct Trio {
    folder: Folder,
    brokers: Brokers,
    nodes: Vec<Option<Child>>,
    /// The partitions that own a host.
    owners: BTreeSet<u64>,
    _web: WebServer,
    _runtime: Runtime,
}

impl Trio {
    fn start() -> Option<Trio> {
        let program = tidewatch_testing::nats::server()?;
        let runtime = Runtime::new().unwrap();
        let web = living::serve(&runtime, &living::web(18, 180), 3, WebHabits::faultless());
        let folder = Folder::with(&[("token", TOKEN)]);
        let (mut hosts, mut seeds) = (String::new(), String::new());
        let mut owners = BTreeSet::new();
        for (name, at) in web.names().iter() {
            writeln!(hosts, "{at} {name}").unwrap();
            writeln!(seeds, "http://{name}/").unwrap();
            let url = CanonicalUrl::parse(&format!("http://{name}/")).unwrap();
            owners.insert(u64::from(owner(&url, PARTITIONS)));
        }
        folder.put("hosts", hosts.as_bytes());
        folder.put("seeds", seeds.as_bytes());
        let settings = format!(
            "[politeness]\nallow_private = true\nleast_gap = \"50ms\"\nmost_gap = \"100ms\"\n\
             address_gap = \"20ms\"\n[network]\nhosts_file = '{}'\n",
            folder.path().join("hosts").display()
        );
        folder.put("crawl.toml", settings.as_bytes());
        let brokers =
            Brokers::start(&program, &folder.path().join("brokers"), Habits::default()).unwrap();
        let mut trio = Trio {
            folder,
            brokers,
            nodes: (0..NODES).map(|_| None).collect(),
            owners,
            _web: web,
            _runtime: runtime,
        };
        (0..NODES).for_each(|node| trio.start_node(node));
        Some(trio)
    }

    fn log(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("node-{node}.err"))
    }

    fn start_node(&mut self, node: usize) {
        let args = format!(
            "crawl seeds --scope everything --dir node-{node} --config crawl.toml --checkpoints \
             checkpoints --checkpoint-every 20s --budget 40/s --partitions {PARTITIONS} --listen \
             127.0.0.1:0 --token-file token --cluster {}",
            self.brokers.urls()
        );
        let usual = || env!("CARGO_BIN_EXE_tidewatch").into();
        let child = Command::new(std::env::var_os("TIDEWATCH_PROGRAM").unwrap_or_else(usual))
            .args(args.split_whitespace())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(self.log(node)).unwrap())
            .spawn()
            .unwrap();
        self.nodes[node] = Some(child);
    }

    fn kill(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Where a node listens.
    fn address(&self, node: usize) -> String {
        wait_for("a node to listen", || {
            let log = std::fs::read_to_string(self.log(node)).unwrap();
            let (_, rest) = log.split_once("dashboard at http://")?;
            Some(rest.split_once('/')?.0.to_owned())
        })
    }

    /// Asks a node's server. Returns the status, the head and the body.
    fn ask(&self, node: usize, method: &str, path: &str, body: &str) -> (u16, String, String) {
        let mut socket = TcpStream::connect(self.address(node)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }

    /// What a node answers once those that it asks have had time for it.
    fn get(&self, node: usize, path: &str) -> Value {
        let body = wait_for(path, || {
            let (status, _, body) = self.ask(node, "GET", path, "");
            (status != 503).then_some(body)
        });
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// What nodes have said, for a failure.
    fn told(&self) -> String {
        (0..NODES).map(|node| std::fs::read_to_string(self.log(node)).unwrap()).collect()
    }
}

impl Drop for Trio {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.told());
        }
        (0..NODES).for_each(|node| self.kill(node));
    }
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited for {what}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// The partition that owns a result: the upper half of its page's number.
fn partition(hit: &Value) -> u64 {
    hit["page"].as_u64().unwrap() >> 32
}

/// Pages of one kind that a node finds, with who answered.
fn found(trio: &Trio, node: usize) -> (Vec<Value>, Value) {
    let found = trio.get(node, "/api/search?q=water&count=50");
    (found["hits"].as_array().unwrap().clone(), found["partitions"].clone())
}

/// What a page is thought to be worth in clicks a second, as its owner tells any node.
fn clicks(trio: &Trio, node: usize, url: &str) -> Option<f64> {
    let told = trio.get(node, &format!("/api/why?url={}", url.replace('/', "%2F")));
    told["value"]["clicks_per_s"].as_f64()
}

#[test]
fn every_node_shows_the_whole_crawl() {
    let Some(mut trio) = Trio::start() else { return };
    let all = serde_json::json!({ "answered": PARTITIONS, "of": PARTITIONS });
    let hits = wait_for("pages of all partitions in all nodes", || {
        let (hits, answered) = found(&trio, 0);
        let owners: BTreeSet<u64> = hits.iter().map(partition).collect();
        (answered == all && owners == trio.owners).then_some(hits)
    });
    searches_agree(&trio);
    pages_are_explained(&trio, &hits);
    clicks_reach_the_owner(&trio);
    figures_are_sums(&trio);
    partitions_are_moved(&trio);
    a_lost_node_is_named(&mut trio);
}

/// Scores are the same wherever one asks, as soon as nothing new is found.
fn searches_agree(trio: &Trio) {
    wait_for("the same results at all nodes", || {
        let results: Vec<_> = (0..NODES).map(|node| found(trio, node)).collect();
        let key = |hits: &[Value]| -> Vec<(String, String)> {
            hits.iter().map(|hit| (hit["url"].to_string(), hit["score"].to_string())).collect()
        };
        let keys: BTreeSet<_> = results.iter().map(|(hits, _)| key(hits)).collect();
        (keys.len() == 1 && results[0].0.len() > 5).then_some(())
    });
}

/// `why` and `what-if`, over HTTP and by the command, of pages that other nodes own.
fn pages_are_explained(trio: &Trio, hits: &[Value]) {
    for hit in hits.iter().take(12) {
        let url = hit["url"].as_str().unwrap();
        for node in 0..NODES {
            let told = trio.get(node, &format!("/api/why?url={url}"));
            assert_eq!(told["url"], url, "{told}");
        }
    }
    let url = hits[0]["url"].as_str().unwrap();
    let (status, _, page) = trio.ask(1, "GET", &format!("/dashboard/page?url={url}"), "");
    assert!(status == 200 && page.contains("<h3>Details</h3>"), "{page}");
    for node in 0..NODES {
        let told = trio.folder.run(&format!("why {url} --dir node-{node}")).ok();
        assert!(told.contains(url) && told.lines().count() > 2, "{told}");
        let told = wait_for("all partitions to predict", || {
            let run = trio.folder.run(&format!("what-if --budget 2x --dir node-{node} --json"));
            (run.code == 0 && run.err.is_empty()).then_some(run.out)
        });
        let told: Value = serde_json::from_str(&told).unwrap();
        let (now, then) = (&told["now"]["budget_per_s"], &told["then"]["budget_per_s"]);
        let (now, then) = (now.as_f64().unwrap(), then.as_f64().unwrap());
        assert!((now - 40.0).abs() < 0.1 && (then - 80.0).abs() < 0.2, "{told}");
        let same = trio.get(node, "/api/what-if?times=2");
        assert!((same["then"]["budget_per_s"].as_f64().unwrap() - then).abs() < 0.2, "{same}");
    }
    let unknown = trio.folder.run("why http://nowhere.example/ --dir node-0");
    assert!(unknown.code == 1 && unknown.err.contains("does not know"), "{}", unknown.err);
}

/// The name of a node, as its directory says.
fn home(trio: &Trio, node: usize) -> String {
    let file: Value =
        serde_json::from_str(&trio.folder.read(&format!("node-{node}/cluster"))).unwrap();
    format!("{:016x}", file["home"].as_u64().unwrap())
}

/// The partitions that each node has open, by its name, as one of them says. `None` while figures of different
/// age name a partition twice or not at all, as they do just after a move.
fn owners(trio: &Trio, asked: usize) -> Option<BTreeMap<String, Vec<u64>>> {
    let cluster = trio.get(asked, "/api/cluster");
    let mut owners = BTreeMap::new();
    for node in cluster["nodes"].as_array()? {
        let parts = node["partitions"].as_array()?.iter();
        let open = parts.filter(|part| part["is_open"] == true);
        let numbers = open.map(|part| part["number"].as_u64().unwrap()).collect();
        owners.insert(node["home"].as_str()?.to_owned(), numbers);
    }
    let mut numbers: Vec<u64> = owners.values().flatten().copied().collect();
    numbers.sort_unstable();
    numbers.into_iter().eq(0..u64::from(PARTITIONS)).then_some(owners)
}

/// The partitions that a node has open, as soon as all nodes in `asked` say the same of every node.
fn owned(trio: &Trio, node: usize, asked: &[usize]) -> Vec<u64> {
    let home = home(trio, node);
    wait_for("nodes to agree on who owns what", || {
        let told: Option<Vec<_>> = asked.iter().map(|asked| owners(trio, *asked)).collect();
        let told = told?;
        let agree = told.windows(2).all(|pair| pair[0] == pair[1]);
        agree.then(|| told[0].get(&home).cloned())?
    })
}

/// A result is shown and clicked at one node, and another one owns the page. The owner hears of it.
fn clicks_reach_the_owner(trio: &Trio) {
    let (_, _, page) = trio.ask(0, "GET", "/search?q=water", "");
    let links: Vec<&str> = page.split("href=\"/go?t=").skip(1).collect();
    let (hits, own) = (found(trio, 0).0, owned(trio, 0, &[1]));
    // Pages that are watched for links have no clicks of their own.
    let is_other =
        |hit: &&Value| !own.contains(&partition(hit)) && clicks(trio, 0, url(hit)).is_some();
    let (place, hit) = hits
        .iter()
        .enumerate()
        .take(links.len())
        .find(|(_, hit)| is_other(hit))
        .expect("one of the first ten pages is elsewhere");
    let before = clicks(trio, 0, url(hit)).unwrap();
    let link = links[place].split('"').next().unwrap();
    let (status, head, _) = trio.ask(0, "GET", &format!("/go?t={link}"), "");
    assert_eq!(status, 303, "{head}");
    assert!(head.contains(&format!("location: {}", url(hit))), "{head}: {hit}");
    for node in 0..NODES {
        wait_for("the owner to hear of the click", || {
            (clicks(trio, node, url(hit)) > Some(CLICKED * before)).then_some(())
        });
    }
}

fn url(hit: &Value) -> &str {
    hit["url"].as_str().unwrap()
}

/// The overview of every node has the figures of all partitions, wherever they are.
fn figures_are_sums(trio: &Trio) {
    let cluster = wait_for("all partitions to have figures", || {
        let cluster = trio.get(0, "/api/cluster");
        let status = trio.get(0, "/status.json");
        (status["partitions"]["missing"] == serde_json::json!([])).then_some(cluster)
    });
    let parts = cluster["nodes"].as_array().unwrap().iter();
    let parts: Vec<&Value> = parts.flat_map(|n| n["partitions"].as_array().unwrap()).collect();
    assert_eq!(parts.len(), PARTITIONS as usize, "{cluster}");
    let pages: u64 = parts.iter().map(|part| part["status"]["pages"].as_u64().unwrap()).sum();
    for node in 0..NODES {
        let status = wait_for("a node to know of all", || {
            let status = trio.get(node, "/status.json");
            (status["pages"].as_u64() >= Some(pages)).then_some(status)
        });
        assert_eq!(status["budget_per_s"], 40.0);
        assert!(status["price"].as_f64().is_some() && status["tally"]["held"].as_u64() > Some(0));
        assert!(status["index"]["pages"].as_u64() > Some(20), "{status}");
        let (_, _, page) = trio.ask(node, "GET", "/dashboard/cluster", "");
        assert_eq!(page.matches("process ").count(), NODES, "{page}");
    }
}

/// A partition goes where the operator wants it, told at any node.
fn partitions_are_moved(trio: &Trio) {
    let cluster = trio.get(2, "/api/cluster");
    let nodes = cluster["nodes"].as_array().unwrap();
    let owns = |node: &&Value| !node["partitions"].as_array().unwrap().is_empty();
    let from = nodes.iter().find(owns).unwrap();
    let to = nodes.iter().find(|node| node["home"] != from["home"]).unwrap();
    let (number, to) = (&from["partitions"][0]["number"], to["home"].as_str().unwrap());
    let body = format!("{{\"partition\": {number}, \"node\": \"{to}\"}}");
    let (status, _, told) = trio.ask(2, "POST", "/api/cluster/move", &body);
    assert!(status == 200 && told.contains("moves to"), "{status}: {told}");
    wait_for("the partition to move", || {
        let cluster = trio.get(1, "/api/cluster");
        let nodes = cluster["nodes"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["home"] == to)?;
        let parts = node["partitions"].as_array().unwrap();
        parts.iter().find(|part| part["number"] == *number && part["is_open"] == true).map(drop)
    });
    let bad = trio.ask(0, "POST", "/api/cluster/drain", "{\"node\": \"no name\"}");
    assert!(bad.0 == 400 && bad.2.contains("hexadecimal"), "{}", bad.2);
    let is_free =
        |digit: &char| nodes.iter().all(|node| !node["home"].as_str().unwrap().starts_with(*digit));
    // One of four digits is free of three nodes.
    let free = ('0'..='3').find(is_free).unwrap();
    let absent = trio.ask(0, "POST", "/api/cluster/drain", &format!("{{\"node\": \"{free}\"}}"));
    assert_eq!(absent.0, 404, "{}", absent.2);
}

/// Until others have taken over, a search and the figures say what is missing.
fn a_lost_node_is_named(trio: &mut Trio) {
    let lost = wait_for("a node to own pages", || {
        let lost = owned(trio, 2, &[0, 1]);
        lost.iter().any(|part| trio.owners.contains(part)).then_some(lost)
    });
    trio.kill(2);
    let left = u64::from(PARTITIONS) - lost.len() as u64;
    // A busy machine may be late with the answers of others too.
    let hits = wait_for("the others to answer a search", || {
        let (hits, answered) = found(trio, 0);
        (answered == serde_json::json!({ "answered": left, "of": PARTITIONS })).then_some(hits)
    });
    assert!(!hits.is_empty() && hits.iter().all(|hit| !lost.contains(&partition(hit))), "{hits:?}");
    wait_for("the page of results to say so", || {
        let (_, _, page) = trio.ask(1, "GET", "/search?q=water", "");
        page.contains(&format!("{left} of {PARTITIONS} partitions answered.")).then_some(())
    });
    // Figures of nodes differ in age, and the partitions are soon taken over: each is asked until it has said so.
    let (mut told, mut shown) = (false, false);
    wait_for("status and overview to name the missing partitions", || {
        let missing = trio.get(1, "/status.json")["partitions"]["missing"].clone();
        let missing = missing.as_array().into_iter().flatten().filter_map(Value::as_u64);
        told |= missing.eq(lost.iter().copied());
        let (_, _, page) = trio.ask(0, "GET", "/dashboard", "");
        shown |= page.contains(&format!("{left} of {PARTITIONS} partitions answered; missing: "));
        (told && shown).then_some(())
    });
    // Others take over, and index what they were given.
    wait_for("all partitions to answer again", || {
        let (hits, answered) = found(trio, 1);
        let is_back = hits.iter().any(|hit| lost.contains(&partition(hit)));
        (answered["answered"] == PARTITIONS && is_back).then_some(())
    });
}
