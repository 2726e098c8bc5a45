//! Follows the framing of a chunked body and gives bare LFs their CR.
//!
//! RFC 9112 §7.1 ends every line of the framing with CRLF. Some servers send LF alone, which
//! browsers accept and the HTTP library refuses. What is wrong in any other way is passed on for
//! the library to judge.

/// The place in a chunked body.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    part: Part,
    /// Bytes left of the chunk, or its size as far as read.
    left: u64,
    /// Bytes of the line so far, without CR.
    line: usize,
    follows_cr: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Part {
    /// In the digits of a chunk's size.
    #[default]
    Size,
    /// After them.
    Extension,
    Data,
    /// After a chunk's data.
    DataEnd,
    Trailer,
    /// After the body, or after an error.
    Done,
}

impl Chunks {
    /// Reads on; returns a replacement of `bytes` if a CR is missing.
    pub(crate) fn mend(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut mended: Option<Vec<u8>> = None;
        let mut copied = 0;
        let mut at = 0;
        while at < bytes.len() && self.part != Part::Done {
            if self.part == Part::Data {
                let rest = bytes.len() - at;
                let skipped = usize::try_from(self.left).unwrap_or(rest).min(rest);
                at += skipped;
                self.left -= skipped as u64;
                if self.left == 0 {
                    self.start_line(Part::DataEnd);
                }
                continue;
            }
            if bytes[at] == b'\n' && !self.follows_cr {
                let into = mended.get_or_insert_default();
                into.extend_from_slice(&bytes[copied..at]);
                into.push(b'\r');
                copied = at;
            }
            self.step(bytes[at]);
            at += 1;
        }
        let mut mended = mended?;
        mended.extend_from_slice(&bytes[copied..]);
        Some(mended)
    }

    /// Reads one byte of the framing.
    fn step(&mut self, byte: u8) {
        let is_empty = self.line == 0;
        match (byte, self.part) {
            (b'\n', Part::Size | Part::Extension) if is_empty => self.part = Part::Done,
            (b'\n', Part::Size | Part::Extension) if self.left == 0 => {
                self.start_line(Part::Trailer);
            }
            (b'\n', Part::Size | Part::Extension) => self.start_line(Part::Data),
            (b'\n', Part::DataEnd) => {
                self.left = 0;
                self.start_line(Part::Size);
            }
            (b'\n', _) => self.start_line(if is_empty { Part::Done } else { Part::Trailer }),
            (b'\r', _) => self.follows_cr = true,
            (_, Part::DataEnd) => self.part = Part::Done,
            _ => {
                self.line += 1;
                self.follows_cr = false;
                if self.part == Part::Size {
                    match char::from(byte).to_digit(16) {
                        Some(digit) => {
                            self.left = self.left.saturating_mul(16).saturating_add(digit.into());
                        }
                        None if self.line == 1 => self.part = Part::Done,
                        None => self.part = Part::Extension,
                    }
                }
            }
        }
    }

    fn start_line(&mut self, part: Part) {
        self.part = part;
        self.line = 0;
        self.follows_cr = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(body: &str, piece: usize) -> String {
        let mut chunks = Chunks::default();
        let pieces = body.as_bytes().chunks(piece);
        let pieces: Vec<Vec<u8>> =
            pieces.map(|piece| chunks.mend(piece).unwrap_or_else(|| piece.to_vec())).collect();
        String::from_utf8(pieces.concat()).unwrap()
    }

    #[test]
    fn lines_get_their_cr_and_data_stays() {
        let whole = "3;x=y\r\na\nb\r\n10\r\n0123456789\n\nabcd\r\n0\r\nT: u\r\n\r\n";
        let bare = "3;x=y\na\nb\n10\n0123456789\n\nabcd\n0\nT: u\n\n";
        for piece in 1..bare.len() {
            assert_eq!(mended(bare, piece), whole, "pieces of {piece}");
            assert_eq!(mended(whole, piece), whole, "pieces of {piece}");
        }
    }

    #[test]
    fn other_errors_are_passed_on() {
        for wrong in ["x\r\n\n", "\r\n", "2\r\nabcd\n", "ffffffffffffffffff\r\na\nb"] {
            assert_eq!(mended(wrong, 100), wrong);
        }
    }
}
