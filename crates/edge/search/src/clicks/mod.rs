//! Who looks at what, and what is clicked: signed, counted once, kept for a while, handed on.
//!
//! # The life of a click
//!
//! When results are shown, the [`Desk`] gives the showing a number, writes down which pages stood
//! where, and signs a link for each ([`Ticket`]). A link that comes back is checked: its signature,
//! its age, and whether it has come before. Only then is it a click and goes to the [`Log`]. The
//! [`Feedback`] reads the log on, lets no client have more than its share ([`Guard`]), and makes
//! interest for the crawl and popularity for ranking of it.
//!
//! # What is kept of a person
//!
//! No address and no name of a browser: only a hash of both with a salt that is thrown away at the
//! end of the day ([`Clients`]), so that clicks of two days cannot be told to be one person's. The
//! log is kept for as many days as set, by files of a day each.

mod asked;
mod clients;
mod desk;
mod feedback;
mod guard;
mod import;
mod log;
mod ticket;

pub use self::clients::Clients;
pub use self::desk::{Clicked, Desk, Settings};
pub use self::feedback::{Feedback, Heard, Known, Need, Reading};
pub use self::guard::Guard;
pub use self::import::{ImportError, Imported, import};
pub use self::log::{Entry, Log, Mark, Rows};
pub use self::ticket::{BadTicket, Signer, Ticket};
