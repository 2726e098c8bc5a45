//! One spelling for percent-encoding (RFC 3986 §6.2.2.1–2).
//!
//! Triplets of unreserved bytes are decoded, all others get upper-case digits;
//! bytes that RFC 3986 allows in no path or query are encoded, among them a `%`
//! that begins no triplet. Reserved bytes keep the spelling they came with:
//! `/` and `%2F` are different pages.
//!
//! Idempotent, because no step's output is changed by another: a decoded byte is
//! unreserved and never `%`, and a lone `%` becomes `%25`, which stays.

const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// Bytes copied as they are: unreserved, sub-delims and `:@/?`.
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = is_unreserved(byte as u8)
            || matches!(
                byte as u8,
                b'!' | b'$'
                    | b'&'
                    | b'\''
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b','
                    | b';'
                    | b'='
                    | b':'
                    | b'@'
                    | b'/'
                    | b'?'
            );
        byte += 1;
    }
    table
};

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Whether a byte is in its normal spelling already.
pub(super) fn is_plain(byte: u8) -> bool {
    PLAIN[usize::from(byte)]
}

/// Appends `text` to `out` in the normal spelling.
pub(super) fn push_normal(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !is_plain(byte)) {
        // `at` is a char boundary: everything before it is plain, thus ASCII.
        out.push_str(&rest[..at]);
        rest = push_odd(out, &rest[at..]);
    }
    out.push_str(rest);
}

/// Appends the odd first character of `text` and returns what follows it.
fn push_odd<'a>(out: &mut String, text: &'a str) -> &'a str {
    if let Some((byte, _)) = decode_triplet(text.as_bytes()) {
        if is_unreserved(byte) {
            out.push(char::from(byte));
        } else {
            push_triplet(out, byte);
        }
        return &text[3..];
    }
    let len = text.chars().next().map_or(0, char::len_utf8);
    let (odd, rest) = text.split_at(len);
    odd.bytes().for_each(|byte| push_triplet(out, byte));
    rest
}

fn push_triplet(out: &mut String, byte: u8) {
    out.push('%');
    out.push(char::from(HEX_UPPER[usize::from(byte >> 4)]));
    out.push(char::from(HEX_UPPER[usize::from(byte & 15)]));
}

/// The byte that a leading `%XX` stands for, and what follows it.
pub(super) fn decode_triplet(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, rest @ ..] = bytes else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let value = digit(*high)? << 4 | digit(*low)?;
    Some((u8::try_from(value).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        let mut out = String::new();
        push_normal(&mut out, text);
        out
    }

    #[test]
    fn spells_each_byte_one_way() {
        let cases = [
            ("%41%7e%2d", "A~-"),
            ("%c3%bc%2f", "%C3%BC%2F"),
            ("[x]|^", "%5Bx%5D%7C%5E"),
            ("90%", "90%25"),
            ("%4", "%254"),
            ("%%36", "%256"),
            ("%4%31", "%2541"),
            ("\u{fc} ", "%C3%BC%20"),
        ];
        for (input, want) in cases {
            assert_eq!(normal(input), want, "{input:?}");
            assert_eq!(normal(want), want, "{input:?} twice");
        }
    }
}
