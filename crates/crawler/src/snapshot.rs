//! The frontier as it was at some batch of the tape, in a file.
//!
//! Playing a tape takes as long as its history is; a snapshot cuts that to
//! what came after it. It is only ever a short cut: a file that is absent,
//! damaged, or newer than the tables is passed over, and the tape is played
//! from its beginning. What is played after it is checked, decision by
//! decision, as ever.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use tidewatch_core::Time;
use tidewatch_frontier::Frontier;
use tidewatch_policy::Policy;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const NAME: &str = "frontier.snapshot";
/// Begins the file; the last sign counts its versions.
const MAGIC: &[u8; 8] = b"tidesnp1";
/// Magic, checksum, batch, time.
const HEAD: usize = 32;

/// A frontier, and where the tape goes on.
pub(crate) struct Snapshot {
    pub(crate) frontier: Frontier,
    /// The first batch that it has not seen.
    pub(crate) batch: u64,
    /// The latest time that it has heard of.
    pub(crate) last: Time,
}

/// Writes a snapshot, old or new and nothing between. `false` if the policy cannot be saved.
pub(crate) fn write(dir: &Path, frontier: &Frontier, batch: u64, last: Time) -> io::Result<bool> {
    let Some(state) = frontier.save() else { return Ok(false) };
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[16..24].copy_from_slice(&batch.to_le_bytes());
    head[24..].copy_from_slice(&last.as_micros().to_le_bytes());
    let sum = checksum(&head[16..], &state.each_ref().map(Vec::as_slice));
    head[8..16].copy_from_slice(&sum.to_le_bytes());
    let new = dir.join("frontier.new");
    let mut file = File::create(&new)?;
    file.write_all(&head)?;
    for piece in state {
        file.write_all(&piece)?;
    }
    file.sync_data()?;
    fs::rename(new, dir.join(NAME))?;
    Ok(true)
}

/// The snapshot of a directory, if there is a good one from before `next_batch`.
pub(crate) fn read(dir: &Path, policy: Box<dyn Policy>, next_batch: u64) -> Option<Snapshot> {
    let bytes = fs::read(dir.join(NAME)).ok()?;
    let (head, state) = bytes.split_at_checked(HEAD)?;
    let number = |at: usize| head[at..at + 8].try_into().ok().map(u64::from_le_bytes);
    let (sum, batch, last) = (number(8)?, number(16)?, number(24)?);
    let is_good = head[..8] == *MAGIC && sum == checksum(&head[16..], &[state]);
    if !is_good || batch > next_batch {
        return None;
    }
    let frontier = Frontier::load(policy, state)?;
    Some(Snapshot { frontier, batch, last: Time::from_micros(last) })
}

/// Of the head and of the state, in however many pieces it comes.
fn checksum(head: &[u8], state: &[&[u8]]) -> u64 {
    let mut sum = Xxh3::new();
    state.iter().for_each(|piece| sum.update(piece));
    xxh3_64(head) ^ sum.digest().rotate_left(1)
}
