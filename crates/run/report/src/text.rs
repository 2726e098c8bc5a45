//! Makes foreign text safe to show, and measures it.
//!
//! The renderer escapes markup; this module replaces what escaping does not touch: control
//! characters and marks that change the direction of writing.

/// Replaces line breaks and tabs by a space, and by U+FFFD every other control character and every
/// mark that changes the direction of writing.
pub fn clean(text: &str) -> String {
    text.chars().map(clean_char).collect()
}

fn clean_char(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{200E}'
        | '\u{200F}'
        | '\u{061C}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2066}'..='\u{2069}'
        // Not allowed in XML.
        | '\u{FFFE}'
        | '\u{FFFF}' => char::REPLACEMENT_CHARACTER,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// Terminal columns that a character takes: 0 for marks that join the character before them, 2 for
/// East Asian wide characters and emoji, else 1.
fn columns_of(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036F
        | 0x0483..=0x0489
        | 0x0591..=0x05BD
        | 0x0610..=0x061A
        | 0x064B..=0x065F
        | 0x0900..=0x0902
        | 0x1AB0..=0x1AFF
        | 0x1DC0..=0x1DFF
        | 0x200B..=0x200D
        | 0x20D0..=0x20FF
        | 0xFE00..=0xFE0F
        | 0xFE20..=0xFE2F
        | 0xFEFF
        | 0xE0100..=0xE01EF => 0,
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xA960..=0xA97F
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// Terminal columns that a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Cuts a text to at most `limit` terminal columns; a cut text ends in `…`.
pub(crate) fn cut_to_columns(text: &str, limit: usize) -> String {
    cut(text, limit as f64, |c| columns_of(c) as f64)
}

/// Upper estimate of the width of a text in pixels; the reader's font is unknown.
pub(crate) fn pixels(text: &str, font_size: f64) -> f64 {
    text.chars().map(em_of).sum::<f64>() * font_size
}

/// Cuts a text to at most `limit` pixels; a cut text ends in `…`.
pub(crate) fn cut_to_pixels(text: &str, limit: f64, font_size: f64) -> String {
    cut(text, limit / font_size, em_of)
}

/// At least the width of a character in DejaVu Sans, the widest of the fonts that the style sheet
/// may fall back to.
fn em_of(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' => 0.28,
        ' ' | 'f' | '.' | ',' | ':' | ';' | '|' | '-' | '/' | 'I' | 'J' => 0.37,
        'r' | 't' | '!' | '(' | ')' | '[' | ']' => 0.42,
        'm' | 'M' | 'W' | '@' | '%' | '…' | '—' => 1.0,
        'w' | '=' | '+' | '<' | '>' | '#' | '±' | '×' | '−' | '∞' | 'ω' => 0.84,
        'A'..='Z' | '&' => 0.79,
        c => [0.0, 0.64, 1.05][columns_of(c)],
    }
}

fn cut(text: &str, limit: f64, width_of: impl Fn(char) -> f64) -> String {
    if text.chars().map(&width_of).sum::<f64>() <= limit {
        return text.to_owned();
    }
    let room = limit - width_of('…');
    let mut used = 0.0;
    let mut kept: String = text
        .chars()
        .take_while(|&c| {
            used += width_of(c);
            used <= room
        })
        .collect();
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_direction_marks_are_replaced() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\0\nd"), "a\u{fffd}[31mb\u{fffd}c\u{fffd} d");
    }

    #[test]
    fn columns_count_wide_and_joining_characters() {
        assert_eq!(columns("潮汐"), 4);
        assert_eq!(columns("e\u{301}"), 1);
        assert_eq!(columns("plain"), 5);
    }

    #[test]
    fn no_text_is_wider_than_estimated() {
        // Widths in DejaVu Sans, in em.
        let measured = [
            ("frontier", 3.705),
            ("price without rhythm", 10.521),
            ("echo-newpages", 7.857),
            ("N = 0.05, published", 9.948),
            ("RW-EG", 3.451),
        ];
        for (text, em) in measured {
            let estimated = pixels(text, 1.0);
            assert!((em..1.1 * em).contains(&estimated), "{text}: {estimated} for {em}");
        }
    }

    #[test]
    fn a_cut_text_fits_and_says_so() {
        assert_eq!(cut_to_columns("echo-newpages", 6), "echo-…");
        assert_eq!(cut_to_columns("潮汐観測", 5), "潮汐…");
        assert_eq!(cut_to_columns("short", 5), "short");
        assert!(pixels(&cut_to_pixels(&"w".repeat(100), 80.0, 12.0), 12.0) <= 80.0);
    }
}
