//! Special functions, each with its accuracy.
//!
//! The ones written for this project are `g`, the marginal value of a fetch, and its inverse; the
//! rest is what estimators, quantiles and tails need. Accuracies are in ulp (units in the last
//! place) of the result and hold for an `exp` and `ln` of the platform good to one ulp. Rational
//! approximations were fitted in 50-digit arithmetic (iteratively reweighted least squares on
//! Chebyshev points, close to minimax) and have positive coefficients wherever cancellation would
//! cost accuracy.

mod beta;
mod exponential;
mod freshness;
mod gamma;
mod normal;

pub use beta::student_t_quantile;
pub use exponential::{expm1_over, expm2_over, ln_1m_exp, minus_ln_1p, over_expm1, power_over};
pub use freshness::{g, g_complement_inv, g_inv, g_inv_slice};
pub(crate) use gamma::harmonic;
pub use gamma::{gamma_p, gamma_p_inv, gamma_q, gamma_q_inv, ln_gamma, poisson_mass, poisson_tail};
pub use normal::normal_quantile;

/// A polynomial with coefficients from the constant upwards.
///
/// Even and odd powers run as two Horner chains, which halves the wait for each result.
#[inline]
pub(crate) fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let square = x * x;
    let (mut even, mut odd) = (0.0, 0.0);
    let mut k = N;
    while k > 0 {
        k -= 1;
        if k.is_multiple_of(2) {
            even = even * square + coefficients[k];
        } else {
            odd = odd * square + coefficients[k];
        }
    }
    even + x * odd
}
