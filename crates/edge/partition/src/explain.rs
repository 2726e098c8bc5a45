//! Explains the policy's view of a page and the effect of another budget, as text and JSON.

use serde_json::{Map, Value as Json, json};
use tidewatch_core::{FetchKind, Time};
use tidewatch_policy::explanation::{
    Belief, Changes, Due, Early, Explanation, History, Lever, Merit, Obstacle, WhatIf,
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

/// Clicks in words; if they are rare, as fetches per click. Nobody can picture more than a million of
/// them; how two such numbers compare is told by [`times`].
fn clicks(number: f64) -> String {
    match number {
        ..=1e-15 => "nothing".to_owned(),
        n if n >= 0.01 => format!("{n:.2} clicks"),
        ..=1e-6 => "less than one click in a million fetches".to_owned(),
        ..=1e-4 => format!("one click in {:.0},000 fetches", number.recip() / 1000.0),
        n => format!("one click in {:.0} fetches", n.recip()),
    }
}

/// How a worth compares with a price, in words; `None` if one of them is nothing.
fn times(worth: f64, price: f64) -> Option<String> {
    let ratio = worth / price;
    if worth <= 1e-15 || price <= 1e-15 || !ratio.is_finite() {
        return None;
    }
    Some(match ratio {
        1000.0.. => "more than 1,000 times the price".to_owned(),
        1.005.. => format!("{} times the price", brief(ratio)),
        0.995.. => "just the price".to_owned(),
        0.01.. => format!("{ratio:.2} of the price"),
        _ => "less than 0.01 of the price".to_owned(),
    })
}

/// The explanation in sentences.
pub fn told(why: &Explanation, now: Time) -> String {
    if why.is_gone {
        let free = why.obstacle.and_then(Obstacle::until).unwrap_or(now);
        let again = match why.due.time().map(|due| due.max(free)) {
            None | Some(Time::NEVER) => "It is not retried.".to_owned(),
            Some(due) => format!("It is retried in {}.", lasting(due.since(now).seconds())),
        };
        return format!("No copy of it is kept. {again}\n");
    }
    let since = why.since.map(|since| lasting(now.since(since).seconds()));
    let mut lines = Vec::new();
    lines.extend(why.kind.and_then(|kind| state(kind, since.as_deref(), why.failures > 0)));
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
    if why.is_outdated && why.due != Due::UnderWay {
        lines.push("A new plan is made before the next fetch, which may change this.".into());
    }
    lines.join("\n") + "\n"
}

/// What the collection holds of the page. `is_tried` says that a fetch of it has failed.
fn state(kind: FetchKind, since: Option<&str>, is_tried: bool) -> Option<String> {
    let unseen =
        if is_tried { "no fetch of it has brought a page yet" } else { "it was never fetched" };
    Some(match (kind, since) {
        (FetchKind::Refresh, Some(since)) => format!("A copy is held, {since} old."),
        (FetchKind::Source, Some(since)) => {
            format!("It is watched for new links, and was last visited {since} ago.")
        }
        (FetchKind::New, Some(since)) => {
            format!("A source showed it; it is about {since} old, and {unseen}.")
        }
        (FetchKind::Frontier, Some(since)) => {
            format!("It was found {since} ago, and {unseen}.")
        }
        (FetchKind::New | FetchKind::Frontier, None) if is_tried => {
            "No fetch of it has brought a page yet.".to_owned()
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
        Merit::Clicks { worth: None, .. } => {
            vec!["What it would bring is not known yet.".to_owned()]
        }
        Merit::Clicks { worth: Some(worth), price, host_price } => {
            let compared =
                times(worth, price).map_or_else(String::new, |times| format!(", {times}"));
            let mut lines = vec![format!(
                "A fetch now would bring {}{compared}. The price is {}: what the last fetch that \
                 the budget pays for brings.",
                clicks(worth),
                clicks(price)
            )];
            if host_price > price * 1.01 {
                let compared = times(host_price, price);
                let compared = compared.map_or_else(String::new, |times| format!(", {times}"));
                lines.push(format!(
                    "On its host a fetch must bring {}{compared}, because the crawl delay, not the \
                     budget, is the limit there.",
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
    let spare = if why.early == Early::Spare { SPARE } else { "" };
    let due = match (due_in(why, now), why.merit) {
        (_, _) if why.due == Due::UnderWay => return "It is being fetched.".to_owned(),
        (Some(due), _) if due <= 0.0 => {
            return match why.obstacle {
                None => "It is due now.".to_owned(),
                Some(obstacle) => format!("It is due, but {}.", obstacle_text(obstacle, now)),
            };
        }
        (Some(due), _) => {
            let if_only = if why.failures > 0 { "" } else { &if_only };
            format!("It is due in {}{spare}.{if_only}", lasting(due))
        }
        (None, _) if why.due == Due::InTurn => {
            format!("It is fetched when its turn comes{spare}.{if_only}")
        }
        (None, Merit::Clicks { worth: Some(_), .. }) => format!(
            "It is not worth a fetch at this price{}. More clicks on {}, or a larger budget, would \
             change that.",
            if spare.is_empty() {
                ""
            } else {
                "; it is fetched once the budget has nothing better to pay for"
            },
            if why.kind == Some(FetchKind::Source) { "what it shows" } else { "it" }
        ),
        (None, _) => "It is not due.".to_owned(),
    };
    match why.obstacle {
        Some(obstacle) => format!("{due} Not now, because {}.", obstacle_text(obstacle, now)),
        None => due,
    }
}

/// What is added if a page may come before it is due.
const SPARE: &str = ", or as soon as the budget has nothing better to pay for";
/// A due time further away, in seconds, is none: prices and habits will be others by then.
const FAR: f64 = 10.0 * 365.25 * 86_400.0;

/// Seconds until a page is due, if it is within sight.
fn due_in(why: &Explanation, now: Time) -> Option<f64> {
    why.due.time().map(|due| due.seconds() - now.seconds()).filter(|seconds| *seconds < FAR)
}

fn obstacle_text(obstacle: Obstacle, now: Time) -> String {
    let left = |until: Time| lasting(until.since(now).seconds());
    match obstacle {
        Obstacle::Rest(Time::NEVER) => {
            "this crawl fetches a page once, and one that fails up to three times".to_owned()
        }
        Obstacle::Rest(until) => {
            format!("it rests for {} more, the least time between two visits", left(until))
        }
        Obstacle::Trouble { until, errors } => {
            let errors = match errors {
                1 => "an error".to_owned(),
                _ => format!("{errors} errors in a row"),
            };
            format!("its host rests for {} more after {errors}", left(until))
        }
        Obstacle::Gap(until) => {
            format!("its host is left alone for {} more", left(until))
        }
        Obstacle::Busy => "another page of its host is being fetched".to_owned(),
    }
}

/// The obstacle's name in JSON.
fn obstacle_name(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::Rest(_) => "rest",
        Obstacle::Trouble { .. } => "host-trouble",
        Obstacle::Gap(_) => "host-gap",
        Obstacle::Busy => "host-busy",
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
            (worth, price) = (clicks, Some((of_all, host_price)));
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
        "rule": why.rule, "due_in_s": due_in(why, now), "under_way": why.due == Due::UnderWay,
        "spare": why.early == Early::Spare, "outdated": why.is_outdated, "obstacle": why.obstacle.map(obstacle_name),
        "obstacle_for_s": why.obstacle.and_then(Obstacle::until)
            .filter(|until| *until < Time::NEVER).map(|until| until.since(now).seconds()),
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
        "budget_per_s": of.budget, "spent_per_s": of.spent(),
        "price": of.price, "freshness": of.freshness,
        "clicks_per_s": of.profit,
        "fetches_per_s": fetches,
    })
}

/// Reads what [`what_if_json`] gives; `None` if it is something else. The weight is not part of it.
pub fn what_if_of_json(json: &Json) -> Option<WhatIf> {
    let figure = |name: &str| json[name].as_f64();
    let mut fetches = [0.0; 4];
    for (kind, rate) in FetchKind::ALL.iter().zip(&mut fetches) {
        *rate = json["fetches_per_s"][kind.name()].as_f64()?;
    }
    Some(WhatIf {
        budget: figure("budget_per_s")?,
        price: figure("price")?,
        fetches,
        freshness: figure("freshness"),
        profit: figure("clicks_per_s")?,
        weight: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_reads_back() {
        let fetches = [1.0, 2.0, 3.0, 0.5];
        for freshness in [Some(0.75), None] {
            let told =
                WhatIf { budget: 9.0, price: 0.25, fetches, freshness, profit: 4.0, weight: 0.0 };
            assert_eq!(what_if_of_json(&what_if_json(&told)), Some(told));
        }
        assert_eq!(what_if_of_json(&json!({ "error": "no" })), None);
    }

    #[test]
    fn times_are_printed_in_a_fitting_unit() {
        assert_eq!(lasting(1.0), "a moment");
        assert_eq!(lasting(119.0), "119 seconds");
        assert_eq!(lasting(7200.0), "2 hours");
        assert_eq!(lasting(864_000.0), "10 days");
        assert_eq!(lasting(2.6e9), "82 years");
    }

    const PRICED: Merit = Merit::Clicks { worth: Some(0.5), price: 1.0, host_price: 1.0 };

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
        assert!(found.contains("it was never fetched") && !found.contains("show it"), "{found}");
        let moved = told_of(Explanation { failures: 2, ..of(FetchKind::Frontier, once, later) });
        assert!(moved.contains("The last 2 fetches of it failed or led to another page"));
        assert!(!moved.contains("never fetched"), "{moved}");
    }

    /// A seed whose first fetches failed: nothing is invented about it.
    #[test]
    fn nothing_is_said_of_the_worth_of_an_unknown_page() {
        let later = Due::At(Time::from_seconds(7200.0).unwrap());
        let merit = Merit::Clicks { worth: None, price: 1.0, host_price: 1.0 };
        let why = Explanation {
            since: None,
            failures: 3,
            merit,
            ..of(FetchKind::Frontier, Belief::Unstated, later)
        };
        let wanted = "No fetch of it has brought a page yet.\nWhat it would bring is not \
                      known yet.\nThe last 3 fetches of it failed or led to another page, so it is \
                      retried less often.\nIt is due in 2 hours.\n";
        assert_eq!(told(&why, Time::ZERO), wanted);
        let json = why_json(&why, "u", Time::ZERO);
        assert!(json["worth"].is_null() && json["since_s"].is_null() && json["price"] == 1.0);
    }

    /// What is in the way is told, a far due time is none, and spare budget is mentioned.
    #[test]
    fn the_verdict_matches_the_scheduler() {
        let hours = |hours: u64| Time::ZERO + tidewatch_core::Span::HOUR.times(hours);
        let verdict_of = |due, early, obstacle| {
            let why = of(FetchKind::Refresh, Belief::Unstated, due);
            told(&Explanation { early, obstacle, ..why }, hours(1))
                .lines()
                .last()
                .unwrap()
                .to_owned()
        };
        let now = Due::At(Time::ZERO);
        assert_eq!(verdict_of(now, Early::No, None), "It is due now.");
        let rest = verdict_of(now, Early::Spare, Some(Obstacle::Rest(hours(4))));
        assert_eq!(
            rest,
            "It is due, but it rests for 3 hours more, the least time between two visits."
        );
        let trouble = Obstacle::Trouble { until: hours(3), errors: 3 };
        let ill = verdict_of(now, Early::No, Some(trouble));
        assert_eq!(ill, "It is due, but its host rests for 2 hours more after 3 errors in a row.");
        let closed = verdict_of(now, Early::No, Some(Obstacle::Gap(hours(3))));
        assert_eq!(closed, "It is due, but its host is left alone for 2 hours more.");
        let far = verdict_of(Due::At(hours(5_000_000)), Early::Spare, None);
        assert!(
            far.starts_with("It is not worth a fetch at this price; it is fetched once"),
            "{far}"
        );
        let later = verdict_of(Due::At(hours(9)), Early::Spare, Some(Obstacle::Busy));
        assert!(later.starts_with("It is due in 8 hours, or as soon as the budget has nothing"));
        assert!(later.ends_with("Not now, because another page of its host is being fetched."));
        let under_way = verdict_of(Due::UnderWay, Early::No, None);
        assert_eq!(under_way, "It is being fetched.");
        let far = Explanation {
            due: Due::At(hours(5_000_000)),
            ..of(FetchKind::Refresh, Belief::Unstated, now)
        };
        assert_eq!(why_json(&far, "u", Time::ZERO)["due_in_s"], Json::Null);
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
    fn rare_clicks_are_given_as_fetches_per_click() {
        let said = [0.0, 3.0, 0.02, 0.005, 1.0 / 714_000.0, 1.5e-12].map(clicks);
        let wanted = [
            "nothing",
            "3.00 clicks",
            "0.02 clicks",
            "one click in 200 fetches",
            "one click in 714,000 fetches",
            "less than one click in a million fetches",
        ];
        assert_eq!(said, wanted);
    }

    /// Whatever the numbers, a person can see on which side of the price a fetch is.
    #[test]
    fn a_worth_is_compared_with_the_price() {
        let said = [3e-9, 1.5e-12, 1.0, 1.001, 1.8, 0.35, 5e-4, 0.0];
        let said = said.map(|worth| times(worth * 1e-3, 1e-3).unwrap_or_default());
        let wanted = [
            "less than 0.01 of the price",
            "less than 0.01 of the price",
            "just the price",
            "just the price",
            "1.80 times the price",
            "0.35 of the price",
            "less than 0.01 of the price",
            "",
        ];
        assert_eq!(said, wanted);
        assert_eq!(times(1.5e-12, 7e-13).unwrap(), "2.14 times the price");
        assert_eq!(times(5.0, 1e-3).unwrap(), "more than 1,000 times the price");
    }
}
