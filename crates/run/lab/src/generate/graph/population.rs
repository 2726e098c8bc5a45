//! Hosts, topics, births and impact of pages, before any link.

use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use tidewatch_math::rng::{Draws, purpose};
use tidewatch_math::sample::GammaRates;
use tidewatch_trace::Host;

use super::Config;
use crate::generate::shared::{assign_hosts, scaled, zipf};

/// Impact of a page that is shown but never clicked, relative to the mean of clicked ones.
const SHOWN_ONLY: f64 = 0.2;

/// Every page without its links, in order of birth.
pub(super) struct Population {
    pub(super) hosts: Vec<Host>,
    pub(super) host: Vec<u32>,
    pub(super) topic: Vec<u16>,
    /// Seconds from the start.
    pub(super) born: Vec<f64>,
    pub(super) appeal: Vec<Appeal>,
    /// The first page of each host.
    pub(super) roots: Vec<u32>,
}

/// How users treat a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Appeal {
    /// Never shown.
    None,
    /// Shown, with this impact, and never clicked.
    Shown(f64),
    /// Shown and clicked; impact of mean 1 over clicked pages.
    Clicked(f64),
}

impl Appeal {
    pub(super) const fn is_clicked(self) -> bool {
        matches!(self, Appeal::Clicked(_))
    }

    /// Impact in clicks.
    pub(super) const fn clicks(self) -> f64 {
        if let Appeal::Clicked(impact) = self { impact } else { 0.0 }
    }
}

impl Population {
    pub(super) fn draw(config: &Config, seed: u64) -> Self {
        let pages = scaled(config.pages, config.scale);
        let hosts = scaled(config.hosts, config.scale);
        let (host, hosts) = assign_hosts(pages, hosts, config.host_exponent, seed, "graph.host");
        let mut roots = vec![u32::MAX; hosts.len()];
        for (page, &host) in host.iter().enumerate().rev() {
            roots[host as usize] = page as u32;
        }
        let topic = topics(config, &host, hosts.len(), seed);
        let born = births(config, pages, seed);
        let appeal = appeals(config, &host, hosts.len(), seed);
        Population { hosts, host, topic, born, appeal, roots }
    }

    pub(super) fn len(&self) -> usize {
        self.host.len()
    }

    pub(super) fn is_root(&self, page: usize) -> bool {
        self.roots[self.host[page] as usize] as usize == page
    }
}

/// The topic of each page: its host's or a random one.
fn topics(config: &Config, host: &[u32], hosts: usize, seed: u64) -> Vec<u16> {
    let law = zipf(usize::from(config.topics), config.topic_exponent);
    let any = |label, item| law.sample(&mut Draws::keyed(seed, label, item)) as u16 - 1;
    let [of_host, of_page] = [purpose("graph.host-topic"), purpose("graph.page-topic")];
    let main: Vec<u16> = (0..hosts as u64).map(|h| any(of_host, h)).collect();
    let strays = purpose("graph.stray");
    host.par_iter()
        .enumerate()
        .map(|(page, &host)| {
            let stays = Draws::keyed(seed, strays, page as u64).chance(config.on_topic);
            if stays { main[host as usize] } else { any(of_page, page as u64) }
        })
        .collect()
}

/// Births: pages of the start at zero, then the others at uniform times.
fn births(config: &Config, pages: usize, seed: u64) -> Vec<f64> {
    let later = ((pages as f64 * config.born_later).round() as usize).min(pages - 1);
    let (label, duration) = (purpose("graph.birth"), config.duration.seconds());
    let mut born = vec![0.0; pages];
    let young = &mut born[pages - later..];
    young.par_iter_mut().enumerate().for_each(|(i, at)| {
        *at = Draws::keyed(seed, label, i as u64).uniform() * duration;
    });
    young.par_sort_unstable_by(f64::total_cmp);
    born
}

/// Clicked pages cluster on good hosts; their impact is lognormal with mean 1.
fn appeals(config: &Config, host: &[u32], hosts: usize, seed: u64) -> Vec<Appeal> {
    let [of_host, of_page] = [purpose("graph.quality"), purpose("graph.appeal")];
    let law = GammaRates::new(1.0, config.host_quality_cv2);
    let quality: Vec<f64> = (0..hosts as u64)
        .map(|h| law.map_or(1.0, |law| law.sample(&mut Draws::keyed(seed, of_host, h))))
        .collect();
    // Normalise by host size: otherwise the share of clicked pages would depend on a few large hosts.
    let mean = host.iter().map(|&h| quality[h as usize]).sum::<f64>() / host.len() as f64;
    let sigma = config.impact_spread;
    host.par_iter()
        .enumerate()
        .map(|(page, &h)| {
            let mut draws = Draws::keyed(seed, of_page, page as u64);
            let z: f64 = StandardNormal.sample(&mut draws);
            let impact = (sigma * z - sigma * sigma / 2.0).exp();
            let quality = quality[h as usize] / mean;
            let lot = draws.uniform();
            if lot < config.clicked * quality {
                Appeal::Clicked(impact)
            } else if lot < config.viewed.max(config.clicked) * quality {
                Appeal::Shown(SHOWN_ONLY * impact)
            } else {
                Appeal::None
            }
        })
        .collect()
}
