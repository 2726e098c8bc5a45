//! Records a response's head as sent, and mends what the HTTP library refuses.
//!
//! An archive needs the bytes that the server sent: reason phrase, case and order of header
//! fields. The HTTP library drops these, so the socket below it is recorded, from the start
//! of a response to the blank line that ends its head. Heads of interim responses (100, 103)
//! are skipped.
//!
//! Two faults that browsers forgive are mended on the way to the library: an empty
//! `Content-Length` gets another name, and chunk lines that end with a bare LF get their CR
//! ([`Chunks`]). The recording has the bytes as sent.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use memchr::memchr_iter;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::chunks::Chunks;

/// The recording of one response.
#[derive(Debug, Default)]
struct Record {
    bytes: Vec<u8>,
    is_done: bool,
    limit: usize,
    /// The framing of the body, if it is chunked.
    chunks: Option<Chunks>,
}

/// A recording shared by the socket and its user.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tape(Arc<Mutex<Record>>);

impl Tape {
    /// Restarts for a response whose head has at most `limit` bytes.
    pub(crate) fn rewind(&self, limit: usize) {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *record = Record { limit, ..Record::default() };
    }

    /// The head as sent, with its final blank line.
    pub(crate) fn take(&self) -> Vec<u8> {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut record.bytes)
    }

    /// Records what was read and mends it in place; returns its replacement if it must grow.
    fn hear(&self, bytes: &mut [u8]) -> Option<Vec<u8>> {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let body = if record.is_done {
            0
        } else {
            let body = record.hear(bytes);
            rename_empty_length(&mut bytes[..body]);
            body
        };
        let mended = record.chunks.as_mut()?.mend(&bytes[body..])?;
        Some([&bytes[..body], &mended].concat())
    }
}

impl Record {
    /// Records the head in `bytes`; returns where the body begins there.
    fn hear(&mut self, bytes: &[u8]) -> usize {
        let seen = self.bytes.len();
        let room = self.limit.saturating_sub(seen);
        // Usually the first read has the whole head and part of the body.
        let head = head_end(bytes, 0).filter(|_| seen == 0 && !is_interim(bytes));
        let wanted = head.unwrap_or(bytes.len()).min(room);
        self.bytes.extend_from_slice(&bytes[..wanted]);
        let mut from = seen.saturating_sub(3);
        let mut drained = 0;
        while let Some(end) = head_end(&self.bytes, from) {
            if !is_interim(&self.bytes) {
                self.bytes.truncate(end);
                self.is_done = true;
                self.chunks = is_chunked(&self.bytes).then(Chunks::default);
                return (drained + end).saturating_sub(seen);
            }
            self.bytes.drain(..end);
            drained += end;
            from = 0;
        }
        self.is_done = self.bytes.len() >= self.limit;
        bytes.len()
    }
}

/// Where the head ends: after the first blank line.
pub(crate) fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    memchr_iter(b'\n', rest).find_map(|at| match &rest[at + 1..] {
        [b'\n', ..] => Some(from + at + 2),
        [b'\r', b'\n', ..] => Some(from + at + 3),
        _ => None,
    })
}

/// The lines of a head without their ends, each with its place.
fn lines(head: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    memchr_iter(b'\n', head).map(move |end| {
        let line = &head[start..end];
        let place = std::mem::replace(&mut start, end + 1);
        (place, line.strip_suffix(b"\r").unwrap_or(line))
    })
}

/// The value of a header line with the given name.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = line.split_at_checked(name.len())?;
    if start.eq_ignore_ascii_case(name) { rest.strip_prefix(b":") } else { None }
}

fn is_chunked(head: &[u8]) -> bool {
    let codings = lines(head).filter_map(|(_, line)| value(line, b"transfer-encoding"));
    codings.last().is_some_and(|last| {
        let last = last.rsplit(|b| *b == b',').next().unwrap_or_default();
        last.trim_ascii().eq_ignore_ascii_case(b"chunked")
    })
}

/// Renames an empty `Content-Length`, which says nothing, so that the library does not see it.
fn rename_empty_length(head: &mut [u8]) {
    const NAME: &[u8; 14] = b"content-length";
    let is_empty = |line| value(line, NAME).is_some_and(|value| value.trim_ascii().is_empty());
    let found = lines(head).find(|(_, line)| is_empty(line)).map(|(place, _)| place);
    if let Some(place) = found {
        head[place..place + NAME.len()].copy_from_slice(b"x-empty-length");
    }
}

fn is_interim(head: &[u8]) -> bool {
    // "HTTP/1.1 1xx"
    head.get(8) == Some(&b' ') && head.get(9) == Some(&b'1')
}

/// A socket whose reads are recorded and mended.
#[derive(Debug)]
pub(crate) struct Recorded<S> {
    socket: S,
    tape: Tape,
    /// Mended bytes that have not been handed on.
    late: Bytes,
}

impl<S> Recorded<S> {
    pub(crate) fn new(socket: S, tape: Tape) -> Self {
        Self { socket, tape, late: Bytes::new() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Recorded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.late.is_empty() {
            let before = buf.filled().len();
            let done = Pin::new(&mut self.socket).poll_read(cx, buf);
            match self.tape.hear(&mut buf.filled_mut()[before..]) {
                None => return done,
                Some(mended) => self.late = mended.into(),
            }
            buf.set_filled(before);
        }
        let given = self.late.len().min(buf.remaining());
        buf.put_slice(&self.late.split_to(given));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Recorded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str], limit: usize) -> String {
        let tape = Tape::default();
        tape.rewind(limit);
        for piece in pieces {
            tape.hear(&mut piece.as_bytes().to_vec());
        }
        String::from_utf8(tape.take()).unwrap()
    }

    #[test]
    fn hears_one_head() {
        let head = "HTTP/1.1 200 Fine\r\nA: b\r\n\r\n";
        let all = format!("HTTP/1.1 103 Early\r\nL: x\r\n\r\n{head}body\r\n\r\n");
        for cut in 0..all.len() {
            let (one, two) = all.split_at(cut);
            assert_eq!(heard(&[one, two, "more"], 1000), head, "cut at {cut}");
        }
        assert_eq!(heard(&[&"x".repeat(50), "y"], 20).len(), 20);
        let bare = "HTTP/1.1 200 Fine\nA: b\n\nbody\n\n";
        assert_eq!(heard(&[bare], 1000), "HTTP/1.1 200 Fine\nA: b\n\n");
    }

    #[test]
    fn an_empty_length_is_renamed() {
        let mut head = b"HTTP/1.1 200 OK\r\nContent-length: \r\nA: b\r\n\r\n".to_vec();
        rename_empty_length(&mut head);
        assert_eq!(head, b"HTTP/1.1 200 OK\r\nx-empty-length: \r\nA: b\r\n\r\n");
        let mut head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_vec();
        let same = head.clone();
        rename_empty_length(&mut head);
        assert_eq!(head, same);
    }
}
