//! Figures that the dashboard and `/metrics` show.

use std::sync::Arc;

use tidewatch_core::Reason;
use tidewatch_partition::{Freshness, FreshnessMeasure, Status};
use tidewatch_server::Figures;

use crate::Stage;

/// What stands below a heading of the dashboard.
fn section<'d>(dashboard: &'d str, heading: &str) -> &'d str {
    let (_, rest) = dashboard.split_once(&format!("<h2>{heading}</h2>")).unwrap();
    rest.split_once("</section>").unwrap().0
}

/// The value of a tile of the dashboard.
fn tile<'d>(dashboard: &'d str, label: &str) -> &'d str {
    let (_, rest) = dashboard.split_once(&format!("<dt>{label}</dt>")).unwrap();
    let (_, rest) = rest.split_once("<span class=\"value\">").unwrap();
    rest.split_once("</span>").unwrap().0
}

/// The dashboard and `/metrics` show the figures of the status, and no others: a page that redirects or is gone
/// has answered.
#[test]
fn redirects_and_gone_pages_are_no_failures() {
    let (by, share, margin) = (FreshnessMeasure::Beliefs, 0.786, 0.05);
    let freshness = Some(Freshness { share, margin, by });
    let mut status = Status { pages: 400, failures: 3, freshness, ..Status::default() };
    // What revisits see is another figure.
    (status.tally.revisits, status.tally.changes) = (100, 43);
    let reasons = [(Reason::Redirect, 363), (Reason::Gone, 20), (Reason::IdleTimeout, 3)];
    status.tally.reasons.extend(reasons);
    let stage = Stage::new(&[]);
    let (history, index) = (Arc::default(), None);
    let (is_running, extra, missing) = (true, None, None);
    stage.server.publish(Figures { status, history, index, is_running, extra, missing });
    let dashboard = stage.get("/dashboard").body;
    assert_eq!(tile(&dashboard, "Freshness"), "78.6%");
    assert_eq!(tile(&dashboard, "Failed fetches"), "3");
    let failed = section(&dashboard, "Failed fetches");
    assert!(failed.contains("idle-timeout"), "{failed}");
    let metrics = stage.get("/metrics").body;
    for moved in ["redirect", "gone"] {
        assert!(!failed.contains(moved), "{failed}");
        assert!(section(&dashboard, "Redirected or gone").contains(moved), "{dashboard}");
        let line = format!("tidewatch_failures_total{{reason=\"{moved}\"}}");
        assert!(!metrics.contains(&line), "{metrics}");
    }
}
