//! Content sources and interest patterns of a trace: Figures 1, 3 and 4 of `[LOSS13, §3.1]`.

use std::collections::BTreeSet;

use tidewatch_core::Span;
use tidewatch_report::{Axis, Cell, Chart, Column, Report, Section, Series, Table};
use tidewatch_trace::Trace;

use super::Setup;
use crate::generate::echo::{self, EchoConfig};
use crate::import::{ImportArgs, Importer};
use crate::reach::{
    Cover, DAYS, InterestVector, greedy_cover, interest, is_ephemeral, k_means, new_pages,
};
use crate::{LabError, World};

/// Clusters of the paper.
const CLUSTERS: usize = 6;
/// Published: 3K sources on 1.6K hosts reach 80% of the pages…
const PUBLISHED_PER_HOST: f64 = 3000.0 / 1600.0;
const PUBLISHED_REACH: f64 = 0.8;
/// …and 96% of them are ephemeral.
const PUBLISHED_EPHEMERAL: f64 = 0.96;
/// Points of the curve.
const POINTS: usize = 200;
/// Length taken of the recorded sites: as long as interest is followed.
const RECORDED: Span = Span::DAY.times(DAYS as u64);

pub(super) fn run(setup: &Setup<'_>) -> Result<Report, LabError> {
    let mut report = Report::new("Reach of sources and duration of interest").lead(
        "Share of new pages shown by a greedy choice of sources, and clusters of clicked pages by \
         their interest in the first fourteen days.",
    );
    for trace in traces(setup)? {
        (setup.say)(&format!("analysing {}", trace.name));
        let name = trace.name.clone();
        let world = World::new(trace)?;
        let mut section = Section::new(name);
        cover_part(&world, &mut section);
        interest_part(&world, setup.seed, &mut section);
        report.push(section);
    }
    Ok(report)
}

/// The trace of `--trace`, the data sets in `--data`, or a generated web.
fn traces(setup: &Setup<'_>) -> Result<Vec<Trace>, LabError> {
    if let Some(path) = setup.trace {
        (setup.say)("reading the trace");
        return Ok(vec![tidewatch_trace::read(path)?]);
    }
    let Some(folder) = setup.data else {
        (setup.say)("generating a web");
        let config = EchoConfig { scale: setup.scale, ..EchoConfig::default() };
        config.check()?;
        return Ok(vec![echo::generate(&config, setup.seed).trace]);
    };
    (setup.say)("reading the data sets");
    let import = |format: &str, path: &str, length: Option<Span>| -> Result<Trace, LabError> {
        let args = ImportArgs { path: folder.join(path), length, ..ImportArgs::default() };
        Ok(Importer::named(format)?.run(&args)?.trace)
    };
    Ok(vec![
        import("de-news-hubs", "de_news_hubs_hourly_2022", Some(RECORDED))?,
        import("globo-clicks", "globo_clicks", None)?,
    ])
}

fn cover_part(world: &World, section: &mut Section) {
    let with_sources: BTreeSet<u32> =
        world.trace().pages.iter().filter(|page| page.is_source).map(|page| page.host).collect();
    if with_sources.is_empty() {
        section.paragraph("The trace has no sources.");
        return;
    }
    let hosts = with_sources.len() as f64;
    let all = greedy_cover(world, |_| true);
    let mut covers = vec![("new pages", all)];
    if world.trace().clicks.is_some() {
        covers.push((
            "clicked new pages",
            greedy_cover(world, |page| !world.clicks_of(page).is_empty()),
        ));
    }
    let mut table = Table::new([
        Column::text("reached"),
        Column::number("pages"),
        Column::number("sources for 80%"),
        Column::number("per host"),
        Column::number("published"),
        Column::number(format!("reached by {PUBLISHED_PER_HOST:.2} a host")),
        Column::number("published"),
    ]);
    let axes = (Axis::new("sources per host"), Axis::new("share of pages reached").from_zero());
    let mut chart = Chart::new("Pages reached", axes.0, axes.1);
    for (name, cover) in &covers {
        let enough = cover.sources_for(PUBLISHED_REACH).map(|sources| sources as f64);
        let published = (PUBLISHED_PER_HOST * hosts).round() as usize;
        table.push([
            Cell::text(*name),
            Cell::count(cover.pages),
            Cell::maybe(enough, 0),
            Cell::maybe(enough.map(|sources| sources / hosts), 2),
            Cell::number(PUBLISHED_PER_HOST, 2),
            Cell::number(cover.reached(published), 3),
            Cell::number(PUBLISHED_REACH, 2),
        ]);
        chart.push(Series::line(*name, curve(cover, hosts)));
    }
    section.table(table).chart(chart);
}

fn curve(cover: &Cover, hosts: f64) -> Vec<(f64, f64)> {
    let steps = cover.steps.len();
    let points = POINTS.min(steps);
    (0..=points)
        .map(|point| {
            let sources = steps * point / points.max(1);
            (sources as f64 / hosts, cover.reached(sources))
        })
        .collect()
}

fn interest_part(world: &World, seed: u64, section: &mut Section) {
    let vectors: Vec<InterestVector> = interest(world).into_iter().map(|row| row.1).collect();
    if vectors.is_empty() {
        section.paragraph(
            "The trace follows the clicks of no page for fourteen days, so interest is not clustered.",
        );
        return;
    }
    let clusters = k_means(&vectors, CLUSTERS, seed);
    let total: usize = clusters.sizes.iter().sum();
    let ephemeral: usize = clusters
        .centroids
        .iter()
        .zip(&clusters.sizes)
        .filter_map(|(centroid, size)| is_ephemeral(centroid).then_some(size))
        .sum();
    section.paragraph(format!(
        "Of {} new pages, {} were clicked and followed for fourteen days; {:.3} of these are ephemeral \
         (published: {PUBLISHED_EPHEMERAL} of pages visited at least once).",
        new_pages(world).count(),
        vectors.len(),
        ephemeral as f64 / total as f64,
    ));
    let mut table = Table::new([
        Column::text("cluster"),
        Column::text("kind"),
        Column::number("pages"),
        Column::number("share"),
        Column::number("peak day"),
        Column::number("interest in the second week").unit("share"),
    ]);
    let axes = (Axis::new("day of life"), Axis::new("interest, peak = 1").from_zero());
    let mut chart = Chart::new("Clusters of interest", axes.0, axes.1);
    for (i, (centroid, &size)) in clusters.centroids.iter().zip(&clusters.sizes).enumerate() {
        let peak = (0..DAYS).max_by(|&a, &b| centroid[a].total_cmp(&centroid[b])).unwrap_or(0);
        let later = centroid[DAYS / 2..].iter().sum::<f64>() / centroid.iter().sum::<f64>();
        let kind = if is_ephemeral(centroid) { "ephemeral" } else { "lasting" };
        let name = format!("{} ({kind})", i + 1);
        table.push([
            Cell::text((i + 1).to_string()),
            Cell::text(kind),
            Cell::count(size as u64),
            Cell::number(size as f64 / total as f64, 3),
            Cell::count(peak as u64 + 1),
            Cell::number(later, 3),
        ]);
        chart.push(Series::line(name, (1..).zip(centroid).map(|(d, &x)| (f64::from(d), x))));
    }
    section.table(table).chart(chart);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_web_has_covers_and_kinds() {
        let text = run(&Setup::small(1, 2, 0.02)).unwrap().to_text(200);
        for part in ["clicked new pages", "ephemeral", "sources for 80%"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
}
