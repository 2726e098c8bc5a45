//! Pseudonyms of clients that last one day.
//!
//! Clients are distinguished by address alone, since they can change anything else with every
//! request. Of an IPv6 address the first 64 bits count, since one client owns all of the rest.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::ticket::{Signer, hex, random, unhex, write_private};
use crate::SearchError;
use crate::date::DAY_S;

/// Numbers clients for one day (UTC).
pub(crate) struct Clients {
    path: PathBuf,
    day: i64,
    salt: Signer,
}

impl Clients {
    /// Uses the salt in the file `path` if it is today's, or else a new one.
    pub(crate) fn open(path: &Path, now_s: i64) -> Result<Clients, SearchError> {
        let day = now_s.div_euclid(DAY_S);
        let kept = std::fs::read_to_string(path).ok().and_then(|text| {
            let (of, salt) = text.trim().split_once(' ')?;
            (of.parse() == Ok(day)).then(|| unhex::<32>(salt))?
        });
        let mut clients = Clients { path: path.to_owned(), day, salt: Signer::new(&[]) };
        match kept {
            Some(salt) => clients.salt = Signer::new(&salt),
            None => clients.begin(day)?,
        }
        Ok(clients)
    }

    /// Replaces the salt.
    fn begin(&mut self, day: i64) -> Result<(), SearchError> {
        let salt = random::<32>()?;
        write_private(&self.path, format!("{day} {}", hex(&salt)).as_bytes())?;
        (self.day, self.salt) = (day, Signer::new(&salt));
        Ok(())
    }

    /// The number of a client today.
    pub(crate) fn number(&mut self, address: IpAddr, now_s: i64) -> Result<u64, SearchError> {
        let day = now_s.div_euclid(DAY_S);
        if day != self.day {
            self.begin(day)?;
        }
        Ok(match address.to_canonical() {
            IpAddr::V4(address) => self.salt.hash(&[b"4", &address.octets()]),
            IpAddr::V6(address) => self.salt.hash(&[b"6", &address.octets()[..8]]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_holds_for_a_day_and_through_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("salt");
        let mut clients = Clients::open(&path, 0).unwrap();
        let home: IpAddr = "10.0.0.1".parse().unwrap();
        let one = clients.number(home, 0).unwrap();
        assert_eq!(clients.number(home, DAY_S - 1).unwrap(), one);
        assert_ne!(clients.number("10.0.0.2".parse().unwrap(), 0).unwrap(), one);
        let mut again = Clients::open(&path, 5).unwrap();
        assert_eq!(again.number(home, 5).unwrap(), one);
        assert_ne!(again.number(home, DAY_S).unwrap(), one, "another day");
        // The old salt is gone, so the old number cannot be reproduced.
        let mut back = Clients::open(&path, 6).unwrap();
        assert_ne!(back.number(home, 6).unwrap(), one);
    }

    #[test]
    fn one_client_cannot_be_many() {
        let dir = tempfile::tempdir().unwrap();
        let mut clients = Clients::open(&dir.path().join("salt"), 0).unwrap();
        let mut number = |text: &str| clients.number(text.parse().unwrap(), 0).unwrap();
        assert_eq!(number("2001:db8:1:2::1"), number("2001:db8:1:2:a:b:c:d"));
        assert_ne!(number("2001:db8:1:2::1"), number("2001:db8:1:3::1"));
        assert_eq!(number("::ffff:10.0.0.1"), number("10.0.0.1"));
    }
}
