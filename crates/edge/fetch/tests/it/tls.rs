//! TLS and HTTP/2 with a certificate of our own.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tidewatch_fetch::{CertificateDer, Config, End};
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use crate::server::{Server, get};

/// A server for `a.example` that speaks HTTP/2 and says in which version it was asked.
async fn secure_server() -> (Server, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let Ok(secure) = acceptor.accept(socket).await else { continue };
            let is_h2 = secure.get_ref().1.alpn_protocol() == Some(b"h2");
            let answer = service_fn(|request: hyper::Request<_>| async move {
                let _: &hyper::body::Incoming = request.body();
                let said = format!("{:?} {}", request.version(), request.uri().path());
                Ok::<_, hyper::Error>(hyper::Response::new(Full::new(Bytes::from(said))))
            });
            let io = TokioIo::new(secure);
            if is_h2 {
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(async move { drop(builder.serve_connection(io, answer).await) });
            } else {
                let builder = hyper::server::conn::http1::Builder::new();
                tokio::spawn(async move { drop(builder.serve_connection(io, answer).await) });
            }
        }
    });
    (Server::at(at), certificate)
}

#[tokio::test]
async fn both_versions_and_strangers() {
    let (server, certificate) = secure_server().await;
    let mut config = Config::new("Test/1");
    config.more_roots = vec![certificate];
    for (http2, want) in [(true, "HTTP/2.0 /x"), (false, "HTTP/1.1 /x")] {
        config.http2 = http2;
        let fetcher = server.fetcher_with(config.clone());
        for round in 0..2 {
            let fetched = get(&fetcher, "https://a.example/x").await;
            assert_eq!(fetched.end, End::Answered);
            assert_eq!(fetched.hops[0].connect.is_none(), round == 1, "the second is used again");
            let response = fetched.response().unwrap();
            assert_eq!(String::from_utf8_lossy(&response.body), want);
            assert_eq!(response.is_h2, http2, "the archive says so");
            assert!(response.head.starts_with(b"HTTP/1.1 200 OK\r\n"));
            assert!(response.head.ends_with(b"\r\n\r\n"));
        }
    }
    let stranger = server.fetcher_with(Config::new("Test/1"));
    assert_eq!(get(&stranger, "https://a.example/").await.end.name(), "tls");
    let misnamed = server.fetcher_with(config);
    assert_eq!(get(&misnamed, "https://b.example/").await.end.name(), "tls");
}
