//! Deterministic prose: titles, paragraphs and the text of a fragment.
//!
//! Equal keys give equal words, different keys give different ones, and word frequencies are skewed as
//! in natural language.

use std::fmt::Write as _;
use std::sync::LazyLock;

use tidewatch_math::rng::Draws;

/// Words, common ones first.
const TEXT: &str = "\
    the of and to in a for on with that as by from at over more new after water city people day \
    year council report work plan river price group study market school team house harbour train \
    winter summer region energy light music history forest island bridge garden field coast \
    storm ferry museum library festival season record budget vote court hospital engine signal \
    station village mountain valley weather fishing farm wheat barley copper timber paper glass \
    stone wool silk clock compass lantern anchor sail tide current shore dune marsh heron otter \
    salmon oyster kelp granite chalk amber meadow orchard plough kettle loom ledger almanac \
    atlas chapter letter archive index survey census charter treaty tariff harvest quarry \
    foundry workshop theatre gallery opera quartet chorus rehearsal premiere striker keeper \
    referee league final sprint marathon regatta summit glacier plateau canyon delta lagoon reef \
    monsoon drought frost thaw eclipse comet orbit probe sensor circuit turbine reactor battery \
    pipeline terminal runway tram tunnel viaduct canal lock weir dyke polder beacon buoy pilot \
    convoy cargo container customs audit bond share dividend merger patent tribunal appeal \
    verdict statute ballot coalition mandate envoy summitry ceasefire relief shelter vaccine \
    clinic surgery enzyme protein genome fossil pollen mineral isotope theorem lattice matrix \
    vector axiom";

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| TEXT.split(' ').collect());

/// Sentences of a paragraph, at least and at most.
const SENTENCES: (u64, u64) = (3, 7);
/// Words of a sentence, at least and at most.
const LENGTH: (u64, u64) = (7, 18);

/// A random word; the word of rank r has a frequency ∝ r^(−1/2).
fn word(draws: &mut Draws) -> &'static str {
    let u = draws.uniform();
    WORDS[(u * u * WORDS.len() as f64) as usize]
}

fn between(draws: &mut Draws, (least, most): (u64, u64)) -> u64 {
    least + draws.below(most - least + 1)
}

fn push_sentence(draws: &mut Draws, out: &mut String) {
    for i in 0..between(draws, LENGTH) {
        let word = word(draws);
        if i == 0 {
            push_capitalised(word, out);
        } else {
            out.push(' ');
            out.push_str(word);
        }
    }
    out.push('.');
}

fn push_capitalised(word: &str, out: &mut String) {
    let (first, rest) = word.split_at(1);
    out.push(first.as_bytes()[0].to_ascii_uppercase().into());
    out.push_str(rest);
}

/// A few words that name a page.
pub(crate) fn title(seed: u64, page: u32) -> String {
    let mut draws = Draws::of(seed, "web.title", u64::from(page));
    let mut out = String::new();
    for i in 0..between(&mut draws, (3, 8)) {
        // Rare words distinguish titles.
        let word = WORDS[draws.below(WORDS.len() as u64) as usize];
        if i == 0 {
            push_capitalised(word, &mut out);
        } else {
            out.push(' ');
            out.push_str(word);
        }
    }
    out
}

/// Number of paragraphs of a page without fragments.
pub(crate) fn paragraphs(seed: u64, page: u32) -> u64 {
    let u = Draws::of(seed, "web.length", u64::from(page)).uniform();
    4 + (36.0 * u * u * u) as u64
}

/// Revision `revision` of paragraph `number` of `page`.
pub(crate) fn push_paragraph(seed: u64, page: u32, number: u64, revision: u64, out: &mut String) {
    // The page is the item, paragraph and revision select the position in its stream; a paragraph
    // takes fewer draws than the stride.
    const STRIDE: u64 = 1 << 10;
    const REVISIONS: u64 = 1 << 32;
    let mut draws = Draws::of(seed, "web.paragraph", u64::from(page));
    draws.seek((number * REVISIONS).wrapping_add(revision % REVISIONS).wrapping_mul(STRIDE));
    push_sentences(&mut draws, out);
}

/// The text of a fragment, independent of its page.
pub(crate) fn push_fragment(fragment: u64, out: &mut String) {
    // The text ends with the number, so different fragments always differ.
    push_sentence(&mut Draws::of(0, "web.fragment", fragment), out);
    let _ = write!(out, " ({fragment:x})");
}

fn push_sentences(draws: &mut Draws, out: &mut String) {
    for i in 0..between(draws, SENTENCES) {
        if i > 0 {
            out.push(' ');
        }
        push_sentence(draws, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paragraph(page: u32, number: u64, revision: u64) -> String {
        let mut out = String::new();
        push_paragraph(1, page, number, revision, &mut out);
        out
    }

    #[test]
    fn same_key_same_words_and_other_key_other_words() {
        let text = paragraph(5, 2, 9);
        assert_eq!(text, paragraph(5, 2, 9));
        for other in [paragraph(6, 2, 9), paragraph(5, 3, 9), paragraph(5, 2, 10)] {
            assert_ne!(text, other);
        }
    }

    #[test]
    fn prose_needs_no_escaping() {
        let is_plain = |w: &&str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase());
        assert!(WORDS.len() > 200 && WORDS.iter().all(is_plain));
    }

    #[test]
    fn a_paragraph_keeps_to_its_stride() {
        assert!(SENTENCES.1 * (LENGTH.1 + 1) + 1 < 1 << 10);
    }
}
