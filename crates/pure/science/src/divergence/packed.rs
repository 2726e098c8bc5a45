//! One profile in a page record of fixed size.
//!
//! Times since the base are kept as logarithms, divergences in steps of 1/255 (profiles are rounded
//! to that as they are made, [`ProfilePoint`]), hashes by their upper halves.

use serde::{Deserialize, Serialize};

use super::profile::{POINTS_A_BASE, ProfilePoint, Profiles};

/// Fills unused places of a sketch; as a hash it would sort last anyway.
const PAD: u32 = u32::MAX;

/// A [`ProfilePoint`] in three bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedPoint {
    /// Time since the base, as a logarithm; 0 where there is no point.
    pub(super) elapsed: u16,
    /// Divergence from the base, in 255ths.
    pub(super) divergence: u8,
}

/// The oldest base of [`Profiles`] and the last seven points, in fixed size: what one page needs with
/// one profile (h = 1) and eight hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedProfile {
    /// Upper halves of the base's smallest hashes, ascending.
    pub sketch: [u32; PackedProfile::HASHES],
    /// When the base was held, in whole seconds.
    pub base_s: u32,
    /// The last points, oldest first.
    pub points: [PackedPoint; PackedProfile::POINTS],
    /// How many of the points the base has given.
    pub seen: u8,
}

impl Default for PackedProfile {
    /// Nothing seen yet.
    fn default() -> Self {
        let points = [PackedPoint::default(); Self::POINTS];
        PackedProfile { sketch: [PAD; Self::HASHES], base_s: 0, points, seen: 0 }
    }
}

impl PackedProfile {
    /// Hashes of a packed sketch.
    pub const HASHES: usize = 8;
    /// Points of a packed profile.
    pub const POINTS: usize = POINTS_A_BASE;

    /// Packs the oldest base and the last points.
    pub fn new(profiles: &Profiles) -> Self {
        let mut packed = PackedProfile::default();
        if let Some((at, sketch)) = profiles.oldest() {
            packed.base_s = at.clamp(0.0, f64::from(u32::MAX)) as u32;
            for (kept, hash) in packed.sketch.iter_mut().zip(sketch) {
                *kept = (hash >> 32) as u32;
            }
        }
        packed.seen = profiles.seen_by_oldest().min(POINTS_A_BASE) as u8;
        let points = profiles.points();
        let last = &points[points.len().saturating_sub(POINTS_A_BASE)..];
        for (slot, point) in packed.points.iter_mut().zip(last) {
            *slot = point.pack();
        }
        packed
    }

    /// The profiles again; hashes have lower halves of zero, and are to be compared with others cut
    /// the same way.
    pub fn unpack(&self) -> Profiles {
        let points = self.points.iter().filter_map(|&point| ProfilePoint::unpack(point)).collect();
        let hashes = self.sketch.iter().take_while(|&&hash| hash != PAD);
        let sketch: Vec<u64> = hashes.map(|&hash| u64::from(hash) << 32).collect();
        Profiles::restored(self.base_s.into(), &sketch, self.seen.into(), points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::divergence::fit;
    use tidewatch_math::Draws;

    const HASHES: usize = PackedProfile::HASHES;

    /// A page watched for a hundred visits schedules the same from its packed profile as from memory.
    #[test]
    fn a_packed_profile_is_as_good_as_memory() {
        let mut draws = Draws::of(6, "longevity.packed", 0);
        let mut page: Vec<u64> = (0..60).map(|_| draws.word()).collect();
        let (mut memory, mut packed) = (Profiles::default(), None::<PackedProfile>);
        let mut at = 0.0;
        for visit in 0..100 {
            at += 86_400.0 * draws.uniform();
            if visit % 3 == 0 {
                page.remove(0);
                page.push(draws.word());
            }
            let mut sketch = page.clone();
            sketch.sort_unstable();
            sketch.truncate(HASHES);
            // Hashes are compared by their upper halves in both, so that only packing differs.
            let sketch: Vec<u64> = sketch.iter().map(|h| h >> 32 << 32).collect();
            let mut restored = packed.map_or_else(Profiles::default, |packed| packed.unpack());
            restored.add(at, &sketch, HASHES, 1);
            memory.add(at, &sketch, HASHES, 1);
            assert_eq!(memory.points(), restored.points(), "visit {visit}");
            assert_eq!(fit(memory.points(), HASHES, 1), fit(restored.points(), HASHES, 1));
            packed = Some(PackedProfile::new(&restored));
        }
    }
}
