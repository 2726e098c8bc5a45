//! Hosts that answer with challenge pages for a while.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use tidewatch_archive::{Records, check, path_of, read_at, warc_numbers};
use tidewatch_core::{Reason, Span};
use tidewatch_lab::generate::renewal;
use tidewatch_testing::living::serve;
use tidewatch_web::{Served, WALL_TITLE, WebHabits};
use tokio::runtime::Runtime;

use crate::living::{self, Stored};

const HOSTS: usize = 12;

#[test]
fn walls_are_neither_copies_nor_changes() {
    let runtime = Runtime::new().unwrap();
    // No page changes while the test runs, so every change that is seen is a wall's.
    let rates = renewal::Rates::Gamma { mean_per_day: 1e-6, squared_cv: 1.0 };
    let web = renewal::Config { rates, ..tidewatch_testing::living::web(HOSTS, 20 * HOSTS) };
    let habits =
        WebHabits { wall: 0.4, wall_period: Span::SECOND.times(2), ..WebHabits::faultless() };
    let server = serve(&runtime, &web, 3, habits);

    let mut config = living::config(Duration::from_millis(10));
    config.politeness.first_rest = Span::from_micros(500_000);
    config.politeness.most_rest = Span::SECOND;
    config.robots_retry = Span::SECOND;
    let dir = tempfile::tempdir().unwrap();
    let length = Duration::from_secs(12);
    let mut crawl =
        living::crawl(&runtime, &server, &config, dir.path(), length, &mut Stored::default());

    let requests = server.log().requests();
    let walls = requests.iter().filter(|request| request.served == Served::Wall).count() as u64;
    let walled = crawl.tally().reasons.get(&Reason::Walled).copied().unwrap_or(0);
    assert!(walls > 20, "{walls} walls are no test");
    // The last answers may be under way when the crawl stops.
    assert!(walls - walled <= HOSTS as u64, "{walled} of {walls} walls recognised");
    let tally = crawl.tally();
    assert!(tally.held > 100 && tally.revisits > 100, "{tally:?}");
    assert_eq!(tally.changes, 0, "a wall is no change");
    for row in crawl.store().tables().unwrap().copies_from(tidewatch_core::PageId(0)) {
        let (page, copy) = row.unwrap();
        let file = path_of(&dir.path().join("archive"), copy.place.file);
        let record = read_at(&file, copy.place.offset).unwrap();
        let body = String::from_utf8_lossy(record.message().1).into_owned();
        assert!(!body.contains(WALL_TITLE), "page {} holds a wall", page.0);
    }
    crawl.save().unwrap();
    // A wall in place of a robots.txt counts as well, and stands for no page.
    let noted = noted_walls(&dir.path().join("archive"));
    assert!(noted <= walled && walled - noted <= crawl.tally().robots, "{noted} of {walled} noted");
}

/// Records that note a wall, none of which is a version of a page.
fn noted_walls(archive: &Path) -> u64 {
    let mut noted = 0;
    for number in warc_numbers(archive).unwrap() {
        let path = path_of(archive, number);
        assert!(check(&path).unwrap().is_good());
        for record in Records::new(BufReader::new(File::open(&path).unwrap())) {
            let record = record.unwrap();
            if record.kind() == "metadata" && record.block.starts_with(b"walled-uri: http://") {
                assert_eq!(record.field("WARC-Target-URI"), None);
                noted += 1;
            }
        }
    }
    noted
}
