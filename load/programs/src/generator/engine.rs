//! One thread of the generator: sends due messages, and reads replies.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use leaseload_net::clock::{self, Converter, SECOND};
use leaseload_net::{Receiver, thread};
use serde::Serialize;

use crate::generator::connection::{self, Connection};
use crate::generator::exchanges::{Exchanges, Message};
use crate::generator::lane::{BATCH, Lane};
use crate::generator::load::Offer;
use crate::generator::protocol::Protocol;
use crate::generator::schedule::Schedule;
use crate::generator::window::{Next, Window};

/// How soon a thread sees a signal, or that another thread has decided the load (ns).
const LONGEST_SLEEP: u64 = SECOND / 100;
/// How exactly late and lost exchanges are noticed while nothing else happens (ns).
const EXACT: u64 = SECOND / 1000;
/// Exchanges under way while a population is filled.
const FILL_WINDOW: u64 = 64;
/// For how long a filling may make no progress (ns).
const FILL_PATIENCE: u64 = 10 * SECOND;

/// Waits until a message of a window may leave; false where a signal has come first.
pub type Gate = Arc<dyn Fn() -> io::Result<bool> + Send + Sync>;

/// Why a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Every exchange has ended.
    Complete,
    /// Those that were not answered were waited for.
    Waited,
    /// More have failed than may; of a window, one was lost, or no client could begin it.
    Failed,
    /// A signal requested it.
    Interrupted,
}

impl End {
    /// Whether the load was cut short.
    pub fn is_early(self) -> bool {
        matches!(self, Self::Failed | Self::Interrupted)
    }
}

/// One thread of the generator.
pub struct Engine<P: Protocol> {
    lanes: Vec<Lane>,
    receiver: Receiver,
    /// Exchanges whose second message is due, as the reply to the first has come.
    seconds: VecDeque<u64>,
    clock: Converter,
    offer: Arc<Offer>,
    start: u64,
    /// What messages in lock step wait for.
    gate: Gate,
    pub exchanges: Exchanges<P>,
}

impl<P: Protocol> Engine<P> {
    /// A thread with its lanes to the server.
    pub fn new(
        lanes: Vec<Lane>,
        exchanges: Exchanges<P>,
        offer: Arc<Offer>,
        gate: Gate,
    ) -> Self {
        Self {
            lanes,
            receiver: Receiver::new(BATCH),
            seconds: VecDeque::new(),
            clock: Converter::read(),
            offer,
            start: 0,
            gate,
            exchanges,
        }
    }

    /// Give each client of the population a lease, as fast as the server answers; return how
    /// many have one, which is fewer than all where no more came.
    pub fn fill(&mut self) -> io::Result<u64> {
        let goal = self.exchanges.share();
        let (mut left, mut again, mut progress) = (goal, Vec::new(), (0, clock::monotonic()));
        self.exchanges.start = progress.1;
        while progress.0 < goal && !thread::is_stopped() {
            let now = clock::monotonic();
            while self.exchanges.under_way < FILL_WINDOW && (left > 0 || !again.is_empty()) {
                let client = again.pop();
                left -= u64::from(client.is_none());
                let number = self.exchanges.begin_filling(client, now);
                self.add(number, Message::First)?;
            }
            self.flush()?;
            self.receive()?;
            self.add_seconds()?;
            self.exchanges.give_up(now, false, &mut again);
            let counts = self.exchanges.tally.counts();
            let done = counts.completed + counts.late;
            if done > progress.0 {
                progress = (done, now);
            } else if now - progress.1 > FILL_PATIENCE {
                break;
            } else {
                self.wait(SECOND / 100)?;
            }
        }
        self.exchanges.give_up(clock::monotonic(), true, &mut again);
        Ok(progress.0)
    }

    /// Prepare for a load, of which this thread has to remember `room` exchanges at once.
    pub fn prepare(&mut self, offer: &Arc<Offer>, room: u64, seed: u64) -> io::Result<()> {
        let before = clock::monotonic();
        self.lanes.iter_mut().for_each(|lane| lane.drain(&mut self.receiver));
        self.seconds.clear();
        let mut connections: Vec<_> =
            self.lanes.iter_mut().filter_map(Lane::connection).collect();
        connection::settle(&mut connections)?;
        let now = clock::monotonic();
        self.offer = Arc::clone(offer);
        self.clock = Converter::read();
        self.exchanges.prepare(Arc::clone(offer), room, seed, now);
        self.exchanges.tally.largest.setup = now - before;
        Ok(())
    }

    /// Offer the load that it was prepared for, which begins at `start` (monotonic, ns).
    pub fn run(&mut self, schedule: Schedule, start: u64) -> io::Result<End> {
        let dropped_before = self.dropped();
        self.start = start;
        self.exchanges.start = start;
        let end = match self.offer.load.window.clone() {
            Some(window) => self.run_window(&window)?,
            None => self.run_schedule(schedule)?,
        };
        self.exchanges.close(end.is_early());
        let dropped = self.dropped() - dropped_before;
        let tally = &mut self.exchanges.tally;
        tally.events.dropped = dropped;
        self.lanes.iter().for_each(|lane| lane.count(tally));
        Ok(end)
    }

    /// Begin exchanges when they are due.
    fn run_schedule(&mut self, schedule: Schedule) -> io::Result<End> {
        let (start, over) = (self.start, self.start + self.offer.traffic);
        let mut due = schedule.map(|at| start + at).peekable();
        loop {
            let now = clock::monotonic();
            self.clock.refresh(now);
            let mut begun = 0;
            while let Some(at) = due.next_if(|&at| at <= now) {
                if let Some(number) = self.exchanges.begin_due(at) {
                    self.add(number, Message::First)?;
                }
                begun += 1;
                if begun == BATCH {
                    break;
                }
            }
            for (number, message) in self.exchanges.timers(now) {
                self.add(number, message)?;
            }
            self.flush()?;
            let received = self.receive()?;
            self.add_seconds()?;
            self.flush()?;
            self.exchanges.expire(now);
            if now > over + self.offer.load.lag {
                self.exchanges.tally.events.left_out += due.by_ref().count() as u64;
            }
            let is_all_begun =
                due.peek().is_none() && (now > over || !self.offer.load.lease_clock);
            if let Some(end) = self.ended(is_all_begun, now, over) {
                return Ok(end);
            }
            if received == 0 && begun == 0 && !self.offer.load.spin {
                self.sleep(now, due.peek().copied())?;
            }
        }
    }

    /// Begin exchanges as others end, and send one message at a time.
    fn run_window(&mut self, window: &Window) -> io::Result<End> {
        let lead = self.start.saturating_sub(clock::monotonic());
        std::thread::sleep(std::time::Duration::from_nanos(lead));
        let mut begun = 0;
        loop {
            let now = clock::monotonic();
            self.clock.refresh(now);
            let received = self.receive()?;
            self.exchanges.expire(now);
            let next = window.next(begun, &self.exchanges);
            match next {
                _ if thread::is_stopped() => return Ok(End::Interrupted),
                Next::Ended(end) => return Ok(end),
                Next::Wait if self.seconds.is_empty() => {
                    if received == 0 {
                        self.sleep(now, None)?;
                    }
                    continue;
                }
                // A signal has come meanwhile.
                _ if window.step && !(self.gate)()? => continue,
                _ => {}
            }
            if let Some(number) = self.seconds.pop_front() {
                self.add(number, Message::Second)?;
            } else {
                begun += 1;
                if let Some(number) = self.exchanges.begin_due(clock::monotonic()) {
                    self.add(number, Message::First)?;
                }
            }
            self.flush()?;
        }
    }

    /// Replies that the sockets have dropped since they were opened.
    fn dropped(&self) -> u64 {
        self.lanes.iter().map(Lane::dropped).sum()
    }

    /// Sleep until something is due or a packet comes.
    fn sleep(&self, now: u64, due: Option<u64>) -> io::Result<()> {
        let event =
            self.exchanges.next_failure().max(now + EXACT).min(self.exchanges.next_timer());
        let until = due.unwrap_or(u64::MAX).min(event).min(now + LONGEST_SLEEP);
        let gap = until.saturating_sub(now);
        let tick = self.offer.load.tick;
        if gap <= tick {
            // What comes meanwhile is stamped by the kernel, and read together.
            std::thread::sleep(std::time::Duration::from_nanos(tick));
            return Ok(());
        }
        self.wait(gap)
    }

    fn wait(&self, nanoseconds: u64) -> io::Result<()> {
        let mut interests = Vec::new();
        self.lanes.iter().for_each(|lane| lane.add_interests(&mut interests));
        leaseload_net::wait(&interests, nanoseconds)
    }

    fn ended(&self, is_all_begun: bool, now: u64, over: u64) -> Option<End> {
        if thread::is_stopped() {
            return Some(End::Interrupted);
        }
        if self.offer.is_decided() {
            return Some(End::Failed);
        }
        if !is_all_begun {
            return None;
        }
        if self.exchanges.under_way == 0 {
            let counts = self.exchanges.tally.counts();
            return Some(if counts.lost == 0 { End::Complete } else { End::Waited });
        }
        let load = &self.offer.load;
        if load.again {
            // A last try would be late.
            return (now > over + load.late + load.grace).then_some(End::Waited);
        }
        let tally = &self.exchanges.tally;
        let last_reply = self.exchanges.start + tally.largest.last_reply;
        // A server that takes longer than that has shown it during the traffic.
        let patience = load.quiet.max(2 * tally.longest());
        (now > over.max(last_reply) + patience).then_some(End::Waited)
    }

    /// Write the second messages that are due.
    fn add_seconds(&mut self) -> io::Result<()> {
        while let Some(number) = self.seconds.pop_front() {
            self.add(number, Message::Second)?;
        }
        Ok(())
    }

    /// Write a message of an exchange, to be sent with the next batch of its lane.
    fn add(&mut self, number: u64, message: Message) -> io::Result<()> {
        let place = self.exchanges.lane(number);
        if self.lanes[place].is_full() {
            self.flush_lane(place)?;
        }
        let (lane, exchanges) = (&mut self.lanes[place], &self.exchanges);
        let now = if message == Message::First { 0 } else { clock::monotonic() };
        lane.add(number, message, |out| exchanges.write(number, now, out));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        (0..self.lanes.len()).try_for_each(|lane| self.flush_lane(lane))
    }

    /// Send the waiting messages of a lane, and record their times.
    fn flush_lane(&mut self, place: usize) -> io::Result<()> {
        let exchanges = &mut self.exchanges;
        self.lanes[place].flush(|number, message, at, was_taken| {
            exchanges.note_sent(number, message, at, was_taken);
        })?;
        Ok(())
    }

    /// Read received messages, at most one batch a lane; return their number.
    fn receive(&mut self) -> io::Result<usize> {
        let mut all = 0;
        for place in 0..self.lanes.len() {
            let Self { lanes, receiver, exchanges, seconds, clock, .. } = self;
            all += lanes[place].receive(receiver, |bytes, received_at| {
                let at = if received_at == 0 {
                    exchanges.tally.unstamped += 1;
                    clock::monotonic()
                } else {
                    clock.to_monotonic(received_at)
                };
                seconds.extend(exchanges.take(place, bytes, at));
            })?;
            if lanes[place].connection().is_some_and(Connection::takes_end) {
                exchanges.tally.connections.lost += exchanges.lose_lane(place);
            }
            for number in lanes[place].take_ended() {
                exchanges.tally.connections.lost += exchanges.lose_one(number);
            }
        }
        Ok(all)
    }
}
