//! Every route in every mode: who is let in is decided by the request, never by the listener alone.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidewatch_core::Time;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_partition::hints::Sender;
use tidewatch_partition::{Config, Partition};
use tidewatch_server::ask::channel;
use tidewatch_server::routes::{Access, ROUTES};
use tidewatch_server::{Options, Server};
use tokio::runtime::Runtime;

use crate::TOKEN;

/// What a searcher's browser needs. A new public route must be added here by hand.
const PUBLIC: [&str; 9] = [
    "/",
    "/search",
    "/go",
    "/opensearch.xml",
    "/style.css",
    "/app.js",
    "/icon.svg",
    "/api/search",
    "/api/openapi.json",
];

/// A way to start the server.
#[derive(Clone, Copy, Debug)]
struct Mode {
    listen: &'static str,
    has_token: bool,
    is_proxied: bool,
}

const MODES: [Mode; 6] = [
    Mode { listen: "127.0.0.1:0", has_token: false, is_proxied: false },
    Mode { listen: "127.0.0.1:0", has_token: true, is_proxied: false },
    Mode { listen: "127.0.0.1:0", has_token: false, is_proxied: true },
    Mode { listen: "127.0.0.1:0", has_token: true, is_proxied: true },
    Mode { listen: "0.0.0.0:0", has_token: true, is_proxied: false },
    Mode { listen: "0.0.0.0:0", has_token: true, is_proxied: true },
];

/// Headers with which a request arrives: straight from a browser, or through a proxy.
const WAYS: [Option<&str>; 5] = [
    None,
    Some("X-Forwarded-For: 203.0.113.7"),
    Some("X-Forwarded-For: 127.0.0.1"),
    Some("Forwarded: for=127.0.0.1"),
    Some("Via: 1.1 proxy.example"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Credentials {
    None,
    Wrong,
    Password,
    Bearer,
}

impl Credentials {
    const ALL: [Self; 4] = [Self::None, Self::Wrong, Self::Password, Self::Bearer];

    fn header(self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Wrong => Some("Authorization: Bearer a token nobody gave out".to_owned()),
            Self::Password => {
                Some("Authorization: Basic eDphIHRva2VuIG9mIGVub3VnaCBjaGFyYWN0ZXJz".to_owned())
            }
            Self::Bearer => Some(format!("Authorization: Bearer {TOKEN}")),
        }
    }
}

/// The rule, written down a second time.
fn is_let_in(access: Access, mode: Mode, way: Option<&str>, credentials: Credentials) -> bool {
    let is_local = mode.listen.starts_with("127.") && !mode.is_proxied && way.is_none();
    match access {
        Access::Public => true,
        Access::Look if is_local => true,
        Access::Look => {
            mode.has_token && matches!(credentials, Credentials::Password | Credentials::Bearer)
        }
        Access::Change => mode.has_token && credentials == Credentials::Bearer,
    }
}

/// The status of an answer that may never end.
fn status(at: SocketAddr, method: &str, path: &str, headers: &[&str]) -> u16 {
    let mut socket = TcpStream::connect(at).unwrap();
    write!(socket, "{method} {path} HTTP/1.1\r\nHost: localhost\r\n").unwrap();
    headers.iter().for_each(|header| write!(socket, "{header}\r\n").unwrap());
    write!(socket, "Connection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
    let mut line = [0; 12];
    socket.read_exact(&mut line).unwrap();
    std::str::from_utf8(&line[9..]).unwrap().parse().unwrap()
}

/// Asks for every route in a mode, and returns how many requests that took.
fn ask_for_everything(at: SocketAddr, mode: Mode) -> usize {
    let mut asked = 0;
    for route in ROUTES {
        let path = route.path.replace("{name}", "x.html");
        for way in WAYS {
            for credentials in Credentials::ALL {
                let header = credentials.header();
                let headers: Vec<&str> = way.into_iter().chain(header.as_deref()).collect();
                let refused = status(at, route.method, &path, &headers) == 401;
                let expected = !is_let_in(route.access, mode, way, credentials);
                assert_eq!(refused, expected, "{path} in {mode:?} by {way:?} with {credentials:?}");
                asked += 1;
            }
        }
    }
    asked
}

#[test]
fn every_route_in_every_mode_lets_in_whom_it_should() {
    let public = ROUTES.iter().filter(|route| route.access == Access::Public);
    assert_eq!(public.map(|route| route.path).collect::<Vec<_>>(), PUBLIC);
    let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
    let mut crawl = Partition::open(dir.path(), Config::default(), 1_794_821_400_000_000).unwrap();
    for mode in MODES {
        let token = mode.has_token.then(|| TOKEN.to_owned());
        let options = Options { token, is_proxied: mode.is_proxied, ..Options::default() };
        let _inside = runtime.enter();
        let (asker, questions) = channel(1);
        let server = Server::open(mode.listen.parse().unwrap(), asker, options).unwrap();
        let at = SocketAddr::from(([127, 0, 0, 1], server.address.port()));
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let asker = scope.spawn(|| {
                let asked = std::panic::catch_unwind(|| ask_for_everything(at, mode));
                is_done.store(true, Ordering::Relaxed);
                asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            while !is_done.load(Ordering::Relaxed) {
                questions[0].wait_and_answer(&mut crawl, Time::ZERO, Duration::from_millis(5));
            }
            let requests = ROUTES.len() * WAYS.len() * Credentials::ALL.len();
            assert_eq!(asker.join().unwrap(), requests);
        });
    }
}

/// Between two parts of a long list the crawl goes on.
#[test]
fn a_long_list_of_hints_is_many_questions() {
    let (runtime, dir) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap());
    let mut crawl = Partition::open(dir.path(), Config::default(), 1_794_821_400_000_000).unwrap();
    let (asker, questions) = channel(1);
    let urls = (0..1_800).map(|number| format!("http://strange.example/{number}"));
    let urls = urls.map(|url| CanonicalUrl::parse(&url).unwrap()).collect();
    let asked = runtime.spawn(async move { asker.take_hints(Sender::default(), urls).await });
    let mut count = 0;
    while !asked.is_finished() {
        count += 1;
        questions[0].wait_and_answer(&mut crawl, Time::ZERO, Duration::from_millis(200));
    }
    let received = runtime.block_on(asked).unwrap().unwrap();
    assert_eq!(received.dropped + received.refused, 1_800);
    assert!(count >= 4, "{count} questions for 1800 URLs");
}

#[test]
fn a_proxied_server_without_a_token_says_how_to_open_its_dashboard() {
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    let options = Options { is_proxied: true, ..Options::default() };
    let server = Server::open("127.0.0.1:0".parse().unwrap(), channel(1).0, options).unwrap();
    let answer = crate::send(server.address, "GET", "/dashboard", &[]);
    assert_eq!(answer.status, 401);
    assert!(answer.body.contains("--token-file"), "{}", answer.body);
}
