//! DHCPv6 clients: on the link, or behind relays.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use leaseload_packet::Malformed;
use leaseload_packet::dhcp6::{self, Address, Association, Message, Prefix, Relay, status};

use crate::generator::clients::{Lease, Want, hex, place_of};
use crate::generator::population::Crowd;
use crate::generator::protocol::{Ask, Dhcp, Meaning, NOTHING_GIVEN, Protocol, Reply};

/// Associations of every client.
const IAID: u32 = 1;

/// Common data of all clients.
#[derive(Clone, Debug)]
pub struct Dhcp6 {
    pub crowd: Crowd,
    pub want: Want,
    /// The link of each lane's relay; none where clients are on the link themselves.
    pub relays: Vec<Ipv6Addr>,
    /// Option 18 of each lane; empty for none.
    pub interface_id: Vec<Vec<u8>>,
    /// The upper bits of every transaction id: another for each thread.
    pub id_base: u32,
    /// DUIDs of servers that were seen, by the numbers that leases have.
    pub servers: Vec<Vec<u8>>,
}

impl Dhcp6 {
    /// DUID of a client: its kind's own, or DUID-LL (RFC 8415, 11.4).
    fn duid(&self, client: u64) -> Cow<'_, [u8]> {
        if let Some((kind, number)) = self.crowd.kind(client) {
            if !kind.duids.is_empty() {
                return (&kind.duids[number as usize % kind.duids.len()]).into();
            }
        }
        let [a, b, c, d, e, f] = self.crowd.mac(client);
        vec![0, 3, 0, 1, a, b, c, d, e, f].into()
    }

    /// The lease of a reply; None if a requested part is missing.
    fn given(&self, message: &Message<'_>) -> Result<Option<Lease>, &'static str> {
        let associations = [
            message.address.map(|association| association.status),
            message.prefix.map(|association| association.status),
        ];
        let statuses = associations.into_iter().flatten().chain([message.status]);
        if let Some(failed) = statuses.into_iter().find(|code| *code != status::SUCCESS) {
            return Err(word(failed));
        }
        Ok(self.lease(message))
    }

    fn lease(&self, message: &Message<'_>) -> Option<Lease> {
        let mut lease = Lease::default();
        // Where clients differ, what one asked for and did not get has its status.
        let differ = self.crowd.population.is_some();
        if self.want != Want::Prefix && !(differ && message.address.is_none()) {
            let association = message.address?;
            let address = association.value?;
            lease.address = address.address.into();
            (lease.valid_s, lease.renew_s) = (address.valid_s, association.renew_s);
            lease.rebind_s = association.rebind_s;
        }
        if self.want != Want::Address && !(differ && message.prefix.is_none()) {
            let association = message.prefix?;
            let prefix = association.value?;
            (lease.prefix, lease.prefix_length) = (prefix.prefix.into(), prefix.length);
            (lease.valid_s, lease.renew_s) = (prefix.valid_s, association.renew_s);
            lease.rebind_s = association.rebind_s;
        }
        if lease.address == 0 && lease.prefix == 0 {
            return None;
        }
        // Servers leave it to the client with a 0: RFC 8415, 21.4.
        if lease.renew_s == 0 {
            lease.renew_s = lease.valid_s / 2;
        }
        if lease.rebind_s == 0 {
            lease.rebind_s = lease.valid_s - lease.valid_s / 5;
        }
        Some(lease)
    }
}

/// Words of status codes.
fn word(code: u16) -> &'static str {
    match code {
        status::NO_ADDRESSES => "NoAddrsAvail",
        status::NO_BINDING => "NoBinding",
        4 => "NotOnLink",
        5 => "UseMulticast",
        status::NO_PREFIXES => "NoPrefixAvail",
        _ => "UnspecFail",
    }
}

impl Protocol for Dhcp6 {
    type Kind = Dhcp;

    fn id_bits(&self) -> u32 {
        20
    }

    fn kind(&self, kind: Dhcp, _: u64) -> Dhcp {
        kind
    }

    fn stage(&self, kind: Dhcp, is_second: bool) -> &'static str {
        match (kind, is_second) {
            (Dhcp::New, false) => "SOLICIT-ADVERTISE",
            (Dhcp::New | Dhcp::Rapid, true) => "REQUEST-REPLY",
            (Dhcp::Rapid, false) => "SOLICIT-REPLY",
            (Dhcp::Renew, _) => "RENEW-REPLY",
            (Dhcp::Rebind, _) => "REBIND-REPLY",
            (Dhcp::Reboot, _) => "CONFIRM-REPLY",
            (Dhcp::Inform, _) => "INFORMATION-REQUEST-REPLY",
            (Dhcp::Release, _) => "RELEASE-REPLY",
            (Dhcp::Decline, _) => "DECLINE-REPLY",
        }
    }

    fn is_answered(&self, _: Dhcp) -> bool {
        true
    }

    fn write(&self, ask: &Ask<'_, Dhcp>, out: &mut Vec<u8>) {
        let what = match (ask.kind, ask.is_second) {
            (Dhcp::New | Dhcp::Rapid, false) => dhcp6::Kind::Solicit,
            (Dhcp::New | Dhcp::Rapid, true) => dhcp6::Kind::Request,
            (Dhcp::Renew, _) => dhcp6::Kind::Renew,
            (Dhcp::Rebind, _) => dhcp6::Kind::Rebind,
            (Dhcp::Reboot, _) => dhcp6::Kind::Confirm,
            (Dhcp::Inform, _) => dhcp6::Kind::InformationRequest,
            (Dhcp::Release, _) => dhcp6::Kind::Release,
            (Dhcp::Decline, _) => dhcp6::Kind::Decline,
        };
        let kind = self.crowd.kind(ask.client).map(|(kind, _)| kind);
        let want = kind.map_or(self.want, |kind| kind.want);
        let duid = self.duid(ask.client);
        let mut message = Message::new(what, self.id_base | ask.id);
        message.client_id = &duid;
        message.elapsed = Some((ask.elapsed / 10_000_000).min(0xFFFF) as u16);
        message.rapid_commit = ask.kind == Dhcp::Rapid && !ask.is_second;
        let mut room = Vec::new();
        message.options = self.crowd.options(ask.client, &mut room);
        if !matches!(ask.kind, Dhcp::Rebind | Dhcp::Reboot | Dhcp::Inform) {
            let server = self.servers.get(ask.lease.server as usize);
            if ask.is_second || ask.kind.needs_lease() {
                message.server_id = server.map_or(&[], Vec::as_slice);
            }
        }
        let lease = ask.lease;
        if ask.kind != Dhcp::Inform {
            let has = |number: u128| number != 0;
            message.address = (want != Want::Prefix).then(|| {
                let address =
                    Address { address: lease.address.into(), preferred_s: 0, valid_s: 0 };
                Association::new(IAID, has(lease.address).then_some(address))
            });
            message.prefix = (want != Want::Address).then(|| {
                let prefix = Prefix {
                    prefix: lease.prefix.into(),
                    length: lease.prefix_length,
                    preferred_s: 0,
                    valid_s: 0,
                };
                Association::new(IAID, has(lease.prefix).then_some(prefix))
            });
        }
        let Some(&link) = self.relays.get(ask.lane) else {
            message.write(out);
            return;
        };
        let [a, b, c, d, e, f] = self.crowd.mac(ask.client);
        let peer = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f];
        let interface_id = self.interface_id.get(ask.lane).map_or(&[][..], Vec::as_slice);
        let mut agent = Vec::new();
        let relay = Relay {
            link: match kind.and_then(|kind| kind.relay) {
                Some(IpAddr::V6(link)) => link,
                _ => link,
            },
            peer: peer.into(),
            interface_id,
            options: kind.map_or(&[], |kind| kind.agent.of(ask.client, &mut agent)),
        };
        dhcp6::write_relayed(out, &relay, false, |out| message.write(out));
    }

    fn read<'a>(&mut self, bytes: &'a [u8]) -> Result<Reply<'a>, Malformed> {
        let (message, _) = dhcp6::read(bytes)?;
        let meaning = match message.kind {
            dhcp6::Kind::Advertise | dhcp6::Kind::Reply => {
                let is_offer = message.kind == dhcp6::Kind::Advertise;
                match self.given(&message) {
                    Ok(Some(mut lease)) => {
                        lease.server =
                            place_of(&mut self.servers, message.server_id, <[u8]>::to_vec);
                        if is_offer {
                            Meaning::Offered(lease)
                        } else {
                            Meaning::Done(Some(lease))
                        }
                    }
                    // As is right for a release, and wrong for a renewal.
                    Ok(None) if !is_offer => Meaning::Done(None),
                    Ok(None) => Meaning::Refused(NOTHING_GIVEN),
                    Err(word) => Meaning::Refused(word),
                }
            }
            _ => return Err(Malformed("a client's message")),
        };
        let word = if message.kind == dhcp6::Kind::Reply { "REPLY" } else { "ADVERTISE" };
        let id = message.xid & ((1 << self.id_bits()) - 1);
        Ok(Reply { id, who: message.client_id, meaning, word })
    }

    fn is_to(&self, client: u64, who: &[u8]) -> bool {
        who == self.duid(client).as_ref()
    }

    fn client_name(&self, client: u64) -> String {
        hex(&self.duid(client))
    }

    fn server_name(&self, number: u32) -> String {
        self.servers.get(number as usize).map_or_else(String::new, |duid| hex(duid))
    }

    fn patience(&self, kind: Dhcp, is_second: bool) -> (f64, f64) {
        match (kind, is_second) {
            (_, true) => (1.0, 30.0),
            (Dhcp::New | Dhcp::Rapid | Dhcp::Inform, _) => (1.0, 3600.0),
            (Dhcp::Renew | Dhcp::Rebind, _) => (10.0, 600.0),
            _ => (1.0, 4.0),
        }
    }
}
