//! Writes a page that shows every kind of block and drawing, plain and under strain.
//!
//! `cargo run -p tidewatch-report --example gallery -- gallery.html`

use std::f64::consts::TAU;

use tidewatch_report::{
    Axis, Bar, BarChart, Cell, Chart, Column, Point, Reference, Report, Section, Series, Stripe,
    Stripes, Table, WriteError, write_report,
};

const POLICIES: [&str; 6] = ["price", "echo-newpages", "cgm", "age", "uniform", "proportional"];

/// A repeatable number in 0..1 that looks like chance: `SplitMix64`'s finaliser over the index.
fn noise(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / u64::MAX as f64
}

fn policies_table() -> Table {
    let columns = [
        Column::text("Policy"),
        Column::number("Freshness").highest(),
        Column::number("Age").unit("h").lowest(),
        Column::number("Profit").unit("clicks/s").highest(),
        Column::number("Published"),
        Column::number("Fetches"),
    ];
    let mut table = Table::new(columns).caption("Six policies on one trace, five seeds each.");
    for (i, name) in POLICIES.iter().enumerate() {
        let i_f = i as f64;
        let published = (i != 1).then_some(0.85 - 0.07 * i_f);
        let freshness = 0.842 - 0.068 * i_f;
        table.push([
            Cell::text(*name),
            Cell::plus_minus(freshness, 0.003 + 0.001 * i_f, 3),
            Cell::number(3.2 + 2.9 * i_f * i_f, 1),
            if i == 4 { Cell::missing() } else { Cell::significant(12.5 / (1.0 + i_f), 3) },
            Cell::maybe(published, 2),
            Cell::count(86_400 * (i as u64 + 1)),
        ]);
    }
    table
}

fn freshness_over_time() -> Chart {
    let mut chart = Chart::new(
        "Freshness over time",
        Axis::seconds("simulated time"),
        Axis::new("freshness").range(0.0, 1.0),
    )
    .caption("Mean of five seeds with 95% intervals.")
    .reference(Reference::horizontal(0.9, "upper bound"));
    for (k, name) in POLICIES.iter().take(4).enumerate() {
        let level = 0.84 - 0.12 * k as f64;
        let points = (0..=140).map(|i| {
            let t = f64::from(i) * 43_200.0 / 10.0;
            let y = level * (1.0 - (-t / 90_000.0).exp())
                + 0.02 * (noise(u64::from(i as u32) + 1000 * k as u64) - 0.5);
            Point::new(t, y).plus_minus(0.012 + 0.01 * k as f64)
        });
        chart.push(Series::line(*name, points));
    }
    chart
}

fn cost_staleness() -> Chart {
    let mut chart = Chart::new(
        "Cost against staleness",
        Axis::new("budget").unit("fetches a day").log(),
        Axis::new("staleness").unit("weighted share").log(),
    )
    .caption("Each marker is one budget; lower left is better.");
    for (k, name) in ["price", "cgm", "uniform"].iter().enumerate() {
        let points = (0..9).map(|i| {
            let budget = 1000.0 * 2_f64.powi(i);
            let y = 0.9 / (1.0 + (budget / (2500.0 * (k + 1) as f64)).powf(0.9));
            Point::new(budget, y).between(y * 0.9, y * 1.12)
        });
        chart.push(Series::curve(*name, points));
    }
    chart
}

fn true_against_estimated() -> Chart {
    let sample = |shift: u64, spread: f64| {
        (0..1500).map(move |i| {
            let rate = 10_f64.powf(-3.0 + 4.0 * noise(i + shift));
            let error = 10_f64.powf(spread * (noise(i + shift + 50_000) - 0.5));
            (rate, rate * error)
        })
    };
    Chart::new(
        "Estimated against true change rate",
        Axis::new("true rate").unit("changes a day").log(),
        Axis::new("estimate").unit("changes a day").log(),
    )
    .series(Series::points("naive", sample(0, 1.6)))
    .series(Series::points("bias-reduced", sample(9000, 0.5)))
}

fn bars() -> BarChart {
    let mut chart = BarChart::new("Freshness beside the published value", Axis::new("freshness"))
        .groups(["measured", "published"]);
    for (i, name) in POLICIES.iter().enumerate() {
        let value = 0.842 - 0.068 * i as f64;
        let published = if i == 1 { Bar::missing() } else { Bar::new(value * 1.02) };
        chart.push(*name, [Bar::plus_minus(value, 0.015 + 0.004 * i as f64), published]);
    }
    chart
}

fn single_bars() -> BarChart {
    let axis = Axis::new("change against uniform").unit("%");
    let values = [31.0, 24.5, 18.2, 6.1, 0.0, -11.7];
    POLICIES.iter().zip(values).fold(BarChart::new("Gain over uniform", axis), |chart, (n, v)| {
        chart.category(*n, [Bar::plus_minus(v, 2.5)])
    })
}

fn steps() -> Chart {
    let price = |seed: u64| {
        (0..48).scan(1.0, move |level: &mut f64, i| {
            *level *= 0.8 + 0.42 * noise(i + seed);
            Some((i as f64 * 1800.0, *level))
        })
    };
    Chart::new("Price", Axis::seconds("time"), Axis::new("price").unit("value a fetch").from_zero())
        .series(Series::step("host-capped", price(3)))
        .series(Series::step("free", price(500)))
}

fn portrait() -> Stripes {
    let mut picture = Stripes::new("Portrait of a page", Axis::seconds("time").from_zero())
        .caption("A row is a fragment of the page.")
        .tones(["on the page", "in our copy"]);
    for row in 0..14_u64 {
        let from = 300_000.0 * noise(row * 3);
        let to = from + 20_000.0 + 180_000.0 * noise(row * 3 + 1);
        let (to, seen) = (to.min(360_000.0), (from / 60_000.0).ceil() * 60_000.0);
        let spans = [Stripe { from, to, tone: 0 }, Stripe { from: seen, to, tone: 1 }];
        picture.push(format!("fragment {}", row + 1), spans);
    }
    picture
}

fn forest() -> Stripes {
    let mut picture = Stripes::new("Three hundred fragments", Axis::seconds("time"));
    for row in 0..300_u64 {
        let from = 1200.0 * row as f64 * (0.6 + 0.4 * noise(row));
        let life = 400_000.0 * noise(row + 9999).powi(3) + 4000.0;
        picture
            .push("", [Stripe { from, to: from + life, tone: usize::from(life > 120_000.0) * 2 }]);
    }
    picture
}

fn strained(s: &mut Section) {
    let many =
        (0..14).fold(Chart::new("Fourteen series", Axis::new("x"), Axis::new("y")), |chart, k| {
            let points = (0..60).map(move |i| {
                let x = f64::from(i) / 10.0;
                (x, (x + f64::from(k) * 0.35).sin())
            });
            chart.series(Series::line(format!("series {k}"), points))
        });
    let long = Chart::new("100,000 points", Axis::new("sample"), Axis::new("value"))
        .caption("Thinned to a few points a pixel; the single spike survives.")
        .series(Series::line(
            "signal",
            (0..100_000_u32).map(|i| {
                let x = f64::from(i);
                let spike = if i == 61_803 { 3.0 } else { 0.0 };
                (x, (x / 100_000.0 * TAU).sin() + 0.3 * noise(u64::from(i)) + spike)
            }),
        ));
    let holes = Chart::new("Holes, zeros and infinities", Axis::new("x"), Axis::new("y").log())
        .series(Series::line(
            "broken",
            [1.0, 2.0, f64::NAN, 8.0, 0.0, 16.0, 32.0, f64::INFINITY, 20.0, 30.0]
                .into_iter()
                .enumerate()
                .map(|(i, y)| (i as f64, y)),
        ));
    let names = Chart::new("Very long names", Axis::new("x"), Axis::new("y"))
        .series(Series::line(
            "a name that goes on and on and will not fit anywhere beside a line",
            [(0.0, 1.0), (1.0, 2.0)],
        ))
        .series(Series::line(
            "潮汐観測所の非常に長い系列名前はここで切られるはずです",
            [(0.0, 2.0), (1.0, 1.0)],
        ));
    s.chart(many)
        .chart(long)
        .chart(holes)
        .chart(names)
        .chart(
            Chart::new("One point", Axis::new("x"), Axis::new("y"))
                .series(Series::line("alone", [(3.0, 7.0)])),
        )
        .chart(
            Chart::new("All equal", Axis::new("x"), Axis::new("y"))
                .series(Series::line("flat", (0..5).map(|i| (f64::from(i), 0.25)))),
        )
        .chart(
            Chart::new("Empty", Axis::new("x"), Axis::new("y"))
                .series(Series::line("none", std::iter::empty::<(f64, f64)>())),
        )
        .chart(BarChart::new("<script>alert('bars')</script>", Axis::new("x")).category(
            "a category with a name far too long to stand beside its bar in full",
            [3.0],
        ));
}

fn gallery() -> Report {
    Report::new("Gallery of Tidewatch reports")
        .lead("Every block and drawing a report can hold, first as intended, then under strain.")
        .fact("Trace", "synthetic")
        .fact("Budget", "86,400 fetches a day")
        .fact("Seeds", "1–5")
        .section("Figures and tables", |s| {
            s.table(policies_table())
                .note("Intervals are 95% of Student's t over seeds. Best values are emphasised.");
        })
        .section("Lines", |s| {
            s.chart(freshness_over_time()).chart(cost_staleness()).chart(steps());
        })
        .section("Bars", |s| {
            s.chart(bars()).chart(single_bars());
        })
        .section("Points", |s| {
            s.chart(true_against_estimated());
        })
        .section("Page portraits", |s| {
            s.chart(portrait()).chart(forest());
        })
        .section("Under strain", strained)
}

fn main() -> Result<(), WriteError> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "gallery.html".into());
    write_report(path, &gallery())
}
