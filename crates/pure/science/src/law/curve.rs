//! One value for any law, so that a population may mix them without an allocation a page.

use super::{Lomax, LossCurve, Mixture, Pareto, Poisson, Quasi, Staleness, Weibull};

/// Any stationary law with parameters of its own: 24 bytes, `Copy`, dispatched by a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    /// Changes at random.
    Poisson(Poisson),
    /// Times between changes follow a Weibull law.
    Weibull(Weibull),
    /// Times between changes follow a Pareto law with a least value.
    Pareto(Pareto),
    /// Times between changes follow a Pareto law from zero; also Poisson with an uncertain rate.
    Lomax(Lomax),
}

/// Calls one method on whichever law is held.
macro_rules! each {
    ($self:expr, $law:ident => $call:expr) => {
        match $self {
            Curve::Poisson($law) => $call,
            Curve::Weibull($law) => $call,
            Curve::Pareto($law) => $call,
            Curve::Lomax($law) => $call,
        }
    };
}

impl LossCurve for Curve {
    fn stale(&self, elapsed: f64) -> f64 {
        each!(self, law => law.stale(elapsed))
    }

    fn fresh(&self, elapsed: f64) -> f64 {
        each!(self, law => law.fresh(elapsed))
    }

    fn slope(&self, elapsed: f64) -> f64 {
        each!(self, law => law.slope(elapsed))
    }

    fn worth(&self, elapsed: f64) -> f64 {
        each!(self, law => law.worth(elapsed))
    }

    fn worth_limit(&self) -> f64 {
        each!(self, law => law.worth_limit())
    }

    fn elapsed_at(&self, worth: f64) -> f64 {
        each!(self, law => law.elapsed_at(worth))
    }

    fn smooth_between(&self, from: f64, to: f64) -> bool {
        each!(self, law => law.smooth_between(from, to))
    }
}

/// Any law at all, as the allocation of fetches takes it: `Copy`, borrowing what is too large.
#[derive(Clone, Copy)]
pub enum Law<'a> {
    /// A stationary law.
    Curve(Curve),
    /// Known possible update times; solved beforehand.
    Quasi(Quasi<'a>),
    /// One of several laws, with the chance of each.
    Mixture(Mixture<'a>),
    /// A curve of the caller's own, for example a [`super::Renewal`] law by quadrature.
    Custom(&'a (dyn LossCurve + Sync)),
}

impl Staleness for Law<'_> {
    fn average(&self, window: f64, fetches: f64) -> f64 {
        match self {
            Law::Curve(law) => law.average(window, fetches),
            Law::Quasi(law) => law.average(window, fetches),
            Law::Mixture(law) => law.average(window, fetches),
            Law::Custom(law) => law.average(window, fetches),
        }
    }

    fn marginal(&self, window: f64, fetches: f64) -> f64 {
        match self {
            Law::Curve(law) => law.marginal(window, fetches),
            Law::Quasi(law) => law.marginal(window, fetches),
            Law::Mixture(law) => law.marginal(window, fetches),
            Law::Custom(law) => law.marginal(window, fetches),
        }
    }

    fn gain(&self, window: f64, fetches: u64) -> f64 {
        match self {
            Law::Curve(law) => law.gain(window, fetches),
            Law::Quasi(law) => law.gain(window, fetches),
            Law::Mixture(law) => law.gain(window, fetches),
            Law::Custom(law) => law.gain(window, fetches),
        }
    }

    fn fetches_at(&self, window: f64, price: f64) -> f64 {
        match self {
            Law::Curve(law) => law.fetches_at(window, price),
            Law::Quasi(law) => law.fetches_at(window, price),
            Law::Mixture(law) => law.fetches_at(window, price),
            Law::Custom(law) => law.fetches_at(window, price),
        }
    }
}

impl std::fmt::Debug for Law<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Law::Curve(law) => law.fmt(f),
            Law::Quasi(law) => law.fmt(f),
            Law::Mixture(law) => law.fmt(f),
            Law::Custom(_) => f.write_str("Custom(…)"),
        }
    }
}

/// Conversions from each law to [`Curve`] and on to [`Law`].
macro_rules! into_law {
    ($($name:ident),*) => {$(
        impl From<$name> for Curve {
            fn from(law: $name) -> Self {
                Curve::$name(law)
            }
        }

        impl From<$name> for Law<'_> {
            fn from(law: $name) -> Self {
                Law::Curve(Curve::$name(law))
            }
        }
    )*};
}

into_law!(Poisson, Weibull, Pareto, Lomax);

impl From<Curve> for Law<'_> {
    fn from(law: Curve) -> Self {
        Law::Curve(law)
    }
}

impl<'a> From<Quasi<'a>> for Law<'a> {
    fn from(law: Quasi<'a>) -> Self {
        Law::Quasi(law)
    }
}

impl<'a> From<Mixture<'a>> for Law<'a> {
    fn from(law: Mixture<'a>) -> Self {
        Law::Mixture(law)
    }
}
