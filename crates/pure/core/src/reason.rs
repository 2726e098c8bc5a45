//! Why a fetch failed, and why a URL or page was dropped.
//!
//! Each reason has one name, in kebab-case, for reports, JSON and metrics. The tape keeps a
//! [`Reason`] as its number, which is its place in the list: append new reasons at the end and
//! never reorder them.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every reason, in the order of their numbers.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The name used in reports and JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named! {
    /// Why a fetch brought no page.
    Reason {
        /// Anything without a name of its own.
        Other = "other",
        /// The crawler stopped before the fetch ended, as tapes before [`Reason::OwnStop`] told it:
        /// policies count it as a failure, so that such tapes replay.
        Interrupted = "interrupted",
        /// The page redirects to another one, which is a page of its own.
        Redirect = "redirect",
        /// The host's robots.txt could not be read, so nothing may be fetched.
        RobotsUnreachable = "robots-unreachable",
        /// Status 5xx other than 503.
        ServerError = "server-error",
        /// Status 503.
        Unavailable = "unavailable",
        /// Status 429.
        TooManyRequests = "too-many-requests",
        /// Status 401, 403 or 451.
        Forbidden = "forbidden",
        /// Any other status that is neither content nor 404, 410.
        ClientError = "client-error",
        /// The host resolves to an address that must not be connected to.
        BlockedAddress = "blocked-address",
        /// The name does not exist or has no address.
        NoAddress = "no-address",
        /// The name could not be looked up.
        Dns = "dns",
        /// No connection was made in time.
        ConnectTimeout = "connect-timeout",
        /// The connection was refused or broke before an answer began.
        Connect = "connect",
        /// The proxy refused.
        Proxy = "proxy",
        /// The TLS handshake failed.
        Tls = "tls",
        /// The answer is not HTTP.
        Protocol = "protocol",
        /// Too many or too large header fields.
        HeadTooLarge = "head-too-large",
        /// No byte came for too long.
        IdleTimeout = "idle-timeout",
        /// The whole answer took too long.
        TotalTimeout = "total-timeout",
        /// Bytes came too slowly.
        TooSlow = "too-slow",
        /// The connection ended inside the body.
        Incomplete = "incomplete",
        /// Too many content encodings on top of each other.
        TooManyEncodings = "too-many-encodings",
        /// An encoding that the request did not offer.
        UnknownEncoding = "unknown-encoding",
        /// The body does not decode.
        BadEncoding = "bad-encoding",
        /// One redirect too many.
        TooManyRedirects = "too-many-redirects",
        /// A redirect without a Location.
        RedirectWithoutLocation = "redirect-without-location",
        /// A redirect to a URL that is refused.
        RedirectRefused = "redirect-refused",
        /// Status 404 or 410. Counted, but told to policies as `Outcome::Gone`.
        Gone = "gone",
        /// The crawler stopped before the fetch ended, which is no failure of the page.
        OwnStop = "own-stop",
        /// A challenge or block page stood in the page's place.
        Walled = "walled",
    }
}

impl Reason {
    /// Whether something went wrong. A page that moved or is gone answered as it should.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Reason::Redirect | Reason::Gone)
    }

    /// Whether the host is unwell, so that it should rest. Any other reason concerns one page: its
    /// host answered in time and may be asked for the next page at the usual pace.
    pub const fn is_hosts_fault(self) -> bool {
        match self {
            Reason::RobotsUnreachable
            | Reason::Unavailable
            | Reason::TooManyRequests
            | Reason::Walled
            | Reason::BlockedAddress
            | Reason::NoAddress
            | Reason::Dns
            | Reason::ConnectTimeout
            | Reason::Connect
            | Reason::Proxy
            | Reason::Tls
            | Reason::IdleTimeout
            | Reason::TotalTimeout
            | Reason::TooSlow => true,
            Reason::Other
            | Reason::Interrupted
            | Reason::Redirect
            | Reason::ServerError
            | Reason::Forbidden
            | Reason::ClientError
            | Reason::Protocol
            | Reason::HeadTooLarge
            | Reason::Incomplete
            | Reason::TooManyEncodings
            | Reason::UnknownEncoding
            | Reason::BadEncoding
            | Reason::TooManyRedirects
            | Reason::RedirectWithoutLocation
            | Reason::RedirectRefused
            | Reason::Gone
            | Reason::OwnStop => false,
        }
    }
}

named! {
    /// Why a URL did not become a page, or a fetched page was not kept.
    DropReason {
        /// Its host's robots.txt disallows it.
        Disallowed = "disallowed",
        /// Its host is neither within reach of the seeds nor listed.
        OtherHost = "other-host",
        /// No memory is left for another page.
        MemoryFull = "memory-full",
        /// It shows what its host shows for a page that cannot exist.
        Soft404 = "soft-404",
        /// It reads the same as another page of its host.
        Duplicate = "duplicate",
        /// It shares nearly all of its text with another page of its host.
        NearDuplicate = "near-duplicate",
        /// Too many path segments.
        DeepPath = "deep-path",
        /// One path segment occurs too often: a relative link gone wrong.
        RepeatedSegment = "repeated-segment",
        /// Too many query parameters: the combinations of a search form.
        ManyParameters = "many-parameters",
        /// Too many links away from any seed.
        FarFromSeed = "far-from-seed",
        /// The host has as many pages as it may.
        HostFull = "host-full",
        /// A calendar without end.
        Calendar = "calendar",
        /// An exclude pattern matches it.
        Excluded = "excluded",
        /// No include pattern matches it.
        NotIncluded = "not-included",
        /// Its file type is not wanted.
        FileType = "file-type",
        /// Its owner denies every use that the operator declared.
        UseDenied = "use-denied",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tapes on disk hold these numbers.
    #[test]
    fn numbers_on_tapes_keep_their_reasons() {
        let numbers = [
            (0, "other"),
            (1, "interrupted"),
            (2, "redirect"),
            (8, "client-error"),
            (16, "protocol"),
            (27, "redirect-refused"),
        ];
        for (number, name) in numbers {
            assert_eq!(Reason::ALL[number].name(), name);
        }
        for (at, &reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(reason as usize, at);
        }
    }

    #[test]
    fn json_has_the_names() {
        for &reason in Reason::ALL {
            let json = serde_json::to_string(&reason).unwrap();
            assert_eq!(json, format!("\"{reason}\""));
            assert_eq!(serde_json::from_str::<Reason>(&json).unwrap(), reason);
        }
        let dropped: Vec<_> = DropReason::ALL.iter().map(|reason| reason.name()).collect();
        assert!(dropped.contains(&"soft-404") && dropped.contains(&"other-host"));
    }
}
