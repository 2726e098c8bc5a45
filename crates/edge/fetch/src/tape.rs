//! Records a response's head as sent.
//!
//! An archive needs the bytes that the server sent: reason phrase, case and order of header
//! fields. The HTTP library drops these, so the socket below it is recorded, from the start
//! of a response to the blank line that ends its head. Heads of interim responses (100, 103)
//! are skipped.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The recording of one response.
#[derive(Debug, Default)]
struct Record {
    bytes: Vec<u8>,
    is_done: bool,
    limit: usize,
}

/// A recording shared by the socket and its user.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tape(Arc<Mutex<Record>>);

impl Tape {
    /// Restarts for a response whose head has at most `limit` bytes.
    pub(crate) fn rewind(&self, limit: usize) {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *record = Record { bytes: Vec::new(), is_done: false, limit };
    }

    /// The head as sent, with its final blank line.
    pub(crate) fn take(&self) -> Vec<u8> {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut record.bytes)
    }

    fn hear(&self, bytes: &[u8]) {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !record.is_done {
            record.hear(bytes);
        }
    }
}

impl Record {
    fn hear(&mut self, bytes: &[u8]) {
        let seen = self.bytes.len();
        let room = self.limit.saturating_sub(seen);
        // Usually the first read has the whole head and part of the body.
        let head = head_end(bytes, 0).filter(|_| seen == 0 && !is_interim(bytes));
        let wanted = head.unwrap_or(bytes.len()).min(room);
        self.bytes.extend_from_slice(&bytes[..wanted]);
        let mut from = seen.saturating_sub(3);
        while let Some(end) = head_end(&self.bytes, from) {
            if !is_interim(&self.bytes) {
                self.bytes.truncate(end);
                self.is_done = true;
                return;
            }
            self.bytes.drain(..end);
            from = 0;
        }
        self.is_done = self.bytes.len() >= self.limit;
    }
}

/// Where the head ends: after the first blank line.
pub(crate) fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let found = memchr::memmem::find(bytes.get(from..)?, b"\r\n\r\n");
    found.map(|at| from + at + 4)
}

fn is_interim(head: &[u8]) -> bool {
    // "HTTP/1.1 1xx"
    head.get(8) == Some(&b' ') && head.get(9) == Some(&b'1')
}

/// A socket whose reads are recorded.
#[derive(Debug)]
pub(crate) struct Recorded<S> {
    pub(crate) socket: S,
    pub(crate) tape: Tape,
}

impl<S: AsyncRead + Unpin> AsyncRead for Recorded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let done = Pin::new(&mut self.socket).poll_read(cx, buf);
        self.tape.hear(&buf.filled()[before..]);
        done
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
        pieces.iter().for_each(|piece| tape.hear(piece.as_bytes()));
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
    }
}
