//! A disk that is full: the crawl pauses and goes on by itself, and nothing is lost.

use std::process::Command;

use tidewatch_testing::skip::skip;

use crate::living::{Living, all_readable};

/// Room on the disk: what a crawl of some seconds takes, several times.
const ROOM: &str = "64m";

/// Crawls on a small disk of its own, which is filled to the last byte for a while.
const SCRIPT: &str = r#"
    mount -t tmpfs -o size=$ROOM tmpfs disk || exit 77
    "$TIDEWATCH" crawl seeds --dir disk/crawl --config full.toml --budget 5000/s --for 9s \
        --print-stored --log-json > stored 2> log &
    sleep 2
    cat /dev/zero > disk/fill
    sleep 3
    wc -l < stored > before
    rm disk/fill
    wait $!
    echo $? > code
    cp -r disk/crawl crawl
"#;

#[test]
fn a_crawl_on_a_full_disk_pauses_goes_on_and_has_lost_nothing() {
    let living = Living::serve(20, 200);
    let folder = &living.folder;
    // No room is kept, so that writes do fail.
    let settings = folder.read("crawl.toml").replace("[limits]", "[limits]\nfree_disk_mb = 0");
    folder.put("full.toml", settings.as_bytes());
    std::fs::create_dir(living.path("disk")).unwrap();
    let ran = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", SCRIPT])
        .env("TIDEWATCH", env!("CARGO_BIN_EXE_tidewatch"))
        .env("ROOM", ROOM)
        .current_dir(folder.path())
        .output();
    if !living.path("code").exists() {
        skip(&format!("no file system can be mounted in a name space: {ran:?}"));
        return;
    }
    let log = folder.read("log");
    assert_eq!(folder.read("code").trim(), "0", "{log}");
    let at = |event: &str| log.find(event).unwrap_or_else(|| panic!("{event} in {log}"));
    assert!(at("\"disk-full\"") < at("\"disk-free\""), "{log}");
    // The last line says how it ended.
    let stored = folder.read("stored");
    let stored = stored.lines().filter(|line| line.starts_with("http")).map(str::to_owned);
    let stored: Vec<String> = stored.collect();
    let before: usize = folder.read("before").trim().parse().unwrap();
    assert!(before > 20 && stored.len() > before + 20, "{before}, then {}", stored.len());
    all_readable(&living.path("crawl"), &stored);
    let ended = folder.run("crawl --dir crawl --config crawl.toml --for 1s").ok();
    assert!(ended.contains("its time is up"), "{ended}");
}
