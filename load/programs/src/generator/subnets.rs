//! Networks of clients, which queries name by EDNS.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use leaseload_packet::dns;

use crate::words::Wrong;

/// Read networks: `PREFIX/LENGTH`, and `*COUNT` for as many that follow each other; return each
/// as an option.
pub fn read(list: &str) -> Result<Vec<Vec<u8>>, Wrong> {
    const MOST: u32 = 1 << 20;
    let mut all = Vec::new();
    for word in list.split(',') {
        let wrong = || {
            format!("--subnets: found {word:?}, expected PREFIX/LENGTH or PREFIX/LENGTH*COUNT")
        };
        let (prefix, count) = word.split_once('*').unwrap_or((word, "1"));
        let count = count.parse().ok().filter(|count| (1..=MOST).contains(count));
        let (network, length) = prefix.split_once('/').ok_or_else(wrong)?;
        let network: IpAddr = network.parse().map_err(|_| wrong())?;
        let length: u8 = length.parse().map_err(|_| wrong())?;
        for number in 0..count.ok_or_else(wrong)? {
            let moved = moved(network, length, number).ok_or_else(wrong)?;
            let option = dns::client_subnet(moved, length)
                .map_err(|error| format!("--subnets: {word:?}: {}", error.0))?;
            all.push(option);
        }
    }
    Ok(all)
}

/// The network that is so many networks of its length behind another; None beyond the last.
fn moved(network: IpAddr, length: u8, number: u32) -> Option<IpAddr> {
    let by = |bits: u8| {
        let behind = u32::from(bits.checked_sub(length)?);
        if number == 0 {
            Some(0)
        } else {
            u128::from(number).checked_mul(1_u128.checked_shl(behind)?)
        }
    };
    match network {
        IpAddr::V4(address) => {
            let moved = u128::from(address.to_bits()).checked_add(by(32)?)?;
            Some(Ipv4Addr::from_bits(u32::try_from(moved).ok()?).into())
        }
        IpAddr::V6(address) => {
            Some(Ipv6Addr::from_bits(address.to_bits().checked_add(by(128)?)?).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_follow_each_other() {
        let all = read("10.0.255.0/24*2,2001:db8::/48*2").unwrap();
        let ends: Vec<_> = all.iter().map(|option| &option[8..]).collect();
        let six = [0x20, 1, 0xd, 0xb8, 0, 0];
        let seven = [0x20, 1, 0xd, 0xb8, 0, 1];
        assert_eq!(ends, [&[10, 0, 255][..], &[10, 1, 0], &six, &seven]);
        assert_eq!(read("0.0.0.0/0").unwrap().len(), 1);
        for wrong in ["10.0.0.0", "10.0.0.1/24", "10.0.0.0/33", "a/1", "10.0.0.0/8*0"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read("255.255.255.0/24*2").is_err(), "beyond the last");
    }
}
