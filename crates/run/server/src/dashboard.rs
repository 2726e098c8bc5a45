//! The operator's pages: overview, hosts, sources, one page, what-if.
//!
//! Every page works without a script. The one script reloads the parts marked `data-live` whenever
//! figures change.

use std::sync::Arc;

use axum::extract::{Query as Fields, State};
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use serde_json::Value;
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{FetchKind, Reason, Time};
use tidewatch_partition::explain::lasting;
use tidewatch_partition::hints::HintRow;
use tidewatch_partition::rules::RuleRow;
use tidewatch_partition::{Freshness, History, HostView, OtherBudget, Sample, SourceView, Status};
use tidewatch_policy::WhatIf;
use tidewatch_report::{
    Axis, BarChart, Cell, Chart, Column, Graphic, Point, Reference, Series, Table, clean,
};

use crate::Figures;
use crate::ask::NoAnswer;
use crate::board::Missing;
use crate::layout::{self, Part};
use crate::operate::{Times, Which};
use crate::owners::Partial;
use crate::question::PageView;
use crate::search_page::count;
use crate::shared::Shared;

pub(crate) async fn overview(State(shared): State<Arc<Shared>>) -> Response {
    let body = match shared.board().figures() {
        None => beginning(),
        Some(figures) if figures.status.pages == 0 => beginning(),
        Some(figures) => overview_of(&figures),
    };
    layout::page("Dashboard · Tidewatch", Part::Overview, &body).into_response()
}

/// Shown while the crawl knows no page.
fn beginning() -> Markup {
    html! {
        h1 { "Nothing here yet" }
        div data-live="overview" {
            p { "This crawl knows no page. Start with one you care about:" }
            pre.scroll tabindex="0" {
                "tidewatch crawl https://example.com/ --dir DIR --listen 127.0.0.1:7700"
            }
            p { "or add seeds to the running crawl:" }
            pre.scroll tabindex="0" {
                "curl -X POST http://127.0.0.1:7700/api/seeds \\\n"
                "     -H \"Authorization: Bearer $(cat token)\" \\\n"
                "     -d '{\"urls\": [\"https://example.com/\"]}'"
            }
            p { "To try it without the web, " code { "tidewatch demo" }
                " crawls a simulated web." }
        }
    }
}

fn overview_of(figures: &Figures) -> Markup {
    let status = &figures.status;
    html! {
        h1 { "Overview" }
        div data-live="overview" {
            p.lead {
                @if figures.is_running { "The crawl is running" } @else { "The crawl is not running" }
                ": policy " (clean(&status.policy)) ", budget " (short(status.budget_per_s))
                " fetches a second."
                @if let Some(told) = status.unspent.and_then(|unspent| unspent.told()) { " " (told) "." }
            }
            @if let Some(told) = figures.missing.as_ref().and_then(Missing::told) {
                p.alarm role="status" { (told) }
            }
            @if let Some(told) = status.panic_told() { p.alarm role="alert" { (clean(&told)) } }
            (tiles(figures))
            div.charts {
                @for chart in charts(&figures.history, status) { (chart.to_markup()) }
            }
            (reasons(status))
            @if let Some(extra) = &figures.extra {
                section { h2 { (extra.name) } p { (clean(&extra.about)) } (extra.table.to_markup()) }
            }
        }
    }
}

fn tiles(figures: &Figures) -> Markup {
    let (status, tally) = (&figures.status, &figures.status.tally);
    html! {
        dl.tiles {
            (tile("Fetches", &tally.all_fetches().to_string(), &format!("{} in progress", status.requests)))
            (tile("Pages stored", &tally.held.to_string(), &format!("of {} known on {}", status.pages,
                count(u64::from(status.hosts), "host", "hosts"))))
            @match status.freshness {
                Some(Freshness { share, margin, by }) => {
                    (tile("Freshness", &percent(share), &format!("± {} {}", percent(margin), by.text())))
                }
                None => (tile("Freshness", "—", "nothing is stored yet")),
            }
            (tile("Price", &status.price.map_or("—".into(), short), "clicks per marginal fetch"))
            (tile("Failed fetches", &status.failures.to_string(), &format!("{} URLs skipped", tally.dropped.values().sum::<u64>())))
            @if let Some(index) = &figures.index {
                (tile("Pages indexed", &index.pages.to_string(), &match &index.failed {
                    Some(why) => why.clone(),
                    None => format!("searchable within {:.1} s", index.slowest_s),
                }))
            }
        }
    }
}

fn tile(label: &str, value: &str, note: &str) -> Markup {
    html! {
        div { dt { (label) } dd { span.value { (value) } span.note { (clean(note)) } } }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A number with three or four significant digits.
fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        n if n >= 1_000.0 => format!("{number:.0}"),
        n if n >= 1.0 => format!("{number:.2}"),
        n if n >= 0.001 => format!("{number:.4}"),
        _ => format!("{number:.2e}"),
    }
}

fn charts(history: &History, status: &Status) -> Vec<Graphic> {
    let samples = history.samples();
    let began_ms = samples.first().map_or(0, |first| first.unix_ms);
    let at_s = |sample: &Sample| (sample.unix_ms - began_ms) as f64 / 1_000.0;
    let mut charts: Vec<Graphic> = Vec::new();
    if samples.len() > 1 {
        let time = || Axis::seconds("time");
        let line = |of: fn(&Sample) -> Option<f64>| {
            samples.iter().filter_map(move |s| of(s).map(|y| Point::new(at_s(s), y)))
        };
        if samples.iter().any(|sample| sample.price.is_some()) {
            let chart = Chart::new("Price", time(), Axis::new("clicks a fetch").log())
                .caption("Clicks that the last fetch within the budget brings.")
                .series(Series::line("price", line(|s| s.price)));
            charts.push(chart.into());
        }
        let fresh = samples.iter().filter_map(|s| {
            s.freshness.map(|Freshness { share, margin, .. }| {
                let (low, high) = ((share - margin).max(0.0), (share + margin).min(1.0));
                Point::new(at_s(s), share).between(low, high)
            })
        });
        let chart = Chart::new("Freshness", time(), Axis::new("share of copies").range(0.0, 1.0))
            .caption("Share of copies that are up to date, with its 95% interval.")
            .series(Series::line("freshness", fresh));
        charts.push(chart.into());
        charts.push(rates(samples, status.budget_per_s).into());
    }
    let split = BarChart::new("Where the budget went", Axis::new("fetches"));
    let split = FetchKind::ALL.iter().fold(split, |chart, kind| {
        let fetches = status.tally.fetches.get(kind.name()).copied().unwrap_or(0);
        chart.category(kind.name(), [fetches as f64])
    });
    charts.push(split.into());
    charts
}

/// Fetches a second by kind, between samples.
fn rates(samples: &[Sample], budget: f64) -> Chart {
    let stride = (samples.len() / 60).max(1);
    let began_ms = samples.first().map_or(0, |first| first.unix_ms);
    let points: Vec<&Sample> = samples.iter().step_by(stride).collect();
    let series = FetchKind::ALL.iter().enumerate().map(|(at, kind)| {
        let rate = points.windows(2).filter_map(move |pair| {
            let passed = (pair[1].unix_ms - pair[0].unix_ms) as f64 / 1_000.0;
            let fetched = pair[1].fetches[at].saturating_sub(pair[0].fetches[at]) as f64;
            (passed > 0.0).then(|| {
                Point::new((pair[1].unix_ms - began_ms) as f64 / 1_000.0, fetched / passed)
            })
        });
        Series::line(kind.name(), rate)
    });
    let axis = Axis::new("fetches a second").from_zero();
    Chart::new("Fetches by kind", Axis::seconds("time"), axis)
        .all(series)
        .stacked()
        .reference(Reference::horizontal(budget, "budget"))
}

/// Failed fetches and skipped URLs by reason.
fn reasons(status: &Status) -> Markup {
    let tally = &status.tally;
    let columns = || [Column::text("Reason"), Column::number("Count")];
    let table = |mut rows: Vec<(&str, u64)>| {
        rows.sort_by_key(|(reason, n)| (std::cmp::Reverse(*n), *reason));
        rows.into_iter().fold(Table::new(columns()), |table, (reason, n)| {
            table.row([Cell::text(reason), Cell::count(n)])
        })
    };
    let (failed, moved): (Vec<_>, Vec<_>) =
        tally.reasons.iter().partition(|(reason, _)| reason.is_failure());
    let named = |rows: Vec<(&Reason, &u64)>| rows.iter().map(|(r, n)| (r.name(), **n)).collect();
    let dropped = tally.dropped.iter().map(|(reason, n)| (reason.name(), *n)).collect();
    html! {
        @if !failed.is_empty() {
            section { h2 { "Failed fetches" } (table(named(failed)).to_markup()) }
        }
        @if !moved.is_empty() {
            section { h2 { "Redirected or gone" } (table(named(moved)).to_markup()) }
        }
        @if !tally.dropped.is_empty() {
            section { h2 { "Skipped URLs" } (table(dropped).to_markup()) }
        }
    }
}

fn unanswered(why: &NoAnswer) -> Markup {
    html! {
        p role="status" {
            @match why {
                NoAnswer::Busy => { "The crawl is busy. Reload this page in a moment." }
                NoAnswer::Ended => { "The crawl is not running." }
                NoAnswer::Failed(error) => { "The crawl failed to answer: " (clean(&error.to_string())) "." }
                NoAnswer::Refused(why) => { "There is no answer: " (clean(why)) "." }
            }
        }
    }
}

/// Says so if some partitions did not answer.
fn covered<T>(found: &Result<Partial<T>, NoAnswer>) -> Markup {
    let told = found.as_ref().ok().and_then(|found| found.coverage.told());
    html! { @if let Some(told) = told { p.alarm role="status" { (told) } } }
}

pub(crate) async fn hosts(State(shared): State<Arc<Shared>>) -> Response {
    let found = shared.asker().hosts().await;
    let body = html! {
        h1 { "Hosts" }
        div data-live="hosts" {
            (covered(&found))
            @match found.as_ref().map(|found| &found.found) {
                Ok(hosts) if hosts.is_empty() => { p { "No host is known yet." } }
                Ok(hosts) => {
                    p.note { "The hosts with the most pages. A price above the global one means that \
                              this host's crawl delay, not the budget, is the limit." }
                    (host_table(hosts).to_markup())
                }
                Err(why) => (unanswered(why)),
            }
        }
    };
    layout::page("Hosts · Tidewatch", Part::Hosts, &body).into_response()
}

fn host_table(hosts: &[HostView]) -> Table {
    let columns = [
        Column::text("Host"),
        Column::number("Pages"),
        Column::number("Delay").unit("s"),
        Column::number("Crawl-delay").unit("s"),
        Column::number("Next request in").unit("s"),
        Column::text("robots.txt"),
        Column::number("Errors in a row"),
        Column::number("Price"),
    ];
    hosts.iter().fold(Table::new(columns), |table, host| {
        let robots = host.robots.map_or("not fetched".to_owned(), |status| status.to_string());
        let asked = (host.crawl_delay_s > 0.0).then_some(host.crawl_delay_s);
        table.row([
            Cell::text(&host.origin),
            Cell::count(u64::from(host.pages)),
            Cell::number(host.gap_s, 2),
            Cell::maybe(asked, 1),
            Cell::number((10.0 * host.opens_in_s).round() / 10.0, 1),
            Cell::text(robots),
            Cell::count(u64::from(host.troubles)),
            host.price.map_or_else(Cell::missing, |price| Cell::significant(price, 3)),
        ])
    })
}

pub(crate) async fn sources(State(shared): State<Arc<Shared>>) -> Response {
    let found = shared.asker().sources().await;
    let body = html! {
        h1 { "Sources" }
        div data-live="sources" {
            (covered(&found))
            @match found.as_ref().map(|found| &found.found) {
                Ok(sources) if sources.is_empty() => {
                    p { "No source has been visited twice yet, or this crawl's policy has no price." }
                }
                Ok(sources) => {
                    p.note { "Pages and feeds watched for new links, most valuable first." }
                    (source_table(sources).to_markup())
                }
                Err(why) => (unanswered(why)),
            }
        }
    };
    layout::page("Sources · Tidewatch", Part::Sources, &body).into_response()
}

fn source_table(sources: &[SourceView]) -> Table {
    let columns = [
        Column::text("Source"),
        Column::number("New links a day"),
        Column::number("Clicks per link"),
        Column::number("Value now"),
        Column::number("Next visit in").unit("s"),
    ];
    sources.iter().fold(Table::new(columns), |table, source| {
        table.row([
            Cell::text(&source.url),
            Cell::significant(source.links_per_day, 3),
            Cell::significant(source.clicks_per_link, 3),
            Cell::significant(source.worth, 3),
            Cell::maybe(source.due_in_s, 1),
        ])
    })
}

pub(crate) async fn rules(State(shared): State<Arc<Shared>>) -> Response {
    let found = shared.asker().rules().await;
    let spared = shared.board().figures().map_or(0, |figures| figures.status.tally.spared);
    let body = html! {
        h1 { "Rules" }
        div data-live="rules" {
            (covered(&found))
            @match found.as_ref().map(|found| &found.found) {
                Ok(rules) if rules.is_empty() => { p { "No rule was learnt yet." } }
                Ok(rules) => {
                    p.lead { (count(spared, "fetch", "fetches")) " spared so far." }
                    p.note { "A rule unites URLs of one page. It is tried on every fetch, and applied \
                              once it is sure. To apply one never, always, or as its trials say:" }
                    pre.scroll tabindex="0" { "tidewatch rules --dir DIR --veto ID   (--pin ID, --undo ID)" }
                    (rule_table(rules).to_markup())
                }
                Err(why) => (unanswered(why)),
            }
        }
    };
    layout::page("Rules · Tidewatch", Part::Rules, &body).into_response()
}

/// Rules as `tidewatch rules` and the dashboard show them.
pub fn rule_table(rules: &[RuleRow]) -> Table {
    let columns = [
        Column::text("ID"),
        Column::text("Host"),
        Column::text("Rule"),
        Column::text("State"),
        Column::number("Right"),
        Column::number("Wrong"),
        Column::number("Chance"),
        Column::number("Spared"),
    ];
    rules.iter().fold(Table::new(columns), |table, rule| {
        table.row([
            Cell::text(&rule.id),
            Cell::text(&rule.host),
            Cell::text(&rule.says),
            Cell::text(rule.state()),
            Cell::number(rule.right, 0),
            Cell::number(rule.wrong, 0),
            Cell::number(rule.chance, 3),
            Cell::count(rule.spared),
        ])
    })
}

pub(crate) async fn hints(State(shared): State<Arc<Shared>>) -> Response {
    let found = shared.asker().hints().await;
    let body = html! {
        h1 { "Hints" }
        div data-live="hints" {
            (covered(&found))
            @match found.as_ref().map(|found| &found.found) {
                Ok(hints) if hints.is_empty() => {
                    p { "No sitemap, feed or sender has said of a page that it changed." }
                }
                Ok(hints) => {
                    p.note { "Who says that pages have changed, by host. A hint counts as much as those \
                              before it have proved to be worth: precision is the share of hints behind \
                              which there was a change, recall the share of changes that were hinted at. \
                              Both begin as guesses." }
                    (hint_table(hints).to_markup())
                }
                Err(why) => (unanswered(why)),
            }
            (publishers(shared.publishers().as_ref()))
        }
    };
    layout::page("Hints · Tidewatch", Part::Hints, &body).into_response()
}

/// What publishers have sent, and where the crawl has subscribed.
fn publishers(told: Option<&Value>) -> Markup {
    let Some(told) = told else { return html! {} };
    let counts = told.as_object().into_iter().flatten();
    let counts = counts.filter_map(|(name, count)| Some(format!("{name} {}", count.as_u64()?)));
    let all = told["subscriptions"].as_array().map_or(&[][..], Vec::as_slice);
    let columns = [Column::text("Topic"), Column::text("Hub"), Column::text("State")];
    let table = all.iter().fold(Table::new(columns), |table, one| {
        let text = |name: &str| Cell::text(one[name].as_str().unwrap_or_default());
        let state = match (one["is_wanted"].as_bool(), one["active_until_s"].as_u64()) {
            (Some(false), _) => "ending",
            (_, Some(0)) => "not confirmed",
            _ => "confirmed",
        };
        table.row([text("topic"), text("hub"), Cell::text(state)])
    });
    html! {
        h2 { "Publishers" }
        p.note { "Messages since the start: " (counts.collect::<Vec<_>>().join(", ")) "." }
        @if !all.is_empty() { (table.to_markup()) }
    }
}

fn hint_table(hints: &[HintRow]) -> Table {
    let columns = [
        Column::text("Host"),
        Column::text("Kind"),
        Column::number("Tested by visits"),
        Column::number("Precision"),
        Column::number("Recall"),
    ];
    hints.iter().fold(Table::new(columns), |table, hint| {
        table.row([
            Cell::text(&hint.host),
            Cell::text(&hint.kind),
            Cell::number(hint.hints, 0),
            Cell::number(hint.precision, 2),
            Cell::number(hint.recall, 2),
        ])
    })
}

pub(crate) async fn page(
    State(shared): State<Arc<Shared>>,
    fields: Result<Fields<Which>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Fields(which) = fields.unwrap_or_default();
    let about = match (which.url.trim(), CanonicalUrl::parse(which.url.trim())) {
        ("", _) => {
            html! { p { "Enter a URL to see what the crawl knows about it and why it is due or not." } }
        }
        (_, Err(refused)) => {
            html! { p role="status" { "This is not a valid URL: " (clean(&refused.to_string())) "." } }
        }
        (_, Ok(url)) => match shared.asker().page_view(&url).await {
            Ok(found) => portrait(&url, &found),
            Err(why) => unanswered(&why),
        },
    };
    let body = html! {
        h1 { "Page" }
        form.search action="/dashboard/page" method="get" {
            label.visually-hidden for="url" { "URL of the page" }
            input #url type="text" inputmode="url" name="url" value=(clean(&which.url))
                placeholder="https://example.com/" autocomplete="off" spellcheck="false";
            button type="submit" { "Show" }
        }
        div data-live="page" { (about) }
    };
    layout::page("Page · Tidewatch", Part::Page, &body).into_response()
}

fn portrait(url: &CanonicalUrl, found: &PageView) -> Markup {
    let Some(page) = &found.known else {
        return html! { p role="status" { "This crawl does not know " (clean(url.as_str())) "." } };
    };
    let past = |time: Time| format!("{} ago", lasting(found.now.since(time).seconds()));
    html! {
        h2 { (clean(url.as_str())) }
        @if let Some(why) = &page.why {
            section {
                h3 { "Why" }
                @if let Some(told) = &page.in_the_way { p { (clean(told)) } }
                @for line in why.told.lines() { p { (line) } }
                @if let Some(told) = &page.suspected { p { (clean(told)) } }
                @if let Some(told) = &page.suits { p { (told) } }
                @if let Some(told) = &page.form { p { (clean(told)) } }
            }
        }
        section {
            h3 { "Details" }
            dl.facts {
                (fact("page number", &page.number.to_string()))
                (fact("distance from a seed, links", &page.depth.to_string()))
                (fact("watched for new links", if page.is_source { "yes" } else { "no" }))
                @if let Some(copy) = &page.copy {
                    (fact("last fetched", &past(copy.at)))
                    (fact("last change seen", &if copy.changes > 0 { past(copy.changed_at) } else { "none".to_owned() }))
                    (fact("visits", &copy.visits.to_string()))
                    (fact("changes seen", &copy.changes.to_string()))
                    (fact("links on the page", &copy.links.to_string()))
                    (fact("status", &copy.status.to_string()))
                } @else { (fact("copy", "none")) }
            }
            @if let Some(via) = &page.via {
                p { "First linked from " a href=(format!("/dashboard/page?url={}", crate::search_page::encode(via))) { (clean(via)) } "." }
            }
        }
    }
}

fn fact(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (clean(value)) } } }
}

pub(crate) async fn what_if(
    State(shared): State<Arc<Shared>>,
    fields: Result<Fields<Times>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Fields(times) = fields.unwrap_or_default();
    let times = times.read().unwrap_or(2.0);
    let found = shared.asker().what_if(OtherBudget::Times(times)).await;
    let body = html! {
        h1 { "What if" }
        form.slider action="/dashboard/what-if" method="get" data-follow="what-if" {
            label for="times" { "Budget, as a multiple of the current one" }
            input #times type="range" name="times" min="0.1" max="8" step="0.1" value=(times);
            output for="times" { (times) "×" }
            button type="submit" { "Show" }
        }
        div data-live="what-if" aria-live="polite" {
            @match &found {
                Ok(Some(both)) => {
                    @if let Some(told) = both.coverage.told() { p.alarm role="status" { (told) } }
                    (compared(&both.found.now, &both.found.then))
                }
                Ok(None) => { p { "This crawl's policy has no price, so it cannot predict." } }
                Err(why) => (unanswered(why)),
            }
        }
    };
    layout::page("What if · Tidewatch", Part::WhatIf, &body).into_response()
}

fn compared(now: &WhatIf, then: &WhatIf) -> Markup {
    let mut table =
        Table::new([Column::text("Figure"), Column::number("Now"), Column::number("Then")]);
    let mut row = |name: &str, of: &dyn Fn(&WhatIf) -> Cell| {
        table.push([Cell::text(name), of(now), of(then)]);
    };
    row("budget, fetches/s", &|w| Cell::significant(w.budget, 3));
    row("spent, fetches/s", &|w| Cell::significant(w.spent(), 3));
    row("price, clicks a fetch", &|w| Cell::significant(w.price, 3));
    row("freshness, share of copies", &|w| Cell::maybe(w.freshness, 3));
    row("refreshes/s", &|w| Cell::significant(w.fetches[0], 3));
    row("source visits/s", &|w| Cell::significant(w.fetches[1], 3));
    row("new pages/s", &|w| Cell::significant(w.fetches[2], 3));
    row("frontier pages/s", &|w| Cell::significant(w.fetches[3], 3));
    row("clicks/s on newly fetched pages", &|w| Cell::significant(w.profit, 3));
    let split = FetchKind::ALL.iter().enumerate().fold(
        BarChart::new("Where the budget would go", Axis::new("fetches a second"))
            .groups(["now", "then"]),
        |chart, (at, kind)| chart.category(kind.name(), [now.fetches[at], then.fetches[at]]),
    );
    html! {
        (table.to_markup())
        (Graphic::from(split).to_markup())
        p.note {
            "Now: the current figures. Then: as they would change in the coming week by current \
             estimates. Only URLs already in the frontier count. This page changes nothing."
        }
    }
}
