//! A socket that reports when the server begins to close it.
//!
//! A client that waits for the end of the stream and then connects again is
//! sequential; the log must record the end of the old connection before the start of the new one. So
//! the end is logged before the last packet is sent.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::log::RequestLog;

pub(super) struct Watched {
    stream: TcpStream,
    log: Arc<RequestLog>,
    connection: u64,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, log: Arc<RequestLog>, connection: u64) -> Self {
        Watched { stream, log, connection }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.log.end(self.connection);
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.log.close(self.connection);
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
