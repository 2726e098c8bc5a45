//! What does a page say, in a form that can be compared and kept small?
//!
//! The blocks that a person would read ([`crate::reading`]), without the words that tick by
//! themselves ([`crate::noise`]), give two things in one pass:
//!
//! * the *identity*: one number that changes when a reader would see a change, and only then. It
//!   covers the words as written and in their order, and where links among them lead (without queries,
//!   which carry sessions). Pictures count by their descriptions.
//! * the *fragments*: every run of k words inside a block, hashed (word shingles, `[BGM97]`,
//!   `[OP08, §2.1.1]`); a block shorter than k is one fragment. Their m smallest hashes are the
//!   *sketch*. Where words are not set apart by spaces each character counts as one.
//!
//! A page without anything to read has the identity [`EMPTY`] and an empty sketch.

use memchr::memchr2;
use memchr::memmem::Finder;
use tidewatch_core::record::SKETCH_LEN;
use tidewatch_core::sketch::Sketcher;
use xxhash_rust::xxh3::xxh3_64;

use crate::html::{Visitor, scan};
use crate::noise;
use crate::reading::{Reader, Reading, Scope};

/// The identity of a page that says nothing.
pub const EMPTY: u64 = 0;
/// A block longer than this is cut, so that a page of one line takes no memory of its own.
const LONGEST_BLOCK: usize = 1 << 16;
/// Fewer words than this beside left-out surroundings: the surroundings may be all there is.
const FEW_WORDS: usize = 5;

/// How pages are made into fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shingling {
    /// k: words in a fragment, at least 1.
    pub words: usize,
    /// m: hashes in the sketch; `usize::MAX` for all.
    pub hashes: usize,
}

impl Default for Shingling {
    /// Four words tell most sentences apart; eight hashes are what a page record holds.
    fn default() -> Self {
        Shingling { words: 4, hashes: SKETCH_LEN }
    }
}

/// What a page says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragments {
    /// Equal if and only if a reader would see no change (up to chance of 2⁻⁶⁴).
    pub identity: u64,
    /// The smallest fragment hashes, ascending.
    pub sketch: Vec<u64>,
    /// Words read.
    pub words: usize,
}

/// The fragments of a decoded page.
pub fn fragments(html: &str, shingling: Shingling) -> Fragments {
    let mut reading = FragmentVisitor::new(shingling, Scope::Content);
    scan(html, &mut reading);
    match reading.finish() {
        Some(fragments) => fragments,
        None => whole(html, shingling),
    }
}

/// The fragments of a page that has nothing to read but its surroundings.
pub fn whole(html: &str, shingling: Shingling) -> Fragments {
    let mut reading = FragmentVisitor::new(shingling, Scope::Everything);
    scan(html, &mut reading);
    reading.finish().unwrap_or_default()
}

/// The visitor that makes fragments, to share a pass with others.
#[derive(Debug)]
pub struct FragmentVisitor(Reading<Shingler>);

impl FragmentVisitor {
    /// For one page.
    pub fn new(shingling: Shingling, scope: Scope) -> Self {
        FragmentVisitor(Reading::new(Shingler::new(shingling), scope))
    }

    /// What the page says; `None` if there is hardly anything but surroundings that were left out,
    /// in which case [`whole`] is to be asked.
    pub fn finish(mut self) -> Option<Fragments> {
        self.0.reader.end_block();
        let is_bare = self.0.reader.words < FEW_WORDS && self.0.left_surroundings_out();
        (!is_bare).then(|| self.0.reader.finish())
    }
}

impl Visitor for FragmentVisitor {
    #[inline]
    fn open(&mut self, tag: &crate::html::Tag<'_>) {
        self.0.open(tag);
    }

    #[inline]
    fn text(&mut self, text: &str) {
        self.0.text(text);
    }

    #[inline]
    fn close(&mut self, name: crate::html::Name) {
        self.0.close(name);
    }
}

/// Turns blocks into hashes.
#[derive(Debug)]
struct Shingler {
    k: usize,
    block: String,
    has_digit: bool,
    links: u64,
    identity: u64,
    words: usize,
    hashes: Vec<u64>,
    is_noise: Vec<bool>,
    sketcher: Sketcher,
    /// Finds what a block without digits must have to tell an age: "an hour ago".
    ago: Finder<'static>,
}

impl Shingler {
    fn new(shingling: Shingling) -> Self {
        Shingler {
            k: shingling.words.max(1),
            block: String::new(),
            has_digit: false,
            links: 0,
            identity: EMPTY,
            words: 0,
            hashes: Vec::new(),
            is_noise: Vec::new(),
            sketcher: Sketcher::new(shingling.hashes),
            ago: Finder::new(noise::AGO),
        }
    }

    fn finish(self) -> Fragments {
        Fragments { identity: self.identity, sketch: self.sketcher.finish(), words: self.words }
    }

    /// Hashes the block's words, noise left out.
    fn hash_words(&mut self) {
        self.hashes.clear();
        let has_noise = self.has_digit || self.ago.find(self.block.as_bytes()).is_some();
        self.block.push_str(PADDING);
        if has_noise {
            let mut words = Vec::new();
            each_word(&self.block, |word, _| words.push(word));
            noise::mark(&words, &mut self.is_noise);
            let kept = words.iter().zip(&self.is_noise).filter(|(_, noise)| !**noise);
            kept.for_each(|(word, _)| push_word(word, &mut self.hashes));
        } else {
            let hashes = &mut self.hashes;
            each_word(&self.block, |word, short| match short {
                Some(packed) => hashes.push(hash_short(packed, word.len())),
                None => push_word(word, hashes),
            });
        }
    }

    fn add_shingles(&mut self) {
        let k = self.k.min(self.hashes.len());
        // Rolling: drop the oldest word's term, shift, add the newest.
        let top = (1..k).fold(1u64, |power, _| power.wrapping_mul(BASE));
        let mut rolling = 0u64;
        for (i, &word) in self.hashes.iter().enumerate() {
            if i >= k {
                rolling = rolling.wrapping_sub(self.hashes[i - k].wrapping_mul(top));
            }
            rolling = rolling.wrapping_mul(BASE).wrapping_add(word);
            if i + 1 >= k {
                self.sketcher.add(mix(rolling));
            }
        }
    }
}

impl Reader for Shingler {
    #[inline]
    fn piece(&mut self, text: &str) {
        // Between tags there is mostly nothing but line breaks.
        let text = if self.block.is_empty() { text.trim_ascii_start() } else { text };
        self.has_digit |= has_digit(text);
        if self.block.len() + text.len() <= LONGEST_BLOCK {
            self.block.push_str(text);
        } else {
            self.long_piece(text);
        }
    }

    #[inline]
    fn link(&mut self, target: &str) {
        self.links = self.links.wrapping_add(mix(xxh3_64(place(target).as_bytes())));
    }

    #[inline]
    fn end_block(&mut self) {
        if self.block.is_empty() {
            self.links = 0;
            return;
        }
        self.hash_words();
        if !self.hashes.is_empty() {
            let fold = |hash: u64, &word: &u64| (hash.rotate_left(5) ^ word).wrapping_mul(BASE);
            let block = self.hashes.iter().fold(self.links, fold);
            self.identity = mix(self.identity ^ mix(block));
            self.words += self.hashes.len();
            self.add_shingles();
        }
        self.block.clear();
        self.has_digit = false;
        self.links = 0;
    }
}

impl Shingler {
    /// Takes in text that is too long for one block, cut between words where there are any.
    #[cold]
    fn long_piece(&mut self, mut text: &str) {
        while !text.is_empty() {
            let room = LONGEST_BLOCK.saturating_sub(self.block.len()).max(1);
            if text.len() <= room {
                self.block.push_str(text);
                return;
            }
            let limit =
                text.floor_char_boundary(room).max(text.chars().next().map_or(1, char::len_utf8));
            let head = &text[..limit];
            let cut = head.rfind(char::is_whitespace).filter(|&at| at > 0).unwrap_or(limit);
            self.block.push_str(&text[..cut]);
            self.has_digit |= has_digit(&text[..cut]);
            text = &text[cut..];
            self.end_block();
            self.has_digit = text.bytes().take(LONGEST_BLOCK).any(|b| b.is_ascii_digit());
        }
    }
}

/// Odd and without pattern: multiplying by it loses nothing modulo 2⁶⁴.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads every bit over all (the finaliser of MurmurHash3).
#[inline]
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Bytes looked at together: enough for the compiler to look at them at once.
const AT_ONCE: usize = 64;

#[inline]
fn has_digit(text: &str) -> bool {
    let any = |bytes: &[u8]| bytes.iter().fold(false, |any, b| any | b.is_ascii_digit());
    text.as_bytes().chunks(AT_ONCE).any(any)
}

/// What must follow a text for [`each_word`] to read it eight bytes at a time.
const PADDING: &str = "        ";
const EIGHT: usize = PADDING.len();
const ONES: u64 = u64::from_le_bytes([1; EIGHT]);
const TOP_BITS: u64 = ONES << 7;

/// The eight bytes at `at` as one number, the first lowest.
#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |&eight: &[u8; EIGHT]| u64::from_le_bytes(eight))
}

/// How many bytes come before the first space or control character: 8 if there is none.
/// (x − 33) borrows from a byte's top bit if it is below 33 and its own top bit is not set; the
/// lowest such bit is never wrong.
#[inline]
fn length(eight: u64) -> usize {
    let low = eight.wrapping_sub(ONES * 0x21) & !eight & TOP_BITS;
    low.trailing_zeros() as usize / 8
}

/// The words of a text that ends in [`PADDING`]: between white space and control characters. A
/// word of at most eight bytes, all ASCII, comes with them as a number.
#[inline]
fn each_word<'a>(text: &'a str, mut each: impl FnMut(&'a str, Option<u64>)) {
    let bytes = text.as_bytes();
    let end = bytes.len() - EIGHT;
    let mut at = 0;
    while at < end {
        let start = at;
        let first = load(bytes, at);
        let mut step = length(first);
        let packed = if step == 0 { 0 } else { first & (u64::MAX >> (64 - 8 * step)) };
        let mut all = packed;
        at += step;
        while step == EIGHT {
            let next = load(bytes, at);
            step = length(next);
            all |= if step == 0 { 0 } else { next & (u64::MAX >> (64 - 8 * step)) };
            at += step;
        }
        let word = &text[start..at];
        if all & TOP_BITS != 0 {
            word.split_whitespace().for_each(|word| each(word, None));
        } else if !word.is_empty() {
            each(word, (word.len() <= EIGHT).then_some(packed));
        }
        at += 1;
    }
}

/// The hash of a word, or of each character where the script sets no spaces.
#[inline]
fn push_word(word: &str, into: &mut Vec<u64>) {
    if word.is_ascii() || !word.chars().any(stands_alone) {
        into.push(hash(word.as_bytes()));
        return;
    }
    let mut buffer = [0; 4];
    into.extend(word.chars().map(|c| hash(c.encode_utf8(&mut buffer).as_bytes())));
}

#[inline]
fn hash(word: &[u8]) -> u64 {
    if word.len() > EIGHT {
        return xxh3_64(word);
    }
    let mut padded = [0; EIGHT];
    padded[..word.len()].copy_from_slice(word);
    hash_short(u64::from_le_bytes(padded), word.len())
}

/// Up to eight bytes are one number, mixed, with their count kept apart: multiples of [`BASE`]
/// differ in the top bit of some byte, which no two ASCII words do.
#[inline]
fn hash_short(packed: u64, len: usize) -> u64 {
    mix(packed ^ BASE.wrapping_mul(len as u64))
}

/// Characters of scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Chinese.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Where a link leads, without what changes from visit to visit: query, fragment, and the scrambled
/// addresses that a widespread proxy puts in the place of e-mail links.
fn place(target: &str) -> &str {
    const SCRAMBLED: &str = "/cdn-cgi/l/email-protection";
    let target = target.trim();
    let target = &target[..memchr2(b'?', b'#', target.as_bytes()).unwrap_or(target.len())];
    if target.ends_with(SCRAMBLED) { SCRAMBLED } else { target.trim_end_matches('/') }
}

#[cfg(test)]
mod tests;
