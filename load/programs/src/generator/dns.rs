//! DNS queries and updates of a query file, in its order and over and over.

use leaseload_net::clock::{SECOND, realtime};
use leaseload_packet::Malformed;
use leaseload_packet::dns::{self, Edns, HEADER};

use crate::generator::cli::DnsTarget;
use crate::generator::protocol::{Ask, Dhcp, Meaning, Protocol, Reply, Request};
use crate::generator::recorded::without_time;
use crate::generator::tsig::Key;

/// The word for an answer that did not fit: its client would ask again over TCP.
const TRUNCATED: &str = "TRUNCATED";
/// The word for a request of HTTPS that has ended without an answer of status 200.
const HTTP_ERROR: &str = "HTTP-ERROR";

/// Common data of all queries.
#[derive(Clone, Debug)]
pub struct Dns {
    /// The queries, encoded, one after the other, and where each begins; one more at the end.
    queries: Vec<u8>,
    places: Vec<usize>,
    /// RCODEs that are expected.
    expected: Vec<u8>,
    /// Options of EDNS that name clients' networks, of which queries have one in turn.
    subnets: Vec<Vec<u8>>,
    /// Share of the queries that have one.
    subnet_share: f64,
    /// What updates are signed with.
    key: Option<Key>,
}

impl Dns {
    /// Read the query file of a target.
    pub fn open(target: &DnsTarget) -> Result<Self, String> {
        let path = target.queries.display();
        let text = std::fs::read_to_string(&target.queries)
            .map_err(|error| format!("{path}: cannot be read: {error}"))?;
        let dns = Self::read(&text, target.recursion, target.edns)
            .map_err(|(line, why)| format!("{path}:{line}: {why}"))?;
        Ok(Self {
            expected: target.expected.clone(),
            subnets: target.subnets.clone(),
            subnet_share: target.subnet_share,
            key: target.key.clone(),
            ..dns
        })
    }

    /// Read queries: a name and a type on each line, or `NAME UPDATE ZONE`, and maybe its time;
    /// `;` and `#` begin comments.
    pub fn read(
        text: &str,
        recursion: bool,
        edns: Option<Edns>,
    ) -> Result<Self, (usize, String)> {
        let (mut queries, mut places) = (Vec::new(), vec![0]);
        for (number, line) in text.lines().enumerate() {
            let (line, _) = without_time(line);
            if line.is_empty() || line.starts_with([';', '#']) {
                continue;
            }
            let wrong = |why: String| (number + 1, why);
            let (name, kind) = line
                .split_once(char::is_whitespace)
                .ok_or_else(|| wrong(format!("{line:?} is no name and type")))?;
            let kind = kind.trim();
            let query = match kind.split_once(char::is_whitespace) {
                Some(("UPDATE", zone)) => dns::update(name, zone.trim()),
                _ => dns::query(name, kind, recursion, edns),
            };
            let query = query.map_err(|error| wrong(format!("{line:?}: {}", error.0)))?;
            queries.extend(query);
            places.push(queries.len());
        }
        if places.len() == 1 {
            return Err((1, "no query in it".into()));
        }
        let (subnets, subnet_share) = (Vec::new(), 1.0);
        Ok(Self { queries, places, expected: vec![0], subnets, subnet_share, key: None })
    }

    fn query(&self, client: u64) -> &[u8] {
        let place = (client % (self.places.len() as u64 - 1)) as usize;
        &self.queries[self.places[place]..self.places[place + 1]]
    }

    /// The option of a query: shares are spread evenly over the queries.
    fn subnet(&self, client: u64) -> Option<&[u8]> {
        let before = |number: u64| (number as f64 * self.subnet_share) as u64;
        let turn = before(client);
        if self.subnets.is_empty() || before(client + 1) == turn {
            return None;
        }
        Some(&self.subnets[(turn % self.subnets.len() as u64) as usize])
    }
}

impl Protocol for Dns {
    type Kind = Request;

    fn id_bits(&self) -> u32 {
        16
    }

    fn kind(&self, _: Dhcp, client: u64) -> Request {
        if dns::is_update(self.query(client)) { Request::Update } else { Request::Query }
    }

    fn stage(&self, kind: Request, _: bool) -> &'static str {
        match kind {
            Request::Query => "QUERY-ANSWER",
            Request::Update => "UPDATE-ANSWER",
        }
    }

    fn is_answered(&self, _: Request) -> bool {
        true
    }

    fn write(&self, ask: &Ask<'_, Request>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(self.query(ask.client));
        out[start..start + 2].copy_from_slice(&(ask.id as u16).to_be_bytes());
        if dns::is_update(&out[start..]) {
            // An address that the name did not have: an update that changes nothing costs a
            // server less.
            let address = out.len() - 4;
            out[address..].copy_from_slice(&(ask.client as u32).to_be_bytes());
            if let Some(key) = &self.key {
                key.sign(out, start, realtime() / SECOND);
            }
        } else if let Some(option) = self.subnet(ask.client) {
            dns::add_option(out, option);
        }
    }

    fn read<'a>(&mut self, bytes: &'a [u8]) -> Result<Reply<'a>, Malformed> {
        if let [high, low] = bytes {
            // So says `Http` which request has failed.
            let (id, word) = (u32::from_be_bytes([0, 0, *high, *low]), HTTP_ERROR);
            return Ok(Reply { id, who: &[], meaning: Meaning::Refused(word), word });
        }
        let answer = dns::read(bytes)?;
        let word = if answer.truncated { TRUNCATED } else { dns::rcode_word(answer.rcode) };
        let is_expected = !answer.truncated && self.expected.contains(&answer.rcode);
        let meaning = if is_expected { Meaning::Done(None) } else { Meaning::Refused(word) };
        Ok(Reply { id: u32::from(answer.id), who: answer.question, meaning, word })
    }

    fn is_to(&self, client: u64, who: &[u8]) -> bool {
        // A server that could not read the query sends no question back.
        who.is_empty() || self.query(client)[HEADER..].starts_with(who)
    }

    fn patience(&self, _: Request, _: bool) -> (f64, f64) {
        (5.0, 5.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_queries_names_networks_in_turn() {
        let edns = Some(Edns { size: 1232, dnssec: false });
        let mut protocol = Dns::read("a A\n", false, edns).unwrap();
        assert_eq!(protocol.subnet(0), None);
        protocol.subnets = vec![vec![1], vec![2], vec![3]];
        protocol.subnet_share = 0.4;
        let named: Vec<_> = (0..10).filter_map(|client| protocol.subnet(client)).collect();
        assert_eq!(named, [&[1], &[2], &[3], &[1]]);
        protocol.subnet_share = 1.0;
        assert_eq!((0..10).filter_map(|client| protocol.subnet(client)).count(), 10);
    }

    #[test]
    fn each_update_of_a_name_brings_another_address() {
        let edns = Some(Edns { size: 1232, dnssec: false });
        let mut protocol = Dns::read("h.z. UPDATE z.\nz. SOA\n", false, edns).unwrap();
        protocol.subnets = vec![vec![1, 2, 3]];
        let written = |client| {
            let lease = crate::generator::clients::Lease::default();
            let (kind, id, is_second, elapsed, lane) = (Request::Query, 7, false, 0, 0);
            let ask = Ask { kind, id, client, lease: &lease, is_second, elapsed, lane };
            let mut bytes = Vec::new();
            protocol.write(&ask, &mut bytes);
            bytes
        };
        let (first, query, second) = (written(0), written(1), written(2));
        assert!(dns::is_update(&first) && dns::is_update(&second) && !dns::is_update(&query));
        assert_eq!(first.len(), second.len());
        assert!(first.ends_with(&[0, 4, 0, 0, 0, 0]) && second.ends_with(&[0, 4, 0, 0, 0, 2]));
        assert!(query.ends_with(&[1, 2, 3]));
        let kinds = [0, 1, 2].map(|client| protocol.kind(Dhcp::New, client));
        assert_eq!(kinds, [Request::Update, Request::Query, Request::Update]);
        for wrong in ["h.y. UPDATE z.", "h.z. UPDATE", "h.z. UPDATE z. 1.2.3.4"] {
            assert!(Dns::read(wrong, false, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_query_file_is_read_and_a_wrong_line_is_named() {
        let mut protocol = Dns::read("; all\nwww.a. A\n\nb AAAA\n", false, None).unwrap();
        let mut bytes = Vec::new();
        for (client, name) in [(0, b"\x03www\x01a\x00"), (2, b"\x03www\x01a\x00")] {
            bytes.clear();
            let lease = crate::generator::clients::Lease::default();
            let ask = Ask {
                kind: Request::Query,
                id: 0x1234,
                client,
                lease: &lease,
                is_second: false,
                elapsed: 0,
                lane: 0,
            };
            protocol.write(&ask, &mut bytes);
            assert_eq!(bytes[..2], [0x12, 0x34]);
            assert!(bytes[HEADER..].starts_with(name));
        }
        let (id, question) = dns::read_query(&bytes).unwrap();
        let mut answer = Vec::new();
        dns::put_answer(&mut answer, id, question, 5, None);
        let reply = protocol.read(&answer).unwrap();
        assert_eq!(reply.meaning, Meaning::Refused("REFUSED"));
        assert!(protocol.is_to(0, reply.who) && !protocol.is_to(1, reply.who));
        for (text, line) in [("a A\nb\n", 2), ("a A\nb XX\n", 2), ("\n#\n", 1)] {
            assert_eq!(Dns::read(text, false, None).unwrap_err().0, line, "{text:?}");
        }
    }
}
