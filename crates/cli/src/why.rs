//! `tidewatch why` and `tidewatch what-if`: what decided, and what would be otherwise.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow, ensure};
use serde_json::{Value as Json, json};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{FetchKind, Rate, Time};
use tidewatch_crawler::Crawl;
use tidewatch_policy::law::{Curve, LossCurve};
use tidewatch_policy::price::{Staling, Value};
use tidewatch_policy::{WhatIf, Why};
use tidewatch_report::{Cell, Column, Table};

use crate::output;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch why https://example.com/news --dir news\n\nThe crawl \
                        must not be running, and must have been begun with policy = \"price\".")]
pub(crate) struct WhyArgs {
    /// The page.
    url: String,
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch what-if --budget 2x --dir news\n\nThe crawl must not be \
                        running, and must have been begun with policy = \"price\"."
)]
pub(crate) struct WhatIfArgs {
    /// Another budget: a multiple such as 2x or 0.5x, or a rate such as 5/s.
    #[arg(long, value_parser = Budget::read)]
    budget: Budget,
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Budget {
    Times(f64),
    Rate(Rate),
}

impl Budget {
    fn read(text: &str) -> Result<Budget, String> {
        if let Some(times) = text.strip_suffix(['x', '×']) {
            return match times.parse() {
                Ok(times) if times > 0.0 && f64::is_finite(times) => Ok(Budget::Times(times)),
                _ => Err("a multiple is a number above zero, such as 2x".to_owned()),
            };
        }
        text.parse().map(Budget::Rate).map_err(|error| format!("{error}"))
    }
}

fn look(dir: &Path) -> Result<Crawl> {
    ensure_crawl(dir)?;
    Ok(Crawl::look(dir, now_micros())?)
}

/// Looking must not make a crawl of a folder that holds none.
pub(crate) fn ensure_crawl(dir: &Path) -> Result<()> {
    ensure!(dir.join("format").exists(), "{} holds no crawl", dir.display());
    Ok(())
}

/// Microseconds of Unix time.
pub(crate) fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

fn no_price(crawl: &Crawl) -> anyhow::Error {
    anyhow!(
        "this crawl chooses by {}, which has no price to explain; only one begun with policy = \
         \"price\" does",
        crawl.policy()
    )
}

pub(crate) fn why(args: &WhyArgs) -> Result<()> {
    let url = CanonicalUrl::parse(&args.url)?;
    let mut crawl = look(&args.dir)?;
    ensure!(crawl.standing().is_some(), no_price(&crawl));
    let found = crawl.why(&url)?;
    let now = crawl.last();
    let why = found.ok_or_else(|| {
        anyhow!("this crawl does not know {}; no page it fetched links there", url.as_str())
    })?;
    if args.json {
        return output::print(
            &(serde_json::to_string_pretty(&as_json(&why, url.as_str(), now))? + "\n"),
        );
    }
    output::print(&format!("{}\n{}", url.as_str(), told(&why, now)))
}

/// Seconds as a person says them.
fn lasting(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds")];
    let (unit, name) =
        UNITS.into_iter().find(|(unit, _)| seconds >= 2.0 * unit).unwrap_or(UNITS[3]);
    format!("{:.0} {name}", seconds / unit)
}

/// Clicks as a person reads them.
fn clicks(number: f64) -> String {
    match number {
        ..=1e-15 => "nothing".to_owned(),
        n if n >= 0.01 => format!("{n:.2} clicks"),
        n => format!("{n:.1e} clicks"),
    }
}

/// The answer in sentences.
fn told(why: &Why, now: Time) -> String {
    let since = lasting(now.since(why.since).seconds());
    let mut lines = vec![match (why.is_gone, why.kind) {
        (true, _) => {
            format!("It is gone: the server said so {since} ago. It is not asked for again.")
        }
        (_, FetchKind::Refresh) => format!("A copy is held, {since} old."),
        (_, FetchKind::Source) => {
            format!("It is watched for new links, and was last looked at {since} ago.")
        }
        (_, FetchKind::New) => {
            format!("A source showed it; it is about {since} old, and was never fetched.")
        }
        (_, FetchKind::Frontier) => format!("It was found {since} ago and never fetched."),
    }];
    lines.push(match &why.value {
        Value::Refresh { weight, staling } => {
            let (changes, visits) = why.history;
            format!(
                "Readers click it {} times a week, by what the log and its links say. Of {visits} \
                 visits {changes} saw a change. {}",
                brief(weight * 604_800.0),
                ageing(staling, now.since(why.since).seconds())
            )
        }
        Value::Source(source) => format!(
            "It shows {} new pages a day, {:.0}% of which would not be found elsewhere as soon; each \
             brings {} if fetched at once, half of that after {}.",
            brief(source.arrivals * 86_400.0),
            100.0 * source.credit,
            clicks(source.profit),
            lasting(std::f64::consts::LN_2 / source.decay)
        ),
        Value::Once { clicks: all, .. } => {
            let shown = why.shown.map_or(String::new(), |n| format!(" {n} pages show it."));
            format!("It would have brought {} if fetched at once.{shown}", clicks(*all))
        }
    });
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
        lines.push(match why.failures {
            1 => "The last fetch of it failed, so it is asked for less often.".to_owned(),
            n => format!("The last {n} fetches of it failed, so it is asked for less often."),
        });
    }
    lines.push(verdict(why, now));
    lines.join("\n") + "\n"
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
        Staling::Parts { curve, chance, .. } => format!(
            "It goes stale in parts: of a share of {:.0}%, with a chance of {:.0}% that it changes at \
             all; by now about {stale:.0}% of it is out of date.",
            100.0 * curve.limit(),
            100.0 * chance
        ),
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
    if why.is_gone {
        return "It is not due.".to_owned();
    }
    match why.due {
        Time::NEVER if why.failures > 0 => {
            "It is not due: it is left alone until something else names it.".to_owned()
        }
        Time::NEVER => "It is not due: at this price a fetch never pays. More clicks on it, or a \
                        larger budget, would change that."
            .to_owned(),
        due if due <= now => "It is due now.".to_owned(),
        due => format!(
            "It is due in {}. It would be sooner if it were clicked or changed more often, or if \
             the budget were larger.",
            lasting(due.since(now).seconds())
        ),
    }
}

fn brief(number: f64) -> String {
    if number >= 10.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

fn as_json(why: &Why, url: &str, now: Time) -> Json {
    let value = match &why.value {
        Value::Refresh { weight, staling } => json!({
            "clicks_per_s": weight,
            "stale": staling.stale(now.since(why.since).seconds()),
            "curve": match staling {
                Staling::Whole(_) => "whole",
                Staling::Parts { .. } => "parts",
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

pub(crate) fn what_if(args: &WhatIfArgs) -> Result<()> {
    let crawl = look(&args.dir)?;
    let now = crawl.budget();
    let then = match args.budget {
        Budget::Rate(rate) => rate,
        Budget::Times(times) => Rate::per_second(times * now.as_per_second())
            .ok_or_else(|| anyhow!("{times} times the budget is more than can be counted"))?,
    };
    let both = crawl.what_if(now).zip(crawl.what_if(then));
    let (before, after) = both.ok_or_else(|| no_price(&crawl))?;
    if args.json {
        let json = json!({ "now": budget_json(&before), "then": budget_json(&after) });
        return output::print(&(serde_json::to_string_pretty(&json)? + "\n"));
    }
    output::print(&compared(&before, &after).to_text(output::width()))
}

fn budget_json(of: &WhatIf) -> Json {
    let [refresh, source, new] = of.fetches;
    json!({
        "budget_per_s": of.budget, "price": of.price, "freshness": of.freshness,
        "clicks_per_s": of.profit,
        "fetches_per_s": { "refresh": refresh, "source": source, "new": new },
    })
}

fn compared(before: &WhatIf, after: &WhatIf) -> Table {
    let mut table =
        Table::new([Column::text("Figure"), Column::number("Now"), Column::number("Then")]);
    let mut row = |name: &str, of: &dyn Fn(&WhatIf) -> Cell| {
        table.push([Cell::text(name), of(before), of(after)]);
    };
    row("budget, fetches/s", &|w| Cell::number(w.budget, 4));
    row("price, clicks a fetch", &|w| Cell::text(format!("{:.3e}", w.price)));
    row("freshness, by clicks", &|w| Cell::maybe(w.freshness, 3));
    row("refreshes/s", &|w| Cell::number(w.fetches[0], 4));
    row("visits to sources/s", &|w| Cell::number(w.fetches[1], 4));
    row("new pages/s", &|w| Cell::number(w.fetches[2], 4));
    row("clicks/s on new pages", &|w| Cell::number(w.profit, 4));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_multiples_or_rates() {
        assert_eq!(Budget::read("2x"), Ok(Budget::Times(2.0)));
        assert_eq!(Budget::read("0.5×"), Ok(Budget::Times(0.5)));
        assert_eq!(Budget::read("5/s"), Ok(Budget::Rate(Rate::per_second(5.0).unwrap())));
        for bad in ["x", "-1x", "infx", "NaNx", "fast"] {
            assert!(Budget::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_said_in_the_unit_that_fits() {
        assert_eq!(lasting(0.0), "0 seconds");
        assert_eq!(lasting(119.0), "119 seconds");
        assert_eq!(lasting(7200.0), "2 hours");
        assert_eq!(lasting(864_000.0), "10 days");
    }
}
