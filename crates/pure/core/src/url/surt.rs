//! SURT: the sort-friendly form of a URL, as used by web archives.
//!
//! `https://www.example.com:8080/a?b` becomes `com,example,www:8080)/a?b`: the
//! labels of the host in reverse, so that byte order puts the pages of one host
//! together, and the hosts of one registrable domain. (`)` and `,` sort before
//! every byte of a host name, so `com,example)`, `com,example,www)` and
//! `com,example-shop)` cannot mix. A host's other ports sort after it, not
//! always next to it.)
//!
//! This is the canonical URL in another order and nothing more. Archive indexes
//! often fold further (`www.` removed, all in lower case, parameters sorted),
//! which maps different pages to one key; a frontier cannot afford that.
//!
//! The scheme is left out, as archives do: http and https share a key. IP
//! addresses are not reversed; IPv6 keeps its brackets, without which a port
//! could not be told from its last group.

use super::CanonicalUrl;

impl CanonicalUrl {
    /// The SURT key.
    pub fn surt(&self) -> String {
        let mut out = String::with_capacity(self.as_str().len());
        if self.ip().is_some() {
            out.push_str(self.host());
        } else {
            for (index, label) in self.host().rsplit('.').enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(label);
            }
        }
        out.push_str(&self.text[self.host_end()..self.path_start()]);
        out.push(')');
        out.push_str(self.path_and_query());
        out
    }
}
