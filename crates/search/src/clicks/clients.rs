//! Who it was, for a day, without knowing who.

use std::path::{Path, PathBuf};

use super::ticket::{Signer, hex, random, unhex, write_private};
use crate::SearchError;
use crate::date::DAY_S;

/// Numbers for clients that hold for one day (UTC).
pub struct Clients {
    path: PathBuf,
    day: i64,
    salt: Signer,
}

impl Clients {
    /// With the salt in a file, if it is of the day, or a new one.
    pub fn open(path: &Path, now_s: i64) -> Result<Clients, SearchError> {
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

    /// Throws the salt away for a new one.
    fn begin(&mut self, day: i64) -> Result<(), SearchError> {
        let salt = random::<32>()?;
        write_private(&self.path, format!("{day} {}", hex(&salt)).as_bytes())?;
        (self.day, self.salt) = (day, Signer::new(&salt));
        Ok(())
    }

    /// The number of a client today.
    pub fn number(&mut self, address: &str, agent: &str, now_s: i64) -> Result<u64, SearchError> {
        let day = now_s.div_euclid(DAY_S);
        if day != self.day {
            self.begin(day)?;
        }
        Ok(self.salt.hash(&[address.as_bytes(), agent.as_bytes()]))
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
        let one = clients.number("10.0.0.1", "browser", 0).unwrap();
        assert_eq!(clients.number("10.0.0.1", "browser", DAY_S - 1).unwrap(), one);
        assert_ne!(clients.number("10.0.0.2", "browser", 0).unwrap(), one);
        assert_ne!(clients.number("10.0.0.", "1browser", 0).unwrap(), one);
        let mut again = Clients::open(&path, 5).unwrap();
        assert_eq!(again.number("10.0.0.1", "browser", 5).unwrap(), one);
        assert_ne!(again.number("10.0.0.1", "browser", DAY_S).unwrap(), one, "another day");
        // The old salt is gone: the old number cannot be made again.
        let mut back = Clients::open(&path, 6).unwrap();
        assert_ne!(back.number("10.0.0.1", "browser", 6).unwrap(), one);
    }
}
