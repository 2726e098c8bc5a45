//! The web that the demo serves: news that appears and fades, and reference pages that change.

use anyhow::Result;
use tidewatch_core::Span;
use tidewatch_lab::generate::merge::{Part, merge};
use tidewatch_lab::generate::{echo, renewal};
use tidewatch_trace::Trace;

/// New pages a day that one news site or blog puts up, on average.
const NEW_PAGES_PER_DAY: f64 = 60.0;
/// Sources (front and category pages) of one news site or blog.
const SOURCES_PER_HOST: usize = 4;
/// Links to a new page, as in the published data set.
const LINKS_PER_PAGE: f64 = 5.8;
/// Clicks a second that new pages get, for every new page a day: the published ratio.
const PROFIT_PER_DAILY_PAGE: f64 = 0.72 / (415_000.0 / 21.0);
/// How long news has run before the demo: long enough for sources to show
/// something, too short for old news to eat up the first minute.
const BURN_IN: Span = Span::HOUR.times(6);
/// Pages of one reference host.
const REFERENCE_PAGES: usize = 50;
/// Changes a day of a reference page, on average: more than a demo can follow.
const CHANGES_PER_DAY: f64 = 2.0;

/// Makes a web of `hosts` hosts that lives for `duration`.
pub(super) fn build(hosts: usize, duration: Span, seed: u64) -> Result<Trace> {
    let references = (hosts / 3).max(1);
    let news = news(hosts.saturating_sub(references).max(1), duration, seed)?;
    let reference = reference(references, duration, seed)?;
    let parts = [("", news), ("ref", reference)];
    let mut trace = merge("demo", parts.map(|(label, trace)| Part { label, trace }).into());
    trace.note = Some(format!("A simulated web of {hosts} hosts, seed {seed}."));
    Ok(trace)
}

fn news(hosts: usize, duration: Span, seed: u64) -> Result<Trace> {
    let blogs = hosts / 3;
    let per_day = NEW_PAGES_PER_DAY * hosts as f64;
    let pages = (per_day * duration.seconds() / Span::DAY.seconds()).ceil().max(1.0);
    let config = echo::EchoConfig {
        news_sites: hosts - blogs,
        blogs,
        sources: SOURCES_PER_HOST * hosts,
        pages: pages as usize,
        links: (LINKS_PER_PAGE * pages).ceil() as usize,
        profit_per_second: PROFIT_PER_DAILY_PAGE * per_day,
        duration,
        measured: duration,
        aftermath: Span::DAY,
        burn_in: BURN_IN,
        ..echo::EchoConfig::default()
    };
    config.check()?;
    Ok(echo::generate(&config, seed).trace)
}

fn reference(hosts: usize, duration: Span, seed: u64) -> Result<Trace> {
    let config = renewal::Config {
        pages: REFERENCE_PAGES * hosts,
        hosts,
        duration,
        rates: renewal::Rates::Gamma { mean_per_day: CHANGES_PER_DAY, squared_cv: 4.6 },
        ..renewal::Config::default()
    };
    config.check()?;
    Ok(renewal::generate(&config, seed).trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_web_is_valid_and_has_the_hosts_asked_for() {
        for hosts in [2, 3, 24] {
            let trace = build(hosts, Span::HOUR.times(12), 1).unwrap();
            trace.check().unwrap();
            assert!(trace.hosts.len() <= hosts && !trace.hosts.is_empty());
            assert!(trace.pages.iter().any(|page| page.is_source));
            assert!(trace.clicks.as_ref().is_some_and(|rows| !rows.is_empty()));
            assert!(trace.changes.as_ref().is_some_and(|rows| !rows.is_empty()));
        }
    }
}
