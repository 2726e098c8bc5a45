//! The divergences seen between fetches of a page, by the time between them.
//!
//! The life of a profile: a fetch becomes a *base* (its sketch is kept); every later fetch adds the
//! divergence from each base held and the time since. The paper starts a profile at every refresh
//! and keeps the h latest, which with h = 1 would leave one point a profile. Here a base is kept
//! until it has seen [`POINTS_A_BASE`] later versions, and gives way then; the points outlive it,
//! because what they say about the page stays true. At most [`POINTS_A_BASE`]·h points are
//! kept, latest last, so old behaviour is forgotten.
//!
//! Points and times of bases are rounded to the precision of a page record when they are made, so that a
//! page restored from its record is scheduled exactly as from memory.

use tidewatch_core::sketch::divergence;

use super::packed::PackedPoint;

/// Points that one base may give, and that are kept for each base held: what a page record has room
/// for.
pub(super) const POINTS_A_BASE: usize = 7;

/// A divergence seen some time after the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfilePoint {
    /// Seconds since the base was held.
    pub elapsed: f64,
    /// Divergence from the base, 0 to 1.
    pub divergence: f64,
}

/// Steps per unit of the logarithm of a time: 65,535 steps reach thirty thousand years.
const TIME_STEPS: f64 = 65_535.0 / 27.6;
/// Steps of a divergence.
const DIVERGENCE_STEPS: f64 = 255.0;

impl ProfilePoint {
    /// Packs into three bytes: the logarithm of the time to a relative error below 2.2·10⁻⁴, the
    /// divergence to 1/510.
    pub(super) fn pack(self) -> PackedPoint {
        let elapsed = (self.elapsed.max(0.0).ln_1p() * TIME_STEPS).round().clamp(1.0, 65_535.0);
        let divergence = (self.divergence.clamp(0.0, 1.0) * DIVERGENCE_STEPS).round();
        PackedPoint { elapsed: elapsed as u16, divergence: divergence as u8 }
    }

    /// Restores a packed point; `None` for an empty slot of a record.
    pub(super) fn unpack(packed: PackedPoint) -> Option<Self> {
        (packed.elapsed > 0).then(|| ProfilePoint {
            elapsed: (f64::from(packed.elapsed) / TIME_STEPS).exp_m1(),
            divergence: f64::from(packed.divergence) / DIVERGENCE_STEPS,
        })
    }
}

/// The h change profiles of a page.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    bases: Vec<Base>,
    points: Vec<ProfilePoint>,
}

#[derive(Clone, Debug)]
struct Base {
    at: f64,
    sketch: Box<[u64]>,
    /// Points of this base alone, for bounds that need them in order.
    seen: Vec<ProfilePoint>,
}

impl Profiles {
    /// Adds a fetch at `at` (seconds) that showed `sketch`, the smallest hashes of the page's text in
    /// ascending order. At most `most` hashes are compared and `h` bases kept. The fetch becomes a base
    /// while there is room, and when the oldest base has given its points.
    pub fn add(&mut self, at: f64, sketch: &[u64], most: usize, h: usize) {
        self.extend(at, sketch, most, h);
        let is_full = self.bases.first().is_some_and(|oldest| oldest.seen.len() >= POINTS_A_BASE);
        if self.bases.len() < h.max(1) || is_full {
            self.rebase(at, sketch, most, h);
        }
    }

    /// Adds a point for every base held.
    pub fn extend(&mut self, at: f64, sketch: &[u64], most: usize, h: usize) {
        for base in &mut self.bases {
            let elapsed = at - base.at;
            let seen = ProfilePoint { elapsed, divergence: divergence(&base.sketch, sketch, most) };
            let Some(point) = ProfilePoint::unpack(seen.pack()) else { continue };
            base.seen.push(point);
            self.points.push(point);
        }
        let surplus = self.points.len().saturating_sub(POINTS_A_BASE * h.max(1));
        self.points.drain(..surplus);
    }

    /// Makes a fetch the newest base; the oldest gives way if there are `h`.
    pub fn rebase(&mut self, at: f64, sketch: &[u64], most: usize, h: usize) {
        if self.bases.len() >= h.max(1) {
            self.bases.remove(0);
        }
        let kept = &sketch[..sketch.len().min(most)];
        self.bases.push(Base { at: whole_seconds(at), sketch: kept.into(), seen: Vec::new() });
    }

    /// Every point kept, each shifted so that its base was held at zero.
    pub fn points(&self) -> &[ProfilePoint] {
        &self.points
    }

    /// The points of each base held, by time.
    pub fn by_base(&self) -> impl Iterator<Item = &[ProfilePoint]> {
        self.bases.iter().map(|base| &base.seen[..]).filter(|seen| !seen.is_empty())
    }

    /// When the oldest base was held and its sketch.
    pub fn oldest(&self) -> Option<(f64, &[u64])> {
        self.bases.first().map(|base| (base.at, &base.sketch[..]))
    }

    /// When the newest base was held and how many points it has given.
    pub fn newest(&self) -> Option<(f64, usize)> {
        self.bases.last().map(|base| (base.at, base.seen.len()))
    }

    /// Puts back what [`super::PackedProfile`] kept.
    pub(super) fn restored(
        at: f64,
        sketch: &[u64],
        seen: usize,
        points: Vec<ProfilePoint>,
    ) -> Self {
        let own = points[points.len() - seen.min(points.len())..].to_vec();
        Profiles { bases: vec![Base { at, sketch: sketch.into(), seen: own }], points }
    }

    /// How many points the oldest base has given.
    pub(super) fn seen_by_oldest(&self) -> usize {
        self.bases.first().map_or(0, |base| base.seen.len())
    }
}

/// A time as a record holds it.
fn whole_seconds(at: f64) -> f64 {
    at.clamp(0.0, f64::from(u32::MAX)).floor()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a step of a divergence, and of the logarithm of a time of at most a minute.
    const HALF_STEPS: f64 = 0.5 / DIVERGENCE_STEPS + 60.0 * 0.5 / TIME_STEPS;

    #[test]
    fn rounding_twice_is_rounding_once() {
        for elapsed in [1u16, 2, 100, 65_535] {
            for divergence in [0u8, 1, 128, 255] {
                let packed = PackedPoint { elapsed, divergence };
                assert_eq!(ProfilePoint::unpack(packed).map(ProfilePoint::pack), Some(packed));
            }
        }
        assert_eq!(ProfilePoint::unpack(PackedPoint::default()), None);
    }

    #[test]
    fn divergence_is_from_the_base() {
        let mut profiles = Profiles::default();
        profiles.add(10.0, &[1, 2, 3, 4], 8, 1);
        profiles.add(12.0, &[1, 2, 3, 5], 8, 1);
        profiles.add(15.0, &[1, 5, 6, 7], 8, 1);
        let wanted = [(2.0, 1.0 - 3.0 / 5.0), (5.0, 1.0 - 1.0 / 7.0)];
        for (point, (elapsed, divergence)) in profiles.points().iter().zip(wanted) {
            let off = (point.elapsed - elapsed).abs() + (point.divergence - divergence).abs();
            assert!(off < HALF_STEPS, "{point:?}");
        }
        assert_eq!(profiles.by_base().count(), 1);
    }

    #[test]
    fn bases_give_way_and_points_stay_bounded() {
        for h in [1, 5] {
            let mut profiles = Profiles::default();
            for i in 0..100u64 {
                profiles.add(i as f64, &[i], 8, h);
                assert!(profiles.points().len() <= POINTS_A_BASE * h);
                assert!(profiles.bases.len() <= h);
            }
            let newest = profiles.bases.last().map(|base| base.at);
            assert!(newest.is_some_and(|at| at >= 100.0 - POINTS_A_BASE as f64 - 1.0));
        }
    }
}
