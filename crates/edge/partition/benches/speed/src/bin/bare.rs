//! The least that fetching a web and reading its links costs: hyper, lol_html and a hash set,
//! one connection a host, nothing kept: `bare PORT HOSTS`. Prints the pages fetched.

use std::collections::{HashSet, VecDeque};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use lol_html::{HtmlRewriter, Settings, element};
use tidewatch_speed::{numbers, pages_of};
use tokio::net::TcpStream;

fn links(body: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let handler = element!("a[href]", |a| {
        found.extend(a.get_attribute("href"));
        Ok(())
    });
    let settings = Settings::new().append_element_content_handler(handler);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(body).expect("pages of our own");
    rewriter.end().expect("pages of our own");
    found
}

async fn crawl(host: String) -> usize {
    let socket = TcpStream::connect(&host).await.expect("the server runs");
    socket.set_nodelay(true).expect("a socket");
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(socket)).await.expect("a connection");
    tokio::spawn(connection);
    let mut seen: HashSet<String> = HashSet::from(["/".to_owned()]);
    let mut queue = VecDeque::from(["/".to_owned()]);
    let mut pages = 0;
    while let Some(path) = queue.pop_front() {
        sender.ready().await.expect("a connection");
        let request = Request::get(&path).header("host", &host).body(Empty::<Bytes>::new());
        let answer = sender.send_request(request.expect("a request")).await.expect("an answer");
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        pages += 1;
        for link in links(&body) {
            if !seen.contains(&link) {
                seen.insert(link.clone());
                queue.push_back(link);
            }
        }
    }
    pages
}

#[tokio::main]
async fn main() {
    let [port, hosts] = numbers("bare PORT HOSTS");
    println!("{}", pages_of(port, hosts, crawl).await);
}
