//! The expected worth of a refresh where the curve is not known.

/// Times at which expected worth is kept, each √2 times the one before: from twenty minutes to
/// five years.
pub(super) const TIMES: usize = 35;
pub(super) const FIRST_TIME: f64 = 1_250.0;

/// U of the mixture of all candidates, by their chances: Σ p_c U_c(t), seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedWorth(pub(super) [f32; TIMES]);

impl ExpectedWorth {
    /// A page whose refresh is never worth anything.
    pub const NOTHING: ExpectedWorth = ExpectedWorth([0.0; TIMES]);

    /// The time after which a refresh is expected to be worth `worth`, in seconds; infinite if it never
    /// is. Interpolates by powers of time between the times kept, and as t² before the first, as every U
    /// begins.
    pub fn elapsed_at(&self, worth: f64) -> f64 {
        if worth <= 0.0 {
            return 0.0;
        }
        let at = |k: usize| f64::from(self.0[k]);
        let time = |k: f64| FIRST_TIME * (k / 2.0).exp2();
        match (0..TIMES).find(|&k| at(k) >= worth) {
            None => f64::INFINITY,
            Some(0) => FIRST_TIME * (worth / at(0)).sqrt(),
            Some(k) if at(k - 1) > 0.0 => {
                let part = (worth / at(k - 1)).ln() / (at(k) / at(k - 1)).ln();
                time((k - 1) as f64 + part)
            }
            Some(k) => time(k as f64),
        }
    }
}
