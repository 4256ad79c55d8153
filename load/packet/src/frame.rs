//! Ethernet frames with UDP over IPv4, as clients send them that have no address yet.

use std::net::Ipv4Addr;

use crate::Malformed;
use crate::dhcp4::Mac;
use crate::reader::Reader;

/// Everybody on the link.
pub const EVERYBODY: Mac = [0xff; 6];
const IPV4: u16 = 0x0800;
const TAG: u16 = 0x8100;
const SERVICE_TAG: u16 = 0x88a8;
const UDP: u8 = 17;
const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// Who sends or receives a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Hardware address.
    pub mac: Mac,
    /// Address; 0.0.0.0 for none yet.
    pub address: Ipv4Addr,
    /// UDP port.
    pub port: u16,
}

/// Append a frame with the tags of VLANs, the outermost first, around what `payload` appends.
pub fn write(
    out: &mut Vec<u8>,
    vlans: &[u16],
    from: &End,
    to: &End,
    payload: impl FnOnce(&mut Vec<u8>),
) {
    out.extend(to.mac);
    out.extend(from.mac);
    for vlan in vlans {
        out.extend(TAG.to_be_bytes());
        out.extend(vlan.to_be_bytes());
    }
    out.extend(IPV4.to_be_bytes());
    let ip = out.len();
    out.resize(ip + IP_HEADER + UDP_HEADER, 0);
    payload(out);
    let length = (out.len() - ip) as u16;
    let udp_length = length - IP_HEADER as u16;
    // Version and length, no fragments, 64 hops.
    out[ip..ip + 2].copy_from_slice(&[0x45, 0]);
    out[ip + 2..ip + 4].copy_from_slice(&length.to_be_bytes());
    out[ip + 8..ip + 10].copy_from_slice(&[64, UDP]);
    out[ip + 12..ip + 16].copy_from_slice(&from.address.octets());
    out[ip + 16..ip + 20].copy_from_slice(&to.address.octets());
    let sum = checksum(&out[ip..ip + IP_HEADER], 0);
    out[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    let udp = ip + IP_HEADER;
    out[udp..udp + 2].copy_from_slice(&from.port.to_be_bytes());
    out[udp + 2..udp + 4].copy_from_slice(&to.port.to_be_bytes());
    out[udp + 4..udp + 6].copy_from_slice(&udp_length.to_be_bytes());
    // The pseudo header: both addresses, protocol and length.
    let pseudo = added(&out[ip + 12..ip + 20], u32::from(UDP) + u32::from(udp_length));
    let sum = match checksum(&out[udp..], pseudo) {
        0 => 0xffff,
        sum => sum,
    };
    out[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
}

fn added(bytes: &[u8], sum: u32) -> u32 {
    let pairs = bytes.chunks(2).map(|pair| match pair {
        [high, low] => u32::from(*high) << 8 | u32::from(*low),
        [high] => u32::from(*high) << 8,
        _ => 0,
    });
    pairs.fold(sum, |sum, pair| sum + pair)
}

fn checksum(bytes: &[u8], sum: u32) -> u16 {
    let mut sum = added(bytes, sum);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Read a frame: its sender and its payload. Tags of VLANs are passed over, and sums are
/// not checked: a virtual interface leaves them out.
///
/// # Errors
/// If it is no UDP over IPv4, or a fragment.
pub fn read(bytes: &[u8]) -> Result<(End, &[u8]), Malformed> {
    const SHORT: &str = "frame cut short";
    let mut reader = Reader::new(bytes);
    reader.take(6, SHORT)?;
    let mac = reader.array(SHORT)?;
    let mut kind = reader.u16(SHORT)?;
    while kind == TAG || kind == SERVICE_TAG {
        reader.take(2, SHORT)?;
        kind = reader.u16(SHORT)?;
    }
    let ip = reader.rest();
    let mut reader = Reader::new(ip);
    let head = reader.u8(SHORT)?;
    if kind != IPV4 || head >> 4 != 4 {
        return Err(Malformed("frame without IPv4"));
    }
    reader.take(1, SHORT)?;
    let length = usize::from(reader.u16(SHORT)?);
    reader.take(2, SHORT)?;
    let fragment = reader.u16(SHORT)?;
    reader.take(1, SHORT)?;
    if reader.u8(SHORT)? != UDP || fragment & 0x3fff != 0 {
        return Err(Malformed("frame without whole UDP"));
    }
    reader.take(2, SHORT)?;
    let address = reader.array::<4>(SHORT)?.into();
    // Short frames are padded: the length of IP says what counts.
    let udp = ip.get(usize::from(head & 15) * 4..length).ok_or(Malformed(SHORT))?;
    let mut reader = Reader::new(udp);
    let port = reader.u16(SHORT)?;
    reader.take(6, SHORT)?;
    Ok((End { mac, address, port }, reader.rest()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_what_rfcs_791_and_768_say() {
        let from = End { mac: [2, 0, 0, 0, 0, 7], address: [10, 0, 0, 1].into(), port: 68 };
        let to = End { mac: EVERYBODY, address: Ipv4Addr::BROADCAST, port: 67 };
        for (vlans, tags) in [
            (&[][..], &[][..]),
            (&[7][..], &[0x81, 0, 0, 7]),
            (&[7, 4094], &[0x81, 0, 0, 7, 0x81, 0, 0x0f, 0xfe]),
        ] {
            let mut bytes = Vec::new();
            write(&mut bytes, vlans, &from, &to, |out| out.extend(b"abc"));
            assert_eq!(bytes[..12], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 7]);
            assert_eq!(bytes[12..12 + tags.len()], *tags);
            let ip = 14 + tags.len();
            // Sums with the sum itself in them are all ones.
            assert_eq!(checksum(&bytes[ip..ip + 20], 0), 0);
            let pseudo = added(&bytes[ip + 12..ip + 20], 17 + 11);
            assert_eq!(checksum(&bytes[ip + 20..], pseudo), 0);
            bytes.extend([0; 9]);
            assert_eq!(read(&bytes), Ok((from, &b"abc"[..])));
        }
    }

    #[test]
    fn what_is_cut_short_is_malformed() {
        let end = End { mac: [0; 6], address: Ipv4Addr::UNSPECIFIED, port: 68 };
        let mut bytes = Vec::new();
        write(&mut bytes, &[7], &end, &end, |out| out.extend(b"abc"));
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length} bytes");
        }
    }
}
