//! The generator's threads together: opened, filled, and offering one load after the other.

use std::sync::{Barrier, OnceLock};

use leaseload_net::clock::{self, SECOND};
use leaseload_net::thread;

use crate::generator::book::AddressBook;
use crate::generator::cli::{Asked, Target};
use crate::generator::clients::Clients;
use crate::generator::engine::{End, Engine, Gate};
use crate::generator::exchanges::Exchanges;
use crate::generator::lane::Lane;
use crate::generator::load::{Load, Offer};
use crate::generator::protocol::Protocol;
use crate::generator::report::{Filled, Outcome};
use crate::generator::tally::Tally;

/// From the last preparation to the first packet (ns).
const LEAD: u64 = SECOND / 100;
/// Addresses of DHCPv6 for which there is room from the beginning, at the most.
const MOST_ROOM: f64 = 4e6;

/// All threads. Sockets, clients and leases stay from one load to the next.
pub struct Generator<P: Protocol> {
    engines: Vec<Engine<P>>,
    processors: Vec<usize>,
    filled: Option<Filled>,
    /// Addresses that clients of several threads have, and are in a report already.
    shared_addresses: u64,
}

impl<P: Protocol> Generator<P> {
    /// Open the sockets of every thread.
    pub fn open(
        asked: &Asked,
        of_thread: impl Fn(usize) -> Result<(P, Vec<Lane>), String>,
        gate: &Gate,
    ) -> Result<Self, String> {
        let threads = asked.threads as u64;
        let offer = Offer::new(asked.load.clone());
        let now = clock::monotonic();
        let mut engines = Vec::new();
        for thread in 0..asked.threads {
            let (protocol, lanes) = of_thread(thread)?;
            let mut clients = Clients::new(thread as u64, threads, asked.clients);
            if asked.load.needs_leases() || (asked.serve.is_some() && asked.clients.is_some())
            {
                clients.keep();
            }
            let others = match &asked.target {
                Target::Dhcp6(_) => asked.load.planned().max(clients.share() as f64),
                _ => 0.0,
            };
            let book = AddressBook::new(others.min(MOST_ROOM) as usize)
                .of_clients(clients.share() as usize, threads);
            let mut exchanges =
                Exchanges::new(protocol, clients, lanes.len(), book, offer.clone(), now);
            exchanges.history.is_kept = asked.history;
            engines.push(Engine::new(lanes, exchanges, offer.clone(), gate.clone()));
        }
        let processors = asked.processors.clone();
        Ok(Self { engines, processors, filled: None, shared_addresses: 0 })
    }

    /// Call a function with every engine at once, each in its own thread; return the
    /// results.
    fn each<T: Send>(
        &mut self,
        what: impl Fn(u64, &mut Engine<P>) -> std::io::Result<T> + Sync,
    ) -> Result<Vec<T>, String> {
        let (what, processors) = (&what, &self.processors);
        std::thread::scope(|scope| {
            let begun = |(number, engine)| {
                scope.spawn(move || {
                    thread::exact_timers();
                    let pinned = processors.get(number).map_or(Ok(()), |&processor| {
                        thread::pin(processor)
                            .map_err(|error| format!("--processors: {processor}: {error}"))
                    });
                    // It is done in any case: other threads may wait for this one.
                    let done = what(number as u64, engine).map_err(|error| error.to_string());
                    pinned.and(done)
                })
            };
            let running: Vec<_> = self.engines.iter_mut().enumerate().map(begun).collect();
            let ended = running.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended.map(|result| result.map_err(|_| "a thread has failed".to_owned())?).collect()
        })
    }

    /// Give each client of the population a lease.
    pub fn fill(&mut self, load: &Load) -> Result<(), String> {
        let before = clock::monotonic();
        let offer =
            Offer::new(Load { again: false, goal: 1.0, lease_clock: false, ..load.clone() });
        let leases = self.each(|_, engine| {
            engine.prepare(&offer, load.room(1, 0), 0)?;
            engine.fill()
        })?;
        let leases = leases.iter().sum();
        let clients = self.engines.iter().map(|engine| engine.exchanges.share()).sum();
        if leases < clients && !thread::is_stopped() {
            return Err(format!(
                "--fill: found {leases} leases, expected {clients}: no more came"
            ));
        }
        self.filled = Some(Filled { clients, leases, took: clock::monotonic() - before });
        Ok(())
    }

    /// Offer a load, and sum up its counts.
    pub fn offer(&mut self, load: &Load) -> Result<Outcome, String> {
        let threads = self.engines.len() as u64;
        let clients: u64 = self.engines.iter().map(|engine| engine.exchanges.share()).sum();
        let most = load.window.as_ref().map_or(0, |window| window.most);
        if clients > 0 && most > clients {
            return Err(format!(
                "--window: found {most}, expected at most --clients: {clients}"
            ));
        }
        let offer = Offer::new(load.clone());
        let (ready, start) = (Barrier::new(self.engines.len()), OnceLock::new());
        let ends = self.each(|number, engine| {
            let seed = load.seed.wrapping_mul(31).wrapping_add(number);
            let room = load.room(threads, engine.exchanges.share());
            let prepared = engine.prepare(&offer, room, seed);
            ready.wait();
            prepared?;
            let start = *start.get_or_init(|| clock::monotonic() + LEAD);
            engine.run(load.schedule(number, threads), start)
        })?;
        let ended = clock::monotonic();
        let start = start.get().copied().unwrap_or(ended);
        let mut tally = Tally::default();
        for engine in &mut self.engines {
            let written = engine.exchanges.history.flush();
            written.map_err(|error| format!("--history: {error}"))?;
            tally.absorb(&std::mem::take(&mut engine.exchanges.tally));
        }
        tally.events.duplicates += self.shared_addresses(ended);
        Ok(Outcome {
            tally,
            end: ends.into_iter().max().unwrap_or(End::Complete),
            started_at: clock::Converter::read().to_realtime(start),
            took: ended.saturating_sub(start),
            filled: self.filled,
            planned: load.planned(),
        })
    }

    /// How many more addresses than before clients of several threads have.
    fn shared_addresses(&mut self, now: u64) -> u64 {
        if self.engines.len() == 1 {
            return 0;
        }
        let mut book = AddressBook::new(0);
        let all = self.engines.iter();
        let shared = all.map(|engine| {
            book.absorb(&engine.exchanges.book, engine.exchanges.second_of(now))
        });
        let shared = shared.sum();
        let before = std::mem::replace(&mut self.shared_addresses, shared);
        shared.saturating_sub(before)
    }
}
