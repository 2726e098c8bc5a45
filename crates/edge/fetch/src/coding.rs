//! Decodes content encodings in bounded memory.
//!
//! Bytes are decoded as they arrive, into a sink that holds no more than its limit, so a
//! decompression bomb costs at most the limit. Windows are bounded too: 8 MiB for zstd
//! (RFC 9659), 16 MiB for brotli by its format, 32 KiB for gzip.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::Failure;

/// 8 MiB: the largest window that a server may use.
const ZSTD_WINDOW_LOG: u32 = 23;

/// Bytes that brotli decodes at a time.
const BROTLI_BUFFER: usize = 16 * 1024;

/// Most bytes preallocated for a body.
const MOST_ROOM: usize = 128 * 1024;

/// A content encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// The encodings that `Content-Encoding` headers name, in the order they were applied.
pub(crate) fn codings<'a>(
    headers: impl Iterator<Item = &'a str>,
    limit: usize,
) -> Result<Vec<Coding>, Failure> {
    let mut codings = Vec::new();
    let mut count = 0;
    for name in headers.flat_map(|value| value.split(',')).map(str::trim) {
        let coding = match name.to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            _ => {
                let name = name.chars().take(40).collect();
                return Err(Failure::UnknownEncoding { name });
            }
        };
        count += 1;
        if count <= limit {
            codings.push(coding);
        }
    }
    if count > limit {
        return Err(Failure::TooManyEncodings { count, limit });
    }
    Ok(codings)
}

/// A body being decoded.
pub(crate) struct Body {
    top: Box<dyn Layer>,
    outermost: Option<Coding>,
}

impl Body {
    /// Preallocates `expected` bytes, up to [`MOST_ROOM`]: servers may lie.
    pub(crate) fn new(codings: &[Coding], limit: usize, expected: usize) -> Result<Self, Failure> {
        let bytes = Vec::with_capacity(expected.min(limit).min(MOST_ROOM));
        let mut top: Box<dyn Layer> = Box::new(Sink { bytes, limit, is_full: false });
        // The last encoding applied is decoded first, so it goes on top.
        for coding in codings {
            top = layer(*coding, top).map_err(|error| bad(*coding, &error))?;
        }
        Ok(Self { top, outermost: codings.last().copied() })
    }

    /// Decodes `bytes`. Returns `false` once the limit is reached; drop the rest.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<bool, Failure> {
        let done = self.top.write_all(bytes);
        if self.top.sink().is_full {
            return Ok(false);
        }
        done.map(|()| true).map_err(|error| self.failure(&error))
    }

    /// Ends the body; fails if an encoding is incomplete.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let done = self.top.end();
        if self.top.sink().is_full {
            return Ok(());
        }
        done.map_err(|error| self.failure(&error))
    }

    /// The decoded bytes so far.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.top.sink().bytes)
    }

    /// Whether the body was truncated at its limit.
    pub(crate) fn is_cut(&mut self) -> bool {
        self.top.sink().is_full
    }

    fn failure(&self, error: &io::Error) -> Failure {
        self.outermost.map_or(Failure::Incomplete, |coding| bad(coding, error))
    }
}

fn bad(coding: Coding, error: &io::Error) -> Failure {
    Failure::BadEncoding { coding: coding.name(), why: error.to_string() }
}

/// One encoding; writes its output into the next layer.
trait Layer: Write + Send {
    /// Ends this encoding and those below.
    fn end(&mut self) -> io::Result<()>;
    /// The decoded bytes at the bottom.
    fn sink(&mut self) -> &mut Sink;
}

impl Layer for Box<dyn Layer> {
    fn end(&mut self) -> io::Result<()> {
        (**self).end()
    }

    fn sink(&mut self) -> &mut Sink {
        (**self).sink()
    }
}

fn layer(coding: Coding, below: Box<dyn Layer>) -> io::Result<Box<dyn Layer>> {
    Ok(match coding {
        Coding::Gzip => Box::new(Gzip { decoder: MultiGzDecoder::new(below), has_begun: false }),
        Coding::Deflate => Box::new(Deflate::Unknown { below: Some(below), first: Vec::new() }),
        Coding::Brotli => Box::new(DecompressorWriter::new(below, BROTLI_BUFFER)),
        Coding::Zstd => {
            let mut decoder = zstd::stream::raw::Decoder::new()?;
            decoder.set_parameter(zstd::stream::raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
            Box::new(zstd::stream::write::Decoder::with_decoder(below, decoder))
        }
    })
}

/// The decoded bytes, at most `limit`.
struct Sink {
    bytes: Vec<u8>,
    limit: usize,
    is_full: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.limit - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            self.is_full = true;
            return Err(io::Error::other("the body is longer than is kept"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Layer for Sink {
    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sink(&mut self) -> &mut Sink {
        self
    }
}

/// Gzip. Servers also declare it for empty bodies.
struct Gzip {
    decoder: MultiGzDecoder<Box<dyn Layer>>,
    has_begun: bool,
}

impl Write for Gzip {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_begun |= !bytes.is_empty();
        self.decoder.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Layer for Gzip {
    fn end(&mut self) -> io::Result<()> {
        if self.has_begun {
            self.decoder.try_finish()?;
        }
        self.decoder.get_mut().end()
    }

    fn sink(&mut self) -> &mut Sink {
        self.decoder.get_mut().sink()
    }
}

/// "deflate" is zlib in the standard and raw deflate on some servers; two bytes tell.
enum Deflate {
    Unknown { below: Option<Box<dyn Layer>>, first: Vec<u8> },
    Zlib(ZlibDecoder<Box<dyn Layer>>),
    Raw(DeflateDecoder<Box<dyn Layer>>),
}

impl Deflate {
    fn decide(&mut self) -> io::Result<()> {
        let Self::Unknown { below, first } = self else { return Ok(()) };
        let (Some(head), Some(below)) = (first.first_chunk::<2>().copied(), below.take()) else {
            return Ok(());
        };
        let first = std::mem::take(first);
        let is_zlib = head[0] & 0x0f == 8 && u16::from_be_bytes(head) % 31 == 0;
        *self = if is_zlib {
            Self::Zlib(ZlibDecoder::new(below))
        } else {
            Self::Raw(DeflateDecoder::new(below))
        };
        self.write_all(&first)
    }
}

impl Write for Deflate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Zlib(decoder) => decoder.write(bytes),
            Self::Raw(decoder) => decoder.write(bytes),
            Self::Unknown { first, .. } => {
                first.extend_from_slice(bytes);
                if first.len() >= 2 {
                    self.decide()?;
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Layer for Deflate {
    fn end(&mut self) -> io::Result<()> {
        match self {
            Self::Zlib(decoder) => {
                decoder.try_finish()?;
                decoder.get_mut().end()
            }
            Self::Raw(decoder) => {
                decoder.try_finish()?;
                decoder.get_mut().end()
            }
            Self::Unknown { below: Some(below), first } if first.is_empty() => below.end(),
            Self::Unknown { .. } => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn sink(&mut self) -> &mut Sink {
        match self {
            Self::Zlib(decoder) => decoder.get_mut().sink(),
            Self::Raw(decoder) => decoder.get_mut().sink(),
            Self::Unknown { below, .. } => {
                below.as_mut().expect("taken only together with a change of state").sink()
            }
        }
    }
}

impl Layer for DecompressorWriter<Box<dyn Layer>> {
    fn end(&mut self) -> io::Result<()> {
        self.close()?;
        self.get_mut().end()
    }

    fn sink(&mut self) -> &mut Sink {
        self.get_mut().sink()
    }
}

impl Layer for zstd::stream::write::Decoder<'_, Box<dyn Layer>> {
    fn end(&mut self) -> io::Result<()> {
        self.do_finish()?;
        self.get_mut().end()
    }

    fn sink(&mut self) -> &mut Sink {
        self.get_mut().sink()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{
        Compression,
        write::{DeflateEncoder, GzEncoder, ZlibEncoder},
    };

    const TEXT: &[u8] = b"the same words the same words the same words the same words";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(codings: &[Coding], bytes: &[u8], limit: usize) -> Result<(Vec<u8>, bool), Failure> {
        let mut body = Body::new(codings, limit, 0)?;
        for piece in bytes.chunks(7) {
            if !body.push(piece)? {
                break;
            }
        }
        body.finish()?;
        Ok((body.take(), body.is_cut()))
    }

    #[test]
    fn every_coding() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(TEXT).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(TEXT).unwrap();
        let zstd = zstd::stream::encode_all(TEXT, 3).unwrap();
        let cases = [
            (vec![], TEXT.to_vec()),
            (vec![Coding::Gzip], gzip(TEXT)),
            (vec![Coding::Deflate], zlib.finish().unwrap()),
            (vec![Coding::Deflate], raw.finish().unwrap()),
            (vec![Coding::Zstd], zstd.clone()),
            (vec![Coding::Zstd, Coding::Gzip], gzip(&zstd)),
        ];
        for (codings, encoded) in cases {
            let whole = decode(&codings, &encoded, 1000);
            assert_eq!(whole, Ok((TEXT.to_vec(), false)), "{codings:?}");
            let cut = decode(&codings, &encoded, 10);
            assert_eq!(cut, Ok((TEXT[..10].to_vec(), true)), "{codings:?}");
        }
        assert_eq!(decode(&[Coding::Gzip], b"", 10), Ok((vec![], false)));
    }

    #[test]
    fn damage_has_a_name() {
        let encoded = gzip(TEXT);
        let reason = |result: Result<_, Failure>| result.map(|_| ()).unwrap_err().reason().name();
        let cut = decode(&[Coding::Gzip], &encoded[..encoded.len() - 9], 1000);
        assert_eq!(reason(cut), "bad-encoding");
        assert_eq!(reason(decode(&[Coding::Brotli], b"\xff\xff\xff\xff", 10)), "bad-encoding");
        assert_eq!(reason(decode(&[Coding::Zstd], b"nonsense", 10)), "bad-encoding");
    }

    #[test]
    fn reads_the_header() {
        let read = |value: &'static str| codings([value].into_iter(), 2);
        assert_eq!(read("gzip, BR"), Ok(vec![Coding::Gzip, Coding::Brotli]));
        assert_eq!(read("identity"), Ok(vec![]));
        assert_eq!(read("gzip,gzip,gzip").unwrap_err().reason().name(), "too-many-encodings");
        assert_eq!(read("rot13").unwrap_err().reason().name(), "unknown-encoding");
    }
}
