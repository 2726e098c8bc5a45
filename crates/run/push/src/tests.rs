//! Requests of strangers, answered by the routes over real sockets.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{AddressPolicy, Config, Fetcher};
use tidewatch_partition::announced::Announced;
use tidewatch_partition::hints::{Received, Sender};

use crate::{Hearer, Later, Push, PushOptions};

const KEY: &str = "0123456789abcdef";

/// What was heard, what is to be announced, and whether there is no time to hear anything.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(String, usize)>>>, Arc<Mutex<Vec<Announced>>>, Arc<AtomicBool>);

impl Hearer for Heard {
    fn covers(&self, url: CanonicalUrl) -> Later<'_, Option<bool>> {
        Box::pin(async move { Some(url.host() != "elsewhere.example") })
    }

    fn hear(&self, sender: Sender, urls: Vec<CanonicalUrl>) -> Later<'_, Option<Received>> {
        if self.2.load(Ordering::Relaxed) {
            return Box::pin(async { None });
        }
        self.0.lock().unwrap().push((sender.to_string(), urls.len()));
        let received = Received { new: urls.len() as u32, ..Received::default() };
        Box::pin(async move { Some(received) })
    }

    fn announced(&self) -> Later<'_, Vec<Announced>> {
        Box::pin(async { std::mem::take(&mut *self.1.lock().unwrap()) })
    }
}

/// What a host was asked.
type Asked = Arc<Mutex<Vec<String>>>;

/// A host that answers everything with its key, and notes what it is asked.
fn key_host() -> (SocketAddr, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, asked) = (listener.local_addr().unwrap(), Asked::default());
    let noted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap_or(0);
            if read > 0 {
                noted.lock().unwrap().push(String::from_utf8_lossy(&head[..read]).into_owned());
                let answer =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{KEY}", KEY.len());
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    (address, asked)
}

fn status(to: SocketAddr, request: &str) -> u16 {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

fn get(to: SocketAddr, path: &str) -> u16 {
    status(to, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
}

fn lax() -> AddressPolicy {
    AddressPolicy { allow_all: true, ..AddressPolicy::default() }
}

fn options(dir: &std::path::Path) -> PushOptions {
    PushOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        indexnow: true,
        websub: None,
        file: dir.join("push.json"),
        gap: Duration::ZERO,
        connections: crate::CONNECTIONS,
    }
}

fn open(addresses: AddressPolicy, heard: &Heard, dir: &std::path::Path) -> Push {
    let config = Config { addresses, ..Config::new("Tidewatch/test") };
    let options = options(dir);
    Push::open(&options, &Fetcher::new(config).unwrap(), heard.clone()).unwrap()
}

#[test]
fn a_proven_key_is_heard_and_no_private_address_is_asked_for_one() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let dir = tempfile::tempdir().unwrap();
    let ((host, asked), heard) = (key_host(), Heard::default());
    let query = format!("/indexnow?url=http://{host}/page&key={KEY}");

    let careful = open(AddressPolicy::default(), &heard, dir.path());
    assert_eq!(get(careful.address(), &query), 403, "its address is private");
    assert_eq!((asked.lock().unwrap().len(), heard.0.lock().unwrap().len()), (0, 0));

    let push = open(lax(), &heard, dir.path());
    assert_eq!(get(push.address(), &query), 200);
    assert_eq!(get(push.address(), &query), 200);
    let sender = format!("indexnow/{host}");
    assert_eq!(*heard.0.lock().unwrap(), [(sender.clone(), 1), (sender, 1)]);
    assert_eq!(asked.lock().unwrap().len(), 1, "a good key is remembered");
    let elsewhere = format!("/indexnow?url=http://elsewhere.example/&key={KEY}");
    assert_eq!(get(push.address(), &elsewhere), 422);
    assert_eq!(get(push.address(), "/indexnow?key=x"), 400);
    assert_eq!(get(push.address(), "/websub/x"), 404, "WebSub is off");
    let report = push.reporter()();
    assert_eq!((report.submitted, report.unfit, report.unproven), (2, 1, 0));
}

/// The operator's headers are for the crawl. A publisher causes no request that carries them, and a feed
/// that names the operator's own origin as its hub causes none at all.
#[test]
fn strangers_cause_no_request_with_the_headers_of_the_operator() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let dir = tempfile::tempdir().unwrap();
    let ((own, asked), (hub, asked_hub)) = (key_host(), key_host());
    let heard = Heard::default();
    let announced = |page: &str, hub: SocketAddr| {
        let page = CanonicalUrl::parse(page).unwrap();
        let hubs = vec![CanonicalUrl::parse(&format!("http://{hub}/hub")).unwrap()];
        Announced { topic: page.clone(), page, hubs }
    };
    heard.1.lock().unwrap().extend([
        announced("http://one.example/feed", own),
        announced("http://two.example/feed", hub),
    ]);
    let mut config = Config { addresses: lax(), ..Config::new("Tidewatch/test") };
    assert!(config.private_headers.add(&format!("http://{own}"), "Authorization", "Basic hush"));
    let websub = Some(CanonicalUrl::parse("http://crawl.example/").unwrap());
    let options = PushOptions { websub, ..options(dir.path()) };
    let push = Push::open(&options, &Fetcher::new(config).unwrap(), heard.clone()).unwrap();

    let key = format!("/indexnow?url=http://{own}/page&key={KEY}");
    assert_eq!(get(push.address(), &key), 200);
    let began = std::time::Instant::now();
    while asked_hub.lock().unwrap().is_empty() && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(asked_hub.lock().unwrap()[0].starts_with("POST /hub"));
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 1, "its key file alone: {asked:?}");
    assert!(!asked[0].contains("hush"), "{asked:?}");
}

#[test]
fn a_failed_write_of_the_subscriptions_is_told_and_tried_again() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let dir = tempfile::tempdir().unwrap();
    let mut book = crate::book::Book::open(&dir.path().join("gone").join("push.json")).unwrap();
    let page = CanonicalUrl::parse("http://a.example/feed").unwrap();
    let hubs = vec![CanonicalUrl::parse("http://hub.example/").unwrap()];
    book.note(&Announced { topic: page.clone(), page, hubs }, 0);
    let state = crate::state::State::new(Box::new(Heard::default()), None, book);
    assert!(!runtime.block_on(state.save()), "the directory is missing");
    assert!(state.report().unsaved.is_some());
    std::fs::create_dir(dir.path().join("gone")).unwrap();
    assert!(runtime.block_on(state.save()), "it is tried again");
    assert_eq!(state.report().unsaved, None);
    assert!(dir.path().join("gone").join("push.json").exists());
}

/// A listener with a subscription to `http://a.example/feed`, and a signed delivery of it.
fn subscribed(heard: &Heard, dir: &std::path::Path) -> (Push, String) {
    let kept = format!(
        r#"[{{"page":"http://a.example/feed","topic":"http://a.example/feed",
        "hub":"http://hub.example/","id":"{KEY}","secret":"s","is_wanted":true,
        "active_until":{0},"asked_until":0,"next":{0},"attempts":0}}]"#,
        u64::MAX
    );
    std::fs::write(dir.join("push.json"), kept).unwrap();
    let websub = Some(CanonicalUrl::parse("http://crawl.example/").unwrap());
    let options = PushOptions { websub, ..options(dir) };
    let fetcher = Fetcher::new(Config::new("Tidewatch/test")).unwrap();
    let push = Push::open(&options, &fetcher, heard.clone()).unwrap();
    let body = "<rss version='2.0'><channel><item><link>/1</link></item></channel></rss>";
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"s");
    let signature = ring::hmac::sign(&key, body.as_bytes());
    let digit = |digit: u8| char::from_digit(digit.into(), 16).unwrap();
    let hex = signature.as_ref().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    let hex: String = hex.collect();
    let request = format!(
        "POST /websub/{KEY} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: application/rss+xml\r\nX-Hub-Signature: sha256={hex}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    (push, request)
}

#[test]
fn a_delivery_that_the_crawl_had_no_time_for_is_taken_later() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let (dir, heard) = (tempfile::tempdir().unwrap(), Heard::default());
    let (push, delivery) = subscribed(&heard, dir.path());
    heard.2.store(true, Ordering::Relaxed);
    assert_eq!(status(push.address(), &delivery), 429);
    heard.2.store(false, Ordering::Relaxed);
    assert_eq!(status(push.address(), &delivery), 202);
    assert_eq!(*heard.0.lock().unwrap(), [("websub/a.example".to_owned(), 1)]);
    assert_eq!(status(push.address(), &delivery), 202);
    let report = push.reporter()();
    assert_eq!((report.delivered, report.repeated, report.busy), (1, 1, 1));
}

#[test]
fn slow_submissions_do_not_keep_deliveries_out() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let (dir, heard) = (tempfile::tempdir().unwrap(), Heard::default());
    let (push, delivery) = subscribed(&heard, dir.path());
    let begun = "POST /indexnow HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{";
    let slow = (0..20).map(|_| {
        let mut stream = TcpStream::connect(push.address()).unwrap();
        stream.write_all(begun.as_bytes()).unwrap();
        stream
    });
    let _slow: Vec<TcpStream> = slow.collect();
    std::thread::sleep(Duration::from_millis(300));
    let one = format!("{begun}{{").replace("Host: x", "Host: x\r\nConnection: close");
    assert_eq!(status(push.address(), &one), 429, "all places of submissions are taken");
    assert_eq!(status(push.address(), &delivery), 202);
}

#[test]
fn a_publisher_does_not_repeat_itself_without_end() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let (dir, heard) = (tempfile::tempdir().unwrap(), Heard::default());
    let (host, _) = key_host();
    let push = open(lax(), &heard, dir.path());
    let query = format!("/indexnow?url=http://{host}/page&key={KEY}");
    let answers: Vec<u16> = (0..250).map(|_| get(push.address(), &query)).collect();
    // A minute may end meanwhile.
    assert!(answers.iter().filter(|status| **status == 200).count() <= 200);
    assert!(answers.contains(&429));
}
