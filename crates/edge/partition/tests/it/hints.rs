//! Senders that say which pages have changed: rightly, for nothing, and in floods.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Span, Time};
use tidewatch_partition::hints::{HintRow, Received, Sender};
use tidewatch_partition::{Config, Partition};

use crate::revisit::{Visits, came, reply};
use crate::{START, config, open, run, run_on, seconds, url};

/// Pages whose changes a sender reports, and pages that never change, about which another talks.
const NEWS: [u32; 5] = [1, 2, 3, 4, 5];
const STILL: [u32; 6] = [6, 7, 8, 9, 10, 11];
const HOURS: u64 = 96;

fn sender(name: &str) -> Sender {
    name.parse().unwrap()
}

fn row<'r>(rows: &'r [HintRow], kind: &str) -> &'r HintRow {
    rows.iter().find(|row| row.kind == kind).unwrap_or_else(|| panic!("{kind} in {rows:?}"))
}

/// One of the news pages changes every two hours, in turn, and a sender says so at once. Another says
/// every hour of all still pages that they have changed.
#[test]
fn trust_in_a_sender_is_what_its_hints_prove_to_be_worth() {
    let (dir, visits) = (tempfile::tempdir().unwrap(), Visits::default());
    let versions = RefCell::new(BTreeMap::<u32, u64>::new());
    let rule = Config::default().revisit;
    let settings = Config { revisit: rule, ..config() };
    let mut crawl = Partition::open(dir.path(), settings, START).unwrap();
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    let page = |page: u32, _: Time| {
        came(&format!("{page} {}", versions.borrow().get(&page).unwrap_or(&0)))
    };
    let mut lags = Vec::new();
    for hour in 0..HOURS {
        let (now, end) = (seconds(3_600 * hour), seconds(3_600 * (hour + 1)));
        let mut changed = None;
        if hour > 0 && hour % 2 == 0 {
            let page = NEWS[hour as usize / 2 % NEWS.len()];
            *versions.borrow_mut().entry(page).or_default() += 1;
            let received = crawl.take_hints(&sender("news"), &[url(0, page)], now).unwrap();
            assert_eq!(received, Received { hinted: 1, ..Received::default() });
            changed = Some(page);
        }
        if hour > 0 {
            crawl.take_hints(&sender("noise"), &STILL.map(|page| url(0, page)), now).unwrap();
        }
        run_on(&mut crawl, now, end, |job, now| reply(job, now, &visits, page));
        if let Some(page) = changed {
            let visit = visits.borrow()[&page].iter().copied().find(|at| *at >= now);
            lags.push(visit.map_or(Span::HOUR, |at| at.since(now)));
        }
    }
    let rows = crawl.hint_rows(100);
    let (news, noise) = (row(&rows, "push:news"), row(&rows, "push:noise"));
    assert!(news.precision > 0.9 && noise.precision < 0.2, "{rows:?}");
    assert!(news.host == "http://h0.example" && news.hints > 20.0, "{news:?}");
    let prompt = lags.iter().filter(|lag| **lag <= rule.least).count();
    assert!(prompt * 10 >= lags.len() * 9, "{prompt} of {} within {}", lags.len(), rule.least);
    // The still pages are left alone as if nobody had spoken: their rest has doubled and doubled.
    let half = seconds(3_600 * HOURS / 2);
    let visits = visits.borrow();
    let late = STILL.map(|page| visits[&page].iter().filter(|at| **at >= half).count());
    assert!(late.iter().all(|visits| *visits <= 4), "{late:?} visits in two days");
    drop(crawl);
    let replayed = Partition::replay(dir.path(), START).unwrap();
    assert!(replayed.decisions > 100, "{replayed:?}");
}

#[test]
fn hints_are_counted_by_what_became_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(60));
    let (now, cms) = (seconds(60), sender("cms"));
    let private = CanonicalUrl::parse("http://h0.example/private/1").unwrap();
    let new = CanonicalUrl::parse("http://h0.example/p/39?new").unwrap();
    let told = [url(0, 1), url(0, 1), private, new.clone(), new];
    let received = crawl.take_hints(&cms, &told, now).unwrap();
    let expected = Received { hinted: 1, new: 1, waiting: 2, dropped: 1, refused: 0 };
    assert_eq!(received, expected);
    // Two senders may speak of one page.
    let again = crawl.take_hints(&sender("other"), &told[..1], now).unwrap();
    assert_eq!(again.hinted, 1);
    crawl.sync().unwrap();
    drop(crawl);
    Partition::replay(dir.path(), START).unwrap();
}

/// The allowance is a tenth of the budget, and ten at least.
#[test]
fn a_flood_of_hints_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open(dir.path(), Time::ZERO);
    crawl.seed(&url(0, 0), Time::ZERO).unwrap();
    run(&mut crawl, Time::ZERO, seconds(60));
    crawl.set_budget(Rate::per_second(1.0 / 36.0).unwrap(), seconds(60)).unwrap();
    let number = Cell::new(0);
    let mut flood = |at: u64| {
        let made_up = |_| {
            number.set(number.get() + 1);
            CanonicalUrl::parse(&format!("http://h1.example/flood/{}", number.get())).unwrap()
        };
        let urls: Vec<_> = (0..1_000).map(made_up).collect();
        let received = crawl.take_hints(&sender("flood"), &urls, seconds(at)).unwrap();
        assert_eq!(received.new + received.refused, 1_000, "{received:?}");
        received.new
    };
    assert_eq!([flood(60), flood(60), flood(60 + 3_600), flood(60 + 86_400)], [10, 0, 10, 10]);
    let honest = crawl.take_hints(&sender("honest"), &[url(0, 1)], seconds(90_000)).unwrap();
    assert_eq!(honest.hinted, 1, "another sender has an allowance of its own");
}
