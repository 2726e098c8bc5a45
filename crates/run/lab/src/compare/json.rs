//! A comparison as JSON, with the names that scripts rely on.

use serde::Serialize;
use tidewatch_core::FetchKind;

use super::{Comparison, Standing};
use crate::engine::Measures;

/// The document's shape; field order is the order in the file.
#[derive(Serialize)]
struct Document<'a> {
    trace: &'a str,
    budget: f64,
    duration_s: f64,
    measured_s: f64,
    bounds: BoundsJson,
    policies: Vec<PolicyJson>,
}

#[derive(Serialize)]
struct BoundsJson {
    profit_per_s: Option<f64>,
    clicks_per_s: Option<f64>,
}

#[derive(Serialize)]
struct PolicyJson {
    name: &'static str,
    #[serde(flatten)]
    measures: Figures,
    fetches: FetchesJson,
    idle: f64,
    wall_s: f64,
    repeat: usize,
    /// Half widths of the 95% intervals; absent with a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    half_width_95: Option<Figures>,
}

#[derive(Serialize)]
struct Figures {
    profit_per_s: Option<f64>,
    served_per_s: Option<f64>,
    served_in_parts_per_s: Option<f64>,
    freshness: Option<f64>,
    age_s: Option<f64>,
    fragment_staleness: Option<f64>,
    coverage: Option<f64>,
}

#[derive(Serialize)]
struct FetchesJson {
    refresh: f64,
    source: f64,
    new: f64,
    frontier: f64,
}

impl Figures {
    fn of(figure: impl Fn(fn(&Measures) -> Option<f64>) -> Option<f64>) -> Self {
        Figures {
            profit_per_s: figure(|m| m.profit_per_s),
            served_per_s: figure(|m| m.served_per_s),
            served_in_parts_per_s: figure(|m| m.served_in_parts_per_s),
            freshness: figure(|m| m.freshness),
            age_s: figure(|m| m.age_s),
            fragment_staleness: figure(|m| m.fragment_staleness),
            coverage: figure(|m| m.coverage),
        }
    }
}

impl PolicyJson {
    fn of(standing: &Standing) -> Self {
        let repeat = standing.runs.len();
        let half_width = |measure| standing.estimate(measure).map(|e| e.half_width);
        PolicyJson {
            name: standing.name,
            measures: Figures::of(|measure| standing.estimate(measure).map(|e| e.mean)),
            fetches: FetchesJson {
                refresh: standing.fetches(FetchKind::Refresh),
                source: standing.fetches(FetchKind::Source),
                new: standing.fetches(FetchKind::New),
                frontier: standing.fetches(FetchKind::Frontier),
            },
            idle: standing.runs.iter().map(|run| run.idle as f64).sum::<f64>() / repeat as f64,
            wall_s: standing.wall_s,
            repeat,
            half_width_95: (repeat > 1).then(|| Figures::of(half_width)),
        }
    }
}

impl Comparison {
    /// The comparison as a JSON document.
    pub fn to_json(&self) -> String {
        let document = Document {
            trace: &self.trace,
            budget: self.budget,
            duration_s: self.duration_s,
            measured_s: self.measured_s,
            bounds: BoundsJson {
                profit_per_s: self.bounds.profit_per_s,
                clicks_per_s: self.bounds.clicks_per_s,
            },
            policies: self.standings.iter().map(PolicyJson::of).collect(),
        };
        let json = serde_json::to_string_pretty(&document);
        json.expect("plain numbers and strings always serialise") + "\n"
    }
}
