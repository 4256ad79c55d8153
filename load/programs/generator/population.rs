//! A population: kinds of clients, each with its number, relay, options and identities.

use std::net::IpAddr;
use std::path::Path;

use serde_json::{Map, Value};

use crate::cli::{FIRST_MAC, MOST_CLIENTS, bytes_of};
use crate::clients::{Macs, Put, Template, read_mac};
use crate::words::Wrong;

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
    /// Its clients request an address (DHCPv6).
    pub addresses: bool,
    /// Its clients request a prefix (DHCPv6).
    pub prefixes: bool,
}

impl Population {
    /// Read the file of a population: `{"kinds": [{"clients": N, …}, …]}`.
    ///
    /// # Errors
    /// An error in it, with its place.
    pub fn open(path: &Path, put: Put, put_agent: Put, is_v6: bool) -> Result<Self, Wrong> {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{name}: cannot be read: {error}"))?;
        let document: Value =
            serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
        let listed = document.get("kinds").and_then(Value::as_array);
        let listed = listed.ok_or_else(|| format!("{name}: kinds: expected a list"))?;
        let (mut kinds, mut counts, mut first) = (Vec::new(), Vec::new(), FIRST_MAC);
        for (number, value) in listed.iter().enumerate() {
            let at = |wrong: Wrong| format!("{name}: kinds[{number}].{wrong}");
            let fields = Fields::of(value).map_err(at)?;
            let clients = fields.count("clients").map_err(at)?;
            kinds.push(fields.kind(first, put, put_agent, is_v6).map_err(at)?);
            counts.push(clients);
            first += clients;
        }
        let all = counts.iter().sum::<u64>();
        if !(1..=MOST_CLIENTS / 16).contains(&all) || kinds.len() > usize::from(u16::MAX) {
            return Err(format!(
                "{name}: found {} kinds with {all} clients, expected at most {} with 1 to {}",
                kinds.len(),
                u16::MAX,
                MOST_CLIENTS / 16
            ));
        }
        Ok(Self { kinds, clients: order(&counts) })
    }

    /// How many clients there are.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.clients.len() as u64
    }

    /// The kind of a client, and which one of that it is; clients come back in turn.
    #[must_use]
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

/// The members of a kind; those that are not known are refused.
struct Fields<'a>(&'a Map<String, Value>);

const KNOWN: [&str; 9] =
    ["name", "clients", "relay", "agent", "options", "first_mac", "macs", "duids", "want"];

impl<'a> Fields<'a> {
    fn of(value: &'a Value) -> Result<Self, Wrong> {
        let members = value.as_object().ok_or(": expected an object")?;
        match members.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            Some(key) => Err(format!("{key}: expected one of {}", KNOWN.join(", "))),
            None => Ok(Self(members)),
        }
    }

    fn count(&self, name: &str) -> Result<u64, Wrong> {
        let number = self.0.get(name).and_then(Value::as_u64);
        number
            .filter(|number| (1..=u64::from(u32::MAX)).contains(number))
            .ok_or_else(|| format!("{name}: expected a whole number, 1 or more"))
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>, Wrong> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| format!("{name}: expected a text"))
    }

    /// The texts of a list, each read; none where there is no list.
    fn each<T>(
        &self,
        name: &str,
        what: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, Wrong> {
        let Some(value) = self.0.get(name) else { return Ok(Vec::new()) };
        let listed = value.as_array().filter(|list| !list.is_empty());
        let listed = listed.ok_or_else(|| format!("{name}: expected a list"))?;
        let each = listed.iter().map(|value| value.as_str().and_then(&read));
        let all: Option<Vec<T>> = each.collect();
        all.ok_or_else(|| format!("{name}: expected {what}"))
    }

    fn kind(&self, first: u64, put: Put, put_agent: Put, is_v6: bool) -> Result<Kind, Wrong> {
        let relay = self.text("relay")?.map(|word| {
            let read = word.parse::<IpAddr>().ok().filter(|read| read.is_ipv6() == is_v6);
            read.ok_or("relay: expected an address of the protocol's family")
        });
        let mac = |word: &str| read_mac(word);
        let macs = match self.text("first_mac")? {
            Some(word) => {
                let [a, b, c, d, e, f] =
                    read_mac(word).ok_or("first_mac: expected a hardware address")?;
                Macs::From(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
            }
            None => match self.each("macs", "hardware addresses", mac)? {
                macs if macs.is_empty() => Macs::From(first),
                macs => Macs::Listed(macs),
            },
        };
        let (addresses, prefixes) = match self.text("want")?.unwrap_or("address") {
            "address" => (true, false),
            "prefix" => (false, true),
            "both" => (true, true),
            _ => return Err("want: expected address, prefix or both".into()),
        };
        let (most, longest) = if is_v6 { (65_535, 1024) } else { (254, 240) };
        let duid = |word: &str| bytes_of(word).filter(|duid| (1..=128).contains(&duid.len()));
        Ok(Kind {
            relay: relay.transpose()?,
            agent: self.template("agent", put_agent, most, longest)?,
            options: self.template("options", put, most, longest)?,
            macs,
            duids: self.each("duids", "DUIDs in hexadecimal digits", duid)?,
            addresses,
            prefixes,
        })
    }

    /// Options, each `[CODE, "text:…"]` or `[CODE, "hex:…"]`, in their order.
    fn template(
        &self,
        name: &str,
        put: Put,
        most: u64,
        longest: usize,
    ) -> Result<Template, Wrong> {
        let mut template = Template::new(put);
        let Some(value) = self.0.get(name) else { return Ok(template) };
        let wrong = || format!("{name}: expected a list of [CODE, \"text:…\" or \"hex:…\"]");
        let mut sum = 0;
        for option in value.as_array().ok_or_else(wrong)? {
            let parts = option.as_array().filter(|parts| parts.len() == 2);
            let parts = parts.ok_or_else(wrong)?;
            let code = parts[0].as_u64().filter(|code| (1..=most).contains(code));
            let value = parts[1].as_str().ok_or_else(wrong)?;
            let (value, is_text) = match value.split_once(':') {
                Some(("text", text)) => (text.as_bytes().to_vec(), true),
                Some(("hex", hex)) => (bytes_of(hex).ok_or_else(wrong)?, false),
                _ => return Err(wrong()),
            };
            sum += value.len() + 2;
            if value.len() > longest || (name == "agent" && sum > longest) {
                return Err(format!("{name}: found {} bytes, too many", value.len()));
            }
            template.add(code.ok_or_else(wrong)? as u16, &value, is_text);
        }
        Ok(template)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;
    use std::sync::Arc;

    use leaseload_packet::dhcp6;

    use super::*;
    use crate::clients::Lease;
    use crate::dhcp6::Dhcp6;
    use crate::protocol::{Ask, Protocol};

    fn read(kinds: &str) -> Result<Population, Wrong> {
        let place = std::env::temp_dir().join(format!(
            "leaseload-population-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&place, format!("{{\"kinds\": [{kinds}]}}")).unwrap();
        let read = Population::open(&place, dhcp6::put, dhcp6::put, true);
        std::fs::remove_file(place).unwrap();
        read
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
            macs: Macs::default(),
            population: Some(Arc::new(read(kinds).unwrap())),
            addresses: true,
            prefixes: true,
            relays: vec![Ipv6Addr::LOCALHOST],
            interface_id: Vec::new(),
            options: Template::new(dhcp6::put),
            id_base: 0,
            servers: Vec::new(),
        };
        let mut bytes = Vec::new();
        let ask = Ask {
            kind: crate::protocol::Kind::New,
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
            ("7", "kinds[0].: expected an object"),
            (r#"{"clients": 0}"#, "kinds[0].clients"),
            (r#"{"clients": 1}, {"clients": 1, "mac": ""}"#, "kinds[1].mac: expected one of"),
            (r#"{"clients": 1, "relay": "1.2.3.4"}"#, "relay: expected an address"),
            (r#"{"clients": 1, "options": [[0, "hex:"]]}"#, "options: expected a list"),
            (r#"{"clients": 1, "options": [[1, "hex:0"]]}"#, "options: expected a list"),
            (r#"{"clients": 1, "macs": []}"#, "macs: expected a list"),
            (r#"{"clients": 1, "duids": ["x"]}"#, "duids: expected DUIDs"),
            (r#"{"clients": 1, "want": "x"}"#, "want: expected"),
        ] {
            let wrong = read(kinds).unwrap_err();
            assert!(wrong.contains(expected), "{wrong}");
        }
    }
}
