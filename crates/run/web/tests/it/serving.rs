//! Real sockets: what clients get and what the log says of them.

use std::io::{Read as _, Write as _};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use tidewatch_web::{Limits, Served, ServerOptions, WebHabits};

use crate::client::{Web, connect, read_to_end, send};
use crate::worlds::{at, many, two_hosts};

#[test]
fn a_page_over_the_wire_is_what_the_site_says() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    web.clock.set(at(12));
    let answer = web.get("news.example", "/");
    let asked = tidewatch_web::PageRequest::get("news.example", "/");
    let reply = web.server.site().reply(&asked, at(12));
    assert_eq!((answer.status, answer.body.as_bytes()), (200, &reply.body[..]));
    assert_eq!(answer.header("date"), Some("Sun, 01 Mar 2026 00:00:12 GMT"));
    assert_eq!(answer.head.matches("date:").count(), 1, "the web's date alone");
    let tag = format!("If-None-Match: {}\r\n", answer.header("etag").unwrap());
    let same = web.get_with("news.example", "/", &tag);
    assert_eq!((same.status, same.body.as_str()), (304, ""));
    web.clock.set(at(20));
    assert_eq!(web.get_with("news.example", "/", &tag).status, 200);
    web.shutdown();
}

#[test]
fn the_log_tells_what_was_asked() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    web.clock.set(at(7));
    let bytes = web.get("news.example", "/a").body.len() as u64;
    web.get_with("wiki.example", "/nothing", "User-Agent: probe/1\r\n");
    let log = web.server.log();
    let requests = log.requests();
    assert_eq!(requests.len(), 2);
    let first = &requests[0];
    assert_eq!((first.host, &*first.path, first.status), (Some(0), "/a", 200));
    assert_eq!((first.at, first.served, first.bytes), (at(7), Served::Page(1), bytes));
    assert_eq!(first.local, web.address("news.example"));
    assert!(first.began <= first.ended);
    assert_eq!((requests[1].host, requests[1].status), (Some(1), 404));
    assert_eq!((&*first.agent, &*requests[1].agent), ("", "probe/1"));
    assert_eq!(log.host(0).requests, 1);
    assert_eq!(log.most_connections(), [1, 1]);
    assert!(log.connections().iter().all(|c| c.closed.is_some()));
    web.shutdown();
}

#[test]
fn two_hundred_hosts_have_an_address_each() {
    let web = Web::new(many(200, 1), 1, WebHabits::faultless());
    let names = web.server.names();
    assert_eq!(names.len(), 200);
    assert!(names.iter().all(|(_, address)| address.ip().is_loopback()));
    let addresses: std::collections::HashSet<_> = names.iter().map(|(_, a)| a.ip()).collect();
    // Systems that give programs 127.0.0.1 alone serve all hosts there.
    assert!(addresses.len() == 200 || addresses.len() == 1, "{}", addresses.len());
    for host in 0..200 {
        let answer = web.get(&format!("h{host}.example"), "/p/0");
        assert!(answer.body.contains(&format!("href=\"http://h{host}.example/p/0\"")));
    }
    assert_eq!(web.server.log().counters().requests, 200);
    web.shutdown();
}

#[test]
fn one_address_serves_all_hosts_by_name() {
    let options = ServerOptions { one_address: true, ..ServerOptions::default() };
    let web = Web::with(many(3, 1), 1, WebHabits::faultless(), &options);
    assert_eq!(web.address("h0.example"), web.address("h2.example"));
    assert_eq!(web.address("h0.example").ip(), IpAddr::from([127, 0, 0, 1]));
    for host in 0..3 {
        let name = format!("h{host}.example");
        assert!(web.get(&name, "/p/0").body.contains(&format!("http://{name}/p/0")));
    }
    web.shutdown();
}

#[test]
fn hosts_beyond_the_listeners_share_addresses() {
    let limits = Limits { listeners: 2, ..Limits::default() };
    let options = ServerOptions { limits, ..ServerOptions::default() };
    let web = Web::with(many(5, 1), 1, WebHabits::faultless(), &options);
    assert_eq!(web.address("h0.example"), web.address("h4.example"));
    for host in 0..5 {
        assert_eq!(web.get(&format!("h{host}.example"), "/p/0").status, 200);
    }
    web.shutdown();
}

#[test]
fn slow_hosts_are_slow() {
    let slowest = Duration::from_millis(300);
    let web = Web::new(two_hosts(), 1, WebHabits { slow: 1.0, slowest, ..WebHabits::faultless() });
    let began = Instant::now();
    assert_eq!(web.get("news.example", "/").status, 200);
    // The least delay is half of the greatest.
    assert!(began.elapsed() >= slowest / 2, "{:?}", began.elapsed());
    web.shutdown();
}

#[test]
fn connections_are_kept_and_parallel_ones_are_seen() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    let address = web.address("news.example");
    let mut first = connect(address);
    let mut second = connect(address);
    for stream in [&mut first, &mut second] {
        stream.write_all(b"GET /a HTTP/1.1\r\nHost: news.example\r\n\r\n").unwrap();
        let mut some = [0; 12];
        stream.read_exact(&mut some).unwrap();
        assert_eq!(&some, b"HTTP/1.1 200");
    }
    assert_eq!(web.server.log().most_connections(), [2, 0]);
    assert_eq!(web.server.log().counters().open, 2);
    drop(first);
    second
        .write_all(b"GET /a HTTP/1.1\r\nHost: news.example\r\nConnection: close\r\n\r\n")
        .unwrap();
    assert_eq!(read_to_end(second).body.matches("</html>").count(), 2, "one connection, two pages");
    web.shutdown();
}

#[test]
fn a_client_that_waits_for_the_end_is_never_seen_twice_at_once() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    for _ in 0..300 {
        web.get("news.example", "/a");
    }
    assert_eq!(web.server.log().most_connections(), [1, 0]);
    web.shutdown();
}

#[test]
fn shutdown_ends_idle_connections_and_frees_the_port() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    let address = web.address("news.example");
    let idle = connect(address);
    assert_eq!(web.get("news.example", "/a").status, 200);
    let log = web.server.log().clone();
    let began = Instant::now();
    web.shutdown();
    assert!(began.elapsed() < Limits::default().idle, "idle connections do not hold it up");
    assert_eq!(log.counters().open, 0);
    assert_eq!(read_to_end(idle).status, 0);
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn dropping_a_server_ends_its_tasks() {
    let web = Web::new(two_hosts(), 1, WebHabits::faultless());
    let idle = connect(web.address("news.example"));
    web.get("news.example", "/a");
    let Web { runtime, server, .. } = web;
    drop(server);
    assert_eq!(read_to_end(idle).status, 0);
    // Tasks end when their threads get to it.
    let patience = Instant::now() + Duration::from_secs(20);
    while runtime.metrics().num_alive_tasks() > 0 {
        assert!(Instant::now() < patience, "a task outlives its server");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_full_log_counts_what_it_loses() {
    let limits = Limits { log: 3, ..Limits::default() };
    let options = ServerOptions { limits, ..ServerOptions::default() };
    let web = Web::with(two_hosts(), 1, WebHabits::faultless(), &options);
    for _ in 0..5 {
        assert_eq!(web.get("news.example", "/a").status, 200);
    }
    let log = web.server.log();
    assert_eq!((log.requests().len(), log.connections().len()), (3, 3));
    assert_eq!((log.counters().requests, log.counters().lost), (5, 4));
    web.shutdown();
}

#[test]
fn more_connections_than_allowed_wait_their_turn() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let options = ServerOptions { limits, ..ServerOptions::default() };
    let web = Web::with(two_hosts(), 1, WebHabits::faultless(), &options);
    let address = web.address("news.example");
    let request = b"GET /a HTTP/1.1\r\nHost: news.example\r\nConnection: close\r\n\r\n";
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..20).map(|_| scope.spawn(|| send(address, request).status)).collect();
        assert!(clients.into_iter().all(|client| client.join().unwrap() == 200));
    });
    assert!(web.server.log().counters().most_open <= 2);
    web.shutdown();
}
