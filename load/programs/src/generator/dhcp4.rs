//! DHCPv4 clients: behind relays, or on the link.

use std::net::{IpAddr, Ipv4Addr};

use leaseload_packet::Malformed;
use leaseload_packet::dhcp4::{self, Message};
use leaseload_packet::frame::{self, EVERYBODY, End};

use crate::generator::clients::{Lease, Mac, hex, place_of};
use crate::generator::population::Crowd;
use crate::generator::protocol::{Ask, Dhcp, Meaning, Protocol, Reply};

/// Common data of all clients.
#[derive(Clone, Debug)]
pub struct Dhcp4 {
    pub crowd: Crowd,
    /// The relay of each lane; none where clients broadcast.
    pub relays: Vec<Ipv4Addr>,
    /// Option 82 of each lane, its sub-options encoded; empty for none.
    pub relay_agent: Vec<Vec<u8>>,
    /// The upper bits of every transaction id: another for each thread.
    pub id_base: u32,
    /// Tags of the VLANs of clients on the link; None where they are behind relays.
    pub link: Option<Vec<u16>>,
    /// Servers that were seen, by the numbers that leases have.
    pub servers: Vec<Server>,
}

/// A server: its identifier, and the hardware address that it answers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    address: Ipv4Addr,
    mac: Mac,
}

fn v4(address: u128) -> Ipv4Addr {
    Ipv4Addr::from(address as u32)
}

impl Protocol for Dhcp4 {
    type Kind = Dhcp;

    fn id_bits(&self) -> u32 {
        24
    }

    fn kind(&self, kind: Dhcp, _: u64) -> Dhcp {
        kind
    }

    fn stage(&self, kind: Dhcp, is_second: bool) -> &'static str {
        match (kind, is_second) {
            (Dhcp::New, false) => "DISCOVER-OFFER",
            (Dhcp::New | Dhcp::Rapid, true) => "REQUEST-ACK",
            (Dhcp::Rapid, false) => "DISCOVER-ACK",
            (Dhcp::Renew, _) => "RENEW-ACK",
            (Dhcp::Rebind, _) => "REBIND-ACK",
            (Dhcp::Reboot, _) => "REBOOT-ACK",
            (Dhcp::Inform, _) => "INFORM-ACK",
            (Dhcp::Release, _) => "RELEASE",
            (Dhcp::Decline, _) => "DECLINE",
        }
    }

    fn is_answered(&self, kind: Dhcp) -> bool {
        !matches!(kind, Dhcp::Release | Dhcp::Decline)
    }

    fn write(&self, ask: &Ask<'_, Dhcp>, out: &mut Vec<u8>) {
        let kind = match (ask.kind, ask.is_second) {
            (Dhcp::New | Dhcp::Rapid, false) => dhcp4::Kind::Discover,
            (Dhcp::Inform, _) => dhcp4::Kind::Inform,
            (Dhcp::Release, _) => dhcp4::Kind::Release,
            (Dhcp::Decline, _) => dhcp4::Kind::Decline,
            _ => dhcp4::Kind::Request,
        };
        let mut message =
            Message::new(kind, self.id_base | ask.id, self.crowd.mac(ask.client));
        let relay = self.relays.get(ask.lane).copied();
        message.giaddr = relay.unwrap_or(Ipv4Addr::UNSPECIFIED);
        message.hops = u8::from(relay.is_some());
        message.broadcast = relay.is_none();
        message.secs = (ask.elapsed / 1_000_000_000) as u16;
        let known = self.servers.get(ask.lease.server as usize);
        let server = known.map(|known| known.address);
        match ask.kind {
            _ if ask.is_second => {
                message.requested = Some(v4(ask.lease.address));
                message.server_id = server;
            }
            Dhcp::Rapid => message.rapid_commit = true,
            // Servers answer there (RFC 2131, 4.3.5): behind a relay it is this host's.
            Dhcp::Inform => message.ciaddr = relay.unwrap_or(v4(ask.lease.address)),
            Dhcp::Renew | Dhcp::Rebind => message.ciaddr = v4(ask.lease.address),
            Dhcp::Reboot => message.requested = Some(v4(ask.lease.address)),
            Dhcp::Release => {
                message.ciaddr = v4(ask.lease.address);
                message.server_id = server;
            }
            Dhcp::Decline => {
                message.requested = Some(v4(ask.lease.address));
                message.server_id = server;
            }
            _ => {}
        }
        let (mut room, mut agent) = (Vec::new(), Vec::new());
        message.options = self.crowd.options(ask.client, &mut room);
        if let Some((kind, _)) = self.crowd.kind(ask.client) {
            if let Some(IpAddr::V4(relay)) = kind.relay {
                message.giaddr = relay;
            }
            message.relay_agent = kind.agent.of(ask.client, &mut agent);
        } else {
            message.relay_agent = self.relay_agent.get(ask.lane).map_or(&[], Vec::as_slice);
        }
        let Some(vlans) = &self.link else {
            message.write(out);
            return;
        };
        let from = End { mac: message.mac, address: message.ciaddr, port: dhcp4::CLIENT_PORT };
        let mut to =
            End { mac: EVERYBODY, address: Ipv4Addr::BROADCAST, port: dhcp4::SERVER_PORT };
        if let (Dhcp::Renew | Dhcp::Release, Some(server)) = (ask.kind, known) {
            (to.mac, to.address) = (server.mac, server.address);
        }
        frame::write(out, vlans, &from, &to, |out| message.write(out));
    }

    fn read<'a>(&mut self, bytes: &'a [u8]) -> Result<Reply<'a>, Malformed> {
        let (mac, bytes) = match self.link {
            Some(_) => frame::read(bytes).map(|(from, inside)| (from.mac, inside))?,
            None => (Mac::default(), bytes),
        };
        let message = dhcp4::read(bytes)?;
        let meaning = match message.kind {
            dhcp4::Kind::Nak => Meaning::Refused("NAK"),
            dhcp4::Kind::Offer | dhcp4::Kind::Ack => {
                let address = message.server_id.unwrap_or(Ipv4Addr::UNSPECIFIED);
                let server = Server { address, mac };
                let valid_s = message.lease_s.unwrap_or(0);
                let lease = Lease {
                    address: u128::from(u32::from(message.yiaddr)),
                    server: place_of(&mut self.servers, &server, |server| *server),
                    valid_s,
                    renew_s: message.renew_s.unwrap_or(valid_s / 2),
                    rebind_s: message.rebind_s.unwrap_or(valid_s - valid_s / 8),
                    ..Lease::default()
                };
                if message.kind == dhcp4::Kind::Offer {
                    Meaning::Offered(lease)
                } else {
                    Meaning::Done((lease.address != 0).then_some(lease))
                }
            }
            _ => return Err(Malformed("a client's message")),
        };
        let word = match message.kind {
            dhcp4::Kind::Offer => "OFFER",
            dhcp4::Kind::Ack => "ACK",
            _ => "NAK",
        };
        // The header's own bytes: 28 to 34 are the hardware address.
        Ok(Reply {
            id: message.xid & ((1 << self.id_bits()) - 1),
            who: &bytes[28..34],
            meaning,
            word,
        })
    }

    fn is_to(&self, client: u64, who: &[u8]) -> bool {
        who == self.crowd.mac(client)
    }

    fn client_name(&self, client: u64) -> String {
        hex(&self.crowd.mac(client))
    }

    fn server_name(&self, number: u32) -> String {
        let server = self.servers.get(number as usize);
        server.map_or_else(String::new, |server| server.address.to_string())
    }

    fn patience(&self, kind: Dhcp, _: bool) -> (f64, f64) {
        // RFC 2131, 4.4.5: clients with a lease wait for a minute at least.
        if matches!(kind, Dhcp::Renew | Dhcp::Rebind) { (60.0, 60.0) } else { (4.0, 64.0) }
    }
}
