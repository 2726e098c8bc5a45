//! Guides: pages of lasting interest that no source shows. Articles and other guides link to them, so
//! a crawler finds them where it finds traps, and must tell the two apart.

use rand_distr::{Distribution, Poisson, StandardNormal};
use tidewatch_core::Time;
use tidewatch_trace::{Count, TruthClass};

use super::web::Web;
use crate::generate::echo::words;
use crate::generate::shared::instant;

/// Guides that an article or a guide links to.
const LINKS: u64 = 3;
/// Standard deviation of ln(expected clicks) among guides.
const SPREAD: f64 = 1.5;

/// Adds the guides of every host, links to them and clicks on them.
pub(super) fn add(web: &mut Web<'_>) {
    let articles: Vec<u32> = (0..web.len()).filter(|&page| !web.row(page).is_source).collect();
    let per_host = web.config.guides;
    let mut guides: Vec<Vec<u32>> = Vec::new();
    for host in 0..web.trace.hosts.len() as u32 {
        guides.push((0..per_host).map(|number| guide(web, host, number)).collect());
    }
    for page in articles.into_iter().chain(guides.concat()) {
        let own = &guides[web.row(page).host as usize];
        let mut draws = web.draws("unclean.related", u64::from(page));
        let mut targets: Vec<u32> =
            (0..LINKS).map(|_| own[draws.below(own.len() as u64) as usize]).collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets.into_iter().filter(|&target| target != page) {
            web.link(page, target, Time::ZERO);
        }
    }
    click(web, &guides.concat());
}

fn guide(web: &mut Web<'_>, host: u32, number: usize) -> u32 {
    let key = (u64::from(host) << 32) | number as u64;
    let [one, two] = words::fillers(&mut web.draws("unclean.guide", key));
    let url = format!("https://{}/guide/{one}-{two}-{number}", web.trace.hosts[host as usize].name);
    web.add(url, host, Time::ZERO, TruthClass::Own)
}

/// Clicks at any time of the trace; their expectation is lognormal.
fn click(web: &mut Web<'_>, guides: &[u32]) {
    let duration = web.trace.duration.seconds();
    let of_articles: f64 = web.trace.clicks.iter().flatten().map(|row| row.count).sum();
    let weight = |page: u32| -> f64 {
        let chance: f64 = StandardNormal.sample(&mut web.draws("unclean.fame", u64::from(page)));
        (SPREAD * chance).exp()
    };
    let weights: Vec<f64> = guides.iter().map(|&page| weight(page)).collect();
    let scale = web.config.guide_clicks * of_articles / weights.iter().sum::<f64>().max(1e-300);
    let mut rows = Vec::new();
    for (&page, weight) in guides.iter().zip(weights) {
        let mut draws = web.draws("unclean.click", u64::from(page));
        // A mean of zero, which the Poisson law refuses, is a page without clicks.
        let clicks = Poisson::new(scale * weight).map_or(0.0, |law| law.sample(&mut draws)) as u64;
        let times = (0..clicks).map(|_| instant(duration * draws.uniform()).max(super::SOON));
        let mut times: Vec<Time> = times.collect();
        times.sort_unstable();
        let row = |same: &[Time]| Count { page, at: same[0], count: same.len() as f64 };
        rows.extend(times.chunk_by(|a, b| a == b).map(row));
    }
    web.trace.clicks.get_or_insert_default().extend(rows);
}
