//! The text of a page without markup, one block per line.

use crate::reading::Reader;

/// Collects text up to a maximum length.
#[derive(Clone, Debug)]
pub struct PlainText {
    text: String,
    most: usize,
}

impl Default for PlainText {
    fn default() -> Self {
        PlainText::of_at_most(usize::MAX)
    }
}

impl PlainText {
    /// Keeps at most `most` bytes and drops the rest.
    pub const fn of_at_most(most: usize) -> Self {
        PlainText { text: String::new(), most }
    }

    /// The text, one block per line, without empty lines and superfluous blanks.
    pub fn lines(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        for line in self.text.lines() {
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(first);
            for word in words {
                out.push(' ');
                out.push_str(word);
            }
        }
        out
    }
}

impl Reader for PlainText {
    fn piece(&mut self, text: &str) {
        let room = self.most.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn end_block(&mut self) {
        if self.text.len() < self.most {
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_lines_and_length_is_bounded() {
        let mut text = PlainText::of_at_most(12);
        text.piece("  a\t b ");
        text.end_block();
        text.end_block();
        text.piece("éééé");
        assert_eq!(text.lines(), "a b\né");
    }
}
