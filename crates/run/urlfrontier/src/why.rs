//! Why a URL is given out when it is, in sentences and as JSON; and the socket at which
//! `tidewatch why` and `tidewatch what-if` ask.

use std::path::Path;

use serde_json::{Value, json};
use tidewatch_core::Time;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_keeper::{Keeper, Standing, State, WhyUrl};
use tidewatch_partition::explain::{lasting, told, what_if_json, why_json};
use tidewatch_partition::{Doorkeeper, OtherBudget, Question};

/// Answers questions at a socket in the directory until dropped. `None` if it cannot listen there. Must be
/// called within a runtime.
pub(crate) fn door(dir: &Path, keeper: &Keeper) -> Option<Doorkeeper> {
    let (runtime, keeper) = (tokio::runtime::Handle::current(), keeper.clone());
    Doorkeeper::open(dir, move |question| {
        runtime.block_on(async {
            match question {
                Question::Why(url) => why(&keeper, url.as_str()).await,
                Question::WhatIf(other) => what_if(&keeper, other).await,
                _ => json!({ "error": "there are no rules in an order of fetches for other crawlers" }),
            }
        })
    })
}

/// The answer to `why URL`: an object with `why` and `told`, or with `error`. A URL is looked for as it is
/// written and in its canonical form.
pub(crate) async fn why(keeper: &Keeper, url: &str) -> Value {
    let canonical = CanonicalUrl::parse(url).map(CanonicalUrl::into_string).unwrap_or_default();
    for form in [url, canonical.as_str()] {
        match keeper.why(form.to_owned()).await {
            Err(error) => return json!({ "error": error.to_string() }),
            Ok(found) if found.is_empty() => {}
            Ok(found) => {
                let sentences: Vec<String> = found.iter().map(sentences).collect();
                let crawls: Vec<Value> = found.iter().map(|why| to_json(why, form)).collect();
                return json!({ "why": { "url": form, "crawls": crawls }, "told": sentences.join("\n") });
            }
        }
    }
    let error = format!("no crawl here knows {url} in the queue of its host");
    json!({ "error": error })
}

/// The answer to `what-if`: predicted figures at the budget of now and at another one.
pub(crate) async fn what_if(keeper: &Keeper, other: OtherBudget) -> Value {
    match keeper.what_if(move |now| other.of(now)).await {
        Ok(Some((now, then))) => json!({ "now": what_if_json(&now), "then": what_if_json(&then) }),
        Ok(None) => json!({
            "error": "only a policy with a price can predict; start the server with --policy price"
        }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

fn to_json(why: &WhyUrl, url: &str) -> Value {
    let WhyUrl { queue, standing, explanation, now } = why;
    let seconds = |time: Time| (time < Time::NEVER).then(|| time.as_micros() / 1_000_000);
    json!({
        "crawl": queue.crawl,
        "queue": queue.key,
        "state": name(standing.state),
        "due_s": seconds(standing.due),
        "held_until_s": standing.held_until.and_then(seconds),
        "queue_opens_s": seconds(standing.opens),
        "is_active": standing.is_active,
        "policy": explanation.as_ref().map(|why| why_json(why, url, *now)),
    })
}

const fn name(state: State) -> &'static str {
    match state {
        State::Waiting => "waiting",
        State::Held => "held",
        State::Done => "done",
        State::Dropped => "dropped",
    }
}

fn sentences(why: &WhyUrl) -> String {
    let WhyUrl { queue, standing, explanation, now } = why;
    let mut lines = vec![format!("Crawl {}, queue {}.", queue.crawl, queue.key)];
    if !standing.is_active {
        lines.push("Nothing is given out: a client has called SetActive.".to_owned());
    }
    lines.push(state(standing, explanation.is_some(), *now));
    if standing.state == State::Waiting {
        lines.extend(obstacle(standing, *now));
    }
    if let (Some(explanation), State::Waiting | State::Held) = (explanation, standing.state) {
        lines.push(told(explanation, *now));
    }
    lines.join("\n")
}

fn until(time: Time, now: Time) -> String {
    lasting(time.since(now).seconds())
}

fn state(standing: &Standing, is_managed: bool, now: Time) -> String {
    match standing.state {
        State::Done => {
            "A fetcher brought it back with date 0: it is not given out again.".to_owned()
        }
        State::Held => {
            let left = until(standing.held_until.unwrap_or(now), now);
            format!("A fetcher holds it. If it does not come back, its lease ends in {left}.")
        }
        State::Dropped => "It was deleted.".to_owned(),
        State::Waiting if is_managed => "It waits for the policy to choose it.".to_owned(),
        State::Waiting if standing.due <= now => {
            let since = lasting(now.since(standing.due).seconds());
            format!("It has been due for {since}, and waits for its queue's turn.")
        }
        State::Waiting => format!("It is due in {}.", until(standing.due, now)),
    }
}

/// What keeps its queue from giving out URLs.
fn obstacle(standing: &Standing, now: Time) -> Option<String> {
    if let Some(end) = standing.blocked_until {
        let end =
            if end == Time::NEVER { "for ever".into() } else { format!("for {}", until(end, now)) };
        return Some(format!("Its queue is blocked {end}."));
    }
    if standing.is_full {
        return Some("Its queue has as many done URLs as SetCrawlLimit allows.".to_owned());
    }
    let rests = standing.opens > now;
    rests.then(|| {
        format!("Its queue rests for {} after its last answer.", until(standing.opens, now))
    })
}
