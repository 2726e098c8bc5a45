//! How a page's text is made, in numbers that tell text for readers from text for search engines.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::io::Write as _;

/// Numbers of a [`Shape`].
pub const MEASURES: usize = 8;
/// Most bytes of text that are measured, and of the page as it came.
const MOST_TEXT: usize = 1 << 16;
const MOST_RAW: usize = 1 << 20;

/// A page as it is measured.
#[derive(Clone, Copy, Debug)]
pub struct Readable<'a> {
    /// The title.
    pub title: &'a str,
    /// All text that a reader sees, with menus and footers.
    pub text: &'a str,
    /// Words of the text that are in links.
    pub anchor_words: usize,
    /// The page as it came, with its markup.
    pub raw: &'a [u8],
}

/// Measures of one page, or their means over the pages of a host, as `[CAS07]` defines them: words,
/// words of the title, letters a word, share of words in links, visible words over all words of the
/// source, text bytes over compressed bytes, entropy of the word trigrams, and their mean −ln p(trigram)
/// by the page's own frequencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shape(pub [f64; MEASURES]);

impl Shape {
    /// Measures a page; `None` if it has no words.
    pub fn of(page: &Readable<'_>) -> Option<Shape> {
        let text = &page.text[..page.text.floor_char_boundary(MOST_TEXT)];
        let hashes: Vec<u64> =
            words(text).map(|word| xxhash_rust::xxh3::xxh3_64(word.as_bytes())).collect();
        if hashes.is_empty() {
            return None;
        }
        let count = hashes.len() as f64;
        let letters = words(text).map(|word| word.chars().count()).sum::<usize>() as f64;
        let raw = raw_words(&page.raw[..page.raw.len().min(MOST_RAW)]).max(hashes.len());
        let (entropy, surprise) = trigrams(&hashes);
        Some(Shape([
            count,
            words(page.title).count() as f64,
            letters / count,
            page.anchor_words as f64 / count,
            count / raw as f64,
            compressibility(text),
            entropy,
            surprise,
        ]))
    }

    /// The mean of so many shapes and one more.
    pub(super) fn mean(self, of: u32, more: Shape) -> Shape {
        let weight = 1.0 / f64::from(of + 1);
        Shape(std::array::from_fn(|at| self.0[at] + weight * (more.0[at] - self.0[at])))
    }
}

/// Runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The same in a page of any encoding: bytes above 127 count as letters.
fn raw_words(raw: &[u8]) -> usize {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte > 127;
    raw.split(|&byte| !is_letter(byte)).filter(|word| !word.is_empty()).count()
}

/// At zlib's usual level, which gives the ratios of the published features; a faster one finds half as much.
fn compressibility(text: &str) -> f64 {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // A vector takes every byte.
    let _ = encoder.write_all(text.as_bytes());
    let packed = encoder.finish().map_or(0, |packed| packed.len());
    text.len() as f64 / packed.max(1) as f64
}

/// −Σ p ln p over the distinct trigrams, and the mean of −ln p over them; of a text below three words both
/// are 0.
fn trigrams(words: &[u64]) -> (f64, f64) {
    let mut counts: FxHashMap<[u64; 3], u32> = FxHashMap::default();
    for words in words.windows(3) {
        *counts.entry([words[0], words[1], words[2]]).or_default() += 1;
    }
    let all = words.len().saturating_sub(2) as f64;
    // In ascending order, so that the sums do not depend on the table's.
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable();
    let surprise = |count: u32| (all / f64::from(count)).ln();
    let entropy: f64 = counts.iter().map(|&n| f64::from(n) / all * surprise(n)).sum();
    let mean = counts.iter().map(|&n| surprise(n)).sum::<f64>() / counts.len().max(1) as f64;
    (entropy, mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few hundred operations on numbers of the size of ten.
    const ROUNDING: f64 = 1e-12;

    fn of(text: &str) -> Shape {
        Shape::of(&Readable { title: "A title", text, anchor_words: 3, raw: text.as_bytes() })
            .unwrap()
    }

    #[test]
    fn measures_are_those_of_the_paper() {
        let text = (0..62).map(|n| format!("w{n:02}")).collect::<Vec<_>>().join(" ");
        let Shape([words, title, letters, anchors, visible, packed, entropy, surprise]) = of(&text);
        assert_eq!((words, title, letters, visible), (62.0, 2.0, 3.0, 1.0));
        assert!((anchors - 3.0 / 62.0).abs() < ROUNDING);
        // Sixty trigrams, all different.
        assert!(
            (entropy - 60f64.ln()).abs() < ROUNDING && (surprise - 60f64.ln()).abs() < ROUNDING
        );
        assert!(packed > 1.0 && packed < 5.0, "{packed}");
    }

    #[test]
    fn stuffed_text_repeats_itself() {
        let plain =
            (0..400).map(|n| format!("word{}", n * 7919 % 1000)).collect::<Vec<_>>().join(" ");
        let stuffed = "cheap pills buy cheap pills online ".repeat(80);
        let ([.., plain_packed, plain_entropy, _], [.., packed, entropy, _]) =
            (of(&plain).0, of(&stuffed).0);
        assert!(packed > 4.0 * plain_packed, "{packed} {plain_packed}");
        assert!(entropy < 0.5 * plain_entropy, "{entropy} {plain_entropy}");
    }

    /// Trigram counts 2, 1, 1: p = ½, ¼, ¼.
    #[test]
    fn trigrams_by_hand() {
        let (entropy, surprise) = trigrams(&[1, 1, 1, 1, 2, 3]);
        let ln2 = 2f64.ln();
        assert!((entropy - 1.5 * ln2).abs() < ROUNDING, "{entropy}");
        assert!((surprise - 5.0 / 3.0 * ln2).abs() < ROUNDING, "{surprise}");
        assert_eq!(trigrams(&[1, 2]), (0.0, 0.0));
    }

    #[test]
    fn any_page_is_measured() {
        assert!(
            Shape::of(&Readable { title: "", text: " .!", anchor_words: 0, raw: b"" }).is_none()
        );
        let long = "ä ".repeat(1 << 17);
        let shape = of(&long);
        assert!(shape.0.iter().all(|x| x.is_finite()), "{shape:?}");
    }
}
