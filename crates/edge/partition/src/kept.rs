//! A file of state that is only a short cut: written atomically, and read only if it is whole.
//!
//! ```text
//! magic 8 bytes, checksum u64 (xxh3 of the rest, little-endian), state
//! ```

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

/// Magic and checksum.
const HEAD: usize = 16;

/// Writes a state as the file `name` of a directory. The last character of `magic` counts versions.
pub(crate) fn write(dir: &Path, name: &str, magic: [u8; 8], state: &[u8]) -> io::Result<()> {
    let new = dir.join(format!("{name}.new"));
    let mut file = File::create(&new)?;
    file.write_all(&magic)?;
    file.write_all(&xxh3_64(state).to_le_bytes())?;
    file.write_all(state)?;
    file.sync_data()?;
    fs::rename(new, dir.join(name))?;
    File::open(dir)?.sync_all()
}

/// The state in such a file; `None` if there is none, or it is damaged or of another version.
pub(crate) fn read(dir: &Path, name: &str, magic: [u8; 8]) -> Option<Vec<u8>> {
    let mut bytes = fs::read(dir.join(name)).ok()?;
    let state = bytes.get(HEAD..)?;
    let is_whole = bytes[..8] == magic && bytes[8..HEAD] == xxh3_64(state).to_le_bytes();
    is_whole.then(|| bytes.split_off(HEAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_whole_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let read = |magic| read(dir.path(), "state", magic);
        assert_eq!(read(*b"magic--1"), None);
        write(dir.path(), "state", *b"magic--1", b"learnt").unwrap();
        assert_eq!(read(*b"magic--1").as_deref(), Some(&b"learnt"[..]));
        assert_eq!(read(*b"magic--2"), None, "another version");
        let whole = fs::read(dir.path().join("state")).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs::write(dir.path().join("state"), flipped).unwrap();
            assert_eq!(read(*b"magic--1"), None, "byte {at}");
            fs::write(dir.path().join("state"), &whole[..at]).unwrap();
            assert_eq!(read(*b"magic--1"), None, "{at} bytes");
        }
    }
}
