//! The web while it is being made: pages and links are added by what they are.

use rustc_hash::FxHashMap;
use tidewatch_core::Time;
use tidewatch_math::rng::Draws;
use tidewatch_trace::{Host, Trace, TraceLink, TracePage, Truth, TruthClass};

use super::roles::{Roles, roles};
use super::{SOON, UncleanConfig};

/// A trace that grows.
pub(super) struct Web<'c> {
    pub(super) config: &'c UncleanConfig,
    pub(super) seed: u64,
    pub(super) trace: Trace,
    /// One row for every page.
    truth: Vec<Truth>,
    by_url: FxHashMap<Box<str>, u32>,
    /// What is wrong with each host of the web underneath.
    roles: Vec<Roles>,
    /// Per host: the host whose frame of header and footer its pages have.
    frames: Vec<u32>,
}

impl<'c> Web<'c> {
    /// Takes a web whose pages all have content of their own.
    pub(super) fn of(trace: Trace, config: &'c UncleanConfig, seed: u64) -> Self {
        let own = |page| Truth { page, class: TruthClass::Own, same_as: None, is_declared: false };
        let numbered = trace.pages.iter().zip(0..);
        let hosts = trace.hosts.len() as u32;
        Web {
            truth: (0..trace.pages.len() as u32).map(own).collect(),
            by_url: numbered.map(|(page, number)| (page.url.clone(), number)).collect(),
            roles: (0..hosts).map(|host| roles(config, seed, host)).collect(),
            frames: (0..hosts).collect(),
            config,
            seed,
            trace,
        }
    }

    /// What is wrong with each host of the web underneath.
    pub(super) fn roles(&self) -> Vec<Roles> {
        self.roles.clone()
    }

    /// The draws of one item for one purpose.
    pub(super) fn draws(&self, label: &str, item: u64) -> Draws {
        Draws::of(self.seed, label, item)
    }

    pub(super) fn len(&self) -> u32 {
        self.trace.pages.len() as u32
    }

    pub(super) fn row(&self, page: u32) -> &TracePage {
        &self.trace.pages[page as usize]
    }

    pub(super) fn truth(&self, page: u32) -> Truth {
        self.truth[page as usize]
    }

    /// The page whose content `page` shows: often itself.
    pub(super) fn root(&self, page: u32) -> u32 {
        self.truth(page).same_as.unwrap_or(page)
    }

    /// The host whose frame the pages of `host` have.
    pub(super) fn frame(&self, host: u32) -> u32 {
        self.frames[host as usize]
    }

    /// The pages of a host, sources first.
    pub(super) fn pages_of(&self, host: u32) -> Vec<u32> {
        (0..self.len()).filter(|&page| self.row(page).host == host).collect()
    }

    /// The first source of every host: its front page.
    pub(super) fn fronts(&self) -> Vec<u32> {
        let mut fronts = vec![u32::MAX; self.trace.hosts.len()];
        for page in (0..self.len()).rev().filter(|&page| self.row(page).is_source) {
            fronts[self.row(page).host as usize] = page;
        }
        fronts
    }

    /// A new host, which must get a page next. `frame` is the host whose frame it has; its own if none.
    pub(super) fn add_host(&mut self, name: String, frame: Option<u32>) -> u32 {
        let number = self.trace.hosts.len() as u32;
        self.trace.hosts.push(Host { name: name.into_boxed_str(), max_rate: None });
        self.frames.push(frame.unwrap_or(number));
        number
    }

    /// The page with this URL, made if there is none. It never is there at time 0, so that a warm start
    /// does not hold it.
    pub(super) fn add(&mut self, url: String, host: u32, born: Time, class: TruthClass) -> u32 {
        if let Some(&known) = self.by_url.get(url.as_str()) {
            return known;
        }
        let page = self.len();
        self.by_url.insert(url.as_str().into(), page);
        self.trace.pages.push(TracePage::new(u64::from(page), url, host, born.max(SOON)));
        self.truth.push(Truth { page, class, same_as: None, is_declared: false });
        page
    }

    /// The same for a page that repeats another.
    pub(super) fn add_repeat(&mut self, url: String, host: u32, class: TruthClass, of: u32) -> u32 {
        let (before, root) = (self.len(), self.root(of));
        let page = self.add(url, host, self.row(of).born, class);
        if page >= before {
            let declares = self.roles.get(host as usize).is_some_and(|roles| roles.declares);
            let row = &mut self.truth[page as usize];
            (row.same_as, row.is_declared) = (Some(root), declares);
        }
        page
    }

    /// Gives a page another URL, unless some page has it.
    pub(super) fn rename(&mut self, page: u32, url: String) {
        if self.by_url.contains_key(url.as_str()) {
            return;
        }
        self.by_url.insert(url.as_str().into(), page);
        self.trace.pages[page as usize].url = url.into_boxed_str();
    }

    /// A link that stays from `from` on, or from when both its ends are there.
    pub(super) fn link(&mut self, source: u32, page: u32, from: Time) {
        let appears = from.max(self.row(source).born).max(self.row(page).born);
        self.trace.links.push(TraceLink {
            source,
            page,
            appears,
            disappears: None,
            position: None,
        });
    }

    /// The trace, sorted. A page that a link is shown twice to keeps the first.
    pub(super) fn finish(mut self) -> Trace {
        let is_told = |row: &Truth| row.class != TruthClass::Own;
        self.trace.truth = Some(self.truth.into_iter().filter(is_told).collect());
        self.trace.arrange();
        let mut until: FxHashMap<(u32, u32), Time> = FxHashMap::default();
        self.trace.links.retain(|link| {
            let gone = until.entry((link.source, link.page)).or_insert(Time::ZERO);
            let is_free = link.appears >= *gone;
            if is_free {
                // A moment later: two links of no length must not coincide.
                *gone = link.disappears.unwrap_or(Time::NEVER).max(link.appears + super::MOMENT);
            }
            is_free
        });
        self.trace
    }
}
