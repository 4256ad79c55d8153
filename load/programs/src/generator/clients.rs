//! Clients: their identities and their leases.

use std::collections::VecDeque;

use leaseload_packet::{dhcp4, dhcp6};
use serde::Deserialize;

/// The first client of perfdhcp, so that the same clients come by default.
pub const FIRST_MAC: u64 = 0x000c_0102_0304;
/// As many as there can be.
pub const MOST_CLIENTS: u64 = 1 << 32;

/// What clients request (DHCPv6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Want {
    /// An address.
    #[default]
    Address,
    /// A prefix.
    Prefix,
    /// Both of them.
    Both,
}

/// The lease of a client. Addresses of DHCPv4 are in the low 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// The address; 0 for none.
    pub address: u128,
    /// The first address of a delegated prefix; 0 for none.
    pub prefix: u128,
    /// Length of the prefix (bits).
    pub prefix_length: u8,
    /// Which of the servers that were seen it is from.
    pub server: u32,
    /// For how long it is valid (s); 0 where nothing was given.
    pub valid_s: u32,
    /// When the client renews it (s).
    pub renew_s: u32,
    /// When it rebinds it (s).
    pub rebind_s: u32,
}

/// A hardware address (Ethernet).
pub type Mac = [u8; 6];

/// The hardware addresses of clients.
#[derive(Clone, Debug)]
pub enum Macs {
    /// Those that follow a first one.
    From(u64),
    /// Those of a list, which has at least one.
    Listed(Vec<Mac>),
}

impl Macs {
    /// Those of a first one and behind it.
    pub fn after(first: Mac) -> Self {
        let [a, b, c, d, e, f] = first;
        Self::From(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// The address of a client.
    pub fn of(&self, client: u64) -> Mac {
        match self {
            Self::From(first) => {
                let [_, _, mac @ ..] = first.wrapping_add(client).to_be_bytes();
                mac
            }
            Self::Listed(macs) => macs[(client % macs.len() as u64) as usize],
        }
    }
}

/// `aa:bb:cc:dd:ee:ff`, read; None for other text.
pub fn read_mac(text: &str) -> Option<Mac> {
    let mut mac = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut mac {
        let part = parts.next().filter(|part| part.len() <= 2)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

/// The bytes of hexadecimal digits; None for other text.
pub fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    if !hex.is_ascii() || digits.len() % 2 != 0 {
        return None;
    }
    let pair = |place: usize| u8::from_str_radix(&hex[place..place + 2], 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How options are encoded, and what they have room for.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    put: fn(&mut Vec<u8>, u16, &[u8]),
    last_code: u16,
    /// With room for the longest number of a client (bytes).
    pub longest: usize,
    /// Of DHCPv6.
    pub is_v6: bool,
}

impl Encoding {
    /// That of DHCPv4, whose codes are bytes.
    pub const DHCP4: Self = Self {
        put: |out, code, value| dhcp4::put(out, code as u8, value),
        last_code: 254,
        longest: 240,
        is_v6: false,
    };
    /// That of DHCPv6.
    pub const DHCP6: Self =
        Self { put: dhcp6::put, last_code: u16::MAX, longest: 1024, is_v6: true };
}

/// The value of an option: `text:WORDS`, in which `{client}` stands for the client's number, or
/// `hex:DIGITS`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct OptionValue {
    bytes: Vec<u8>,
    is_text: bool,
}

impl OptionValue {
    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

impl TryFrom<String> for OptionValue {
    type Error = &'static str;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        let bytes = match word.split_once(':') {
            Some(("text", text)) => Some(text.as_bytes().to_vec()),
            Some(("hex", digits)) => bytes_of(digits),
            _ => None,
        };
        let bytes = bytes.ok_or("expected \"text:…\" or \"hex:…\"")?;
        Ok(Self { bytes, is_text: word.starts_with("text:") })
    }
}

/// Options that all clients send, some with the client's number in them.
///
/// Built of pieces: those of bytes are as they are; between two of them stands the number of
/// the client, and the length of its option is made up for it.
#[derive(Clone, Debug)]
pub struct Template {
    encoding: Encoding,
    options: Vec<(u16, Vec<Piece>)>,
    /// All options, encoded; empty where they differ from client to client.
    fixed: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Client,
}

impl Template {
    /// No options, of a protocol with this encoding.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, options: Vec::new(), fixed: Vec::new() }
    }

    /// Add an option by its code.
    pub fn add(&mut self, code: u16, value: &OptionValue) -> Result<(), String> {
        let Encoding { last_code, longest, .. } = self.encoding;
        if !(1..=last_code).contains(&code) {
            return Err(format!("found code {code}, expected 1 to {last_code}"));
        }
        if value.size() > longest {
            return Err(format!("found {} bytes, too many", value.size()));
        }
        let text = String::from_utf8_lossy(&value.bytes);
        let pieces = match text.split_once("{client}").filter(|_| value.is_text) {
            Some((before, after)) => vec![
                Piece::Bytes(before.as_bytes().to_vec()),
                Piece::Client,
                Piece::Bytes(after.as_bytes().to_vec()),
            ],
            None => vec![Piece::Bytes(value.bytes.clone())],
        };
        self.options.push((code, pieces));
        let mut pieces = self.options.iter().flat_map(|(_, pieces)| pieces);
        let is_fixed = !pieces.any(|piece| matches!(piece, Piece::Client));
        self.fixed = if is_fixed { self.encoded(0) } else { Vec::new() };
        Ok(())
    }

    /// The options of a client, encoded; `room` holds them where they are its own.
    pub fn of<'a>(&'a self, client: u64, room: &'a mut Vec<u8>) -> &'a [u8] {
        if self.fixed.is_empty() && !self.options.is_empty() {
            *room = self.encoded(client);
            return room;
        }
        &self.fixed
    }

    fn encoded(&self, client: u64) -> Vec<u8> {
        let (mut out, mut value) = (Vec::new(), Vec::new());
        for (code, pieces) in &self.options {
            value.clear();
            for piece in pieces {
                match piece {
                    Piece::Bytes(bytes) => value.extend(bytes),
                    Piece::Client => value.extend(client.to_string().bytes()),
                }
            }
            (self.encoding.put)(&mut out, *code, &value);
        }
        out
    }
}

/// The place of a server in the list of those that were seen, to which it is added.
pub fn place_of<T: PartialEq<U>, U: ?Sized>(
    seen: &mut Vec<T>,
    server: &U,
    new: impl FnOnce(&U) -> T,
) -> u32 {
    let known = seen.iter().position(|known| known == server);
    known.unwrap_or_else(|| {
        seen.push(new(server));
        seen.len() - 1
    }) as u32
}

/// The order of the clients, and their leases.
///
/// New clients are counted from 0, or come back in turn where there is a population. Clients
/// that hold a lease wait in a queue for the next action with it.
#[derive(Debug)]
pub struct Clients {
    next: u64,
    step: u64,
    population: Option<u64>,
    keeps: bool,
    held: Vec<Held>,
    queue: VecDeque<u64>,
}

/// The lease of a client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Its lease, or the one that it had last.
    pub lease: Lease,
    /// When it was given (monotonic, ns).
    pub given_at: u64,
    /// Increases with each event that cancels its planned actions.
    pub version: u32,
    /// The exchange that it has begun last.
    pub exchange: u64,
    is_queued: bool,
}

impl Clients {
    /// The clients of thread `thread` of `threads`: every so-manieth.
    pub fn new(thread: u64, threads: u64, population: Option<u64>) -> Self {
        Self {
            next: thread,
            step: threads,
            population,
            keeps: false,
            held: Vec::new(),
            queue: VecDeque::new(),
        }
    }

    /// Remember leases from now on, as something will be done with them.
    pub fn keep(&mut self) {
        self.keeps = true;
        self.held.reserve((self.share() as usize).saturating_sub(self.held.len()));
    }

    /// The next client to request a lease.
    pub fn next_client(&mut self) -> u64 {
        let client = self.next;
        self.next += self.step;
        if self.population.is_some_and(|size| self.next >= size) {
            self.next %= self.step;
        }
        client
    }

    /// How many clients of the population are this thread's.
    pub fn share(&self) -> u64 {
        let thread = self.next % self.step;
        self.population.map_or(0, |size| (size + self.step - 1 - thread) / self.step)
    }

    /// The client whose turn it is to do something with its lease; it is out of the queue.
    pub fn holder(&mut self) -> Option<(u64, Lease)> {
        let client = self.queue.pop_front()?;
        let held = self.held(client);
        held.is_queued = false;
        Some((client, held.lease))
    }

    /// A client holds a lease, and waits in the queue for the next action with it.
    pub fn hold(&mut self, client: u64, lease: Lease) {
        if !self.keeps {
            return;
        }
        self.held(client).lease = lease;
        self.wait(client);
    }

    /// A client still holds its lease, and comes to the end of the queue if it is not in it.
    pub fn wait(&mut self, client: u64) {
        let held = self.held(client);
        if !std::mem::replace(&mut held.is_queued, true) {
            self.queue.push_back(client);
        }
    }

    /// A client was given its lease at a time (monotonic, ns).
    pub fn note_given(&mut self, client: u64, at: u64) {
        if self.keeps {
            self.held(client).given_at = at;
        }
    }

    /// The lease of a client, or the one that it had last; none where it is not remembered.
    pub fn lease_of(&self, client: u64) -> Lease {
        self.held
            .get((client / self.step) as usize)
            .map_or(Lease::default(), |held| held.lease)
    }

    /// The lease of a client.
    pub fn held(&mut self, client: u64) -> &mut Held {
        let place = (client / self.step) as usize;
        if self.held.len() <= place {
            self.held.resize(place + 1, Held::default());
        }
        &mut self.held[place]
    }

    /// The clients that have held something.
    pub fn all(&self) -> impl Iterator<Item = u64> + use<> {
        let (first, step) = (self.next % self.step, self.step);
        (0..self.held.len() as u64).map(move |place| first + place * step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_population_comes_back_in_turn_each_thread_with_its_own() {
        for (threads, size) in [(1, 5), (2, 5), (3, 5), (4, 8)] {
            let mut seen = Vec::new();
            for thread in 0..threads {
                let mut clients = Clients::new(thread, threads, Some(size));
                let mine = clients.share();
                let once: Vec<_> = (0..mine).map(|_| clients.next_client()).collect();
                let again: Vec<_> = (0..mine).map(|_| clients.next_client()).collect();
                assert_eq!(once, again);
                seen.extend(once);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..size).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    #[test]
    fn options_are_encoded_once_or_for_each_client() {
        let value = |word: &str| OptionValue::try_from(word.to_owned()).unwrap();
        let (mut template, mut room) = (Template::new(Encoding::DHCP6), Vec::new());
        assert_eq!(template.of(1, &mut room), b"");
        template.add(15, &value("hex:6162")).unwrap();
        assert_eq!(template.of(1, &mut room), b"\0\x0f\0\x02ab");
        assert!(room.is_empty());
        template.add(16, &value("text:h{client}.a")).unwrap();
        let expected = b"\0\x0f\0\x02ab\0\x10\0\x05h10.a";
        assert_eq!(template.of(10, &mut room), expected);
        assert!(template.add(0, &value("hex:")).is_err());
        assert!(Template::new(Encoding::DHCP4).add(255, &value("hex:")).is_err());
        assert!(template.add(1, &value(&format!("hex:{}", "00".repeat(1025)))).is_err());
    }

    #[test]
    fn a_client_that_comes_back_is_in_the_queue_once_with_its_latest_lease() {
        let lease = |address| Lease { address, ..Lease::default() };
        let mut clients = Clients::new(1, 2, Some(6));
        clients.hold(1, lease(1));
        assert_eq!(clients.holder(), None);
        clients.keep();
        for (client, address) in [(5, 5), (1, 1), (5, 6)] {
            clients.hold(client, lease(address));
        }
        assert_eq!(clients.holder(), Some((5, lease(6))));
        assert_eq!(clients.holder(), Some((1, lease(1))));
        assert_eq!(clients.holder(), None);
    }
}
