//! A desk asks, keeps its limits and stops.

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_core::{Span, Time};
use tidewatch_forms::{Answer, Desk, DeskLimits, Record, Stop, judge};
use tidewatch_parse::{html::scan, links::Links};

const PAGE: &str = "http://a.example/";

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

fn desk(limits: DeskLimits) -> Desk {
    let mut links = Links::new("tidewatch");
    scan("<form action=/find><input name=q type=search></form>", &mut links);
    let form = links.finish(&Base::parse(PAGE).unwrap()).forms.remove(0);
    let mut desk = Desk::new(limits);
    desk.meet(&url(PAGE), judge(&form, &url(PAGE)).unwrap());
    desk.hear("high water at noon and low water at night");
    desk
}

/// An answer of ten records that nobody saw before, with a next page.
fn answer(number: u64) -> Answer {
    let record = |n: u64| Record {
        link: Some(url(&format!("http://a.example/r/{number}-{n}"))),
        text: format!("record word{number} word{n}"),
    };
    let next = Some(url(&format!("http://a.example/find?q=more&page={}", number + 2)));
    Answer { records: (0..10).map(record).collect(), next, ..Answer::default() }
}

fn day(days: u64) -> Time {
    Time::ZERO + Span::DAY.times(days)
}

#[test]
fn it_asks_so_many_a_day_and_two_at_once() {
    let mut desk = desk(DeskLimits { per_day: 7, ..DeskLimits::default() });
    for today in 0..3 {
        let mut asked = 0;
        loop {
            let queries: Vec<_> = std::iter::from_fn(|| desk.next(day(today))).collect();
            assert!(queries.len() <= 2);
            if queries.is_empty() {
                break;
            }
            for query in &queries {
                asked += 1;
                assert!(desk.is_query(&query.url) && query.page.as_str() == PAGE);
                let new =
                    desk.answer(&query.url, &answer(today * 100 + asked), Span::SECOND, day(today));
                assert_eq!(new, Some(10));
            }
        }
        assert_eq!(asked, 7, "day {today}");
    }
    let figures = desk.figures();
    assert_eq!((figures.pages, figures.records), (21, 210));
    assert!(
        desk.told(&url("http://a.example/find?q=tide"), day(3)).unwrap().contains("210 records")
    );
    assert!(desk.told(&url("http://a.example/other"), day(3)).is_none());
}

/// Some applications answer at a tidier address.
#[test]
fn an_answer_may_come_from_elsewhere() {
    let mut desk = desk(DeskLimits { per_day: 4, ..DeskLimits::default() });
    let query = desk.next(day(0)).unwrap();
    let to = url("http://a.example/results/1");
    desk.moved(&query.url, &to);
    assert!(desk.is_query(&to));
    assert_eq!(desk.answer(&to, &answer(1), Span::SECOND, day(0)), Some(10));
    assert_eq!(desk.answer(&query.url, &answer(2), Span::SECOND, day(0)), None);
    let more = std::iter::from_fn(|| desk.next(day(0))).count();
    assert_eq!((more, desk.figures().today), (2, 4), "the detour counts too");
}

#[test]
fn it_stops_where_the_host_minds() {
    for why in [Stop::TooManyRequests, Stop::Wall] {
        let mut desk = desk(DeskLimits::default());
        for (number, days) in [(0, 1), (1, 2), (3, 4)] {
            let query = desk.next(day(number)).unwrap();
            desk.fail(&query.url, Some(why), day(number));
            assert_eq!(desk.stopped(day(number)).unwrap().why, why);
            let last = day(number + days) - Span::SECOND;
            assert_eq!(desk.next(last), None, "stop {number} lasts {days} days");
        }
    }
}

/// Pages that were under way when the host stopped us, and revisits of answers, fail as well.
#[test]
fn one_stop_lasts_as_long_however_many_pages_fail() {
    let mut desk = desk(DeskLimits::default());
    for minute in 0..6 {
        let now = day(0) + Span::MINUTE.times(minute);
        desk.fail(&url("http://a.example/find?q=tide"), Some(Stop::TooManyRequests), now);
    }
    assert_eq!(desk.stopped(day(0)).unwrap().until, day(1));
    desk.fail(&url("http://a.example/find?q=tide"), Some(Stop::Wall), day(1));
    assert_eq!(desk.stopped(day(1)).unwrap().until, day(3), "the second one lasts two days");
}

/// A desk that forgot everything else keeps the stop and the day's count.
#[test]
fn the_quota_is_kept_apart() {
    let mut before = desk(DeskLimits { per_day: 2, ..DeskLimits::default() });
    let query = before.next(day(0)).unwrap();
    before.fail(&query.url, Some(Stop::Wall), day(0));
    let mut after = desk(DeskLimits { per_day: 2, ..DeskLimits::default() });
    after.set_quota(before.quota());
    assert_eq!((after.stopped(day(0)), after.next(day(0))), (before.stopped(day(0)), None));
    assert_eq!(after.figures().today, 1);
}

#[test]
fn it_stops_when_answers_become_slow() {
    let mut desk = desk(DeskLimits::default());
    let mut asked = 0;
    while let Some(query) = desk.next(day(0)) {
        asked += 1;
        let took = if asked > 20 { Span::SECOND.times(4) } else { Span::SECOND };
        desk.answer(&query.url, &answer(asked), took, day(0));
    }
    assert!((21..28).contains(&asked), "{asked}");
    assert_eq!(desk.stopped(day(0)).unwrap().why, Stop::Slow);
}

#[test]
fn three_refusals_in_a_row_stop_it_and_it_survives_being_stored() {
    let mut desk = desk(DeskLimits::default());
    for number in 0..3 {
        assert_eq!(desk.stopped(day(0)), None);
        let query = desk.next(day(0)).unwrap();
        if number == 1 {
            let bytes = postcard::to_stdvec(&desk).unwrap();
            desk = postcard::from_bytes(&bytes).unwrap();
        }
        desk.fail(&query.url, Some(Stop::Refused), day(0));
    }
    assert_eq!(desk.stopped(day(0)).unwrap().why, Stop::Refused);
    assert_eq!(desk.next(day(0)), None);
}
