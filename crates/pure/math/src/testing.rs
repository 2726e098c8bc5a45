//! What the tests of several modules share: distance in ulp, and double-double arithmetic as the
//! slow independent method.

/// Number of floating point numbers between two of one sign.
pub(crate) fn ulps(a: f64, b: f64) -> u64 {
    if a.is_nan() || b.is_nan() || (a.is_sign_negative() != b.is_sign_negative() && a != b) {
        return u64::MAX;
    }
    a.abs().to_bits().abs_diff(b.abs().to_bits())
}

/// Holds `f` to within `limit` ulp of every (argument, value) pair.
#[track_caller]
pub(crate) fn assert_ulps(name: &str, f: impl Fn(f64) -> f64, pairs: &[(f64, f64)], limit: u64) {
    for &(x, expected) in pairs {
        let found = f(x);
        let off = ulps(found, expected);
        assert!(off <= limit, "{name}({x:e}) = {found:e}, not {expected:e}: {off} ulp off");
    }
}

/// An unevaluated sum of two doubles, about 32 digits (Dekker, 1971).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Double(pub(crate) f64, pub(crate) f64);

impl Double {
    fn renormalised(high: f64, low: f64) -> Self {
        let sum = high + low;
        Self(sum, low - (sum - high))
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let error = (self.0 - (sum - part)) + (other.0 - part);
        Self::renormalised(sum, error + self.1 + other.1)
    }

    pub(crate) fn times(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let error = self.0.mul_add(other.0, -product);
        Self::renormalised(product, error + (self.0 * other.1 + self.1 * other.0))
    }

    pub(crate) fn over(self, divisor: f64) -> Self {
        let quotient = self.0 / divisor;
        let rest = (-quotient).mul_add(divisor, self.0) + self.1;
        Self::renormalised(quotient, rest / divisor)
    }
}
