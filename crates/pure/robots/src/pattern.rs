//! The path of a rule: a prefix with `*` for anything and a final `$` for the end.
//!
//! Matching is greedy: each piece between two stars is looked for from where the
//! last one ended. The leftmost place leaves the most room for the pieces to come,
//! so if any placement matches, this one does; nothing is tried twice, and time
//! is linear in pattern and path.

use std::borrow::Cow;

/// A rule's path, ready to compare.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pattern {
    /// In normal form, but for `*` (anything) and a final `$` (the end).
    text: String,
}

impl Pattern {
    pub(super) fn new(path: &str) -> Self {
        let (path, end) = path.strip_suffix('$').map_or((path, ""), |path| (path, "$"));
        let pieces: Vec<Cow<'_, str>> = path.split('*').map(normal).collect();
        let mut text = String::with_capacity(path.len());
        for byte in (pieces.join("*") + end).bytes() {
            if byte.is_ascii() {
                text.push(char::from(byte));
            } else {
                push_triplet(&mut text, byte);
            }
        }
        Self { text }
    }

    /// The same with percent-encoded letters, digits and `-._~` decoded, as in canonical
    /// URLs; `None` if there are none.
    pub(super) fn decoded(&self) -> Option<Self> {
        let bytes = self.text.as_bytes();
        let mut text = String::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            match triplet(&bytes[at..]) {
                Some(byte) if is_unreserved(byte) => {
                    text.push(char::from(byte));
                    at += 3;
                }
                _ => {
                    text.push(char::from(bytes[at]));
                    at += 1;
                }
            }
        }
        (text.len() < self.text.len()).then_some(Self { text })
    }

    /// Its weight in a decision: the bytes it is long.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a path and query in normal form begin with this pattern.
    pub(super) fn matches(&self, target: &str) -> bool {
        let (text, to_end) = match self.text.strip_suffix('$') {
            Some(text) => (text, true),
            None => (self.text.as_str(), false),
        };
        let mut pieces = text.split('*');
        let Some(mut rest) = target.strip_prefix(pieces.next().unwrap_or_default()) else {
            return false;
        };
        let Some(last) = pieces.next_back() else {
            return !to_end || rest.is_empty();
        };
        for piece in pieces {
            match rest.find(piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        if to_end { rest.ends_with(last) } else { rest.contains(last) }
    }
}

/// The normal form in which rules and URLs are compared (RFC 9309 §2.2.2): percent-encoded is what no
/// URL may hold as it is (blanks, `[ ] { } | " < > \ ^` and the like), `*` and `$`, which mean
/// something in rules, and `'`, which browsers encode in queries. Hex digits are capitals. Letters
/// outside ASCII are left alone: those of rules are encoded, and a URL that holds some is none.
pub(super) fn normal(path: &str) -> Cow<'_, str> {
    let bytes = path.as_bytes();
    if bytes.iter().all(|&byte| is_kept(byte)) {
        return Cow::Borrowed(path);
    }
    let mut text = String::with_capacity(path.len() + 16);
    let mut at = 0;
    while at < bytes.len() {
        if let Some(byte) = triplet(&bytes[at..]) {
            push_triplet(&mut text, byte);
            at += 3;
            continue;
        }
        let Some(next) = path[at..].chars().next() else { break };
        match u8::try_from(next) {
            Ok(byte) if byte.is_ascii() && !is_kept(byte) && byte != b'%' => {
                push_triplet(&mut text, byte);
            }
            _ => text.push(next),
        }
        at += next.len_utf8();
    }
    Cow::Owned(text)
}

/// Unreserved bytes, and reserved ones that canonical URLs leave as they are.
fn is_kept(byte: u8) -> bool {
    is_unreserved(byte) || b"/?&=+,;:@!()#".contains(&byte)
}

fn triplet(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
}

pub(super) fn push_triplet(text: &mut String, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    text.push('%');
    text.push(char::from(HEX[usize::from(byte >> 4)]));
    text.push(char::from(HEX[usize::from(byte & 15)]));
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_and_ends() {
        let cases = [
            ("/", "/a", true),
            ("/a$", "/a", true),
            ("/a$", "/ab", false),
            ("/*.php$", "/x.php.php", true),
            ("/*.php$", "/x.php5", false),
            ("/a*b*c", "/a1b2c3", true),
            ("/a*b*c", "/acb", false),
            ("/a*", "/a", true),
            ("*/b", "/a/b", true),
            ("/a$b", "/a$b", true),
            ("/ab*b$", "/ab", false),
            ("/%c3%bc", "/%C3%BC", true),
            ("/\u{fc}", "/%C3%BC", true),
            ("/%zz", "/%zz", true),
        ];
        for (pattern, target, want) in cases {
            let is_match = Pattern::new(pattern).matches(&normal(target));
            assert_eq!(is_match, want, "{pattern} on {target}");
        }
    }

    /// The definition, tried in all ways.
    fn matches_slowly(pattern: &[u8], target: &[u8]) -> bool {
        match pattern {
            [] => true,
            [b'$'] => target.is_empty(),
            [b'*', rest @ ..] => (0..=target.len()).any(|at| matches_slowly(rest, &target[at..])),
            [byte, rest @ ..] => target.first() == Some(byte) && matches_slowly(rest, &target[1..]),
        }
    }

    proptest! {
        #[test]
        fn greedy_is_as_good_as_trying_all(pattern in "/[ab*]{0,8}[$]?", target in "/[ab]{0,10}") {
            let want = matches_slowly(pattern.as_bytes(), target.as_bytes());
            prop_assert_eq!(Pattern::new(&pattern).matches(&target), want);
        }
    }
}
