//! Roots, quadrature, special functions, compensated sums, keyed randomness.
