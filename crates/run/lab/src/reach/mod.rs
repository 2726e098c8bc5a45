//! Reach of sources and duration of interest: the two analyses behind ECHO `[LOSS13, §3.1]`, for any
//! trace. The greedy cover of new pages by sources (Figure 4), and clusters of interest over a page's
//! first fourteen days (Figures 1 and 3), which separate ephemeral from lasting pages.

mod cover;
mod kmeans;

pub use cover::{Cover, greedy_cover};
pub use kmeans::{Clusters, k_means};

use tidewatch_core::{Span, Time};

use crate::World;

/// Days of an interest vector.
pub const DAYS: usize = 14;

/// A page's clicks by day of its life, scaled so that the largest is 1.
pub type InterestVector = [f64; DAYS];

/// New pages: born after the start, and not sources.
pub fn new_pages(world: &World) -> impl Iterator<Item = u32> + '_ {
    let is_new = |page: &u32| {
        let page = &world.trace().pages[*page as usize];
        !page.is_source && page.born > Time::ZERO
    };
    (0..world.len() as u32).filter(is_new)
}

/// Page and interest vector of every clicked new page whose first fourteen days lie within the clicks
/// of the trace.
pub fn interest(world: &World) -> Vec<(u32, InterestVector)> {
    let told_until = world.clicks_by_time(0).last().map_or(Time::ZERO, |click| click.at);
    let is_whole = |page: &u32| {
        let born = world.trace().pages[*page as usize].born;
        born + Span::DAY.times(DAYS as u64) <= told_until + Span::DAY
    };
    new_pages(world)
        .filter(is_whole)
        .filter_map(|page| Some((page, of_page(world, page)?)))
        .collect()
}

fn of_page(world: &World, page: u32) -> Option<InterestVector> {
    let born = world.trace().pages[page as usize].born;
    let mut days = [0.0; DAYS];
    for click in world.clicks_of(page) {
        let day = click.at.since(born).as_micros() / Span::DAY.as_micros();
        if let Some(sum) = days.get_mut(day as usize) {
            *sum += click.count;
        }
    }
    let most = days.iter().copied().fold(0.0, f64::max);
    (most > 0.0).then(|| days.map(|clicks| clicks / most))
}

/// Whether a centroid is ephemeral: the second week has less than half the interest of the first.
pub fn is_ephemeral(centroid: &InterestVector) -> bool {
    let (first, second) = centroid.split_at(DAYS / 2);
    second.iter().sum::<f64>() < 0.5 * first.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_trace::{Count, Host, Trace, TracePage};

    #[test]
    fn interest_is_by_day_of_life_and_scaled() {
        let day = |days: f64| Time::from_seconds(days * 86_400.0).unwrap();
        let page = |id: u64, born: f64| TracePage {
            id,
            url: format!("http://a.test/{id}").into(),
            host: 0,
            born: day(born),
            died: None,
            is_source: false,
            weight: 1.0,
            is_seed: true,
        };
        let click = |page, at: f64, count| Count { page, at: day(at), count };
        let mut trace = Trace {
            name: "t".into(),
            duration: Span::DAY.times(30),
            pages: vec![page(0, 1.0), page(1, 2.0), page(2, 20.0)],
            hosts: vec![Host { name: "a.test".into(), max_rate: None }],
            clicks: Some(vec![click(0, 1.5, 4.0), click(0, 3.2, 1.0), click(2, 25.0, 1.0)]),
            ..Trace::default()
        };
        trace.arrange();
        let rows = interest(&World::new(trace).unwrap());
        // Page 1 was never clicked, page 2 is not followed for fourteen days.
        assert_eq!(rows.len(), 1);
        let mut expected = [0.0; DAYS];
        (expected[0], expected[2]) = (1.0, 0.25);
        assert_eq!(rows[0], (0, expected));
        assert!(is_ephemeral(&expected) && !is_ephemeral(&[1.0; DAYS]));
    }
}
