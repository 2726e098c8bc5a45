//! Explains the policy's view of a page and the effect of another budget, as text and JSON.

use serde_json::{Map, Value as Json, json};
use tidewatch_core::{FetchKind, Time};
use tidewatch_policy::explanation::{
    Belief, Changes, Due, Explanation, History, Lever, Merit, WhatIf,
};

/// A duration in words.
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

/// Clicks in words; if they are rare, as fetches per click.
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

/// The explanation in sentences.
pub fn told(why: &Explanation, now: Time) -> String {
    if why.is_gone {
        let again = match why.due.time() {
            None => "It is not retried.".to_owned(),
            Some(due) => format!("It is retried in {}.", lasting(due.since(now).seconds())),
        };
        return format!("The page is gone or no longer allowed. {again}\n");
    }
    let since = why.since.map(|since| lasting(now.since(since).seconds()));
    let mut lines = Vec::new();
    lines.extend(why.kind.and_then(|kind| state(kind, since.as_deref())));
    lines.extend(believed(why));
    lines.extend(judged(why));
    if why.failures > 0 {
        let failed = if why.failures == 1 {
            "The last fetch of it".to_owned()
        } else {
            format!("The last {} fetches of it", why.failures)
        };
        lines.push(format!("{failed} failed or led to another page, so it is retried less often."));
    }
    lines.push(verdict(why, now));
    lines.join("\n") + "\n"
}

/// What the collection holds of the page.
fn state(kind: FetchKind, since: Option<&str>) -> Option<String> {
    Some(match (kind, since) {
        (FetchKind::Refresh, Some(since)) => format!("A copy is held, {since} old."),
        (FetchKind::Source, Some(since)) => {
            format!("It is watched for new links, and was last visited {since} ago.")
        }
        (FetchKind::New, Some(since)) => {
            format!("A source showed it; it is about {since} old, and was never fetched.")
        }
        (FetchKind::Frontier, Some(since)) => {
            format!("It was found {since} ago and never fetched.")
        }
        (FetchKind::New | FetchKind::Frontier, None) => "It was never fetched.".to_owned(),
        (FetchKind::Refresh | FetchKind::Source, None) => return None,
    })
}

/// What the policy expects of the page, and why.
fn believed(why: &Explanation) -> Option<String> {
    let visited = why.history.map(|History { changes, visits }| match visits {
        0 => "No visit has compared it with an earlier copy yet.".to_owned(),
        1 if changes > 0 => "One further visit saw a change.".to_owned(),
        1 => "One further visit saw no change.".to_owned(),
        _ => format!("Of {visits} further visits {changes} saw a change."),
    });
    Some(match why.belief {
        Belief::Unstated => return visited,
        Belief::Copy { clicks_per_s, size, stale, changes } => {
            let visited = visited.unwrap_or_default();
            let part = if size < 1.0 {
                format!(" A change touches about {:.0}% of it.", 100.0 * size)
            } else {
                String::new()
            };
            format!(
                "Assumed {} clicks a week, from the log and the weight it came with. {visited} {}{part}",
                brief(clicks_per_s * 604_800.0),
                ageing(changes, stale)
            )
        }
        Belief::Source { links_per_s, clicks_per_link, decay_per_s } => {
            format!(
                "It shows {} new pages a day; each brings {} if fetched at once, half of \
                 that after {}.",
                brief(links_per_s * 86_400.0),
                clicks(clicks_per_link),
                lasting(std::f64::consts::LN_2 / decay_per_s)
            )
        }
        Belief::Unfetched { clicks: all, decay_per_s, shown_by } => {
            let shown = match shown_by {
                None | Some(0) => String::new(),
                Some(1) => " One page shows it.".to_owned(),
                Some(pages) => format!(" {pages} pages show it."),
            };
            let fades = if decay_per_s > 0.0 {
                format!(
                    " if fetched at once, half of that after {}",
                    lasting(std::f64::consts::LN_2 / decay_per_s)
                )
            } else {
                " whenever it is fetched".to_owned()
            };
            format!("It is expected to bring {}{fades}.{shown}", clicks(all))
        }
    })
}

/// How a copy goes stale, as far as is known.
fn ageing(changes: Changes, stale: f64) -> String {
    let gap = |rate: f64| lasting(rate.recip().min(CENTURIES));
    let (often, stale) = (gap(changes.per_s), 100.0 * stale);
    match (changes.recall, changes.interval_95) {
        (Some(recall), _) => format!(
            "It changes about every {often}, and hints announce {:.0}% of the changes on this host; \
             with the hints since the last visit it has changed with a probability of {stale:.0}%.",
            100.0 * recall
        ),
        (None, interval) => {
            let known = interval.map_or_else(String::new, |(least, most)| {
                format!(" (95% sure: between {} and {})", gap(most), gap(least))
            });
            format!(
                "It changes about every {often}{known}, so by now it has changed with a \
                 probability of {stale:.0}%."
            )
        }
    }
}

/// Longest gap between changes that is shown, in seconds.
const CENTURIES: f64 = 1e11;

/// The policy's rule, and what it gives for this page.
fn judged(why: &Explanation) -> Vec<String> {
    match why.merit {
        Merit::Clicks { worth, price, host_price } => {
            let mut lines = vec![format!(
                "A fetch now would bring {}. The price is {}: what the last fetch that the budget \
                 pays for brings.",
                clicks(worth),
                clicks(price)
            )];
            if host_price > price * 1.01 {
                lines.push(format!(
                    "On its host the price is {}, because the crawl delay, not the budget, is the \
                     limit there.",
                    clicks(host_price)
                ));
            }
            lines
        }
        Merit::Score(score) => vec![format!("Rule: {}. Its score is {score:.4}.", why.rule)],
        Merit::Every(interval) => {
            vec![format!("Rule: {}. Its interval is {}.", why.rule, lasting(interval.seconds()))]
        }
        Merit::Turn => vec![format!("Rule: {}.", why.rule)],
    }
}

fn verdict(why: &Explanation, now: Time) -> String {
    let levers: Vec<&str> = why.sooner.iter().map(|lever| lever_text(*lever, why.kind)).collect();
    let if_only = match levers.split_last() {
        None => String::new(),
        Some((last, [])) => format!(" It would be sooner if {last}."),
        Some((last, rest)) => {
            format!(" It would be sooner if {}, or if {last}.", rest.join(", or "))
        }
    };
    match (why.due, why.merit) {
        (Due::Never, Merit::Clicks { .. }) => format!(
            "It is not due: at this price a fetch never pays. More clicks on {}, or a larger budget, \
             would change that.",
            if why.kind == Some(FetchKind::Source) { "what it shows" } else { "it" }
        ),
        (Due::Never, _) => "It is not due.".to_owned(),
        (Due::UnderWay, _) => "It is being fetched.".to_owned(),
        (Due::InTurn, _) => format!("It is fetched when its turn comes.{if_only}"),
        (Due::At(due), _) if due <= now => "It is due now.".to_owned(),
        (Due::At(due), _) if why.failures > 0 => {
            format!("It is due in {}.", lasting(due.since(now).seconds()))
        }
        (Due::At(due), _) => {
            format!("It is due in {}.{if_only}", lasting(due.since(now).seconds()))
        }
    }
}

fn lever_text(lever: Lever, kind: Option<FetchKind>) -> &'static str {
    match lever {
        Lever::Clicks if kind == Some(FetchKind::Source) => "they were clicked more often",
        Lever::Clicks => "it were clicked more often",
        Lever::Changes => "it changed more often",
        Lever::NewLinks => "it showed more new pages",
        Lever::InLinks => "more pages linked to it",
        Lever::Weight => "its weight were higher",
        Lever::Budget => "the budget were larger",
    }
}

fn brief(number: f64) -> String {
    if number >= 10.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

/// The explanation as JSON. Fields for which the policy has no figure are null.
pub fn why_json(why: &Explanation, url: &str, now: Time) -> Json {
    let (value, shown_by) = match why.belief {
        Belief::Unstated => (Json::Null, None),
        Belief::Copy { clicks_per_s, size, stale, changes } => (
            json!({
                "clicks_per_s": clicks_per_s,
                "stale": size * stale,
                "curve": if changes.recall.is_some() { "hinted" } else { "whole" },
            }),
            None,
        ),
        Belief::Source { links_per_s, clicks_per_link, decay_per_s } => (
            json!({
                "new_links_per_s": links_per_s,
                "clicks_per_page": clicks_per_link, "decay_per_s": decay_per_s,
            }),
            None,
        ),
        Belief::Unfetched { clicks, decay_per_s, shown_by } => {
            (json!({ "clicks": clicks, "decay_per_s": decay_per_s }), shown_by)
        }
    };
    let (mut worth, mut price, mut score, mut interval) = (None, None, None, None);
    match why.merit {
        Merit::Clicks { worth: clicks, price: of_all, host_price } => {
            (worth, price) = (Some(clicks), Some((of_all, host_price)));
        }
        Merit::Score(is) => score = Some(is),
        Merit::Every(is) => interval = Some(is.seconds()),
        Merit::Turn => {}
    }
    json!({
        "url": url, "kind": why.kind.map(FetchKind::name), "gone": why.is_gone,
        "since_s": why.since.map(|since| now.since(since).seconds()), "value": value,
        "worth": worth, "price": price.map(|price| price.0),
        "host_price": price.map(|price| price.1), "score": score, "interval_s": interval,
        "rule": why.rule, "due_in_s": why.due.time().map(|due| due.seconds() - now.seconds()),
        "changes": why.history.map(|history| history.changes),
        "visits": why.history.map(|history| history.visits),
        "shown_by": shown_by, "failures": why.failures,
    })
}

/// The effect of a budget as JSON.
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

    #[test]
    fn times_are_said_in_the_unit_that_fits() {
        assert_eq!(lasting(1.0), "a moment");
        assert_eq!(lasting(119.0), "119 seconds");
        assert_eq!(lasting(7200.0), "2 hours");
        assert_eq!(lasting(864_000.0), "10 days");
        assert_eq!(lasting(2.6e9), "82 years");
    }

    const PRICED: Merit = Merit::Clicks { worth: 0.5, price: 1.0, host_price: 1.0 };

    fn of(kind: FetchKind, belief: Belief, due: Due) -> Explanation {
        let sooner: &[Lever] = match kind {
            FetchKind::Source => &[Lever::NewLinks, Lever::Clicks, Lever::Budget],
            _ => &[Lever::Clicks, Lever::Budget],
        };
        let explanation = Explanation::new(tidewatch_core::PageId(0), "a rule", PRICED, due);
        let (kind, since) = (Some(kind), Some(Time::ZERO));
        Explanation { kind, since, belief, sooner, ..explanation }
    }

    /// The levers fit the kind of fetch, and unknown facts are left out.
    #[test]
    fn sentences_fit_the_kind_of_fetch() {
        let later = Due::At(Time::from_seconds(7200.0).unwrap());
        let (links_per_s, clicks_per_link, decay_per_s) = (1e-3, 2.0, 1e-5);
        let source = Belief::Source { links_per_s, clicks_per_link, decay_per_s };
        let told_of = |why: Explanation| told(&why, Time::ZERO);
        let watched = told_of(of(FetchKind::Source, source, later));
        assert!(watched.contains("due in 2 hours. It would be sooner if it showed more new pages"));
        let dull = told_of(of(FetchKind::Source, source, Due::Never));
        assert!(dull.contains("More clicks on what it shows"), "{dull}");
        let once = Belief::Unfetched { clicks: 3.0, decay_per_s: 0.0, shown_by: Some(0) };
        let found = told_of(of(FetchKind::Frontier, once, later));
        assert!(found.contains("never fetched") && !found.contains("pages show it"), "{found}");
        let moved = told_of(Explanation { failures: 2, ..of(FetchKind::Frontier, once, later) });
        assert!(moved.contains("The last 2 fetches of it failed or led to another page"));
    }

    /// A policy without a price gives its rule, the score and the turn; JSON has null for the rest.
    #[test]
    fn a_ranking_explains_itself() {
        let page = tidewatch_core::PageId(0);
        let rule = "the page with the most links to it comes first";
        let why = Explanation {
            kind: Some(FetchKind::Frontier),
            sooner: &[Lever::InLinks],
            ..Explanation::new(page, rule, Merit::Score(3.0), Due::InTurn)
        };
        let wanted = "It was never fetched.\nRule: the page with the most links to it comes first. \
                      Its score is 3.0000.\nIt is fetched when its turn comes. It would be sooner \
                      if more pages linked to it.\n";
        assert_eq!(told(&why, Time::ZERO), wanted);
        let json = why_json(&why, "http://a.test/", Time::ZERO);
        assert!(json["price"].is_null() && json["due_in_s"].is_null() && json["value"].is_null());
        assert_eq!((&json["score"], &json["rule"]), (&json!(3.0), &json!(rule)));
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
