//! A synthetic join: click curves of one data set on the pages of another.
//!
//! No public data set has both hourly listings of sources and clicks. So curves of `globo-clicks` are
//! assigned to the pages of a trace. The result has real links and real click curves, but the
//! assignment is invented, and the note of the trace says so.
//!
//! - **Curves**: articles whose clicks are known for [`FOLLOWED`] after the first, so that the end of
//!   the data truncates none.
//! - **Pages**: all but sources and pages as old as the trace, whose first clicks came before it; those
//!   get no clicks.
//! - **Rank**: pages by the number of sources that show them, falling, ties by
//!   hash of the URL; curves by clicks, falling, ties by id. Of N pages and M
//!   curves page i gets curve ⌊i·M/N⌋: if there are more pages curves serve
//!   several times, if fewer they are thinned evenly, so that pages keep the distribution of clicks.
//! - **Random**: every page draws a curve uniformly, keyed by seed and URL.
//! - A curve is shifted so that its first click falls at the page's birth.
//!   Counts are not scaled.

use std::path::Path;

use tidewatch_core::{PageKey, Span, Time};
use tidewatch_math::rng::Draws;
use tidewatch_trace::{Count, Trace};

use super::clock::Moment;
use super::globo::{Curve, Curves};
use super::{Draft, ImportError, Join};

/// The median article gets 90% of its clicks within a day; three days miss little.
const FOLLOWED: Span = Span::from_micros(3 * Span::DAY.as_micros());

/// Assigns clicks to the pages of the draft.
pub(super) fn give_clicks(
    draft: &mut Draft,
    clicks_dir: &Path,
    join: Join,
    seed: u64,
) -> Result<(), ImportError> {
    let all = Curves::read(clicks_dir)?;
    let read = all.list.len();
    let mut curves: Vec<Curve> =
        all.list.into_iter().filter(|curve| curve.born.plus(FOLLOWED) <= all.last).collect();
    if curves.is_empty() {
        let problem = "no article's clicks are known for three days after its first";
        return Err(ImportError::useless(clicks_dir, problem));
    }
    let pages = young_pages(&draft.trace);
    let pairs = match join {
        Join::Rank => by_rank(&draft.trace, pages, &mut curves),
        Join::Random => at_random(&draft.trace, &pages, curves.len(), seed),
    };
    let how = match join {
        Join::Rank => "by rank (pages by sources that show them, curves by clicks)".to_owned(),
        Join::Random => format!("at random with seed {seed}"),
    };
    draft.note(format!(
        "Synthetic join: clicks are real curves of other articles (globo-clicks), \
         given to pages {how} and shifted to their births, counts unscaled."
    ));
    draft.fact("click curves read", read);
    draft.fact("click curves dropped: not followed for three days", read - curves.len());
    draft.fact("pages with a click curve", pairs.len());
    draft.trace.clicks = Some(shifted(&draft.trace, &pairs, &curves));
    Ok(())
}

fn young_pages(trace: &Trace) -> Vec<u32> {
    let young = |&page: &u32| {
        let page = &trace.pages[page as usize];
        !page.is_source && page.born > Time::ZERO
    };
    (0..trace.pages.len() as u32).filter(young).collect()
}

/// Pairs of page and curve.
fn by_rank(trace: &Trace, mut pages: Vec<u32>, curves: &mut [Curve]) -> Vec<(u32, usize)> {
    let total = |curve: &Curve| curve.clicks.iter().map(|click| click.1).sum::<f64>();
    curves.sort_by(|a, b| total(b).total_cmp(&total(a)).then(a.id.cmp(&b.id)));
    let shown_by = sources_showing(trace);
    pages.sort_by_key(|&page| {
        let key = PageKey::of(&trace.pages[page as usize].url);
        (std::cmp::Reverse(shown_by[page as usize]), key)
    });
    let (n, m) = (pages.len(), curves.len());
    pages.into_iter().enumerate().map(|(i, page)| (page, i * m / n)).collect()
}

/// Number of sources that show each page.
fn sources_showing(trace: &Trace) -> Vec<u32> {
    let mut pairs: Vec<(u32, u32)> = trace.links.iter().map(|l| (l.page, l.source)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut counts = vec![0; trace.pages.len()];
    pairs.into_iter().for_each(|(page, _)| counts[page as usize] += 1);
    counts
}

fn at_random(trace: &Trace, pages: &[u32], curves: usize, seed: u64) -> Vec<(u32, usize)> {
    let draw = |&page: &u32| {
        let key = PageKey::of(&trace.pages[page as usize].url);
        (page, Draws::of(seed, "import.join", key.0).below(curves as u64) as usize)
    };
    pages.iter().map(draw).collect()
}

fn shifted(trace: &Trace, pairs: &[(u32, usize)], curves: &[Curve]) -> Vec<Count> {
    let mut clicks = Vec::new();
    for &(page, curve) in pairs {
        let (curve, born) = (&curves[curve], trace.pages[page as usize].born);
        let moved =
            |&(at, count): &(Moment, f64)| Count { page, at: born + at.since(curve.born), count };
        clicks.extend(curve.clicks.iter().map(moved));
    }
    clicks
}
