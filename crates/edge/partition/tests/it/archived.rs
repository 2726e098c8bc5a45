//! The archive as a crawl leaves it.

use std::sync::atomic::{AtomicUsize, Ordering};

use tidewatch_core::{Span, Time};
use tidewatch_partition::Partition;
use tidewatch_partition::work::{Came, Job, Report};

use crate::{START, answer, config, run, run_on, url};

#[test]
fn a_revisit_names_the_date_of_the_record_it_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Partition::open(dir.path(), config(), START).unwrap();
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let (date, asked_again) = (START + 7, AtomicUsize::new(0));
    run_on(&mut crawl, Time::ZERO, Time::ZERO + Span::HOUR, |job, now| {
        if let Job::Page { held: Some(held), .. } = job {
            assert_eq!(held.unix_micros, date);
            asked_again.fetch_add(1, Ordering::Relaxed);
        }
        let mut report = answer(job, now);
        if let Report::Page { came: Came::Content(content), .. } = &mut report {
            content.capture.unix_micros = date;
        }
        report
    });
    assert!(asked_again.into_inner() > 0);
}

#[test]
fn the_index_is_sorted_when_a_crawl_stops() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Partition::open(dir.path(), config(), START).unwrap();
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, Time::ZERO + Span::MINUTE);
    crawl.save().unwrap();
    let index = std::fs::read_to_string(dir.path().join("archive/tidewatch-00001.cdxj")).unwrap();
    assert!(index.lines().count() > 10 && index.lines().is_sorted(), "{index}");
}
