//! Why a staleness law cannot be built.

/// A parameter that describes no law.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LawError {
    /// A number outside its domain.
    #[error("the {what} is {value}, but it must be {expected}")]
    Domain {
        /// Which parameter.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed.
        expected: &'static str,
    },
    /// Possible update times that do not ascend within the window.
    #[error("update time {index} is {value}; the times must ascend strictly within 0 to {window}")]
    Order {
        /// Position in the list, from zero.
        index: usize,
        /// The time given.
        value: f64,
        /// End of the window.
        window: f64,
    },
    /// As many probabilities as update times are needed.
    #[error("{times} update times came with {probabilities} probabilities; give one for each")]
    Lengths {
        /// Number of times.
        times: usize,
        /// Number of probabilities.
        probabilities: usize,
    },
    /// A mixture of nothing.
    #[error("a mixture needs at least one law with a positive share")]
    Empty,
}

impl LawError {
    /// `Ok(value)` if `holds`.
    pub(super) fn check(
        holds: bool,
        what: &'static str,
        value: f64,
        expected: &'static str,
    ) -> Result<f64, Self> {
        if holds { Ok(value) } else { Err(Self::Domain { what, value, expected }) }
    }

    /// A finite number of at least zero.
    pub(super) fn not_negative(what: &'static str, value: f64) -> Result<f64, Self> {
        Self::check(value.is_finite() && value >= 0.0, what, value, "finite and not negative")
    }

    /// A finite number above zero.
    pub(super) fn positive(what: &'static str, value: f64) -> Result<f64, Self> {
        Self::check(value.is_finite() && value > 0.0, what, value, "finite and positive")
    }
}
