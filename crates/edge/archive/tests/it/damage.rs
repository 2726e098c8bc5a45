//! What an archive does about damage: it keeps what is whole, and tells what is lost.

use std::fs;
use std::path::Path;

use tidewatch_archive::{
    Archive, Damage, Findings, Location, Packed, check_archive, is_readable, read_at, verify,
};

use crate::{MORNING, exchange, only_file, write};

const PAGES: usize = 20;

fn url(number: usize) -> String {
    // Not in the order of their keys.
    format!("https://a.example/{}", number * 7 % PAGES)
}

/// An archive of pages, synced, and where they are.
fn archive(dir: &Path, most_bytes: u64) -> (Vec<Location>, (u32, u64)) {
    let (mut archive, findings) = Archive::open(dir, most_bytes, MORNING, None).unwrap();
    assert!(findings.is_clean());
    let page = |number| {
        let (url, body) = (url(number), format!("<p>page {number}"));
        Packed::new(&exchange(&url, body.as_bytes()), 6)
    };
    let places = (0..PAGES).map(|number| write(&mut archive, &page(number))).collect();
    archive.sync().unwrap();
    (places, archive.end())
}

fn open(dir: &Path, synced: Option<(u32, u64)>) -> (Archive, Findings) {
    Archive::open(dir, 1 << 30, MORNING, synced).unwrap()
}

/// Numbers of the pages that cannot be read, which must be those that the findings tell.
fn lost(dir: &Path, places: &[Location], findings: &Findings) -> Vec<usize> {
    let is_lost = |n: &usize| !is_readable(dir, places[*n], &url(*n));
    let lost: Vec<usize> = (0..PAGES).filter(is_lost).collect();
    let told: Vec<usize> = (0..PAGES).filter(|&n| findings.is_lost(places[n])).collect();
    assert_eq!(lost, told, "{findings:?}");
    lost
}

fn index(dir: &Path) -> std::path::PathBuf {
    dir.join("tidewatch-00001.cdxj")
}

#[test]
fn a_flipped_byte_costs_one_record() {
    for synced in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (places, end) = archive(dir.path(), 1 << 30);
        let path = only_file(dir.path());
        let mut bytes = fs::read(&path).unwrap();
        bytes[places[7].offset as usize + 100] ^= 4;
        fs::write(&path, &bytes).unwrap();
        let (mut archive, opened) = open(dir.path(), synced.then_some(end));
        assert_eq!(fs::read(&path).unwrap(), bytes, "nothing is cut");
        // What was synced is not read at every start.
        let found = if synced { check_archive(dir.path(), Some(end)).unwrap() } else { opened };
        assert_eq!(lost(dir.path(), &places, &found), [7]);
        let after = write(&mut archive, &crate::packed(b"after"));
        assert!(verify(dir.path(), after).is_ok());
    }
}

#[test]
fn a_file_shorter_than_synced_is_left_alone_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let (places, end) = archive(dir.path(), 1 << 30);
    let path = only_file(dir.path());
    let bytes = fs::read(&path).unwrap();
    let half = &bytes[..bytes.len() / 2];
    fs::write(&path, half).unwrap();
    for _ in 0..2 {
        let (archive, findings) = open(dir.path(), Some(end));
        assert_eq!(fs::read(&path).unwrap(), half);
        assert_eq!(archive.end().0, 2, "new records go into a new file");
        let short = Damage::Short { file: 1, length: half.len() as u64, synced: end.1 };
        assert_eq!(findings.damage, [short]);
        let lost = lost(dir.path(), &places, &findings);
        assert_eq!(lost, (lost[0]..PAGES).collect::<Vec<_>>());
        assert_eq!(fs::read_to_string(index(dir.path())).unwrap().lines().count(), lost[0]);
    }
}

#[test]
fn a_deleted_file_is_reported_and_its_number_is_not_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let (places, end) = archive(dir.path(), 1 << 30);
    fs::remove_dir_all(dir.path()).unwrap();
    let (archive, findings) = open(dir.path(), Some(end));
    assert_eq!(archive.end().0, 2);
    assert_eq!(findings.damage, [Damage::Missing { file: 1 }]);
    assert_eq!(lost(dir.path(), &places, &findings).len(), PAGES);
}

#[test]
fn damage_to_closed_files_is_found_by_their_lengths() {
    let dir = tempfile::tempdir().unwrap();
    let (places, end) = archive(dir.path(), 4_000);
    assert!(end.0 >= 4, "{end:?}");
    fs::remove_file(only_file(dir.path())).unwrap();
    let second = dir.path().join("tidewatch-00002.warc.gz");
    let bytes = fs::read(&second).unwrap();
    fs::write(&second, &bytes[..bytes.len() - 1]).unwrap();
    fs::remove_file(dir.path().join("tidewatch-00003.cdxj")).unwrap();
    let (_, findings) = open(dir.path(), Some(end));
    let synced = bytes.len() as u64;
    let short = Damage::Short { file: 2, length: synced - 1, synced };
    assert_eq!(findings.damage, [Damage::Missing { file: 1 }, short]);
    assert_eq!(findings.reindexed, [3]);
    let lost = lost(dir.path(), &places, &findings);
    assert!(lost.iter().all(|&n| places[n].file == 1), "the cut byte is of no response: {lost:?}");
    let checked = check_archive(dir.path(), Some(end)).unwrap();
    assert!(!checked.damage.contains(&Damage::Index { file: 3 }), "{checked:?}");
}

#[test]
fn a_lost_or_short_index_is_rebuilt_sorted() {
    for quarters in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let (_, end) = archive(dir.path(), 1 << 30);
        let whole = fs::read_to_string(index(dir.path())).unwrap();
        let mut sorted: Vec<&str> = whole.lines().collect();
        sorted.sort_unstable();
        match quarters {
            0 => fs::remove_file(index(dir.path())).unwrap(),
            _ => fs::write(index(dir.path()), &whole[..whole.len() / 4 * quarters]).unwrap(),
        }
        assert!(
            check_archive(dir.path(), Some(end)).unwrap().damage == [Damage::Index { file: 1 }]
        );
        let (_, findings) = open(dir.path(), Some(end));
        assert_eq!((&findings.reindexed[..], findings.damage.len()), (&[1][..], 0));
        let now = fs::read_to_string(index(dir.path())).unwrap();
        assert_eq!(now.lines().collect::<Vec<_>>(), sorted);
        // The manifest knows its length now, so that a loss in the middle is noticed as well.
        let second = now.split_inclusive('\n').enumerate().filter(|(n, _)| *n != 1);
        fs::write(index(dir.path()), second.map(|(_, line)| line).collect::<String>()).unwrap();
        open(dir.path(), Some(end));
        assert_eq!(fs::read_to_string(index(dir.path())).unwrap(), now);
    }
}

#[test]
fn a_finished_archive_has_a_sorted_index_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (_, end) = archive(dir.path(), 1 << 30);
    let (mut archive, _) = open(dir.path(), Some(end));
    write(&mut archive, &crate::packed(b"later"));
    archive.finish().unwrap();
    let text = fs::read_to_string(index(dir.path())).unwrap();
    assert!(text.lines().is_sorted() && text.lines().count() == PAGES + 1);
    write(&mut archive, &crate::packed(b"last"));
    let found = check_archive(dir.path(), Some(archive.end())).unwrap();
    assert!(found.is_clean(), "{found:?}");
}

#[test]
fn an_index_is_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let (_, end) = archive(dir.path(), 1 << 30);
    let old = fs::read(index(dir.path())).unwrap()[..3_000].to_vec();
    fs::write(index(dir.path()), &old).unwrap();
    fs::hard_link(index(dir.path()), dir.path().join("old")).unwrap();
    open(dir.path(), Some(end));
    assert_eq!(fs::read(dir.path().join("old")).unwrap(), old);
    assert_ne!(fs::read(index(dir.path())).unwrap(), old);
}

#[test]
fn a_record_of_another_page_is_not_this_page() {
    let dir = tempfile::tempdir().unwrap();
    let (places, _) = archive(dir.path(), 1 << 30);
    assert!(is_readable(dir.path(), places[3], &url(3)));
    assert!(!is_readable(dir.path(), places[3], &url(4)));
    let inside = Location { offset: places[3].offset + 1, ..places[3] };
    assert!(read_at(&only_file(dir.path()), inside.offset).is_err());
    assert!(!is_readable(dir.path(), inside, &url(3)));
}
