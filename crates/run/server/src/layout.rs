//! The frame of all pages.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, html};
use tidewatch_report::clean;

/// The navigation entry that a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Search,
    Overview,
    Hosts,
    Sources,
    Rules,
    Hints,
    Page,
    WhatIf,
    Cluster,
    Reports,
}

const DASHBOARD: [(Part, &str, &str); 9] = [
    (Part::Overview, "/dashboard", "Overview"),
    (Part::Hosts, "/dashboard/hosts", "Hosts"),
    (Part::Sources, "/dashboard/sources", "Sources"),
    (Part::Rules, "/dashboard/rules", "Rules"),
    (Part::Hints, "/dashboard/hints", "Hints"),
    (Part::Page, "/dashboard/page", "Page"),
    (Part::WhatIf, "/dashboard/what-if", "What if"),
    (Part::Cluster, "/dashboard/cluster", "Cluster"),
    (Part::Reports, "/dashboard/reports", "Reports"),
];

/// A whole page.
pub(crate) fn page(title: &str, part: Part, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex, nofollow";
                title { (clean(title)) }
                link rel="stylesheet" href="/style.css";
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="search" type="application/opensearchdescription+xml"
                    title="Tidewatch" href="/opensearch.xml";
                @if part != Part::Search { script src="/app.js" defer {} }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                (navigation(part))
                main #main class=[(part != Part::Search).then_some("board")] { (body) }
            }
        }
    }
}

fn navigation(part: Part) -> Markup {
    let current = |here: bool| here.then_some("page");
    html! {
        header.top {
            nav aria-label="Main" {
                ul {
                    li { a href="/" aria-current=[current(part == Part::Search)] { "Search" } }
                    @if part == Part::Search { li { a href="/dashboard" { "Dashboard" } } }
                    @else {
                        @for (of, href, name) in DASHBOARD {
                            li { a href=(href) aria-current=[current(part == of)] { (name) } }
                        }
                    }
                }
            }
        }
    }
}

/// A page with one message.
pub(crate) fn message(status: StatusCode, title: &str, text: &str) -> Response {
    let body = html! {
        h1 { (clean(title)) }
        p { (clean(text)) }
        p { a href="/" { "Search" } " · " a href="/dashboard" { "Dashboard" } }
    };
    (status, page(title, Part::Search, &body)).into_response()
}
