//! Signed links to results.

use std::path::Path;

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::{PageRef, SearchError};

/// Bytes of a signature: 128 bits cannot be guessed.
const TAG: usize = 16;
/// Bytes of the signed part.
const BODY: usize = 26;

/// The content of a link to a shown result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// Number of the result page.
    pub shown: u64,
    /// Its position among the results, from 1.
    pub position: u16,
    /// The page.
    pub page: PageRef,
    /// When the link expires, seconds of Unix time.
    pub expires_s: i64,
}

/// Why a link is not a valid ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTicket {
    /// It was not made here, or was changed.
    #[error("this link was not made by this search page")]
    Forged,
    /// It is too old to count.
    #[error("this link has expired")]
    Expired(Ticket),
}

impl Ticket {
    fn bytes(&self) -> [u8; BODY] {
        let mut bytes = [0; BODY];
        bytes[..8].copy_from_slice(&self.shown.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.position.to_be_bytes());
        bytes[10..18].copy_from_slice(&self.page.number().to_be_bytes());
        bytes[18..].copy_from_slice(&self.expires_s.to_be_bytes());
        bytes
    }

    fn read(bytes: [u8; BODY]) -> Ticket {
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
        };
        Ticket {
            shown: number(0..8),
            position: number(8..10) as u16,
            page: PageRef::of_number(number(10..18)),
            expires_s: number(18..26).cast_signed(),
        }
    }
}

/// Signs tickets with a key that only this crawl has.
pub(crate) struct Signer(hmac::Key);

impl Signer {
    /// Uses the key in the file `path`, created if missing.
    pub(crate) fn open(path: &Path) -> Result<Signer, SearchError> {
        let key = match std::fs::read(path) {
            Ok(key) if key.len() == 32 => key,
            _ => {
                let key = random::<32>()?.to_vec();
                write_private(path, &key)?;
                key
            }
        };
        Ok(Signer::new(&key))
    }

    /// Uses `key`.
    pub(crate) fn new(key: &[u8]) -> Signer {
        Signer(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// Encodes and signs a ticket for a link.
    pub(crate) fn sign(&self, ticket: &Ticket) -> String {
        let bytes = ticket.bytes();
        let tag = hmac::sign(&self.0, &bytes);
        hex(&bytes) + &hex(&tag.as_ref()[..TAG])
    }

    /// Decodes a link's ticket if its signature is valid and it has not expired.
    pub(crate) fn read(&self, text: &str, now_s: i64) -> Result<Ticket, BadTicket> {
        let bytes = unhex::<{ BODY + TAG }>(text).ok_or(BadTicket::Forged)?;
        let (body, tag) = bytes.split_first_chunk::<BODY>().ok_or(BadTicket::Forged)?;
        let right = hmac::sign(&self.0, body);
        // Constant time: compares every byte, so timing does not reveal how many are right.
        let differ = tag.iter().zip(right.as_ref()).fold(0, |d, (a, b)| d | (a ^ b));
        if differ != 0 {
            return Err(BadTicket::Forged);
        }
        let ticket = Ticket::read(*body);
        if ticket.expires_s < now_s { Err(BadTicket::Expired(ticket)) } else { Ok(ticket) }
    }

    /// A pseudo-random number keyed by the secret.
    pub(crate) fn hash(&self, parts: &[&[u8]]) -> u64 {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        let tag = context.sign();
        tag.as_ref()[..8].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], SearchError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| SearchError::NoRandomness)?;
    Ok(bytes)
}

/// Atomically writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), SearchError> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let new = path.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&new);
    let written = file.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    written.and_then(|()| std::fs::rename(&new, path)).map_err(SearchError::io(path))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |c: u8| (c as char).to_digit(16).filter(|_| !c.is_ascii_uppercase());
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKET: Ticket = Ticket {
        shown: 1 << 60,
        position: 7,
        page: PageRef::of_number((2 << 32) + 123_456),
        expires_s: 1_800_000_000,
    };

    #[test]
    fn a_ticket_comes_back_until_it_expires() {
        let signer = Signer::new(&[7; 32]);
        let text = signer.sign(&TICKET);
        assert_eq!(signer.read(&text, TICKET.expires_s), Ok(TICKET));
        assert_eq!(signer.read(&text, TICKET.expires_s + 1), Err(BadTicket::Expired(TICKET)));
    }

    #[test]
    fn any_other_text_is_forged() {
        let signer = Signer::new(&[7; 32]);
        let text = signer.sign(&TICKET);
        assert_eq!(Signer::new(&[8; 32]).read(&text, 0), Err(BadTicket::Forged));
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] = if other[at] == b'0' { b'1' } else { b'0' };
            let other = String::from_utf8(other).unwrap();
            assert_eq!(signer.read(&other, 0), Err(BadTicket::Forged), "{at}");
        }
        for odd in ["", "00", "é", &text[1..], &text.to_uppercase(), &(text.clone() + "00")] {
            assert_eq!(signer.read(odd, 0), Err(BadTicket::Forged), "{odd}");
        }
    }

    #[test]
    fn the_key_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let text = Signer::open(&path).unwrap().sign(&TICKET);
        assert_eq!(Signer::open(&path).unwrap().read(&text, 0), Ok(TICKET));
    }
}
