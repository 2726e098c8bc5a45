//! Small pages, drawings and tables, byte for byte.

use tidewatch_report::{
    Axis, Bar, BarChart, Cell, Chart, Column, Graphic, Point, Reference, Report, Series, Size,
    Stripe, Stripes, Table,
};

/// One element a line, so that a change of a golden file can be read.
fn lines(markup: &str) -> String {
    markup.replace("><", ">\n<")
}

fn table() -> Table {
    Table::new([
        Column::text("Policy"),
        Column::number("Freshness").highest(),
        Column::number("Age").unit("h").lowest(),
        Column::number("Fetches"),
        Column::text("Note"),
    ])
    .caption("Three policies.")
    .row([
        Cell::text("price"),
        Cell::plus_minus(0.8421, 0.0031, 3),
        Cell::number(-3.25, 1),
        Cell::count(1234),
        Cell::text("a \"quoted\", note"),
    ])
    .row([
        Cell::text("潮汐"),
        Cell::number(0.8419, 3),
        Cell::missing(),
        Cell::significant(0.12345, 3),
    ])
    .row([
        Cell::text("uniform"),
        Cell::plus_minus(0.5, f64::NAN, 3),
        Cell::number(12345.678, 1),
        Cell::missing(),
        Cell::text("none"),
        Cell::text("beyond the last column"),
    ])
}

#[test]
fn table_as_text() {
    insta::assert_snapshot!(table().to_text(100));
}

#[test]
fn table_as_narrow_text() {
    insta::assert_snapshot!(table().to_text(40));
}

#[test]
fn table_as_html() {
    insta::assert_snapshot!(lines(&table().to_markup().into_string()));
}

#[test]
fn line_chart() {
    let chart = Chart::new("Freshness", Axis::seconds("time"), Axis::new("share").from_zero())
        .caption("Two lines.")
        .reference(Reference::horizontal(0.9, "bound"))
        .series(Series::line(
            "price",
            [Point::new(0.0, 0.2).plus_minus(0.1), Point::new(7200.0, 0.8).plus_minus(0.1)],
        ))
        .series(Series::step("uniform", [(0.0, 0.1), (3600.0, f64::NAN), (7200.0, 0.5)]));
    insta::assert_snapshot!(lines(&Graphic::from(chart).to_markup().into_string()));
}

#[test]
fn log_curve() {
    let chart = Chart::new("Cost", Axis::new("budget").log(), Axis::new("staleness").log())
        .series(Series::curve("price", [(10.0, 0.5), (100.0, 0.1), (1000.0, 0.01)]))
        .series(Series::points("published", [(100.0, 0.12)]));
    insta::assert_snapshot!(lines(&chart.to_svg(Size::NARROW)));
}

#[test]
fn bar_chart() {
    let chart = BarChart::new("Freshness", Axis::new("share"))
        .groups(["ours", "published"])
        .category("price", [Bar::plus_minus(0.8, 0.05), Bar::new(0.7)])
        .category("uniform", [Bar::new(-0.2), Bar::missing()]);
    insta::assert_snapshot!(lines(&Graphic::from(chart).to_markup().into_string()));
}

#[test]
fn stripes() {
    let picture = Stripes::new("Page", Axis::seconds("time"))
        .tones(["present", "seen"])
        .row(
            "a",
            [Stripe { from: 0.0, to: 50.0, tone: 0 }, Stripe { from: 10.0, to: 50.0, tone: 1 }],
        )
        .row("b", [Stripe { from: 50.0, to: f64::NAN, tone: 0 }]);
    insta::assert_snapshot!(lines(&Graphic::from(picture).to_markup().into_string()));
}

#[test]
fn page() {
    let report =
        Report::new("Two policies").lead("Price wins.").fact("Seed", "7").section("Results", |s| {
            s.paragraph("As expected.").note("Small print.");
        });
    let html = report.to_html();
    assert_eq!(html, report.to_html(), "the same report gives the same bytes");
    // The style sheet is long and has its own tests.
    let (head, rest) = html.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    insta::assert_snapshot!(lines(&format!("{head}<style></style>{body}")));
}
