//! No finite input makes a policy panic, hang, or choose or report nonsense.

use tidewatch_core::{FetchKind, PageId};
use tidewatch_policy::explanation::Merit;
use tidewatch_policy::{Choice, DemandCurve, Setup, registry};

use super::streams::{Scale, Stream};

/// Weights, counts and budgets over sixty decades; gaps from a microsecond to three centuries.
const WILD: Scale = Scale { magnitude: (-30.0, 30.0), gap: (-6.0, 10.0), budget: (-30.0, 30.0) };
/// What a crawl has.
const SANE: Scale = Scale { magnitude: (-2.0, 2.0), gap: (0.0, 3.5), budget: (-3.5, -1.0) };
const STEPS: u32 = 400;

#[test]
fn no_finite_input_breaks_a_policy() {
    for entry in registry::POLICIES {
        for (seed, scale) in [(1, WILD), (2, WILD), (3, SANE)] {
            let mut policy = (entry.make)(Setup::seeded(seed));
            let mut stream = Stream::new(seed, scale);
            stream.begin(&mut *policy);
            for _ in 0..STEPS {
                let known = stream.pages() + 1;
                if let Choice::Fetch(page) = stream.step(&mut *policy) {
                    assert!(page.0 < known, "{} chose an unknown page", entry.name);
                }
            }
            if let Some(standing) = policy.standing() {
                assert!(standing.price.is_finite() && standing.price >= 0.0, "{standing:?}");
                let then = policy.what_if(1.0).unwrap();
                let figures = then.fetches.into_iter().chain([then.price, then.profit]);
                assert!(figures.into_iter().all(|figure| !figure.is_nan()), "{then:?}");
                let curve = policy.demand().unwrap();
                let shares = DemandCurve::split(&[curve.clone(), curve], 2.0);
                assert!((shares[0] - 1.0).abs() < 1e-9, "halves of one demand: {shares:?}");
            }
        }
    }
}

/// A page never fetched is called due only while it is worth the price of its host: what it is worth fades.
#[test]
fn what_has_faded_below_the_price_is_not_due() {
    let mut asked = 0;
    for seed in 1..4 {
        let mut policy = (registry::find("price").unwrap().make)(Setup::seeded(seed));
        let mut stream = Stream::new(seed, SANE);
        stream.begin(&mut *policy);
        for _ in 0..STEPS {
            let _ = stream.step(&mut *policy);
            let now = stream.now();
            for why in (0..stream.pages()).filter_map(|page| policy.why(PageId(page), now)) {
                let Merit::Clicks { worth: Some(worth), host_price, .. } = why.merit else {
                    continue;
                };
                let is_new = matches!(why.kind, Some(FetchKind::New | FetchKind::Frontier));
                // A retry comes at its time, whatever it is worth.
                let is_first = is_new && why.failures == 0 && !why.is_gone;
                if is_first && why.due.time().is_some_and(|due| due <= now) {
                    asked += 1;
                    assert!(worth >= host_price, "{seed}: {why:?}");
                }
            }
        }
    }
    assert!(asked > 0);
}

/// Every policy explains every page it knows, and no other.
#[test]
fn every_policy_explains_itself() {
    for entry in registry::POLICIES {
        let mut policy = (entry.make)(Setup::seeded(7));
        let mut stream = Stream::new(7, SANE);
        stream.begin(&mut *policy);
        (0..STEPS).for_each(|_| _ = stream.step(&mut *policy));
        for page in (0..stream.pages()).map(PageId) {
            let why = policy.why(page, stream.now()).unwrap();
            assert!(why.page == page && !why.rule.is_empty(), "{}: {why:?}", entry.name);
            let is_number = match why.merit {
                Merit::Clicks { worth, price, host_price } => {
                    worth.is_none_or(|worth| worth >= 0.0) && price > 0.0 && host_price >= price
                }
                Merit::Score(score) => score.is_finite(),
                Merit::Every(_) | Merit::Turn => true,
            };
            assert!(is_number, "{}: {why:?}", entry.name);
        }
        assert!(policy.why(PageId(stream.pages()), stream.now()).is_none(), "{}", entry.name);
    }
}
