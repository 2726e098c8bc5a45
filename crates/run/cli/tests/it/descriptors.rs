//! A crawl of many hosts under the usual limit of 1,024 open files.

use std::fmt::Write as _;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Runtime;

use crate::tool::Folder;

const LIMIT: usize = 1_024;
const HOSTS: u32 = 3_000;
/// The crawl must be done by then.
const PATIENCE: Duration = Duration::from_secs(90);

/// Answers every request at every loopback address with a small page, on connections that stay open.
fn serve(runtime: &Runtime) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        while let Ok((mut socket, peer)) = listener.accept().await {
            assert!(peer.ip().is_loopback(), "{peer}");
            tokio::spawn(async move {
                let mut heard = [0; 2_048];
                while socket.read(&mut heard).await.is_ok_and(|read| read > 0) {
                    let is_robots = heard.starts_with(b"GET /robots.txt");
                    let body = if is_robots { "" } else { "<title>A page</title>of text" };
                    let length = body.len();
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{body}"
                    );
                    if socket.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

#[test]
fn three_thousand_hosts_fit_under_a_limit_of_1024_files() {
    let runtime = Runtime::new().unwrap();
    let port = serve(&runtime);
    let (mut hosts, mut seeds) = (String::new(), String::new());
    for number in 0..HOSTS {
        let [_, a, b, c] = (0x50_00_01 + number).to_be_bytes();
        let at = SocketAddr::from(([127, a, b, c], port));
        writeln!(hosts, "{at} host{number}.example").unwrap();
        writeln!(seeds, "http://host{number}.example/").unwrap();
    }
    let folder = Folder::with(&[("hosts", &hosts), ("seeds", &seeds)]);
    let settings = format!(
        "[politeness]\nallow_private = true\nleast_gap = \"10ms\"\naddress_gap = \"1ms\"\n\
         [hygiene]\nprobe_pages = 0\n[network]\nhosts_file = '{}'\n",
        folder.path().join("hosts").display()
    );
    folder.put("crawl.toml", settings.as_bytes());
    let script = format!(
        "ulimit -n {LIMIT} && exec '{}' crawl seeds --dir crawl --config crawl.toml --budget 5000/s \
         --once --print-stored",
        env!("CARGO_BIN_EXE_tidewatch")
    );
    let mut child = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .stdout(std::fs::File::create(folder.path().join("stored")).unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (began, mut most) = (Instant::now(), 0);
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        let open = std::fs::read_dir(format!("/proc/{}/fd", child.id()));
        most = most.max(open.map_or(0, Iterator::count));
        assert!(began.elapsed() < PATIENCE, "not done in time, {most} files open at most");
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(ended.success(), "{log}");
    assert!(log.contains("open files: at most 1024, which allows"), "{log}");
    let stored = folder.read("stored").lines().filter(|line| line.starts_with("http")).count();
    eprintln!("{stored} pages stored, {most} files open at most");
    assert_eq!(stored, HOSTS as usize, "{log}");
    assert!(most < LIMIT, "{most} files open");
}
