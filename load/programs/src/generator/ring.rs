//! Exchanges under way, found by their transaction ids.

use crate::generator::clients::Lease;

/// Where an exchange is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing is awaited any more.
    #[default]
    Over,
    /// Its first message waits for an answer.
    First,
    /// Its second message does.
    Second,
}

/// One exchange. Times are of the monotonic clock (ns).
#[derive(Clone, Copy, Debug, Default)]
pub struct Exchange<K> {
    pub client: u64,
    /// Its offer, or its lease at the beginning.
    pub lease: Lease,
    pub due: u64,
    /// When its first message was sent.
    pub began: u64,
    /// When the message that waits for an answer was first sent.
    pub asked: u64,
    /// When it was last sent again; 0 for never.
    pub again: u64,
    pub kind: K,
    pub state: State,
    /// How often the message was sent again.
    pub tries: u8,
    /// It counts as failed already, as its time is over.
    pub is_overdue: bool,
}

/// The exchanges of one thread, numbered in the order in which they begin.
///
/// Exchange `n` goes through lane `n % lanes`, and its transaction id there is the lower bits
/// of `first_id + n / lanes`, so that an id names one of the last `2^bits` exchanges of a lane.
/// Processes that follow each other begin with other ids: a late reply to the one before is not
/// taken for one of this load.
#[derive(Debug)]
pub struct Ring<K> {
    places: Vec<Exchange<K>>,
    lanes: u64,
    id_mask: u64,
    first_id: u64,
    /// Number of the oldest that is kept.
    pub tail: u64,
    /// Number of the next one.
    pub head: u64,
}

impl<K: Copy + Default> Ring<K> {
    /// Room for at least `size` exchanges, within the number of ids of so many bits.
    pub fn new(size: u64, lanes: usize, id_bits: u32) -> Self {
        let id_mask = (1 << id_bits) - 1;
        let mut ring = Self {
            places: Vec::new(),
            lanes: lanes as u64,
            id_mask,
            first_id: 0,
            tail: 0,
            head: 0,
        };
        ring.make_room(size);
        ring
    }

    /// Begin with the id of these lower bits, while no exchange has begun.
    pub fn begin_ids(&mut self, first_id: u64) {
        debug_assert_eq!(self.head, 0);
        self.first_id = first_id & self.id_mask;
    }

    /// Have room for at least `size` exchanges, while none is kept.
    ///
    /// All of its memory is touched here, not while the load is offered.
    pub fn make_room(&mut self, size: u64) {
        debug_assert_eq!(self.tail, self.head);
        let most = self.lanes * (self.id_mask + 1);
        let size = size.next_power_of_two().min(most);
        let before = self.places.len() as u64;
        if size <= before {
            return;
        }
        let mut places = vec![Exchange::default(); size as usize];
        for number in self.head.saturating_sub(before)..self.head {
            places[(number % size) as usize] = *self.at(number);
        }
        self.places = places;
    }

    /// Whether the oldest one has to go before another can begin.
    pub fn is_full(&self) -> bool {
        self.head - self.tail == self.places.len() as u64
    }

    /// The lane of an exchange, and its transaction id there.
    pub fn address(&self, number: u64) -> (usize, u32) {
        let id = (self.first_id + number / self.lanes) & self.id_mask;
        ((number % self.lanes) as usize, id as u32)
    }

    /// Begin the next one; returns its number.
    pub fn begin(&mut self, exchange: Exchange<K>) -> u64 {
        let number = self.head;
        self.head += 1;
        *self.at_mut(number) = exchange;
        number
    }

    fn place(&self, number: u64) -> usize {
        (number % self.places.len() as u64) as usize
    }

    /// An exchange that is kept.
    pub fn at(&self, number: u64) -> &Exchange<K> {
        &self.places[self.place(number)]
    }

    /// The same, to be changed.
    pub fn at_mut(&mut self, number: u64) -> &mut Exchange<K> {
        let place = self.place(number);
        &mut self.places[place]
    }

    /// The numbers of those of a lane that are kept.
    pub fn of_lane(&self, lane: usize) -> impl Iterator<Item = u64> + use<K> {
        let first =
            self.tail + (lane as u64 + self.lanes - self.tail % self.lanes) % self.lanes;
        (first..self.head).step_by(self.lanes as usize)
    }

    /// The number of the exchange that a reply in a lane names; None if none is kept.
    pub fn named(&self, lane: usize, id: u32) -> Option<u64> {
        self.last_of(lane, id).filter(|&number| number >= self.tail)
    }

    /// The same of one that is not kept any more, and whose place has no other one yet.
    pub fn forgotten(&self, lane: usize, id: u32) -> Option<u64> {
        let oldest = self.head.saturating_sub(self.places.len() as u64);
        self.last_of(lane, id).filter(|number| (oldest..self.tail).contains(number))
    }

    fn last_of(&self, lane: usize, id: u32) -> Option<u64> {
        let lane = lane as u64;
        // The lane's newest exchange.
        let newest = (self.head + self.lanes - 1 - lane) / self.lanes;
        let newest = newest.checked_sub(1)?;
        let back = (self.first_id + newest).wrapping_sub(u64::from(id)) & self.id_mask;
        Some(newest.checked_sub(back)? * self.lanes + lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::protocol::Dhcp;

    #[test]
    fn an_id_names_its_exchange_until_it_is_forgotten() {
        for (lanes, bits, size) in [(1, 4, 10), (3, 4, 40), (2, 16, 100)] {
            let mut ring = Ring::<Dhcp>::new(size, lanes, bits);
            ring.begin_ids(0xFFF_FFFA);
            for number in 0..1000_u64 {
                if ring.is_full() {
                    ring.tail += 1;
                }
                let exchange = Exchange { client: number, ..Exchange::default() };
                assert_eq!(ring.begin(exchange), number);
                for kept in ring.tail..ring.head {
                    let (lane, id) = ring.address(kept);
                    assert_eq!(ring.named(lane, id), Some(kept), "{lanes} lanes, {bits} bits");
                    assert_eq!(ring.at(kept).client, kept);
                }
            }
            for lane in 0..lanes {
                let all = (ring.tail..ring.head).filter(|&kept| ring.address(kept).0 == lane);
                assert_eq!(ring.of_lane(lane).collect::<Vec<_>>(), all.collect::<Vec<_>>());
            }
            let (lane, id) = ring.address(ring.tail);
            ring.tail += 1;
            assert_eq!(ring.named(lane, id), None);
            assert_eq!(ring.forgotten(lane, id), Some(ring.tail - 1));
            ring.tail = ring.head;
            ring.make_room(1 << 12);
            let last = ring.head - 1;
            let (lane, id) = ring.address(last);
            assert_eq!((ring.named(lane, id), ring.forgotten(lane, id)), (None, Some(last)));
            assert_eq!(ring.at(last).client, last);
        }
    }
}
