//! How the crawl stands, for its operator.
//!
//! Every page is whole without a script. What is marked as live is fetched again by the one script
//! there is whenever figures change, from the same address.

use std::sync::Arc;

use axum::extract::{Query as Fields, State};
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use tidewatch_core::url::CanonicalUrl;
use tidewatch_core::{FetchKind, Time};
use tidewatch_partition::explain::{lasting, told};
use tidewatch_partition::{HostView, SourceView, Status};
use tidewatch_policy::WhatIf;
use tidewatch_report::{
    Axis, BarChart, Cell, Chart, Column, Graphic, Point, Reference, Series, Table, clean,
};

use crate::Figures;
use crate::ask::{NoAnswer, PageAnswer};
use crate::board::{History, Sample};
use crate::layout::{self, Part};
use crate::operate::{Times, Which};
use crate::search_page::count;
use crate::shared::Shared;

pub(crate) async fn overview(State(shared): State<Arc<Shared>>) -> Response {
    let body = match shared.board.figures() {
        None => beginning(),
        Some(figures) if figures.status.pages == 0 => beginning(),
        Some(figures) => overview_of(&figures, &shared.board.history()),
    };
    layout::page("Dashboard · Tidewatch", Part::Overview, &body).into_response()
}

/// What to do where nothing has been done yet.
fn beginning() -> Markup {
    html! {
        h1 { "Nothing here yet" }
        div data-live="overview" {
            p { "This crawl knows no page. Begin with a page you care about:" }
            pre.scroll tabindex="0" {
                "tidewatch crawl https://example.com/ --dir DIR --listen 127.0.0.1:7700"
            }
            p { "or add seeds to the crawl that is running:" }
            pre.scroll tabindex="0" {
                "curl -X POST http://127.0.0.1:7700/api/seeds \\\n"
                "     -H \"Authorization: Bearer $(cat token)\" \\\n"
                "     -d '{\"urls\": [\"https://example.com/\"]}'"
            }
            p { "For a first look without the web, " code { "tidewatch demo" }
                " crawls a living web of its own." }
        }
    }
}

fn overview_of(figures: &Figures, history: &History) -> Markup {
    let status = &figures.status;
    html! {
        h1 { "Overview" }
        div data-live="overview" {
            p.lead {
                @if figures.is_running { "The crawl is running" } @else { "The crawl is not running" }
                ": policy " (clean(&status.policy)) ", " (short(status.budget_per_s))
                " fetches a second at most."
            }
            (tiles(figures))
            @for chart in charts(history, status) { (chart.to_markup()) }
            (reasons(status))
            @if let Some(extra) = &figures.extra {
                section { h2 { (extra.name) } p { (clean(&extra.about)) } (extra.table.to_markup()) }
            }
        }
    }
}

fn tiles(figures: &Figures) -> Markup {
    let (status, tally) = (&figures.status, &figures.status.tally);
    let failures = tally.reasons.iter().filter(|(reason, _)| reason.is_failure());
    let failures: u64 = failures.map(|(_, count)| count).sum();
    html! {
        dl.tiles {
            (tile("fetches", &tally.all_fetches().to_string(), &format!("{} under way", status.requests)))
            (tile("pages held", &tally.held.to_string(), &format!("of {} known on {}", status.pages,
                count(u64::from(status.hosts), "host", "hosts"))))
            @match status.freshness_probed {
                Some((share, by)) => (tile("up to date", &percent(share),
                    &format!("± {} by probes at random", percent(by)))),
                None => (tile("up to date", &status.freshness_estimate.map_or("—".into(), percent),
                    "estimated from visits again")),
            }
            (tile("price", &status.price.map_or("—".into(), short), "clicks that the marginal fetch brings"))
            (tile("failures", &failures.to_string(), &format!("{} left out", tally.dropped.values().sum::<u64>())))
            @if let Some(index) = &figures.index {
                (tile("indexed", &index.pages.to_string(), &match &index.failed {
                    Some(why) => why.clone(),
                    None => format!("found within {:.1} s", index.slowest_s),
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

/// A number as people read it.
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
    let samples = &history.samples;
    let mut charts: Vec<Graphic> = Vec::new();
    if samples.len() > 1 {
        let time = || Axis::seconds("time");
        let line = |of: fn(&Sample) -> Option<f64>| {
            samples.iter().filter_map(move |s| of(s).map(|y| Point::new(s.at_s, y)))
        };
        if samples.iter().any(|sample| sample.price.is_some()) {
            let chart = Chart::new("Price", time(), Axis::new("clicks a fetch").from_zero())
                .caption("What the last fetch that the budget pays for brings.")
                .series(Series::line("price", line(|s| s.price)));
            charts.push(chart.into());
        }
        let probed = samples.iter().filter_map(|s| {
            s.probed.map(|(share, by)| {
                let (low, high) = ((share - by).max(0.0), (share + by).min(1.0));
                Point::new(s.at_s, share).between(low, high)
            })
        });
        let chart = Chart::new("Freshness", time(), Axis::new("share up to date").range(0.0, 1.0))
            .caption("Copies up to date: by probes at random with their 95% interval, and by visits again.")
            .series(Series::line("probes", probed))
            .series(Series::line("visits", line(|s| s.freshness)));
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
    let points: Vec<&Sample> = samples.iter().step_by(stride).collect();
    let series = FetchKind::ALL.iter().enumerate().map(|(at, kind)| {
        let rate = points.windows(2).filter_map(move |pair| {
            let passed = pair[1].at_s - pair[0].at_s;
            let fetched = pair[1].fetches[at].saturating_sub(pair[0].fetches[at]) as f64;
            (passed > 0.0).then(|| Point::new(pair[1].at_s, fetched / passed))
        });
        Series::line(kind.name(), rate)
    });
    let axis = Axis::new("fetches a second").from_zero();
    Chart::new("Fetches by kind", Axis::seconds("time"), axis)
        .all(series)
        .reference(Reference::horizontal(budget, "budget"))
}

/// What came to nothing, and why.
fn reasons(status: &Status) -> Markup {
    let tally = &status.tally;
    let columns = || [Column::text("Reason"), Column::number("Times")];
    let table = |mut rows: Vec<(&str, u64)>| {
        rows.sort_by_key(|(reason, n)| (std::cmp::Reverse(*n), *reason));
        rows.into_iter().fold(Table::new(columns()), |table, (reason, n)| {
            table.row([Cell::text(reason), Cell::count(n)])
        })
    };
    let failed = tally.reasons.iter().map(|(reason, n)| (reason.name(), *n)).collect();
    let dropped = tally.dropped.iter().map(|(reason, n)| (reason.name(), *n)).collect();
    html! {
        @if !tally.reasons.is_empty() {
            section { h2 { "Came to nothing" } (table(failed).to_markup()) }
        }
        @if !tally.dropped.is_empty() {
            section { h2 { "Left out" } (table(dropped).to_markup()) }
        }
    }
}

fn unanswered(why: NoAnswer) -> Markup {
    html! {
        p role="status" {
            @match why {
                NoAnswer::Busy => { "The crawl had no time to answer. Load this page again in a moment." }
                NoAnswer::Failed => { "The crawl's store did not answer; the crawl's own log says why." }
            }
        }
    }
}

pub(crate) async fn hosts(State(shared): State<Arc<Shared>>) -> Response {
    let found = shared.asker.hosts().await;
    let body = html! {
        h1 { "Hosts" }
        div data-live="hosts" {
            @match &found {
                Ok(hosts) if hosts.is_empty() => { p { "No host is known yet." } }
                Ok(hosts) => {
                    p.note { "Those with the most pages. The price is higher where politeness allows \
                              less than would be worth it." }
                    (host_table(hosts).to_markup())
                }
                Err(why) => (unanswered(*why)),
            }
        }
    };
    layout::page("Hosts · Tidewatch", Part::Hosts, &body).into_response()
}

fn host_table(hosts: &[HostView]) -> Table {
    let columns = [
        Column::text("Host"),
        Column::number("Pages"),
        Column::number("Gap").unit("s"),
        Column::number("Asks for").unit("s"),
        Column::number("Opens in").unit("s"),
        Column::text("robots.txt"),
        Column::number("Troubles"),
        Column::number("Price"),
    ];
    hosts.iter().fold(Table::new(columns), |table, host| {
        let robots = host.robots.map_or("not read".to_owned(), |status| status.to_string());
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
    let found = shared.asker.sources().await;
    let body = html! {
        h1 { "Sources" }
        div data-live="sources" {
            @match &found {
                Ok(sources) if sources.is_empty() => {
                    p { "No source has been visited twice yet, or the policy of this crawl has no price." }
                }
                Ok(sources) => {
                    p.note { "Pages and feeds watched for new links, those first that a visit now is \
                              worth most." }
                    (source_table(sources).to_markup())
                }
                Err(why) => (unanswered(*why)),
            }
        }
    };
    layout::page("Sources · Tidewatch", Part::Sources, &body).into_response()
}

fn source_table(sources: &[SourceView]) -> Table {
    let columns = [
        Column::text("Source"),
        Column::number("New links a day"),
        Column::number("Clicks each"),
        Column::number("Worth now"),
        Column::number("Next in").unit("s"),
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

pub(crate) async fn page(
    State(shared): State<Arc<Shared>>,
    fields: Result<Fields<Which>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Fields(which) = fields.unwrap_or_default();
    let about = match (which.url.trim(), CanonicalUrl::parse(which.url.trim())) {
        ("", _) => {
            html! { p { "Name a page of this crawl to see what is known of it, and why it is due or not." } }
        }
        (_, Err(refused)) => {
            html! { p role="status" { "That is no page’s address: " (clean(&refused.to_string())) "." } }
        }
        (_, Ok(url)) => match shared.asker.page(url.clone()).await {
            Ok(found) => portrait(&url, &found),
            Err(why) => unanswered(why),
        },
    };
    let body = html! {
        h1 { "Page" }
        form.search action="/dashboard/page" method="get" {
            label.visually-hidden for="url" { "Address of the page" }
            input #url type="text" inputmode="url" name="url" value=(clean(&which.url))
                placeholder="https://example.com/" autocomplete="off" spellcheck="false";
            button type="submit" { "Look" }
        }
        div data-live="page" { (about) }
    };
    layout::page("Page · Tidewatch", Part::Page, &body).into_response()
}

fn portrait(url: &CanonicalUrl, found: &PageAnswer) -> Markup {
    let Some(portrait) = &found.portrait else {
        return html! { p role="status" { "This crawl does not know " (clean(url.as_str())) "; no page it fetched links there." } };
    };
    let past = |time: Time| format!("{} ago", lasting(found.now.since(time).seconds()));
    html! {
        h2 { (clean(url.as_str())) }
        @if let Some(why) = &portrait.why {
            section { h3 { "Why" } @for line in told(why, found.now).lines() { p { (line) } } }
        }
        section {
            h3 { "What is known" }
            dl.facts {
                (fact("number", &portrait.page.0.to_string()))
                (fact("links from a seed", &portrait.row.depth.to_string()))
                (fact("watched for links", if portrait.row.is_source { "yes" } else { "no" }))
                @if let Some(copy) = &portrait.copy {
                    (fact("last fetched", &past(copy.at)))
                    (fact("last changed", &past(copy.changed_at)))
                    (fact("visits", &copy.visits.to_string()))
                    (fact("changes seen", &copy.changes.to_string()))
                    (fact("links shown", &copy.links.len().to_string()))
                    (fact("status", &copy.status.to_string()))
                } @else { (fact("copy", "none")) }
            }
            @if let Some(via) = &portrait.via {
                p { "First named by " a href=(format!("/dashboard/page?url={}", crate::search_page::encode(via))) { (clean(via)) } "." }
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
    let found = shared.asker.what_if(times).await;
    let body = html! {
        h1 { "What if" }
        form.slider action="/dashboard/what-if" method="get" data-follow="what-if" {
            label for="times" { "The budget, as a multiple of today’s" }
            input #times type="range" name="times" min="0.1" max="8" step="0.1" value=(times);
            output for="times" { (times) "×" }
            button type="submit" { "Show" }
        }
        div data-live="what-if" aria-live="polite" {
            @match &found {
                Ok(Some(both)) => (compared(&both.now, &both.then)),
                Ok(None) => { p { "The policy of this crawl has no price, so it cannot foresee." } }
                Err(why) => (unanswered(*why)),
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
    row("price, clicks a fetch", &|w| Cell::significant(w.price, 3));
    row("freshness, by clicks", &|w| Cell::maybe(w.freshness, 3));
    row("refreshes/s", &|w| Cell::significant(w.fetches[0], 3));
    row("visits to sources/s", &|w| Cell::significant(w.fetches[1], 3));
    row("new pages/s", &|w| Cell::significant(w.fetches[2], 3));
    row("pages of the frontier/s", &|w| Cell::significant(w.fetches[3], 3));
    row("clicks/s on pages first fetched", &|w| Cell::significant(w.profit, 3));
    let split = FetchKind::ALL.iter().enumerate().fold(
        BarChart::new("Where the budget would go", Axis::new("fetches a second"))
            .groups(["now", "then"]),
        |chart, (at, kind)| chart.category(kind.name(), [now.fetches[at], then.fetches[at]]),
    );
    html! {
        (table.to_markup())
        (Graphic::from(split).to_markup())
        p.note {
            "For the coming week, by what is believed of pages and sources now. Of the frontier, what \
             waits today counts; what will be found does not. Nothing is set by looking."
        }
    }
}
