//! Names of failures, with numbers that the tape keeps.

/// Every reason that a tape may name. Only ever added to, at the end.
const REASONS: &[&str] = &[
    "other",
    "interrupted",
    "redirect",
    "disallowed",
    "robots-unreachable",
    "unresolvable",
    "server-error",
    "unavailable",
    "too-many-requests",
    "forbidden",
    "client-error",
    "bad-redirect",
    "refused-address",
    "connect",
    "timeout",
    "too-slow",
    "too-large",
    "tls",
    "malformed",
    "encoding",
    "aborted",
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
