//! Compares two versions of a page: would a reader see a change, and how large is it?

use tidewatch_core::sketch::divergence;

use crate::charset::decode;
use crate::fragments::{Fragments, Shingling, fragments};

/// How two versions differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Whether the bytes differ.
    pub bytes_changed: bool,
    /// Whether a reader would see a change.
    pub changed: bool,
    /// 1 − |F∩F′|/|F∪F′| over all fragments `[OP08, eq. 3]`.
    pub divergence: f64,
    /// The same, as a crawler estimates it from two sketches.
    pub estimate: f64,
    /// Readable words before and after.
    pub words: [usize; 2],
    /// Fragments before and after.
    pub fragments: [usize; 2],
    /// Fragments in both versions.
    pub common: usize,
}

/// Compares two bodies.
pub fn compare(old: &[u8], new: &[u8], shingling: Shingling) -> Difference {
    let all = Shingling { hashes: usize::MAX, ..shingling };
    let read = |bytes: &[u8]| -> Fragments { fragments(&decode(bytes, None).text, all) };
    let (before, after) = (read(old), read(new));
    let m = shingling.hashes;
    let head = |f: &Fragments| f.sketch[..f.sketch.len().min(m)].to_vec();
    let exact = divergence(&before.sketch, &after.sketch, usize::MAX);
    let total = before.sketch.len() + after.sketch.len();
    Difference {
        bytes_changed: old != new,
        changed: before.identity != after.identity,
        divergence: exact,
        estimate: divergence(&head(&before), &head(&after), m),
        words: [before.words, after.words],
        fragments: [before.sketch.len(), after.sketch.len()],
        // D = 1 − c/(n − c), with n the sum of both sizes.
        common: ((1.0 - exact) * total as f64 / (2.0 - exact)).round() as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_among_many() {
        let old = b"<p>one two three four five six<p>seven eight<script>1</script>";
        let new = b"<p>one two three four five SIX<p>seven eight<script>2</script>";
        let k = Shingling { words: 2, hashes: 8 };
        let d = compare(old, new, k);
        assert!(d.bytes_changed && d.changed);
        assert_eq!((d.words, d.fragments, d.common), ([8, 8], [6, 6], 5));
        assert!((d.divergence - 2.0 / 7.0).abs() < 1e-12);
        let noise = compare(old, b"<p>one two three four five six<p>seven eight<script>9", k);
        assert!(noise.bytes_changed && !noise.changed && noise.divergence == 0.0);
    }
}
