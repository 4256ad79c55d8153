//! DHCPv6 (RFC 8415): clients, relays, addresses and prefixes.

use std::net::Ipv6Addr;

use crate::Malformed;
use crate::reader::Reader;

/// Port of servers and relays.
pub const SERVER_PORT: u16 = 547;
/// Port of clients.
pub const CLIENT_PORT: u16 = 546;
/// Where clients find servers and relays.
pub const ALL_SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
/// Transaction ids have 24 bits.
pub const LARGEST_XID: u32 = 0x00ff_ffff;
/// Relays between a client and its server (RFC 8415, 7.6).
const MOST_RELAYS: u8 = 8;
const RELAY_FORWARD: u8 = 12;
const RELAY_REPLY: u8 = 13;

/// Codes of the options that are read or written here.
pub mod option {
    #![allow(missing_docs)]
    pub const CLIENT_ID: u16 = 1;
    pub const SERVER_ID: u16 = 2;
    pub const IA_NA: u16 = 3;
    pub const IA_ADDRESS: u16 = 5;
    pub const ELAPSED_TIME: u16 = 8;
    pub const RELAY_MESSAGE: u16 = 9;
    pub const STATUS: u16 = 13;
    pub const RAPID_COMMIT: u16 = 14;
    pub const INTERFACE_ID: u16 = 18;
    pub const IA_PD: u16 = 25;
    pub const IA_PREFIX: u16 = 26;
}

/// Status codes of servers.
pub mod status {
    #![allow(missing_docs)]
    pub const SUCCESS: u16 = 0;
    pub const NO_ADDRESSES: u16 = 2;
    pub const NO_BINDING: u16 = 3;
    pub const NO_PREFIXES: u16 = 6;
}

/// Type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Solicit = 1,
    Advertise = 2,
    Request = 3,
    Confirm = 4,
    Renew = 5,
    Rebind = 6,
    Reply = 7,
    Release = 8,
    Decline = 9,
    InformationRequest = 11,
}

impl Kind {
    fn of(code: u8) -> Result<Self, Malformed> {
        Ok(match code {
            1 => Self::Solicit,
            2 => Self::Advertise,
            3 => Self::Request,
            4 => Self::Confirm,
            5 => Self::Renew,
            6 => Self::Rebind,
            7 => Self::Reply,
            8 => Self::Release,
            9 => Self::Decline,
            11 => Self::InformationRequest,
            _ => return Err(Malformed("unknown message type")),
        })
    }
}

/// An address of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub address: Ipv6Addr,
    /// For how long it is preferred (s).
    pub preferred_s: u32,
    /// For how long it is valid (s).
    pub valid_s: u32,
}

/// A delegated prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Its first address.
    pub prefix: Ipv6Addr,
    /// Its length (bits).
    pub length: u8,
    /// For how long it is preferred (s).
    pub preferred_s: u32,
    /// For how long it is valid (s).
    pub valid_s: u32,
}

/// An association with at most one address or prefix, requested or assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Association<T> {
    /// Its number.
    pub iaid: u32,
    /// When it is renewed (s).
    pub renew_s: u32,
    /// When it is rebound (s).
    pub rebind_s: u32,
    /// Its contents.
    pub value: Option<T>,
    /// Its status code.
    pub status: u16,
}

impl<T> Association<T> {
    /// Associations that a client requests or has.
    pub fn new(iaid: u32, value: Option<T>) -> Self {
        Self { iaid, renew_s: 0, rebind_s: 0, value, status: status::SUCCESS }
    }
}

/// Contents of a message of a client or server.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Type of the message.
    pub kind: Kind,
    /// Transaction id (24 bits).
    pub xid: u32,
    /// DUID of the client.
    pub client_id: &'a [u8],
    /// DUID of the server; empty for none.
    pub server_id: &'a [u8],
    /// The association of an address.
    pub address: Option<Association<Address>>,
    /// The association of a prefix.
    pub prefix: Option<Association<Prefix>>,
    /// Since the client began (hundredths of a second); None for no such option.
    pub elapsed: Option<u16>,
    /// Option 14.
    pub rapid_commit: bool,
    /// Status code of the whole message.
    pub status: u16,
    /// Further options, encoded: code, length, value, and so on.
    pub options: &'a [u8],
}

impl Message<'_> {
    /// A message with nothing but these.
    pub fn new(kind: Kind, xid: u32) -> Self {
        Message {
            kind,
            xid,
            client_id: &[],
            server_id: &[],
            address: None,
            prefix: None,
            elapsed: None,
            rapid_commit: false,
            status: status::SUCCESS,
            options: &[],
        }
    }

    /// Append the message to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend((((self.kind as u32) << 24) | (self.xid & LARGEST_XID)).to_be_bytes());
        if !self.client_id.is_empty() {
            put(out, option::CLIENT_ID, self.client_id);
        }
        if !self.server_id.is_empty() {
            put(out, option::SERVER_ID, self.server_id);
        }
        if let Some(association) = &self.address {
            put_association(out, option::IA_NA, association, |out, value| {
                nest(out, option::IA_ADDRESS, |out| {
                    out.extend(value.address.octets());
                    out.extend(value.preferred_s.to_be_bytes());
                    out.extend(value.valid_s.to_be_bytes());
                });
            });
        }
        if let Some(association) = &self.prefix {
            put_association(out, option::IA_PD, association, |out, value| {
                nest(out, option::IA_PREFIX, |out| {
                    out.extend(value.preferred_s.to_be_bytes());
                    out.extend(value.valid_s.to_be_bytes());
                    out.push(value.length);
                    out.extend(value.prefix.octets());
                });
            });
        }
        if let Some(elapsed) = self.elapsed {
            put(out, option::ELAPSED_TIME, &elapsed.to_be_bytes());
        }
        if self.rapid_commit {
            put(out, option::RAPID_COMMIT, &[]);
        }
        if self.status != status::SUCCESS {
            put(out, option::STATUS, &self.status.to_be_bytes());
        }
        out.extend(self.options);
    }
}

fn put_association<T>(
    out: &mut Vec<u8>,
    code: u16,
    association: &Association<T>,
    value: impl FnOnce(&mut Vec<u8>, &T),
) {
    nest(out, code, |out| {
        out.extend(association.iaid.to_be_bytes());
        out.extend(association.renew_s.to_be_bytes());
        out.extend(association.rebind_s.to_be_bytes());
        if let Some(inside) = &association.value {
            value(out, inside);
        }
        if association.status != status::SUCCESS {
            put(out, option::STATUS, &association.status.to_be_bytes());
        }
    });
}

/// Append one option; `value` has at most 65 535 bytes.
pub fn put(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    nest(out, code, |out| out.extend(value));
}

fn nest(out: &mut Vec<u8>, code: u16, value: impl FnOnce(&mut Vec<u8>)) {
    out.extend(code.to_be_bytes());
    let length_at = out.len();
    out.extend([0, 0]);
    value(out);
    let length = out.len() - length_at - 2;
    debug_assert!(length <= usize::from(u16::MAX));
    out[length_at..length_at + 2].copy_from_slice(&(length as u16).to_be_bytes());
}

/// A relay's part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relay<'a> {
    /// Address of the link that the client is on.
    pub link: Ipv6Addr,
    /// Address of the client.
    pub peer: Ipv6Addr,
    /// Option 18; empty for none.
    pub interface_id: &'a [u8],
    /// Further options of the relay, encoded; empty after reading, as they are not used.
    pub options: &'a [u8],
}

/// Append a relay's message around one that `inside` appends; a server's if `is_reply`.
pub fn write_relayed(
    out: &mut Vec<u8>,
    relay: &Relay<'_>,
    is_reply: bool,
    inside: impl FnOnce(&mut Vec<u8>),
) {
    out.extend([if is_reply { RELAY_REPLY } else { RELAY_FORWARD }, 0]);
    out.extend(relay.link.octets());
    out.extend(relay.peer.octets());
    if !relay.interface_id.is_empty() {
        put(out, option::INTERFACE_ID, relay.interface_id);
    }
    out.extend(relay.options);
    nest(out, option::RELAY_MESSAGE, inside);
}

/// Read a message, also one in the messages of relays, of which the innermost is returned.
pub fn read(bytes: &[u8]) -> Result<(Message<'_>, Option<Relay<'_>>), Malformed> {
    let mut rest = bytes;
    let mut relay = None;
    for _ in 0..=MOST_RELAYS {
        match rest.first() {
            Some(&(RELAY_FORWARD | RELAY_REPLY)) => {
                let inside;
                (relay, inside) = unwrap(rest).map(|(relay, inside)| (Some(relay), inside))?;
                rest = inside;
            }
            _ => return Ok((read_plain(rest)?, relay)),
        }
    }
    Err(Malformed("more than eight relays"))
}

fn unwrap(bytes: &[u8]) -> Result<(Relay<'_>, &[u8]), Malformed> {
    const SHORT: &str = "relay's header cut short";
    let mut reader = Reader::new(bytes);
    reader.take(2, SHORT)?;
    let link = reader.array::<16>(SHORT)?.into();
    let peer = reader.array::<16>(SHORT)?.into();
    let mut relay = Relay { link, peer, interface_id: &[], options: &[] };
    let mut inside = None;
    each_option(reader.rest(), |code, value| {
        match code {
            option::RELAY_MESSAGE => inside = Some(value),
            option::INTERFACE_ID => relay.interface_id = value,
            _ => {}
        }
        Ok(())
    })?;
    inside
        .map(|inside| (relay, inside))
        .ok_or(Malformed("a relay's message with nothing in it"))
}

fn read_plain(bytes: &[u8]) -> Result<Message<'_>, Malformed> {
    let mut reader = Reader::new(bytes);
    let head = reader.u32("shorter than its header")?;
    let mut message = Message::new(Kind::of((head >> 24) as u8)?, head & LARGEST_XID);
    each_option(reader.rest(), |code, value| {
        let mut reader = Reader::new(value);
        match code {
            option::CLIENT_ID => message.client_id = value,
            option::SERVER_ID => message.server_id = value,
            option::IA_NA => {
                message.address =
                    Some(association(value, option::IA_ADDRESS, |mut reader| {
                        const SHORT: &str = "address cut short";
                        Ok(Address {
                            address: reader.array::<16>(SHORT)?.into(),
                            preferred_s: reader.u32(SHORT)?,
                            valid_s: reader.u32(SHORT)?,
                        })
                    })?);
            }
            option::IA_PD => {
                message.prefix = Some(association(value, option::IA_PREFIX, |mut reader| {
                    const SHORT: &str = "prefix cut short";
                    Ok(Prefix {
                        preferred_s: reader.u32(SHORT)?,
                        valid_s: reader.u32(SHORT)?,
                        length: reader.u8(SHORT)?,
                        prefix: reader.array::<16>(SHORT)?.into(),
                    })
                })?);
            }
            option::ELAPSED_TIME => message.elapsed = Some(reader.u16("short elapsed time")?),
            option::STATUS => message.status = reader.u16("short status code")?,
            option::RAPID_COMMIT => message.rapid_commit = true,
            _ => {}
        }
        Ok(())
    })?;
    Ok(message)
}

fn association<'a, T>(
    bytes: &'a [u8],
    inner: u16,
    mut read: impl FnMut(Reader<'a>) -> Result<T, Malformed>,
) -> Result<Association<T>, Malformed> {
    const SHORT: &str = "association cut short";
    let mut reader = Reader::new(bytes);
    let mut association = Association {
        iaid: reader.u32(SHORT)?,
        renew_s: reader.u32(SHORT)?,
        rebind_s: reader.u32(SHORT)?,
        value: None,
        status: status::SUCCESS,
    };
    each_option(reader.rest(), |code, value| {
        let mut reader = Reader::new(value);
        if code == inner {
            association.value = Some(read(reader)?);
        } else if code == option::STATUS {
            association.status = reader.u16("short status code")?;
        }
        Ok(())
    })?;
    Ok(association)
}

fn each_option<'a>(
    bytes: &'a [u8],
    mut each: impl FnMut(u16, &'a [u8]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let code = reader.u16("option without code")?;
        let length = reader.u16("option without length")?;
        each(code, reader.take(usize::from(length), "option longer than the message")?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Message<'static> {
        let mut message = Message::new(Kind::Request, 0x00AB_CDEF);
        message.client_id = &[0, 3, 0, 1, 2, 0, 0, 0, 0, 7];
        message.server_id = &[0, 1, 2];
        message.elapsed = Some(12);
        message.address = Some(Association::new(
            1,
            Some(Address {
                address: "2001:db8::7".parse().unwrap(),
                preferred_s: 1,
                valid_s: 2,
            }),
        ));
        message.prefix = Some(Association::new(
            2,
            Some(Prefix {
                prefix: "2001:db8:7::".parse().unwrap(),
                length: 56,
                preferred_s: 3,
                valid_s: 4,
            }),
        ));
        message
    }

    #[test]
    fn what_is_written_is_read_again_also_through_a_relay() {
        let message = request();
        let relay = Relay {
            link: "2001:db8::1".parse().unwrap(),
            peer: "fe80::7".parse().unwrap(),
            interface_id: b"eth0",
            options: &[],
        };
        let mut bytes = Vec::new();
        write_relayed(&mut bytes, &relay, false, |out| message.write(out));
        let (again, through) = read(&bytes).unwrap();
        assert_eq!(through, Some(relay));
        assert_eq!((again.kind, again.xid), (message.kind, message.xid));
        assert_eq!((again.client_id, again.server_id), (message.client_id, message.server_id));
        assert_eq!(again.address, message.address);
        assert_eq!(again.prefix, message.prefix);
        assert_eq!(again.elapsed, message.elapsed);
    }

    #[test]
    fn the_status_of_an_association_is_read() {
        let mut message = Message::new(Kind::Reply, 1);
        message.address = Some(Association::new(1, None));
        message.address.as_mut().unwrap().status = status::NO_ADDRESSES;
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        assert_eq!(read(&bytes).unwrap().0.address.unwrap().status, status::NO_ADDRESSES);
    }

    #[test]
    fn what_is_cut_short_is_malformed_or_has_fewer_options() {
        let mut bytes = Vec::new();
        request().write(&mut bytes);
        let whole_options = [4, 18, 25, 69, 114];
        for length in 0..bytes.len() {
            assert_eq!(
                read(&bytes[..length]).is_ok(),
                whole_options.contains(&length),
                "{length}"
            );
        }
    }

    #[test]
    fn relays_in_relays_end() {
        let mut bytes = Vec::new();
        request().write(&mut bytes);
        let relay = Relay {
            link: Ipv6Addr::UNSPECIFIED,
            peer: Ipv6Addr::UNSPECIFIED,
            interface_id: &[],
            options: &[],
        };
        for depth in 0..12 {
            assert_eq!(read(&bytes).is_ok(), depth <= 8, "{depth} relays");
            let inside = std::mem::take(&mut bytes);
            write_relayed(&mut bytes, &relay, false, |out| out.extend(&inside));
        }
    }
}
