//! Colours of both themes.
//!
//! Series colours differ in lightness as well as in hue, so that they stay apart for readers with
//! red–green colour blindness and in a grey print; dashes and marker shapes repeat the difference.

use std::fmt::Write as _;

/// Number of series colours; further series reuse them.
pub(crate) const SERIES_COLOURS: usize = 8;

/// Colours of one theme, as `#rrggbb`.
pub(crate) struct Theme {
    /// The page.
    background: &'static str,
    /// Tiles, table heads and preformatted blocks.
    surface: &'static str,
    /// Text.
    ink: &'static str,
    /// Secondary text: axis labels, captions, notes.
    muted: &'static str,
    /// Hairlines: grid and table rules. No text is drawn in it.
    rule: &'static str,
    /// Axis lines and whiskers.
    axis: &'static str,
    /// Links.
    accent: &'static str,
    /// The best value of a column.
    best: &'static str,
    /// Series, in order.
    series: [&'static str; SERIES_COLOURS],
}

pub(crate) const LIGHT: Theme = Theme {
    background: "#ffffff",
    surface: "#f4f6f8",
    ink: "#1b2329",
    muted: "#56616b",
    rule: "#e1e6ea",
    axis: "#7b8790",
    accent: "#0b5cad",
    best: "#0a6b4f",
    series: [
        "#2470d8", "#bd4b06", "#015636", "#81147d", "#a08a3c", "#5693bd", "#795a90", "#a06a6c",
    ],
};

pub(crate) const DARK: Theme = Theme {
    background: "#14191e",
    surface: "#1c2229",
    ink: "#e4e9ee",
    muted: "#a3aeb8",
    rule: "#2c353d",
    axis: "#77838d",
    accent: "#7db8f5",
    best: "#5fd6ab",
    series: [
        "#4c93f0", "#f08c3a", "#96f0c6", "#b06aab", "#f0d636", "#50afb4", "#d9b8f5", "#d2493a",
    ],
};

impl Theme {
    /// The theme as CSS custom properties.
    pub(crate) fn variables(&self) -> String {
        let Theme { background, surface, ink, muted, rule, axis, accent, best, series } = self;
        let mut css = format!(
            "--bg:{background};--surface:{surface};--ink:{ink};--muted:{muted};--rule:{rule};\
             --axis:{axis};--accent:{accent};--best:{best};",
        );
        for (i, colour) in series.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(css, "--s{i}:{colour};");
        }
        css
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG 2.2, 1.4.3: least contrast of text.
    const TEXT_CONTRAST: f64 = 4.5;
    /// WCAG 2.2, 1.4.11: least contrast of lines and shapes that carry meaning.
    const GRAPHIC_CONTRAST: f64 = 3.0;
    /// Least distance in `OKLab` between any two series colours, under normal and red–green blind
    /// sight. Neighbouring swatches are told apart from about 0.02 on; thin lines far from each
    /// other need several times that.
    const LEAST_DISTANCE: f64 = 0.07;

    type Rgb = [f64; 3];

    /// Linear light of `#rrggbb` (IEC 61966-2-1).
    fn linear(hex: &str) -> Rgb {
        [1, 3, 5].map(|i| {
            let c = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |hex| {
            let [r, g, b] = linear(hex);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn times(m: &[Rgb; 3], v: Rgb) -> Rgb {
        m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    }

    /// Linear sRGB to `OKLab` (Ottosson 2020).
    fn oklab(rgb: Rgb) -> Rgb {
        let lms = times(
            &[
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ],
            rgb,
        );
        times(
            &[
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ],
            lms.map(|c| c.max(0.0).cbrt()),
        )
    }

    /// Normal sight, protanopia and deuteranopia (Machado, Oliveira, Fernandes 2009, severity 1).
    const SIGHTS: [[Rgb; 3]; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ];

    fn distance(a: &str, b: &str) -> f64 {
        let seen = |sight, hex| oklab(times(sight, linear(hex)).map(|c| c.clamp(0.0, 1.0)));
        SIGHTS
            .iter()
            .map(|sight| {
                let (a, b) = (seen(sight, a), seen(sight, b));
                (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
            })
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn contrast_agrees_with_the_definition() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!((contrast("#777777", "#ffffff") - 4.478).abs() < 1e-3);
    }

    #[test]
    fn text_is_readable_on_every_ground() {
        for theme in [LIGHT, DARK] {
            for ground in [theme.background, theme.surface] {
                for text in [theme.ink, theme.muted, theme.accent, theme.best] {
                    let ratio = contrast(text, ground);
                    assert!(ratio >= TEXT_CONTRAST, "{text} on {ground}: {ratio:.2}");
                }
                for line in theme.series.into_iter().chain([theme.axis]) {
                    let ratio = contrast(line, ground);
                    assert!(ratio >= GRAPHIC_CONTRAST, "{line} on {ground}: {ratio:.2}");
                }
            }
        }
    }

    #[test]
    fn series_stay_apart_for_the_colour_blind() {
        for theme in [LIGHT, DARK] {
            for (i, a) in theme.series.iter().enumerate() {
                for b in &theme.series[..i] {
                    let d = distance(a, b);
                    assert!(d >= LEAST_DISTANCE, "{a} and {b}: {d:.3}");
                }
            }
        }
    }
}
