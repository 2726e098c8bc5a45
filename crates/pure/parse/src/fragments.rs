//! A page's text in a small, comparable form.
//!
//! The blocks that a person would read ([`crate::reading`]), without noise words
//! ([`crate::noise`]), give two things in one pass:
//!
//! * the *identity*: one number that changes when a reader would see a change, and only then. It
//!   covers the words as written and in order, and the targets of links among them (without
//!   queries, which carry sessions). Pictures count by their descriptions.
//! * the *fragments*: every run of k words inside a block, hashed (word shingles, `[BGM97]`,
//!   `[OP08, §2.1.1]`); a block shorter than k is one fragment. Their m smallest hashes are the
//!   *sketch*. In scripts without spaces each character counts as a word.
//!
//! A page without readable text has the identity [`EMPTY`] and an empty sketch.

mod words;

use memchr::memchr2;
use tidewatch_core::sketch::{SKETCH_LEN, Sketcher};
use xxhash_rust::xxh3::xxh3_64;

use crate::html::scan;
use crate::noise;
use crate::reading::{Reader, Reading, Scope};
use words::{BASE, PADDING, Words, mix};

/// The identity of a page without readable text.
pub const EMPTY: u64 = 0;
/// Longer blocks are cut, to bound memory for a page of one line.
const LONGEST_BLOCK: usize = 1 << 16;
/// With fewer words than this, the page may be all surroundings.
const FEW_WORDS: usize = 5;

/// How to split pages into fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shingling {
    /// k: words in a fragment, at least 1.
    pub words: usize,
    /// m: hashes in the sketch; `usize::MAX` for all.
    pub hashes: usize,
}

impl Default for Shingling {
    /// Four words distinguish most sentences; a page record holds eight hashes.
    fn default() -> Self {
        Shingling { words: 4, hashes: SKETCH_LEN }
    }
}

/// Identity and sketch of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragments {
    /// Equal if and only if a reader would see no change (up to a chance of 2⁻⁶⁴).
    pub identity: u64,
    /// The smallest fragment hashes, ascending.
    pub sketch: Vec<u64>,
    /// Words read.
    pub words: usize,
}

impl Fragments {
    /// Whether there is so little text that the page may be all surroundings.
    pub(crate) const fn is_bare(&self) -> bool {
        self.words < FEW_WORDS
    }
}

/// The fragments of a decoded page.
pub fn fragments(html: &str, shingling: Shingling) -> Fragments {
    let read = |scope| {
        let mut reading = Reading::new(Shingler::new(shingling), scope);
        scan(html, &mut reading);
        reading.reader.end_block();
        let is_surrounded = reading.left_surroundings_out();
        (reading.reader.finish(), is_surrounded)
    };
    let (content, is_surrounded) = read(Scope::Content);
    if is_surrounded && content.is_bare() { read(Scope::Everything).0 } else { content }
}

/// Turns blocks into hashes.
#[derive(Debug)]
pub(crate) struct Shingler {
    k: usize,
    block: String,
    links: u64,
    identity: u64,
    words: usize,
    hashes: Vec<u64>,
    places: Vec<Place>,
    /// Words of the block that may be noise.
    suspects: Vec<usize>,
    is_noise: Vec<bool>,
    sketcher: Sketcher,
}

/// The position of a word in the block, and the end of its hashes.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: usize,
    end: usize,
    hashes_end: usize,
}

impl Shingler {
    pub(crate) fn new(shingling: Shingling) -> Self {
        Shingler {
            k: shingling.words.max(1),
            block: String::new(),
            links: 0,
            identity: EMPTY,
            words: 0,
            hashes: Vec::new(),
            places: Vec::new(),
            suspects: Vec::new(),
            is_noise: Vec::new(),
            sketcher: Sketcher::new(shingling.hashes),
        }
    }

    pub(crate) fn finish(self) -> Fragments {
        Fragments { identity: self.identity, sketch: self.sketcher.finish(), words: self.words }
    }

    /// Hashes the block's words without noise.
    fn hash_words(&mut self) {
        self.block.push_str(PADDING);
        self.hashes.clear();
        self.places.clear();
        self.suspects.clear();
        let Shingler { block, hashes, places, suspects, .. } = self;
        for word in Words::of(block) {
            if word.is_suspect {
                suspects.push(places.len());
            }
            word.push_hashes(hashes);
            let (start, end) = (word.start, word.start + word.text.len());
            places.push(Place { start, end, hashes_end: hashes.len() });
        }
        if !self.suspects.is_empty() {
            self.drop_noise();
        }
    }

    fn drop_noise(&mut self) {
        let words: Vec<&str> = self.places.iter().map(|p| &self.block[p.start..p.end]).collect();
        noise::mark(&words, &self.suspects, &mut self.is_noise);
        let (mut kept, mut from) = (0, 0);
        for (place, &noise) in self.places.iter().zip(&self.is_noise) {
            if !noise {
                self.hashes.copy_within(from..place.hashes_end, kept);
                kept += place.hashes_end - from;
            }
            from = place.hashes_end;
        }
        self.hashes.truncate(kept);
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
        // Between tags there are mostly only line breaks.
        let text = if self.block.is_empty() { text.trim_ascii_start() } else { text };
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
        self.links = 0;
    }
}

impl Shingler {
    /// Adds text that is too long for one block, cut between words where possible.
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
            text = &text[cut..];
            self.end_block();
        }
    }
}

/// A link's target without the parts that change between visits: query, fragment, and the scrambled
/// addresses that a widespread proxy substitutes for e-mail links.
fn place(target: &str) -> &str {
    const SCRAMBLED: &str = "/cdn-cgi/l/email-protection";
    let target = target.trim();
    let target = &target[..memchr2(b'?', b'#', target.as_bytes()).unwrap_or(target.len())];
    if target.ends_with(SCRAMBLED) { SCRAMBLED } else { target.trim_end_matches('/') }
}

#[cfg(test)]
mod tests;
