//! Redirects that are in the page: by a meta refresh or a script.

use std::time::Duration;

use tidewatch_archive::{path_of, read_at};
use tidewatch_core::{PageId, Reason, Span};
use tidewatch_lab::generate::renewal;
use tidewatch_testing::living::serve_trace;
use tidewatch_trace::TraceLink;
use tidewatch_web::{SENT_ON_TITLE, Served, WebHabits};
use tokio::runtime::Runtime;

use crate::living::{self, Stored};

const HOSTS: usize = 6;

#[test]
fn pages_that_send_all_on_are_redirects() {
    let runtime = Runtime::new().unwrap();
    let rates = renewal::Rates::Gamma { mean_per_day: 1e-6, squared_cv: 1.0 };
    let web = renewal::Config { rates, ..tidewatch_testing::living::web(HOSTS, 20 * HOSTS) };
    let habits = WebHabits { moved: 0.5, redirect_in_page: 1.0, ..WebHabits::faultless() };
    let mut trace = renewal::generate(&web, 3).trace;
    let count = trace.pages.len() as u32;
    for (source, step) in (0..count).flat_map(|page| [1, 2, 5].map(|step| (page, step))) {
        let page = (source + step) % count;
        let born = |page: u32| trace.pages[page as usize].born;
        let appears = born(source).max(born(page));
        trace.links.push(TraceLink { source, page, appears, disappears: None, position: None });
    }
    trace.arrange();
    let server = serve_trace(&runtime, trace, 3, habits, HOSTS);

    let mut config = living::config(Duration::from_millis(10));
    config.revisit.usual = Span::HOUR;
    // A rule that unites old and new URLs would spare the redirects.
    config.learn_rules = false;
    let dir = tempfile::tempdir().unwrap();
    let length = Duration::from_secs(8);
    let crawl =
        living::crawl(&runtime, &server, &config, dir.path(), length, &mut Stored::default());

    let requests = server.log().requests();
    let sent_on =
        requests.iter().filter(|request| request.served == Served::Redirect).count() as u64;
    let followed = crawl.tally().reasons.get(&Reason::Redirect).copied().unwrap_or(0);
    assert!(sent_on > 20, "{sent_on} redirects are no test");
    // The last answers may be under way when the crawl stops.
    assert!(sent_on - followed <= HOSTS as u64, "{followed} of {sent_on} followed");
    let mut held = 0;
    for row in crawl.store().tables().unwrap().copies_from(PageId(0)) {
        let (page, copy) = row.unwrap();
        let file = path_of(&dir.path().join("archive"), copy.place.file);
        let record = read_at(&file, copy.place.offset).unwrap();
        let body = String::from_utf8_lossy(record.message().1).into_owned();
        assert!(!body.contains(SENT_ON_TITLE), "page {} is held instead of its target", page.0);
        held += 1;
    }
    assert!(held > 3 * HOSTS, "{held} pages held");
}
