//! The one error type of this crate.

/// Why a numerical routine has no answer to give.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MathError {
    /// A bracketing method was given ends at which the function has the same sign.
    #[error(
        "the function does not change sign between {low} (value {at_low}) and {high} \
         (value {at_high}); give a bracket around the root"
    )]
    NoSignChange {
        /// Lower end of the bracket.
        low: f64,
        /// Upper end of the bracket.
        high: f64,
        /// Function value at the lower end.
        at_low: f64,
        /// Function value at the upper end.
        at_high: f64,
    },
    /// The function under study returned NaN.
    #[error("the function is not a number at {x}; restrict it to where it is defined")]
    NotANumber {
        /// Where it was evaluated.
        x: f64,
    },
    /// The method stopped at its limit before reaching the asked precision.
    #[error(
        "no convergence within {limit} evaluations; best so far is {x} with residual {residual}"
    )]
    EvaluationLimit {
        /// The limit that was reached.
        limit: u32,
        /// Best point so far.
        x: f64,
        /// Function value there.
        residual: f64,
    },
    /// An argument lies outside the domain of the routine.
    #[error("{what} is {value}, but it must be {expected}")]
    Domain {
        /// Name of the argument.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The values that are allowed.
        expected: &'static str,
    },
}

impl MathError {
    /// `Ok(value)` when `holds`, else a [`MathError::Domain`] naming the argument.
    pub(crate) fn check(
        holds: bool,
        what: &'static str,
        value: f64,
        expected: &'static str,
    ) -> Result<f64, Self> {
        if holds { Ok(value) } else { Err(Self::Domain { what, value, expected }) }
    }
}
