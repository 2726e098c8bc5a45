//! State that is streamed: it may be half of what memory holds, so there must never be two copies.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of the format; increase it whenever the state of a policy changes.
const FORM: u32 = 16;
/// Longest string within a state; nothing else needs a buffer while it is read.
const NAME_BYTES: usize = 1 << 16;

/// Writes a state and returns `true`, for [`crate::Policy::save`].
pub fn write<T: Serialize>(state: &T, to: &mut dyn io::Write) -> io::Result<bool> {
    postcard::to_io(&(FORM, state), to).map_err(io::Error::other)?;
    Ok(true)
}

/// Reads a state, and no byte beyond it; `None` if the bytes make no sense or have another version.
pub fn read<T: DeserializeOwned>(from: &mut dyn io::Read) -> Option<T> {
    let mut room = vec![0; NAME_BYTES];
    let (form, (from, room)): (u32, _) = postcard::from_io((from, &mut room[..])).ok()?;
    if form != FORM {
        return None;
    }
    postcard::from_io((from, room)).ok().map(|(state, _)| state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written_and_nothing_beyond() {
        let state = (String::from("price"), vec![1.5f64, -2.0]);
        let mut bytes = Vec::new();
        assert!(write(&state, &mut bytes).unwrap());
        bytes.extend(b"the next");
        let mut rest = &bytes[..];
        assert_eq!(read(&mut rest), Some(state));
        assert_eq!(rest, b"the next");
    }

    /// The state of another version is refused, even where its bytes would fit.
    #[test]
    fn another_form_and_torn_bytes_are_refused() {
        let mut ours = Vec::new();
        write(&7u64, &mut ours).unwrap();
        for form in [0, FORM - 1, FORM + 1, u32::MAX] {
            let other = postcard::to_stdvec(&(form, 7u64)).unwrap();
            assert_eq!(read::<u64>(&mut &other[..]), None, "form {form}");
        }
        for end in 0..ours.len() {
            assert_eq!(read::<u64>(&mut &ours[..end]), None, "{end} bytes of {}", ours.len());
        }
    }
}
