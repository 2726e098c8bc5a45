//! Archives written, broken, mended and read.
#![allow(clippy::unwrap_used)]

mod damage;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tidewatch_archive::{
    Archive, Exchange, Location, Packed, Record, Records, Revisit, base32, check, digest, read_at,
};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_testing::suites::files;

const MORNING: i64 = 1_794_821_400_000_000;

fn exchange<'a>(url: &'a str, body: &'a [u8]) -> Exchange<'a> {
    Exchange {
        url,
        unix_micros: MORNING,
        address: Some("192.0.2.1".parse().unwrap()),
        request_head: b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        response_head: b"HTTP/1.1 200 Fine\r\nContent-Type: text/html; charset=utf-8\r\n\
            Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\n",
        is_h2: false,
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
    Packed::new(&exchange("https://a.example/", body), 6)
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
    let json = index.strip_prefix("example,a)/ 20261116093000 ").unwrap();
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
    let again = Exchange { revisit: Some(earlier), ..exchange(url, &body) };
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap().0;
    let place = write(&mut archive, &Packed::new(&again, 6));
    let record = read_at(&archive.path(1), place.offset).unwrap();
    assert_eq!(record.kind(), "revisit");
    assert!(record.message().1.is_empty());
    // Replay joins this head with the earlier body, so a length of 0 would show nothing.
    assert_eq!(record.http_header("content-length").as_deref(), Some("100000"));
    assert_eq!(record.field("WARC-Refers-To-Target-URI"), Some(url));
    assert_eq!(record.field("WARC-Refers-To-Date"), Some("2026-11-16T09:30:00.000000Z"));
    assert!(record.field("WARC-Profile").unwrap().ends_with("identical-payload-digest"));
    assert!(check(&only_file(dir.path())).unwrap().is_good());
}

/// Replay tools show a revisit's own head where it has one, and a browser shows nothing for a 304.
#[test]
fn a_304_leaves_replay_to_the_earlier_response() {
    let url = "https://a.example/";
    let page = digest(b"<p>one");
    let earlier = Revisit { unix_micros: MORNING, url, digest: page, is_not_modified: true };
    let confirmed = Exchange {
        response_head: b"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n",
        status: 304,
        revisit: Some(earlier),
        ..exchange(url, b"")
    };
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap().0;
    let place = write(&mut archive, &Packed::new(&confirmed, 6));
    archive.finish().unwrap();
    let file = fs::read(only_file(dir.path())).unwrap();
    let records: Vec<Record> = Records::new(&file[..]).map(Result::unwrap).collect();
    let revisit = records.iter().find(|record| record.offset == place.offset).unwrap();
    assert_eq!((revisit.kind(), revisit.block.len()), ("revisit", 0));
    assert!(revisit.field("WARC-Profile").unwrap().ends_with("server-not-modified"));
    assert_eq!(revisit.field("WARC-Refers-To-Target-URI"), Some(url));
    let payload = format!("sha1:{}", base32(&page));
    assert_eq!(revisit.field("WARC-Payload-Digest"), Some(payload.as_str()));
    // What the server said is kept beside it.
    let is_head = |record: &&Record| record.kind() == "metadata" && record.is_http();
    let head = records.iter().find(is_head).expect("the head of the 304 is kept");
    assert_eq!((head.http_status(), head.http_header("etag")), (Some(304), Some("\"1\"".into())));
    assert_eq!(head.field("WARC-Concurrent-To"), revisit.field("WARC-Record-ID"));
    assert!(check(&only_file(dir.path())).unwrap().is_good());
    let path = dir.path().join("tidewatch-00001.cdxj");
    let index = fs::read_to_string(&path).unwrap();
    for part in ["\"mime\":\"warc/revisit\"", "\"status\":\"304\"", &payload] {
        assert!(index.contains(part), "{part} in {index}");
    }
    drop(archive);
    fs::remove_file(&path).unwrap();
    Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), index, "the same from the records alone");
}

#[test]
fn an_http2_response_says_so() {
    let url = "https://a.example/";
    let exchange = Exchange { is_h2: true, ..exchange(url, b"<p>one") };
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap().0;
    write(&mut archive, &Packed::new(&exchange, 6));
    let file = fs::read(only_file(dir.path())).unwrap();
    for record in Records::new(&file[..]).map(Result::unwrap) {
        let is_message = matches!(record.kind(), "response" | "request");
        assert_eq!(record.field("WARC-Protocol"), is_message.then_some("h2"), "{}", record.kind());
    }
}

/// The keys that pywb looks up, as the PyPI package `surt` 0.3.1 gives them.
#[test]
fn index_keys_are_those_that_replay_tools_look_up() {
    let cases = [
        ("http://www.example.com/", "com,example)/"),
        ("http://www2.example.com/A/B.html", "com,example)/a/b.html"),
        ("https://wwwa.example.com/dir/", "com,example,wwwa)/dir"),
        ("http://example.com:8080/x", "com,example:8080)/x"),
        ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
        ("http://[2001:db8::1]/x", "2001:db8::1)/x"),
        ("http://example.com/x?b=2&a=1&a", "com,example)/x?a&a=1&b=2"),
        ("http://example.com/x?Q=%C3%9C%20y", "com,example)/x?q=%c3%9c%20y"),
        ("http://example.com/a//b/%7Euser/", "com,example)/a/b/~user"),
        ("http://example.com/50%25?x=%23", "com,example)/50%25?x=%23"),
        ("http://example.com/a%252Fb", "com,example)/a/b"),
        ("http://b\u{fc}cher.example/", "example,xn--bcher-kva)/"),
    ];
    for (url, key) in cases {
        let url = CanonicalUrl::parse(url).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(dir.path(), 1 << 30, MORNING, None).unwrap().0;
        write(&mut archive, &Packed::new(&exchange(url.as_str(), b"x"), 1));
        let index = fs::read_to_string(dir.path().join("tidewatch-00001.cdxj")).unwrap();
        assert_eq!(index.split(' ').next(), Some(key), "{}", url.as_str());
    }
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
