//! Round numbers along an axis.
//!
//! A linear axis has ticks at multiples of 1, 2 or 5 times a power of ten; a logarithmic one at
//! powers of ten, or at 1, 2 and 5 times them when it spans few. Ranges come from
//! [`super::Axis::fit`]: finite, not empty, and wide enough to hold distinct `f64` ticks.

use super::scale::Kind;
use crate::number;

/// A value on an axis and its label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// Tolerance for ticks just outside the range by rounding, in steps.
const SLACK: f64 = 1e-9;

/// Most decimals of a label with `k`, `M` or `G`.
const MOST_PREFIX_DECIMALS: i32 = 2;

/// A step of 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug)]
struct Step {
    mantissa: f64,
    power: i32,
}

impl Step {
    /// The smallest round step that is at least `least`.
    fn at_least(least: f64) -> Self {
        let power = least.log10().floor() as i32;
        let scaled = least / 10_f64.powi(power);
        let mantissa = [1.0, 2.0, 5.0].into_iter().find(|m| scaled <= m * (1.0 + SLACK));
        match mantissa {
            Some(mantissa) => Self { mantissa, power },
            None => Self { mantissa: 1.0, power: power + 1 },
        }
    }

    fn size(self) -> f64 {
        self.times(1.0)
    }

    /// Dividing by a whole power of ten rounds once; multiplying by a tenth would round twice and
    /// give 0.30000000000000004.
    fn times(self, count: f64) -> f64 {
        if self.power < 0 {
            count * self.mantissa / 10_f64.powi(-self.power)
        } else {
            count * self.mantissa * 10_f64.powi(self.power)
        }
    }
}

/// Ticks of a linear axis: at most `about + 1`, at least 2 if `about` is 5 or more.
pub(crate) fn linear(low: f64, high: f64, about: usize) -> Vec<Tick> {
    let step = Step::at_least((high - low) / about.max(1) as f64);
    let first = (low / step.size() - SLACK).ceil();
    let last = (high / step.size() + SLACK).floor();
    let count = (last - first + 1.0).max(0.0) as usize;
    let largest = low.abs().max(high.abs());
    (0..count)
        .map(|i| {
            // `+ 0.0` turns −0 into 0.
            let value = step.times(first + i as f64) + 0.0;
            Tick { value, label: linear_label(value, step.power, largest) }
        })
        .collect()
}

fn linear_label(value: f64, step_power: i32, largest: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let size_power = largest.log10().floor() as i32;
    if !(-4..15).contains(&size_power) {
        let decimals = (value.abs().log10().floor() as i32 - step_power).clamp(0, 15);
        return number::exponent(value, decimals as usize);
    }
    for (from, power, prefix) in [(9, 9, "G"), (6, 6, "M"), (4, 3, "k")] {
        let decimals = (power - step_power).max(0);
        if size_power >= from && decimals <= MOST_PREFIX_DECIMALS {
            return number::fixed(value / 10_f64.powi(power), decimals as usize) + prefix;
        }
    }
    number::fixed(value, (-step_power).max(0) as usize)
}

/// Ticks of a logarithmic axis.
pub(crate) fn log(low: f64, high: f64, about: usize) -> Vec<Tick> {
    let about = about.max(2);
    let decades = (high / low).log10();
    if decades < 1.0 {
        // Less than a decade: round numbers at even distances still read best.
        let mut ticks = linear(low, high, about);
        ticks.retain(|tick| tick.value > 0.0);
        return ticks;
    }
    let mantissas: &[f64] = match decades {
        d if 3.0 * d <= about as f64 + 1.0 => &[1.0, 2.0, 5.0],
        d if 2.0 * d <= about as f64 + 1.0 => &[1.0, 3.0],
        _ => &[1.0],
    };
    // Powers of ten are short, so half as many more than asked for still read well.
    let stride = (decades / (1.5 * about as f64)).ceil().max(1.0) as i32;
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let small = low >= 0.99e-3 && high <= 1.01e6;
    (first..=last)
        .filter(|power| power.rem_euclid(stride) == 0)
        .flat_map(|power| mantissas.iter().map(move |&mantissa| Step { mantissa, power }))
        .map(|step| Tick { value: step.size(), label: log_label(step, small) })
        .filter(|tick| (low * (1.0 - SLACK)..=high * (1.0 + SLACK)).contains(&tick.value))
        .collect()
}

fn log_label(step: Step, small: bool) -> String {
    if small {
        linear_label(step.size(), step.power, step.size())
    } else if step.mantissa > 1.0 {
        number::exponent(step.size(), 0)
    } else {
        number::power_of_ten(step.power)
    }
}

/// Moves the ends of a range outward to round numbers.
pub(crate) fn round_out(kind: Kind, low: f64, high: f64, about: usize) -> (f64, f64) {
    match kind {
        Kind::Linear => {
            let step = Step::at_least((high - low) / about.max(1) as f64);
            let down = step.times((low / step.size() + SLACK).floor());
            let up = step.times((high / step.size() - SLACK).ceil());
            (down.min(low), up.max(high))
        }
        Kind::Log => {
            let wide = (high / low).log10() > about as f64 / 2.0;
            let mantissas: &[f64] = if wide { &[1.0, 10.0] } else { &[1.0, 2.0, 5.0, 10.0] };
            let round = |value: f64, up: bool| {
                let power = 10_f64.powi(value.log10().floor() as i32);
                let mut steps = mantissas.iter().map(|m| m * power);
                let found = if up {
                    steps.find(|step| *step >= value * (1.0 - SLACK))
                } else {
                    steps.rev().find(|step| *step <= value * (1.0 + SLACK))
                };
                found.unwrap_or(value)
            };
            (round(low, false).min(low), round(high, true).max(high))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_read_well() {
        assert_eq!(
            labels(&linear(0.0, 1.0, 5)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(|l| if l == "0.0" { "0" } else { l })
        );
        assert_eq!(labels(&linear(-12.0, 31.0, 5)), ["−10", "0", "10", "20", "30"]);
        assert_eq!(labels(&linear(0.0, 40000.0, 4)), ["0", "10k", "20k", "30k", "40k"]);
        assert_eq!(labels(&linear(0.0, 2.5e6, 5)), ["0", "0.5M", "1.0M", "1.5M", "2.0M", "2.5M"]);
        assert_eq!(labels(&linear(0.0, 3e-7, 3)), ["0", "1×10⁻⁷", "2×10⁻⁷", "3×10⁻⁷"]);
        assert_eq!(labels(&linear(100000.0, 100004.0, 4))[1], "100,001");
    }

    #[test]
    fn log_ticks_read_well() {
        assert_eq!(labels(&log(1.0, 10000.0, 5)), ["1", "10", "100", "1000", "10k"]);
        assert_eq!(labels(&log(1.0, 100.0, 8)), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(
            labels(&log(1e-9, 1e9, 4)),
            ["10⁻⁹", "10⁻⁶", "10⁻³", "10⁰", "10³", "10⁶", "10⁹"]
        );
        assert_eq!(labels(&log(2.0, 4.0, 5)), ["2.0", "2.5", "3.0", "3.5", "4.0"]);
    }

    #[test]
    fn ticks_carry_no_rounding_dust() {
        let values: Vec<f64> = linear(0.0, 1.0, 10).iter().map(|tick| tick.value).collect();
        assert_eq!(values, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
    }

    /// A range as `Axis::fit` makes it: wide against the size of its ends.
    fn any_range() -> impl Strategy<Value = (f64, f64)> {
        (-250..250_i32, -1.0..1.0_f64, 1e-6..1.0_f64).prop_map(|(power, low, span)| {
            let unit = 10_f64.powi(power);
            (low * unit, (low + span) * unit)
        })
    }

    fn assert_rising(ticks: &[Tick], low: f64, high: f64) -> Result<(), TestCaseError> {
        let slack = (high - low) * 2.0 * SLACK;
        for pair in ticks.windows(2) {
            prop_assert!(pair[0].value < pair[1].value, "{:?}", ticks);
            prop_assert_ne!(&pair[0].label, &pair[1].label);
        }
        for tick in ticks {
            prop_assert!((low - slack..=high + slack).contains(&tick.value), "{:?}", tick);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn linear_ticks_rise_within_the_range((low, high) in any_range(), about in 1..15_usize) {
            let ticks = linear(low, high, about);
            assert_rising(&ticks, low, high)?;
            prop_assert!(ticks.len() <= about + 1, "{:?}", ticks);
            prop_assert!(about < 5 || ticks.len() >= 2, "{:?}", ticks);
        }

        #[test]
        fn log_ticks_rise_within_the_range(
            power in -280.0..200.0_f64,
            decades in 1e-3..80.0_f64,
            about in 5..15_usize,
        ) {
            let (low, high) = (10_f64.powf(power), 10_f64.powf(power + decades));
            let ticks = log(low, high, about);
            assert_rising(&ticks, low, high)?;
            prop_assert!(!ticks.is_empty() && ticks.len() <= 2 * about, "{:?}", ticks);
        }

        #[test]
        fn rounding_moves_ends_outward_by_little((low, high) in any_range()) {
            let (down, up) = round_out(Kind::Linear, low, high, 5);
            let step = Step::at_least((high - low) / 5.0).size();
            prop_assert!(down <= low && high <= up);
            prop_assert!(low - down <= step && up - high <= step);
        }
    }
}
