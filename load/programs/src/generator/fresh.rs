//! Connections to a name server of one query each.

use std::io;

use leaseload_net::Interest;
use leaseload_stream::Channel;

use crate::generator::connection::Road;
use crate::generator::tally::Connections;

/// Connections at once, at the most.
const MOST: usize = 4096;

/// Connections that each carry one query, and are closed as its answer has come.
pub struct Fresh {
    road: Road,
    /// Each with the exchange of its query.
    open: Vec<(u64, Channel)>,
    /// Queries that wait for the next `flush`, each with its exchange.
    waiting: Vec<(u64, Vec<u8>)>,
    /// Exchanges whose connection has ended without an answer.
    ended: Vec<u64>,
    pub counts: Connections,
    /// Why one ended, the last time.
    pub error: Option<io::Error>,
}

impl Fresh {
    /// None yet.
    pub fn new(road: Road) -> Self {
        Self {
            road,
            open: Vec::new(),
            waiting: Vec::new(),
            ended: Vec::new(),
            counts: Connections::default(),
            error: None,
        }
    }

    /// The events to wait for.
    pub fn interests(&self) -> impl Iterator<Item = Interest> {
        self.open.iter().map(|(_, channel)| channel.interest())
    }

    /// Take the message of an exchange, which `write` appends.
    pub fn put(&mut self, number: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        write(&mut bytes);
        self.waiting.push((number, bytes));
    }

    /// Open a connection for each waiting message, unless there are too many.
    pub fn flush(&mut self) {
        for (number, bytes) in std::mem::take(&mut self.waiting) {
            self.counts.wanted += 1;
            if self.open.len() == MOST {
                self.counts.no_room += 1;
                continue;
            }
            let opened = self.road.open(true).and_then(|mut channel| {
                channel.put(|out| out.extend(bytes));
                channel.flush().map(|()| channel)
            });
            match opened {
                Ok(channel) => self.open.push((number, channel)),
                Err(error) => self.end(number, false, error),
            }
        }
    }

    /// Continue connections, and receive available data, as `Channel::receive` does.
    pub fn receive(&mut self, mut take: impl FnMut(&[u8], u64)) -> io::Result<usize> {
        let interests: Vec<_> = self.interests().collect();
        let ready = leaseload_net::ready(&interests)?;
        let mut all = 0;
        for place in (0..self.open.len()).rev().filter(|&place| ready[place]) {
            let channel = &mut self.open[place].1;
            let mut done = channel.receive(&mut take);
            if let Ok(0) = done {
                // It may have shaken hands just now, or may have room again.
                done = channel.flush().map(|()| 0);
            }
            all += self.settle(place, done);
        }
        Ok(all)
    }

    /// Close a connection that is done, by an answer or an error; return the number of answers.
    fn settle(&mut self, place: usize, done: io::Result<usize>) -> usize {
        match done {
            Ok(0) => 0,
            Ok(count) => {
                self.open.swap_remove(place);
                count
            }
            Err(error) => {
                let (number, channel) = self.open.swap_remove(place);
                self.end(number, channel.is_open(), error);
                0
            }
        }
    }

    fn end(&mut self, number: u64, was_open: bool, error: io::Error) {
        let counts = &mut self.counts;
        *(if was_open { &mut counts.closed } else { &mut counts.not_opened }) += 1;
        self.error = Some(error);
        self.ended.push(number);
    }

    /// Exchanges whose connection has ended without an answer since the last call.
    pub fn take_ended(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.ended)
    }

    /// Close all, and forget what was counted.
    pub fn forget(&mut self) {
        self.open.clear();
        self.waiting.clear();
        self.ended.clear();
        (self.counts, self.error) = Default::default();
    }
}
