//! The compressed graph of Boldi and Vigna `[BV04]`, as the WebGraph tools read and write it.
//!
//! A list of successors is written relative to one of the lists before it: which
//! blocks of that list it repeats, then runs of neighbouring numbers (intervals),
//! then what remains (residuals) as gaps. Web graphs sorted by URL need two to
//! four bits a link that way. The `.properties` text beside the `.graph` bits
//! tells the codes; we read γ, δ, ζ and unary codes in every place where the
//! format allows them, and write the default ones.
//!
//! Why by hand: the `webgraph` crate brings a hundred dependencies and memory
//! maps, and its strength, walking graphs without decoding them, is not ours;
//! in memory plain lists are several times faster ([`crate::csr`]).
//!
//! Lists are read in order, with a window of the last few, so no `.offsets` file
//! is needed. Input is hostile: sizes are bounded before memory is taken.

mod properties;
mod read;
mod write;

pub use properties::Properties;
pub use read::{Limits, read};
pub use write::{Written, write};
