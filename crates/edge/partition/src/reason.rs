//! Names of failures, with numbers that the tape keeps.

/// Every reason that a tape may name. Only ever added to, at the end.
const REASONS: &[&str] = &[
    "other",
    "interrupted",
    "redirect",
    "robots-unreachable",
    "server-error",
    "unavailable",
    "too-many-requests",
    "forbidden",
    "client-error",
    "blocked-address",
    "no-address",
    "dns",
    "connect-timeout",
    "connect",
    "proxy",
    "tls",
    "protocol",
    "head-too-large",
    "idle-timeout",
    "total-timeout",
    "too-slow",
    "incomplete",
    "too-many-encodings",
    "unknown-encoding",
    "bad-encoding",
    "too-many-redirects",
    "redirect-without-location",
    "redirect-refused",
];

/// The number of a reason; those without one share that of `other`.
pub(crate) fn number(name: &str) -> u16 {
    REASONS.iter().position(|&reason| reason == name).unwrap_or(0) as u16
}

/// The reason of a number.
pub(crate) fn name(number: u16) -> &'static str {
    REASONS.get(usize::from(number)).copied().unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_belong_together() {
        for (at, reason) in REASONS.iter().enumerate() {
            assert_eq!(usize::from(number(reason)), at);
            assert_eq!(name(at as u16), *reason);
        }
        assert_eq!(name(number("never heard of")), "other");
    }
}
