//! What decided about a page, and what another budget would bring: for people and for programs.

use serde_json::{Map, Value as Json, json};
use tidewatch_core::{FetchKind, Time};
use tidewatch_policy::price::{Staling, Value};
use tidewatch_policy::{WhatIf, Why};
use tidewatch_science::law::{Curve, LossCurve};

/// Seconds as a person says them.
pub fn lasting(seconds: f64) -> String {
    const UNITS: [(f64, &str); 5] = [
        (365.25 * 86_400.0, "years"),
        (86_400.0, "days"),
        (3600.0, "hours"),
        (60.0, "minutes"),
        (1.0, "seconds"),
    ];
    match UNITS.into_iter().find(|(unit, _)| seconds >= 2.0 * unit) {
        Some((unit, name)) => format!("{:.0} {name}", seconds / unit),
        None => "a moment".to_owned(),
    }
}

/// Clicks as a person reads them: where they are rare, by how many fetches bring one.
fn clicks(number: f64) -> String {
    match number {
        ..=1e-15 => "nothing".to_owned(),
        n if n >= 0.01 => format!("{n:.2} clicks"),
        n => format!("one click in {} fetches", many(n.recip())),
    }
}

/// A large number in words.
fn many(number: f64) -> String {
    const WORDS: [(f64, &str); 3] = [(1e12, "trillion"), (1e9, "billion"), (1e6, "million")];
    match WORDS.into_iter().find(|(unit, _)| number >= *unit) {
        Some((unit, word)) => format!("{} {word}", brief(number / unit)),
        None if number >= 1e4 => format!("{:.0},000", number / 1000.0),
        None => format!("{number:.0}"),
    }
}

/// The answer in sentences.
pub fn told(why: &Why, now: Time) -> String {
    let since = lasting(now.since(why.since).seconds());
    if why.is_gone {
        let again = match why.due {
            Time::NEVER => "It is not asked for again.".to_owned(),
            due => format!(
                "In case it comes back, it is asked for again in {}.",
                lasting(due.since(now).seconds())
            ),
        };
        return format!("It is gone, or may not be asked for any more. {again}\n");
    }
    let mut lines = vec![state(why.kind, &since), worth(why, now)];
    lines.push(format!(
        "A fetch now would bring {}. The price is {}: what the last fetch that the budget pays for \
         brings.",
        clicks(why.worth),
        clicks(why.price)
    ));
    if why.host_price > why.price * 1.01 {
        lines.push(format!(
            "Its host is asked less often than would be worth it, so that there the price is {}.",
            clicks(why.host_price)
        ));
    }
    if why.failures > 0 {
        let failed = if why.failures == 1 {
            "The last fetch of it".to_owned()
        } else {
            format!("The last {} fetches of it", why.failures)
        };
        lines.push(format!(
            "{failed} failed or led to another page, so it is asked for less often."
        ));
    }
    lines.push(verdict(why, now));
    lines.join("\n") + "\n"
}

/// What is held of it.
fn state(kind: FetchKind, since: &str) -> String {
    match kind {
        FetchKind::Refresh => format!("A copy is held, {since} old."),
        FetchKind::Source => {
            format!("It is watched for new links, and was last looked at {since} ago.")
        }
        FetchKind::New => {
            format!("A source showed it; it is about {since} old, and was never fetched.")
        }
        FetchKind::Frontier => format!("It was found {since} ago and never fetched."),
    }
}

/// What it is taken to bring, and why.
fn worth(why: &Why, now: Time) -> String {
    match &why.value {
        Value::Refresh { weight, size, staling } => {
            let (changes, visits) = why.history;
            let seen = match visits {
                0 => "It was seen once, so other pages speak for its changes.".to_owned(),
                1 if changes > 0 => "One further visit saw a change.".to_owned(),
                1 => "One further visit saw no change.".to_owned(),
                _ => format!("Of {visits} further visits {changes} saw a change."),
            };
            let part = if *size < 1.0 {
                format!(" A change touches about {:.0}% of it.", 100.0 * size)
            } else {
                String::new()
            };
            format!(
                "Readers are taken to click it {} times a week, by the log and the weight it came with. \
                 {seen} {}{part}",
                brief(weight * 604_800.0),
                ageing(staling, now.since(why.since).seconds())
            )
        }
        Value::Source(source) => {
            let alone = if source.credit < 0.995 {
                format!(", {:.0}% of which nobody else shows as soon", 100.0 * source.credit)
            } else {
                String::new()
            };
            format!(
                "It shows {} new pages a day{alone}; each brings {} if fetched at once, half of \
                 that after {}.",
                brief(source.arrivals * 86_400.0),
                clicks(source.profit),
                lasting(std::f64::consts::LN_2 / source.decay)
            )
        }
        Value::Once { clicks: all, decay } => {
            let shown = match why.shown {
                None | Some(0) => String::new(),
                Some(1) => " One page shows it.".to_owned(),
                Some(pages) => format!(" {pages} pages show it."),
            };
            let fades = if *decay > 0.0 {
                format!(
                    " if fetched at once, half of that after {}",
                    lasting(std::f64::consts::LN_2 / decay)
                )
            } else {
                " whenever it is fetched".to_owned()
            };
            format!("It is expected to bring {}{fades}.{shown}", clicks(*all))
        }
    }
}

/// How a copy of this age goes stale, as far as is known.
fn ageing(staling: &Staling, age: f64) -> String {
    let stale = 100.0 * staling.stale(age);
    match staling {
        Staling::Whole(curve) => {
            let (often, known) = match curve {
                Curve::Lomax(rate) => {
                    let (least, most) = rate.interval_95();
                    let gap = |rate: f64| lasting(rate.recip().min(CENTURIES));
                    let known = format!(" (surely between {} and {})", gap(most), gap(least));
                    (gap(rate.rate()), known)
                }
                other => (lasting(other.slope(0.0).recip().min(CENTURIES)), String::new()),
            };
            format!(
                "It is taken to change about every {often}{known}, so by now it has changed with a \
                 chance of {stale:.0}%."
            )
        }
        Staling::Hinted(page) => format!(
            "It is taken to change about every {}, and {:.0}% of the changes on this host are hinted \
             at; with the hints since the last visit it has changed with a chance of {stale:.0}%.",
            lasting(page.changes.recip().min(CENTURIES)),
            100.0 * page.recall
        ),
    }
}

/// Longer than anybody waits, in seconds.
const CENTURIES: f64 = 1e11;

fn verdict(why: &Why, now: Time) -> String {
    match why.due {
        Time::NEVER => format!(
            "It is not due: at this price a fetch never pays. More clicks on {}, or a larger budget, \
             would change that.",
            if why.kind == FetchKind::Source { "what it shows" } else { "it" }
        ),
        due if due <= now => "It is due now.".to_owned(),
        due if why.failures > 0 => format!("It is due in {}.", lasting(due.since(now).seconds())),
        due => format!(
            "It is due in {}. It would be sooner if {}, or if the budget were larger.",
            lasting(due.since(now).seconds()),
            match why.kind {
                FetchKind::Source => "it showed more new pages, or they were clicked more often",
                _ => "it were clicked or changed more often",
            }
        ),
    }
}

fn brief(number: f64) -> String {
    if number >= 10.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

/// The answer for programs.
pub fn why_json(why: &Why, url: &str, now: Time) -> Json {
    let value = match &why.value {
        Value::Refresh { weight, size, staling } => json!({
            "clicks_per_s": weight,
            "stale": size * staling.stale(now.since(why.since).seconds()),
            "curve": match staling {
                Staling::Whole(_) => "whole",
                Staling::Hinted(_) => "hinted",
            },
        }),
        Value::Source(source) => json!({
            "new_links_per_s": source.arrivals, "credit": source.credit,
            "clicks_per_page": source.profit, "decay_per_s": source.decay,
        }),
        Value::Once { clicks, decay } => json!({ "clicks": clicks, "decay_per_s": decay }),
    };
    let due = (why.due != Time::NEVER).then(|| why.due.seconds() - now.seconds());
    json!({
        "url": url, "kind": why.kind.name(), "gone": why.is_gone,
        "since_s": now.since(why.since).seconds(), "value": value, "worth": why.worth,
        "price": why.price, "host_price": why.host_price, "due_in_s": due,
        "changes": why.history.0, "visits": why.history.1, "shown_by": why.shown,
        "failures": why.failures,
    })
}

/// What a budget brings, for programs.
pub fn what_if_json(of: &WhatIf) -> Json {
    let fetches: Map<String, Json> = FetchKind::ALL
        .iter()
        .zip(of.fetches)
        .map(|(kind, rate)| (kind.name().into(), rate.into()))
        .collect();
    json!({
        "budget_per_s": of.budget, "price": of.price, "freshness": of.freshness,
        "clicks_per_s": of.profit,
        "fetches_per_s": fetches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewatch_policy::price::Source;

    #[test]
    fn times_are_said_in_the_unit_that_fits() {
        assert_eq!(lasting(1.0), "a moment");
        assert_eq!(lasting(119.0), "119 seconds");
        assert_eq!(lasting(7200.0), "2 hours");
        assert_eq!(lasting(864_000.0), "10 days");
        assert_eq!(lasting(2.6e9), "82 years");
    }

    fn of(kind: FetchKind, value: Value, due: Time) -> Why {
        let (page, since) = (tidewatch_core::PageId(0), Time::ZERO);
        let (price, host_price, worth) = (1.0, 1.0, 0.5);
        let (history, shown, is_gone, failures) = ((0, 0), Some(0), false, 0);
        Why {
            page,
            kind,
            value,
            since,
            worth,
            price,
            host_price,
            due,
            history,
            shown,
            is_gone,
            failures,
        }
    }

    /// What would bring a fetch forward is said of what it is for, and nothing of what is not known.
    #[test]
    fn sentences_fit_the_kind_of_fetch() {
        let later = Time::from_seconds(7200.0).unwrap();
        let source = Source { arrivals: 1e-3, credit: 1.0, profit: 2.0, decay: 1e-5, spread: 0.0 };
        let told_of = |why: Why| told(&why, Time::ZERO);
        let watched = told_of(of(FetchKind::Source, Value::Source(source), later));
        assert!(watched.contains("due in 2 hours") && watched.contains("it showed more new pages"));
        let dull = told_of(of(FetchKind::Source, Value::Source(source), Time::NEVER));
        assert!(dull.contains("More clicks on what it shows"), "{dull}");
        let once = Value::Once { clicks: 3.0, decay: 0.0 };
        let found = told_of(of(FetchKind::Frontier, once, later));
        assert!(found.contains("never fetched") && !found.contains("pages show it"), "{found}");
        let moved = told_of(Why { failures: 2, ..of(FetchKind::Frontier, once, later) });
        assert!(moved.contains("The last 2 fetches of it failed or led to another page"));
    }

    #[test]
    fn rare_clicks_are_said_by_how_many_fetches_bring_one() {
        let said = [0.0, 3.0, 0.02, 0.005, 1.0 / 714_000.0, 1.4e-8].map(clicks);
        let wanted = [
            "nothing",
            "3.00 clicks",
            "0.02 clicks",
            "one click in 200 fetches",
            "one click in 714,000 fetches",
            "one click in 71 million fetches",
        ];
        assert_eq!(said, wanted);
    }
}
