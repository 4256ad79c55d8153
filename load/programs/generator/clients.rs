//! Clients: who they are, and what they hold.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// What a server has given a client. Addresses of DHCPv4 are in the low 32 bits.
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
    /// The address of a client.
    #[must_use]
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

impl Default for Macs {
    fn default() -> Self {
        Self::From(0)
    }
}

/// `aa:bb:cc:dd:ee:ff`, read; None for what is none.
#[must_use]
pub fn read_mac(text: &str) -> Option<Mac> {
    let mut mac = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut mac {
        let part = parts.next().filter(|part| part.len() <= 2)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

/// Options that all clients send, some with the client's number in them.
///
/// Built of pieces: those of bytes are as they are; between two of them stands the number of
/// the client, and the length of its option is made up for it.
#[derive(Clone, Debug)]
pub struct Template {
    put: Put,
    options: Vec<(u16, Vec<Piece>)>,
    /// All options, encoded; empty where they differ from client to client.
    fixed: Vec<u8>,
}

/// Append an option by its code, as the protocol encodes it.
pub type Put = fn(&mut Vec<u8>, u16, &[u8]);

#[derive(Clone, Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Client,
}

impl Template {
    /// No options, of a protocol that encodes them by `put`.
    #[must_use]
    pub fn new(put: Put) -> Self {
        Self { put, options: Vec::new(), fixed: Vec::new() }
    }

    /// Add an option by its code; `{client}` in its text stands for the client's number.
    pub fn add(&mut self, code: u16, value: &[u8], is_text: bool) {
        let text = String::from_utf8_lossy(value);
        let pieces = match text.split_once("{client}").filter(|_| is_text) {
            Some((before, after)) => vec![
                Piece::Bytes(before.as_bytes().to_vec()),
                Piece::Client,
                Piece::Bytes(after.as_bytes().to_vec()),
            ],
            None => vec![Piece::Bytes(value.to_vec())],
        };
        self.options.push((code, pieces));
        let mut pieces = self.options.iter().flat_map(|(_, pieces)| pieces);
        let is_fixed = !pieces.any(|piece| matches!(piece, Piece::Client));
        self.fixed = if is_fixed { self.encoded(0) } else { Vec::new() };
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
            (self.put)(&mut out, *code, &value);
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

/// Whose turn it is.
///
/// New clients are counted from 0, or come back in turn where there is a population. Who holds
/// a lease waits in a queue for what clients with a lease do.
#[derive(Debug)]
pub struct Clients {
    next: u64,
    step: u64,
    population: Option<u64>,
    holding: VecDeque<(u64, Lease)>,
    keeps: bool,
}

impl Clients {
    /// The clients of thread `thread` of `threads`: every so-manieth.
    ///
    /// With `keeps` leases are remembered, as somebody will renew or release them.
    #[must_use]
    pub fn new(thread: u64, threads: u64, population: Option<u64>, keeps: bool) -> Self {
        Self { next: thread, step: threads, population, holding: VecDeque::new(), keeps }
    }

    /// The next client to ask for a lease.
    pub fn next(&mut self) -> u64 {
        let client = self.next;
        self.next += self.step;
        if self.population.is_some_and(|size| self.next >= size) {
            self.next %= self.step;
        }
        client
    }

    /// How many clients of the population are this thread's.
    #[must_use]
    pub fn share(&self) -> u64 {
        let thread = self.next % self.step;
        self.population.map_or(0, |size| (size + self.step - 1 - thread) / self.step)
    }

    /// The client whose turn it is to do something with its lease; it is out of the queue.
    pub fn holder(&mut self) -> Option<(u64, Lease)> {
        self.holding.pop_front()
    }

    /// A client holds a lease, and comes to the end of the queue.
    pub fn hold(&mut self, client: u64, lease: Lease) {
        if self.keeps {
            self.holding.push_back((client, lease));
        }
    }
}

/// Which client has which address, to notice one that two have.
#[derive(Debug, Default)]
pub struct AddressBook {
    /// Of DHCPv4 by their upper 16 bits: a page for each, as pools are rarely scattered, and a
    /// table that grows would stop the traffic.
    pages: HashMap<u32, Box<[Entry]>, BuildHasherDefault<Fold>>,
    others: HashMap<u128, Entry, BuildHasherDefault<Fold>>,
}

/// Client and end of its lease (s); nobody's where that is 0.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    client: u32,
    until_s: u32,
}

const PAGE: usize = 1 << 16;

impl AddressBook {
    /// A book with room for so many addresses of DHCPv6.
    #[must_use]
    pub fn new(others: usize) -> Self {
        Self {
            pages: HashMap::default(),
            others: HashMap::with_capacity_and_hasher(others, BuildHasherDefault::default()),
        }
    }

    /// Note what a client was given; return whether another client has it still.
    pub fn give(&mut self, address: u128, client: u64, now_s: u32, until_s: u32) -> bool {
        let entry = self.entry(address);
        let client = client as u32;
        let is_taken = entry.until_s > now_s && entry.client != client;
        *entry = Entry { client, until_s: until_s.max(1) };
        is_taken
    }

    /// A client has given it back.
    pub fn free(&mut self, address: u128) {
        *self.entry(address) = Entry::default();
    }

    /// How many addresses of another thread's book are in this one, too.
    pub fn absorb(&mut self, other: &Self, now_s: u32) -> u64 {
        let mut duplicates = 0;
        let pages = other.pages.iter().flat_map(|(page, entries)| {
            entries
                .iter()
                .enumerate()
                .map(move |(low, entry)| (u128::from(*page) << 16 | low as u128, *entry))
        });
        let others = other.others.iter().map(|(address, entry)| (*address, *entry));
        for (address, entry) in pages.chain(others).filter(|(_, entry)| entry.until_s > now_s) {
            duplicates +=
                u64::from(self.give(address, u64::from(entry.client), now_s, entry.until_s));
        }
        duplicates
    }

    fn entry(&mut self, address: u128) -> &mut Entry {
        match u32::try_from(address) {
            Ok(low) => {
                let page = self
                    .pages
                    .entry(low >> 16)
                    .or_insert_with(|| vec![Entry::default(); PAGE].into_boxed_slice());
                &mut page[low as usize % PAGE]
            }
            Err(_) => self.others.entry(address).or_default(),
        }
    }
}

/// Addresses are numbers that a server has counted or drawn: folding them together is enough.
#[derive(Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(29) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_u128(&mut self, value: u128) {
        self.write_u64((value >> 64) as u64);
        self.write_u64(value as u64);
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
                let mut clients = Clients::new(thread, threads, Some(size), false);
                let mine = clients.share();
                let once: Vec<_> = (0..mine).map(|_| clients.next()).collect();
                let again: Vec<_> = (0..mine).map(|_| clients.next()).collect();
                assert_eq!(once, again);
                seen.extend(once);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..size).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    #[test]
    fn options_are_encoded_once_or_for_each_client() {
        let put: Put = |out, code, value| leaseload_packet::dhcp6::put(out, code, value);
        let (mut template, mut room) = (Template::new(put), Vec::new());
        assert_eq!(template.of(1, &mut room), b"");
        template.add(15, b"ab", false);
        assert_eq!(template.of(1, &mut room), b"\0\x0f\0\x02ab");
        assert!(room.is_empty());
        template.add(16, b"h{client}.a", true);
        let expected = b"\0\x0f\0\x02ab\0\x10\0\x05h10.a";
        assert_eq!(template.of(10, &mut room), expected);
    }

    #[test]
    fn an_address_of_two_clients_is_noticed_unless_it_is_free_again() {
        let six = 0x2001_0db8_u128 << 96;
        for address in [u128::from(0x0a00_0001_u32), six + 1] {
            let mut book = AddressBook::new(8);
            assert!(!book.give(address, 1, 0, 100));
            assert!(!book.give(address, 1, 50, 150));
            assert!(!book.give(address + 1, 2, 50, 150));
            assert!(book.give(address, 2, 60, 160));
            assert!(!book.give(address, 3, 161, 200));
            book.free(address);
            assert!(!book.give(address, 4, 161, 200));
            let mut other = AddressBook::new(8);
            assert!(!other.give(address, 5, 161, 200));
            assert_eq!(book.absorb(&other, 162), 1);
        }
    }
}
