//! The fit of a page that was only linked to.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tidewatch_core::{HostId, PageId};

use crate::gist::places_of_words;
use crate::logistic;

/// Places for the words of URLs.
const PLACES: usize = 1 << 16;
/// Words taken of a URL.
const MOST_WORDS: usize = 24;
/// The first steps of a weight; they shrink by AdaGrad.
const STEP: f64 = 0.1;
/// Pages that the prior of a yield counts as: it is (good + 4·mean)/(children + 4).
const SHRINK: f64 = 4.0;
const THIRD: f64 = 1.0 / 3.0;
/// Bound of the evidence of a link's words: log odds of 98%.
const MOST_LEAN: f64 = 4.0;
/// Numbers that describe a link besides the words of its URL.
const NUMBERS: usize = 7;

/// A link to a page that was never fetched.
#[derive(Clone, Copy, Debug)]
pub struct Link<'l> {
    /// The page that links, if it is known.
    pub via: Option<PageId>,
    /// The host that is linked to.
    pub host: HostId,
    /// The URL.
    pub url: &'l str,
    /// Evidence of the link's words ([`Topic::lean`](crate::Topic::lean)); 0 if they are unknown.
    pub lean: f64,
    /// Whether the link stays on its host.
    pub is_inner: bool,
}

/// Fits of the pages behind something: a page's links, a host's pages.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Yield {
    sum: f32,
    pages: u32,
}

impl Yield {
    fn add(&mut self, fit: f64) {
        self.sum += fit as f32;
        self.pages += 1;
    }

    fn mean(self, all: f64) -> f64 {
        (f64::from(self.sum) + SHRINK * all) / (f64::from(self.pages) + SHRINK)
    }
}

/// Predicts the fit of linked pages: an online logistic regression on the fit of the linking page, the mean fit
/// of the pages that it and the host have led to, the evidence of the link's words, and the words of the URL.
#[derive(Debug, Serialize, Deserialize)]
pub struct Leads {
    numbers: [f64; NUMBERS],
    number_squares: [f64; NUMBERS],
    words: Vec<f32>,
    word_squares: Vec<f32>,
    /// Fits of pages that came, by page; NaN for others.
    fits: Vec<f32>,
    /// Fits of the pages that each page has led to.
    links: FxHashMap<PageId, Yield>,
    hosts: Vec<Yield>,
    /// Sum of all fits, and their number. Single precision would lose those of a large crawl.
    all: (f64, f64),
}

impl Default for Leads {
    fn default() -> Self {
        Leads {
            // At first the fit of a linked page is that of the linking page, its siblings and its host, a third
            // each. The link's words count half, since they are not independent of each other.
            numbers: [0.0, THIRD, THIRD, THIRD, 0.5, 0.0, 0.0],
            number_squares: [1e-8; NUMBERS],
            words: vec![0.0; PLACES],
            word_squares: vec![1e-8; PLACES],
            fits: Vec::new(),
            links: FxHashMap::default(),
            hosts: Vec::new(),
            all: (0.0, 0.0),
        }
    }
}

impl Leads {
    /// Probability that the page behind a link is wanted.
    pub fn judge(&self, link: &Link<'_>) -> f64 {
        logistic(self.score(&self.describe(link), &words_of(link.url)))
    }

    /// Learns from the fit of a linked page that was fetched for the first time.
    pub fn learn(&mut self, link: &Link<'_>, fit: f64) {
        if !(0.0..=1.0).contains(&fit) {
            return;
        }
        let (numbers, words) = (self.describe(link), words_of(link.url));
        let error = logistic(self.score(&numbers, &words)) - fit;
        for (at, x) in numbers.into_iter().enumerate() {
            let slope = error * x;
            self.number_squares[at] += slope * slope;
            self.numbers[at] -= STEP * slope / self.number_squares[at].sqrt();
        }
        let x = weight_of_word(&words);
        for &at in &words {
            let slope = (error * x) as f32;
            self.word_squares[at] += slope * slope;
            self.words[at] -= STEP as f32 * slope / self.word_squares[at].sqrt();
        }
        if let Some(via) = link.via {
            self.links.entry(via).or_default().add(fit);
        }
        self.host(link.host).add(fit);
        self.all = (self.all.0 + fit, self.all.1 + 1.0);
    }

    /// Notes the fit of a fetched page.
    pub fn came(&mut self, page: PageId, fit: f64) {
        if self.fits.len() <= page.index() {
            self.fits.resize(page.index() + 1, f32::NAN);
        }
        self.fits[page.index()] = fit as f32;
    }

    /// The fit of a page, if it was fetched.
    pub fn fit(&self, page: PageId) -> Option<f64> {
        let fit = self.fits.get(page.index()).filter(|fit| !fit.is_nan());
        fit.map(|fit| f64::from(*fit))
    }

    /// Mean fit of the pages that a page's links lead to.
    pub fn yield_of(&self, page: PageId) -> f64 {
        self.links.get(&page).copied().unwrap_or_default().mean(self.mean())
    }

    /// Mean fit of the pages that came; a half before the first.
    fn mean(&self) -> f64 {
        (self.all.0 + 0.5) / (self.all.1 + 1.0)
    }

    fn host(&mut self, host: HostId) -> &mut Yield {
        let at = host.0 as usize;
        if self.hosts.len() <= at {
            self.hosts.resize(at + 1, Yield::default());
        }
        &mut self.hosts[at]
    }

    /// The numbers x of a link. Chances count by their log odds.
    fn describe(&self, link: &Link<'_>) -> [f64; NUMBERS] {
        let all = self.mean();
        let parent = link.via.and_then(|via| self.fit(via)).unwrap_or(all);
        let siblings = link.via.map_or(all, |via| self.yield_of(via));
        let host = self.hosts.get(link.host.0 as usize).copied().unwrap_or_default().mean(all);
        let [parent, siblings, host] = [parent, siblings, host].map(odds);
        let is_inner = f64::from(u8::from(link.is_inner));
        let lean = if link.lean.is_nan() { 0.0 } else { link.lean.clamp(-MOST_LEAN, MOST_LEAN) };
        [1.0, parent, siblings, host, lean, is_inner, is_inner * parent]
    }

    fn score(&self, numbers: &[f64; NUMBERS], words: &[usize]) -> f64 {
        let by_numbers: f64 = numbers.iter().zip(&self.numbers).map(|(x, weight)| x * weight).sum();
        let by_words: f64 = words.iter().map(|at| f64::from(self.words[*at])).sum();
        by_numbers + by_words * weight_of_word(words)
    }
}

/// ln(p/(1 − p)) with p kept from 0 and 1, so that no single chance decides.
fn odds(chance: f64) -> f64 {
    let chance = chance.clamp(0.01, 0.99);
    (chance / (1.0 - chance)).ln()
}

/// A URL's words share a length of 1.
fn weight_of_word(words: &[usize]) -> f64 {
    if words.is_empty() { 0.0 } else { 1.0 / (words.len() as f64).sqrt() }
}

/// Places of the words of a path and query; the host is counted by itself.
fn words_of(url: &str) -> Vec<usize> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let mut places = places_of_words(path);
    places.truncate(MOST_WORDS);
    places.into_iter().map(|place| place as usize % PLACES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(via: u32, url: &str) -> Link<'_> {
        Link { via: Some(PageId(via)), host: HostId(0), url, lean: 0.0, is_inner: true }
    }

    #[test]
    fn nothing_known_says_a_half() {
        let leads = Leads::default();
        assert!((leads.judge(&link(0, "http://a.example/x")) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_page_leads_to_what_it_led_to_before() {
        let mut leads = Leads::default();
        for n in 0..400 {
            let (via, fit) = if n % 2 == 0 { (1, 1.0) } else { (2, 0.0) };
            let url = format!("http://a.example/{n}");
            leads.learn(&link(via, &url), fit);
        }
        let (good, bad) = (
            leads.judge(&link(1, "http://a.example/x")),
            leads.judge(&link(2, "http://a.example/x")),
        );
        assert!(good > 0.9 && bad < 0.1, "{good} {bad}");
        assert!(leads.yield_of(PageId(1)) > 0.95 && leads.yield_of(PageId(2)) < 0.05);
        assert!((leads.yield_of(PageId(3)) - leads.mean()).abs() < 1e-6);
    }

    /// After thirty million pages of little fit the next ones still count.
    #[test]
    fn the_mean_follows_however_many_pages_came() {
        let mut leads = Leads { all: (1.5e6, 3e7), ..Leads::default() };
        (0..1000).for_each(|_| leads.learn(&link(1, "http://a.example/x"), 0.05));
        assert!((leads.mean() - 0.05).abs() < 1e-7, "{}", leads.mean());
    }

    #[test]
    fn words_of_the_url_count() {
        let mut leads = Leads::default();
        for n in 0..400 {
            let (word, fit) = if n % 2 == 0 { ("tides", 1.0) } else { ("sports", 0.0) };
            let url = format!("http://a.example/{word}/page{n}");
            leads.learn(&link(1, &url), fit);
        }
        let good = leads.judge(&link(1, "http://a.example/tides/new"));
        let bad = leads.judge(&link(1, "http://a.example/sports/new"));
        assert!(good > 0.8 && bad < 0.2, "{good} {bad}");
    }

    #[test]
    fn nonsense_is_not_learnt() {
        let mut leads = Leads::default();
        for fit in [f64::NAN, -1.0, 2.0] {
            leads.learn(&link(1, "http://a.example/x"), fit);
        }
        assert!((leads.judge(&link(1, "http://a.example/x")) - 0.5).abs() < 1e-9);
        for lean in [f64::INFINITY, f64::NAN] {
            leads.learn(&Link { lean, ..link(1, "http://a.example/x") }, 1.0);
        }
        assert!(leads.judge(&link(1, "http://a.example/x")).is_finite());
    }
}
