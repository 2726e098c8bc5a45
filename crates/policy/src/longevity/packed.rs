//! A page's scheduling state in its record: one profile (h = 1) of eight hashes, the curve, the base.
//!
//! Times since the base are kept as logarithms (a relative error below 2·10⁻⁴), divergences in
//! steps of 1/255, hashes by their upper halves. That is what 128 bytes a page have room for.

use tidewatch_core::record::{PROFILE_POINTS, PackedPoint, SKETCH_PAD};
use tidewatch_core::{CurveFamily, PageRecord};

use super::curve::DivergenceCurve;
use super::profile::{Point, Profiles};

/// Steps of the logarithm of a time: 65,535 of them reach thirty thousand years.
const TIME_STEPS: f64 = 65_535.0 / 27.6;

/// Writes profile and curve into a record.
pub fn pack(profiles: &Profiles, curve: &DivergenceCurve, record: &mut PageRecord) {
    record.family = match (curve.is_static(), curve.items()) {
        (true, _) => CurveFamily::Unknown,
        (false, 1) => CurveFamily::Churn,
        (false, _) => CurveFamily::Scroll,
    };
    record.curve = [curve.rate() as f32, curve.limit() as f32, curve.jump() as f32];
    record.items = curve.items();
    record.sketch = [SKETCH_PAD; 8];
    if let Some((at, sketch)) = profiles.oldest() {
        record.base_s = at.clamp(0.0, f64::from(u32::MAX)) as u32;
        record.set_sketch(sketch);
    }
    record.seen = profiles.seen_by_oldest().min(PROFILE_POINTS) as u16;
    let points = profiles.points();
    let last = &points[points.len().saturating_sub(PROFILE_POINTS)..];
    record.points = [PackedPoint::default(); PROFILE_POINTS];
    for (slot, point) in record.points.iter_mut().zip(last) {
        let elapsed = (point.elapsed.max(0.0).ln_1p() * TIME_STEPS).round().clamp(1.0, 65_535.0);
        let divergence = (point.divergence.clamp(0.0, 1.0) * 255.0).round();
        *slot = PackedPoint { elapsed: elapsed as u16, divergence: divergence as u8 };
    }
}

/// Reads them back.
pub fn unpack(record: &PageRecord) -> (Profiles, DivergenceCurve) {
    let [rate, limit, jump] = record.curve.map(f64::from);
    let curve = DivergenceCurve::new(rate, limit, jump, record.items);
    let kept = record.points.iter().filter(|point| point.elapsed > 0);
    let points = kept.map(|point| Point {
        elapsed: (f64::from(point.elapsed) / TIME_STEPS).exp_m1(),
        divergence: f64::from(point.divergence) / 255.0,
    });
    let sketch = record.sketch_hashes();
    let profiles =
        Profiles::restored(f64::from(record.base_s), &sketch, record.seen.into(), points.collect());
    (profiles, curve)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::LossCurve;
    use crate::longevity::fit;
    use tidewatch_core::record::RECORD_BYTES;
    use tidewatch_core::{HostId, PageKey};
    use tidewatch_math::Draws;

    /// A divergence of a tenth is kept to one part in fifty; a period moves by a small multiple of that.
    const ROUNDING: f64 = 0.08;

    /// A page watched for a hundred visits schedules the same from its 128 bytes as from memory.
    #[test]
    fn a_record_is_as_good_as_memory() {
        let mut draws = Draws::of(6, "longevity.packed", 0);
        let mut page: Vec<u64> = (0..60).map(|_| draws.word()).collect();
        let (mut memory, mut record) =
            (Profiles::default(), PageRecord::new(PageKey(1), HostId(2)));
        let mut at = 0.0;
        for visit in 0..100 {
            at += 86_400.0 * draws.uniform();
            if visit % 3 == 0 {
                page.remove(0);
                page.push(draws.word());
            }
            let mut sketch = page.clone();
            sketch.sort_unstable();
            sketch.truncate(8);
            // Hashes are compared by their upper halves in both, so that only packing differs.
            let sketch: Vec<u64> = sketch.iter().map(|h| h >> 32 << 32).collect();
            let (mut restored, _) = unpack(&record);
            if visit == 0 {
                restored = Profiles::default();
            }
            restored.add(at, &sketch, 8, 1);
            memory.add(at, &sketch, 8, 1);
            let (ours, theirs) = (fit(memory.points(), 8, 1), fit(restored.points(), 8, 1));
            let (a, b) = (ours.curve.elapsed_at(1e4), theirs.curve.elapsed_at(1e4));
            assert!(
                a.to_bits() == b.to_bits() || (a / b - 1.0).abs() < ROUNDING,
                "{visit}: {a} {b}"
            );
            pack(&restored, &theirs.curve, &mut record);
            record = PageRecord::from_bytes(&record.to_bytes()).unwrap();
        }
        assert_eq!(record.to_bytes().len(), RECORD_BYTES);
    }
}
