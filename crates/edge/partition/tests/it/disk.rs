//! A full disk pauses the crawl, and room on it lets it go on by itself.

use std::path::Path;
use std::time::{Duration, Instant};

use tidewatch_partition::Watch;
use tidewatch_web::WebHabits;
use tokio::runtime::Runtime;

use crate::living;

/// When the disk is full, from the start of the crawl.
const FULL: std::ops::Range<Duration> = Duration::from_millis(1_200)..Duration::from_millis(3_200);

/// A disk that is full for a while.
struct Disk {
    began: Instant,
    /// What was said of it, and when.
    told: Vec<(bool, Duration)>,
}

impl Watch for Disk {
    fn free_bytes(&self, _: &Path) -> Option<u64> {
        Some(if FULL.contains(&self.began.elapsed()) { 1 << 20 } else { 1 << 40 })
    }

    fn disk(&mut self, is_full: bool) {
        self.told.push((is_full, self.began.elapsed()));
    }
}

#[test]
fn a_full_disk_pauses_the_crawl_until_there_is_room() {
    let runtime = Runtime::new().unwrap();
    let server = living::serve(&runtime, 10, 1_000, WebHabits::faultless());
    let config = living::config(Duration::from_millis(50));
    let dir = tempfile::tempdir().unwrap();
    // The server's clock began a little earlier, which only makes its times later.
    let mut disk = Disk { began: Instant::now(), told: Vec::new() };
    living::crawl(&runtime, &server, &config, dir.path(), Duration::from_secs(5), &mut disk);
    let [(true, pause), (false, go_on)] = disk.told[..] else { panic!("{:?}", disk.told) };
    let mut times: Vec<Duration> = server.log().requests().iter().map(|r| r.began).collect();
    times.sort();
    let rest = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap();
    let paused = go_on.checked_sub(pause).unwrap();
    // What was under way when the pause began may arrive later: by how much depends on the machine. Without
    // the pause requests come every few milliseconds.
    assert!(rest >= paused / 2, "the longest rest is {rest:?} of {paused:?}");
    let last = *times.last().unwrap();
    assert!(last > go_on, "it goes on: the last request at {last:?}, room from {go_on:?}");
}
