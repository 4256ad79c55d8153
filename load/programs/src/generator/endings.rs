//! How exchanges end: completed, late, lost, given up, or open as their load ends.

use crate::generator::clients::Lease;
use crate::generator::exchanges::Exchanges;
use crate::generator::history::Ended;
use crate::generator::load::Load;
use crate::generator::protocol::{Dhcp, Kind, Protocol};
use crate::generator::ring::{Exchange, State};

impl<P: Protocol> Exchanges<P> {
    /// A client got a lease: no other client may have its addresses.
    pub(crate) fn note_given(&mut self, client: u64, lease: &Lease, at: u64) {
        let now_s = self.second_of(at);
        let until_s = now_s.saturating_add(lease.valid_s);
        self.book.move_to(client, [lease.address, lease.prefix]);
        for given in [lease.address, lease.prefix] {
            if given != 0 && self.book.give(given, client, now_s, until_s) {
                self.tally.events.duplicates += 1;
            }
        }
    }

    /// A released lease is free.
    pub(crate) fn free(&mut self, number: u64) {
        let Exchange { kind, lease, .. } = *self.ring.at(number);
        if kind.into() == Kind::Dhcp(Dhcp::Release) {
            for given in [lease.address, lease.prefix] {
                if given != 0 {
                    self.book.free(given);
                }
            }
        }
    }

    /// An exchange ends, and its client has seen how.
    pub(crate) fn note_history(&mut self, number: u64, ended: Ended) {
        self.history.note(&self.protocol, self.ring.at(number), ended);
    }

    /// The last answer to an exchange came, or its only message was sent.
    pub(crate) fn complete(&mut self, number: u64, at: u64) {
        let exchange = *self.ring.at(number);
        let latency = at.saturating_sub(exchange.began);
        let since_start = at.saturating_sub(self.start);
        let due = exchange.due.saturating_sub(self.start);
        let kind: Kind = exchange.kind.into();
        self.tally.completed(kind, due, since_start, latency, &self.offer);
        if latency > self.offer.load.late && !exchange.is_overdue {
            self.offer.fail();
        }
        let has_none =
            matches!(kind.dhcp(), None | Some(Dhcp::Release | Dhcp::Decline | Dhcp::Inform));
        if !has_none {
            self.clients.hold(exchange.client, exchange.lease);
        }
        self.tally.ended(kind, since_start);
        self.end(number);
        if kind.dhcp().is_some_and(Dhcp::gives_lease) && exchange.lease.valid_s > 0 {
            self.clients.note_given(exchange.client, at);
            if let Some(mut clock) = self.lease_clock() {
                clock.restart(exchange.client, at);
            }
        }
    }

    /// Nothing is awaited any more.
    pub(crate) fn end(&mut self, number: u64) {
        self.ring.at_mut(number).state = State::Over;
        self.under_way -= 1;
    }

    /// Count late exchanges as failed, and those past the last wait as lost.
    pub fn expire(&mut self, now: u64) {
        let Load { late, grace, again, .. } = self.offer.load;
        while self.looked_at < self.ring.head {
            let exchange = self.ring.at_mut(self.looked_at);
            if exchange.state != State::Over {
                if exchange.began == 0 || exchange.began + late >= now {
                    break;
                }
                exchange.is_overdue = true;
                self.offer.fail();
            }
            self.looked_at += 1;
        }
        while self.ring.tail < self.looked_at {
            let exchange = self.ring.at(self.ring.tail);
            let is_recent = exchange.began + late + grace >= now;
            // What is sent again is waited for until the load ends.
            if is_recent || (again && exchange.state != State::Over) {
                break;
            }
            self.forget();
        }
    }

    /// Reuse the oldest exchange's place; if it is under way, it is lost.
    pub(crate) fn forget(&mut self) {
        let number = self.ring.tail;
        if self.ring.at(number).state != State::Over {
            self.replace(number);
            let exchange = *self.ring.at(number);
            let at = exchange.began + self.offer.load.late + self.offer.load.grace;
            let kind: Kind = exchange.kind.into();
            if let Some(mut clock) = self.lease_clock() {
                clock.note_failed(kind.dhcp(), exchange.client, at, false);
            }
        }
        self.ring.tail += 1;
        self.looked_at = self.looked_at.max(self.ring.tail);
    }

    /// Lose an exchange that its client no longer waits for.
    pub(crate) fn replace(&mut self, number: u64) {
        if !self.ring.at(number).is_overdue {
            self.offer.fail();
        }
        self.lose(number);
    }

    /// Count exchanges under way on an ended connection as lost; return their number.
    pub fn lose_lane(&mut self, lane: usize) -> u64 {
        let before = self.under_way;
        for number in self.ring.of_lane(lane) {
            if self.ring.at(number).state != State::Over {
                self.replace(number);
            }
        }
        before - self.under_way
    }

    /// The same of one exchange, if it is still under way.
    pub fn lose_one(&mut self, number: u64) -> u64 {
        let before = self.under_way;
        if number >= self.ring.tail && self.ring.at(number).state != State::Over {
            self.replace(number);
        }
        before - self.under_way
    }

    fn lose(&mut self, number: u64) {
        self.note_history(number, Ended::Silent);
        let exchange = *self.ring.at(number);
        let stage = self.protocol.stage(exchange.kind, exchange.state == State::Second);
        self.tally.stages.entry(stage).or_default().lost += 1;
        let kind: Kind = exchange.kind.into();
        self.tally.of(kind).counts.lost += 1;
        if kind.dhcp().is_some_and(|kind| kind.needs_lease() && kind != Dhcp::Release) {
            self.clients.wait(exchange.client);
        }
        self.end(number);
    }

    /// Count exchanges of a filling as lost after their wait, or all of them; add their clients to
    /// `again`.
    pub fn give_up(&mut self, now: u64, is_over: bool, again: &mut Vec<u64>) {
        while self.ring.tail < self.ring.head {
            let number = self.ring.tail;
            let exchange = *self.ring.at(number);
            if exchange.state != State::Over {
                if !is_over && exchange.began + self.offer.load.late > now {
                    break;
                }
                self.lose(number);
                again.push(exchange.client);
            }
            self.ring.tail += 1;
        }
        self.looked_at = self.ring.tail;
    }

    /// Sum up: exchanges under way are lost, or open if an early end
    /// came before their time limit.
    pub fn close(&mut self, is_early: bool) {
        while self.ring.tail < self.ring.head {
            let number = self.ring.tail;
            let exchange = *self.ring.at(number);
            if exchange.state != State::Over {
                if is_early && !exchange.is_overdue {
                    self.note_history(number, Ended::Silent);
                    self.tally.of(exchange.kind.into()).counts.open += 1;
                    self.end(number);
                } else {
                    self.lose(number);
                }
            }
            self.ring.tail += 1;
        }
        self.looked_at = self.ring.tail;
    }
}
