//! An S3-compatible server that tests of checkpoints start: moto, from PyPI.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::skip::skip;

/// How long the server may take to start beside other tests.
const START: Duration = Duration::from_mins(1);

/// A server on loopback with one bucket, gone when dropped.
pub struct S3 {
    child: Child,
    port: u16,
}

impl S3 {
    /// Starts the server and makes `bucket`; the calling test should return if there is none.
    pub fn start(bucket: &str) -> Option<S3> {
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/moto/bin/moto_server");
        if !program.is_file() {
            skip("there is no moto_server; scripts/test installs it into target/moto");
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let child = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("moto_server starts");
        let server = S3 { child, port };
        let began = Instant::now();
        while !server.answers_put(bucket) {
            assert!(began.elapsed() < START, "moto_server does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(server)
    }

    /// Its address.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The environment that names it to a program.
    pub fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT", self.endpoint()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "key".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ]
    }

    /// Makes the bucket, which the client cannot.
    fn answers_put(&self, bucket: &str) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let request = format!(
            "PUT /{bucket} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let mut answer = String::new();
        stream.write_all(request.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.starts_with("HTTP/1.1 200")
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
