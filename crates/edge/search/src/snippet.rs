//! The part of a page that matches the query best.
//!
//! A snippet is plain text in pieces that match or do not. The caller escapes the text and adds its
//! own marks, so that crawled text never becomes markup.

use serde::{Deserialize, Serialize};

use crate::words::words;

/// Approximate characters of a snippet.
const LENGTH: usize = 240;

/// A run of text that matches the query or does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The text, unescaped.
    pub text: String,
    /// Whether it is a word of the query.
    pub is_match: bool,
}

/// A part of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    /// Its pieces in order.
    pub pieces: Vec<Piece>,
    /// Whether there is text before it.
    pub is_begun: bool,
    /// Whether there is text after it.
    pub is_cut: bool,
}

impl Snippet {
    /// The part of `text` with the most distinct words of the query; ties go to the earliest.
    pub fn of(text: &str, wanted: &[Vec<String>]) -> Snippet {
        let found = words(text);
        let is_wanted = |word: &str| wanted.iter().flatten().any(|want| want == word);
        let matches: Vec<usize> = (0..found.len()).filter(|&at| is_wanted(&found[at].0)).collect();
        let from = best(&found, &matches).map_or(0, |at| lead(text, found[at].1.start));
        let end = text.floor_char_boundary((from + LENGTH).min(text.len()));
        let end = if end < text.len() { word_end(text, from, end) } else { end };
        let marks = matches.iter().map(|&at| found[at].1.clone());
        let marks = marks.filter(|place| place.start >= from && place.end <= end);
        Snippet {
            pieces: pieces(text, from, end, marks),
            is_begun: from > 0,
            is_cut: end < text.len(),
        }
    }

    /// The text without marks.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }
}

type Word = (String, std::ops::Range<usize>);

/// The match from which a snippet shows the most distinct words.
fn best(found: &[Word], matches: &[usize]) -> Option<usize> {
    let mut best: Option<(usize, usize)> = None;
    for (at, &first) in matches.iter().enumerate() {
        let start = found[first].1.start;
        let near = matches[at..].iter().take_while(|&&m| found[m].1.end <= start + LENGTH * 3 / 4);
        let mut seen: Vec<&str> = near.map(|&m| found[m].0.as_str()).collect();
        seen.sort_unstable();
        seen.dedup();
        if best.is_none_or(|(most, _)| seen.len() > most) {
            best = Some((seen.len(), first));
        }
    }
    best.map(|(_, first)| first)
}

/// The start of a snippet, a few words before the match.
fn lead(text: &str, at: usize) -> usize {
    if at < LENGTH / 2 {
        return 0;
    }
    let from = text.ceil_char_boundary(at - LENGTH / 4);
    let blank = text[from..at].char_indices().find(|(_, c)| c.is_whitespace());
    blank.map_or(at, |(blank, c)| from + blank + c.len_utf8())
}

/// The end of the last whole word before `end`.
fn word_end(text: &str, from: usize, end: usize) -> usize {
    text[from..end].rfind(char::is_whitespace).map_or(end, |blank| from + blank)
}

fn pieces(
    text: &str,
    from: usize,
    end: usize,
    marks: impl Iterator<Item = std::ops::Range<usize>>,
) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut push = |part: &str, is_match| {
        if !part.is_empty() {
            // A page's line breaks become separators.
            pieces.push(Piece { text: part.replace('\n', " · "), is_match });
        }
    };
    let mut at = from;
    for mark in marks {
        push(&text[at..mark.start], false);
        push(&text[mark.clone()], true);
        at = mark.end;
    }
    push(&text[at..end], false);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(words: &[&str]) -> Vec<Vec<String>> {
        words.iter().map(|word| vec![(*word).to_owned()]).collect()
    }

    #[test]
    fn it_shows_the_words_together() {
        let text = format!("tide {} high tide at noon, low tide at six.", "and so on ".repeat(60));
        let snippet = Snippet::of(&text, &wanted(&["tide", "noon"]));
        assert!(snippet.is_begun && !snippet.is_cut);
        let marked: Vec<_> =
            snippet.pieces.iter().filter(|p| p.is_match).map(|p| &*p.text).collect();
        assert_eq!(marked, ["tide", "noon", "tide"]);
        assert!(snippet.text().len() <= LENGTH + 16);
    }

    #[test]
    fn marks_keep_the_spelling_of_the_page() {
        let snippet = Snippet::of("<b>CRÈME</b> & co", &wanted(&["creme"]));
        assert_eq!(snippet.text(), "<b>CRÈME</b> & co");
        assert_eq!(snippet.pieces[1], Piece { text: "CRÈME".into(), is_match: true });
    }

    #[test]
    fn without_a_match_it_is_the_beginning() {
        let snippet = Snippet::of("Just the beginning", &[]);
        assert_eq!(snippet.text(), "Just the beginning");
        assert_eq!(Snippet::of("", &[]), Snippet::default());
    }

    #[test]
    fn blanks_may_be_wide() {
        let text = format!("{}\u{2000}{} tide", "x".repeat(150), "y".repeat(40));
        assert!(Snippet::of(&text, &wanted(&["tide"])).text().starts_with('y'));
    }

    proptest::proptest! {
        #[test]
        fn pieces_are_a_part_of_the_text(text in "\\PC{0,400}", word in "[a-z]{1,2}") {
            let snippet = Snippet::of(&text, &wanted(&[&word]));
            proptest::prop_assert!(text.replace('\n', " · ").contains(&snippet.text()));
        }
    }
}
