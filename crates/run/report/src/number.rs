//! Numbers as text: grouped thousands, a true minus sign.

/// Stands for a missing value.
pub(crate) const MISSING: &str = "—";

/// Numbers from here on are written with an exponent.
const EXPONENT_FROM: f64 = 1e15;

/// More decimals than this say nothing: an `f64` has 17 significant digits.
const MOST_DECIMALS: usize = 17;

/// A number with a fixed count of decimals, for reading. A value other than zero never reads as
/// zero: below the last decimal it is written with an exponent.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let decimals = decimals.min(MOST_DECIMALS);
    if value.is_nan() {
        return MISSING.to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞".to_owned() } else { "−∞".to_owned() };
    }
    let digits = format!("{:.decimals$}", value.abs());
    let reads_as_zero = digits.bytes().all(|b| b == b'0' || b == b'.');
    if value.abs() >= EXPONENT_FROM || (reads_as_zero && value != 0.0) {
        return exponent(value, 1);
    }
    format!("{}{}", if value < 0.0 { "−" } else { "" }, group(&digits))
}

/// A number with a count of significant digits, for reading; no zeros are padded behind the point.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return fixed(value, 0);
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..15.0).contains(&magnitude) {
        return exponent(value, digits.saturating_sub(1));
    }
    let decimals = (digits as f64 - 1.0 - magnitude).max(0.0) as usize;
    let text = fixed(value, decimals);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// `1.5×10⁻⁷`.
pub(crate) fn exponent(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    format!("{}×10{}", mantissa.replace('-', "−"), superscript(power))
}

/// A power of ten: `10⁵`.
pub(crate) fn power_of_ten(power: i32) -> String {
    format!("10{}", superscript(&power.to_string()))
}

fn superscript(power: &str) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    power.chars().map(|c| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize])).collect()
}

/// Puts commas between thousands, from five digits on.
fn group(digits: &str) -> String {
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.len() < 5 {
        return digits.to_owned();
    }
    let mut grouped = String::with_capacity(digits.len() + whole.len() / 3);
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(c);
    }
    grouped + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_groups_and_keeps_the_sign() {
        assert_eq!(fixed(1234567.891, 2), "1,234,567.89");
        assert_eq!(fixed(-1234.5, 1), "−1234.5");
        assert_eq!(fixed(0.0, 3), "0.000");
        assert_eq!(fixed(f64::NAN, 3), MISSING);
        assert_eq!(fixed(f64::NEG_INFINITY, 3), "−∞");
    }

    #[test]
    fn a_small_value_never_reads_as_zero() {
        assert_eq!(fixed(0.00004, 3), "4×10⁻⁵");
        assert_eq!(fixed(-0.00044, 3), "−4.4×10⁻⁴");
        assert_eq!(fixed(1e300, 3), "1×10³⁰⁰");
    }

    #[test]
    fn significant_drops_padding() {
        assert_eq!(significant(0.12345678, 4), "0.1235");
        assert_eq!(significant(1200.0, 3), "1200");
        assert_eq!(significant(0.5, 4), "0.5");
        assert_eq!(significant(-2.5e-9, 4), "−2.5×10⁻⁹");
    }
}
