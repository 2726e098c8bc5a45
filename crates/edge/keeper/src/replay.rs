//! Takes every decision again, from the first.

use std::path::Path;

use tidewatch_core::Rate;
use tidewatch_queues::Input;
use tidewatch_store::guard;

use crate::KeeperError;
use crate::dir::{Claim, is_frontier};
use crate::keeper::{Order, Settings};
use crate::open::{Failed, replay_from, stored_order};
use crate::tables::{TAPE_TABLE, Tables};

/// Cache of the tables while they are read once from end to end.
const CACHE: u64 = 8 << 20;

/// What a replay went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Inputs on the tape.
    pub inputs: u64,
    /// Answers among them that were taken again and came out the same.
    pub decisions: u64,
    /// Answers of an earlier order or version, which were taken from the tape.
    pub followed: u64,
}

impl Replayed {
    pub(crate) fn count(&mut self, input: &Input, is_decided: bool) {
        self.inputs += 1;
        if matches!(input, Input::Take { .. }) {
            let of = if is_decided { &mut self.decisions } else { &mut self.followed };
            *of += 1;
        }
    }
}

/// Replays the tape of a directory that nobody uses, without its snapshot. An answer that comes out
/// otherwise is an error. Nothing is written.
pub fn replay(dir: &Path) -> Result<Replayed, KeeperError> {
    if !is_frontier(dir) {
        return Err(KeeperError::NotAFrontier { dir: dir.to_owned() });
    }
    let _claim = Claim::take(dir)?;
    let view = guard::view(dir, TAPE_TABLE, Tables::batches_in)?;
    let tables = Tables::open(&view.path().join("db"), CACHE)?;
    let (order, decides_from) = stored_order(&tables)?;
    let settings = Settings { dir: dir.to_owned(), order, cache: CACHE };
    let mut count = Replayed::default();
    let note = |input: &Input, is_decided| count.count(input, is_decided);
    match replay_from(&tables, &settings, decides_from, None, note) {
        Ok(_) => Ok(count),
        Err(Failed::Keeper(error)) => Err(error),
        Err(Failed::Diverged(why)) => Err(KeeperError::Diverged(why)),
    }
}

/// The order that a directory was last opened with, by its noted name.
pub(crate) fn order_of(name: &str) -> Order {
    match name.rsplit_once(' ').map(|(policy, seed)| (policy, seed.parse())) {
        // The budget is on the tape.
        Some((policy, Ok(seed))) => {
            Order::Managed { policy: policy.to_owned(), seed, budget: Rate::ZERO }
        }
        _ => Order::Strict,
    }
}
