//! A crawl that is searched while it runs: a click arrives in the weights, the dashboard moves, and
//! looking changes nothing that is decided.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tidewatch_testing::browser::{Browser, FAULTS};

use crate::living::Living;

/// Longest that anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

struct Crawl {
    living: Living,
    process: Child,
    at: SocketAddr,
}

impl Crawl {
    fn start() -> Crawl {
        let living = Living::serve(6, 12);
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = free.local_addr().unwrap();
        drop(free);
        // One searcher is all there is, so one may have all the weight.
        let settings = std::fs::read_to_string(living.path("crawl.toml")).unwrap();
        let settings = settings + "[search]\nclient_percent = 100\n";
        std::fs::write(living.path("crawl.toml"), settings).unwrap();
        std::fs::write(living.path("token"), "a token of enough characters\n").unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_tidewatch"))
            .args(["crawl", "seeds", "--dir", "crawl", "--config", "crawl.toml"])
            .args(["--budget", "20/s", "--for", "120s", "--token-file", "token"])
            .args(["--listen", &at.to_string()])
            .current_dir(living.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let crawl = Crawl { living, process, at };
        crawl.wait(|crawl| crawl.found("the").is_some(), "a page to be found");
        crawl
    }

    fn wait(&self, is_so: impl Fn(&Crawl) -> bool, what: &str) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Option<String> {
        let mut socket = TcpStream::connect(self.at).ok()?;
        let length = body.len();
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer a token of enough characters\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
    }

    fn json(&self, path: &str) -> Option<Value> {
        self.send("GET", path, "").and_then(|body| serde_json::from_str(&body).ok())
    }

    /// Address of the first page that fits a query.
    fn found(&self, query: &str) -> Option<String> {
        let found = self.json(&format!("/api/search?q={query}"))?;
        Some(found["hits"][0]["url"].as_str()?.to_owned())
    }

    /// Clicks a second that a page is taken to get.
    fn weight(&self, url: &str) -> Option<f64> {
        let url = url.replace(':', "%3A").replace('/', "%2F").replace('?', "%3F");
        self.json(&format!("/api/why?url={url}"))?["value"]["clicks_per_s"].as_f64()
    }

    /// Ends the crawl as Ctrl-C does, and waits until it has.
    fn end(mut self) -> Living {
        Command::new("kill").args(["-INT", &self.process.id().to_string()]).status().unwrap();
        assert!(self.process.wait().unwrap().success());
        self.living
    }
}

#[test]
fn a_search_a_click_and_its_weight_while_the_dashboard_moves() {
    let Some(mut browser) = Browser::start() else { return };
    let crawl = Crawl::start();
    let at = |path: &str| format!("http://{}{path}", crawl.at);
    // Somebody searches and clicks.
    browser.open(&at("/search?q=the"));
    browser.wait("document.querySelectorAll('.results li').length > 0");
    let address = browser.text("document.querySelector('.address').textContent");
    let url = format!("http://{address}");
    let before = crawl.weight(&url);
    browser.value("document.querySelector('.results a').click()");
    let is_heavier =
        |crawl: &Crawl| crawl.weight(&url).zip(before).is_some_and(|(now, was)| now > 1.5 * was);
    crawl.wait(is_heavier, "the click to become weight");
    // The dashboard moves without being loaded again.
    browser.open(&at("/dashboard"));
    browser.value("window.stayed = true");
    let fetches = "Number(document.querySelector('.tiles .value').textContent)";
    let first = browser.value(fetches).as_f64().unwrap();
    browser.wait(&format!("{fetches} > {first}"));
    assert_eq!(browser.value("window.stayed"), true);
    // The slider asks what another budget would bring.
    browser.open(&at("/dashboard/what-if?times=2"));
    browser.value("document.querySelector('input[type=range]').focus()");
    let then = "document.querySelector('[data-live] td:nth-child(3)').textContent";
    let twice = browser.text(then);
    browser.press("End");
    browser.wait(&format!("{then} !== {twice:?}"));
    assert_eq!(browser.text("document.querySelector('output').textContent"), "8×");
    // Every page of the dashboard is sound.
    let page = format!("/dashboard/page?url={}", url.replace(':', "%3A").replace('/', "%2F"));
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")] {
        browser.dress(width, 900, scheme);
        for path in [
            "/dashboard",
            "/dashboard/hosts",
            "/dashboard/sources",
            "/dashboard/rules",
            "/dashboard/hints",
            &page,
            "/dashboard/what-if",
        ] {
            browser.open(&at(path));
            assert_eq!(browser.value(FAULTS), serde_json::json!([]), "{path} at {width} {scheme}");
        }
    }
    assert_eq!(browser.complaints, Vec::<String>::new(), "nothing is refused and nothing fails");
    assert_eq!(browser.dialogs, Vec::<String>::new());
    // Steering: seeds and budget.
    assert!(crawl.send("POST", "/api/budget", "{\"budget\": \"30/s\"}").is_some());
    assert!(crawl.send("POST", "/api/seeds", "{\"urls\": [\"http://new.example/\"]}").is_some());
    crawl.wait(
        |crawl| crawl.json("/status.json").is_some_and(|s| s["budget_per_s"] == 30.0),
        "the budget",
    );
    // Whoever looked, clicked and steered: every decision comes out again.
    let living = crawl.end();
    let replayed = living.folder.run("lab replay --dir crawl");
    assert_eq!(replayed.code, 0, "{}", replayed.err);
}

#[test]
fn a_crawl_that_has_ended_is_searched_and_its_index_comes_back() {
    let living = Living::serve(3, 6);
    living.folder.run("crawl seeds --dir crawl --config crawl.toml --budget 200/s --for 3s").ok();
    assert!(!living.path("crawl/index").exists(), "nobody listened");
    let host = living.server.names().iter().next().map(|(name, _)| name.to_owned()).unwrap();
    let log = format!(
        "url,at,kind\nhttp://unheard.example/,1800000000,click\n\
         http://{host}/unlinked,1800000000,click\nodd,1,click\n"
    );
    living.folder.put("log.csv", log.as_bytes());
    let imported = living.folder.run("clicks import log.csv --dir crawl");
    assert!(
        imported.out.contains("2 rows imported: 2 clicks and 0 views; 1 bad rows skipped."),
        "{}",
        imported.out
    );
    assert!(imported.err.contains("line 4"), "{}", imported.err);
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    let process = Command::new(env!("CARGO_BIN_EXE_tidewatch"))
        .args(["serve", "--dir", "crawl", "--listen", &at.to_string()])
        .current_dir(living.folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let crawl = Crawl { living, process, at };
    crawl.wait(|crawl| crawl.found("the").is_some(), "the index to be made");
    let url = crawl.found("the").unwrap();
    assert!(crawl.weight(&url).is_some(), "questions are answered");
    assert!(crawl.send("GET", "/dashboard", "").is_some_and(|page| page.contains("not running")));
    let living = crawl.end();
    // The next crawl hears of the imported clicks, and knows the page in scope from them.
    living.folder.run("crawl --dir crawl --config crawl.toml --budget 50/s --for 4s").ok();
    living.folder.run("export pages --dir crawl -o pages.csv").ok();
    let pages = living.folder.read("pages.csv");
    assert!(pages.contains(&format!("http://{host}/unlinked")));
    assert!(!pages.contains("unheard.example"), "it is out of scope");
}
