//! From an exchange with a server to records, ready to be appended.

use std::fmt;
use std::net::IpAddr;

use sha1::{Digest as _, Sha1};
use tidewatch_core::calendar::{cdx_date, warc_date};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::base32;
use crate::gzip::push_member;
use crate::index::{Line, REVISIT_TYPE};

/// Media type of a response's block.
const RESPONSE: &str = "application/http; msgtype=response";

/// SHA-1 of a payload.
pub type Digest = [u8; 20];

/// The digest of a payload.
pub fn digest(payload: &[u8]) -> Digest {
    Sha1::digest(payload).into()
}

/// A request and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// Canonical URL of the page.
    pub url: &'a str,
    /// When the request was sent, in microseconds of Unix time.
    pub unix_micros: i64,
    /// The address that answered.
    pub address: Option<IpAddr>,
    /// The request's head as sent.
    pub request_head: &'a [u8],
    /// The response's head as received, with its last empty line or without; of an HTTP/2
    /// response, the equivalent in HTTP/1.1.
    pub response_head: &'a [u8],
    /// Whether the response came over HTTP/2.
    pub is_h2: bool,
    /// The body, decoded.
    pub body: &'a [u8],
    /// Its digest, which whoever compares bodies has at hand.
    pub digest: Digest,
    /// The media type, for the index.
    pub media_type: &'a str,
    /// The status, for the index.
    pub status: u16,
    /// Why the body is not whole: `length` or `time`.
    pub truncated: Option<&'static str>,
    /// The earlier exchange with the same body, if there was one.
    pub revisit: Option<Revisit<'a>>,
    /// More about the fetch, as `name: value` lines; empty for none.
    pub metadata: &'a str,
}

/// An earlier response whose body this one repeats.
#[derive(Clone, Copy, Debug)]
pub struct Revisit<'a> {
    /// When that was, in microseconds of Unix time.
    pub unix_micros: i64,
    /// Its URL.
    pub url: &'a str,
    /// Its payload's digest.
    pub digest: Digest,
    /// Whether the server said so (304) rather than the bytes.
    pub is_not_modified: bool,
}

/// Records of one exchange, compressed: the response or revisit first.
#[derive(Clone, Debug)]
pub struct Packed {
    pub(crate) bytes: Vec<u8>,
    /// Length of the first record, which the index points at.
    pub(crate) first: usize,
    /// The index line up to where the place comes; empty for what no index lists.
    pub(crate) index: String,
}

impl Packed {
    /// Bytes of all records together.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no record, which never happens.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Packs an exchange; `level` is gzip's, from 1 (fast) to 9 (small).
    pub fn new(exchange: &Exchange<'_>, level: u32) -> Packed {
        let payload = exchange.revisit.map_or(exchange.digest, |earlier| earlier.digest);
        let mut writer = Writer { exchange, level, bytes: Vec::new(), serial: 0 };
        let response = writer.response(&payload);
        let first = writer.bytes.len();
        writer.request(&response);
        writer.metadata(&response);
        Packed { index: index_line(exchange, &payload), bytes: writer.bytes, first }
    }

    /// A metadata record by itself, about an answer that is not archived: `block` has `name: value` lines.
    /// It names no target, so neither our index nor that of other tools shows it as a version of a page.
    pub fn note(unix_micros: i64, block: &str, level: u32) -> Packed {
        let id = urn(xxh3_128_with_seed(block.as_bytes(), unix_micros.cast_unsigned()));
        let head = format!(
            "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {id}\r\nWARC-Date: {}\r\n\
             WARC-Block-Digest: sha1:{}\r\nContent-Type: application/warc-fields\r\n\
             Content-Length: {}\r\n\r\n",
            warc_date(unix_micros),
            base32(&digest(block.as_bytes())),
            block.len()
        );
        let mut bytes = Vec::new();
        push_member(&mut bytes, &[head.as_bytes(), block.as_bytes(), b"\r\n\r\n"], level);
        Packed { first: bytes.len(), bytes, index: String::new() }
    }
}

struct Writer<'a> {
    exchange: &'a Exchange<'a>,
    level: u32,
    bytes: Vec<u8>,
    serial: u64,
}

impl Writer<'_> {
    fn response(&mut self, payload: &Digest) -> String {
        let exchange = self.exchange;
        let head = stored_head(exchange.response_head, exchange.body.len());
        let block: [&[u8]; 2] = match exchange.revisit {
            None => [&head, exchange.body],
            Some(earlier) if earlier.is_not_modified => [&[], &[]],
            Some(_) => [&head, &[]],
        };
        let mut fields = self.message_fields();
        // Its block is its payload and a head: a digest of that too would cost as much again.
        push(&mut fields, "WARC-Payload-Digest", format_args!("sha1:{}", base32(payload)));
        if let Some(why) = exchange.truncated {
            push(&mut fields, "WARC-Truncated", why);
        }
        let kind = match exchange.revisit {
            None => "response",
            Some(earlier) => {
                fields += &revisit_fields(&earlier);
                "revisit"
            }
        };
        self.record(kind, RESPONSE, &fields, &block)
    }

    fn request(&mut self, response: &str) {
        let block = ended(self.exchange.request_head);
        let fields = self.message_fields();
        self.beside("request", "application/http; msgtype=request", fields, &block, response);
    }

    fn metadata(&mut self, response: &str) {
        let Exchange { revisit, response_head, metadata, .. } = *self.exchange;
        if revisit.is_some_and(|earlier| earlier.is_not_modified) {
            let fields = self.message_fields();
            self.beside("metadata", RESPONSE, fields, &ended(response_head), response);
        }
        if !metadata.is_empty() {
            let (fields, block) = (self.fields(), metadata.as_bytes());
            self.beside("metadata", "application/warc-fields", fields, block, response);
        }
    }

    /// Adds a record about the same exchange as `response`.
    fn beside(
        &mut self,
        kind: &str,
        media_type: &str,
        mut fields: String,
        block: &[u8],
        response: &str,
    ) {
        push(&mut fields, "WARC-Concurrent-To", response);
        push(&mut fields, "WARC-Block-Digest", format_args!("sha1:{}", base32(&digest(block))));
        self.record(kind, media_type, &fields, &[block]);
    }

    /// Fields of records that hold an HTTP message. What HTTP/1.1 sent says so itself.
    fn message_fields(&self) -> String {
        let mut fields = self.fields();
        if self.exchange.is_h2 {
            push(&mut fields, "WARC-Protocol", "h2");
        }
        fields
    }

    /// Fields that all records of the exchange share.
    fn fields(&self) -> String {
        let exchange = self.exchange;
        let mut fields = String::new();
        push(&mut fields, "WARC-Target-URI", exchange.url);
        push(&mut fields, "WARC-Date", warc_date(exchange.unix_micros));
        if let Some(address) = exchange.address {
            push(&mut fields, "WARC-IP-Address", address);
        }
        fields
    }

    /// Adds a record as a gzip member of its own and returns its id.
    fn record(&mut self, kind: &str, media_type: &str, fields: &str, block: &[&[u8]]) -> String {
        let id = self.next_id();
        let length: usize = block.iter().map(|part| part.len()).sum();
        let head = format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {id}\r\n{fields}\
             Content-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n",
        );
        let parts: Vec<&[u8]> = [head.as_bytes()]
            .into_iter()
            .chain(block.iter().copied())
            .chain([&b"\r\n\r\n"[..]])
            .collect();
        push_member(&mut self.bytes, &parts, self.level);
        id
    }

    /// A name for a record: a version-8 UUID from what makes it unique.
    fn next_id(&mut self) -> String {
        self.serial += 1;
        let text = format!("{} {} {}", self.exchange.unix_micros, self.exchange.url, self.serial);
        let bits = xxh3_128_with_seed(text.as_bytes(), self.exchange.body.len() as u64);
        urn(bits)
    }
}

fn push(fields: &mut String, name: &str, value: impl fmt::Display) {
    use fmt::Write as _;
    let _ = write!(fields, "{name}: {value}\r\n");
}

pub(crate) fn urn(bits: u128) -> String {
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x8 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    format!(
        "<urn:uuid:{}-{}-{}-{}-{}>",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

fn revisit_fields(earlier: &Revisit<'_>) -> String {
    let profile =
        if earlier.is_not_modified { "server-not-modified" } else { "identical-payload-digest" };
    format!(
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/{profile}\r\n\
         WARC-Refers-To-Target-URI: {}\r\nWARC-Refers-To-Date: {}\r\n",
        earlier.url,
        warc_date(earlier.unix_micros)
    )
}

/// A head that ends in one empty line.
fn ended(head: &[u8]) -> Vec<u8> {
    let text_end =
        head.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |at| at + 1);
    [&head[..text_end], b"\r\n\r\n"].concat()
}

/// The response's head as archived: encoding headers are renamed, and Content-Length is that of the
/// archived body.
fn stored_head(head: &[u8], body_bytes: usize) -> Vec<u8> {
    const RENAMED: [&[u8]; 3] = [b"content-encoding", b"transfer-encoding", b"content-length"];
    let mut stored = Vec::with_capacity(head.len() + 64);
    for line in head.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        if RENAMED.iter().any(|renamed| name.trim_ascii().eq_ignore_ascii_case(renamed)) {
            stored.extend_from_slice(b"X-Archive-");
        }
        stored.extend_from_slice(line);
        stored.extend_from_slice(b"\r\n");
    }
    stored.extend_from_slice(format!("Content-Length: {body_bytes}\r\n\r\n").as_bytes());
    stored
}

fn index_line(exchange: &Exchange<'_>, payload: &Digest) -> String {
    let media_type = if exchange.revisit.is_some() { REVISIT_TYPE } else { exchange.media_type };
    let payload = &format!("sha1:{}", base32(payload));
    let date = &cdx_date(exchange.unix_micros);
    let Exchange { url, status, .. } = *exchange;
    Line { date, url, media_type, status, payload }.open()
}
