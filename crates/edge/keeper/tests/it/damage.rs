//! Damage to the journal is refused; the engine alone would silently drop whatever follows it.

use std::fs;
use std::path::{Path, PathBuf};

use tidewatch_keeper::{Keeper, KeeperError, Order, Said, replay};

use crate::{item, settings, strict};

/// Requests that are answered one after the other, each a batch of its own.
const PUTS: usize = 40;
/// Bytes at the end in which a flip may strike the number of the last batch, which is in no checksum.
const LAST_BATCH: usize = 400;

/// The journal of a keeper that has answered and stopped.
async fn filled(dir: &Path) -> PathBuf {
    let keeper = strict(dir);
    for number in 0..PUTS {
        let url = format!("http://h.example/{number}");
        keeper.put(vec![item(&url, Said::Discovered)]).await.unwrap();
    }
    drop(keeper);
    // The next start cuts the room that the engine had reserved.
    drop(strict(dir));
    let journals = fs::read_dir(dir.join("db")).unwrap().map(|file| file.unwrap().path());
    let mut journals = journals.filter(|path| path.extension().is_some_and(|ext| ext == "jnl"));
    let journal = journals.next().unwrap();
    assert!(journals.next().is_none());
    journal
}

#[tokio::test]
async fn a_flipped_bit_is_refused_and_nothing_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path()).await;
    let whole = fs::read(&journal).unwrap();
    for at in (0..whole.len() - LAST_BATCH).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&journal, &damaged).unwrap();
        for error in
            [Keeper::open(&settings(dir.path(), Order::Strict)).err(), replay(dir.path()).err()]
        {
            let Some(KeeperError::Lost { path }) = error else { panic!("byte {at}: {error:?}") };
            assert_eq!(path, journal);
        }
        assert_eq!(fs::read(&journal).unwrap(), damaged, "byte {at}");
    }
    fs::write(&journal, &whole).unwrap();
    assert_eq!(replay(dir.path()).unwrap().inputs as usize, PUTS + 2, "crawl, queue and URLs");
}

#[tokio::test]
async fn a_torn_end_is_what_a_crash_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path()).await;
    let mut torn = fs::read(&journal).unwrap();
    // The beginning of a batch that was never synced, and so never answered.
    let next = torn[..60].to_vec();
    torn.extend(next);
    fs::write(&journal, torn).unwrap();
    let keeper = strict(dir.path());
    let listed = keeper.overview().await.unwrap().1;
    assert_eq!(listed.iter().map(|(_, figures)| figures.urls()).sum::<u64>(), PUTS as u64);
}

#[tokio::test]
async fn an_emptied_journal_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path()).await;
    fs::write(&journal, []).unwrap();
    let error = Keeper::open(&settings(dir.path(), Order::Strict)).err();
    assert!(matches!(error, Some(KeeperError::Lost { .. })), "{error:?}");
}
