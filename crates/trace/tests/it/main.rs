//! Traces on disk, seen from outside.

mod samples;
mod tiny;
