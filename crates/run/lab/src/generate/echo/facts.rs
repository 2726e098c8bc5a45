//! Compares a generated web with the figures it is calibrated to.

use tidewatch_core::{Span, Time};
use tidewatch_math::{Moments, stats};
use tidewatch_trace::{Count, Trace, TraceLink, TracePage};

use super::config::EchoConfig;
use super::site::{Shows, Site};
use crate::generate::Fact;
use crate::generate::shared::{known, shape, top_share};

const LOSS13: &str = "[LOSS13] §5.1";
const GLO17: &str = "[GLO17], measured on the data";
const DEN22: &str = "[DEN22], measured on the data";
/// Fewest clicks of a page whose decay is measured.
const TELLING_CLICKS: f64 = 10.0;
/// Fewest clicks of a page for the spread of decay times, to keep noise small.
const POPULAR_CLICKS: f64 = 100.0;
/// The data set has bins of 20 minutes; the middle of a bin counts.
const BIN_HOURS: f64 = 1.0 / 6.0;

/// Figures with a published counterpart, and some without.
pub(super) fn compare(
    config: &EchoConfig,
    sites: &[Site],
    trace: &Trace,
    lasting: &[bool],
) -> Vec<Fact> {
    let clicks = trace.clicks.as_deref().unwrap_or(&[]);
    let is_new: Vec<bool> = trace.pages.iter().map(is_new).collect();
    let new = is_new.iter().filter(|&&new| new).count() as f64;
    let per_page = clicks_per_page(trace.pages.len(), clicks);
    let mut facts = sizes(config, sites, trace, &is_new, new);
    facts.extend(interest(config, trace, lasting, &per_page, new));
    facts.extend(decay(trace, clicks, &per_page));
    facts.extend(rhythm(trace, &is_new));
    facts.extend(stay(sites, trace, &is_new));
    facts.extend(tails(trace, &is_new, &per_page));
    facts
}

fn is_new(page: &TracePage) -> bool {
    !page.is_source && page.born > Time::ZERO
}

fn clicks_per_page(pages: usize, clicks: &[Count]) -> Vec<f64> {
    let mut per_page = vec![0.0; pages];
    clicks.iter().for_each(|row| per_page[row.page as usize] += row.count);
    per_page
}

fn new_links<'a>(trace: &'a Trace, is_new: &'a [bool]) -> impl Iterator<Item = &'a TraceLink> {
    trace.links.iter().filter(|link| is_new[link.page as usize])
}

fn sizes(
    config: &EchoConfig,
    sites: &[Site],
    trace: &Trace,
    is_new: &[bool],
    new: f64,
) -> Vec<Fact> {
    let scaled = |count: usize| count as f64 * config.scale;
    let blogs = sites.iter().filter(|site| site.is_blog).count() as f64;
    let sources = trace.pages.iter().filter(|page| page.is_source).count() as f64;
    let links = new_links(trace, is_new).count() as f64;
    let per_page = config.links as f64 / config.pages as f64;
    vec![
        known("news sites", scaled(config.news_sites), sites.len() as f64 - blogs, LOSS13),
        known("blogs", scaled(config.blogs), blogs, LOSS13),
        known("content sources", scaled(config.sources), sources, LOSS13),
        known("new pages", scaled(config.pages), new, LOSS13),
        known("links from sources to new pages", scaled(config.links), links, LOSS13),
        known("sources per new page, mean", per_page, links / new, LOSS13),
        shape(
            "old pages shown at the start",
            trace.pages.len() as f64 - sources - new,
            "sources begin full",
        ),
    ]
}

fn interest(
    config: &EchoConfig,
    trace: &Trace,
    lasting: &[bool],
    per_page: &[f64],
    new: f64,
) -> Vec<Fact> {
    let clicked = per_page.iter().filter(|&&clicks| clicks > 0.0).count() as f64;
    let lasting =
        per_page.iter().zip(lasting).filter(|(clicks, lasting)| **clicks > 0.0 && **lasting);
    let from = Time::ZERO + config.duration - config.measured;
    let measured = trace.pages.iter().zip(per_page).filter(|(page, _)| page.born >= from);
    let seconds = (Time::ZERO + config.duration).since(from).seconds();
    let profit = measured.map(|(_, clicks)| clicks).sum::<f64>() / seconds;
    vec![
        known("share of new pages ever clicked", config.clicked_share, clicked / new, LOSS13),
        known(
            "clicks per second on the pages of the last week",
            config.profit_per_second * config.scale,
            profit,
            "[LOSS13] table 1, upper bound",
        ),
        known(
            "share of clicked pages with lasting interest",
            config.lasting_share,
            lasting.count() as f64 / clicked,
            "[LOSS13] §3.1",
        ),
    ]
}

/// Delay of clicks: per page with enough clicks, and over all clicks.
fn decay(trace: &Trace, clicks: &[Count], per_page: &[f64]) -> Vec<Fact> {
    let (mut half, mut most, mut popular) = (Vec::new(), Vec::new(), Vec::new());
    let (mut first_week, mut all) = (0.0, 0.0);
    for rows in clicks.chunk_by(|a, b| a.page == b.page) {
        let page = rows[0].page as usize;
        let age = |at: Time| at.since(trace.pages[page].born);
        first_week +=
            rows.iter().filter(|row| age(row.at) < Span::WEEK).map(|row| row.count).sum::<f64>();
        all += per_page[page];
        if per_page[page] >= TELLING_CLICKS {
            half.push(hours_until(rows, 0.5 * per_page[page]));
            if per_page[page] >= POPULAR_CLICKS {
                popular.push(hours_until(rows, 0.5 * per_page[page]).max(BIN_HOURS).ln());
            }
            most.push(hours_until(rows, 0.9 * per_page[page]));
        }
    }
    vec![
        known("hours from the first to half of a page's clicks, median", 7.9, median(&half), GLO17),
        known("hours from the first to 90% of a page's clicks, median", 22.4, median(&most), GLO17),
        known(
            "standard deviation of ln(hours to half), 100 clicks or more",
            0.90,
            deviation(&popular),
            GLO17,
        ),
        known("share of clicks within a week of birth", 0.987, first_week / all, GLO17),
    ]
}

/// Hours from the first click until a share of all clicks.
fn hours_until(rows: &[Count], clicks: f64) -> f64 {
    let mut sum = 0.0;
    let reached = rows.iter().find(|row| {
        sum += row.count;
        sum >= clicks
    });
    reached.map_or(0.0, |row| row.at.since(rows[0].at).seconds() / 3600.0)
}

fn rhythm(trace: &Trace, is_new: &[bool]) -> Vec<Fact> {
    let (mut hours, mut days) = ([0.0_f64; 24], [0.0_f64; 7]);
    for (page, _) in trace.pages.iter().zip(is_new).filter(|(_, new)| **new) {
        let seconds = page.born.seconds();
        hours[(seconds / 3600.0) as usize % 24] += 1.0;
        days[(seconds / 86_400.0) as usize % 7] += 1.0;
    }
    let busiest = hours.iter().copied().fold(0.0, f64::max);
    let quietest = hours.iter().copied().fold(f64::INFINITY, f64::min);
    let weekend = f64::midpoint(days[5], days[6]);
    let working = days[..5].iter().sum::<f64>() / 5.0;
    vec![
        known("new pages, busiest over quietest hour of the day", 10.0, busiest / quietest, DEN22),
        known("new pages, weekend day over working day", 0.59, weekend / working, DEN22),
    ]
}

fn stay(sites: &[Site], trace: &Trace, is_new: &[bool]) -> Vec<Fact> {
    let shows: Vec<Shows> =
        sites.iter().flat_map(|site| &site.sources).map(|source| source.shows).collect();
    let hours = |link: &TraceLink| {
        let gone = link.disappears.unwrap_or(Time::NEVER);
        gone.since(link.appears).seconds() / 3600.0
    };
    let on = |wanted: fn(Shows) -> bool| {
        let shown = new_links(trace, is_new).filter(|link| wanted(shows[link.source as usize]));
        median(&shown.map(hours).collect::<Vec<f64>>())
    };
    let is_topical = |shows| matches!(shows, Shows::Category(_) | Shows::Section { .. });
    let days = trace.duration.seconds() / 86_400.0;
    let mut rates = vec![0.0; shows.len()];
    new_links(trace, is_new).for_each(|link| rates[link.source as usize] += 1.0 / days);
    let logs: Vec<f64> = rates.iter().filter(|&&rate| rate > 0.0).map(|rate| rate.ln()).collect();
    vec![
        known(
            "hours that a front page shows a link, median",
            4.6,
            on(|s| s == Shows::Front),
            DEN22,
        ),
        known(
            "hours that categories and sections show a link, median",
            25.9,
            on(is_topical),
            DEN22,
        ),
        shape("hours that any source shows a link, median", on(|_| true), "busy lists scroll fast"),
        known("new links a day on a source, median", 7.9, median(&rates), DEN22),
        known("standard deviation of ln(new links) among sources", 1.89, deviation(&logs), DEN22),
    ]
}

fn tails(trace: &Trace, is_new: &[bool], per_page: &[f64]) -> Vec<Fact> {
    let clicked: Vec<f64> = per_page.iter().copied().filter(|&clicks| clicks > 0.0).collect();
    let mut of_hosts = vec![0.0; trace.hosts.len()];
    for (page, clicks) in trace.pages.iter().zip(per_page) {
        of_hosts[page.host as usize] += clicks;
    }
    let sources = trace.pages.iter().filter(|page| page.is_source).count();
    let mut of_sources = vec![0.0; sources];
    let mut shown = vec![0.0; per_page.len()];
    for link in new_links(trace, is_new) {
        of_sources[link.source as usize] += per_page[link.page as usize];
        shown[link.page as usize] += 1.0;
    }
    let new: Vec<f64> = of_new(is_new, per_page);
    let logs: Vec<f64> = new.iter().map(|clicks| clicks.ln_1p()).collect();
    let with_sources = stats::pearson(&of_new(is_new, &shown), &logs);
    vec![
        known(
            "share of clicks on the top 1% of clicked pages",
            0.68,
            top_share(&clicked, 0.01),
            GLO17,
        ),
        known(
            "share of clicks on the top 5% of clicked pages",
            0.90,
            top_share(&clicked, 0.05),
            GLO17,
        ),
        shape("share of clicks on the top 1% of new pages", top_share(&new, 0.01), "heavy tail"),
        shape("share of clicks on the top 10% of hosts", top_share(&of_hosts, 0.1), "heavy tail"),
        shape(
            "share of profit on the top 10% of sources",
            top_share(&of_sources, 0.1),
            "heavy tail",
        ),
        shape(
            "correlation of ln(1 + clicks) with the number of sources",
            with_sources,
            "modest, assumed",
        ),
    ]
}

fn of_new(is_new: &[bool], values: &[f64]) -> Vec<f64> {
    values.iter().zip(is_new).filter(|(_, new)| **new).map(|(value, _)| *value).collect()
}

fn median(values: &[f64]) -> f64 {
    stats::quantile(&stats::sorted(values), 0.5)
}

fn deviation(values: &[f64]) -> f64 {
    let mut moments = Moments::new();
    values.iter().for_each(|&value| moments.add(value));
    moments.deviation()
}
