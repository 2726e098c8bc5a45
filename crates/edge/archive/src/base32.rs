//! Base 32 of RFC 4648, in which archives write their digests.

const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The text of bytes whose number is a multiple of five, as a digest's is.
pub fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for five in bytes.chunks(5) {
        let bits = (0..5).fold(0u64, |bits, at| bits << 8 | u64::from(*five.get(at).unwrap_or(&0)));
        let letters = (five.len() * 8).div_ceil(5);
        text.extend((0..letters).map(|at| LETTERS[(bits >> (35 - 5 * at)) as usize & 31] as char));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base32;

    #[test]
    fn the_examples_of_the_standard_without_padding() {
        let cases =
            [("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foobar", "MZXW6YTBOI")];
        for (bytes, text) in cases {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }
}
