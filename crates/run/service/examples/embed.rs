//! A crawl inside another program: seeds in, a search result out.
//!
//! It crawls a small living web on loopback, so that it runs anywhere:
//! `cargo run -p tidewatch-service --example embed`.

use std::time::{Duration, Instant};

use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Rate, Span};
use tidewatch_fetch::Hosts;
use tidewatch_service::{Service, ServiceConfig};
use tidewatch_testing::living;
use tidewatch_web::WebHabits;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A web of four hosts with ten pages each, in place of the real one.
    let runtime = tokio::runtime::Runtime::new()?;
    let web = living::serve(&runtime, &living::web(4, 40), 1, WebHabits::faultless());

    let dir = tempfile::tempdir()?;
    let mut config = ServiceConfig::new(dir.path());
    for (name, _) in web.names().iter() {
        config.seeds.push(CanonicalUrl::parse(&format!("http://{name}/"))?);
    }
    config.hosts = Some(Hosts::of(web.names().iter()));
    config.crawl.allow_private = true;
    config.crawl.budget = Rate::per_second(50.0).ok_or("no such rate")?;
    config.crawl.politeness.least_gap = Span::from_micros(50_000);
    // This web changes within seconds; a real one is left alone for hours.
    config.crawl.revisit.usual = Span::ZERO;
    let mut service = Service::open(&config)?;

    // The crawl has a thread of its own; the handle asks it from here.
    let handle = service.handle();
    let crawl = std::thread::spawn(move || service.run());
    let began = Instant::now();
    while handle.search("water", 1)?.total < 10 && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(200));
    }
    let status = handle.status()?;
    eprintln!("{} pages known, {} held", status.pages, status.tally.held);
    for hit in handle.search("water", 3)?.hits {
        let url = CanonicalUrl::parse(&hit.url)?;
        let visits = handle.why(&url)?.and_then(|known| known.copy).map_or(0, |copy| copy.visits);
        eprintln!("{url}: {} ({visits} visits)", hit.title);
    }
    handle.stop();
    crawl.join().map_err(|_| "the crawl panicked")??;
    Ok(())
}
