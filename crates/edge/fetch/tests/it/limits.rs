//! Limits of time and size, each under its name.

use std::time::Duration;

use tidewatch_fetch::{Config, Fetcher, Limits, Purpose};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::server::{Server, answer, get, read_head, request};

/// Short limits, long enough for loopback on a busy machine.
fn short() -> Config {
    let mut config = Config::new("Test/1");
    config.limits = Limits {
        connect: Duration::from_secs(5),
        idle: Duration::from_millis(600),
        total: Duration::from_secs(3),
        slow_window: Duration::from_millis(800),
        ..Limits::default()
    };
    config
}

/// A server that reads a request and sends a head, then a byte at every pause.
async fn dripping(head: &'static str, pause: Duration) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                read_head(&mut socket).await;
                let mut done = socket.write_all(head.as_bytes()).await;
                while done.is_ok() {
                    tokio::time::sleep(pause).await;
                    done = socket.write_all(b"x").await;
                }
            });
        }
    });
    Server::at(at)
}

async fn reason(fetcher: &Fetcher) -> &'static str {
    get(fetcher, "http://a.example/").await.end.name()
}

#[tokio::test]
async fn time_is_limited() {
    const BODY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n";
    let silent = dripping("", Duration::from_mins(1)).await;
    assert_eq!(reason(&silent.fetcher_with(short())).await, "idle-timeout");
    let stalled = dripping(BODY, Duration::from_mins(1)).await;
    assert_eq!(reason(&stalled.fetcher_with(short())).await, "idle-timeout");
    let slow = dripping(BODY, Duration::from_millis(100)).await;
    assert_eq!(reason(&slow.fetcher_with(short())).await, "too-slow");
    let mut patient = short();
    patient.limits.min_bytes_per_s = 0;
    assert_eq!(reason(&slow.fetcher_with(patient)).await, "total-timeout");
}

#[tokio::test]
async fn bodies_are_cut() {
    let server = Server::start(|head| {
        let kind = if head.contains("/page") { "text/html" } else { "image/png" };
        answer("200 OK", &format!("Content-Type: {kind}\r\n"), &vec![b'x'; 5000])
    })
    .await;
    let mut config = short();
    config.limits.html_bytes = 1000;
    config.limits.other_bytes = 2000;
    config.limits.robots_bytes = 3000;
    let fetcher = server.fetcher_with(config);
    for (path, purpose, want) in [
        ("page", Purpose::Page, 1000),
        ("other", Purpose::Page, 2000),
        ("r", Purpose::Robots, 3000),
    ] {
        let ask = request(&format!("http://a.example/{path}"), purpose);
        let fetched = fetcher.fetch(&ask, &mut |_| true).await;
        let response = fetched.response().unwrap();
        assert_eq!((response.body.len(), response.is_cut), (want, true), "{path}");
        assert_eq!(fetched.end.name(), "answered");
    }
}

#[tokio::test]
async fn heads_are_limited() {
    let many =
        |count: usize| (0..count).fold(String::new(), |all, n| all + &format!("H{n}: x\r\n"));
    for (headers, want) in [
        (many(98), "answered"),
        (many(150), "head-too-large"),
        (format!("A: {}\r\n", "b".repeat(70_000)), "head-too-large"),
    ] {
        let bytes = answer("200 OK", &headers, b"");
        let server = Server::start(move |_| bytes.clone()).await;
        assert_eq!(reason(&server.fetcher()).await, want);
    }
}

#[tokio::test]
async fn encodings_are_limited() {
    for (encoding, want) in
        [("gzip, gzip, gzip", "too-many-encodings"), ("compress", "unknown-encoding")]
    {
        let header = format!("Content-Encoding: {encoding}\r\n");
        let server = Server::start(move |_| answer("200 OK", &header, b"x")).await;
        assert_eq!(reason(&server.fetcher()).await, want);
    }
}

#[tokio::test]
async fn absent_servers_have_a_name() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let server = Server::at(gone);
    assert_eq!(reason(&server.fetcher()).await, "connect");
    let mute = Server::start(|_| Vec::new()).await;
    assert_eq!(reason(&mute.fetcher()).await, "connect");
    let names = std::sync::Arc::new(tidewatch_fetch::Table::default());
    let nameless =
        Fetcher::with(short(), names, std::sync::Arc::new(tidewatch_fetch::Tcp)).unwrap();
    assert_eq!(reason(&nameless).await, "no-address");
}
