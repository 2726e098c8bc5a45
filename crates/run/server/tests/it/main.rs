//! The server from outside, over real sockets.
#![allow(clippy::unwrap_used)]

mod access;
mod browser;
mod crowd;
mod figures;
mod hostile;
mod modes;
mod searching;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use tidewatch_core::PageId;
use tidewatch_search::clicks::{ClickSettings, Desk};
use tidewatch_search::{Index, IndexDocument, Writer};
use tidewatch_server::ask::{Questions, channel};
use tidewatch_server::{Finder, Options, Server};
use tokio::runtime::Runtime;

pub(crate) const TOKEN: &str = "a token of enough characters";

/// A server with an index, and what it stands on.
pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(crate) desk: Arc<Desk>,
    pub(crate) writer: Writer,
    pub(crate) dir: TempDir,
    /// Nobody answers, but they can be asked.
    _questions: Vec<Questions>,
    _runtime: Runtime,
}

pub(crate) fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_secs().cast_signed()
}

pub(crate) fn page(number: u32, title: &str, text: &str) -> IndexDocument {
    IndexDocument {
        page: PageId(number).into(),
        url: format!("https://host.example/{number}"),
        host: "host.example".to_owned(),
        title: title.to_owned(),
        text: text.to_owned(),
        changed_s: now_s() - 3_600,
        sketch: vec![u64::from(number)],
        ..IndexDocument::default()
    }
}

impl Stage {
    pub(crate) fn new(pages: &[IndexDocument]) -> Stage {
        Stage::with(pages, ClickSettings::default())
    }

    pub(crate) fn with(pages: &[IndexDocument], settings: ClickSettings) -> Stage {
        let dir = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let index = Index::open(&dir.path().join("index")).unwrap();
        let mut writer = index.writer(15 << 20).unwrap();
        pages.iter().for_each(|page| writer.put(page).unwrap());
        writer.commit(&[]).unwrap();
        let desk = Arc::new(Desk::open(dir.path(), settings, now_s()).unwrap());
        let options = Options {
            token: Some(TOKEN.to_owned()),
            names: vec!["search.example".to_owned()],
            is_proxied: false,
            search: Some((Finder::Index(index.searcher()), Arc::clone(&desk))),
            cluster: None,
            publishers: None,
            reports: Some(dir.path().join("reports")),
            connections: None,
        };
        let (server, questions) = {
            let _inside = runtime.enter();
            let (asker, questions) = channel(1);
            let server = Server::open("127.0.0.1:0".parse().unwrap(), asker, options).unwrap();
            (server, questions)
        };
        Stage { server, desk, writer, dir, _questions: questions, _runtime: runtime }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[])
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str]) -> Answer {
        send(self.server.address, method, path, headers)
    }
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) fn send(at: SocketAddr, method: &str, path: &str, headers: &[&str]) -> Answer {
    let mut socket = TcpStream::connect(at).unwrap();
    let host = if headers.iter().any(|header| header.starts_with("Host:")) {
        ""
    } else {
        "Host: localhost\r\n"
    };
    let headers: Vec<String> = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let headers = headers.concat();
    write!(
        socket,
        "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: 0\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    // A server that refuses may close before it has read everything.
    let _ = socket.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}
