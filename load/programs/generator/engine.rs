//! One thread of the generator: sends what is due, reads what came, and counts.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use leaseload_net::clock::{self, Converter, SECOND};
use leaseload_net::{Receiver, Sender, Socket, thread};

use crate::clients::{AddressBook, Clients, Lease};
use crate::protocol::{Ask, Kind, Meaning, NOTHING_GIVEN, Protocol, Reply};
use crate::random::Random;
use crate::ring::{Exchange, Ring, State};
use crate::schedule::Schedule;
use crate::tally::Tally;
use crate::wheel::Wheel;

/// Packets sent or received by one system call at the most.
const BATCH: usize = 64;
/// While nothing else is due the socket is looked at so often (ns).
const LONGEST_SLEEP: u64 = SECOND / 20;
/// Times by which completed exchanges are counted, at the most: the last holds the rest.
const MOST_BINS: usize = 1_000_000;
/// Exchanges under way while a population is filled.
const FILL_WINDOW: u64 = 64;

/// What holds for all threads of a load.
#[derive(Debug)]
pub struct Rules {
    /// An exchange that takes longer is late (ns).
    pub late: u64,
    /// For how long a late reply is waited for, after that (ns).
    pub grace: u64,
    /// Messages without an answer are sent again, as the RFCs say.
    pub again: bool,
    /// Exchanges by their share; shares come one after the other, up to 1.
    pub mix: Vec<(f64, Kind)>,
    /// Exchanges that may fail before the load has failed for certain; None to go on anyway.
    pub may_fail: Option<u64>,
    /// What is due within this time is sent together (ns).
    pub tick: u64,
    /// Never sleep.
    pub spin: bool,
    /// How long the schedule is (ns).
    pub traffic: u64,
    /// What is begun later than this after it was due has fallen behind; what is not begun so
    /// long after the traffic is left out (ns).
    pub lag: u64,
    /// Completed exchanges are counted by times of this length, too (ns); 0 for none.
    pub bin: u64,
    /// For how long filling may make no progress (ns).
    pub fill_patience: u64,
}

/// What threads tell each other.
#[derive(Debug, Default)]
pub struct Shared {
    failed: AtomicU64,
    is_decided: AtomicBool,
}

/// Why a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Every exchange has ended.
    Complete,
    /// Those that were not answered were waited for.
    Waited,
    /// More have failed than may.
    Failed,
    /// A signal asked for it.
    Interrupted,
}

impl End {
    /// Its word in the report.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Waited => "waited",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A way to the server: a socket, and what is about to be sent by it.
struct Lane {
    socket: Socket,
    sender: Sender,
    /// The exchanges of the packets that wait, in their order, and whether each is new.
    waiting: Vec<(u64, Message)>,
    /// Replies that the socket has dropped since it was opened.
    dropped: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    First,
    Second,
    Again,
}

/// One thread of the generator.
pub struct Engine<'a, P: Protocol> {
    rules: &'a Rules,
    shared: &'a Shared,
    protocol: P,
    lanes: Vec<Lane>,
    descriptors: Vec<RawFd>,
    clients: Clients,
    ring: Ring,
    wheel: Wheel<(u64, u8, bool)>,
    random: Random,
    clock: Converter,
    start: u64,
    under_way: u64,
    /// Exchanges before this one were looked at for being late.
    looked_at: u64,
    /// What was counted.
    pub tally: Tally,
    /// Who has which address.
    pub book: AddressBook,
}

impl<'a, P: Protocol> Engine<'a, P> {
    // Each is a part of it that its caller has made.
    #[allow(clippy::too_many_arguments)]
    /// A thread with its sockets, to the destinations of each; `room` is for how many
    /// exchanges at once.
    pub fn new(
        rules: &'a Rules,
        shared: &'a Shared,
        protocol: P,
        sockets: Vec<(Socket, std::net::SocketAddr)>,
        clients: Clients,
        room: u64,
        book: AddressBook,
        seed: u64,
    ) -> Self {
        let descriptors = sockets.iter().map(|(socket, _)| socket.as_raw_fd()).collect();
        let lanes: Vec<_> = sockets
            .into_iter()
            .map(|(socket, to)| Lane {
                socket,
                sender: Sender::new(BATCH, &[to]),
                waiting: Vec::with_capacity(BATCH),
                dropped: 0,
            })
            .collect();
        let ring = Ring::new(room, lanes.len(), protocol.id_bits());
        Self {
            rules,
            shared,
            protocol,
            lanes,
            descriptors,
            clients,
            ring,
            wheel: Wheel::new(clock::monotonic()),
            random: Random::new(seed),
            clock: Converter::new(),
            start: 0,
            under_way: 0,
            looked_at: 0,
            tally: Tally::default(),
            book,
        }
    }

    /// Give each client of the population a lease, as fast as the server answers; return how
    /// many have one, which is fewer than all where no more came.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn fill(&mut self) -> io::Result<u64> {
        let mut receiver = Receiver::new(BATCH);
        self.start = clock::monotonic();
        let (goal, mut progress) = (self.clients.share(), (0, self.start));
        let mut left = goal;
        let mut again = Vec::new();
        while progress.0 < goal && !thread::is_stopped() {
            let now = clock::monotonic();
            while self.under_way < FILL_WINDOW && (left > 0 || !again.is_empty()) {
                let client = again.pop().unwrap_or_else(|| {
                    left -= 1;
                    self.clients.next()
                });
                self.begin(Kind::New, client, Lease::default(), now)?;
            }
            self.flush()?;
            self.receive(&mut receiver)?;
            while self.ring.tail < self.ring.head {
                let number = self.ring.tail;
                let exchange = *self.ring.at(number);
                let is_over = exchange.state == State::Over;
                if !is_over && exchange.began + self.rules.late > now {
                    break;
                }
                if !is_over {
                    self.lose(number);
                    again.push(exchange.client);
                }
                self.ring.tail += 1;
            }
            let counts = self.tally.counts();
            let done = counts.completed + counts.late;
            if done > progress.0 {
                progress = (done, now);
            } else if now - progress.1 > self.rules.fill_patience {
                break;
            } else {
                leaseload_net::wait(&self.descriptors, SECOND / 100)?;
            }
        }
        self.ring.tail = self.ring.head;
        (self.looked_at, self.under_way) = (self.ring.head, 0);
        Ok(progress.0)
    }

    /// Offer the load, which begins at `start` (monotonic, ns); what was counted before is
    /// forgotten.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn run(&mut self, schedule: Schedule, start: u64) -> io::Result<End> {
        let mut receiver = Receiver::new(BATCH);
        let cpu_before = clock::thread_cpu();
        (self.tally, self.start) = (Tally::default(), start);
        let dropped_before = self.dropped();
        let mut due = schedule.map(|at| start + at).peekable();
        let end = loop {
            let now = clock::monotonic();
            self.clock.refresh(now);
            let mut begun = 0;
            while let Some(at) = due.next_if(|&at| at <= now) {
                self.begin_one(at)?;
                begun += 1;
                if begun == BATCH {
                    break;
                }
            }
            self.send_again(now)?;
            self.flush()?;
            let received = self.receive(&mut receiver)?;
            self.flush()?;
            self.expire(now);
            if now > start + self.rules.traffic + self.rules.lag {
                self.tally.events.left_out += due.by_ref().count() as u64;
            }
            if let Some(end) = self.ended(due.peek().is_none(), now) {
                break end;
            }
            if received == 0 && begun == 0 && !self.rules.spin {
                self.sleep(now, due.peek().copied())?;
            }
        };
        self.close(end);
        self.tally.events.dropped = self.dropped() - dropped_before;
        self.tally.cpu = clock::thread_cpu() - cpu_before;
        Ok(end)
    }

    /// Replies that the sockets have dropped since they were opened.
    fn dropped(&self) -> u64 {
        self.lanes.iter().map(|lane| u64::from(lane.dropped)).sum()
    }

    /// Sleep until something is due or a packet comes.
    fn sleep(&self, now: u64, due: Option<u64>) -> io::Result<()> {
        let until = due.unwrap_or(u64::MAX).min(now + LONGEST_SLEEP);
        let until = if self.wheel.is_empty() { until } else { until.min(now + SECOND / 1000) };
        let gap = until.saturating_sub(now);
        if gap <= self.rules.tick {
            // What comes meanwhile is stamped by the kernel, and read together.
            std::thread::sleep(std::time::Duration::from_nanos(self.rules.tick));
            return Ok(());
        }
        leaseload_net::wait(&self.descriptors, gap)
    }

    fn ended(&self, is_all_begun: bool, now: u64) -> Option<End> {
        if thread::is_stopped() {
            return Some(End::Interrupted);
        }
        if self.shared.is_decided.load(Ordering::Relaxed) {
            return Some(End::Failed);
        }
        if !is_all_begun {
            return None;
        }
        if self.under_way == 0 {
            let counts = self.tally.counts();
            return Some(if counts.lost == 0 { End::Complete } else { End::Waited });
        }
        // Who sends again is not waited for, once the time is over and a last try would be late.
        let over = self.start + self.rules.traffic + self.rules.late + self.rules.grace;
        (self.rules.again && now > over).then_some(End::Waited)
    }

    fn begin_one(&mut self, due: u64) -> io::Result<()> {
        let draw = if self.rules.mix.len() == 1 { 0.0 } else { self.random.share() };
        let kind = self.rules.mix.iter().find(|(up_to, _)| draw < *up_to);
        let kind = kind.or(self.rules.mix.last()).map_or(Kind::New, |(_, kind)| *kind);
        let (client, lease) = if kind.needs_lease() {
            match self.clients.holder() {
                Some(holder) => holder,
                None => {
                    self.tally.events.starved += 1;
                    return Ok(());
                }
            }
        } else {
            (self.clients.next(), Lease::default())
        };
        self.begin(kind, client, lease, due)
    }

    fn begin(&mut self, kind: Kind, client: u64, lease: Lease, due: u64) -> io::Result<()> {
        while self.ring.is_full() {
            self.forget();
        }
        let exchange =
            Exchange { client, lease, due, kind, state: State::First, ..Exchange::default() };
        let number = self.ring.begin(exchange);
        self.under_way += 1;
        self.add(number, Message::First)
    }

    /// Write a message of an exchange, to be sent with the next batch of its lane.
    fn add(&mut self, number: u64, message: Message) -> io::Result<()> {
        let (lane, id) = self.ring.address(number);
        if self.lanes[lane].sender.is_full() {
            self.flush_lane(lane)?;
        }
        let exchange = *self.ring.at(number);
        let began = if exchange.began == 0 { 0 } else { clock::monotonic() - exchange.began };
        let ask = Ask {
            kind: exchange.kind,
            id,
            client: exchange.client,
            lease: &exchange.lease,
            is_second: exchange.state == State::Second,
            elapsed: began,
            lane,
        };
        let protocol = &self.protocol;
        let lane = &mut self.lanes[lane];
        lane.sender.add(0, |out| protocol.write(&ask, out));
        lane.waiting.push((number, message));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        (0..self.lanes.len()).try_for_each(|lane| self.flush_lane(lane))
    }

    /// Send what waits in a lane, and note when: the time of the call, shared out evenly.
    fn flush_lane(&mut self, lane: usize) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.lanes[lane].waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let Lane { socket, sender, .. } = &mut self.lanes[lane];
        let before = clock::monotonic();
        let sent = sender.flush(socket)?;
        let took = clock::monotonic() - before;
        self.tally.largest_batch = self.tally.largest_batch.max(waiting.len());
        for (place, &(number, message)) in waiting.iter().enumerate() {
            let at = before + took * (2 * place as u64 + 1) / (2 * waiting.len() as u64);
            self.note_sent(number, message, at, place < sent);
        }
        let mut waiting = waiting;
        waiting.clear();
        self.lanes[lane].waiting = waiting;
        Ok(())
    }

    fn note_sent(&mut self, number: u64, message: Message, at: u64, was_taken: bool) {
        let exchange = self.ring.at(number);
        let (kind, tries, is_second) =
            (exchange.kind, exchange.tries, exchange.state == State::Second);
        match message {
            Message::First => (exchange.began, exchange.asked) = (at, at),
            Message::Second => exchange.asked = at,
            Message::Again => {}
        }
        let due = exchange.due;
        self.tally.events.unsent += u64::from(!was_taken);
        if message == Message::First {
            self.tally.sent(kind, due.saturating_sub(self.start), at.saturating_sub(self.start));
        }
        if message != Message::Again {
            let stage = self.protocol.stage(kind, is_second);
            self.tally.stages.entry(stage).or_default().sent += 1;
        }
        if !self.protocol.is_answered(kind) {
            self.free(number);
            self.complete(number, at);
        } else if self.rules.again {
            let (first_s, longest_s) = self.protocol.patience(kind, is_second);
            let wait_s = (first_s * 2_f64.powi(i32::from(tries))).min(longest_s);
            let wait_s = wait_s * (0.9 + 0.2 * self.random.share());
            self.wheel.set(at + (wait_s * SECOND as f64) as u64, (number, tries, is_second));
        }
    }

    fn send_again(&mut self, now: u64) -> io::Result<()> {
        if !self.rules.again {
            return Ok(());
        }
        let mut due = Vec::new();
        self.wheel.due(now, |timer| due.push(timer));
        for (number, tries, is_second) in due {
            if number < self.ring.tail {
                continue;
            }
            let exchange = self.ring.at(number);
            let awaited = if is_second { State::Second } else { State::First };
            if exchange.state == awaited && exchange.tries == tries {
                exchange.tries = exchange.tries.saturating_add(1);
                self.tally.events.sent_again += 1;
                self.add(number, Message::Again)?;
            }
        }
        Ok(())
    }

    /// Read what came, at most one batch a lane; return how many packets that were.
    fn receive(&mut self, receiver: &mut Receiver) -> io::Result<usize> {
        let mut all = 0;
        for lane in 0..self.lanes.len() {
            let count = receiver.receive(&self.lanes[lane].socket)?;
            all += count;
            for place in 0..count {
                let packet = receiver.packet(place);
                self.lanes[lane].dropped = packet.dropped.unwrap_or(self.lanes[lane].dropped);
                let at = match packet.received_at {
                    0 => clock::monotonic(),
                    stamp => self.clock.to_monotonic(stamp),
                };
                match self.protocol.read(packet.bytes) {
                    Ok(reply) => self.take(lane, reply, at, packet.bytes.len())?,
                    Err(_) => self.tally.events.malformed += 1,
                }
            }
        }
        Ok(all)
    }

    fn take(&mut self, lane: usize, reply: Reply<'_>, at: u64, size: usize) -> io::Result<()> {
        let Some(number) = self.ring.named(lane, reply.id) else {
            self.tally.events.foreign += 1;
            return Ok(());
        };
        let exchange = *self.ring.at(number);
        if !self.protocol.is_to(exchange.client, reply.who) {
            self.tally.events.foreign += 1;
            return Ok(());
        }
        let is_second = exchange.state == State::Second;
        match (exchange.state, reply.meaning) {
            (State::Over, _) | (State::Second, Meaning::Offered(_)) => {
                self.tally.events.repeated += 1;
                return Ok(());
            }
            (State::First, Meaning::Done(_)) if exchange.kind == Kind::New && self.has_offers() => {
                self.tally.events.foreign += 1;
                return Ok(());
            }
            _ => {}
        }
        let stage = self.protocol.stage(exchange.kind, is_second);
        let since_start = exchange.asked.saturating_sub(self.start);
        let latency = at.saturating_sub(exchange.asked);
        self.tally.answered(stage, since_start, latency, !is_second);
        self.tally.largest.last_reply =
            self.tally.largest.last_reply.max(at.saturating_sub(self.start));
        let replies = self.tally.replies.entry(reply.word).or_default();
        replies.count += 1;
        replies.bytes += size as u64;
        let is_nothing = reply.meaning == Meaning::Done(None);
        let meaning = if is_nothing && exchange.kind.gives_lease() && self.has_offers() {
            Meaning::Refused(NOTHING_GIVEN)
        } else {
            reply.meaning
        };
        match meaning {
            Meaning::Offered(lease) => {
                let exchange = self.ring.at(number);
                (exchange.lease, exchange.state, exchange.tries) = (lease, State::Second, 0);
                self.add(number, Message::Second)
            }
            Meaning::Refused(word) => {
                *self.tally.refused.entry(word).or_default() += 1;
                self.tally.of(exchange.kind).refused += 1;
                self.end(number);
                if !exchange.is_overdue {
                    self.fail();
                }
                Ok(())
            }
            Meaning::Done(given) => {
                if let Some(lease) = given {
                    self.note_given(exchange.client, &lease, at);
                    self.ring.at(number).lease = lease;
                }
                self.free(number);
                self.complete(number, at);
                Ok(())
            }
        }
    }

    fn has_offers(&self) -> bool {
        self.protocol.stage(Kind::New, true) != self.protocol.stage(Kind::New, false)
    }

    fn note_given(&mut self, client: u64, lease: &Lease, at: u64) {
        let now_s = (at.saturating_sub(self.start) / SECOND) as u32;
        let until_s = now_s.saturating_add(lease.valid_s);
        for given in [lease.address, lease.prefix] {
            if given != 0 && self.book.give(given, client, now_s, until_s) {
                self.tally.events.duplicates += 1;
            }
        }
    }

    /// What is given back is nobody's.
    fn free(&mut self, number: u64) {
        let Exchange { kind, lease, .. } = *self.ring.at(number);
        if kind == Kind::Release {
            for given in [lease.address, lease.prefix] {
                if given != 0 {
                    self.book.free(given);
                }
            }
        }
    }

    fn complete(&mut self, number: u64, at: u64) {
        let exchange = *self.ring.at(number);
        let latency = at.saturating_sub(exchange.began);
        let since_start = at.saturating_sub(self.start);
        self.tally.completed(exchange.kind, since_start, latency, self.rules.late);
        self.note_end(&exchange, since_start, latency);
        if latency > self.rules.late && !exchange.is_overdue {
            self.fail();
        }
        if !matches!(exchange.kind, Kind::Release | Kind::Decline | Kind::Inform) {
            self.clients.hold(exchange.client, exchange.lease);
        }
        self.end(number);
    }

    /// What tells a server that keeps up from one that works off its queue after the traffic.
    fn note_end(&mut self, exchange: &Exchange, since_start: u64, latency: u64) {
        let traffic = self.rules.traffic;
        if exchange.due.saturating_sub(self.start) < traffic / 10 {
            self.tally.early.0.saturating_record(latency.max(1));
        }
        self.tally.events.after_traffic +=
            u64::from(since_start > traffic && latency <= self.rules.late);
        if let Some(bin) = since_start.checked_div(self.rules.bin) {
            let bin = (bin as usize).min(MOST_BINS);
            if self.tally.bins.len() <= bin {
                self.tally.bins.resize(bin + 1, 0);
            }
            self.tally.bins[bin] += 1;
        }
    }

    fn end(&mut self, number: u64) {
        self.ring.at(number).state = State::Over;
        self.under_way -= 1;
    }

    /// Count a failure, and end the load where that is one too many.
    fn fail(&mut self) {
        let failed = self.shared.failed.fetch_add(1, Ordering::Relaxed) + 1;
        if self.rules.may_fail.is_some_and(|most| failed > most) {
            self.shared.is_decided.store(true, Ordering::Relaxed);
        }
    }

    /// Count what is late as failed, and what nobody waits for any more as lost.
    fn expire(&mut self, now: u64) {
        while self.looked_at < self.ring.head {
            let exchange = self.ring.at(self.looked_at);
            if exchange.began == 0 || exchange.began + self.rules.late >= now {
                break;
            }
            if exchange.state != State::Over {
                exchange.is_overdue = true;
                self.fail();
            }
            self.looked_at += 1;
        }
        while self.ring.tail < self.looked_at {
            let exchange = self.ring.at(self.ring.tail);
            let is_recent = exchange.began + self.rules.late + self.rules.grace >= now;
            // What is sent again is waited for until the load ends.
            if is_recent || (self.rules.again && exchange.state != State::Over) {
                break;
            }
            self.forget();
        }
    }

    /// Give the oldest exchange's place away; if it is under way, it is lost.
    fn forget(&mut self) {
        let number = self.ring.tail;
        if self.ring.at(number).state != State::Over {
            if !self.ring.at(number).is_overdue {
                self.fail();
            }
            self.lose(number);
        }
        self.ring.tail += 1;
        self.looked_at = self.looked_at.max(self.ring.tail);
    }

    fn lose(&mut self, number: u64) {
        let exchange = *self.ring.at(number);
        let stage = self.protocol.stage(exchange.kind, exchange.state == State::Second);
        self.tally.stages.entry(stage).or_default().lost += 1;
        self.tally.of(exchange.kind).lost += 1;
        if exchange.kind.needs_lease() && exchange.kind != Kind::Release {
            self.clients.hold(exchange.client, exchange.lease);
        }
        self.end(number);
    }

    /// Sum up: what is under way is lost, or open where it could have come in time but for an
    /// early end.
    fn close(&mut self, end: End) {
        let is_early = matches!(end, End::Failed | End::Interrupted);
        while self.ring.tail < self.ring.head {
            let number = self.ring.tail;
            let exchange = *self.ring.at(number);
            if exchange.state != State::Over {
                if is_early && !exchange.is_overdue {
                    self.tally.of(exchange.kind).open += 1;
                    self.end(number);
                } else {
                    self.lose(number);
                }
            }
            self.ring.tail += 1;
        }
        self.tally.largest.clock_step = self.clock.largest_step;
    }
}
