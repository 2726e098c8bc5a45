//! Decodes content encodings in bounded memory.
//!
//! Bytes are decoded as they arrive, into a sink that holds no more than its limit, so a
//! decompression bomb costs at most the limit, and less if its ratio gives it away. Windows are bounded too: 8 MiB for zstd
//! (RFC 9659), 16 MiB for brotli by its format, 32 KiB for gzip.
//!
//! Like browsers, keeps what decoded before any damage: garbage after a gzip stream, a missing
//! footer, a wrong checksum. The body is then [damaged](Body::damage). A body of which nothing
//! decodes fails; an empty one is empty in every encoding.

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

/// A body that outgrows this gets room up to its limit at once: growing by doubling, it would be
/// held twice while it is copied. Memory that is reserved but never written costs nothing.
const LARGE: usize = 1024 * 1024;

/// A body that decodes to more than this many times its bytes on the wire is cut: deflate cannot
/// do more, and honest text comes nowhere near.
const MOST_RATIO: usize = 1032;

/// Bytes that are kept whatever the ratio.
const ANY_RATIO: usize = 4 * 1024 * 1024;

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

/// Registered encodings (IANA, HTTP Content Coding Registry) that are not decoded.
const NOT_DECODED: [&str; 7] =
    ["compress", "x-compress", "exi", "pack200-gzip", "aes128gcm", "dcb", "dcz"];

/// The encodings that headers name, in the order they were applied. Servers also write charsets, media
/// types, `none` and worse there; what is no encoding is passed over, as browsers do.
pub(crate) fn codings<'a>(
    headers: impl Iterator<Item = &'a str>,
    limit: usize,
) -> Result<Vec<Coding>, Failure> {
    let mut codings = Vec::new();
    let mut count = 0;
    for name in headers.flat_map(|value| value.split(',')).map(str::trim) {
        let coding = match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            name if NOT_DECODED.contains(&name) => {
                return Err(Failure::UnknownEncoding { name: name.to_owned() });
            }
            _ => continue,
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
    wire_bytes: usize,
    damage: Option<Failure>,
}

impl Body {
    /// Preallocates `expected` bytes, up to [`MOST_ROOM`]: servers may lie.
    pub(crate) fn new(codings: &[Coding], limit: usize, expected: usize) -> Result<Self, Failure> {
        let bytes = Vec::with_capacity(expected.min(limit).min(MOST_ROOM));
        let mut top: Box<dyn Layer> = Box::new(Sink { bytes, limit, most: limit, is_full: false });
        // The last encoding applied is decoded first, so it goes on top.
        for coding in codings {
            top = layer(*coding, top).map_err(|error| bad(*coding, &error))?;
        }
        let outermost = codings.last().copied();
        Ok(Self { top, outermost, wire_bytes: 0, damage: None })
    }

    /// Decodes `bytes`. Returns `false` once the limit or damage is reached; drop the rest.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<bool, Failure> {
        self.wire_bytes = self.wire_bytes.saturating_add(bytes.len());
        let by_ratio = self.wire_bytes.saturating_mul(MOST_RATIO).max(ANY_RATIO);
        let sink = self.top.sink();
        sink.limit = sink.most.min(by_ratio);
        let done = self.top.write_all(bytes);
        self.settle(done)
    }

    /// Ends the body.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        // Servers declare an encoding for empty bodies, too.
        if self.wire_bytes == 0 {
            return Ok(());
        }
        let done = self.top.end();
        self.settle(done).map(|_| ())
    }

    fn settle(&mut self, done: io::Result<()>) -> Result<bool, Failure> {
        if self.top.sink().is_full {
            return Ok(false);
        }
        let Err(error) = done else { return Ok(true) };
        // A decoder may hold bytes that it decoded before the damage.
        let _ = self.top.end();
        if self.top.sink().bytes.is_empty() {
            return Err(self.failure(&error));
        }
        self.damage = Some(self.failure(&error));
        Ok(false)
    }

    /// The decoded bytes so far.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.top.sink().bytes)
    }

    /// Whether the body was truncated at its limit.
    pub(crate) fn is_cut(&mut self) -> bool {
        self.top.sink().is_full
    }

    /// Why the body did not decode to its end, if it did not.
    pub(crate) fn damage(&mut self) -> Option<Failure> {
        self.damage.take()
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
        Coding::Gzip => Box::new(MultiGzDecoder::new(below)),
        Coding::Deflate => Box::new(Deflate::Unknown { below: Some(below), first: Vec::new() }),
        Coding::Brotli => Box::new(DecompressorWriter::new(below, BROTLI_BUFFER)),
        Coding::Zstd => {
            let mut decoder = zstd::stream::raw::Decoder::new()?;
            decoder.set_parameter(zstd::stream::raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
            Box::new(zstd::stream::write::Decoder::with_decoder(below, decoder))
        }
    })
}

/// The decoded bytes, at most `limit` now and `most` in the end.
struct Sink {
    bytes: Vec<u8>,
    limit: usize,
    most: usize,
    is_full: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.limit - self.bytes.len();
        let is_short = self.bytes.capacity() - self.bytes.len() < bytes.len().min(room);
        if is_short && self.bytes.len() + bytes.len() > LARGE {
            self.bytes.reserve_exact(self.most - self.bytes.len());
        }
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

impl Layer for MultiGzDecoder<Box<dyn Layer>> {
    fn end(&mut self) -> io::Result<()> {
        self.try_finish()?;
        self.get_mut().end()
    }

    fn sink(&mut self) -> &mut Sink {
        self.get_mut().sink()
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
    }

    #[test]
    fn an_empty_body_is_empty_in_every_coding() {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            for codings in [vec![coding], vec![coding, Coding::Gzip]] {
                assert_eq!(decode(&codings, b"", 10), Ok((vec![], false)), "{codings:?}");
            }
        }
    }

    #[test]
    fn what_decoded_before_damage_is_kept() {
        let encoded = gzip(TEXT);
        let mut bad_sum = encoded.clone();
        bad_sum[encoded.len() - 8] ^= 1;
        let damaged = [
            (Coding::Gzip, [&encoded[..], b"<!-- cached -->"].concat()),
            (Coding::Gzip, [&encoded[..], &[0; 9]].concat()),
            (Coding::Gzip, encoded[..encoded.len() - 8].to_vec()),
            (Coding::Gzip, bad_sum),
            (Coding::Zstd, [&zstd::stream::encode_all(TEXT, 3).unwrap()[..], b"junk"].concat()),
        ];
        for (coding, bytes) in damaged {
            let mut body = Body::new(&[coding], 1000, 0).unwrap();
            if body.push(&bytes).unwrap() {
                body.finish().unwrap();
            }
            assert_eq!((body.take(), body.is_cut()), (TEXT.to_vec(), false), "{bytes:?}");
            assert!(body.damage().is_some(), "{bytes:?}");
        }
        let whole = [encoded.clone(), encoded].concat();
        let mut body = Body::new(&[Coding::Gzip], 1000, 0).unwrap();
        assert_eq!(body.push(&whole).and_then(|_| body.finish()), Ok(()));
        assert_eq!((body.take().len(), body.damage()), (2 * TEXT.len(), None));
    }

    #[test]
    fn a_body_of_which_nothing_decodes_has_a_name() {
        let reason = |result: Result<_, Failure>| result.map(|_| ()).unwrap_err().reason().name();
        assert_eq!(reason(decode(&[Coding::Gzip], b"<html>", 10)), "bad-encoding");
        assert_eq!(reason(decode(&[Coding::Deflate], b"x", 10)), "bad-encoding");
        assert_eq!(reason(decode(&[Coding::Brotli], b"\xff\xff\xff\xff", 10)), "bad-encoding");
        assert_eq!(reason(decode(&[Coding::Zstd], b"nonsense", 10)), "bad-encoding");
    }

    #[test]
    fn reads_the_header() {
        let read = |value: &'static str| codings([value].into_iter(), 2);
        assert_eq!(read("gzip, BR"), Ok(vec![Coding::Gzip, Coding::Brotli]));
        for none in ["identity", "none", "UTF-8", "text/html", "rot13", "", "chunked, gzip"] {
            let want = if none.contains("gzip") { vec![Coding::Gzip] } else { vec![] };
            assert_eq!(read(none), Ok(want), "{none}");
        }
        assert_eq!(read("gzip,gzip,gzip").unwrap_err().reason().name(), "too-many-encodings");
        assert_eq!(read("Compress").unwrap_err().reason().name(), "unknown-encoding");
    }
}
