//! DHCPv4 clients: behind relays, or on the link.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use leaseload_packet::Malformed;
use leaseload_packet::dhcp4::{self, Message};
use leaseload_packet::frame::{self, EVERYBODY, End};

use crate::clients::{Lease, Mac, Macs, Template, place_of};
use crate::population::Population;
use crate::protocol::{Ask, Kind, Meaning, Protocol, Reply};

/// Common data of all clients.
#[derive(Clone, Debug)]
pub struct Dhcp4 {
    /// Who clients are.
    pub macs: Macs,
    /// Kinds of clients, which have their own of most of this; None where all are alike.
    pub population: Option<Arc<Population>>,
    /// The relay of each lane; none where clients broadcast.
    pub relays: Vec<Ipv4Addr>,
    /// Option 82 of each lane, its sub-options encoded; empty for none.
    pub relay_agent: Vec<Vec<u8>>,
    /// Further options of every message.
    pub options: Template,
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

impl Dhcp4 {
    /// The hardware address of a client.
    fn mac(&self, client: u64) -> Mac {
        self.population.as_ref().map_or_else(
            || self.macs.of(client),
            |population| {
                let (kind, number) = population.of(client);
                kind.macs.of(number)
            },
        )
    }
}

fn v4(address: u128) -> Ipv4Addr {
    Ipv4Addr::from(address as u32)
}

impl Protocol for Dhcp4 {
    fn id_bits(&self) -> u32 {
        24
    }

    fn stage(&self, kind: Kind, is_second: bool) -> &'static str {
        match (kind, is_second) {
            (Kind::New, false) => "DISCOVER-OFFER",
            (Kind::New | Kind::Rapid, true) => "REQUEST-ACK",
            (Kind::Rapid, false) => "DISCOVER-ACK",
            (Kind::Renew, _) => "RENEW-ACK",
            (Kind::Rebind, _) => "REBIND-ACK",
            (Kind::Reboot, _) => "REBOOT-ACK",
            (Kind::Inform, _) => "INFORM-ACK",
            (Kind::Release, _) => "RELEASE",
            (Kind::Decline, _) => "DECLINE",
            (Kind::Query | Kind::Update, _) => unreachable!("of DNS"),
        }
    }

    fn is_answered(&self, kind: Kind) -> bool {
        !matches!(kind, Kind::Release | Kind::Decline)
    }

    fn write(&self, ask: &Ask<'_>, out: &mut Vec<u8>) {
        let kind = match (ask.kind, ask.is_second) {
            (Kind::New | Kind::Rapid, false) => dhcp4::Kind::Discover,
            (Kind::Inform, _) => dhcp4::Kind::Inform,
            (Kind::Release, _) => dhcp4::Kind::Release,
            (Kind::Decline, _) => dhcp4::Kind::Decline,
            _ => dhcp4::Kind::Request,
        };
        let mut message = Message::new(kind, self.id_base | ask.id, self.mac(ask.client));
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
            Kind::Rapid => message.rapid_commit = true,
            // Servers answer there (RFC 2131, 4.3.5): behind a relay it is this host's.
            Kind::Inform => message.ciaddr = relay.unwrap_or(v4(ask.lease.address)),
            Kind::Renew | Kind::Rebind => message.ciaddr = v4(ask.lease.address),
            Kind::Reboot => message.requested = Some(v4(ask.lease.address)),
            Kind::Release => {
                message.ciaddr = v4(ask.lease.address);
                message.server_id = server;
            }
            Kind::Decline => {
                message.requested = Some(v4(ask.lease.address));
                message.server_id = server;
            }
            _ => {}
        }
        let (mut room, mut agent) = (Vec::new(), Vec::new());
        if let Some(population) = &self.population {
            let (kind, _) = population.of(ask.client);
            if let Some(IpAddr::V4(relay)) = kind.relay {
                message.giaddr = relay;
            }
            message.options = kind.options.of(ask.client, &mut room);
            message.relay_agent = kind.agent.of(ask.client, &mut agent);
        } else {
            message.options = self.options.of(ask.client, &mut room);
            message.relay_agent = self.relay_agent.get(ask.lane).map_or(&[], Vec::as_slice);
        }
        let Some(vlans) = &self.link else {
            message.write(out);
            return;
        };
        let from = End { mac: message.mac, address: message.ciaddr, port: dhcp4::CLIENT_PORT };
        let mut to =
            End { mac: EVERYBODY, address: Ipv4Addr::BROADCAST, port: dhcp4::SERVER_PORT };
        if let (Kind::Renew | Kind::Release, Some(server)) = (ask.kind, known) {
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
        who == self.mac(client)
    }

    fn patience(&self, kind: Kind, _: bool) -> (f64, f64) {
        // RFC 2131, 4.4.5: clients with a lease wait for a minute at least.
        if matches!(kind, Kind::Renew | Kind::Rebind) { (60.0, 60.0) } else { (4.0, 64.0) }
    }
}
