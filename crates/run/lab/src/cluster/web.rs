//! A small web that the simulated nodes crawl.

use std::net::{IpAddr, Ipv4Addr};

use tidewatch_cluster::place;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{Span, Time};
use tidewatch_math::Draws;

/// Pages of a host, on average.
const PAGES: u64 = 6;
/// Hosts that share an address, on average.
const SHARED: u64 = 3;

/// Hosts, addresses, pages and links.
#[derive(Debug)]
pub(super) struct Web {
    hosts: Vec<Host>,
    pages: Vec<Page>,
}

#[derive(Debug)]
struct Host {
    partition: u32,
    address: u32,
}

#[derive(Debug)]
struct Page {
    host: u32,
    born: Time,
    links: Vec<u32>,
    /// A page born later is found here only.
    is_hub: bool,
}

impl Web {
    /// A web of two hosts a partition. Page 0 is the seed; every other page is linked from an earlier
    /// one, from its birth on, and half of them are born in the first half of `duration`.
    pub(super) fn new(partitions: u32, duration: Span, draws: &mut Draws) -> Web {
        let count = 2 * u64::from(partitions);
        let host = |number: u64, draws: &mut Draws| {
            let url = CanonicalUrl::parse(&format!("http://h{number}.example/"));
            let partition = url.map_or(0, |url| place::owner(&url, partitions));
            Host { partition, address: draws.below((count / SHARED).max(1)) as u32 }
        };
        let hosts = (0..count).map(|number| host(number, draws)).collect();
        let mut web = Web { hosts, pages: Vec::new() };
        for number in 0..count * PAGES {
            web.add_page(number as u32, (number % count) as u32, duration, draws);
        }
        web
    }

    fn add_page(&mut self, number: u32, host: u32, duration: Span, draws: &mut Draws) {
        let is_late = number > 0 && draws.chance(0.5);
        let born =
            Time::from_micros(if is_late { draws.below(duration.as_micros() / 2 + 1) } else { 0 });
        self.pages.push(Page { host, born, links: Vec::new(), is_hub: number == 0 });
        if number == 0 {
            return;
        }
        // The parent is born before the child, so that everything is reachable.
        let parents = (0..u64::from(number)).map(|_| draws.below(u64::from(number)) as u32);
        let parent =
            parents.into_iter().find(|parent| self.page(*parent).born <= born).unwrap_or(0);
        let parent = &mut self.pages[parent as usize];
        parent.links.push(number);
        parent.is_hub |= is_late;
        // Popular pages are linked from everywhere.
        for _ in 0..3 {
            let popular = (f64::from(number).powf(draws.uniform()) as u32).min(number);
            self.pages[number as usize].links.push(popular);
        }
    }

    fn page(&self, page: u32) -> &Page {
        &self.pages[page as usize]
    }

    pub(super) fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    pub(super) fn url(&self, page: u32) -> String {
        format!("http://h{}.example/{page}", self.page(page).host)
    }

    /// The page of a URL of this web.
    pub(super) fn find(&self, url: &str) -> Option<u32> {
        let page = url.rsplit('/').next()?.parse().ok()?;
        (page < self.pages()).then_some(page)
    }

    pub(super) fn host(&self, page: u32) -> u32 {
        self.page(page).host
    }

    pub(super) fn is_hub(&self, page: u32) -> bool {
        self.page(page).is_hub
    }

    pub(super) fn owner(&self, page: u32) -> u32 {
        self.hosts[self.page(page).host as usize].partition
    }

    pub(super) fn address(&self, host: u32) -> u32 {
        self.hosts[host as usize].address
    }

    pub(super) fn ip(address: u32) -> IpAddr {
        Ipv4Addr::from(0x0a00_0000 + address).into()
    }

    /// The links that a page shows at a time.
    pub(super) fn links(&self, page: u32, at: Time) -> impl Iterator<Item = u32> {
        let links = self.page(page).links.iter().copied();
        links.filter(move |link| self.page(*link).born <= at)
    }
}
