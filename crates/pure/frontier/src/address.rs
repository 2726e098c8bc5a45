//! Which addresses are one machine's.

use std::net::{IpAddr, Ipv6Addr};

/// The addresses that count as one server or client: an IPv4 address, or an IPv6 network of 64 bits,
/// of which one machine can have all. `::1` stays itself.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::network_of;

    #[test]
    fn a_network_of_64_bits_counts_as_one() {
        let of = |text: &str| network_of(text.parse().expect("an address")).to_string();
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(of("2001:db8:1:2::"), of("2001:db8:1:2:ffff::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!((of("192.0.2.7").as_str(), of("::1").as_str()), ("192.0.2.7", "::1"));
        assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
    }
}
