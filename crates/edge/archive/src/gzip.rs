//! Gzip members, one a record, made fast.

use std::cell::RefCell;

use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress, Status};

/// Members of fewer bytes are not compressed: making a compressor ready takes longer than
/// compressing a whole page, for a few hundred bytes of gain.
const WORTH_COMPRESSING: usize = 1024;

/// Begins a gzip member: deflate, no name, no date, unknown system.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Text shrinks at least to this share, mostly, so memory for that is there at once.
const USUAL_SHARE: usize = 3;
/// Bytes of room that a compressor gets when it asks for more.
const MORE_ROOM: usize = 16 << 10;

thread_local! {
    /// A compressor and its level. One for each thread, for it takes longer to make than to use.
    static COMPRESSOR: RefCell<Option<(u32, Compress)>> = const { RefCell::new(None) };
}

/// Appends the parts as one gzip member.
pub(crate) fn push_member(bytes: &mut Vec<u8>, parts: &[&[u8]], level: u32) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    bytes.extend(GZIP_HEAD);
    if length < WORTH_COMPRESSING {
        push_stored(bytes, parts, length as u16);
    } else {
        COMPRESSOR.with_borrow_mut(|kept| {
            let compressor = ready(kept, level);
            bytes.reserve(length / USUAL_SHARE + MORE_ROOM);
            push_deflated(bytes, parts, compressor);
        });
    }
    let mut sum = Hasher::new();
    parts.iter().for_each(|part| sum.update(part));
    bytes.extend(sum.finalize().to_le_bytes());
    // Modulo 2³², by the standard.
    bytes.extend((length as u32).to_le_bytes());
}

fn ready(kept: &mut Option<(u32, Compress)>, level: u32) -> &mut Compress {
    match kept.take_if(|(old, _)| *old == level) {
        Some((_, mut compressor)) => {
            compressor.reset();
            &mut kept.insert((level, compressor)).1
        }
        None => &mut kept.insert((level, Compress::new(Compression::new(level), false))).1,
    }
}

/// One block that is kept as it is (RFC 1951 §3.2.4).
fn push_stored(bytes: &mut Vec<u8>, parts: &[&[u8]], length: u16) {
    bytes.push(1);
    bytes.extend(length.to_le_bytes());
    bytes.extend((!length).to_le_bytes());
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}

fn push_deflated(bytes: &mut Vec<u8>, parts: &[&[u8]], compressor: &mut Compress) {
    let mut push = |part: &[u8], flush| {
        let before = compressor.total_in();
        if bytes.capacity() == bytes.len() {
            bytes.reserve(MORE_ROOM);
        }
        let status = compressor.compress_vec(part, bytes, flush);
        let status = status.expect("a compressor that is used in order does not fail");
        ((compressor.total_in() - before) as usize, status)
    };
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            rest = &rest[push(rest, FlushCompress::None).0..];
        }
    }
    while push(&[], FlushCompress::Finish).1 != Status::StreamEnd {}
}
