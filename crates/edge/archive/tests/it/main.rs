//! Archives written, broken, mended and read.
#![allow(clippy::unwrap_used)]

mod damage;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tidewatch_archive::{
    Archive, Exchange, Location, Packed, Records, Revisit, check, digest, read_at,
};
use tidewatch_testing::suites::files;

const MORNING: i64 = 1_794_821_400_000_000;

fn exchange<'a>(url: &'a str, surt: &'a str, body: &'a [u8]) -> Exchange<'a> {
    Exchange {
        url,
        surt,
        unix_micros: MORNING,
        address: Some("192.0.2.1".parse().unwrap()),
        request_head: b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        response_head: b"HTTP/1.1 200 Fine\r\nContent-Type: text/html; charset=utf-8\r\n\
            Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\n",
        body,
        digest: digest(body),
        media_type: "text/html",
        status: 200,
        truncated: None,
        revisit: None,
        metadata: "fetchTimeMs: 12\r\n",
    }
}

fn packed(body: &[u8]) -> Packed {
    Packed::new(&exchange("https://a.example/", "https://(example,a,)/", body), 6)
}

fn write(archive: &mut Archive, packed: &Packed) -> Location {
    let place = archive.append(packed, MORNING);
    archive.flush().unwrap();
    place
}

fn only_file(dir: &Path) -> PathBuf {
    dir.join("tidewatch-00001.warc.gz")
}

#[test]
fn a_response_is_read_back_as_it_was_with_its_decoded_length() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap().0;
    let first = write(&mut archive, &packed(b"<p>one"));
    let second = write(&mut archive, &packed(b"<p>two"));
    assert!(second.offset > first.offset);
    let record = read_at(&archive.path(second.file), second.offset).unwrap();
    assert_eq!(record.kind(), "response");
    let (head, body) = record.message();
    assert_eq!(body, b"<p>two");
    let head = String::from_utf8_lossy(head);
    assert!(head.starts_with("HTTP/1.1 200 Fine\r\n"), "the reason phrase is kept: {head}");
    assert!(head.contains("X-Archive-Content-Encoding: gzip\r\n"), "{head}");
    assert!(head.ends_with("Content-Length: 6\r\n\r\n"), "{head}");
    let verdict = check(&only_file(dir.path())).unwrap();
    assert!(verdict.is_good(), "{:?}", verdict.faults);
    assert_eq!(verdict.records, 1 + 2 * 3, "file information, then response, request, metadata");
}

#[test]
fn the_index_points_at_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap().0;
    let place = write(&mut archive, &packed(b"<p>one"));
    let index = fs::read_to_string(dir.path().join("tidewatch-00001.cdxj")).unwrap();
    let json = index.strip_prefix("https://(example,a,)/ 20261116093000 ").unwrap();
    assert!(json.contains(&format!("\"offset\":\"{}\"", place.offset)), "{json}");
    assert!(json.contains(&format!("\"length\":\"{}\"", place.bytes)), "{json}");
    assert!(
        json.contains("\"status\":\"200\"") && json.contains("\"mime\":\"text/html\""),
        "{json}"
    );
}

#[test]
fn a_body_seen_before_is_named_and_not_written_again() {
    let body = vec![b'x'; 100_000];
    let url = "https://a.example/";
    let earlier =
        Revisit { unix_micros: MORNING, url, digest: digest(&body), is_not_modified: false };
    let again =
        Exchange { revisit: Some(earlier), ..exchange(url, "https://(example,a,)/", &body) };
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap().0;
    let place = write(&mut archive, &Packed::new(&again, 6));
    let record = read_at(&archive.path(1), place.offset).unwrap();
    assert_eq!(record.kind(), "revisit");
    assert!(record.message().1.is_empty());
    assert_eq!(record.field("WARC-Refers-To-Target-URI"), Some(url));
    assert!(record.field("WARC-Profile").unwrap().ends_with("identical-payload-digest"));
    assert!(check(&only_file(dir.path())).unwrap().is_good());
}

#[test]
fn a_file_that_is_large_enough_is_followed_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), 2_000, MORNING, None).unwrap().0;
    let files: Vec<u32> = (0..20).map(|_| write(&mut archive, &packed(b"<p>one")).file).collect();
    assert!(files.last() > Some(&3), "{files:?}");
    let (last, _) = archive.end();
    drop(archive);
    let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap().0;
    assert_eq!(write(&mut archive, &packed(b"<p>one")).file, last, "it goes on");
    let index = fs::read_to_string(dir.path().join("tidewatch-00001.cdxj")).unwrap();
    assert!(index.lines().is_sorted());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Wherever a crash cut the file, every whole record before stays and the
    /// archive goes on behind it.
    #[test]
    fn a_torn_tail_is_cut_to_the_last_whole_record(cut in 0usize..4_000, garbage in prop::collection::vec(any::<u8>(), 0..40)) {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap().0;
        let mut ends = vec![None];
        for number in 0..5 {
            write(&mut archive, &packed(format!("<p>{number}").as_bytes()));
            ends.push(Some(archive.end()));
        }
        drop(archive);
        let path = only_file(dir.path());
        let whole = fs::read(&path).unwrap();
        let cut = cut.min(whole.len());
        fs::write(&path, [&whole[..cut], &garbage].concat()).unwrap();
        let kept = Records::new(&whole[..cut]).flatten().count();
        // What was synced is there after a crash, and need not be read again.
        let is_there = |end: &&Option<(u32, u64)>| end.is_none_or(|(_, end)| end <= cut as u64);
        let synced = *ends.iter().rfind(is_there).unwrap();
        let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, synced).unwrap().0;
        write(&mut archive, &packed(b"<p>after"));
        let verdict = check(&path).unwrap();
        prop_assert!(verdict.is_good(), "{:?}", verdict.faults);
        prop_assert_eq!(verdict.records, kept.max(1) + 3);
        let responses = Records::new(&fs::read(&path).unwrap()[..])
            .filter(|record| record.as_ref().is_ok_and(|record| record.kind() == "response"))
            .count();
        let index = fs::read_to_string(dir.path().join("tidewatch-00001.cdxj")).unwrap();
        prop_assert_eq!(index.lines().count(), responses, "a line a response");
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        Records::new(&bytes[..]).for_each(drop);
        let plain = [b"WARC/1.1\r\nContent-Length: 5\r\n\r\n", &bytes[..]].concat();
        Records::new(&plain[..]).for_each(drop);
    }
}

#[test]
fn a_file_that_cannot_be_appended_to_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let error = Archive::open(&dir.path().join("file"), 1, MORNING, None).unwrap_err();
    assert!(error.to_string().contains("file"), "{error}");
}

/// Files that other tools wrote, with the verdict of the tool that most
/// archives trust. ARC, the format before WARC, is not read.
#[test]
fn other_tools_files_get_the_verdict_they_deserve() {
    let Some(files) = files("warcio/test/data") else { return };
    let bad = ["example-bad", "-digest", "-trunc", "-wrong-chunks"];
    let mut seen = 0;
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.contains(".arc") {
            continue;
        }
        let should_fail = bad.iter().any(|part| name.contains(part));
        let verdict = check(&path).unwrap();
        assert_eq!(!verdict.is_good(), should_fail, "{name}: {:?}", verdict.faults);
        seen += 1;
    }
    assert!(seen >= 12, "{seen} files");
}
