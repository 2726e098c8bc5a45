//! Text that attacks and numbers that do not fit.

use proptest::prelude::*;
use tidewatch_report::{
    Axis, Bar, BarChart, Cell, Chart, Column, Graphic, Point, Reference, Report, Series, Size,
    Stripe, Stripes, Table,
};

const ATTACKS: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "</title></style><script>alert(1)</script>",
    "'\" onload='alert(1)' x=\"",
    "]]><svg/onload=alert(1)><!--",
    "\u{1b}[31m\u{0}\u{202e}javascript:alert(1)\u{2028}",
];

/// Puts one text everywhere a text can go.
fn everywhere(text: &str) -> Report {
    let points = || [(1.0, 1.0), (2.0, 3.0)];
    let axis = || Axis::new(text).unit(text);
    let table = Table::new([Column::text(text).unit(text), Column::number(text)])
        .caption(text)
        .row([Cell::text(text), Cell::number(1.0, 2)]);
    let chart = Chart::new(text, axis(), axis())
        .caption(text)
        .series(Series::line(text, points()))
        .series(Series::points(text, points()))
        .reference(Reference::horizontal(1.0, text));
    let lines = Chart::new(text, axis(), axis()).series(Series::line(text, points()));
    let bars =
        BarChart::new(text, axis()).caption(text).groups([text, text]).category(text, [1.0, 2.0]);
    let stripes = Stripes::new(text, axis())
        .tones([text])
        .row(text, [Stripe { from: 0.0, to: 1.0, tone: 0 }]);
    Report::new(text).lead(text).fact(text, text).section(text, |s| {
        s.paragraph(text)
            .note(text)
            .table(table)
            .chart(chart)
            .chart(lines)
            .chart(bars)
            .chart(stripes);
    })
}

/// The markup of a page with every text and attribute value removed: tag and attribute names only.
fn skeleton(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let mut quoted = false;
        let end = rest.find(|c| {
            quoted ^= c == '"';
            c == '>' && !quoted
        });
        let Some(end) = end else { return out + rest };
        for (i, part) in rest[..=end].split('"').enumerate() {
            if i % 2 == 0 {
                out.push_str(part);
            }
        }
        rest = &rest[end + 1..];
    }
    out
}

#[test]
fn attacks_never_become_markup() {
    for attack in ATTACKS {
        let html = everywhere(attack).to_html();
        let skeleton = skeleton(&html);
        for forbidden in ["script", "<img", "onerror", "onload", "<!--"] {
            assert!(!skeleton.contains(forbidden), "{forbidden} in {attack:?}");
        }
        for raw in ['\u{1b}', '\u{0}', '\u{202e}', '\u{2028}'] {
            assert!(!html.contains(raw), "{raw:?}");
        }
    }
}

#[test]
fn pages_ask_for_nothing_from_outside() {
    let html = everywhere("plain").to_html();
    let without_namespace = html.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "src=", "url(", "@import", "<link", "<script"] {
        assert!(!without_namespace.contains(outside), "{outside}");
    }
}

#[test]
fn terminals_get_no_control_characters() {
    let table = Table::new([Column::text("a\u{1b}[2J").unit("\u{7}")])
        .caption("\u{9b}31m")
        .row([Cell::text("x\r\ny\u{1b}]0;title\u{7}")]);
    let text = table.to_text(80);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    assert_eq!(text.lines().count(), 6, "{text}");
}

/// Every coordinate of a drawing is a plain, small number.
fn assert_sound(svg: &str, size: Size) {
    for bad in ["NaN", "inf", "e-", "e+"] {
        let shapes = svg.split(" d=\"").skip(1).filter_map(|s| s.split('"').next());
        for d in shapes {
            assert!(!d.contains(bad), "{bad} in {d}");
        }
    }
    let numbers = svg.split(" d=\"").skip(1).filter_map(|s| s.split('"').next()).flat_map(|d| {
        d.split(|c: char| c.is_ascii_alphabetic() || c == ' ').filter(|n| !n.is_empty())
    });
    for number in numbers {
        let value: f64 = number.parse().expect(number);
        assert!(value.abs() <= 10.0 * size.width.max(2000.0), "{number}");
    }
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -1e3..1e3_f64,
        Just(0.0),
        Just(f64::NAN),
        Just(f64::MAX),
        Just(f64::MIN),
        Just(f64::MIN_POSITIVE),
        Just(5e-324),
    ]
}

fn any_axis() -> impl Strategy<Value = Axis> {
    (any::<bool>(), any::<bool>(), prop::option::of((any_value(), any_value()))).prop_map(
        |(log, seconds, range)| {
            let axis = if seconds { Axis::seconds("t") } else { Axis::new("t") };
            let axis = if log { axis.log() } else { axis };
            range.map_or(axis.clone(), |(low, high)| axis.range(low, high))
        },
    )
}

/// Makes a series of one kind of mark.
type Make = fn(Vec<Point>) -> Series;

const MARKS: [Make; 4] = [
    |points| Series::line("line", points),
    |points| Series::step("step", points),
    |points| Series::curve("curve", points),
    |points| Series::points("points", points),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_keeps_the_structure(text in "\\PC{0,40}") {
        let structure = |text: &str| {
            // A name that is cut gets a tooltip, an empty one no heading: compare tag names only
            // of what cannot depend on the text's length.
            let html = Report::new(text).lead(text).section(text, |s| {
                s.paragraph(text).table(Table::new([Column::text(text)]).row([Cell::text(text)]));
            }).to_html();
            skeleton(&html)
        };
        prop_assert_eq!(structure(&text), structure("x"));
    }

    #[test]
    fn any_values_draw(
        x in any_axis(),
        y in any_axis(),
        make in prop::sample::select(MARKS.to_vec()),
        values in prop::collection::vec((any_value(), any_value(), any_value()), 0..30),
        at in any_value(),
    ) {
        let points = values.iter().map(|&(x, y, z)| Point::new(x, y).between(y.min(z), y.max(z)));
        let chart = Chart::new("t", x, y)
            .series(make(points.collect()))
            .series(Series::line("b", values.iter().map(|v| (v.0, v.2))))
            .reference(Reference::horizontal(at, "h"));
        for size in [Size::WIDE, Size::NARROW] {
            assert_sound(&chart.to_svg(size), size);
        }
        let _ = Graphic::from(chart).to_markup();
    }

    #[test]
    fn any_bars_and_stripes_draw(
        axis in any_axis(),
        values in prop::collection::vec((any_value(), any_value(), any_value()), 0..12),
    ) {
        let mut bars = BarChart::new("t", axis.clone());
        let mut stripes = Stripes::new("t", axis);
        for &(a, b, c) in &values {
            bars.push("name", [Bar::plus_minus(a, b), Bar::new(c)]);
            stripes.push("name", [Stripe { from: a, to: b, tone: 9 }]);
        }
        for size in [Size::WIDE, Size::NARROW] {
            assert_sound(&bars.to_svg(size), size);
            assert_sound(&stripes.to_svg(size), size);
        }
        let _ = (Graphic::from(bars).to_markup(), Graphic::from(stripes).to_markup());
    }

    #[test]
    fn text_tables_fit_when_they_can(
        words in prop::collection::vec("\\PC{0,30}", 1..20),
        width in 30..120_usize,
    ) {
        let mut table = Table::new([Column::text("name"), Column::text("more")]);
        for word in &words {
            table.push([Cell::text(word.clone()), Cell::text(word.clone())]);
        }
        for line in table.to_text(width).lines() {
            // No character is wider than two columns, so this bounds the drawn width from below.
            prop_assert!(line.chars().filter(char::is_ascii).count() <= width, "{line}");
        }
    }
}

#[test]
fn long_data_stays_small() {
    /// A page with both sizes and a sampled table of a series of any length.
    const MOST_BYTES: usize = 400_000;
    let wave = |i: u32| (f64::from(i), (f64::from(i) * 0.7).sin());
    for make in MARKS {
        let series = make((0..100_000).map(|i| wave(i).into()).collect());
        let chart = Chart::new("long", Axis::new("x"), Axis::new("y")).series(series);
        let bytes = Graphic::from(chart).to_markup().into_string().len();
        assert!(bytes < MOST_BYTES, "{bytes} bytes");
    }
}
