//! Which client has which address.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Which client has which address, to notice one that two have.
#[derive(Debug, Default)]
pub struct AddressBook {
    /// Of DHCPv4 by their upper 16 bits: a page for each, as pools are rarely scattered, and a
    /// table that grows would stop the traffic.
    pages: HashMap<u32, Box<[Entry]>, BuildHasherDefault<Fold>>,
    others: HashMap<u128, Entry, BuildHasherDefault<Fold>>,
    /// The last address and prefix of each client that comes back; 0 for none.
    last: Vec<[u128; 2]>,
    /// From a client of this book to the next.
    step: u64,
}

/// Client and end of its lease (s); free if that is 0.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    client: u32,
    until_s: u32,
}

const PAGE: usize = 1 << 16;

impl AddressBook {
    /// A book with room for so many addresses of DHCPv6.
    pub fn new(others: usize) -> Self {
        Self {
            pages: HashMap::default(),
            others: HashMap::with_capacity_and_hasher(others, BuildHasherDefault::default()),
            last: Vec::new(),
            step: 1,
        }
    }

    /// A book of so many clients that come back, each `step`th of all.
    pub fn of_clients(mut self, clients: usize, step: u64) -> Self {
        (self.last, self.step) = (vec![[0; 2]; clients], step);
        self
    }

    /// A client gets these leases: another one that it had before is free.
    ///
    /// A client whose exchanges overlap may be offered two addresses, and take one after the
    /// other.
    pub fn move_to(&mut self, client: u64, leases: [u128; 2]) {
        let Some(last) = self.last.get_mut((client / self.step) as usize) else { return };
        let before = *last;
        for (last, lease) in last.iter_mut().zip(leases).filter(|(_, lease)| *lease != 0) {
            *last = lease;
        }
        for (old, new) in before.into_iter().zip(leases) {
            if old != 0 && new != 0 && old != new && self.entry(old).client == client as u32 {
                self.free(old);
            }
        }
    }

    /// Record a client's lease; return whether another client still has it.
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
        for (address, entry) in pages.chain(others).filter(|(_, entry)| entry.until_s > now_s)
        {
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
    fn a_client_that_moves_to_another_address_leaves_the_one_before() {
        let mut book = AddressBook::new(0).of_clients(2, 2);
        book.move_to(1, [5, 9]);
        assert!(!book.give(5, 1, 0, 100));
        book.move_to(1, [6, 0]);
        assert!(!book.give(6, 1, 0, 100));
        assert!(!book.give(5, 3, 0, 100));
        // It is of another client now, and stays with it.
        book.move_to(1, [7, 9]);
        book.move_to(1, [5, 0]);
        assert!(book.give(5, 1, 0, 100));
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
