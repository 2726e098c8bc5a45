//! Public data sets and users' logs turned into traces.
