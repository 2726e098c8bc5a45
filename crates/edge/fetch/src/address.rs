//! Which addresses may a crawler connect to?
//!
//! Public ones only, unless configured otherwise. Names, redirects and odd spellings of
//! numbers all end as an [`IpAddr`], checked where the socket connects: none gets around it.
//!
//! Refused: the special blocks of IANA's registries (RFC 6890 and its updates), addresses
//! that embed another one (mapped, compatible, NAT64, 6to4, Teredo: a gateway may deliver
//! them anywhere), and the public address of a cloud's metadata service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::Serialize;

/// Why an address is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Special {
    /// No host: 0.0.0.0/8, ::.
    Unspecified,
    /// This machine: 127.0.0.0/8, ::1.
    Loopback,
    /// A private network: RFC 1918, fc00::/7, fec0::/10.
    Private,
    /// Carrier-grade NAT: 100.64.0.0/10.
    SharedNat,
    /// Link-local, including cloud metadata: 169.254.0.0/16, fe80::/10.
    LinkLocal,
    /// A public address of a cloud's metadata service.
    Metadata,
    /// Multicast: 224.0.0.0/4, ff00::/8.
    Multicast,
    /// Examples: 192.0.2.0/24 and the like.
    Documentation,
    /// Embeds an IPv4 address: mapped, NAT64, 6to4, Teredo.
    Translated,
    /// Reserved for other uses.
    Reserved,
}

impl Special {
    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::SharedNat => "shared-nat",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Multicast => "multicast",
            Self::Documentation => "documentation",
            Self::Translated => "translated",
            Self::Reserved => "reserved",
        }
    }
}

/// Why an address is special; `None` if it is public.
pub fn special(address: IpAddr) -> Option<Special> {
    match address {
        IpAddr::V4(v4) => special_v4(v4),
        IpAddr::V6(v6) => special_v6(v6),
    }
}

/// Azure's platform address, public in form only.
const AZURE_PLATFORM: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

fn special_v4(address: Ipv4Addr) -> Option<Special> {
    Some(match address.octets() {
        [0, ..] => Special::Unspecified,
        [127, ..] => Special::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Special::Private,
        [100, 64..=127, ..] => Special::SharedNat,
        [169, 254, ..] => Special::LinkLocal,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Special::Documentation,
        [224..=239, ..] => Special::Multicast,
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [240..=255, ..] => {
            Special::Reserved
        }
        _ if address == AZURE_PLATFORM => Special::Metadata,
        _ => return None,
    })
}

fn special_v6(address: Ipv6Addr) -> Option<Special> {
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Special::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Special::Loopback,
        // ::/96 compatible, ::ffff:0:0/96 mapped, ::ffff:0:0:0/96 translated (RFC 2765);
        // NAT64, well known and local; Teredo; 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, ..]
        | [0x2001, 0, ..]
        | [0x2002, ..] => Special::Translated,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Special::Documentation,
        // 2001::/23: protocol assignments, benchmarking, overlay identifiers.
        [0x2001, 0..=0x01ff, ..] => Special::Reserved,
        [0x2000..=0x3fff, ..] => return None,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Special::Private,
        [0xfe80..=0xfebf, ..] => Special::LinkLocal,
        [0xff00..=0xffff, ..] => Special::Multicast,
        _ => Special::Reserved,
    })
}

/// A block of addresses, such as `127.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    address: IpAddr,
    prefix: u8,
}

impl Block {
    /// The block of `prefix` leading bits; `None` if the address has fewer.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= most).then_some(Self { address, prefix })
    }

    /// Whether `address` is in the block.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(32 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(128 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl std::str::FromStr for Block {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
        let wrong = || format!("{text} is no block of addresses; write 10.0.0.0/8 or fd00::/8");
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let prefix = if prefix.is_empty() { whole } else { prefix.parse().map_err(|_| wrong())? };
        Self::new(address, prefix).ok_or_else(wrong)
    }
}

/// Non-public addresses that the crawler may connect to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Allow every address.
    pub allow_all: bool,
    /// Allow these blocks.
    pub allowed: Vec<Block>,
}

impl AddressPolicy {
    /// Allows or refuses one address.
    pub fn check(&self, address: IpAddr) -> Result<(), Special> {
        if self.allow_all || self.allowed.iter().any(|block| block.contains(address)) {
            return Ok(());
        }
        special(address).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_blocks() {
        let cases = [
            ("8.8.8.8", None),
            ("172.32.0.1", None),
            ("100.128.0.1", None),
            ("2606:4700::1111", None),
            ("2001:4860:4860::8888", None),
            ("127.1.2.3", Some(Special::Loopback)),
            ("0.0.0.0", Some(Special::Unspecified)),
            ("172.31.255.255", Some(Special::Private)),
            ("169.254.169.254", Some(Special::LinkLocal)),
            ("100.100.100.200", Some(Special::SharedNat)),
            ("168.63.129.16", Some(Special::Metadata)),
            ("192.0.0.192", Some(Special::Reserved)),
            ("198.19.255.255", Some(Special::Reserved)),
            ("255.255.255.255", Some(Special::Reserved)),
            ("::ffff:8.8.8.8", Some(Special::Translated)),
            ("64:ff9b::1", Some(Special::Translated)),
            ("2002:808:808::", Some(Special::Translated)),
            ("2001:0:1::", Some(Special::Translated)),
            ("fd00:ec2::254", Some(Special::Private)),
            ("fe80::1", Some(Special::LinkLocal)),
            ("3fff:fff::", Some(Special::Documentation)),
            ("100::1", Some(Special::Reserved)),
            ("5f00::1", Some(Special::Reserved)),
        ];
        for (address, want) in cases {
            assert_eq!(special(address.parse().unwrap()), want, "{address}");
        }
    }

    #[test]
    fn blocks() {
        let block: Block = "10.1.0.0/16".parse().unwrap();
        assert!(block.contains("10.1.255.1".parse().unwrap()));
        assert!(!block.contains("10.2.0.1".parse().unwrap()));
        let all: Block = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("1.2.3.4".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
        let one: Block = "::1".parse().unwrap();
        assert!(one.contains("::1".parse().unwrap()) && !one.contains("::2".parse().unwrap()));
        assert!("10.0.0.0/33".parse::<Block>().is_err() && "x".parse::<Block>().is_err());
    }

    #[test]
    fn configured_addresses_are_allowed() {
        let policy =
            AddressPolicy { allow_all: false, allowed: vec!["127.0.0.1".parse().unwrap()] };
        assert_eq!(policy.check("127.0.0.1".parse().unwrap()), Ok(()));
        assert_eq!(policy.check("127.0.0.2".parse().unwrap()), Err(Special::Loopback));
    }
}
