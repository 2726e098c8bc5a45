//! Three tiers by the time since the last change, as price monitors keep them.

use tidewatch_core::{Span, Time};

use crate::order::IntervalRule;

/// Time since the last change up to which a page is in a tier, and the tier's interval.
const TIERS: [(Span, Span); 3] =
    [(Span::DAY, Span::HOUR), (Span::WEEK, Span::HOUR.times(6)), (Span::FOREVER, Span::DAY)];

/// Fetches a page every hour if it changed within a day, every six hours if within a week, and every
/// day otherwise.
pub struct Tiers;

/// The interval of a page `since` its last change.
fn interval(since: Span) -> Span {
    let tier = TIERS.iter().find(|(until, _)| since <= *until);
    tier.map_or(Span::DAY, |(_, interval)| *interval)
}

impl IntervalRule for Tiers {
    /// When it was last seen to have changed, or became known.
    type Past = Time;
    const RULE: &'static str = "its interval is an hour, six hours or a day by its last change";

    fn found(&self, at: Time) -> Time {
        at
    }

    fn visited(&self, last_change: Time, at: Time, changed: bool) -> Time {
        if changed { at } else { last_change }
    }

    fn interval(&self, last_change: Time, now: Time) -> Span {
        interval(now.since(last_change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tier_follows_from_the_last_change() {
        assert_eq!(interval(Span::HOUR), Span::HOUR);
        assert_eq!(interval(Span::DAY.times(2)), Span::HOUR.times(6));
        assert_eq!(interval(Span::DAY.times(8)), Span::DAY);
    }
}
