//! Requests of strangers, answered by the routes over real sockets.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{AddressPolicy, Config, Fetcher};
use tidewatch_partition::announced::Announced;
use tidewatch_partition::hints::{Received, Sender};

use crate::{Hearer, Later, Push, PushOptions};

const KEY: &str = "0123456789abcdef";

/// What was heard.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(String, usize)>>>);

impl Hearer for Heard {
    fn covers(&self, url: CanonicalUrl) -> Later<'_, Option<bool>> {
        Box::pin(async move { Some(url.host() != "elsewhere.example") })
    }

    fn hear(&self, sender: Sender, urls: Vec<CanonicalUrl>) -> Later<'_, Option<Received>> {
        self.0.lock().unwrap().push((sender.to_string(), urls.len()));
        let received = Received { new: urls.len() as u32, ..Received::default() };
        Box::pin(async move { Some(received) })
    }

    fn announced(&self) -> Later<'_, Vec<Announced>> {
        Box::pin(async { Vec::new() })
    }
}

/// A host that answers everything with its key, and counts.
fn key_host() -> (SocketAddr, Arc<Mutex<u32>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(0)));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            if stream.read(&mut head).unwrap_or(0) > 0 {
                *count.lock().unwrap() += 1;
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

fn open(addresses: AddressPolicy, heard: &Heard, dir: &std::path::Path) -> Push {
    let config = Config { addresses, ..Config::new("Tidewatch/test") };
    let options = PushOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        indexnow: true,
        websub: None,
        file: dir.join("push.json"),
    };
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
    assert_eq!((*asked.lock().unwrap(), heard.0.lock().unwrap().len()), (0, 0));

    let lax = AddressPolicy { allow_all: true, ..AddressPolicy::default() };
    let push = open(lax, &heard, dir.path());
    assert_eq!(get(push.address(), &query), 200);
    assert_eq!(get(push.address(), &query), 200);
    let sender = format!("indexnow/{host}");
    assert_eq!(*heard.0.lock().unwrap(), [(sender.clone(), 1), (sender, 1)]);
    assert_eq!(*asked.lock().unwrap(), 1, "a good key is remembered");
    let elsewhere = format!("/indexnow?url=http://elsewhere.example/&key={KEY}");
    assert_eq!(get(push.address(), &elsewhere), 422);
    assert_eq!(get(push.address(), "/indexnow?key=x"), 400);
    assert_eq!(get(push.address(), "/websub/x"), 404, "WebSub is off");
    let report = push.reporter()();
    assert_eq!((report.submitted, report.unfit, report.unproven), (2, 1, 0));
}
