//! A closed window: exchanges begin as others end. It does no I/O.

use crate::generator::engine::End;
use crate::generator::exchanges::Exchanges;
use crate::generator::protocol::Protocol;
use crate::words::{Words, Wrong};

/// Exchanges under way at the most: ids of DNS name so many of one socket.
const MOST: u64 = 1 << 16;
const MOST_TRANSACTIONS: u64 = 1_000_000_000;
/// Options that have no meaning without a schedule, or would repeat messages.
const OF_SCHEDULES: [&str; 14] = [
    "rate",
    "steps",
    "counts",
    "at-once",
    "seconds",
    "arrivals",
    "lease-clock",
    "retransmit",
    "tick",
    "spin",
    "quiet",
    "goal",
    "lag",
    // It asks for many leases at a time, and for some twice.
    "fill",
];
/// A window, and its exchanges in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Exchanges under way at the most.
    pub most: u64,
    pub transactions: u64,
    /// A line of standard input is awaited before each message.
    pub step: bool,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Ended(End),
    Begin,
    Wait,
}

impl Window {
    /// Read it; None of another load.
    pub fn read(words: &Words) -> Result<Option<Self>, Wrong> {
        if !words.flag("window") {
            let beside = ["transactions", "step"].into_iter().find(|name| words.flag(name));
            return beside.map_or(Ok(None), |name| Err(format!("--{name}: needs --window")));
        }
        if let Some(name) = OF_SCHEDULES.into_iter().find(|name| words.flag(name)) {
            return Err(format!("--{name}: does not go with --window"));
        }
        if words.number("threads", 1, 1, usize::MAX)? > 1 {
            return Err("--threads: does not go with --window, which has one".into());
        }
        if !words.flag("transactions") {
            return Err("--window: how many exchanges? add --transactions".into());
        }
        let step = words.flag("step");
        if step && !words.flag("serve") {
            return Err("--step: needs --serve".into());
        }
        if step && words.flag("fresh") {
            return Err("--step: does not go with --fresh, whose queries leave as their \
                        connections open"
                .into());
        }
        Ok(Some(Self {
            most: words.number("window", 1, 1, MOST)?,
            transactions: words.number("transactions", 1, 1, MOST_TRANSACTIONS)?,
            step,
        }))
    }

    /// What is to be done after `begun` of its exchanges have begun.
    pub fn next<P: Protocol>(&self, begun: u64, exchanges: &Exchanges<P>) -> Next {
        let tally = &exchanges.tally;
        if tally.counts().lost + tally.events.starved > 0 {
            return Next::Ended(End::Failed);
        }
        if begun < self.transactions {
            let has_room = exchanges.under_way < self.most && exchanges.has_room();
            return if has_room { Next::Begin } else { Next::Wait };
        }
        if exchanges.under_way == 0 { Next::Ended(End::Complete) } else { Next::Wait }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use leaseload_net::clock::SECOND;

    use leaseload_packet::dns;

    use super::*;
    use crate::generator::book::AddressBook;
    use crate::generator::clients::Clients;
    use crate::generator::dns::Dns;
    use crate::generator::exchanges::Message;
    use crate::generator::load::{Load, Offer};
    use crate::generator::options::TABLE;
    use crate::random::Random;

    fn load(words: &str) -> Result<Load, Wrong> {
        let words = Words::read(&TABLE, words.split_whitespace().map(Into::into))?.unwrap();
        Load::read(&words)
    }

    /// What a load sends, each with its lane, to a server that answers in an order of its own,
    /// or not at all from a message on; and how it ends.
    fn offered(words: &str, order: u64, silent: usize) -> (Vec<(usize, Vec<u8>)>, End) {
        let load = load(&format!("dns --late 1 --grace 1 {words}")).unwrap();
        let window = load.window.clone().unwrap();
        let (lanes, room, seed, offer) = (3, load.room(1, 0), load.seed, Offer::new(load));
        let protocol = Dns::read("a A\nb A\nc A\nd A\n", false, None).unwrap();
        let (clients, book) = (Clients::new(0, 1, None), AddressBook::new(0));
        let mut exchanges = Exchanges::new(protocol, clients, lanes, book, offer.clone(), 1);
        exchanges.prepare(offer, room, seed, 1);
        let (mut sent, mut waiting) = (Vec::new(), VecDeque::new());
        let (mut random, mut begun, mut now) = (Random::new(order), 0, 1);
        loop {
            now += 1;
            match window.next(begun, &exchanges) {
                Next::Ended(end) => return (sent, end),
                Next::Begin => {
                    let number = exchanges.begin_due(now).unwrap();
                    begun += 1;
                    let (lane, mut bytes) = (exchanges.lane(number), Vec::new());
                    exchanges.write(number, now, &mut bytes);
                    exchanges.note_sent(number, Message::First, now, true);
                    waiting.push_back((lane, bytes.clone()));
                    sent.push((lane, bytes));
                    assert!(exchanges.under_way <= window.most);
                }
                Next::Wait if sent.len() > silent => {
                    now += SECOND;
                    exchanges.expire(now);
                }
                Next::Wait => {
                    let place = random.bits() as usize % waiting.len();
                    let (lane, bytes) = waiting.remove(place).unwrap();
                    let (id, question) = dns::read_query(&bytes).unwrap();
                    let mut answer = Vec::new();
                    dns::put_answer(&mut answer, id, question, 0, None);
                    exchanges.take(lane, &answer, now);
                }
            }
        }
    }

    #[test]
    fn so_many_are_under_way_and_all_are_the_same_again() {
        for window in [1, 2, 7, 1000] {
            let words = format!("--window {window} --transactions 500 --seed 4");
            let (sent, end) = offered(&words, 1, usize::MAX);
            assert_eq!((sent.len(), end), (500, End::Complete));
            assert_eq!((sent.clone(), end), offered(&words, 2, usize::MAX));
            assert_ne!(sent, offered(&format!("{words} --seed 5"), 1, usize::MAX).0);
        }
    }

    #[test]
    fn the_first_that_is_lost_ends_it() {
        let (sent, end) = offered("--window 3 --transactions 500", 1, 99);
        assert_eq!((sent.len(), end), (100, End::Failed));
    }

    #[test]
    fn what_does_not_go_with_a_window_is_refused() {
        let plain = "dhcp4 --window 2 --transactions 9 --serve --step --seed 3 --bin 1 \
                     --mix new=1,inform=1 --late 9 --grace 9 --threads 1 --clients 5";
        let read = load(plain).unwrap();
        assert_eq!(read.window, Some(Window { most: 2, transactions: 9, step: true }));
        assert_eq!(read.planned(), 9.0);
        for name in OF_SCHEDULES {
            let value = if TABLE.find(name).unwrap().has_value { "1" } else { "" };
            let words = format!("dhcp4 --window 2 --transactions 9 --{name} {value}");
            assert_eq!(
                load(&words).unwrap_err(),
                format!("--{name}: does not go with --window")
            );
        }
        for (words, name) in [
            ("--window 2", "--transactions"),
            ("--transactions 2", "--window"),
            ("--serve --step --rate 1", "--window"),
            ("--window 2 --transactions 2 --threads 2", "--threads"),
            ("--window 0 --transactions 2", "--window"),
            ("--window 65537 --transactions 2", "--window"),
            ("--window 2 --transactions 0", "--transactions"),
            ("--window 2 --transactions 1e9", "--transactions"),
            ("--window 2 --transactions -1", "--transactions"),
            ("--window 2 --transactions 2 --step", "--serve"),
            ("--window 2 --transactions 2 --transport tcp --fresh --serve --step", "--step"),
        ] {
            let error = load(&format!("dns {words}")).unwrap_err();
            assert!(error.contains(name), "{words}: {error}");
        }
    }
}
