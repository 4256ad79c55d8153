//! `leaseload`: offers a load to a DHCP or DNS server, and says what came of it.

mod cli;
mod clients;
mod dhcp4;
mod dhcp6;
mod dns;
mod engine;
mod protocol;
mod random;
mod report;
mod ring;
mod schedule;
mod tally;
mod wheel;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Barrier;

use leaseload_net::clock::{self, SECOND};
use leaseload_net::{Options, Socket, interface_index, thread};
use leaseload_packet::{dhcp4 as v4, dhcp6 as v6};

use crate::cli::{Asked, Target};
use crate::clients::{AddressBook, Clients};
use crate::engine::{End, Engine, Rules, Shared};
use crate::protocol::Protocol;
use crate::report::{Filled, Outcome};
use crate::schedule::{Arrivals, Schedule};
use crate::tally::Tally;

/// From the last preparation to the first packet (ns).
const LEAD: u64 = SECOND / 100;
/// For how long a filling may make no progress (ns).
const FILL_PATIENCE: u64 = 10 * SECOND;
/// Exchanges that are remembered beyond those that can be under way.
const SPARE: f64 = 4096.0;
/// Addresses of DHCPv6 for which there is room from the beginning, at the most.
const MOST_ROOM: f64 = 4e6;

fn main() -> ExitCode {
    let asked = match cli::read(std::env::args_os().skip(1)) {
        Ok(Some(asked)) => asked,
        Ok(None) => return ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("leaseload: {wrong}");
            return ExitCode::from(2);
        }
    };
    thread::stop_on_signals();
    let outcome = match &asked.target {
        Target::Dhcp4 { .. } => offer(&asked, dhcp4_thread),
        Target::Dhcp6 { .. } => offer(&asked, dhcp6_thread),
        Target::Dns { queries, recursion, edns, expected, .. } => {
            match dns::Dns::open(queries, *recursion, *edns) {
                Ok(mut protocol) => {
                    protocol.expected.clone_from(expected);
                    offer(&asked, |asked, _| Ok((protocol.clone(), dns_sockets(asked)?)))
                }
                Err(wrong) => {
                    eprintln!("leaseload: --queries: {wrong}");
                    return ExitCode::from(2);
                }
            }
        }
    };
    match outcome {
        Ok(outcome) => {
            println!("{}", report::document(&asked, &outcome));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("leaseload: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The sockets of a thread, each with where it sends to.
type Sockets = Vec<(Socket, SocketAddr)>;

fn opened(options: &Options) -> Result<Socket, String> {
    Socket::open(options)
        .map_err(|error| format!("{} on {:?}: {error}", options.local, options.interface))
}

/// The places of a list that are one thread's.
fn shares<T: Clone>(all: &[T], thread: usize, threads: usize) -> Vec<T> {
    all.iter().skip(thread).step_by(threads).cloned().collect()
}

fn dhcp4_thread(asked: &Asked, thread: usize) -> Result<(dhcp4::Dhcp4, Sockets), String> {
    let Target::Dhcp4 { server, relays } = &asked.target else { unreachable!() };
    let relays = shares(relays, thread, asked.threads);
    let to = SocketAddr::from((*server, v4::SERVER_PORT));
    let sockets = relays.iter().map(|relay| {
        let mut options = Options::new((*relay, v4::SERVER_PORT).into());
        options.interface.clone_from(&asked.interface);
        Ok((opened(&options)?, to))
    });
    let mut agent = Vec::new();
    for (code, value) in [(1, &asked.circuit_id), (2, &asked.remote_id)] {
        if !value.is_empty() {
            v4::put(&mut agent, code, value);
        }
    }
    let sockets = sockets.collect::<Result<_, String>>()?;
    let protocol = dhcp4::Dhcp4 {
        macs: asked.macs.clone(),
        relay_agent: vec![agent; relays.len()],
        relays,
        options: asked.options.clone(),
        id_base: (thread as u32 + 1) << 24,
        servers: Vec::new(),
    };
    Ok((protocol, sockets))
}

fn dhcp6_thread(asked: &Asked, thread: usize) -> Result<(dhcp6::Dhcp6, Sockets), String> {
    let Target::Dhcp6 { server, relays, addresses, prefixes } = &asked.target else {
        unreachable!()
    };
    let relays = shares(relays, thread, asked.threads);
    let scope = interface_index(&asked.interface)
        .map_err(|error| format!("--interface {:?}: {error}", asked.interface))?;
    let server = server.unwrap_or(v6::ALL_SERVERS);
    let to = std::net::SocketAddrV6::new(server, v6::SERVER_PORT, 0, scope as u32).into();
    let local: Vec<SocketAddr> = if relays.is_empty() {
        vec![(std::net::Ipv6Addr::UNSPECIFIED, v6::CLIENT_PORT).into()]
    } else {
        relays.iter().map(|relay| (*relay, v6::SERVER_PORT).into()).collect()
    };
    let sockets = local.iter().map(|local| {
        let mut options = Options::new(*local);
        options.interface.clone_from(&asked.interface);
        Ok((opened(&options)?, to))
    });
    let sockets = sockets.collect::<Result<_, String>>()?;
    let protocol = dhcp6::Dhcp6 {
        macs: asked.macs.clone(),
        addresses: *addresses,
        prefixes: *prefixes,
        interface_id: vec![asked.circuit_id.clone(); relays.len()],
        relays,
        options: asked.options.clone(),
        id_base: (thread as u32) << 20,
        servers: Vec::new(),
    };
    Ok((protocol, sockets))
}

fn dns_sockets(asked: &Asked) -> Result<Sockets, String> {
    let Target::Dns { server, port, sockets, .. } = &asked.target else { unreachable!() };
    let any: std::net::IpAddr = match server {
        std::net::IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        std::net::IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let mut options = Options::new((any, 0).into());
    options.interface.clone_from(&asked.interface);
    (0..*sockets).map(|_| Ok((opened(&options)?, (*server, *port).into()))).collect()
}

/// Offer the load with all its threads.
fn offer<P: Protocol>(
    asked: &Asked,
    of_thread: impl Fn(&Asked, usize) -> Result<(P, Sockets), String>,
) -> Result<Outcome, String> {
    let planned: f64 = asked.steps.iter().map(|step| step.rate * step.seconds).sum();
    let rules = Rules {
        late: asked.late,
        grace: asked.grace,
        again: asked.again,
        mix: asked.mix.clone(),
        may_fail: (asked.goal < 1.0).then_some((asked.goal * planned) as u64),
        tick: asked.tick,
        spin: asked.spin,
        traffic: (asked.steps.iter().map(|step| step.seconds).sum::<f64>() * SECOND as f64) as u64,
        lag: asked.lag,
        bin: asked.bin,
        fill_patience: FILL_PATIENCE,
    };
    let shared = Shared::default();
    let threads =
        (0..asked.threads).map(|thread| of_thread(asked, thread)).collect::<Result<Vec<_>, _>>()?;
    let sockets = threads.iter().flat_map(|(_, sockets)| sockets);
    let receive_buffer = sockets.map(|(socket, _)| socket.receive_buffer).min().unwrap_or(0);
    let room = room(asked, planned);
    let (ready, go) = (Barrier::new(asked.threads), Barrier::new(asked.threads + 1));
    let start = std::sync::OnceLock::new();
    let results = std::thread::scope(|scope| {
        let running: Vec<_> = threads
            .into_iter()
            .enumerate()
            .map(|(number, (protocol, sockets))| {
                let (rules, shared, ready, go, start) = (&rules, &shared, &ready, &go, &start);
                scope.spawn(move || {
                    let prepared = prepared(
                        asked, rules, shared, protocol, sockets, number, room, planned, ready,
                    );
                    go.wait();
                    let (mut engine, filled) = prepared?;
                    let start = *start.get_or_init(|| clock::monotonic() + LEAD);
                    let schedule = schedule(asked, number);
                    let end = engine.run(schedule, start).map_err(|error| error.to_string())?;
                    Ok((engine.tally, engine.book, end, filled, start))
                })
            })
            .collect();
        go.wait();
        running
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a thread has failed".to_owned())?)
            .collect::<Result<Vec<_>, String>>()
    })?;
    Ok(summed_up(asked, results, planned, receive_buffer))
}

fn schedule(asked: &Asked, thread: usize) -> Schedule {
    let (thread, threads) = (thread as u64, asked.threads as u64);
    Schedule::new(asked.steps.clone(), asked.arrivals, thread, threads, asked.seed)
}

/// Exchanges that a thread may have to remember at once.
fn room(asked: &Asked, planned: f64) -> u64 {
    let threads = asked.threads as f64;
    let fastest = asked.steps.iter().map(|step| step.rate).fold(0.0, f64::max);
    let remembered_s = (asked.late + asked.grace) as f64 / SECOND as f64 + 1.0;
    let burst = if let Arrivals::Bursts(size) = asked.arrivals { size as f64 } else { 0.0 };
    let at_once = if asked.again { planned } else { fastest * remembered_s + burst };
    (at_once.min(planned) / threads + SPARE) as u64
}

/// A thread's engine, after it has filled its share of the population.
#[allow(clippy::too_many_arguments)]
fn prepared<'a, P: Protocol>(
    asked: &Asked,
    rules: &'a Rules,
    shared: &'a Shared,
    protocol: P,
    sockets: Sockets,
    number: usize,
    room: u64,
    planned: f64,
    ready: &Barrier,
) -> Result<(Engine<'a, P>, Option<Filled>), String> {
    thread::exact_timers();
    let pinned = asked.processors.get(number).map_or(Ok(()), |&processor| thread::pin(processor));
    let keeps = asked.mix.iter().any(|(_, kind)| kind.needs_lease());
    let clients = Clients::new(number as u64, asked.threads as u64, asked.clients, keeps);
    let mine = clients.share();
    let others = match &asked.target {
        Target::Dhcp6 { .. } => planned.max(mine as f64).min(MOST_ROOM) as usize,
        _ => 0,
    };
    let book = AddressBook::new(others);
    let seed = asked.seed.wrapping_mul(31).wrapping_add(number as u64);
    let mut engine = Engine::new(rules, shared, protocol, sockets, clients, room, book, seed);
    ready.wait();
    pinned.map_err(|error| format!("--processors: {error}"))?;
    if !asked.fill {
        return Ok((engine, None));
    }
    let before = clock::monotonic();
    let leases = engine.fill().map_err(|error| error.to_string())?;
    let filled = Filled { clients: mine, leases, took: clock::monotonic() - before };
    if leases < mine && !thread::is_stopped() {
        return Err(format!("--fill: found {leases} leases, expected {mine}: no more came"));
    }
    Ok((engine, Some(filled)))
}

fn summed_up(
    asked: &Asked,
    results: Vec<(Tally, AddressBook, End, Option<Filled>, u64)>,
    planned: f64,
    receive_buffer: usize,
) -> Outcome {
    let ended = clock::monotonic();
    let start = results.first().map_or(ended, |result| result.4);
    let started_at = clock::Converter::new().to_realtime(start);
    let mut tally = Tally::default();
    let mut book = AddressBook::new(0);
    let mut end = End::Complete;
    let mut filled: Option<Filled> = None;
    let now_s = (ended.saturating_sub(start) / SECOND) as u32;
    for (theirs, their_book, their_end, their_filled, _) in results {
        tally.absorb(&theirs);
        end = end.max(their_end);
        if asked.threads > 1 {
            tally.events.duplicates += book.absorb(&their_book, now_s);
        }
        if let Some(one) = their_filled {
            let sum = filled.get_or_insert(Filled { clients: 0, leases: 0, took: 0 });
            sum.clients += one.clients;
            sum.leases += one.leases;
            sum.took = sum.took.max(one.took);
        }
    }
    let took = ended.saturating_sub(start);
    Outcome { tally, end, started_at, took, filled, planned, receive_buffer }
}
