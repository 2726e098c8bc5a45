use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn url(number: u32) -> Fingerprint {
    Fingerprint::of(&format!("https://a.example/{number}"))
}

fn add(sieve: &mut Sieve, pages: std::ops::Range<u32>) {
    for page in pages {
        sieve.add(url(page), PageId(page));
    }
}

fn knows(sieve: &Sieve, page: u32) -> bool {
    sieve.get(url(page)).expect("a readable sieve") == Some(PageId(page))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// After any pattern of spills and restarts the sieve knows exactly the stored URLs.
    #[test]
    fn it_knows_what_was_added_and_nothing_else(
        steps in prop::collection::vec((1u32..900, any::<bool>(), any::<bool>()), 1..12),
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let mut sieve = Sieve::open(dir.path(), 1 << 20).expect("a sieve");
        let mut known = 0;
        for (count, spill, reopen) in steps {
            add(&mut sieve, known..known + count);
            known += count;
            if spill {
                // The last few are not stored yet.
                sieve.spill(PageId(known - count / 3)).expect("a spill");
            }
            if reopen {
                sieve.settle().expect("a merge");
                sieve = Sieve::open(dir.path(), 1 << 20).expect("a sieve");
                let from = sieve.covers().0;
                add(&mut sieve, from..known);
            }
            prop_assert_eq!(sieve.len(), u64::from(known));
        }
        prop_assert!((0..known).all(|page| knows(&sieve, page)));
        prop_assert!((known..known + 500).all(|page| !knows(&sieve, page)));
    }
}

#[test]
fn runs_stay_few() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut sieve = Sieve::open(dir.path(), 1 << 20).expect("a sieve");
    for round in 0..64 {
        add(&mut sieve, round * 100..(round + 1) * 100);
        sieve.spill(PageId((round + 1) * 100)).expect("a spill");
        sieve.settle().expect("a merge");
    }
    assert!(sieve.runs.len() <= 8, "{} runs after 64 spills", sieve.runs.len());
    assert!((0..6_400).all(|page| knows(&sieve, page)));
}

#[test]
fn a_damaged_run_costs_a_rebuild_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut sieve = Sieve::open(dir.path(), 1 << 20).expect("a sieve");
    add(&mut sieve, 0..1_000);
    sieve.spill(PageId(1_000)).expect("a spill");
    let path = sieve.runs[0].path.clone();
    drop(sieve);
    let whole = std::fs::read(&path).expect("the run");
    for cut in [0, 10, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).expect("a write");
        let mut sieve = Sieve::open(dir.path(), 1 << 20).expect("opens all the same");
        assert_eq!(sieve.covers(), PageId(0), "everything is to be added again");
        add(&mut sieve, 0..1_000);
        assert!(knows(&sieve, 999));
        std::fs::write(&path, &whole).expect("a write");
    }
}

#[test]
fn a_flipped_bit_in_an_entry_is_noticed_by_look_ups_and_merges() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut sieve = Sieve::open(dir.path(), 1 << 20).expect("a sieve");
    add(&mut sieve, 0..1_000);
    sieve.spill(PageId(1_000)).expect("a spill");
    let path = sieve.runs[0].path.clone();
    drop(sieve);
    let mut bytes = std::fs::read(&path).expect("the run");
    // The page number of the first entry.
    bytes[12] ^= 1;
    std::fs::write(&path, &bytes).expect("a write");
    assert_eq!(check(dir.path()).expect("a check"), [path]);
    let mut sieve = Sieve::open(dir.path(), 1 << 20).expect("a sieve");
    let wrong = (0..1_000).filter(|&page| match sieve.get(url(page)) {
        Ok(found) => found != Some(PageId(page)),
        Err(error) => error.kind() != io::ErrorKind::InvalidData,
    });
    assert_eq!(wrong.count(), 0, "pages with another number than their own");
    let damaged = (0..1_000).filter(|&page| sieve.get(url(page)).is_err()).count();
    assert_eq!(
        damaged, 257,
        "the pages of the block, and the next one, which is looked for there too"
    );
    add(&mut sieve, 1_000..2_000);
    let merged = sieve.spill(PageId(2_000)).and_then(|()| sieve.settle());
    assert_eq!(merged.expect_err("a merge").kind(), io::ErrorKind::InvalidData);
    drop(sieve);
    forget(dir.path()).expect("a removal");
    let sieve = Sieve::open(dir.path(), 1 << 20).expect("a sieve");
    assert_eq!(sieve.covers(), PageId(0), "everything is to be added again");
}

#[test]
fn a_spill_in_the_middle_of_a_merge_is_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut sieve = Sieve::open(dir.path(), 1 << 20).expect("a sieve");
    for round in 0..40 {
        add(&mut sieve, round * 50..(round + 1) * 50);
        sieve.spill(PageId((round + 1) * 50)).expect("a spill");
    }
    assert!((0..2_000).all(|page| knows(&sieve, page)), "before the merge ends");
    sieve.settle().expect("a merge");
    assert!((0..2_000).all(|page| knows(&sieve, page)), "and after");
    let files: BTreeSet<_> = std::fs::read_dir(dir.path())
        .expect("a directory")
        .map(|file| file.expect("a file").file_name())
        .filter(|name| name.to_string_lossy().starts_with("run-"))
        .collect();
    assert_eq!(files.len(), sieve.runs.len(), "merged runs are removed");
}

#[test]
fn the_table_in_memory_keeps_within_what_it_is_given() {
    assert_eq!(size_of::<Entry>(), 16);
    for memory in [1 << 12, 1 << 20, 100_000_000, 128 << 20] {
        let most = most_entries(memory);
        let places = (8 * most).div_ceil(7).next_power_of_two();
        assert!(3 * places * PLACE_BYTES <= 2 * memory, "{most} entries in {memory} bytes");
        assert!(most * PLACE_BYTES * 5 > memory, "{most} entries are few for {memory} bytes");
    }
}

#[test]
fn a_full_table_forgets_its_older_half_and_still_knows_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut sieve = Sieve::open(dir.path(), 1 << 16).expect("a sieve");
    let most = sieve.most_recent as u32;
    for page in 0..5 * most {
        sieve.add(url(page), PageId(page));
        if sieve.is_full() {
            sieve.spill(PageId(page)).expect("a spill");
            assert!(sieve.recent.len() <= sieve.most_recent / 2 + 1, "half is forgotten");
        }
    }
    sieve.settle().expect("a merge");
    assert!((0..5 * most).all(|page| knows(&sieve, page)));
    assert!((0..5 * most).all(|page| knows(&sieve, page)), "also from what was found last");
    assert!((5 * most..6 * most).all(|page| !knows(&sieve, page)));
    assert_eq!(sieve.len(), u64::from(5 * most));
}
