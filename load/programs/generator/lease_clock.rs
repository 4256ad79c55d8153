//! Clients that renew, rebind and lose their leases at the times of the leases.

use leaseload_net::clock::SECOND;

use crate::clients::Lease;
use crate::exchanges::{Exchanges, Message};
use crate::protocol::{Kind, Protocol};
use crate::ring::State;

/// After an exchange that has given no lease a client begins again so late (ns).
const PAUSE: u64 = SECOND;

/// The due action of a client that has or wants a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// T1: renew, with its server.
    Renew,
    /// T2: rebind, with any server.
    Rebind,
    /// The lease has expired.
    Expire,
    /// It has no lease, and requests one.
    Begin,
}

/// A timer of a client; it is valid only for the lease since `version`.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTimer {
    client: u64,
    version: u32,
    step: Step,
}

/// T1, T2 and the end of a lease, since it was given (ns); None for one without times.
fn times(lease: &Lease) -> Option<[u64; 3]> {
    let valid_s = Some(lease.valid_s).filter(|valid_s| *valid_s > 0)?;
    let renew_s = lease.renew_s.clamp(1, valid_s);
    let rebind_s = lease.rebind_s.clamp(renew_s, valid_s);
    Some([renew_s, rebind_s, valid_s].map(|seconds| u64::from(seconds) * SECOND))
}

impl<P: Protocol> Exchanges<P> {
    /// Start the clocks of all leases that are held, as if clients had come at different
    /// times: each renews at a random moment of its T1, but not after its own T2.
    pub(crate) fn start_clocks(&mut self, now: u64) {
        for client in self.clients.all() {
            let held = *self.clients.held(client);
            let Some([renew, rebind, valid]) = times(&held.lease) else { continue };
            if held.given_at + valid <= now {
                self.set_clock(client, held.given_at + valid, Step::Expire);
                continue;
            }
            let at = now + (renew as f64 * self.random.share()) as u64;
            self.set_clock(client, at.min(held.given_at + rebind), Step::Renew);
        }
    }

    /// A client was given a lease.
    pub(crate) fn restart_clock(&mut self, client: u64, at: u64) {
        let held = self.clients.held(client);
        (held.version, held.given_at) = (held.version.wrapping_add(1), at);
        if let Some([renew, ..]) = times(&held.lease) {
            self.set_clock(client, at + renew, Step::Renew);
        }
    }

    /// An exchange has begun, which its client waits for from now on; one for a new lease ends
    /// the clock of an older one.
    pub(crate) fn note_begun(&mut self, kind: Kind, client: u64, number: u64) {
        let held = self.clients.held(client);
        held.exchange = number;
        let is_restart = matches!(kind, Kind::New | Kind::Rapid);
        held.version = held.version.wrapping_add(u32::from(is_restart));
    }

    /// An exchange has ended without a lease.
    pub(crate) fn note_failed(&mut self, kind: Kind, client: u64, at: u64, is_refused: bool) {
        match kind {
            // T2 or the end of the lease is still to come, unless a server has refused it.
            Kind::Renew | Kind::Rebind if is_refused => {
                self.set_clock(client, at, Step::Begin)
            }
            Kind::New | Kind::Rapid => self.set_clock(client, at + PAUSE, Step::Begin),
            _ => {}
        }
    }

    fn set_clock(&mut self, client: u64, at: u64, step: Step) {
        let version = self.clients.held(client).version;
        self.set_timer(at, LeaseTimer { client, version, step });
    }

    /// Do the due action of a client; return the number of the exchange that it begins.
    pub(crate) fn lease_timer(
        &mut self,
        timer: LeaseTimer,
        at: u64,
    ) -> Option<(u64, Message)> {
        let LeaseTimer { client, version, step } = timer;
        let held = *self.clients.held(client);
        if held.version != version || at > self.start + self.offer.traffic {
            return None;
        }
        if let Some(number) = self.awaited(client, held.exchange) {
            self.replace(number);
        }
        let kind = match step {
            Step::Renew => Kind::Renew,
            Step::Rebind => Kind::Rebind,
            Step::Expire | Step::Begin => Kind::New,
        };
        self.tally.events.expired += u64::from(step == Step::Expire);
        if let Some([_, rebind, valid]) = times(&held.lease) {
            match step {
                Step::Renew => self.set_clock(client, held.given_at + rebind, Step::Rebind),
                Step::Rebind => self.set_clock(client, held.given_at + valid, Step::Expire),
                Step::Expire | Step::Begin => {}
            }
        }
        let lease = if kind.needs_lease() { held.lease } else { Lease::default() };
        let number = self.begin(kind, client, lease, at.max(self.start));
        Some((number, Message::First))
    }

    /// The exchange that a client still waits for.
    fn awaited(&self, client: u64, number: u64) -> Option<u64> {
        let is_kept = number >= self.ring.tail && number < self.ring.head;
        let waits = || {
            let exchange = self.ring.at(number);
            exchange.client == client && exchange.state != State::Over
        };
        (is_kept && waits()).then_some(number)
    }
}
