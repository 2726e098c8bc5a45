//! HTTP for an S3-compatible store: one connection a request.
//!
//! Objects are up to 64 MB and a checkpoint comes every few minutes, so nothing is gained from keeping
//! connections. Retries, credentials and signatures are those of `object_store`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::{Uri, body::Incoming};
use hyper_util::rt::TokioIo;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, RetryConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How long to wait for the head of an answer, which comes after the object was taken.
const ANSWER: Duration = Duration::from_mins(5);
/// How long to try again before the failure is told.
const RETRY: Duration = Duration::from_secs(20);

/// The bucket that `url` names; `settings` have credentials, region and endpoint.
pub(crate) fn bucket(url: &str, settings: AmazonS3Builder) -> object_store::Result<AmazonS3> {
    let retry = RetryConfig { retry_timeout: RETRY, ..RetryConfig::default() };
    settings.with_url(url).with_retry(retry).with_http_connector(Connector).build()
}

#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions();
        let failed = |error| object_store::Error::Generic { store: "S3", source: Box::new(error) };
        let tls = versions.map_err(failed)?.with_root_certificates(roots).with_no_client_auth();
        let allowed = options.get_config_value(&ClientConfigKey::AllowHttp);
        let allows_http = allowed.is_some_and(|value| value == "true");
        Ok(HttpClient::new(Service { tls: Arc::new(tls), allows_http }))
    }
}

#[derive(Debug)]
struct Service {
    tls: Arc<ClientConfig>,
    allows_http: bool,
}

type Calling<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for Service {
    fn call<'s, 'c>(&'s self, request: HttpRequest) -> Calling<'c>
    where
        's: 'c,
        Self: 'c,
    {
        Box::pin(self.perform(request))
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Service {
    async fn perform(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let uri = request.uri().clone();
        let stream = timed(CONNECT, "connection", self.connect(&uri)).await?;
        let failed = |error| HttpError::new(HttpErrorKind::Request, error);
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        // It ends with the answer, or when the answer is dropped.
        tokio::spawn(connection);
        if let Some(host) = uri.authority().filter(|_| !request.headers().contains_key(HOST)) {
            let host = HeaderValue::from_str(host.as_str()).map_err(unknown)?;
            request.headers_mut().insert(HOST, host);
        }
        *request.uri_mut() =
            uri.path_and_query().map_or_else(Uri::default, |path| Uri::from(path.clone()));
        let answer = async { sender.send_request(request).await.map_err(failed) };
        let answer: hyper::Response<Incoming> = timed(ANSWER, "answer", answer).await?;
        let broken = |error| HttpError::new(HttpErrorKind::Interrupted, error);
        Ok(answer.map(|body| HttpResponseBody::new(body.map_err(broken))))
    }

    async fn connect(&self, uri: &Uri) -> Result<Box<dyn Stream>, HttpError> {
        let is_https = uri.scheme_str() == Some("https");
        if !is_https && !self.allows_http {
            let why = "the endpoint is not https; set AWS_ALLOW_HTTP=true to send credentials and pages in the clear";
            return Err(unknown(std::io::Error::other(why)));
        }
        let failed = |error: std::io::Error| HttpError::new(HttpErrorKind::Connect, error);
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let tcp = TcpStream::connect((host, port)).await.map_err(failed)?;
        if !is_https {
            return Ok(Box::new(tcp));
        }
        let name = ServerName::try_from(host.to_owned()).map_err(unknown)?;
        let tls = TlsConnector::from(Arc::clone(&self.tls)).connect(name, tcp).await;
        Ok(Box::new(tls.map_err(failed)?))
    }
}

/// Not tried again.
fn unknown(error: impl std::error::Error + Send + Sync + 'static) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, error)
}

async fn timed<T>(
    limit: Duration,
    what: &str,
    work: impl Future<Output = Result<T, HttpError>>,
) -> Result<T, HttpError> {
    let late = |_| {
        let why = format!("no {what} within {} s", limit.as_secs());
        HttpError::new(HttpErrorKind::Timeout, std::io::Error::other(why))
    };
    tokio::time::timeout(limit, work).await.map_err(late)?
}
