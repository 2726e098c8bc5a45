//! The page record: all scheduling state of one page in 128 bytes.
//!
//! A scheduler that re-prices its pages streams them from disk or memory once;
//! a fixed size keeps that a straight walk. The layout is written out byte by
//! byte, little-endian, so that a record means the same on every machine and
//! a store of another version is told apart by its header, not by luck.
//!
//! | bytes | field |
//! |---|---|
//! | 0–7 | key |
//! | 8–15 | last fetch, µs (all ones: never) |
//! | 16–23 | due, µs (all ones: never) |
//! | 24–27 | host |
//! | 28–31 | visits |
//! | 32–35 | visits that saw a change |
//! | 36–39 | weight |
//! | 40–51 | three curve parameters |
//! | 52 | curve family |
//! | 53 | flags |
//! | 54–55 | failures in a row |
//! | 56–59 | seconds watched: sum of the gaps between visits |
//! | 60–63 | seconds of those gaps that ended in a change |
//! | 64–95 | sketch of the base version: the upper halves of its eight smallest fragment hashes, ascending, padded with ones |
//! | 96–99 | when the base version was held, seconds |
//! | 100–103 | identity of the copy held (its upper half) |
//! | 104–124 | change profile: seven points of time since the base (logarithm, 16 bits; 0: none) and divergence (in 255ths) |
//! | 125 | items of the curve's region |
//! | 126–127 | points given by the base held |

use crate::{HostId, PageKey, Time};
use serde::{Deserialize, Serialize};

/// Bytes of one record.
pub const RECORD_BYTES: usize = 128;
/// Fragment hashes kept of the copy held. Eight lose little against all of
/// them for scheduling `[OP08, §5.3]`.
pub const SKETCH_LEN: usize = 8;
/// Fills unused places of a sketch; as a hash it would sort last anyway.
pub const SKETCH_PAD: u32 = u32::MAX;
/// Points of the change profile that a record holds.
pub const PROFILE_POINTS: usize = 7;

/// A point of a change profile, in the units of whoever packs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedPoint {
    /// Time since the base, as a logarithm; 0 where there is no point.
    pub elapsed: u16,
    /// Divergence from the base, in 255ths.
    pub divergence: u8,
}

/// Which loss curve the parameters belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CurveFamily {
    /// Nothing fitted yet.
    #[default]
    Unknown = 0,
    /// Binary staleness, Poisson changes.
    Poisson = 1,
    /// Binary staleness, another renewal law.
    Renewal = 2,
    /// Fragments replaced together.
    Churn = 3,
    /// Fragments that scroll off.
    Scroll = 4,
    /// A content source.
    Source = 5,
}

impl CurveFamily {
    fn from_byte(byte: u8) -> Option<Self> {
        use CurveFamily::{Churn, Poisson, Renewal, Scroll, Source, Unknown};
        [Unknown, Poisson, Renewal, Churn, Scroll, Source].into_iter().find(|&f| f as u8 == byte)
    }
}

/// Yes-or-no facts of a page, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageFlags(u8);

impl PageFlags {
    /// The crawler watches the page for new links.
    pub const SOURCE: PageFlags = PageFlags(1);
    /// The page is gone (404, 410).
    pub const GONE: PageFlags = PageFlags(2);
    /// Due for a random probe, not for its value.
    pub const PROBE: PageFlags = PageFlags(4);

    /// Whether every bit of `other` is set.
    pub const fn has(self, other: PageFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags and `other`'s.
    pub const fn with(self, other: PageFlags) -> PageFlags {
        PageFlags(self.0 | other.0)
    }

    /// These flags without `other`'s.
    pub const fn without(self, other: PageFlags) -> PageFlags {
        PageFlags(self.0 & !other.0)
    }
}

/// All scheduling state of one page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageRecord {
    /// Hash of the canonical URL.
    pub key: PageKey,
    /// Host that serves it.
    pub host: HostId,
    /// Last successful fetch.
    pub last_fetch: Option<Time>,
    /// When its value is expected to reach the price.
    pub due: Time,
    /// Successful fetches.
    pub visits: u32,
    /// Visits that saw a change.
    pub changes: u32,
    /// Clicks per second, or importance where there are no clicks.
    pub weight: f32,
    /// Parameters of the loss curve, in the order its family defines.
    pub curve: [f32; 3],
    /// The curve's family.
    pub family: CurveFamily,
    /// Yes-or-no facts.
    pub flags: PageFlags,
    /// Failures since the last success.
    pub failures: u16,
    /// Sum of the gaps between visits, seconds.
    pub watched_s: f32,
    /// The part of those gaps that ended in a change, seconds.
    pub changed_s: f32,
    /// Sketch of the base version: upper halves of hashes. Thirty-two bits tell the few hashes of
    /// two versions apart, and keep their order.
    pub sketch: [u32; SKETCH_LEN],
    /// When the base version was held, seconds.
    pub base_s: u32,
    /// Upper half of the identity of the copy held: what decides whether a page has changed.
    pub identity: u32,
    /// The change profile, oldest point first.
    pub points: [PackedPoint; PROFILE_POINTS],
    /// Items of the region that the curve describes.
    pub items: u8,
    /// Points that the base held has given.
    pub seen: u16,
}

/// A stored record that no version of this code wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("page record has curve family {family}, which this version does not know")]
pub struct BadRecord {
    /// The byte found.
    pub family: u8,
}

impl PageRecord {
    /// The record of a page just discovered: due at once, nothing known.
    pub fn new(key: PageKey, host: HostId) -> Self {
        PageRecord {
            key,
            host,
            last_fetch: None,
            due: Time::ZERO,
            visits: 0,
            changes: 0,
            weight: 1.0,
            curve: [0.0; 3],
            family: CurveFamily::Unknown,
            flags: PageFlags::default(),
            failures: 0,
            watched_s: 0.0,
            changed_s: 0.0,
            sketch: [SKETCH_PAD; SKETCH_LEN],
            base_s: 0,
            identity: 0,
            points: [PackedPoint::default(); PROFILE_POINTS],
            items: 1,
            seen: 0,
        }
    }

    /// Keeps the upper halves of a sketch's first hashes.
    pub fn set_sketch(&mut self, hashes: &[u64]) {
        self.sketch = [SKETCH_PAD; SKETCH_LEN];
        for (kept, hash) in self.sketch.iter_mut().zip(hashes) {
            *kept = (hash >> 32) as u32;
        }
    }

    /// The sketch as hashes again, lower halves zero. To be compared with others cut the same way.
    pub fn sketch_hashes(&self) -> Vec<u64> {
        let kept = self.sketch.iter().take_while(|&&hash| hash != SKETCH_PAD);
        kept.map(|&hash| u64::from(hash) << 32).collect()
    }

    /// The record's bytes.
    pub fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let mut out = Writer { bytes: [0; RECORD_BYTES], at: 0 };
        out.put(&self.key.0.to_le_bytes());
        out.put(&self.last_fetch.unwrap_or(Time::NEVER).as_micros().to_le_bytes());
        out.put(&self.due.as_micros().to_le_bytes());
        out.put(&self.host.0.to_le_bytes());
        out.put(&self.visits.to_le_bytes());
        out.put(&self.changes.to_le_bytes());
        out.put(&self.weight.to_le_bytes());
        self.curve.iter().for_each(|p| out.put(&p.to_le_bytes()));
        out.put(&[self.family as u8, self.flags.0]);
        out.put(&self.failures.to_le_bytes());
        out.put(&self.watched_s.to_le_bytes());
        out.put(&self.changed_s.to_le_bytes());
        self.sketch.iter().for_each(|h| out.put(&h.to_le_bytes()));
        out.put(&self.base_s.to_le_bytes());
        out.put(&self.identity.to_le_bytes());
        for point in &self.points {
            out.put(&point.elapsed.to_le_bytes());
            out.put(&[point.divergence]);
        }
        out.put(&[self.items]);
        out.put(&self.seen.to_le_bytes());
        debug_assert_eq!(out.at, RECORD_BYTES);
        out.bytes
    }

    /// Reads a record back.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Result<Self, BadRecord> {
        let mut read = Reader { bytes, at: 0 };
        let key = PageKey(read.u64());
        let last = Time::from_micros(read.u64());
        let due = Time::from_micros(read.u64());
        let host = HostId(read.u32());
        let (visits, changes, weight) = (read.u32(), read.u32(), read.f32());
        let curve = [read.f32(), read.f32(), read.f32()];
        let [byte, flags] = read.take();
        let failures = u16::from_le_bytes(read.take());
        let (watched_s, changed_s) = (read.f32(), read.f32());
        let sketch = std::array::from_fn(|_| read.u32());
        let (base_s, identity) = (read.u32(), read.u32());
        let points = std::array::from_fn(|_| {
            let elapsed = u16::from_le_bytes(read.take());
            let [divergence] = read.take();
            PackedPoint { elapsed, divergence }
        });
        let [items] = read.take();
        let seen = u16::from_le_bytes(read.take());
        let family = CurveFamily::from_byte(byte).ok_or(BadRecord { family: byte })?;
        let last_fetch = (last != Time::NEVER).then_some(last);
        let flags = PageFlags(flags);
        Ok(PageRecord {
            key,
            host,
            last_fetch,
            due,
            visits,
            changes,
            weight,
            curve,
            family,
            flags,
            failures,
            watched_s,
            changed_s,
            sketch,
            base_s,
            identity,
            points,
            items,
            seen,
        })
    }
}

struct Writer {
    bytes: [u8; RECORD_BYTES],
    at: usize,
}

impl Writer {
    fn put(&mut self, field: &[u8]) {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
    }
}

struct Reader<'a> {
    bytes: &'a [u8; RECORD_BYTES],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let field = std::array::from_fn(|i| self.bytes[self.at + i]);
        self.at += N;
        field
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn f32(&mut self) -> f32 {
        f32::from_le_bytes(self.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> PageRecord {
        PageRecord {
            last_fetch: Some(Time::from_micros(0x0102_0304_0506_0708)),
            due: Time::from_micros(9),
            visits: 10,
            changes: 3,
            weight: 2.5,
            curve: [0.5, 0.25, 7.0],
            family: CurveFamily::Scroll,
            flags: PageFlags::SOURCE.with(PageFlags::PROBE),
            failures: 0x0a0b,
            watched_s: 100.0,
            changed_s: 40.0,
            sketch: [1, 2, 3, 4, 5, 6, 7, SKETCH_PAD],
            base_s: 0x0102_0304,
            identity: 0x0506_0708,
            points: [PackedPoint { elapsed: 0x1234, divergence: 0x56 }; PROFILE_POINTS],
            items: 9,
            seen: 0x1122,
            ..PageRecord::new(PageKey(0x1122_3344_5566_7788), HostId(0xaabb_ccdd))
        }
    }

    #[test]
    fn layout_is_the_documented_one() {
        let bytes = sample().to_bytes();
        assert_eq!(bytes[0..8], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
        assert_eq!(bytes[8..16], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(bytes[16], 9);
        assert_eq!(bytes[24..28], [0xdd, 0xcc, 0xbb, 0xaa]);
        assert_eq!((bytes[28], bytes[32]), (10, 3));
        assert_eq!(bytes[36..40], 2.5f32.to_le_bytes());
        assert_eq!(bytes[48..52], 7.0f32.to_le_bytes());
        assert_eq!(bytes[52..56], [4, 5, 0x0b, 0x0a]);
        assert_eq!(bytes[60..64], 40.0f32.to_le_bytes());
        assert_eq!((bytes[64], bytes[68], bytes[95]), (1, 2, 0xff));
        assert_eq!(bytes[96..104], [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(bytes[104..107], [0x34, 0x12, 0x56]);
        assert_eq!(bytes[125..128], [9, 0x22, 0x11]);
    }

    #[test]
    fn unknown_family_is_refused() {
        let mut bytes = sample().to_bytes();
        bytes[52] = 200;
        assert_eq!(PageRecord::from_bytes(&bytes), Err(BadRecord { family: 200 }));
    }

    #[test]
    fn flags_set_and_clear() {
        let flags = PageFlags::SOURCE.with(PageFlags::GONE);
        assert!(flags.has(PageFlags::GONE) && !flags.has(PageFlags::PROBE));
        assert_eq!(flags.without(PageFlags::GONE), PageFlags::SOURCE);
    }

    proptest! {
        /// Any bytes with a known family survive the way in and out unchanged,
        /// so no field overlaps another and none is dropped.
        #[test]
        fn bytes_round_trip(raw in proptest::collection::vec(any::<u8>(), RECORD_BYTES), family in 0u8..6) {
            let mut bytes: [u8; RECORD_BYTES] = raw.try_into().unwrap();
            bytes[52] = family;
            let record = PageRecord::from_bytes(&bytes).unwrap();
            prop_assert_eq!(record.to_bytes(), bytes);
        }
    }
}
