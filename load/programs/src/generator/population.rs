//! A population: kinds of clients, each with its number, relay, options and identities.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::Deserialize;

use crate::generator::clients::{
    Encoding, FIRST_MAC, MOST_CLIENTS, Mac, Macs, OptionValue, Template, Want, bytes_of,
    read_mac,
};
use crate::words::Wrong;

/// Who clients are, and what each of their messages has.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// Who clients are.
    pub macs: Macs,
    /// Kinds of clients, which have their own of all; None where all are alike.
    pub population: Option<Arc<Population>>,
    /// Further options of every message.
    pub options: Template,
}

impl Crowd {
    /// The kind of a client, and which client of that it is.
    pub fn kind(&self, client: u64) -> Option<(&Kind, u64)> {
        self.population.as_ref().map(|population| population.of(client))
    }

    /// The hardware address of a client.
    pub fn mac(&self, client: u64) -> Mac {
        let of_kind = self.kind(client).map(|(kind, number)| kind.macs.of(number));
        of_kind.unwrap_or_else(|| self.macs.of(client))
    }

    /// Further options of a client, encoded; `room` holds them where they are its own.
    pub fn options<'a>(&'a self, client: u64, room: &'a mut Vec<u8>) -> &'a [u8] {
        self.kind(client).map_or(&self.options, |(kind, _)| &kind.options).of(client, room)
    }
}

/// Kinds of clients, and the order in which their clients come.
#[derive(Clone, Debug)]
pub struct Population {
    kinds: Vec<Kind>,
    /// Of each client its kind, and which one of that it is.
    clients: Vec<(u16, u32)>,
}

/// Common data of the clients of one kind.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Its relay: giaddr (DHCPv4) or link address (DHCPv6); the lane's own where there is none.
    pub relay: Option<IpAddr>,
    /// Sub-options of option 82 (DHCPv4) or options of the relay (DHCPv6), encoded.
    pub agent: Template,
    /// Further options of every message.
    pub options: Template,
    /// Who its clients are.
    pub macs: Macs,
    /// DUIDs of its clients (DHCPv6); made of hardware addresses where it is empty.
    pub duids: Vec<Vec<u8>>,
    /// What its clients request (DHCPv6).
    pub want: Want,
}

/// The file of a population.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    kinds: Vec<Described>,
}

/// A kind as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    /// For people.
    #[serde(rename = "name")]
    _name: Option<String>,
    clients: NonZeroU32,
    relay: Option<IpAddr>,
    #[serde(default)]
    agent: Vec<(u16, OptionValue)>,
    #[serde(default)]
    options: Vec<(u16, OptionValue)>,
    first_mac: Option<String>,
    macs: Option<Vec<String>>,
    duids: Option<Vec<String>>,
    #[serde(default)]
    want: Want,
}

impl Described {
    fn kind(self, first: u64, encoding: Encoding) -> Result<Kind, Wrong> {
        if self.relay.is_some_and(|relay| relay.is_ipv6() != encoding.is_v6) {
            return Err("relay: expected an address of the protocol's family".into());
        }
        let macs = match (self.first_mac, self.macs) {
            (Some(word), _) => read_mac(&word)
                .map(Macs::after)
                .ok_or("first_mac: expected a hardware address")?,
            (None, Some(words)) => Macs::Listed(
                each(&words, read_mac).ok_or("macs: expected hardware addresses")?,
            ),
            (None, None) => Macs::From(first),
        };
        let duid = |word: &str| bytes_of(word).filter(|duid| (1..=128).contains(&duid.len()));
        let duids = self.duids.map(|words| {
            each(&words, duid).ok_or("duids: expected DUIDs in hexadecimal digits")
        });
        // The agent's are one option of DHCPv4, and the relay's message of DHCPv6 has no more.
        let size: usize = self.agent.iter().map(|(_, value)| value.size() + 2).sum();
        if size > encoding.longest {
            return Err(format!("agent: found {size} bytes, too many"));
        }
        Ok(Kind {
            relay: self.relay,
            agent: template("agent", &self.agent, encoding)?,
            options: template("options", &self.options, encoding)?,
            macs,
            duids: duids.transpose()?.unwrap_or_default(),
            want: self.want,
        })
    }
}

/// Each text of a list, read; None if there is none, or a wrong one.
fn each<T>(words: &[String], read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let all: Option<Vec<T>> = words.iter().map(|word| read(word)).collect();
    all.filter(|all| !all.is_empty())
}

fn template(
    name: &str,
    options: &[(u16, OptionValue)],
    encoding: Encoding,
) -> Result<Template, Wrong> {
    let mut template = Template::new(encoding);
    for (code, value) in options {
        template.add(*code, value).map_err(|wrong| format!("{name}: {wrong}"))?;
    }
    Ok(template)
}

impl Population {
    /// Read the text of a population: `{"kinds": [{"clients": N, …}, …]}`.
    pub fn read(text: &str, encoding: Encoding) -> Result<Self, Wrong> {
        let document: Document =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let (mut kinds, mut counts, mut first) = (Vec::new(), Vec::new(), FIRST_MAC);
        for (number, described) in document.kinds.into_iter().enumerate() {
            let clients = u64::from(described.clients.get());
            let kind = described.kind(first, encoding);
            kinds.push(kind.map_err(|wrong| format!("kinds[{number}].{wrong}"))?);
            counts.push(clients);
            first += clients;
        }
        let all = counts.iter().sum::<u64>();
        if !(1..=MOST_CLIENTS / 16).contains(&all) || kinds.len() > usize::from(u16::MAX) {
            return Err(format!(
                "found {} kinds with {all} clients, expected at most {} with 1 to {}",
                kinds.len(),
                u16::MAX,
                MOST_CLIENTS / 16
            ));
        }
        Ok(Self { kinds, clients: order(&counts) })
    }

    /// How many clients there are.
    pub fn size(&self) -> u64 {
        self.clients.len() as u64
    }

    /// The kind of a client, and which one of that it is; clients come back in turn.
    pub fn of(&self, client: u64) -> (&Kind, u64) {
        let (kind, number) = self.clients[(client % self.size()) as usize];
        (&self.kinds[usize::from(kind)], number.into())
    }
}

/// Clients of every kind, spread evenly: those of a kind with a tenth of all come every tenth.
fn order(counts: &[u64]) -> Vec<(u16, u32)> {
    let mut clients: Vec<(f64, u16, u32)> = Vec::new();
    for (kind, &count) in counts.iter().enumerate() {
        let place = |number: u64| (number as f64 + 0.5) / count as f64;
        clients.extend((0..count).map(|number| (place(number), kind as u16, number as u32)));
    }
    clients.sort_by(|one, other| one.0.total_cmp(&other.0));
    clients.into_iter().map(|(_, kind, number)| (kind, number)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use leaseload_packet::dhcp6;

    use super::*;
    use crate::generator::clients::Lease;
    use crate::generator::dhcp6::Dhcp6;
    use crate::generator::protocol::{Ask, Protocol};

    fn read(kinds: &str) -> Result<Population, Wrong> {
        Population::read(&format!("{{\"kinds\": [{kinds}]}}"), Encoding::DHCP6)
    }

    #[test]
    fn clients_of_every_kind_come_evenly_and_each_once() {
        let population = read(r#"{"clients": 9}, {"clients": 3, "relay": "::1"}"#).unwrap();
        let relayed = |client| population.of(client).0.relay.is_some();
        let places: Vec<_> = (0..12).filter(|&client| relayed(client)).collect();
        assert_eq!(places.len(), 3);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] == 4), "{places:?}");
        let mac = |client| {
            let (kind, number) = population.of(client);
            kind.macs.of(number)
        };
        let mut macs: Vec<_> = (0..12).map(mac).collect();
        macs.sort_unstable();
        macs.dedup();
        assert_eq!(macs.len(), 12);
        assert_eq!(mac(12), mac(0));
    }

    #[test]
    fn a_message_has_the_relay_and_options_of_its_clients_kind() {
        let kinds = r#"{"clients": 1, "relay": "2001:db8::1", "agent": [[37, "text:r{client}"]],
            "options": [[15, "hex:0001"]], "duids": ["0002ff"], "want": "prefix"}"#;
        let protocol = Dhcp6 {
            crowd: Crowd {
                macs: Macs::From(0),
                population: Some(Arc::new(read(kinds).unwrap())),
                options: Template::new(Encoding::DHCP6),
            },
            want: Want::Both,
            relays: vec![Ipv6Addr::LOCALHOST],
            interface_id: Vec::new(),
            id_base: 0,
            servers: Vec::new(),
        };
        let mut bytes = Vec::new();
        let ask = Ask {
            kind: crate::generator::protocol::Dhcp::New,
            id: 1,
            client: 0,
            lease: &Lease::default(),
            is_second: false,
            elapsed: 0,
            lane: 0,
        };
        protocol.write(&ask, &mut bytes);
        let (message, relay) = dhcp6::read(&bytes).unwrap();
        assert_eq!(relay.unwrap().link, "2001:db8::1".parse::<Ipv6Addr>().unwrap());
        assert_eq!(message.client_id, [0, 2, 0xff]);
        assert!(message.address.is_none() && message.prefix.is_some());
        for option in [&b"\0\x25\0\x02r0"[..], b"\0\x0f\0\x02\0\x01"] {
            assert!(bytes.windows(option.len()).any(|place| place == option), "{option:?}");
        }
        assert!(protocol.is_to(0, &[0, 2, 0xff]));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (kinds, expected) in [
            ("", "0 kinds with 0 clients"),
            ("7", "expected struct Described at line 1 column 12"),
            (r#"{"clients": 0}"#, "nonzero u32"),
            (r#"{"clients": 1}, {"clients": 1, "mac": ""}"#, "unknown field `mac`, expected"),
            (r#"{"clients": 1, "relay": "1.2.3.4"}"#, "kinds[0].relay: expected an address"),
            (r#"{"clients": 1, "relay": "here"}"#, "invalid IP address"),
            (r#"{"clients": 1, "options": [[0, "hex:"]]}"#, "options: found code 0"),
            (r#"{"clients": 1, "options": [[1, "hex:0"]]}"#, "or \"hex:…\" at line 1"),
            (r#"{"clients": 1, "options": [[1]]}"#, "tuple of size 2"),
            (r#"{"clients": 1, "macs": []}"#, "macs: expected hardware addresses"),
            (r#"{"clients": 1, "duids": ["x"]}"#, "duids: expected DUIDs"),
            (r#"{"clients": 1, "want": "x"}"#, "unknown variant `x`, expected"),
        ] {
            let wrong = read(kinds).unwrap_err();
            assert!(wrong.contains(expected), "{wrong}");
        }
    }
}
