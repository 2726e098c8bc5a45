//! A crawl from outside: what it says, what it leaves, what it refuses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tidewatch_archive::read_at;
use tidewatch_core::calendar::from_rfc3339;

use crate::living::Living;
use crate::tool::{Folder, rows};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
const CRAWL: &str = "crawl seeds --dir crawl --config crawl.toml --budget 2000/s";

fn get(at: SocketAddr, path: &str) -> String {
    let mut socket = TcpStream::connect(at).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// What a path answers once `is_there` holds of it.
fn wait_for(at: SocketAddr, path: &str, is_there: impl Fn(&str) -> bool) -> String {
    let began = Instant::now();
    loop {
        if TcpStream::connect(at).is_ok() {
            let answer = get(at, path);
            if is_there(&answer) {
                return answer;
            }
        }
        assert!(began.elapsed() < PATIENCE, "{path}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether figures say that so many pages are held.
fn holds(status: &str, pages: u64) -> bool {
    let body = status.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let status: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    status["tally"]["held"].as_u64() >= Some(pages)
}

#[test]
fn a_crawl_shows_its_figures_while_it_runs_and_exports_what_it_knows() {
    let living = Living::serve(8, 12);
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    let crawl = Command::new(env!("CARGO_BIN_EXE_tidewatch"))
        .args(format!("{CRAWL} --for 10m --listen {at} --log-json").split(' '))
        .current_dir(living.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = wait_for(at, "/status.json", |answer| holds(answer, 8 * 12));
    assert!(status.contains("\"policy\":\"price\""));
    let metrics = get(at, "/metrics");
    assert!(metrics.starts_with("HTTP/1.1 200") && metrics.contains("version=0.0.4"), "{metrics}");
    for line in ["tidewatch_hosts_known 8", "tidewatch_responses_total{status=\"200\"} "] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert!(get(at, "/dashboard").contains("Pages stored"));
    let recipe = get(at, "/dashboard/reports");
    wait_for(at, "/search?q=the", |answer| answer.contains("class=\"results\""));
    let busy = living.folder.run("status --dir crawl --json").ok();
    assert!(busy.contains("\"tally\""), "status can be asked for while it runs");
    let second = living.folder.run(&format!("{CRAWL} --for 1s"));
    assert!(second.code == 1 && second.err.contains("in use by another"), "{}", second.err);
    let told = Command::new("kill").arg(crawl.id().to_string()).status().unwrap();
    assert!(told.success());
    let done = crawl.wait_with_output().unwrap();
    assert!(done.status.success());
    let log = String::from_utf8(done.stderr).unwrap();
    let first: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(first["event"], "ready");
    assert!(log.contains("\"scope\":\"the seeds' domains: "), "{log}");
    exports(&living.folder);
    follow(&recipe, &living.folder);
}

/// Does what the Reports page says while there is no report.
fn follow(page: &str, folder: &Folder) {
    let (_, rest) = page.split_once("<pre").expect("a recipe");
    let (recipe, _) = rest.split_once('>').unwrap().1.split_once("</pre>").unwrap();
    for line in recipe.replace("DIR", "crawl").replace("\\\n", " ").lines() {
        match line.trim().split_once(' ').unwrap() {
            ("mkdir", dir) => std::fs::create_dir(folder.path().join(dir)).unwrap(),
            ("tidewatch", args) => _ = folder.run(args).ok(),
            other => panic!("{other:?}"),
        }
    }
    assert!(folder.read("crawl/reports/policies.html").contains("uniform"));
}

/// Every option of the scope reaches the crawl, which prints its scope.
#[test]
fn the_options_of_the_scope_are_those_of_the_crawl() {
    let folder = Folder::with(&[("list", "# ours\n*.b.example\n")]);
    let crawl = |options: &str| {
        // Nobody listens there.
        folder.run(&format!("crawl http://127.0.0.1:9/ --dir {} --for 1s {options}", options.len()))
    };
    let printed = crawl("").err;
    assert!(printed.contains("scope: the seeds' domains: 127.0.0.1\n"), "{printed}");
    assert!(printed.contains("--allow-private"), "it is blocked: {printed}");
    let options = "--scope host --include /docs/* --exclude *.zip --hosts list --types html,pdf \
                   --requisites --depth 3 --pages-per-host 70 --own 127.0.0.1 --allow-private";
    let printed = crawl(options).err;
    let wanted = "scope: the seeds' hosts: 127.0.0.1; the listed hosts: *.b.example; only URLs like /docs/*; \
                  no URLs like *.zip; only files of type html, pdf; the requisites of pages on any host; \
                  at most 3 links from a seed; at most 70 pages of a host\n";
    assert!(printed.contains(wanted), "{printed}");
    assert!(
        printed.contains("robots.txt is not obeyed on your own hosts: 127.0.0.1\n"),
        "{printed}"
    );
    assert!(printed.contains("connect") && !printed.contains("--allow-private"), "{printed}");
    assert!(crawl("--scope everything").err.contains("scope: the whole web\n"));
}

/// The credentials and headers of an own site are sent to it.
#[test]
fn an_own_site_gets_its_credentials() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let settings = format!(
        "[politeness]\nallow_private = true\nleast_gap = \"10ms\"\n[host.\"http://{at}\"]\nbasic = \"me:pw\"\n\
         cookie = \"id=7\"\nheaders = {{ X-Key = \"k\" }}\n"
    );
    let folder = Folder::with(&[("own.toml", &settings)]);
    let server = std::thread::spawn(move || {
        listener.incoming().take(2).map(|socket| answer_once(&mut socket.unwrap())).last()
    });
    folder
        .run(&format!("crawl http://{at}/ --dir d --config own.toml --max-pages 1 --for 40s"))
        .ok();
    let asked = server.join().unwrap().unwrap().to_lowercase();
    assert!(asked.starts_with("get / http"), "{asked}");
    for header in ["authorization: basic bwu6chc=", "cookie: id=7", "x-key: k"] {
        assert!(asked.contains(&format!("\r\n{header}\r\n")), "{header} in {asked}");
    }
}

/// Reads a request, and answers it with a page.
fn answer_once(socket: &mut TcpStream) -> String {
    let mut asked = [0; 4096];
    let length = socket.read(&mut asked).unwrap();
    socket
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage")
        .unwrap();
    String::from_utf8_lossy(&asked[..length]).into_owned()
}

fn exports(folder: &Folder) {
    folder.run("export pages --dir crawl -o pages.csv").ok();
    let pages = rows(&folder.read("pages.csv"));
    assert!(pages.len() >= 8 * 12, "{} pages", pages.len());
    assert!(pages.iter().filter(|row| row[6] == "200").count() >= 8 * 12);
    let text = folder.read("pages.csv");
    let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let column = |name| columns.iter().position(|column| *column == name).unwrap();
    let held = pages.iter().find(|row| !row[column("title")].is_empty()).expect("a title");
    let cell = |name| &held[column(name)];
    assert_eq!(cell("media_type"), "text/html");
    let warc = folder.path().join("crawl").join(cell("warc"));
    let record = read_at(&warc, cell("archive_offset").parse().unwrap()).unwrap();
    assert_eq!(record.field("WARC-Target-URI"), Some(cell("url").as_str()));
    assert_eq!(record.message().1.len().to_string(), *cell("body_bytes"));
    let index = folder.read("crawl/archive/tidewatch-00001.cdxj");
    assert!(index.lines().is_sorted(), "replay tools search the index by bisection");
    folder.run("export links --dir crawl -o links.parquet").ok();
    assert!(std::fs::read(folder.path().join("links.parquet")).unwrap().starts_with(b"PAR1"));
    folder.run("export observations --dir crawl -o visits.csv").ok();
    let visits = rows(&folder.read("visits.csv"));
    assert!(visits.len() >= 8 * 12, "{} visits", visits.len());
    folder.run("export trace --dir crawl -o trace").ok();
    let compared = folder.run("lab compare --trace trace --policies bfs,uniform --budget 100").ok();
    assert!(compared.contains("uniform"), "{compared}");
    let wrong = folder.run("export pages --dir crawl -o pages.xls");
    assert!(wrong.code == 1 && wrong.err.contains(".csv or .parquet"), "{}", wrong.err);
    let none = folder.run("export pages --dir nothing -o pages.csv");
    assert!(none.code == 1 && none.err.contains("holds no crawl"), "{}", none.err);
}

#[test]
fn an_exported_trace_adds_up_what_happened_at_once_and_names_its_start() {
    let living = Living::serve(1, 4);
    let folder = &living.folder;
    folder.run(&format!("{CRAWL} --for 2s")).ok();
    folder.run("export pages --dir crawl -o pages.csv").ok();
    let page = &rows(&folder.read("pages.csv"))[0][1];
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    // Two of one second, and one from before the crawl.
    let log = format!(
        "url,at,kind,count\n{page},{now},click,2\n{page},{now},click,3\n{page},{},view,1\n",
        now - 3600
    );
    folder.put("log.csv", log.as_bytes());
    folder.run("clicks import log.csv --dir crawl").ok();
    folder.run(&format!("{CRAWL} --for 3s --listen 127.0.0.1:0")).ok();
    folder.run("export trace --dir crawl -o trace").ok();
    let clicks = rows(&folder.read("trace/clicks.csv"));
    assert_eq!((clicks.len(), clicks[0][2].as_str()), (1, "5"), "{clicks:?}");
    assert_eq!(rows(&folder.read("trace/views.csv")).len(), 1);
    let start = folder.read("trace/trace.toml");
    let start = start.lines().find_map(|line| line.strip_prefix("start = ")).expect("a start");
    let start = from_rfc3339(start.trim_matches('"')).unwrap() / 1_000_000;
    let now = now.cast_signed();
    assert!((now - 60..=now).contains(&start), "{start}, {now}");
}

#[test]
fn what_cannot_be_crawled_is_told_in_a_sentence() {
    let folder = Folder::with(&[
        ("bad.toml", "[politeness]\nleast_gab = \"1s\"\n"),
        ("hosts.toml", "[network]\nhosts_file = \"hosts\"\n"),
        ("hosts", "nonsense\n"),
        ("roots.toml", "[network]\nroots_file = \"hosts\"\n"),
        ("proxy.toml", "[network]\nproxy = \"nonsense\"\n"),
        ("seeds", "http://a.example/\nhttp://[/\n"),
        ("other/file", "mine"),
        ("old/format", "1\n"),
        ("torn/status.json", "{\"policy\": "),
    ]);
    let refuse = |args: &str, parts: &[&str]| {
        let run = folder.run(args);
        assert_eq!(run.code, 1, "{args}: {}{}", run.out, run.err);
        assert_eq!(run.err.trim_end().lines().count(), 1, "{args}: {}", run.err);
        for part in parts {
            assert!(run.err.contains(part), "{args}: {part} in {}", run.err);
        }
    };
    refuse("crawl ht!tp://x --dir d", &["the seed ht!tp://x", "neither a file nor a valid URL"]);
    refuse("crawl seeds --dir d", &["seeds, line 2"]);
    refuse("crawl --dir d", &["knows no page yet", "name a seed"]);
    refuse("crawl http://a.example/ --dir d --config bad.toml", &["politeness.least_gap"]);
    refuse("crawl http://a.example/ --dir d --config hosts.toml", &["hosts_file", "line 1"]);
    refuse("crawl http://a.example/ --dir d --config roots.toml", &["roots_file", "PEM"]);
    refuse("crawl http://a.example/ --dir d --config proxy.toml", &["network.proxy", "host:port"]);
    refuse(
        "crawl http://a.example/ --dir e --scope rules",
        &["nothing without a rule", "--include"],
    );
    refuse(
        "crawl http://a.example/ --dir e --hosts bad.toml",
        &["bad.toml, line 1", "is not a host"],
    );
    refuse(
        "crawl http://a.example/ --dir e --own http://",
        &["[host.\"http://\"]", "must be a host"],
    );
    refuse("crawl http://a.example/ --dir other", &["holds other files and no crawl"]);
    refuse("crawl http://a.example/ --dir seeds", &["seeds"]);
    refuse("crawl http://a.example/ --dir old", &["format 1", "reads format"]);
    refuse("crawl http://a.example/ --dir d --listen 192.0.2.1:80 --for 1s", &["--token-file"]);
    refuse("status --dir nowhere", &["holds no crawl"]);
    refuse("status --dir torn", &["status.json are damaged"]);
    assert_eq!(folder.read("other/file"), "mine", "nothing is lost");
}

#[test]
fn an_unknown_policy_is_wrong_usage() {
    let folder = Folder::with(&[("crawl.toml", "policy = \"best\"\n")]);
    let commands = [
        "crawl http://a.example/ --dir d --config crawl.toml",
        "demo --policy best",
        "lab compare --trace web --policies best --budget 1",
    ];
    for args in commands {
        let run = folder.run(args);
        assert_eq!(run.code, 2, "{args}: {}", run.err);
        assert!(run.err.contains("there is no policy"), "{args}: {}", run.err);
    }
}

#[test]
fn a_crawl_without_a_network_says_why_and_loses_nothing() {
    let folder = Folder::with(&[
        ("crawl.toml", "[network]\nhosts_file = \"hosts\"\n[politeness]\nallow_private = true\n"),
        ("hosts", "127.0.0.1:9 nobody.example\n"),
    ]);
    let run = folder.run("crawl http://nobody.example/ --dir d --config crawl.toml --for 1s");
    assert!(run.code == 1 && run.err.contains("connect"), "{}", run.err);
    let status = folder.run("status --dir d --json").ok();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["pages"], &status["tally"]["held"]), (&1.into(), &0.into()));
}

/// Answers every request with `answer`, and requests for robots.txt with `robots`.
fn serve_always(robots: &'static str, answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut asked = [0; 4096];
            let length = socket.read(&mut asked).unwrap_or(0);
            let is_robots = asked[..length].starts_with(b"GET /robots.txt");
            let (status, body) = if is_robots { ("200 OK", robots) } else { (answer, "") };
            let length = body.len();
            let _ = write!(
                socket,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    at
}

/// Once the cause is mended, the same directory serves: nothing waits for the failures of before.
#[test]
fn a_crawl_that_could_not_start_is_started_again() {
    let own = "[politeness]\nallow_private = true\nleast_gap = \"10ms\"\naddress_gap = \"1ms\"\n";
    let folder = Folder::with(&[("own.toml", own)]);
    let at = serve_always("", "200 OK");
    for partitions in [1, 3] {
        let crawl = format!("--dir d{partitions} --partitions {partitions}");
        let first = folder.run(&format!("crawl http://{at}/ {crawl} --for 40s"));
        assert_eq!(first.code, 1, "{}", first.err);
        let began = Instant::now();
        let again = folder.run(&format!("crawl {crawl} --for 60s --max-pages 1 --config own.toml"));
        let told = again.ok();
        assert!(began.elapsed() < Duration::from_secs(30), "{partitions}: it waited: {told}");
        assert!(told.contains("its limit of fetches"), "{partitions}: {told}");
    }
}

#[test]
fn a_crawl_that_cannot_start_ends_early_and_says_what_to_do() {
    let folder = Folder::with(&[(
        "own.toml",
        "[politeness]\nallow_private = true\nleast_gap = \"10ms\"\naddress_gap = \"1ms\"\n",
    )]);
    let walled = serve_always("", "401 Unauthorized");
    let closed = serve_always("User-agent: *\nDisallow: /\n", "200 OK");
    let cases = [
        (walled, "", "--allow-private"),
        (walled, "--config own.toml", "401"),
        (closed, "--config own.toml", "robots.txt disallows"),
    ];
    for (number, (at, options, words)) in cases.into_iter().enumerate() {
        let began = Instant::now();
        let run = folder.run(&format!("crawl http://{at}/ --dir d{number} --for 40s {options}"));
        assert_eq!(run.code, 1, "{options}: {}{}", run.out, run.err);
        assert!(began.elapsed() < Duration::from_secs(30), "it ends before its time");
        assert!(run.err.contains("cannot start") && run.err.contains(words), "{}", run.err);
        let why = folder.run(&format!("why http://{at}/ --dir d{number}")).ok();
        let first = why.lines().nth(1).unwrap();
        assert!(first.contains(words), "the obstacle comes first: {why}");
    }
    let began = Instant::now();
    let run = folder.run(&format!("crawl http://{walled}/ --dir several --partitions 3 --for 40s"));
    assert!(run.code == 1 && run.err.contains("--allow-private"), "{}", run.err);
    assert!(began.elapsed() < Duration::from_secs(30), "several partitions end early too");
    let why = folder.run("why http://elsewhere.example/ --dir d0");
    assert!(why.code == 1 && why.err.contains("out of scope"), "{}", why.err);
}
