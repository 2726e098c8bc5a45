//! Detects the language of a text.

use serde::Serialize;

/// Bytes of text examined. Trigrams of a few hundred words distinguish languages, and the cost
/// grows with the sample.
const SAMPLE_BYTES: usize = 1024;

/// A guess of a language.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Guess {
    /// ISO 639-3 code ("eng").
    pub code: &'static str,
    /// Its confidence, 0 to 1.
    pub confidence: f64,
    /// Whether the guess is confident enough to use.
    pub is_reliable: bool,
}

/// Guesses the language of a text from the trigrams of its beginning; `None` without letters.
pub fn guess_language(text: &str) -> Option<Guess> {
    let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
    let info = whatlang::detect(sample)?;
    let code = info.lang().code();
    Some(Guess { code, confidence: info.confidence(), is_reliable: info.is_reliable() })
}

/// Converts the ISO 639-1 code of a common language to ISO 639-3; other codes are unchanged.
pub fn three_letters(code: &str) -> String {
    const CODES: &str = "ar ara bg bul cs ces da dan de deu el ell en eng es spa fa pes fi fin \
        fr fra he heb hi hin hr hrv hu hun id ind it ita ja jpn ko kor nl nld no nob pl pol pt por \
        ro ron ru rus sk slk sl slv sr srp sv swe th tha tr tur uk ukr ur urd vi vie zh cmn";
    let mut codes = CODES.split_whitespace();
    while let (Some(short), Some(long)) = (codes.next(), codes.next()) {
        if short == code {
            return long.to_owned();
        }
    }
    code.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_languages_apart() {
        let code = |text| guess_language(text).map(|guess| guess.code);
        let english = "The order of fetches is the heart of a crawler that follows a changing web.";
        let german = "Die Reihenfolge der Abrufe ist das Herz eines Programms, das dem Netz folgt.";
        assert_eq!(code(english), Some("eng"));
        assert_eq!(code(german), Some("deu"));
        assert_eq!(code("12 34"), None);
    }
}
