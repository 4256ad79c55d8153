//! The responder's answer to a packet, right or wrong on purpose.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use leaseload_packet::{Malformed, dhcp4, dhcp6, dns};
use serde::Deserialize;

/// The times of leases (s); T1 and T2 are the client's own choice where they are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// For how long leases are valid.
    pub valid_s: u32,
    /// T1.
    pub renew_s: u32,
    /// T2.
    pub rebind_s: u32,
}

/// DUID of the server (DUID-LL).
const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 1];
/// The network of prefixes that are delegated, of 56 bits each.
const PREFIXES: u128 = 0x2001_0002_0002_u128 << 80;
/// Of addresses, as many as a client's number has values.
const ADDRESSES: u128 = 0x2001_0002_0000_0100_u128 << 64;

/// Which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Dhcp4,
    Dhcp6,
    Dns,
}

/// How an answer is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is right.
    No,
    /// Refused: NAK, no address, REFUSED.
    Refused,
    /// Cut short.
    Malformed,
    /// To another client.
    Foreign,
    /// With the address of another client.
    SameAddress,
    /// With an address of this number for a client that asks for none.
    Numbered(u32),
    /// A renewal is refused, as of an unknown lease.
    Forgotten,
    /// It says that it did not fit.
    Truncated,
}

/// Properties of a packet before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// It is the first message of an exchange.
    pub begins: bool,
    /// Its answer assigns a lease.
    pub gives: bool,
    /// It takes a lease back.
    pub frees: bool,
    /// It is for a lease that the client has.
    pub renews: bool,
}

/// Look at a packet; None for one that is not answered.
pub fn question(protocol: Protocol, bytes: &[u8]) -> Result<Question, Malformed> {
    Ok(match protocol {
        Protocol::Dhcp4 => {
            let message = dhcp4::read(bytes)?;
            let kind = message.kind;
            Question {
                begins: kind == dhcp4::Kind::Discover,
                gives: kind == dhcp4::Kind::Request,
                frees: kind == dhcp4::Kind::Release,
                renews: kind == dhcp4::Kind::Request && !message.ciaddr.is_unspecified(),
            }
        }
        Protocol::Dhcp6 => {
            let (message, _) = dhcp6::read(bytes)?;
            let rapid = message.kind == dhcp6::Kind::Solicit && message.rapid_commit;
            Question {
                begins: message.kind == dhcp6::Kind::Solicit,
                gives: rapid
                    || matches!(
                        message.kind,
                        dhcp6::Kind::Request | dhcp6::Kind::Renew | dhcp6::Kind::Rebind
                    ),
                frees: message.kind == dhcp6::Kind::Release,
                renews: matches!(message.kind, dhcp6::Kind::Renew | dhcp6::Kind::Rebind),
            }
        }
        Protocol::Dns => {
            dns::read_query(bytes)?;
            Question { begins: true, gives: false, frees: false, renews: false }
        }
    })
}

/// Append the answer to a packet, by a server's identifier and times; return where it goes,
/// None where there is none.
pub fn answer(
    protocol: Protocol,
    bytes: &[u8],
    from: SocketAddr,
    giving: (Ipv4Addr, Times),
    wrong: Wrong,
    out: &mut Vec<u8>,
) -> Result<Option<SocketAddr>, Malformed> {
    let start = out.len();
    let to = match protocol {
        Protocol::Dhcp4 => answer4(&dhcp4::read(bytes)?, from, giving, wrong, out),
        Protocol::Dhcp6 => answer6(bytes, from, giving.1, wrong, out)?,
        Protocol::Dns => {
            let (id, question) = dns::read_query(bytes)?;
            let id = if wrong == Wrong::Foreign { id ^ 0x8000 } else { id };
            let rcode = if wrong == Wrong::Refused { 5 } else { 0 };
            if dns::is_update(bytes) {
                dns::put_updated(out, id, rcode);
            } else {
                let address = (rcode == 0).then_some([192, 0, 2, 1]);
                dns::put_answer(out, id, question, rcode, address);
            }
            if wrong == Wrong::Truncated {
                dns::truncate(&mut out[start..]);
            }
            Some(from)
        }
    };
    if wrong == Wrong::Malformed {
        out.truncate(start + 3);
    }
    Ok(to)
}

fn answer4(
    asked: &dhcp4::Message<'_>,
    from: SocketAddr,
    (server, times): (Ipv4Addr, Times),
    wrong: Wrong,
    out: &mut Vec<u8>,
) -> Option<SocketAddr> {
    use dhcp4::Kind;
    let kind = match asked.kind {
        Kind::Request | Kind::Discover if wrong == Wrong::Refused => Kind::Nak,
        Kind::Request if wrong == Wrong::Forgotten => Kind::Nak,
        Kind::Discover if asked.rapid_commit => Kind::Ack,
        Kind::Discover => Kind::Offer,
        Kind::Request => Kind::Ack,
        // Some servers answer at the relay else, and some not at all.
        Kind::Inform if !asked.ciaddr.is_unspecified() => Kind::Ack,
        _ => return None,
    };
    let xid = if wrong == Wrong::Foreign { asked.xid ^ 0x0080_0000 } else { asked.xid };
    let mut message = dhcp4::Message::new(kind, xid, asked.mac);
    message.giaddr = asked.giaddr;
    message.ciaddr = asked.ciaddr;
    message.broadcast = asked.broadcast;
    message.server_id = Some(server);
    message.rapid_commit = asked.rapid_commit && kind == Kind::Ack;
    message.relay_agent = asked.relay_agent;
    if kind != Kind::Nak && asked.kind != Kind::Inform {
        let [.., a, b, c] = asked.mac;
        message.yiaddr = match wrong {
            Wrong::SameAddress => Ipv4Addr::new(10, 0, 0, 1),
            Wrong::Numbered(number) => {
                let own = Some(asked.ciaddr).filter(|own| !own.is_unspecified());
                let next = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) | number);
                asked.requested.or(own).unwrap_or(next)
            }
            _ => Ipv4Addr::new(10, a, b, c),
        };
        let given = |seconds| Some(seconds).filter(|seconds| *seconds > 0);
        message.lease_s = Some(times.valid_s);
        (message.renew_s, message.rebind_s) = (given(times.renew_s), given(times.rebind_s));
    }
    message.write(out);
    Some(match asked.giaddr {
        Ipv4Addr::UNSPECIFIED if asked.broadcast => {
            (Ipv4Addr::BROADCAST, dhcp4::CLIENT_PORT).into()
        }
        // RFC 2131, 4.3.5.
        _ if asked.kind == Kind::Inform => (asked.ciaddr, dhcp4::CLIENT_PORT).into(),
        Ipv4Addr::UNSPECIFIED => from,
        relay => (relay, dhcp4::SERVER_PORT).into(),
    })
}

fn answer6(
    bytes: &[u8],
    from: SocketAddr,
    times: Times,
    wrong: Wrong,
    out: &mut Vec<u8>,
) -> Result<Option<SocketAddr>, Malformed> {
    use dhcp6::{Address, Association, Kind, Message, Prefix, status};
    let (asked, relay) = dhcp6::read(bytes)?;
    let kind = match asked.kind {
        Kind::Solicit if !asked.rapid_commit => Kind::Advertise,
        Kind::Advertise | Kind::Reply => return Ok(None),
        _ => Kind::Reply,
    };
    let number = asked.client_id.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let number = match wrong {
        Wrong::SameAddress => 1,
        Wrong::Numbered(next) => u64::from(next),
        _ => number & 0xffff_ffff,
    };
    let is_refused = matches!(wrong, Wrong::Refused | Wrong::Forgotten);
    let why = |refused| match wrong {
        Wrong::Forgotten => status::NO_BINDING,
        Wrong::Refused => refused,
        _ => status::SUCCESS,
    };
    let is_numbered = matches!(wrong, Wrong::Numbered(_));
    let gives = !matches!(
        asked.kind,
        Kind::Release | Kind::Decline | Kind::Confirm | Kind::InformationRequest
    );
    let xid = if wrong == Wrong::Foreign { asked.xid ^ 0x0008_0000 } else { asked.xid };
    let mut message = Message::new(kind, xid);
    message.client_id = asked.client_id;
    message.server_id = &SERVER_DUID;
    message.rapid_commit = asked.rapid_commit && kind == Kind::Reply;
    if gives {
        message.address = asked.address.map(|asked| {
            let own = asked.value.map(|own| own.address);
            let own = own.filter(|own| is_numbered && !own.is_unspecified());
            let next = Ipv6Addr::from(ADDRESSES | u128::from(number));
            let address = Address {
                address: own.unwrap_or(next),
                preferred_s: times.valid_s / 2,
                valid_s: times.valid_s,
            };
            let mut given = Association::new(asked.iaid, (!is_refused).then_some(address));
            (given.renew_s, given.rebind_s) = (times.renew_s, times.rebind_s);
            given.status = why(status::NO_ADDRESSES);
            given
        });
        message.prefix = asked.prefix.map(|asked| {
            let own = asked.value.map(|own| own.prefix);
            let own = own.filter(|own| is_numbered && !own.is_unspecified());
            let next = Ipv6Addr::from(PREFIXES | u128::from(number) << 72);
            let prefix = Prefix {
                prefix: own.unwrap_or(next),
                length: 56,
                preferred_s: times.valid_s / 2,
                valid_s: times.valid_s,
            };
            let mut given = Association::new(asked.iaid, (!is_refused).then_some(prefix));
            (given.renew_s, given.rebind_s) = (times.renew_s, times.rebind_s);
            given.status = why(status::NO_PREFIXES);
            given
        });
    }
    match relay {
        Some(relay) => dhcp6::write_relayed(out, &relay, true, |out| message.write(out)),
        None => message.write(out),
    }
    Ok(Some(from))
}
