//! Rules learnt while crawling, as the live partition uses them: a URL is judged when a link leads to
//! it, and learnt from when it is first fetched.
//!
//! A URL whose key is taken is the known page of that key, unless it is a probe. Where beliefs about a
//! host move, its pages are judged again: those held first, because a key belongs to a page that is held.

use rustc_hash::FxHashMap;
use tidewatch_core::PageKey;
use tidewatch_core::Time;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_hygiene::spam::Label;
use tidewatch_hygiene::{Hygiene, Judgement, Met, Seen, Settings, Showed, Ties};
use tidewatch_math::Draws;
use tidewatch_policy::Return;
use tidewatch_trace::TruthClass;

use crate::world::World;

/// A doubt is told if it changes what a page is worth by more than this share, as in the live crawl.
const WORTH_TELLING: f64 = 0.1;
/// No page.
const NOBODY: u32 = u32::MAX;

/// What a link to an unknown page leads to.
pub(super) enum Leads {
    /// A page of its own, with this doubt.
    Anew(f64),
    /// Another address of this known page, with this chance.
    To(u32, f64),
}

/// What a page showed.
struct Copy {
    identity: u64,
    sketch: Box<[u64]>,
}

/// The learner and the index of keys.
pub(super) struct Learner<'w> {
    world: &'w World,
    hygiene: Hygiene,
    /// Per host of the trace.
    ties: Vec<Ties>,
    pages: Vec<Vec<u32>>,
    by_key: FxHashMap<u64, u32>,
    copies: FxHashMap<u32, Copy>,
    /// What the policy was told, per page.
    doubts: Vec<f64>,
}

impl<'w> Learner<'w> {
    /// `labels`: how many hosts of farms, and how many good ones, the operator has labelled.
    pub(super) fn new(world: &'w World, labels: u32) -> Self {
        let mut ties = vec![Ties::default(); world.trace().hosts.len()];
        for page in &world.trace().pages {
            ties[page.host as usize] = ties_of(&page.url);
        }
        let mut hygiene = Hygiene::new(Settings::default());
        label(&mut hygiene, world, labels);
        Learner {
            world,
            hygiene,
            pages: vec![Vec::new(); ties.len()],
            ties,
            by_key: FxHashMap::default(),
            copies: FxHashMap::default(),
            doubts: vec![0.0; world.len()],
        }
    }

    fn url(&self, page: u32) -> &'w str {
        &self.world.trace().pages[page as usize].url
    }

    fn host(&self, page: u32) -> usize {
        self.world.trace().pages[page as usize].host as usize
    }

    fn judge(&self, page: u32) -> Judgement {
        self.hygiene.judge(&Met { url: self.url(page), ties: self.ties[self.host(page)] })
    }

    /// The other page that has the key.
    fn taken(&self, page: u32, said: &Judgement) -> Option<u32> {
        self.by_key.get(&said.key).copied().filter(|&other| other != page)
    }

    /// Judges a page that is not known.
    pub(super) fn meet(&mut self, page: u32) -> Leads {
        let said = self.judge(page);
        match self.taken(page, &said).filter(|_| !said.is_probe) {
            Some(other) => {
                if let Some(rule) = said.rule {
                    self.hygiene.spared(rule);
                }
                Leads::To(other, said.chance)
            }
            None => Leads::Anew(said.doubt),
        }
    }

    /// The policy is told this doubt about a page.
    pub(super) fn told(&mut self, page: u32, doubt: f64) {
        self.doubts[page as usize] = doubt;
    }

    /// A page became known.
    pub(super) fn discovered(&mut self, page: u32) {
        let key = self.judge(page).key;
        self.by_key.entry(key).or_insert(page);
        let host = self.host(page);
        self.pages[host].push(page);
    }

    /// A page was fetched for the first time. Returns whether beliefs about its host moved.
    pub(super) fn fetched(
        &mut self,
        page: u32,
        identity: u64,
        sketch: &[u64],
        is_copy: bool,
    ) -> bool {
        let said = self.judge(page);
        let other = self.taken(page, &said).and_then(|other| self.copies.get(&other));
        let known = other.map(|copy| (copy.identity, &*copy.sketch));
        let truth = self.world.truth(page);
        let canonical = truth.same_as.filter(|_| truth.is_declared).map(|same| self.url(same));
        let showed = Showed::Page { identity, sketch, canonical, is_copy };
        let ties = self.ties[self.host(page)];
        let is_first = !self.copies.contains_key(&page);
        // Nobody names originals here.
        let is_original = false;
        let seen = Seen { url: self.url(page), ties, showed, known, is_first, is_original };
        let changed = self.hygiene.learn(&seen);
        if !is_copy {
            self.by_key.entry(said.key).or_insert(page);
        }
        self.copies.insert(page, Copy { identity, sketch: sketch.into() });
        changed.has_new_doubt || !changed.rules.is_empty()
    }

    /// Learns from the links of a page that was fetched for the first time. Returns a page of every host
    /// known, if any of them is to be judged again.
    pub(super) fn read(&mut self, page: u32, at: Time) -> Vec<u32> {
        let (world, url) = (self.world, self.url(page));
        let rows = &world.trace().links[world.link_rows(page)];
        let shown = rows
            .iter()
            .filter(|row| row.appears <= at && row.disappears.is_none_or(|gone| gone > at));
        let links = shown.map(|row| &*world.trace().pages[row.page as usize].url);
        self.hygiene.read(url, None, links);
        let is_new = self.hygiene.review();
        let firsts = self.pages.iter().filter_map(|pages| pages.first().copied());
        firsts.filter(|_| is_new).collect()
    }

    /// Learns what a fetched page brought of what was expected. Returns whether beliefs about its host moved.
    pub(super) fn came(&mut self, page: u32, of_page: &Return) -> bool {
        let Return { expected, clicks, weight, .. } = *of_page;
        let met = Met { url: self.url(page), ties: self.ties[self.host(page)] };
        self.hygiene.came(&met, weight * expected, weight * clicks)
    }

    /// Hosts taken for mirrors, each with the one that it mirrors, by name.
    pub(super) fn mirrors(&self) -> Vec<(String, String)> {
        let name = |origin: String| match CanonicalUrl::parse(&format!("{origin}/")) {
            Ok(url) => url.host().to_owned(),
            Err(_) => origin,
        };
        let pairs = self.hygiene.mirrors().into_iter();
        pairs.map(|(mirror, mirrored)| (name(mirror), name(mirrored))).collect()
    }

    /// Judges the known pages of a host again; `tell` gets those that wait and whose doubt moved.
    pub(super) fn judge_again(&mut self, page: u32, mut tell: impl FnMut(u32, f64)) {
        let host = self.host(page);
        let pages = std::mem::take(&mut self.pages[host]);
        let (held, waiting): (Vec<u32>, Vec<u32>) =
            pages.iter().partition(|page| self.copies.contains_key(page));
        for page in held {
            let owner = self.by_key.entry(self.judge(page).key).or_insert(NOBODY);
            // A page that waits yields its key to one that is held.
            if *owner == NOBODY || !self.copies.contains_key(owner) {
                *owner = page;
            }
        }
        for page in waiting {
            let said = self.judge(page);
            let taken = self.taken(page, &said).filter(|_| !said.is_probe);
            let doubt = if taken.is_some() { said.chance } else { said.doubt };
            self.by_key.entry(said.key).or_insert(page);
            let (own, before) = (1.0 - doubt, 1.0 - self.doubts[page as usize]);
            if (own - before).abs() > WORTH_TELLING * own.max(before) {
                self.doubts[page as usize] = doubt;
                tell(page, doubt);
            }
        }
        self.pages[host] = pages;
    }
}

/// Labels hosts by what most of their pages are, in an order drawn from the name of the trace's hosts.
fn label(hygiene: &mut Hygiene, world: &World, most: u32) {
    let trace = world.trace();
    let mut firsts: Vec<Option<u32>> = vec![None; trace.hosts.len()];
    for (page, row) in (0..).zip(&trace.pages) {
        firsts[row.host as usize].get_or_insert(page);
    }
    let draw = |page: &u32| {
        Draws::of(1, "lab.label", PageKey::of(&trace.pages[*page as usize].url).0).at(0)
    };
    let mut firsts: Vec<u32> = firsts.into_iter().flatten().collect();
    firsts.sort_by_key(draw);
    for (class, label) in [(TruthClass::Farm, Label::Spam), (TruthClass::Own, Label::Good)] {
        let of_class = firsts.iter().filter(|&&page| world.truth(page).class == class);
        for &page in of_class.take(most as usize) {
            hygiene.label(&trace.pages[page as usize].url, Some(label));
        }
    }
}

fn ties_of(url: &str) -> Ties {
    let url = CanonicalUrl::parse(url).ok();
    let domain = url.as_ref().and_then(|url| url.registrable_domain());
    // The trace does not say which hosts share an address.
    Ties { domain: domain.map_or(0, |domain| PageKey::of(domain).0), address: 0 }
}
