//! DHCPv4 (RFC 2131, 2132, 3046, 4039).

use std::net::Ipv4Addr;

use crate::Malformed;
use crate::reader::Reader;

/// Port of servers and relays.
pub const SERVER_PORT: u16 = 67;
/// Port of clients.
pub const CLIENT_PORT: u16 = 68;

/// A hardware address (Ethernet).
pub type Mac = [u8; 6];

const MAGIC: [u8; 4] = [99, 130, 83, 99];
/// BOOTP's shortest message; some relays and servers drop shorter ones.
const SHORTEST: usize = 300;
const PAD: u8 = 0;
const END: u8 = 255;

/// Codes of the options that are read or written here.
pub mod option {
    #![allow(missing_docs)]
    pub const REQUESTED_ADDRESS: u8 = 50;
    pub const LEASE_TIME: u8 = 51;
    pub const OVERLOAD: u8 = 52;
    pub const MESSAGE_TYPE: u8 = 53;
    pub const SERVER_ID: u8 = 54;
    pub const RENEWAL_TIME: u8 = 58;
    pub const REBINDING_TIME: u8 = 59;
    pub const RAPID_COMMIT: u8 = 80;
    pub const RELAY_AGENT: u8 = 82;
}

/// Option 53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Discover = 1,
    Offer = 2,
    Request = 3,
    Decline = 4,
    Ack = 5,
    Nak = 6,
    Release = 7,
    Inform = 8,
}

impl Kind {
    fn of(code: u8) -> Result<Self, Malformed> {
        Ok(match code {
            1 => Self::Discover,
            2 => Self::Offer,
            3 => Self::Request,
            4 => Self::Decline,
            5 => Self::Ack,
            6 => Self::Nak,
            7 => Self::Release,
            8 => Self::Inform,
            _ => return Err(Malformed("unknown message type")),
        })
    }

    /// Whether servers send it.
    pub fn is_reply(self) -> bool {
        matches!(self, Self::Offer | Self::Ack | Self::Nak)
    }
}

/// Contents of a message of a client or server. Unset addresses are 0.0.0.0.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Type of the message.
    pub kind: Kind,
    /// Transaction id.
    pub xid: u32,
    /// The client.
    pub mac: Mac,
    /// Asks for a broadcast reply.
    pub broadcast: bool,
    /// Relays that it has passed.
    pub hops: u8,
    /// Since the client began (s).
    pub secs: u16,
    /// The client's address, once it has one.
    pub ciaddr: Ipv4Addr,
    /// The address given to it.
    pub yiaddr: Ipv4Addr,
    /// The relay.
    pub giaddr: Ipv4Addr,
    /// Option 50.
    pub requested: Option<Ipv4Addr>,
    /// Option 54.
    pub server_id: Option<Ipv4Addr>,
    /// Option 51 (s).
    pub lease_s: Option<u32>,
    /// Option 58 (s).
    pub renew_s: Option<u32>,
    /// Option 59 (s).
    pub rebind_s: Option<u32>,
    /// Option 80 (RFC 4039).
    pub rapid_commit: bool,
    /// Further options, encoded: code, length, value, and so on.
    pub options: &'a [u8],
    /// Option 82, its sub-options encoded; empty for none.
    pub relay_agent: &'a [u8],
}

impl Message<'_> {
    /// A message of a client, or of its relay, with only these fields.
    pub fn new(kind: Kind, xid: u32, mac: Mac) -> Self {
        Message {
            kind,
            xid,
            mac,
            broadcast: false,
            hops: 0,
            secs: 0,
            ciaddr: Ipv4Addr::UNSPECIFIED,
            yiaddr: Ipv4Addr::UNSPECIFIED,
            giaddr: Ipv4Addr::UNSPECIFIED,
            requested: None,
            server_id: None,
            lease_s: None,
            renew_s: None,
            rebind_s: None,
            rapid_commit: false,
            options: &[],
            relay_agent: &[],
        }
    }

    /// Append the message to `out`, padded to 300 bytes.
    ///
    /// `options` have to be well formed and `relay_agent` at most 255 bytes long: they come
    /// from the command line, which has checked them.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([if self.kind.is_reply() { 2 } else { 1 }, 1, 6, self.hops]);
        out.extend(self.xid.to_be_bytes());
        out.extend(self.secs.to_be_bytes());
        out.extend(if self.broadcast { [0x80, 0] } else { [0, 0] });
        out.extend(self.ciaddr.octets());
        out.extend(self.yiaddr.octets());
        out.extend([0; 4]);
        out.extend(self.giaddr.octets());
        out.extend(self.mac);
        out.resize(start + 236, 0);
        out.extend(MAGIC);
        out.extend([option::MESSAGE_TYPE, 1, self.kind as u8]);
        if let Some(address) = self.server_id {
            put(out, option::SERVER_ID, &address.octets());
        }
        if let Some(address) = self.requested {
            put(out, option::REQUESTED_ADDRESS, &address.octets());
        }
        for (code, seconds) in [
            (option::LEASE_TIME, self.lease_s),
            (option::RENEWAL_TIME, self.renew_s),
            (option::REBINDING_TIME, self.rebind_s),
        ] {
            if let Some(seconds) = seconds {
                put(out, code, &seconds.to_be_bytes());
            }
        }
        if self.rapid_commit {
            put(out, option::RAPID_COMMIT, &[]);
        }
        out.extend(self.options);
        // RFC 3046 wants it to be the last one.
        if !self.relay_agent.is_empty() {
            put(out, option::RELAY_AGENT, self.relay_agent);
        }
        out.push(END);
        if out.len() < start + SHORTEST {
            out.resize(start + SHORTEST, PAD);
        }
    }
}

/// Append one option; `value` has at most 255 bytes.
pub fn put(out: &mut Vec<u8>, code: u8, value: &[u8]) {
    debug_assert!(value.len() <= 255);
    out.extend([code, value.len() as u8]);
    out.extend(value);
}

/// Read a message.
///
/// Options may continue in `file` and `sname` (option 52). An option that comes twice is taken
/// as it came first; `options` of the result is empty, as the rest is not used.
///
/// # Errors
/// If it is shorter than a message, has no message type or another form.
pub fn read(bytes: &[u8]) -> Result<Message<'_>, Malformed> {
    let mut header = Reader::new(bytes);
    let [op, htype, hlen, hops] = header.array("shorter than its header")?;
    let xid = header.u32("shorter than its header")?;
    let secs = header.u16("shorter than its header")?;
    let flags = header.u16("shorter than its header")?;
    let mut address = || header.array::<4>("shorter than its header").map(Ipv4Addr::from);
    let (ciaddr, yiaddr, _siaddr, giaddr) = (address()?, address()?, address()?, address()?);
    if !(op == 1 || op == 2) {
        return Err(Malformed("neither request nor reply"));
    }
    if htype != 1 || hlen != 6 {
        return Err(Malformed("hardware address is not Ethernet's"));
    }
    let mac = header.array("shorter than its header")?;
    header.take(10, "shorter than its header")?;
    let sname = header.take(64, "shorter than its header")?;
    let file = header.take(128, "shorter than its header")?;
    if header.array("no options")? != MAGIC {
        return Err(Malformed("no magic cookie"));
    }
    let mut message = Message::new(Kind::Discover, xid, mac);
    (message.hops, message.secs, message.broadcast) = (hops, secs, flags & 0x8000 != 0);
    (message.ciaddr, message.yiaddr, message.giaddr) = (ciaddr, yiaddr, giaddr);
    let mut options = Options { message, kind: None, overload: 0 };
    options.read(header.rest())?;
    if options.overload & 1 != 0 {
        options.read(file)?;
    }
    if options.overload & 2 != 0 {
        options.read(sname)?;
    }
    options.message.kind = options.kind.ok_or(Malformed("no message type"))?;
    if options.message.kind.is_reply() != (op == 2) {
        return Err(Malformed("message type and direction differ"));
    }
    Ok(options.message)
}

struct Options<'a> {
    message: Message<'a>,
    kind: Option<Kind>,
    overload: u8,
}

impl<'a> Options<'a> {
    fn read(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let code = reader.u8("option")?;
            if code == PAD {
                continue;
            }
            if code == END {
                break;
            }
            let length = reader.u8("option without length")?;
            let value = reader.take(usize::from(length), "option longer than the message")?;
            self.take(code, value)?;
        }
        Ok(())
    }

    fn take(&mut self, code: u8, value: &'a [u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(value);
        let message = &mut self.message;
        match code {
            option::MESSAGE_TYPE => {
                self.kind = Some(Kind::of(reader.u8("empty message type")?)?)
            }
            option::OVERLOAD => self.overload = reader.u8("empty overload")?,
            option::SERVER_ID => message.server_id = Some(address(&mut reader)?),
            option::REQUESTED_ADDRESS => message.requested = Some(address(&mut reader)?),
            option::LEASE_TIME => message.lease_s = Some(reader.u32("short lease time")?),
            option::RENEWAL_TIME => message.renew_s = Some(reader.u32("short renewal time")?),
            option::REBINDING_TIME => {
                message.rebind_s = Some(reader.u32("short rebinding time")?)
            }
            option::RAPID_COMMIT => message.rapid_commit = true,
            option::RELAY_AGENT => message.relay_agent = value,
            _ => {}
        }
        Ok(())
    }
}

fn address(reader: &mut Reader<'_>) -> Result<Ipv4Addr, Malformed> {
    reader.array::<4>("short address").map(Ipv4Addr::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut message = Message::new(Kind::Request, 0xDEAD_BEEF, [2, 0, 0, 0, 0, 7]);
        message.giaddr = Ipv4Addr::new(198, 18, 0, 30);
        message.requested = Some(Ipv4Addr::new(10, 0, 0, 7));
        message.server_id = Some(Ipv4Addr::new(198, 18, 0, 10));
        message.relay_agent = &[1, 2, b'e', b'0'];
        message.options = &[60, 3, b'a', b'b', b'c'];
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        assert_eq!(bytes.len(), SHORTEST);
        let again = read(&bytes).unwrap();
        assert_eq!(again.kind, Kind::Request);
        assert_eq!((again.xid, again.mac), (0xDEAD_BEEF, message.mac));
        assert_eq!(again.giaddr, message.giaddr);
        assert_eq!(again.requested, message.requested);
        assert_eq!(again.server_id, message.server_id);
        assert_eq!(again.relay_agent, message.relay_agent);
    }

    #[test]
    fn options_go_on_in_file_and_sname() {
        let mut bytes = Vec::new();
        Message::new(Kind::Offer, 1, [0; 6]).write(&mut bytes);
        bytes.truncate(240);
        bytes.extend([option::OVERLOAD, 1, 3, END]);
        bytes[108..112].copy_from_slice(&[option::MESSAGE_TYPE, 1, Kind::Offer as u8, END]);
        bytes[44..51].copy_from_slice(&[option::SERVER_ID, 4, 192, 0, 2, 1, END]);
        let message = read(&bytes).unwrap();
        assert_eq!(message.kind, Kind::Offer);
        assert_eq!(message.server_id, Some(Ipv4Addr::new(192, 0, 2, 1)));
    }

    #[test]
    fn what_is_cut_short_is_malformed() {
        let mut bytes = Vec::new();
        Message::new(Kind::Ack, 1, [0; 6]).write(&mut bytes);
        for length in 0..243 {
            assert!(read(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(read(&bytes[..243]).is_ok());
    }
}
