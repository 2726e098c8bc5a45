//! Policies run over long simulated time, against the optima that theory names.

#![allow(clippy::unwrap_used)]

mod doubts;
mod odd;
mod price;
mod reopened;
mod robust;
mod streams;
mod web;
