//! Examples of a topic and pages at random, from which models are trained.

use serde::{Deserialize, Serialize};
use tidewatch_math::Draws;

use crate::gist::Gist;

/// Pages of the crawl kept as a random sample.
const SAMPLE: usize = 512;
/// Most examples kept. Later ones replace random ones.
const MOST_EXAMPLES: usize = 1_024;

/// Gists of examples and of a uniform sample of all pages (algorithm R of `[V85]`).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Examples {
    named: Vec<Gist>,
    given: u64,
    sample: Vec<Gist>,
    met: u64,
    draws: Draws,
}

impl Examples {
    pub(crate) fn new(seed: u64) -> Examples {
        let draws = Draws::of(seed, "topic.sample", 0);
        Examples { named: Vec::new(), given: 0, sample: Vec::new(), met: 0, draws }
    }

    /// Adds a page of the crawl.
    pub(crate) fn meet(&mut self, gist: &Gist) {
        self.met += 1;
        put(&mut self.sample, SAMPLE, self.met, gist, &mut self.draws);
    }

    /// Adds an example.
    pub(crate) fn give(&mut self, gist: &Gist) {
        self.given += 1;
        put(&mut self.named, MOST_EXAMPLES, self.given, gist, &mut self.draws);
    }

    pub(crate) fn examples(&self) -> &[Gist] {
        &self.named
    }

    pub(crate) fn sample(&self) -> &[Gist] {
        &self.sample
    }

    /// Examples given so far.
    pub(crate) const fn given(&self) -> u64 {
        self.given
    }
}

fn put(all: &mut Vec<Gist>, most: usize, number: u64, gist: &Gist, draws: &mut Draws) {
    if all.len() < most {
        all.push(gist.clone());
        return;
    }
    let at = draws.below(number) as usize;
    if let Some(old) = all.get_mut(at) {
        *old = gist.clone();
    }
}
