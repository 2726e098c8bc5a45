//! Splits text into words, the same way for pages and queries.
//!
//! A word is a run of letters and digits, in lower case and without accents. Scripts without blanks
//! between words (Chinese, Japanese, Thai, …) are split into characters; a run of them in a query
//! becomes a phrase.

use tantivy::tokenizer::{
    AsciiFoldingFilter, LowerCaser, RemoveLongFilter, TextAnalyzer, Token, TokenStream, Tokenizer,
};

/// Longer words are skipped: they are data, not language.
const LONGEST_WORD: usize = 64;

/// The analyser of all text fields.
pub(crate) fn analyser() -> TextAnalyzer {
    TextAnalyzer::builder(Words::default())
        .filter(RemoveLongFilter::limit(LONGEST_WORD))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .build()
}

/// The words of a text, each with its byte range.
pub(crate) fn words(text: &str) -> Vec<(String, std::ops::Range<usize>)> {
    let mut analyser = analyser();
    let mut stream = analyser.token_stream(text);
    let mut words = Vec::new();
    while let Some(token) = stream.next() {
        words.push((token.text.clone(), token.offset_from..token.offset_to));
    }
    words
}

#[derive(Clone, Default)]
struct Words {
    token: Token,
}

struct WordStream<'a> {
    text: &'a str,
    /// The end of the last word.
    at: usize,
    token: &'a mut Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream { text, at: 0, token: &mut self.token }
    }
}

/// Whether `c` is of a script without blanks between words.
fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether `c` is a combining accent.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}')
}

impl WordStream<'_> {
    /// Reads the word that starts at `from`; returns where it ends.
    fn take_word(&mut self, from: usize) -> usize {
        let rest = &self.text[from..];
        let ascii = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let is_plain = rest.as_bytes().get(ascii).is_none_or(u8::is_ascii);
        let in_word = |c: char| !stands_alone(c) && (c.is_alphanumeric() || is_accent(c));
        let end = if is_plain { ascii } else { rest.find(|c| !in_word(c)).unwrap_or(rest.len()) };
        if is_plain {
            self.token.text.push_str(&rest[..end]);
        } else {
            self.token.text.extend(rest[..end].chars().filter(|c| !is_accent(*c)));
        }
        from + end
    }

    /// Where the next word begins, and its first character.
    fn find_word(&self) -> Option<(usize, char)> {
        let rest = &self.text[self.at..];
        let skipped =
            rest.bytes().take_while(|b| b.is_ascii() && !b.is_ascii_alphanumeric()).count();
        let mut chars = rest[skipped..].char_indices();
        chars.find(|(_, c)| c.is_alphanumeric()).map(|(at, c)| (self.at + skipped + at, c))
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        self.token.text.clear();
        self.token.position = self.token.position.wrapping_add(1);
        let Some((from, first)) = self.find_word() else { return false };
        self.token.offset_from = from;
        self.at = if stands_alone(first) {
            self.token.text.push(first);
            from + first.len_utf8()
        } else {
            self.take_word(from)
        };
        self.token.offset_to = self.at;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<String> {
        words(text).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn words_are_folded_and_cut_where_a_reader_would() {
        assert_eq!(
            plain("Éclairs, DON'T crème-brûlée"),
            ["eclairs", "don", "t", "creme", "brulee"]
        );
        // The same with combining accents.
        assert_eq!(plain("cre\u{300}me"), ["creme"]);
        assert_eq!(plain("日本語 text"), ["日", "本", "語", "text"]);
        assert_eq!(plain("abc東京def"), ["abc", "東", "京", "def"]);
        assert_eq!(plain(&"x".repeat(LONGEST_WORD + 1)), Vec::<String>::new());
        assert_eq!(plain("  \u{0} …"), Vec::<String>::new());
    }

    #[test]
    fn places_are_those_in_the_text() {
        let text = "Über 東京";
        for (word, place) in words(text) {
            assert!(!text[place].is_empty(), "{word}");
        }
    }
}
