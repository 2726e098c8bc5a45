//! State written and read piece by piece: what a crawl knows may be half of memory, so that it must
//! never stand there twice.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The form of states; one more whenever a policy keeps something else than it did.
const FORM: u32 = 2;
/// Longest name within a state; nothing else needs room of its own while it is read.
const NAME_BYTES: usize = 1 << 16;

/// Writes a state; always `true`, as what can be saved is.
pub fn write<T: Serialize>(state: &T, to: &mut dyn io::Write) -> io::Result<bool> {
    postcard::to_io(&(FORM, state), to).map_err(io::Error::other)?;
    Ok(true)
}

/// Reads a state, and no byte beyond it; `None` if the bytes make no sense or are of another form.
pub fn read<T: DeserializeOwned>(from: &mut dyn io::Read) -> Option<T> {
    let mut room = vec![0; NAME_BYTES];
    let (form, (from, room)): (u32, _) = postcard::from_io((from, &mut room[..])).ok()?;
    if form != FORM {
        return None;
    }
    postcard::from_io((from, room)).ok().map(|(state, _)| state)
}
