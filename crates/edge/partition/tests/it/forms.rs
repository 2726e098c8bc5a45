//! A crawl of a living web asks a form over real sockets, judged from the server's log.

use std::collections::BTreeSet;
use std::time::Duration;

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_core::{PageId, Reason, Span, Time};
use tidewatch_forms::{Answer, Question, Record, judge};
use tidewatch_parse::html::scan;
use tidewatch_parse::links::Links;
use tidewatch_partition::forms::{FormsRead, FormsWanted};
use tidewatch_partition::work::{Came, Job, Report};
use tidewatch_partition::{Clock, Config, Partition};
use tidewatch_testing::living::serve_trace;
use tidewatch_trace::{Host, Trace, TraceLink, TracePage};
use tidewatch_web::{LoggedRequest, Served, WebHabits, WebServer};
use tokio::runtime::Runtime;

use crate::living::{self, Stored};
use crate::small::brought;
use crate::{START, answer, config, run_on, says, seconds};

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

/// The form of every page of the small web.
fn question(page: &CanonicalUrl) -> Question {
    let mut links = Links::new("tidewatch");
    scan("<form action=/find><input name=q type=search></form>", &mut links);
    let form = links.finish(&Base::of(page).unwrap()).forms.remove(0);
    judge(&form, page).unwrap()
}

/// Ten records that nobody saw before.
fn result_of(query: &CanonicalUrl) -> Answer {
    let record =
        |n: u32| Record { link: None, text: format!("{} word{n}", query.query().unwrap()) };
    Answer { records: (0..10).map(record).collect(), ..Answer::default() }
}

fn is_query(url: &CanonicalUrl) -> bool {
    url.path() == "/find"
}

/// Every page has the form, and queries have answers.
fn searchable(job: &Job, now: Time) -> Report {
    let Job::Page { host, page, url, forms, .. } = job else { return answer(job, now) };
    let mut content = says(url.as_str(), []);
    content.forms = match forms {
        FormsWanted::Nothing => None,
        FormsWanted::Forms => {
            Some(FormsRead::Forms(vec![question(url)], "high water at noon and low tide".into()))
        }
        FormsWanted::Answer(_) => Some(FormsRead::Answer(result_of(url))),
    };
    brought(*host, *page, content)
}

/// The same, but queries end in this way.
fn with_queries(end: impl Fn() -> Came) -> impl Fn(&Job, Time) -> Report {
    move |job, now| {
        let mut report = searchable(job, now);
        if let (Job::Page { url, .. }, Report::Page { came, .. }) = (job, &mut report)
            && is_query(url)
        {
            *came = end();
        }
        report
    }
}

/// Opens a crawl that may ask the forms of a host.
fn open_for(host: &str, dir: &std::path::Path, at: Time) -> Partition {
    let mut config: Config = config();
    config.forms.hosts = vec![host.parse().unwrap()];
    Partition::open(dir, config, START + at.as_micros().cast_signed()).unwrap()
}

fn queries(crawl: &Partition) -> usize {
    let pages = (0..crawl.store().pages()).map(PageId);
    pages.filter(|page| is_query(&crawl.address(*page).unwrap())).count()
}

/// What was learnt of a host is kept while it is not named, and not used.
#[test]
fn a_host_that_is_no_longer_named_is_not_asked() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open_for("h0.example", dir.path(), Time::ZERO);
    crawl.seed(&crate::url(0, 0), Time::ZERO).unwrap();
    run_on(&mut crawl, Time::ZERO, seconds(8), searchable);
    let (asked, figures) = (queries(&crawl), crawl.form_figures());
    assert!(asked > 2, "{figures:?}");
    crawl.save().unwrap();
    drop(crawl);

    let mut without = open_for("h1.example", dir.path(), seconds(8));
    run_on(
        &mut without,
        seconds(8),
        seconds(60),
        with_queries(|| Came::Refused(Reason::Forbidden)),
    );
    assert_eq!(queries(&without), asked);
    assert_eq!(without.form_figures(), []);
    without.save().unwrap();
    drop(without);

    let again = open_for("h0.example", dir.path(), seconds(60));
    assert_eq!(again.form_figures(), figures);
}

/// A kill loses what a desk learnt, but neither the stop nor the day's count.
#[test]
fn a_stop_survives_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = open_for("h0.example", dir.path(), Time::ZERO);
    crawl.seed(&crate::url(0, 0), Time::ZERO).unwrap();
    run_on(&mut crawl, Time::ZERO, seconds(20), searchable);
    let overloaded = || Came::Overloaded(Reason::TooManyRequests, None);
    run_on(&mut crawl, seconds(20), seconds(40), with_queries(overloaded));
    let (asked, today) = (queries(&crawl), crawl.form_figures()[0].1.today);
    assert!(asked > 2 && today > 2, "{asked} {today}");
    drop(crawl);

    let mut again = open_for("h0.example", dir.path(), seconds(40));
    assert_eq!(again.form_figures()[0].1.today, today);
    run_on(&mut again, seconds(40), seconds(12 * 3600), searchable);
    assert_eq!(again.form_figures()[0].1.forms, 1, "the form was met again");
    assert_eq!(queries(&again), asked, "nothing is asked for a day");
}
