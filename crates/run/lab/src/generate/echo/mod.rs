//! A web of short-lived new pages, calibrated to the data set of ECHO.
//!
//! \[LOSS13\] (Lefortier, Ostroumova, Samosvat, Serdyukov, "Timely crawling of
//! high-quality ephemeral new content", CIKM 2013) publishes sizes and rates of
//! a data set that is not public. This generator makes a web that has them:
//!
//! 1. [`site`]: hosts and their sources;
//! 2. [`publish`]: pages, from a burn-in before the start to the end, each with
//!    a category, a topic, a score and a time of decay;
//! 3. [`popularity`]: the law from score to clicks, solved so that the share of
//!    clicked pages and the clicks per second are the published ones;
//! 4. [`links`]: which sources show a page, and when;
//! 5. [`clicks`]: clicks over time.
//!
//! Pages published before the start and still shown at the start are in the trace as pages born at 0,
//! with links that appear at 0 and without clicks.
//!
//! **Sources of figures.** Sizes, share clicked, profit and the share
//! of lasting pages: \[LOSS13\] §3.1, §5.1, table 1. Shapes that the paper leaves
//! open were measured on two open data sets: `[GLO17]`, three million clicks on
//! articles of the Globo.com portal (clicks by age, decay times, tail, rhythm
//! of readers), and `[DEN22]`, 135 front and section pages of 12 German news
//! sites seen hourly for 11 months (rhythm and spread of publication, links
//! shown, their stay, lags and overlap). Assumptions are marked as
//! such at their field of [`EchoConfig`]. Nothing is fitted to results of crawl policies.
//!
//! Two assumptions matter most to a crawler: host and category explain a third of the variance of
//! ln(popularity) (\[BAH12\], Bandari, Asur, Huberman, "The pulse of news in social media", ICWSM 2012,
//! find publisher and category the best predictors before publication); and editors' preference has a
//! correlation of 0.3 with popularity.
//!
//! Every random number is keyed by seed, purpose and host or page, and sums run
//! over fixed blocks, so the trace is the same on any number of threads.

mod clicks;
mod config;
mod facts;
mod links;
mod popularity;
mod publish;
mod site;
pub(super) mod words;

pub(super) use clicks::readers_rhythm;
pub use config::EchoConfig;

use rayon::prelude::*;
use tidewatch_core::{Time, calendar};
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_trace::{Count, Host, Trace, TraceLink, TracePage};

use super::Generated;
use links::Entry;
use popularity::Popularity;
use publish::Birth;
use site::{Shows, Site};
use words::CATEGORIES;

const URL: u64 = purpose("echo.url");
/// Midnight on a Monday in the year of the paper, which does not name the day.
const START: &str = "2013-02-04T00:00:00Z";
/// The start in days since 1970.
pub(super) const START_DAY: i64 = 15_740;
/// Number of a site's first page in its URLs.
const FIRST_NUMBER: usize = 100_000;

/// Generates the web. Panics if [`EchoConfig::check`] fails.
pub fn generate(config: &EchoConfig, seed: u64) -> Generated {
    assert_eq!(config.check(), Ok(()), "the settings were not checked");
    let sites = site::plan(config, seed);
    let rhythm = publish::rhythm(config);
    let births: Vec<Vec<Birth>> =
        sites.par_iter().map(|site| publish::publish(config, seed, site, &rhythm)).collect();
    let firsts = firsts(&births);
    let mut links = links::scroll(place(config, seed, &sites, &births, &firsts));
    let mut clicks = click(config, seed, &sites, &births, &firsts);
    let sources: usize = sites.iter().map(|site| site.sources.len()).sum();
    let numbers = number(births.iter().map(Vec::len).sum(), sources as u32, &links);
    links.iter_mut().for_each(|link| link.page = numbers[link.page as usize]);
    clicks.iter_mut().for_each(|row| row.page = numbers[row.page as usize]);
    clicks.retain(|row| row.page != UNSHOWN);
    let (pages, lasting) = pages(seed, &sites, &births, &firsts, &numbers);
    let trace = Trace {
        name: "echo".to_owned(),
        duration: config.duration,
        start: Some(START.to_owned()),
        note: Some(format!("simulated after [LOSS13], scale {}, seed {seed}", config.scale)),
        pages,
        hosts: sites.iter().map(|site| host(config, site)).collect(),
        links,
        clicks: Some(clicks),
        ..Trace::default()
    };
    let facts = facts::compare(config, &sites, &trace, &lasting);
    Generated { trace, facts }
}

/// Marks a page that no source shows within the trace.
const UNSHOWN: u32 = u32::MAX;

/// Number of each site's first page among all births.
fn firsts(births: &[Vec<Birth>]) -> Vec<u32> {
    births
        .iter()
        .scan(0, |next, born| {
            let first = *next;
            *next += born.len() as u32;
            Some(first)
        })
        .collect()
}

fn place(
    config: &EchoConfig,
    seed: u64,
    sites: &[Site],
    births: &[Vec<Birth>],
    firsts: &[u32],
) -> Vec<Entry> {
    let choices = links::choices(config, sites, births);
    let entries: Vec<Vec<Entry>> = (sites, births, &choices, firsts)
        .into_par_iter()
        .map(|(site, born, choice, &first)| {
            links::place(config, seed, sites, (site, born, choice), first)
        })
        .collect();
    entries.concat()
}

fn click(
    config: &EchoConfig,
    seed: u64,
    sites: &[Site],
    births: &[Vec<Birth>],
    firsts: &[u32],
) -> Vec<Count> {
    let new: Vec<&Birth> = births.iter().flatten().filter(|birth| birth.at >= 0.0).collect();
    let popularity = Popularity::calibrate(config, &new);
    let readers = clicks::Readers::new(config);
    let rows: Vec<Vec<Count>> = (sites, births, firsts)
        .into_par_iter()
        .map(|(site, born, &first)| {
            clicks::draw(config, seed, (site, born), (&popularity, &readers), first)
        })
        .collect();
    rows.concat()
}

/// Numbers the pages that some source shows, after the sources, in the order of births.
fn number(births: usize, sources: u32, links: &[TraceLink]) -> Vec<u32> {
    let mut numbers = vec![UNSHOWN; births];
    links.iter().for_each(|link| numbers[link.page as usize] = 0);
    let shown = numbers.iter_mut().filter(|number| **number != UNSHOWN);
    (sources..).zip(shown).for_each(|(next, number)| *number = next);
    numbers
}

/// Sources, then the shown pages; and which of those are of lasting interest.
fn pages(
    seed: u64,
    sites: &[Site],
    births: &[Vec<Birth>],
    firsts: &[u32],
    numbers: &[u32],
) -> (Vec<TracePage>, Vec<bool>) {
    let mut pages: Vec<TracePage> = sites.iter().flat_map(sources).collect();
    let mut lasting = vec![false; pages.len()];
    let of_sites: Vec<Vec<(TracePage, bool)>> = (sites, births, firsts)
        .into_par_iter()
        .map(|(site, born, &first)| {
            let shown = (first as usize..).zip(born).enumerate();
            shown
                .filter(|(_, (number, _))| numbers[*number] != UNSHOWN)
                .map(|(index, (number, birth))| {
                    let page = page(seed, site, index, birth, numbers[number]);
                    (page, birth.decay.is_infinite())
                })
                .collect()
        })
        .collect();
    for (page, is_lasting) in of_sites.into_iter().flatten() {
        pages.push(page);
        lasting.push(is_lasting);
    }
    (pages, lasting)
}

fn page(seed: u64, site: &Site, index: usize, birth: &Birth, number: u32) -> TracePage {
    let mut draws = Draws::keyed(seed, URL, publish::key(site, index));
    let (year, month, day) = calendar::date(START_DAY + (birth.at / 86_400.0).floor() as i64);
    let category = site.categories[usize::from(birth.category)].name;
    let topic = words::topic(category, u64::from(birth.topic));
    let [one, two] = words::fillers(&mut draws);
    let (host, id) = (host_name(site), FIRST_NUMBER + index);
    let url = if site.is_blog {
        format!("https://{host}/{year}/{month:02}/{topic}-{one}-{two}-{id}")
    } else {
        let category = CATEGORIES[category];
        format!("https://{host}/{category}/{year}/{month:02}/{day:02}/{topic}-{one}-{two}-{id}")
    };
    TracePage::new(
        u64::from(number),
        url.into_boxed_str(),
        site.number,
        Time::from_micros(links::micros(birth.at).max(0) as u64),
    )
}

fn sources(site: &Site) -> Vec<TracePage> {
    let mut lists = 0;
    let source = |(index, source): (usize, &site::Source)| {
        let path = match source.shows {
            Shows::Front => String::new(),
            Shows::Latest => {
                lists += 1;
                if lists == 1 { "latest/" } else { "rss.xml" }.to_owned()
            }
            Shows::Category(category) => {
                format!("{}/", CATEGORIES[site.categories[usize::from(category)].name])
            }
            Shows::Section { category, part } => {
                let name = site.categories[usize::from(category)].name;
                format!("{}/{}/", CATEGORIES[name], words::topic(name, u64::from(part)))
            }
            Shows::Column => format!("pages/{index}/"),
            Shows::Quiet => format!("info/{index}/"),
        };
        TracePage {
            id: u64::from(site.first_source) + index as u64,
            url: format!("https://{}/{path}", host_name(site)).into_boxed_str(),
            host: site.number,
            born: Time::ZERO,
            died: None,
            is_source: true,
            weight: 1.0,
            is_seed: true,
        }
    };
    site.sources.iter().enumerate().map(source).collect()
}

fn host(config: &EchoConfig, site: &Site) -> Host {
    Host { name: host_name(site).into_boxed_str(), max_rate: config.host_max_rate }
}

fn host_name(site: &Site) -> String {
    format!("{}-{:03}.example", if site.is_blog { "blog" } else { "news" }, site.number)
}

#[cfg(test)]
mod tests;
