//! A plain client on blocking sockets, independent of the server's library.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tidewatch_trace::Trace;
use tidewatch_web::{ByHand, ServerOptions, Site, WebHabits, WebServer};
use tokio::runtime::Runtime;

/// Nothing on loopback takes this long; a test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(20);

/// A served web whose clock the test sets.
pub(crate) struct Web {
    pub(crate) runtime: Runtime,
    pub(crate) server: WebServer,
    pub(crate) clock: Arc<ByHand>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (n, value) = line.split_once(':')?;
            n.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

impl Web {
    pub(crate) fn new(trace: Trace, seed: u64, habits: WebHabits) -> Self {
        Web::with(trace, seed, habits, &ServerOptions::default())
    }

    pub(crate) fn with(
        trace: Trace,
        seed: u64,
        habits: WebHabits,
        options: &ServerOptions,
    ) -> Self {
        let runtime = Runtime::new().unwrap();
        let clock = Arc::new(ByHand::default());
        let site = Arc::new(Site::new(trace, seed, habits).unwrap());
        let server = {
            let _inside = runtime.enter();
            WebServer::start(site, clock.clone(), options).unwrap()
        };
        Web { runtime, server, clock }
    }

    pub(crate) fn address(&self, name: &str) -> SocketAddr {
        self.server.names().resolve(name).unwrap()
    }

    pub(crate) fn get(&self, name: &str, path: &str) -> Answer {
        self.get_with(name, path, "")
    }

    pub(crate) fn get_with(&self, name: &str, path: &str, headers: &str) -> Answer {
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n{headers}\r\n");
        send(self.address(name), head.as_bytes())
    }

    pub(crate) fn shutdown(self) {
        self.runtime.block_on(self.server.shutdown());
    }
}

/// Sends bytes and reads until the server closes.
pub(crate) fn send(to: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = connect(to);
    // A server that refuses early may close before everything is written.
    let _ = stream.write_all(bytes);
    read_to_end(stream)
}

pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(crate) fn read_to_end(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A reset after the reply is an end too; a time-out is not.
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    }
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}
