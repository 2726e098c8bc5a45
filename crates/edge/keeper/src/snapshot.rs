//! `DIR/snapshot`: the queues, and their policy, at a position of the tape.
//!
//! ```text
//! checksum u64 (xxh3 of the rest, little-endian), then postcard:
//! version, order, position on the tape, queues; then the policy's own state
//! ```

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::path::Path;

use tidewatch_policy::Policy;
use tidewatch_queues::Queues;
use xxhash_rust::xxh3::Xxh3;

use crate::KeeperError;
use crate::dir::write_whole;

const NAME: &str = "snapshot";
/// Increase it whenever the state of queues changes.
const FORM: u32 = 1;
/// Longest string within; nothing else needs a buffer while it is read.
const NAME_BYTES: usize = 1 << 16;

/// A writer that hashes everything written.
struct Summed<T> {
    inner: T,
    sum: Xxh3,
}

impl<T: Write> Write for Summed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Writes a snapshot; none if the policy cannot be saved.
pub(crate) fn write(
    dir: &Path,
    order: &str,
    tape: u64,
    queues: &Queues,
) -> Result<(), KeeperError> {
    if let Some(policy) = queues.policy()
        && !policy.save(&mut io::sink()).unwrap_or(false)
    {
        return Ok(());
    }
    let written = write_whole(dir, NAME, |file| {
        file.write_all(&[0; 8])?;
        let mut to = Summed { inner: BufWriter::new(&mut *file), sum: Xxh3::new() };
        postcard::to_io(&(FORM, order, tape), &mut to).map_err(io::Error::other)?;
        postcard::to_io(queues, &mut to).map_err(io::Error::other)?;
        if let Some(policy) = queues.policy() {
            policy.save(&mut to)?;
        }
        to.flush()?;
        let sum = to.sum.digest();
        drop(to);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&sum.to_le_bytes())
    });
    written.map_err(|source| KeeperError::Io { path: dir.join(NAME), source })
}

/// Reads the snapshot of this order; `None` if there is none that makes sense.
pub(crate) fn read(
    dir: &Path,
    order: &str,
    policy: Option<Box<dyn Policy>>,
) -> Result<Option<(u64, Queues)>, KeeperError> {
    let path = dir.join(NAME);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(KeeperError::Io { path, source }),
    };
    let read = parse(file, order, policy);
    read.map_err(|source| KeeperError::Io { path, source })
}

fn parse(
    mut file: File,
    order: &str,
    policy: Option<Box<dyn Policy>>,
) -> io::Result<Option<(u64, Queues)>> {
    let mut sum = [0; 8];
    if file.read_exact(&mut sum).is_err() || sum_of(&mut file)? != u64::from_le_bytes(sum) {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(8))?;
    let mut room = vec![0; NAME_BYTES];
    let mut from = BufReader::new(file);
    let head = postcard::from_io::<(u32, String, u64), _>((&mut from, &mut room[..]));
    let Ok(((form, of, tape), _)) = head else { return Ok(None) };
    if form != FORM || of != order {
        return Ok(None);
    }
    let Ok((mut queues, _)) = postcard::from_io::<Queues, _>((&mut from, &mut room[..])) else {
        return Ok(None);
    };
    let mut policy = policy;
    if let Some(policy) = &mut policy
        && !policy.load(&mut from)
    {
        return Ok(None);
    }
    queues.complete(policy);
    Ok(Some((tape, queues)))
}

fn sum_of(file: &mut File) -> io::Result<u64> {
    let (mut sum, mut room) = (Xxh3::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut room)? {
            0 => return Ok(sum.digest()),
            read => sum.update(&room[..read]),
        }
    }
}
