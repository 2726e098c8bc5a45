//! The least that fetching a web and reading its links costs: hyper, lol_html and a hash set,
//! one connection a host, nothing kept: `bare PORT HOSTS`. Prints the pages fetched. Uses TLS, and
//! connects for every page, if `ROOTS` names a file with the server's certificate.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use lol_html::{HtmlRewriter, Settings, element};
use tidewatch_speed::{numbers, pages_of};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

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

type Sender = http1::SendRequest<Empty<Bytes>>;

async fn handshake<S>(socket: S) -> Sender
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) =
        http1::handshake(TokioIo::new(socket)).await.expect("a connection");
    tokio::spawn(connection);
    sender
}

async fn connect(host: &str, tls: Option<&TlsConnector>) -> Sender {
    let socket = TcpStream::connect(host).await.expect("the server runs");
    socket.set_nodelay(true).expect("a socket");
    let Some(tls) = tls else { return handshake(socket).await };
    let (name, _) = host.split_once(':').expect("a port");
    let name = ServerName::try_from(name.to_owned()).expect("an address");
    handshake(tls.connect(name, socket).await.expect("a handshake")).await
}

/// Trusts the certificate that `ROOTS` names.
fn tls() -> Option<TlsConnector> {
    let pem = std::env::var_os("ROOTS")?;
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(pem).expect("a PEM file");
    roots.add_parsable_certificates(found.map(|root| root.expect("a certificate")));
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions.expect("usual versions").with_root_certificates(roots);
    Some(TlsConnector::from(Arc::new(config.with_no_client_auth())))
}

async fn crawl(host: String) -> usize {
    let tls = tls();
    let mut sender = connect(&host, tls.as_ref()).await;
    let mut seen: HashSet<String> = HashSet::from(["/".to_owned()]);
    let mut queue = VecDeque::from(["/".to_owned()]);
    let mut pages = 0;
    while let Some(path) = queue.pop_front() {
        if tls.is_some() && pages > 0 {
            sender = connect(&host, tls.as_ref()).await;
        }
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
