//! The exchanges of one thread, from their first message to their outcome. It does no I/O.

use std::sync::Arc;

use leaseload_net::clock::SECOND;

use crate::generator::book::AddressBook;
use crate::generator::clients::{Clients, Lease};
use crate::generator::history::{Ended, History};
use crate::generator::lease_clock::{LeaseClock, LeaseTimer};
use crate::generator::load::{Load, Offer};
use crate::generator::protocol::{Ask, Dhcp, Kind, Meaning, NOTHING_GIVEN, Protocol, Reply};
use crate::generator::ring::{Exchange, Ring, State};
use crate::generator::tally::Tally;
use crate::generator::wheel::Wheel;
use crate::random::Random;

/// The role of a message in its exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// It begins it.
    First,
    /// It requests the offered lease.
    Second,
    /// It was sent before.
    Again,
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// Another try of an exchange, after so many, in its second stage or not.
    Again(u64, u8, bool),
    /// The clock of a lease.
    Lease(LeaseTimer),
}

impl From<LeaseTimer> for Timer {
    fn from(timer: LeaseTimer) -> Self {
        Self::Lease(timer)
    }
}

/// The exchanges of one thread. Times are of the monotonic clock (ns).
pub struct Exchanges<P: Protocol> {
    pub(crate) offer: Arc<Offer>,
    pub(crate) protocol: P,
    pub(crate) clients: Clients,
    pub(crate) ring: Ring<P::Kind>,
    wheel: Wheel<Timer>,
    pub(crate) random: Random,
    /// Of the address book.
    epoch: u64,
    pub(crate) start: u64,
    /// Those that wait for an answer.
    pub under_way: u64,
    /// Those before this one were looked at for being late.
    pub(crate) looked_at: u64,
    /// The load's first one.
    first: u64,
    pub tally: Tally,
    /// Who has which address.
    pub book: AddressBook,
    /// What clients saw of their leases.
    pub history: History,
}

impl<P: Protocol> Exchanges<P> {
    /// No exchanges yet, for clients of a protocol with so many lanes.
    pub fn new(
        protocol: P,
        clients: Clients,
        lanes: usize,
        book: AddressBook,
        offer: Arc<Offer>,
        now: u64,
    ) -> Self {
        let ring = Ring::new(1, lanes, protocol.id_bits());
        Self {
            offer,
            protocol,
            clients,
            ring,
            wheel: Wheel::new(now),
            random: Random::new(0),
            epoch: now,
            start: now,
            under_way: 0,
            looked_at: 0,
            first: 0,
            tally: Tally::default(),
            book,
            history: History::new(now),
        }
    }

    /// Prepare for a load, of which this thread has to remember `room` exchanges at once; what
    /// was counted before is forgotten.
    pub fn prepare(&mut self, offer: Arc<Offer>, room: u64, seed: u64, now: u64) {
        // An error of the network has left some under way.
        self.close(true);
        self.ring.make_room(room);
        self.wheel = Wheel::new(now);
        let mut random = Random::new(seed);
        if self.ring.head == 0 {
            self.ring.begin_ids(random.bits());
        }
        self.tally = Tally::default();
        self.first = self.ring.head;
        if offer.load.needs_leases() {
            self.clients.keep();
        }
        self.offer = offer;
        if let Some(mut clock) = self.lease_clock() {
            clock.start(now, &mut random);
        }
        self.random = random;
    }

    /// The clocks of the clients' leases, if they follow them.
    pub(crate) fn lease_clock(&mut self) -> Option<LeaseClock<'_, Timer>> {
        let Self { clients, wheel, .. } = self;
        self.offer.load.lease_clock.then_some(LeaseClock { clients, wheel })
    }

    /// The address book's time of a moment (s).
    pub fn second_of(&self, at: u64) -> u32 {
        (at.saturating_sub(self.epoch) / SECOND) as u32
    }

    /// Whether another exchange can begin without that one under way is forgotten.
    pub fn has_room(&self) -> bool {
        !self.ring.is_full() || self.ring.at(self.ring.tail).state == State::Over
    }

    /// Clients that are this thread's.
    pub fn share(&self) -> u64 {
        self.clients.share()
    }

    /// Begin the exchange that is due; return its number. None where no client can.
    pub fn begin_due(&mut self, due: u64) -> Option<u64> {
        let kind = self.offer.load.draw(&mut self.random);
        let (client, lease) = if kind.needs_lease() {
            let holder = self.clients.holder();
            if holder.is_none() {
                self.tally.due(kind.into(), due.saturating_sub(self.start));
                self.tally.events.starved += 1;
            }
            holder?
        } else {
            let client = self.clients.next_client();
            let lease = match kind {
                Dhcp::Inform => self.clients.lease_of(client),
                _ => Lease::default(),
            };
            (client, lease)
        };
        Some(self.begin(kind, client, lease, due))
    }

    /// Begin the exchange that gives the next client its first lease; return its number.
    pub fn begin_filling(&mut self, client: Option<u64>, now: u64) -> u64 {
        let client = client.unwrap_or_else(|| self.clients.next_client());
        self.begin(Dhcp::New, client, Lease::default(), now)
    }

    pub(crate) fn begin(&mut self, action: Dhcp, client: u64, lease: Lease, due: u64) -> u64 {
        while self.ring.is_full() {
            self.forget();
        }
        let kind = self.protocol.kind(action, client);
        self.tally.due(kind.into(), due.saturating_sub(self.start));
        let exchange =
            Exchange { client, lease, due, kind, state: State::First, ..Exchange::default() };
        self.under_way += 1;
        let number = self.ring.begin(exchange);
        if let Some(mut clock) = self.lease_clock() {
            clock.note_begun(action, client, number);
        }
        number
    }

    /// The lane of an exchange.
    pub fn lane(&self, number: u64) -> usize {
        self.ring.address(number).0
    }

    /// Append the message of an exchange that is to be sent at `now`.
    pub fn write(&self, number: u64, now: u64, out: &mut Vec<u8>) {
        let (lane, id) = self.ring.address(number);
        let exchange = self.ring.at(number);
        // Messages of a window are the same each time.
        let has_clock = exchange.began > 0 && self.offer.load.window.is_none();
        let elapsed = if has_clock { now.saturating_sub(exchange.began) } else { 0 };
        let ask = Ask {
            kind: exchange.kind,
            id,
            client: exchange.client,
            lease: &exchange.lease,
            is_second: exchange.state == State::Second,
            elapsed,
            lane,
        };
        self.protocol.write(&ask, out);
    }

    /// A message was sent at a time, or dropped by this host.
    pub fn note_sent(&mut self, number: u64, message: Message, at: u64, was_taken: bool) {
        let exchange = self.ring.at_mut(number);
        let (kind, tries, is_second) =
            (exchange.kind, exchange.tries, exchange.state == State::Second);
        match message {
            Message::First => (exchange.began, exchange.asked) = (at, at),
            Message::Second => (exchange.asked, exchange.again) = (at, 0),
            Message::Again => exchange.again = at,
        }
        let due = exchange.due;
        self.tally.events.unsent += u64::from(!was_taken);
        if message == Message::First {
            self.tally.sent(
                kind.into(),
                due.saturating_sub(self.start),
                at.saturating_sub(self.start),
                &self.offer,
            );
        }
        if message != Message::Again {
            let stage = self.protocol.stage(kind, is_second);
            self.tally.stages.entry(stage).or_default();
        }
        if !self.protocol.is_answered(kind) {
            self.note_history(number, Ended::Silent);
            self.free(number);
            self.complete(number, at);
        } else if self.offer.load.again {
            let (first_s, longest_s) = self.protocol.patience(kind, is_second);
            let wait_s = (first_s * 2_f64.powi(i32::from(tries))).min(longest_s);
            let wait_s = wait_s * (0.9 + 0.2 * self.random.share());
            let timer = Timer::Again(number, tries, is_second);
            self.wheel.set(at + (wait_s * SECOND as f64) as u64, timer);
        }
    }

    /// Messages that are due by the timers, and their exchanges.
    pub fn timers(&mut self, now: u64) -> Vec<(u64, Message)> {
        let mut due = Vec::new();
        self.wheel.due(now, |at, timer| due.push((at, timer)));
        let messages = due.into_iter().filter_map(|(at, timer)| match timer {
            Timer::Again(number, tries, is_second) => self.again(number, tries, is_second),
            Timer::Lease(timer) => self.lease_timer(timer, at),
        });
        messages.collect()
    }

    fn again(&mut self, number: u64, tries: u8, is_second: bool) -> Option<(u64, Message)> {
        if number < self.ring.tail {
            return None;
        }
        let exchange = self.ring.at_mut(number);
        let awaited = if is_second { State::Second } else { State::First };
        if exchange.state != awaited || exchange.tries != tries {
            return None;
        }
        exchange.tries = exchange.tries.saturating_add(1);
        self.tally.events.sent_again += 1;
        Some((number, Message::Again))
    }

    /// Do the due action of a client; return the number of the exchange that it begins.
    fn lease_timer(&mut self, timer: LeaseTimer, at: u64) -> Option<(u64, Message)> {
        if at > self.start + self.offer.traffic {
            return None;
        }
        let due = self.lease_clock()?.due(timer)?;
        if (self.ring.tail..self.ring.head).contains(&due.last) {
            let exchange = self.ring.at(due.last);
            // The client does not wait for it any more.
            if exchange.client == timer.client && exchange.state != State::Over {
                self.replace(due.last);
            }
        }
        self.tally.events.expired += u64::from(due.has_expired);
        let number = self.begin(due.kind, timer.client, due.lease, at.max(self.start));
        Some((number, Message::First))
    }

    /// When a timer is due, at the earliest.
    pub fn next_timer(&self) -> u64 {
        self.wheel.next()
    }

    /// When an exchange is late or lost, at the earliest.
    pub fn next_failure(&self) -> u64 {
        let Load { late, grace, again, .. } = self.offer.load;
        let is_looked_at = self.looked_at == self.ring.head;
        let overdue =
            if is_looked_at { u64::MAX } else { self.ring.at(self.looked_at).began + late };
        let is_kept = again || self.ring.tail == self.looked_at;
        let lost =
            if is_kept { u64::MAX } else { self.ring.at(self.ring.tail).began + late + grace };
        overdue.min(lost).saturating_add(1)
    }

    /// Take a packet that came through a lane at a time; return the exchange whose second
    /// message is due by it.
    pub fn take(&mut self, lane: usize, bytes: &[u8], at: u64) -> Option<u64> {
        match self.protocol.read(bytes) {
            Ok(reply) => self.take_reply(lane, reply, at, bytes.len()),
            Err(_) => {
                self.tally.events.malformed += 1;
                None
            }
        }
    }

    fn take_reply(
        &mut self,
        lane: usize,
        reply: Reply<'_>,
        at: u64,
        size: usize,
    ) -> Option<u64> {
        let number = self.ring.named(lane, reply.id);
        let number = number
            .filter(|&number| self.protocol.is_to(self.ring.at(number).client, reply.who));
        let Some(number) = number else {
            let earlier = self.ring.forgotten(lane, reply.id).is_some_and(|number| {
                number < self.first
                    && self.protocol.is_to(self.ring.at(number).client, reply.who)
            });
            self.tally.events.earlier += u64::from(earlier);
            self.tally.events.foreign += u64::from(!earlier);
            return None;
        };
        let exchange = *self.ring.at(number);
        let is_second = exchange.state == State::Second;
        let kind: Kind = exchange.kind.into();
        let action = kind.dhcp();
        match (exchange.state, reply.meaning) {
            (State::Over, _) | (State::Second, Meaning::Offered(_)) => {
                self.tally.events.repeated += 1;
                return None;
            }
            (State::First, Meaning::Done(_)) if action == Some(Dhcp::New) => {
                self.tally.events.foreign += 1;
                return None;
            }
            _ => {}
        }
        let stage = self.protocol.stage(exchange.kind, is_second);
        let since_start = exchange.asked.saturating_sub(self.start);
        let latency = at.saturating_sub(exchange.asked);
        self.tally.answered(stage, since_start, latency, !is_second);
        self.tally.replied(at.saturating_sub(self.start), &self.offer);
        let last_reply = &mut self.tally.largest.last_reply;
        *last_reply = at.saturating_sub(self.start).max(*last_reply);
        let replies = self.tally.replies.entry(reply.word).or_default();
        replies.count += 1;
        replies.bytes += size as u64;
        let is_nothing = reply.meaning == Meaning::Done(None);
        let meaning = if is_nothing && action.is_some_and(Dhcp::gives_lease) {
            Meaning::Refused(NOTHING_GIVEN)
        } else {
            reply.meaning
        };
        match meaning {
            Meaning::Offered(lease) => {
                let exchange = self.ring.at_mut(number);
                (exchange.lease, exchange.state, exchange.tries) = (lease, State::Second, 0);
                return Some(number);
            }
            Meaning::Refused(word) => {
                *self.tally.refused.entry(word).or_default() += 1;
                self.tally.of(kind).counts.refused += 1;
                self.tally.ended(kind, at.saturating_sub(self.start));
                self.note_history(number, Ended::Refused(at));
                self.end(number);
                if let Some(mut clock) = self.lease_clock() {
                    clock.note_failed(action, exchange.client, at, true);
                }
                if !exchange.is_overdue {
                    self.offer.fail();
                }
            }
            Meaning::Done(given) => {
                self.note_history(number, Ended::Answered(at, given));
                if let Some(lease) = given {
                    self.note_given(exchange.client, &lease, at);
                    self.ring.at_mut(number).lease = lease;
                }
                self.free(number);
                self.complete(number, at);
            }
        }
        None
    }
}
