//! Clients that send nonsense, too much, or nothing.

use std::io::Write as _;
use std::time::{Duration, Instant};

use tidewatch_web::{Limits, ServerOptions, WebHabits};

use crate::client::{Web, connect, read_to_end, send};
use crate::worlds::two_hosts;

#[test]
fn garbage_gets_400_and_the_server_survives() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    let address = web.address("news.example");
    let garbage: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00\xff\xfe\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: news.example\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost news.example\r\n\r\n",
    ];
    for bytes in garbage {
        assert_eq!(send(address, bytes).status, 400, "{bytes:?}");
    }
    assert_eq!(web.server.log().counters().requests, 0);
    assert_eq!(web.get("news.example", "/a").status, 200);
    web.shutdown();
}

#[test]
fn long_heads_are_refused() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    let address = web.address("news.example");
    let head = "GET /a HTTP/1.1\r\nHost: news.example\r\nConnection: close\r\n";
    let long = format!("{head}X: {}\r\n\r\n", "x".repeat(1 << 20));
    assert_eq!(send(address, long.as_bytes()).status, 431);
    let many = "X: y\r\n".repeat(1000);
    assert_eq!(send(address, format!("{head}{many}\r\n").as_bytes()).status, 431);
    let target = format!("GET /{} HTTP/1.1\r\nHost: news.example\r\n\r\n", "p".repeat(1 << 20));
    assert!(matches!(send(address, target.as_bytes()).status, 414 | 431));
    assert_eq!(web.get("news.example", "/a").status, 200);
    web.shutdown();
}

#[test]
fn hosts_that_are_not_served_here_are_misdirected() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    let address = web.address("news.example");
    let ask = |host: &str| {
        send(address, format!("GET /a HTTP/1.1\r\n{host}Connection: close\r\n\r\n").as_bytes())
    };
    for wrong in ["nowhere.example", "", "127.0.0.1", "[::1]", "news.example.evil.example", ":80"] {
        assert_eq!(ask(&format!("Host: {wrong}\r\n")).status, 421, "{wrong}");
    }
    if web.address("wiki.example") != address {
        assert_eq!(ask("Host: wiki.example\r\n").status, 421, "served, but not here");
    }
    assert_eq!(ask("").status, 400);
    for right in ["news.example", "NEWS.example", "news.example:7777", "news.example."] {
        assert_eq!(ask(&format!("Host: {right}\r\n")).status, 200, "{right}");
    }
    let absolute = b"GET http://news.example/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_eq!(send(address, absolute).status, 200, "the request line decides");
    let hosts: Vec<_> = web.server.log().requests().iter().map(|r| r.host).collect();
    assert!(hosts.contains(&None) && hosts.contains(&Some(0)));
    web.shutdown();
}

#[test]
fn silent_clients_time_out() {
    let limits = Limits { idle: Duration::from_millis(200), ..Limits::default() };
    let options = ServerOptions { limits, ..ServerOptions::default() };
    let web = Web::with(two_hosts(), 1, WebHabits::faultless(), &options);
    let address = web.address("news.example");
    let began = Instant::now();
    let silent = connect(address);
    let mut slow = connect(address);
    slow.write_all(b"GET /a HTTP/1.1\r\nHost: news.ex").unwrap();
    let mut kept = connect(address);
    kept.write_all(b"GET /a HTTP/1.1\r\nHost: news.example\r\n\r\n").unwrap();
    assert_eq!(read_to_end(kept).status, 200);
    assert!(matches!(read_to_end(silent).status, 0 | 408));
    assert!(matches!(read_to_end(slow).status, 0 | 408));
    assert!(began.elapsed() >= limits.idle);
    web.shutdown();
}

#[test]
fn post_is_refused() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    let address = web.address("news.example");
    let post = b"POST /a HTTP/1.1\r\nHost: news.example\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(send(address, post).status, 405);
    assert_eq!(web.get("news.example", "/a").status, 200);
    web.shutdown();
}
