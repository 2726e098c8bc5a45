//! A weekly rhythm: busy noons, quiet nights, slow weekends.

use std::f64::consts::TAU;

use tidewatch_math::sample::Rhythm;

/// Relative rate at hour h of a day: w·e^(κ·cos(2π(h − peak)/24)), where w is `weekend` on weekend
/// days and 1 otherwise, κ = ½·ln(swing), and `swing` is the rate of the busiest hour over that of
/// the quietest. Time zero is midnight on a Monday.
pub(crate) fn weekly(swing: f64, weekend: f64, peak_hour: f64) -> Rhythm {
    let sharpness = 0.5 * swing.ln();
    let levels = std::array::from_fn(|hour| {
        let day = if hour / 24 >= 5 { weekend } else { 1.0 };
        let middle = (hour % 24) as f64 + 0.5;
        day * (sharpness * (TAU * (middle - peak_hour) / 24.0).cos()).exp()
    });
    // Finite and positive for every valid swing; a flat week otherwise.
    Rhythm::new(&levels).unwrap_or_else(|_| Rhythm::flat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swing_and_weekend_match_the_settings() {
        let rhythm = weekly(10.0, 0.6, 12.5);
        let (low, high) = rhythm.levels()[..24]
            .iter()
            .fold((f64::MAX, 0.0_f64), |(low, high), &level| (low.min(level), high.max(level)));
        assert!((high / low - 10.0).abs() < 1e-9, "{}", high / low);
        let day = |day: usize| rhythm.levels()[24 * day..24 * (day + 1)].iter().sum::<f64>();
        assert!((day(6) / day(2) - 0.6).abs() < 1e-9);
    }
}
