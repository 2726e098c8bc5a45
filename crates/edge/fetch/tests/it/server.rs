//! A server that answers with given bytes, and a fetcher that reaches it under public addresses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_fetch::{
    Config, Dial, Dialling, Fetched, Fetcher, Purpose, Request, Table, Validators,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The public address that test names resolve to; connections to it lead to the server.
pub(crate) const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34));

/// What the server does with a request.
pub(crate) type Script = Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

/// The server and the requests it saw.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) at: SocketAddr,
    pub(crate) seen: Arc<Mutex<Vec<String>>>,
    pub(crate) connections: Arc<Mutex<usize>>,
}

impl Server {
    /// Answers every request with what the script makes of its head. A connection ends after
    /// an answer that says so.
    pub(crate) async fn start(script: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let server = Self::at(at);
        let (script, own) = (Arc::new(script) as Script, server.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                *own.connections.lock().unwrap() += 1;
                tokio::spawn(own.clone().serve(socket, script.clone()));
            }
        });
        server
    }

    /// A server that something else runs.
    pub(crate) fn at(at: SocketAddr) -> Self {
        Self { at, seen: Arc::default(), connections: Arc::default() }
    }

    async fn serve(self, mut socket: TcpStream, script: Script) {
        while let Some(request) = read_head(&mut socket).await {
            let answer = script(&request);
            self.seen.lock().unwrap().push(request);
            if socket.write_all(&answer).await.is_err() || !has_whole_body(&answer) {
                return;
            }
        }
    }

    pub(crate) fn fetcher(&self) -> Fetcher {
        self.fetcher_with(Config::new("Tidewatch-Test/1 (+mailto:a@b.example)"))
    }

    pub(crate) fn fetcher_with(&self, config: Config) -> Fetcher {
        let names = Table::default().otherwise(vec![PUBLIC]);
        Fetcher::with(config, Arc::new(names), Arc::new(Detour::to(self.at))).unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// The head of the next request; `None` if there is none.
pub(crate) async fn read_head(socket: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// Whether an answer's length is as it says, so that the connection can go on.
fn has_whole_body(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&answer[..end]);
    let length = head.split("Content-Length: ").nth(1).and_then(|rest| rest.lines().next());
    length.and_then(|length| length.parse().ok()) == Some(answer.len() - end - 4)
}

/// Dials the test server whatever the address, and notes the addresses.
pub(crate) struct Detour {
    to: SocketAddr,
    pub(crate) dialled: Mutex<Vec<SocketAddr>>,
}

impl Detour {
    pub(crate) fn to(to: SocketAddr) -> Self {
        Self { to, dialled: Mutex::default() }
    }
}

impl Dial for Detour {
    fn dial(&self, to: SocketAddr) -> Dialling {
        self.dialled.lock().unwrap().push(to);
        Box::pin(TcpStream::connect(self.to))
    }
}

pub(crate) fn request(url: &str, purpose: Purpose) -> Request {
    Request { url: CanonicalUrl::parse(url).unwrap(), purpose, held: Validators::default() }
}

/// A fetch of a page that follows every redirect.
pub(crate) async fn get(fetcher: &Fetcher, url: &str) -> Fetched {
    fetcher.fetch(&request(url, Purpose::Page), &mut |_| true).await
}

/// An answer with a length.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}
