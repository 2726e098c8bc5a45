//! One small trace, value by value and byte by byte.

use tidewatch_core::{Rate, Span, Time};
use tidewatch_trace::{Count, Format, TraceLink, Truth, TruthClass, read, write};

use crate::samples::{TINY, directory, text};

fn seconds(seconds: f64) -> Time {
    Time::from_seconds(seconds).unwrap()
}

#[test]
fn every_value_is_where_it_belongs() {
    let dir = directory(&TINY);
    let trace = read(dir.path()).unwrap();
    assert_eq!((trace.name.as_str(), trace.duration), ("tiny", Span::from_micros(100_250_000)));
    assert_eq!(trace.start.as_deref(), Some("2024-05-01T00:00:00Z"));
    assert_eq!(trace.note.as_deref(), Some("by hand"));
    assert_eq!(trace.pages.iter().map(|p| p.id).collect::<Vec<_>>(), [3, 7, 1_000_000]);
    let page = &trace.pages[1];
    assert_eq!((&*page.url, page.host, page.weight), ("http://b.test/x,y", 1, 2.5));
    assert_eq!((page.born, page.died), (seconds(10.0), Some(seconds(60.5))));
    assert_eq!(trace.pages[2].born, Time::from_micros(20_000_001));
    assert!(trace.pages[0].is_source && trace.pages[0].is_seed && !page.is_seed);
    assert_eq!(trace.hosts[0].max_rate, Rate::per_second(0.5));
    assert_eq!((&*trace.hosts[1].name, trace.hosts[1].max_rate), ("b.test", None));
    let (appears, disappears) = (seconds(10.0), Some(seconds(50.0)));
    let first = TraceLink { source: 0, page: 1, appears, disappears, position: Some(4) };
    assert_eq!(trace.links[0], first);
    assert_eq!(trace.links[1].position, None);
    assert_eq!(
        trace.clicks.as_ref().unwrap()[2],
        Count { page: 2, at: seconds(200.0), count: 0.25 }
    );
    let versions = trace.versions.as_ref().unwrap();
    assert_eq!(versions.added(&versions.rows[0]), [1, 10, u64::MAX]);
    assert_eq!(versions.removed(&versions.rows[1]), [1]);
    let signals = trace.signals.as_ref().unwrap();
    assert_eq!(signals.kinds.iter().map(|k| &**k).collect::<Vec<_>>(), ["feed", "ping"]);
    assert_eq!(signals.rows.len(), 3);
    let class = TruthClass::Renamed;
    let renamed = Truth { page: 2, class, same_as: Some(1), is_declared: true };
    assert_eq!(trace.truth.as_deref(), Some(&[renamed][..]));
    trace.check().unwrap();
}

#[test]
fn writing_gives_the_same_bytes_back() {
    let dir = directory(&TINY);
    let trace = read(dir.path()).unwrap();
    let copy = dir.path().join("copy");
    write(&copy, &trace, Format::Csv).unwrap();
    for (name, expected) in TINY {
        assert_eq!(text(&copy, name), expected, "{name}");
    }
    assert_eq!(std::fs::read_dir(&copy).unwrap().count(), TINY.len());
}
