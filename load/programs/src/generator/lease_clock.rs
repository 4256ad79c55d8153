//! Clients that renew, rebind and lose their leases at the times of the leases.

use leaseload_net::clock::SECOND;

use crate::generator::clients::{Clients, Lease};
use crate::generator::protocol::Dhcp;
use crate::generator::wheel::Wheel;
use crate::random::Random;

/// After an exchange that has given no lease a client begins again so late (ns).
const PAUSE: u64 = SECOND;

/// The due action of a client that has or wants a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// T1: renew, with its server.
    Renew,
    /// T2: rebind, with any server.
    Rebind,
    Expire,
    /// It has no lease, and requests one.
    Begin,
}

/// A timer of a client; it is valid only for the lease since `version`.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTimer {
    pub client: u64,
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

/// The action of a client that is due.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    pub kind: Dhcp,
    /// The lease that it needs.
    pub lease: Lease,
    /// The exchange that the client has begun last.
    pub last: u64,
    pub has_expired: bool,
}

/// The clocks of clients' leases; their timers are some of a wheel.
pub struct LeaseClock<'a, T> {
    pub clients: &'a mut Clients,
    pub wheel: &'a mut Wheel<T>,
}

impl<T: Copy + From<LeaseTimer>> LeaseClock<'_, T> {
    /// Start the clocks of all leases that are held, as if clients had come at different
    /// times: each renews at a random moment of its T1, but not after its own T2.
    pub fn start(&mut self, now: u64, random: &mut Random) {
        for client in self.clients.all() {
            let held = *self.clients.held(client);
            let Some([renew, rebind, valid]) = times(&held.lease) else { continue };
            if held.given_at + valid <= now {
                self.set(client, held.given_at + valid, Step::Expire);
                continue;
            }
            let at = now + (renew as f64 * random.share()) as u64;
            self.set(client, at.min(held.given_at + rebind), Step::Renew);
        }
    }

    /// A client was given a lease.
    pub fn restart(&mut self, client: u64, at: u64) {
        let held = self.clients.held(client);
        (held.version, held.given_at) = (held.version.wrapping_add(1), at);
        if let Some([renew, ..]) = times(&held.lease) {
            self.set(client, at + renew, Step::Renew);
        }
    }

    /// An exchange has begun, which its client waits for from now on; one for a new lease ends
    /// the clock of an older one.
    pub fn note_begun(&mut self, kind: Dhcp, client: u64, number: u64) {
        let held = self.clients.held(client);
        held.exchange = number;
        let is_restart = matches!(kind, Dhcp::New | Dhcp::Rapid);
        held.version = held.version.wrapping_add(u32::from(is_restart));
    }

    /// An exchange has ended without a lease.
    pub fn note_failed(&mut self, kind: Option<Dhcp>, client: u64, at: u64, is_refused: bool) {
        match kind {
            // T2 or the end of the lease is still to come, unless a server has refused it.
            Some(Dhcp::Renew | Dhcp::Rebind) if is_refused => {
                self.set(client, at, Step::Begin);
            }
            Some(Dhcp::New | Dhcp::Rapid) => self.set(client, at + PAUSE, Step::Begin),
            _ => {}
        }
    }

    fn set(&mut self, client: u64, at: u64, step: Step) {
        let version = self.clients.held(client).version;
        self.wheel.set(at, LeaseTimer { client, version, step }.into());
    }

    /// The due action of a client, whose next timer is set; None if the timer is not valid any
    /// more.
    pub fn due(&mut self, LeaseTimer { client, version, step }: LeaseTimer) -> Option<Due> {
        let held = *self.clients.held(client);
        if held.version != version {
            return None;
        }
        let [_, rebind, valid] = times(&held.lease).unwrap_or_default();
        let has_expired = step == Step::Expire;
        let (kind, next) = match step {
            Step::Renew => (Dhcp::Renew, Some((rebind, Step::Rebind))),
            Step::Rebind => (Dhcp::Rebind, Some((valid, Step::Expire))),
            Step::Expire | Step::Begin => (Dhcp::New, None),
        };
        if let Some((since, next)) = next.filter(|_| valid > 0) {
            self.set(client, held.given_at + since, next);
        }
        let lease = if kind.needs_lease() { held.lease } else { Lease::default() };
        Some(Due { kind, lease, last: held.exchange, has_expired })
    }
}
