//! A page's scheduling state in its record: one profile (h = 1) of eight hashes, the curve, the base.
//!
//! Times since the base are kept as logarithms, divergences in steps of 1/255 (profiles are rounded
//! so as they are made, [`Point`]), hashes by their upper halves. That is what 128 bytes a page have
//! room for.

use tidewatch_core::record::{PROFILE_POINTS, PackedPoint, SKETCH_PAD};
use tidewatch_core::{CurveFamily, PageRecord};

use super::curve::DivergenceCurve;
use super::profile::{Point, Profiles};

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
        *slot = point.pack();
    }
}

/// Reads them back.
pub fn unpack(record: &PageRecord) -> (Profiles, DivergenceCurve) {
    let [rate, limit, jump] = record.curve.map(f64::from);
    let curve = DivergenceCurve::new(rate, limit, jump, record.items);
    let points = record.points.iter().filter_map(|&point| Point::unpack(point)).collect();
    let (base, sketch) = (f64::from(record.base_s), record.sketch_hashes());
    let profiles = Profiles::restored(base, &sketch, record.seen.into(), points);
    (profiles, curve)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::longevity::fit;
    use tidewatch_core::record::RECORD_BYTES;
    use tidewatch_core::{HostId, PageKey};
    use tidewatch_math::Draws;

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
            assert_eq!(memory.points(), restored.points(), "visit {visit}");
            let found = fit(restored.points(), 8, 1);
            assert_eq!(fit(memory.points(), 8, 1), found);
            pack(&restored, &found.curve, &mut record);
            record = PageRecord::from_bytes(&record.to_bytes()).unwrap();
        }
        assert_eq!(record.to_bytes().len(), RECORD_BYTES);
    }
}
