//! Finds and hashes a block's words, eight bytes at a time.
//!
//! White space and control characters separate words. In scripts written without spaces each
//! character counts as one. A word that may be noise (it has a digit, or is "ago") is *suspect*:
//! only these and their neighbours are examined again ([`crate::noise`]).

use std::str::SplitWhitespace;

use xxhash_rust::xxh3::xxh3_64;

/// Must follow a text, so that [`Words`] can read eight bytes at a time.
pub(super) const PADDING: &str = "        ";
const EIGHT: usize = PADDING.len();
const ONES: u64 = u64::from_le_bytes([1; EIGHT]);
const TOP_BITS: u64 = ONES << 7;
/// Odd and without pattern: multiplication by it is invertible modulo 2⁶⁴.
pub(super) const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A word of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
    pub(super) is_suspect: bool,
    /// Its hash, if all ASCII.
    hash: Option<u64>,
}

impl Word<'_> {
    /// Adds the hash of the word, or of each character in scripts without spaces.
    #[inline]
    pub(super) fn push_hashes(&self, into: &mut Vec<u64>) {
        match self.hash {
            Some(hash) => into.push(hash),
            None => push_characters(self.text, into),
        }
    }
}

fn push_characters(word: &str, into: &mut Vec<u64>) {
    if !word.chars().any(stands_alone) {
        into.push(hash(word.as_bytes()));
        return;
    }
    let mut buffer = [0; 4];
    into.extend(word.chars().map(|c| hash(c.encode_utf8(&mut buffer).as_bytes())));
}

/// Characters of scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Chinese.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text that ends in [`PADDING`].
#[derive(Debug)]
pub(super) struct Words<'a> {
    text: &'a str,
    at: usize,
    /// What is left of a run of bytes without ASCII white space that is not all ASCII, and whether
    /// the run is suspect.
    parts: Option<(SplitWhitespace<'a>, bool)>,
}

impl<'a> Words<'a> {
    #[inline]
    pub(super) fn of(text: &'a str) -> Self {
        Words { text, at: 0, parts: None }
    }

    /// The next part of a run: non-ASCII white space, which single bytes do not show, separates
    /// words too.
    #[cold]
    fn next_part(&mut self) -> Option<Word<'a>> {
        let (parts, is_suspect) = self.parts.as_mut()?;
        let Some(text) = parts.next() else {
            self.parts = None;
            return None;
        };
        let start = text.as_ptr() as usize - self.text.as_ptr() as usize;
        Some(Word { start, text, is_suspect: *is_suspect, hash: None })
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    // The one loop that calls it is the hottest of the parser: a call for each word costs 4% of a
    // crawl's CPU.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured by benches/speed")]
    fn next(&mut self) -> Option<Word<'a>> {
        let bytes = self.text.as_bytes();
        let end = bytes.len().saturating_sub(EIGHT);
        loop {
            if self.parts.is_some()
                && let Some(word) = self.next_part()
            {
                return Some(word);
            }
            if self.at >= end {
                return None;
            }
            let start = self.at;
            let first = load(bytes, start);
            let mut step = length(first);
            let head = lowest(first, step);
            // The OR of all bytes of the word: enough to test that all are ASCII.
            let mut all = head;
            let mut is_suspect = has_digit(head) || begins_ago(head);
            let mut at = start + step;
            while step == EIGHT {
                let next = load(bytes, at);
                step = length(next);
                let part = lowest(next, step);
                all |= part;
                is_suspect |= has_digit(part);
                at += step;
            }
            self.at = at + 1;
            if all & TOP_BITS != 0 {
                self.parts = Some((self.text[start..at].split_whitespace(), is_suspect));
            } else if at > start {
                let hash = Some(hash_loaded(bytes, start, at, head));
                return Some(Word { start, text: &self.text[start..at], is_suspect, hash });
            }
        }
    }
}

/// The eight bytes at `at` as a little-endian number.
#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |&eight: &[u8; EIGHT]| u64::from_le_bytes(eight))
}

/// The lowest `count` of eight bytes, the others 0.
#[inline]
fn lowest(eight: u64, count: usize) -> u64 {
    if count == 0 { 0 } else { eight & (u64::MAX >> (64 - 8 * count)) }
}

/// The top bit of bytes below `limit`, at most 128. x − limit borrows from a byte's top bit if the
/// byte is below it and its own top bit is not set; a borrow can mark a byte wrongly, but only
/// above one marked rightly.
#[inline]
fn below(eight: u64, limit: u64) -> u64 {
    eight.wrapping_sub(ONES * limit) & !eight & TOP_BITS
}

/// How many bytes come before the first space or control character: 8 if there is none.
#[inline]
fn length(eight: u64) -> usize {
    below(eight, 0x21).trailing_zeros() as usize / 8
}

#[inline]
fn has_digit(eight: u64) -> bool {
    below(eight ^ (ONES * u64::from(b'0')), 10) != 0
}

/// Whether it begins with "ago", case-insensitive.
#[inline]
fn begins_ago(eight: u64) -> bool {
    (eight | 0x20_20_20) & 0xff_ff_ff == u64::from_le_bytes(*b"ago\0\0\0\0\0")
}

/// Spreads every bit over all (the finaliser of MurmurHash3).
#[inline]
pub(super) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// The hash of the word from `start` to `end`, of which `head` are the first eight bytes or all.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as Words::next")]
fn hash_loaded(bytes: &[u8], start: usize, end: usize, head: u64) -> u64 {
    match end - start {
        ..=EIGHT => mix(head ^ BASE),
        len @ ..=16 => hash_two(head, load(bytes, end - EIGHT), len),
        _ => xxh3_64(&bytes[start..end]),
    }
}

/// Mixes up to eight bytes as one number; no byte is 0, so the number also encodes their count.
/// Up to sixteen bytes are two numbers that may overlap.
#[inline]
fn hash_two(head: u64, tail: u64, len: usize) -> u64 {
    mix(head ^ mix(tail ^ BASE.wrapping_mul(len as u64)))
}

/// The hash of a word outside a padded text.
pub(super) fn hash(word: &[u8]) -> u64 {
    let mut padded = [0; EIGHT];
    let head = word.len().min(EIGHT);
    padded[..head].copy_from_slice(&word[..head]);
    hash_loaded(word, 0, word.len(), u64::from_le_bytes(padded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Finds the same words, hashes and suspects as a scan by single characters.
        #[test]
        fn words_are_found_eight_bytes_at_a_time(text in "[a-z ,\\t\\x01\u{a0}é\u{3000}019/:]{0,80}") {
            let slow: Vec<&str> = text
                .split(|c: char| c.is_whitespace() || c.is_ascii_control())
                .filter(|word| !word.is_empty())
                .collect();
            let padded = format!("{text}{PADDING}");
            let mut fast = Vec::new();
            for word in Words::of(&padded) {
                assert_eq!(&padded[word.start..word.start + word.text.len()], word.text);
                let has_digit = word.text.bytes().any(|b| b.is_ascii_digit());
                assert!(word.is_suspect || !has_digit, "{}", word.text);
                if let Some(found) = word.hash {
                    assert_eq!(found, hash(word.text.as_bytes()));
                    let is_suspect = has_digit || word.text.starts_with("ago");
                    assert_eq!(word.is_suspect, is_suspect, "{}", word.text);
                }
                fast.push(word.text);
            }
            prop_assert_eq!(fast, slow);
        }

        /// Every tried change of a short or medium word changes its hash.
        #[test]
        fn words_of_all_lengths_are_distinguished(a in "[a-c]{1,20}", b in "[a-c]{1,20}") {
            prop_assert_eq!(hash(a.as_bytes()) == hash(b.as_bytes()), a == b);
        }
    }

    #[test]
    fn ages_are_suspect_in_any_case() {
        let suspects = |text: &str| {
            let mut found = Vec::new();
            let padded = format!("{text}{PADDING}");
            for word in Words::of(&padded) {
                found.extend(word.is_suspect.then(|| word.text.to_owned()));
            }
            found.join(" ")
        };
        assert_eq!(suspects("a day ago, AGO. go aga lag0 ag"), "ago, AGO. lag0");
    }
}
