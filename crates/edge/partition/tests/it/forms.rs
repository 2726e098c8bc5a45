//! A crawl of a living web asks a form over real sockets, judged from the server's log.

use std::collections::BTreeSet;
use std::time::Duration;

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Span, Time};
use tidewatch_partition::{Clock, Partition};
use tidewatch_testing::living::serve_trace;
use tidewatch_trace::{Host, Trace, TraceLink, TracePage};
use tidewatch_web::{LoggedRequest, Served, WebHabits, WebServer};
use tokio::runtime::Runtime;

use crate::living::{self, Stored};

const HOST: &str = "db.example";
/// Pages that links lead to, and pages that only the search finds.
const LINKED: u64 = 8;
const HIDDEN: u64 = 400;
/// Result pages that may be asked for; 41 could show all records, ten on each.
const QUERIES: u32 = 200;
/// Least share of the hidden pages that must be held: the aim for one text box.
const LEAST: f64 = 0.8;
/// How long a crawl takes.
const LENGTH: Duration = Duration::from_secs(20);

/// A front page with some links, and pages without one.
fn database() -> Trace {
    let page = |id: u64| {
        let path = if id == 0 { String::new() } else { format!("record/{id}") };
        let row = TracePage::new(id, format!("http://{HOST}/{path}"), 0, Time::ZERO);
        TracePage { is_source: id == 0, is_seed: id == 0, ..row }
    };
    let link = |page: u64| {
        let (appears, disappears, position) = (Time::ZERO, None, None);
        TraceLink { source: 0, page: page as u32, appears, disappears, position }
    };
    Trace {
        name: "database".into(),
        duration: Span::DAY,
        pages: (0..=LINKED + HIDDEN).map(page).collect(),
        hosts: vec![Host { name: HOST.into(), max_rate: None }],
        links: (1..=LINKED).map(link).collect(),
        ..Trace::default()
    }
}

/// Crawls it with these hosts named for forms.
fn crawl(named: &str, judge: impl FnOnce(&WebServer, &mut Partition)) {
    let runtime = Runtime::new().unwrap();
    let habits = WebHabits { search: 1.0, ..WebHabits::faultless() };
    let server = serve_trace(&runtime, database(), 5, habits, 1);
    let mut config = living::config(Duration::from_millis(1));
    config.revisit.usual = Span::HOUR;
    config.drop_duplicates = false;
    let hosts = toml::Value::Array(vec![named.into()]);
    config.set("forms.hosts", &hosts).unwrap();
    config.forms.per_day = QUERIES;
    let dir = tempfile::tempdir().unwrap();
    let mut crawl =
        living::crawl(&runtime, &server, &config, dir.path(), LENGTH, &mut Stored::default());
    judge(&server, &mut crawl);
}

fn distinct(requests: &[LoggedRequest], is_it: impl Fn(Served) -> bool) -> usize {
    let paths = requests.iter().filter(|request| is_it(request.served));
    paths.map(|request| request.path.clone()).collect::<BTreeSet<_>>().len()
}

fn hidden(served: Served) -> bool {
    matches!(served, Served::Page(page) if u64::from(page) > LINKED)
}

#[test]
fn what_only_a_form_leads_to_is_held() {
    crawl(HOST, |server, crawl| {
        let requests = server.log().requests();
        let (records, queries) =
            (distinct(&requests, hidden), distinct(&requests, |served| served == Served::Search));
        let figures = crawl.form_figures();
        eprintln!("{records} of {HIDDEN} hidden pages with {queries} result pages; {figures:?}");
        assert!(queries as u32 <= QUERIES, "the cap holds");
        assert!(records as f64 >= LEAST * HIDDEN as f64);
        assert_eq!(figures[0].1.pages as usize, queries, "every answer was read");
        // Why a query is there, and why a record is: a query led to it.
        let asked = requests.iter().find(|request| request.served == Served::Search).unwrap();
        let url = CanonicalUrl::parse(&format!("http://{HOST}{}", asked.path)).unwrap();
        let now = Clock::of(crawl).now();
        let told = crawl.portrait(&url, now).unwrap().unwrap().form.unwrap();
        assert!(
            told.starts_with(&format!("It is a query of the form on http://{HOST}/")),
            "{told}"
        );
        let record = requests.iter().find(|request| hidden(request.served)).unwrap();
        let url = CanonicalUrl::parse(&format!("http://{HOST}{}", record.path)).unwrap();
        let via = crawl.portrait(&url, now).unwrap().unwrap().via.unwrap();
        assert!(via.contains("/search?q="), "{via}");
    });
}

/// Off unless the operator names the host.
#[test]
fn a_form_is_not_asked_where_the_operator_does_not_say_so() {
    crawl("other.example", |server, crawl| {
        let requests = server.log().requests();
        assert!(distinct(&requests, |served| matches!(served, Served::Page(_))) as u64 > LINKED);
        assert_eq!(distinct(&requests, |served| served == Served::Search || hidden(served)), 0);
        assert!(crawl.form_figures().is_empty());
    });
}
