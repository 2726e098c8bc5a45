//! The living web: a generated web served over real HTTP on loopback.
