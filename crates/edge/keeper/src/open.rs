//! Opening a directory: the snapshot, then the rest of the tape.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tidewatch_policy::Policy;
use tidewatch_policy::registry::{self, Setup};
use tidewatch_queues::{Diverged, Input, Queues, Replay};
use tidewatch_store::guard::{self, Mark, Synced};
use tidewatch_store::sync_dirs;

use crate::KeeperError;
use crate::dir::Claim;
use crate::engine::{Engine, Files};
use crate::keeper::{Order, Settings};
use crate::replay::order_of;
use crate::snapshot;
use crate::tables::{TAPE_TABLE, Tables};

/// The name under which a strict order is noted.
const STRICT: &str = "strict";
/// Names of single values.
const SEED: &str = "seed";
const ORDER: &str = "order";
const DECIDES_FROM: &str = "decides-from";

/// Why a replay ended early.
pub(crate) enum Failed {
    Keeper(KeeperError),
    Diverged(Diverged),
}

impl From<KeeperError> for Failed {
    fn from(error: KeeperError) -> Self {
        Failed::Keeper(error)
    }
}

pub(crate) fn open(settings: &Settings) -> Result<Engine, KeeperError> {
    let dir = &settings.dir;
    let claim = Claim::take(dir)?;
    guard::check_and_cut(dir, TAPE_TABLE, Tables::batches_in)?;
    let tables = Tables::open(&dir.join("db"), settings.cache)?;
    // The engine does not sync the directories that it makes for tables.
    sync_dirs(dir).map_err(|source| KeeperError::Io { path: dir.clone(), source })?;
    let seed = number(&tables, SEED)?.map_or_else(|| make_seed(&tables), Ok)?;
    let order = name_of(&settings.order);
    // An unknown policy must not be noted.
    make_policy(&settings.order)?;
    let end = tables.next_tape()?;
    if end < Synced::read(dir).tape {
        return Err(KeeperError::Lost { path: dir.join("db") });
    }
    let mark = Mark::open(dir).map_err(|source| KeeperError::Io { path: dir.clone(), source })?;
    let decides_from = take_order(&tables, &order, end)?;
    let (queues, unsaved) = match replay(dir, &tables, settings, decides_from, true) {
        Ok(replayed) => replayed,
        Err(Failed::Keeper(error)) => return Err(error),
        Err(Failed::Diverged(_)) => {
            // Another version decided otherwise: its decisions stand, and ours begin here.
            tables.set_meta(DECIDES_FROM, &end.to_be_bytes())?;
            match replay(dir, &tables, settings, end, false) {
                Ok(replayed) => replayed,
                Err(Failed::Keeper(error)) => return Err(error),
                Err(Failed::Diverged(_)) => {
                    return Err(KeeperError::Damaged { table: "tape", key: end });
                }
            }
        }
    };
    let files = Files::new(dir.clone(), order, mark, claim);
    let mut engine = Engine::new(queues, tables, files, (seed, end, unsaved));
    if let Order::Managed { budget, .. } = settings.order {
        let at = engine.now();
        engine.apply(Input::Budget { at, budget }, "");
    }
    Ok(engine)
}

fn name_of(order: &Order) -> String {
    match order {
        Order::Strict => STRICT.to_owned(),
        Order::Managed { policy, seed, .. } => format!("{policy} {seed}"),
    }
}

fn number(tables: &Tables, name: &str) -> Result<Option<u64>, KeeperError> {
    let Some(bytes) = tables.meta(name)? else { return Ok(None) };
    let bytes = bytes.try_into().map_err(|_| KeeperError::Damaged { table: "meta", key: 0 })?;
    Ok(Some(u64::from_be_bytes(bytes)))
}

/// Draws the secret that keys the hashes of URLs.
fn make_seed(tables: &Tables) -> Result<u64, KeeperError> {
    let drawn = ring::rand::generate::<[u8; 8]>(&ring::rand::SystemRandom::new());
    let bytes = drawn.map_err(|_| KeeperError::NoRandomness)?.expose();
    tables.set_meta(SEED, &bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

/// Notes the order if it is another one than before. Returns from where on the tape it decided.
fn take_order(tables: &Tables, order: &str, end: u64) -> Result<u64, KeeperError> {
    match tables.meta(ORDER)? {
        Some(before) if before == order.as_bytes() => {
            return Ok(number(tables, DECIDES_FROM)?.unwrap_or(0));
        }
        Some(_) => tables.set_meta(DECIDES_FROM, &end.to_be_bytes())?,
        None => tables.set_meta(DECIDES_FROM, &0_u64.to_be_bytes())?,
    }
    tables.set_meta(ORDER, order.as_bytes())?;
    Ok(number(tables, DECIDES_FROM)?.unwrap_or(0))
}

fn make_policy(order: &Order) -> Result<Option<Box<dyn Policy>>, KeeperError> {
    let Order::Managed { policy, seed, .. } = order else { return Ok(None) };
    let entry = registry::find(policy).ok_or_else(|| KeeperError::NoPolicy(policy.clone()))?;
    Ok(Some((entry.make)(Setup::seeded(*seed))))
}

/// The queues at the end of the tape, and how many inputs no snapshot holds.
fn replay(
    dir: &Path,
    tables: &Tables,
    settings: &Settings,
    decides_from: u64,
    with_snapshot: bool,
) -> Result<(Queues, usize), Failed> {
    let saved = if with_snapshot {
        let order = name_of(&settings.order);
        snapshot::read(dir, &order, make_policy(&settings.order)?)?
    } else {
        None
    };
    let saved = saved.filter(|(from, _)| *from >= decides_from);
    let mut unsaved = 0;
    let note = |_: &Input, _| unsaved += 1;
    let run = || replay_from(tables, settings, decides_from, saved, note);
    Ok((guard_policy(&name_of(&settings.order), run)?, unsaved))
}

/// Turns a panic of the policy into an error that says how to go on without it.
fn guard_policy<T>(policy: &str, run: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
    let panicked = |_| Failed::Keeper(KeeperError::PolicyPanicked { policy: policy.to_owned() });
    catch_unwind(AssertUnwindSafe(run)).map_err(panicked)?
}

/// The queues at the end of the tape, from a snapshot or from the beginning. `note` is told of every input,
/// and whether it is one whose decision is taken again.
pub(crate) fn replay_from(
    tables: &Tables,
    settings: &Settings,
    decides_from: u64,
    saved: Option<(u64, Queues)>,
    mut note: impl FnMut(&Input, bool),
) -> Result<Queues, Failed> {
    let (from, mut queues) = match (saved, make_policy(&settings.order)?) {
        (Some(saved), _) => saved,
        (None, Some(policy)) => (0, Queues::managed_by(policy)),
        (None, None) => (0, Queues::default()),
    };
    for commit in tables.tape(from) {
        let (at, inputs) = commit?;
        let how = if at < decides_from { Replay::Follow } else { Replay::Decide };
        for input in &inputs {
            let url = url_of(tables, &queues, input)?;
            queues.replay(input, &url, how).map_err(Failed::Diverged)?;
            note(input, how == Replay::Decide);
        }
    }
    Ok(queues)
}

/// The order that a directory was last opened with, and from where on the tape it decided.
pub(crate) fn stored_order(tables: &Tables) -> Result<(Order, u64), KeeperError> {
    let name = tables.meta(ORDER)?.unwrap_or_default();
    let order = order_of(&String::from_utf8_lossy(&name));
    Ok((order, number(tables, DECIDES_FROM)?.unwrap_or(0)))
}

/// The URL of an input, if a policy wants it; empty if it was dropped while none decided.
fn url_of(tables: &Tables, queues: &Queues, input: &Input) -> Result<String, KeeperError> {
    match *input {
        Input::Put { queue, print, .. }
            if queues.policy().is_some() && queues.find(print).is_none() =>
        {
            Ok(tables.name(queue, queues.next_page())?.unwrap_or_default())
        }
        _ => Ok(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_policy_says_how_to_go_on() {
        assert!(guard_policy("price 1", || Ok(())).is_ok());
        let guarded = guard_policy::<()>("price 1", || panic!("over page 7"));
        let Err(Failed::Keeper(error)) = guarded else { panic!("it was not caught") };
        assert!(error.to_string().contains("start without --policy"), "{error}");
    }
}
