//! Seeded mutations of a corpus.

use crate::Target;

/// Largest input, except for one in a hundred.
const USUAL_BYTES: usize = 4096;

/// Makes inputs from a target's corpus.
#[derive(Debug)]
pub struct Mutator {
    corpus: Vec<&'static [u8]>,
    words: &'static [&'static str],
    seed: u64,
}

/// SplitMix64: small, and every seed is equally good.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.roll() % bound as u64) as usize }
    }

    /// A range of at most `most` bytes within that length.
    fn range(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let end = start + self.below((length - start).min(most) + 1);
        start..end
    }
}

impl Mutator {
    /// A mutator for a target and a seed.
    pub fn new(target: &Target, seed: u64) -> Self {
        Self { corpus: target.corpus.to_vec(), words: target.words, seed }
    }

    /// The input of that number, always the same. Without a corpus it is a seed of sixteen bytes.
    pub fn input(&self, number: u64) -> Vec<u8> {
        let mut dice = Dice(self.seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        if self.corpus.is_empty() {
            return [dice.roll(), dice.roll()].map(u64::to_le_bytes).concat();
        }
        let mut input = self.corpus[dice.below(self.corpus.len())].to_vec();
        for _ in 0..=dice.below(6) {
            self.mutate(&mut input, &mut dice);
        }
        if dice.below(100) != 0 {
            input.truncate(USUAL_BYTES);
        }
        input
    }

    fn mutate(&self, input: &mut Vec<u8>, dice: &mut Dice) {
        let at = dice.below(input.len() + 1);
        match dice.below(8) {
            0 if !input.is_empty() => {
                let at = dice.below(input.len());
                input[at] ^= 1 << dice.below(8);
            }
            1 => input.insert(at, dice.roll() as u8),
            2 => drop(input.drain(dice.range(input.len(), 64))),
            3 => {
                let piece = input[dice.range(input.len(), 64)].to_vec();
                input.splice(at..at, piece);
            }
            4 => {
                let other = self.corpus[dice.below(self.corpus.len())];
                let piece = &other[dice.range(other.len(), 256)];
                input.splice(at..at, piece.iter().copied());
            }
            5 => input.truncate(at),
            6 => {
                let piece = input[dice.range(input.len(), 8)].repeat(1 << dice.below(12));
                input.splice(at..at, piece);
            }
            _ => {
                let word = self.words[dice.below(self.words.len())];
                input.splice(at..at, word.bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_follow_from_their_number() {
        let target = &crate::TARGETS[2];
        let (one, two) = (Mutator::new(target, 7), Mutator::new(target, 7));
        let other = Mutator::new(target, 8);
        assert!((0..100).all(|n| one.input(n) == two.input(n)));
        assert!((0..100).any(|n| one.input(n) != other.input(n)));
    }
}
