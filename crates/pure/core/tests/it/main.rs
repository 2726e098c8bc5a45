//! Integration tests of the core crate, in one binary.

mod url;
mod url_domains;
mod url_properties;
mod url_suites;
mod url_table;
