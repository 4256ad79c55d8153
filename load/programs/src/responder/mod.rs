//! The responder: answers as configured, so that reports of generators can be checked.

mod answer;
mod cli;
mod connections;
pub(crate) mod options;
mod server;
mod stalls;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};

use leaseload_net::clock::{self, Converter, SECOND};
use leaseload_net::{Interest, Link, Options, Receiver, Sender, Socket, thread};
use leaseload_packet::dhcp4::CLIENT_PORT;
use leaseload_packet::frame::{self, EVERYBODY, End};
use serde::Serialize;

use crate::random::Random;
use crate::responder::answer::{Protocol, Wrong};
use crate::responder::cli::{Asked, OnLink};
use crate::responder::connections::Connections;
use crate::responder::server::{Fate, Server};
use crate::responder::stalls::Stalls;

/// Packets received or sent by one system call at the most.
const BATCH: usize = 64;
/// How often the counts are written (ns).
const WRITTEN_EVERY: u64 = SECOND / 4;

/// Do what a command line without the program's name requests; return the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let served = match cli::read(arguments) {
        Ok(Some(asked)) => {
            thread::stop_on_signals();
            thread::take_wishes_by_signals();
            serve(&asked).map_err(|why| (1, why))
        }
        Ok(None) => Ok(()),
        Err(wrong) => Err((2, wrong)),
    };
    served.map_or_else(
        |(code, why)| {
            eprintln!("leaserespond: {why}");
            code
        },
        |()| 0,
    )
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    received: u64,
    malformed: u64,
    overloaded: u64,
    dropped_on_purpose: u64,
    answered: u64,
    unsent: u64,
    leases: u64,
    forgotten: u64,
    resets: u64,
    socket_drops: u64,
}

/// Where an answer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum To {
    Address(SocketAddr),
    /// The same, from another port.
    Elsewhere(SocketAddr),
    Connection(u64),
}

/// An answer that waits until it is due: by its time, then in the order of the packets.
type Due = Reverse<(u64, u64, To, Vec<u8>)>;

/// An end of frames, and their tags.
type Tagged = (End, Vec<u16>);

struct Responder<'a> {
    asked: &'a Asked,
    socket: Socket,
    /// One of another port, if it answers from there.
    elsewhere: Option<Socket>,
    /// Its end of frames and their tags, if it uses frames.
    link: Option<Tagged>,
    connections: Connections,
    /// Answers that go through connections by the next `flush`.
    answers: Vec<(u64, Vec<u8>)>,
    server: Server,
    sender: Sender,
    later: BinaryHeap<Due>,
    number: u64,
    /// Of --early: the number of the address that was offered last.
    begun: u32,
    random: Random,
    clock: Converter,
    counts: Counts,
    stalls: Stalls,
}

/// The socket, and its end of frames and their tags if it uses frames.
fn opened(asked: &Asked) -> std::io::Result<(Socket, Option<Tagged>)> {
    if let OnLink::Frames(vlans) = &asked.on_link {
        let (interface, port) = (asked.interface.clone(), asked.listen.port());
        let link = Link { interface, vlans: vlans.clone(), port, id_byte: None };
        let socket = Socket::open_link(&link)?;
        let end = End { mac: socket.mac()?, address: asked.server, port };
        return Ok((socket, Some((end, vlans.clone()))));
    }
    let mut options = Options::new(asked.listen);
    options.interface.clone_from(&asked.interface);
    options.receive_buffer = asked.receive_buffer;
    if asked.on_link == OnLink::Udp {
        options.broadcast = true;
        // What is broadcast does not come to a socket with an address of its own.
        options.local.set_ip(Ipv4Addr::UNSPECIFIED.into());
    }
    if asked.protocol == Protocol::Dhcp6 && asked.listen.ip().is_unspecified() {
        options.group = Some(leaseload_packet::dhcp6::ALL_SERVERS);
    }
    Ok((Socket::open(&options)?, None))
}

fn serve(asked: &Asked) -> Result<(), String> {
    let (socket, link) =
        opened(asked).map_err(|error| format!("{}: {error}", asked.listen))?;
    let elsewhere = (asked.faults.elsewhere > 0.0)
        .then(|| Socket::open(&Options::new((asked.listen.ip(), 0).into())))
        .transpose()
        .map_err(|error| format!("--elsewhere: {error}"))?;
    let to = [asked.listen];
    thread::exact_timers();
    let mut responder = Responder {
        asked,
        socket,
        elsewhere,
        sender: Sender::new(BATCH, if link.is_some() { &[] } else { &to }),
        link,
        connections: Connections::open(asked)?,
        answers: Vec::new(),
        server: Server::new(asked.settings.clone(), clock::monotonic()),
        later: BinaryHeap::new(),
        number: 0,
        begun: 0,
        random: Random::new(asked.seed),
        clock: Converter::read(),
        counts: Counts::default(),
        stalls: Stalls::new(asked.stalls.clone(), clock::monotonic()),
    };
    responder.write_counts()?;
    responder.run()
}

impl Responder<'_> {
    fn run(&mut self) -> Result<(), String> {
        let mut receiver = Receiver::new(BATCH);
        let mut written_at = clock::monotonic();
        let said = |error: std::io::Error| error.to_string();
        while !thread::is_stopped() {
            let mut count = receiver.receive(&self.socket).map_err(said)?;
            for place in 0..count {
                let packet = receiver.packet(place);
                if let Some(dropped) = packet.dropped {
                    self.counts.socket_drops = u64::from(dropped);
                }
                let at = self.clock.to_monotonic(packet.received_at);
                if self.link.is_some() {
                    match frame::read(packet.bytes) {
                        Ok((from, bytes)) => {
                            let from = (from.address, from.port).into();
                            self.take(bytes, from, None, at).map_err(said)?;
                        }
                        Err(_) => self.counts.malformed += 1,
                    }
                } else if let Some(from) = packet.from {
                    self.take(packet.bytes, from, None, at).map_err(said)?;
                }
            }
            count += self.receive_from_connections().map_err(said)?;
            let now = clock::monotonic();
            self.clock.refresh(now);
            if thread::takes_wish_to_forget() {
                self.forget(now);
                self.write_counts()?;
            }
            if thread::takes_wish_to_stall() {
                self.stall(now);
                self.write_counts()?;
            }
            self.send_due(now).map_err(said)?;
            self.flush().map_err(said)?;
            if now - written_at > WRITTEN_EVERY {
                self.write_counts()?;
                written_at = now;
            }
            if count == 0 {
                let due = self.later.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
                let wait = due.saturating_sub(clock::monotonic()).min(WRITTEN_EVERY);
                if wait > 0 {
                    let socket = Interest::reading(&self.socket);
                    let all = std::iter::once(socket).chain(self.connections.interests());
                    leaseload_net::wait(&all.collect::<Vec<_>>(), wait).map_err(said)?;
                }
            }
        }
        self.write_counts()
    }

    /// Accept clients, and read their queries; return the number of queries.
    fn receive_from_connections(&mut self) -> std::io::Result<usize> {
        let mut connections = std::mem::take(&mut self.connections);
        let mut taken = connections.accept();
        let count = connections.receive(|number, from, bytes, received_at| {
            let at = match received_at {
                0 => clock::monotonic(),
                stamp => self.clock.to_monotonic(stamp),
            };
            if taken.is_ok() {
                taken = self.take(bytes, from, Some(number), at);
            }
        });
        self.connections = connections;
        taken.map(|()| count)
    }

    /// Discard all leases and waiting packets, as if just started, but without a warm-up.
    fn forget(&mut self, now: u64) {
        self.server.forget(now);
        self.later.clear();
        self.counts.forgotten += std::mem::take(&mut self.counts.leases);
        self.counts.resets += 1;
    }

    /// Answer nothing for the length of the next stall.
    fn stall(&mut self, now: u64) {
        let Some(length) = self.stalls.begin(now) else { return };
        self.server.stall(now, length);
        let later = std::mem::take(&mut self.later).into_iter();
        let put_off = |Reverse((due, number, to, bytes)): Due| {
            Reverse((due.max(now) + length, number, to, bytes))
        };
        self.later = later.map(put_off).collect();
    }

    /// Whether something happens that has a share of all packets.
    fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && self.random.share() < share
    }

    fn take(
        &mut self,
        bytes: &[u8],
        from: SocketAddr,
        connection: Option<u64>,
        at: u64,
    ) -> std::io::Result<()> {
        self.counts.received += 1;
        let asker = (from, connection);
        let protocol = self.asked.protocol;
        let Ok(question) = answer::question(protocol, bytes) else {
            self.counts.malformed += 1;
            return Ok(());
        };
        if self.server.is_free(at) {
            self.stalls.taken_at_once(at);
        }
        let random = self.random.share();
        let fate = self.server.packet(at, question.begins, self.counts.leases, random);
        let Fate::Answered(due) = fate else {
            self.counts.overloaded += 1;
            return Ok(());
        };
        let faults = self.asked.faults;
        if self.happens(if question.begins { faults.drop_first } else { faults.drop_second }) {
            self.counts.dropped_on_purpose += 1;
            return Ok(());
        }
        let wrong = if self.happens(faults.refuse) {
            Wrong::Refused
        } else if question.renews && self.happens(faults.forget) {
            Wrong::Forgotten
        } else if self.happens(faults.same_address) {
            Wrong::SameAddress
        } else if let Some(size) = faults.early {
            self.begun = (self.begun + u32::from(question.begins)) % size;
            Wrong::Numbered(self.begun)
        } else if connection.is_none() && self.happens(faults.truncate) {
            Wrong::Truncated
        } else {
            Wrong::No
        };
        if !matches!(wrong, Wrong::Refused | Wrong::Forgotten) {
            self.counts.leases += u64::from(question.gives);
            self.counts.leases = self.counts.leases.saturating_sub(u64::from(question.frees));
        }
        self.say(bytes, asker, due, wrong)?;
        for (share, wrong) in
            [(faults.malformed, Wrong::Malformed), (faults.foreign, Wrong::Foreign)]
        {
            if self.happens(share) {
                self.say(bytes, asker, due, wrong)?;
            }
        }
        if self.happens(faults.duplicate) {
            self.say(bytes, asker, due, wrong)?;
        }
        Ok(())
    }

    /// Send an answer when it is due, through the connection that the question came by.
    fn say(
        &mut self,
        bytes: &[u8],
        (from, connection): (SocketAddr, Option<u64>),
        due: u64,
        wrong: Wrong,
    ) -> std::io::Result<()> {
        let mut out = Vec::with_capacity(512);
        let asked = self.asked;
        let answered = answer::answer(
            asked.protocol,
            bytes,
            from,
            (asked.server, asked.times),
            wrong,
            &mut out,
        );
        if let Ok(Some(to)) = answered {
            let to = match connection {
                Some(number) => To::Connection(number),
                None if self.happens(self.asked.faults.elsewhere) => To::Elsewhere(to),
                None => To::Address(to),
            };
            if due > clock::monotonic() {
                self.number += 1;
                self.later.push(Reverse((due, self.number, to, out)));
            } else {
                self.send(to, &out)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, to: To, bytes: &[u8]) -> std::io::Result<()> {
        let to = match to {
            To::Address(to) => to,
            To::Elsewhere(to) => {
                let mut sender = Sender::new(1, &[]);
                sender.answer(&to, |out| out.extend(bytes));
                if let Some(socket) = &self.elsewhere {
                    self.counts.answered += sender.flush(socket)? as u64;
                }
                return Ok(());
            }
            To::Connection(number) => {
                self.answers.push((number, bytes.to_vec()));
                return Ok(());
            }
        };
        if self.sender.is_full() {
            self.flush()?;
        }
        let Some((end, vlans)) = &self.link else {
            self.sender.answer(&to, |out| out.extend(bytes));
            return Ok(());
        };
        // Clients on the link have no address yet: everybody is answered.
        let to = End { mac: EVERYBODY, address: Ipv4Addr::BROADCAST, port: CLIENT_PORT };
        self.sender.add(0, |out| frame::write(out, vlans, end, &to, |out| out.extend(bytes)));
        Ok(())
    }

    fn send_due(&mut self, now: u64) -> std::io::Result<()> {
        while self.later.peek().is_some_and(|Reverse((due, ..))| *due <= now) {
            if let Some(Reverse((_, _, to, bytes))) = self.later.pop() {
                self.send(to, &bytes)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let waiting = self.sender.waiting();
        if waiting + self.answers.len() > 0 {
            self.stalls.answered(clock::monotonic());
        }
        if waiting > 0 {
            let sent = self.sender.flush(&self.socket)?;
            self.counts.answered += sent as u64;
            self.counts.unsent += (waiting - sent) as u64;
        }
        for (number, bytes) in self.answers.drain(..) {
            let is_taken = self.connections.answer(number, &bytes);
            self.counts.answered += u64::from(is_taken);
            self.counts.unsent += u64::from(!is_taken);
        }
        self.connections.flush();
        Ok(())
    }

    /// Write the counts into their file, as a whole or not at all.
    fn write_counts(&self) -> Result<(), String> {
        let Some(path) = &self.asked.counts else { return Ok(()) };
        let mut document = serde_json::json!(self.counts);
        document["connections"] = self.connections.accepted.into();
        document["stalls"] = self.stalls.document(&self.clock);
        let beside = path.with_extension("new");
        std::fs::write(&beside, document.to_string())
            .and_then(|()| std::fs::rename(&beside, path))
            .map_err(|error| format!("--counts: {}: {error}", path.display()))
    }
}
