//! The outcome of a load: counts, latencies, seconds. Times are in nanoseconds.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use leaseload_net::clock::SECOND;

use crate::generator::load::Offer;
use crate::generator::protocol::Kind;

/// Longest latency with its own value (an hour).
const LONGEST: u64 = 3600 * SECOND;
/// Seconds whose latencies are still collected; older ones are complete.
const OPEN_SECONDS: usize = 64;
/// Times by which exchanges are counted, at the most: the last holds the rest.
const MOST_BINS: usize = 1_000_000;

/// Numbers with names, which threads add up: a new one is named here and where it counts.
macro_rules! counters {
    ($(#[$about:meta])* $group:ident { $($(#[$what:meta])* $name:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $group { $($(#[$what])* pub $name: u64,)* }

        impl $group {
            /// Each with its name.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),*]
            }

            /// Combine each with that of another thread.
            pub fn combine(&mut self, other: &Self, how: impl Fn(u64, u64) -> u64) {
                $(self.$name = how(self.$name, other.$name);)*
            }
        }
    };
}

counters! {
    /// Exchanges by outcome. All but `attempted` together are `attempted`.
    Counts {
        /// First packets sent.
        attempted,
        /// Completed in time.
        completed,
        /// Completed, but too late.
        late,
        /// Never completed.
        lost,
        /// Answered in another way than was wanted.
        refused,
        /// Still under way as the load was ended.
        open,
    }
}

counters! {
    /// Counts of other events.
    Events {
        /// Addresses and prefixes given to a client while another one has them.
        duplicates,
        /// Replies without an exchange: another transaction id, another client, or of DNS another
        /// address than the server's.
        foreign,
        /// Replies to exchanges of an earlier load of the same process.
        earlier,
        /// Replies that are no messages of the protocol.
        malformed,
        /// Replies to answered messages.
        repeated,
        /// Messages that the generator's own host did not take.
        unsent,
        sent_again,
        /// Exchanges left out, as the generator was too slow to begin them in the load's time.
        left_out,
        /// Exchanges left out, as no client had a lease to renew or release.
        starved,
        /// Leases that have expired, as nothing renewed them (--lease-clock).
        expired,
        /// Replies that the generator's own sockets dropped.
        dropped,
    }
}

counters! {
    /// Connections and their costs.
    Connections {
        wanted,
        /// Those that were open as the load began.
        open,
        /// How often one ended that was open.
        closed,
        /// How often one could not be opened.
        not_opened,
        /// Exchanges that were under way on one as it ended.
        lost,
        /// Messages that none took: the server did not read, or there was no connection.
        no_room,
    }
}

counters! {
    /// Exchanges of one kind in one second.
    Times {
        /// Those that were due in it.
        due,
        /// Those whose first message was sent in it.
        sent,
        /// Those that ended in it by an answer, in time or not, given or refused.
        answered,
    }
}

counters! {
    /// The largest time of each that was seen (ns); moments are since the start of the load.
    Largest {
        /// When the last reply came.
        last_reply,
        /// How long it took to prepare, with the opening of connections.
        setup,
    }
}

/// Latencies, of which any two can be added up.
#[derive(Clone, Debug)]
pub struct Latencies(pub Histogram<u64>);

impl Latencies {
    /// The longest one (ns); 0 without any.
    pub fn max(&self) -> u64 {
        self.0.max()
    }

    fn record(&mut self, latency: u64) {
        self.0.saturating_record(latency);
    }

    fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("same bounds");
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(100, LONGEST, 3).expect("bounds are in order"))
    }
}

/// One stage: a message and its answer.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// Exchanges that were lost in this stage.
    pub lost: u64,
    /// From the message to its answer.
    pub latency: Latencies,
}

/// What came of the exchanges of one kind.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// How many, by outcome.
    pub counts: Counts,
    /// Those that were completed in time, but after the traffic.
    pub after_traffic: u64,
    /// From the first message to the last answer.
    pub whole: Latencies,
    /// The same, for exchanges due in the first tenth of the traffic.
    pub early: Latencies,
}

impl Ends {
    fn add(&mut self, other: &Self) {
        self.counts.combine(&other.counts, std::ops::Add::add);
        self.after_traffic += other.after_traffic;
        self.whole.add(&other.whole);
        self.early.add(&other.early);
    }
}

/// Replies of one type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replies {
    /// How many came to exchanges that waited for them.
    pub count: u64,
    /// How long they were together.
    pub bytes: u64,
}

/// One second of the load.
#[derive(Clone, Debug, Default)]
pub struct Second {
    pub attempted: u64,
    pub completed: u64,
    /// Largest send lag in it.
    pub largest_lag: u64,
    /// By the clients' actions.
    pub kinds: Vec<(Kind, Times)>,
    /// Latency of the first stage of exchanges begun in it; None once it is summed up.
    latency: Option<Box<Histogram<u32>>>,
    /// Its median and 99th percentile; None without an answer.
    percentiles: Option<(u64, u64)>,
}

impl Second {
    /// Median and 99th percentile of the first stage's latency; None without an answer.
    pub fn percentiles(&self) -> Option<(u64, u64)> {
        let open = self.latency.as_ref().filter(|latency| !latency.is_empty());
        open.map(|latency| (latency.value_at_quantile(0.5), latency.value_at_quantile(0.99)))
            .or(self.percentiles)
    }

    fn of(&mut self, kind: Kind) -> &mut Times {
        let known = self.kinds.iter().position(|(known, _)| *known == kind);
        let place = known.unwrap_or_else(|| {
            self.kinds.push((kind, Times::default()));
            self.kinds.len() - 1
        });
        &mut self.kinds[place].1
    }

    fn sum_up(&mut self) {
        self.percentiles = self.percentiles();
        self.latency = None;
    }
}

/// What came of the exchanges that were due in a step of the load.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub attempted: u64,
    /// Completed in time.
    pub completed: u64,
    /// Completed too late.
    pub late: u64,
    /// Latency of the whole exchanges; None without an answer.
    pub latency: Option<Box<Histogram<u32>>>,
}

/// One interval of the requested length. All but `answered` and `replies` are of the
/// exchanges due in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    /// Exchanges whose last answer came in it.
    pub answered: u32,
    /// Answers that came in it, of any stage of an exchange.
    pub replies: u32,
    pub attempted: u32,
    /// Completed in time.
    pub completed: u32,
    /// Completed too late.
    pub late: u32,
    /// Latency of the whole exchanges together (ns).
    pub latency: u64,
}

/// Everything that one thread has counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By the clients' actions.
    pub kinds: BTreeMap<Kind, Ends>,
    /// By the names of stages.
    pub stages: BTreeMap<&'static str, Stage>,
    /// From when a first message was due to when it was sent.
    pub lag: Latencies,
    /// The load by intervals of the requested length.
    pub bins: Vec<Bin>,
    pub seconds: Vec<Second>,
    /// Step by step of the load.
    pub parts: Vec<Part>,
    /// Exchanges answered in another way than was wanted, by the word for it.
    pub refused: BTreeMap<&'static str, u64>,
    /// Replies by the words for them.
    pub replies: BTreeMap<&'static str, Replies>,
    pub events: Events,
    /// Times of which the largest counts.
    pub largest: Largest,
    /// When the last first message was sent, since the start of the load (ns).
    pub last_sent: u64,
    /// Replies with the generator's own time, as they had no time stamp of the kernel.
    pub unstamped: u64,
    pub connections: Connections,
    /// Why one of them ended.
    pub connection_error: Option<String>,
    /// Most bytes that waited for the server to read, of a connection.
    pub largest_backlog: usize,
}

impl Tally {
    /// All kinds together.
    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        self.kinds.values().for_each(|kind| all.combine(&kind.counts, std::ops::Add::add));
        all
    }

    /// The same with their latencies.
    pub fn all(&self) -> Ends {
        let mut all = Ends::default();
        self.kinds.values().for_each(|kind| all.add(kind));
        all
    }

    /// The longest time of an exchange (ns); 0 without any.
    pub fn longest(&self) -> u64 {
        self.kinds.values().map(|kind| kind.whole.max()).max().unwrap_or(0)
    }

    /// What came of a kind, to be changed.
    pub fn of(&mut self, kind: Kind) -> &mut Ends {
        self.kinds.entry(kind).or_default()
    }

    /// An exchange is due at `due`, since the start of the load.
    pub fn due(&mut self, kind: Kind, due: u64) {
        self.second(due).of(kind).due += 1;
    }

    /// An exchange was ended by an answer that came at `at`, since the start of the load.
    pub fn ended(&mut self, kind: Kind, at: u64) {
        self.second(at).of(kind).answered += 1;
    }

    /// A first message was sent, `sent` after the start of the load, due at `due`.
    pub fn sent(&mut self, kind: Kind, due: u64, sent: u64, offer: &Offer) {
        self.of(kind).counts.attempted += 1;
        self.part(offer.step_at(due)).attempted += 1;
        let lag = sent.saturating_sub(due);
        self.lag.record(lag);
        let second = self.second(due);
        second.attempted += 1;
        second.largest_lag = second.largest_lag.max(lag);
        self.second(sent).of(kind).sent += 1;
        self.last_sent = self.last_sent.max(sent);
        if let Some(bin) = self.bin(due, offer) {
            bin.attempted += 1;
        }
    }

    /// A message of a stage was answered; `sent` is since the start of the load.
    pub fn answered(&mut self, stage: &'static str, sent: u64, latency: u64, is_first: bool) {
        let entry = self.stages.entry(stage).or_default();
        entry.latency.record(latency.max(1));
        if is_first {
            let second = self.second(sent);
            if second.percentiles.is_none() {
                second
                    .latency
                    .get_or_insert_with(small_histogram)
                    .saturating_record(latency.max(1));
            }
        }
    }

    /// An answer of any stage came at `at` since the start.
    pub fn replied(&mut self, at: u64, offer: &Offer) {
        if let Some(bin) = self.bin(at, offer) {
            bin.replies += 1;
        }
    }

    /// An exchange that was due at `due` was completed at `at`, both since the start.
    pub fn completed(&mut self, kind: Kind, due: u64, at: u64, latency: u64, offer: &Offer) {
        let is_late = latency > offer.load.late;
        let ends = self.of(kind);
        ends.whole.record(latency.max(1));
        // A server that keeps up differs from one that empties its queue after the traffic.
        if due < offer.early() {
            ends.early.record(latency.max(1));
        }
        ends.counts.late += u64::from(is_late);
        ends.counts.completed += u64::from(!is_late);
        ends.after_traffic += u64::from(!is_late && at > offer.traffic);
        let part = self.part(offer.step_at(due));
        part.latency.get_or_insert_with(small_histogram).saturating_record(latency.max(1));
        part.late += u64::from(is_late);
        part.completed += u64::from(!is_late);
        self.second(at).completed += u64::from(!is_late);
        if let Some(bin) = self.bin(at, offer) {
            bin.answered += 1;
        }
        if let Some(bin) = self.bin(due, offer) {
            bin.late += u32::from(is_late);
            bin.completed += u32::from(!is_late);
            bin.latency += latency;
        }
    }

    /// The interval of a time, where any are counted.
    fn bin(&mut self, at: u64, offer: &Offer) -> Option<&mut Bin> {
        let place = (at.checked_div(offer.load.bin)? as usize).min(MOST_BINS);
        if self.bins.len() <= place {
            self.bins.resize(place + 1, Bin::default());
        }
        Some(&mut self.bins[place])
    }

    fn part(&mut self, place: usize) -> &mut Part {
        if place >= self.parts.len() {
            self.parts.resize_with(place + 1, Part::default);
        }
        &mut self.parts[place]
    }

    fn second(&mut self, at: u64) -> &mut Second {
        let place = (at / SECOND) as usize;
        if place >= self.seconds.len() {
            self.seconds.resize_with(place + 1, Second::default);
            if let Some(old) = place.checked_sub(OPEN_SECONDS) {
                self.seconds[..=old].iter_mut().rev().take(2).for_each(Second::sum_up);
            }
        }
        &mut self.seconds[place]
    }

    /// Add the counts of another thread.
    pub fn absorb(&mut self, other: &Self) {
        for (kind, ends) in &other.kinds {
            self.of(*kind).add(ends);
        }
        for (name, stage) in &other.stages {
            let mine = self.stages.entry(name).or_default();
            mine.lost += stage.lost;
            mine.latency.add(&stage.latency);
        }
        self.lag.add(&other.lag);
        self.events.combine(&other.events, std::ops::Add::add);
        self.largest.combine(&other.largest, u64::max);
        self.last_sent = self.last_sent.max(other.last_sent);
        self.unstamped += other.unstamped;
        self.connections.combine(&other.connections, std::ops::Add::add);
        self.connection_error =
            self.connection_error.take().or(other.connection_error.clone());
        self.largest_backlog = self.largest_backlog.max(other.largest_backlog);
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), Bin::default());
        }
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            mine.answered += theirs.answered;
            mine.replies += theirs.replies;
            mine.attempted += theirs.attempted;
            mine.completed += theirs.completed;
            mine.late += theirs.late;
            mine.latency += theirs.latency;
        }
        if self.seconds.len() < other.seconds.len() {
            self.seconds.resize_with(other.seconds.len(), Second::default);
        }
        for (mine, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            mine.attempted += theirs.attempted;
            mine.completed += theirs.completed;
            mine.largest_lag = mine.largest_lag.max(theirs.largest_lag);
            for (kind, times) in &theirs.kinds {
                mine.of(*kind).combine(times, std::ops::Add::add);
            }
            if let Some(latency) = &theirs.latency {
                let sum = mine.latency.get_or_insert_with(small_histogram);
                sum.add(&**latency).expect("same bounds");
            } else if mine.latency.is_none() {
                mine.percentiles = mine.percentiles.max(theirs.percentiles);
            }
        }
        for (place, theirs) in other.parts.iter().enumerate() {
            let mine = self.part(place);
            mine.attempted += theirs.attempted;
            mine.completed += theirs.completed;
            mine.late += theirs.late;
            if let Some(latency) = &theirs.latency {
                let sum = mine.latency.get_or_insert_with(small_histogram);
                sum.add(&**latency).expect("same bounds");
            }
        }
        for (word, count) in &other.refused {
            *self.refused.entry(word).or_default() += count;
        }
        for (word, replies) in &other.replies {
            let mine = self.replies.entry(word).or_default();
            mine.count += replies.count;
            mine.bytes += replies.bytes;
        }
    }
}

fn small_histogram() -> Box<Histogram<u32>> {
    Box::new(Histogram::new_with_bounds(1000, LONGEST, 2).expect("bounds are in order"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::load::Load;
    use crate::generator::options::TABLE;
    use crate::generator::protocol::Request;
    use crate::words::Words;

    #[test]
    fn what_a_queue_holds_is_counted_of_its_own_kind() {
        let words = "dns --rate 10 --seconds 1 --late 0.5 --bin 0.1".split(' ');
        let words = Words::read(&TABLE, words.map(Into::into)).unwrap().unwrap();
        let offer = Offer::new(Load::read(&words).unwrap());
        let mut tally = Tally::default();
        for (kind, due, latency) in [
            (Kind::Dns(Request::Query), 0, SECOND / 1000),
            (Kind::Dns(Request::Update), 0, SECOND / 10),
            (Kind::Dns(Request::Update), SECOND * 9 / 10, SECOND / 4),
            (Kind::Dns(Request::Update), SECOND * 9 / 10, SECOND),
        ] {
            tally.sent(kind, due, due, &offer);
            tally.replied(due + latency, &offer);
            tally.completed(kind, due, due + latency, latency, &offer);
        }
        let mut both = Tally::default();
        both.absorb(&tally);
        both.absorb(&tally);
        let ends = |kind| both.kinds.get(&kind).expect("counted");
        let (queries, updates) =
            (ends(Kind::Dns(Request::Query)), ends(Kind::Dns(Request::Update)));
        assert_eq!([queries.counts.completed, queries.after_traffic], [2, 0]);
        assert_eq!([updates.counts.completed, updates.after_traffic], [4, 2]);
        assert_eq!([updates.counts.late, both.counts().late], [2, 2]);
        assert_eq!([queries.early.0.len(), updates.early.0.len()], [2, 2]);
        assert_eq!([both.all().whole.0.len(), both.all().after_traffic], [8, 2]);
        let [first, ninth] = [both.bins[0], both.bins[9]];
        assert_eq!(
            [first.attempted, first.completed, first.late, first.answered, first.replies],
            [4, 4, 0, 2, 2]
        );
        assert_eq!(
            [ninth.attempted, ninth.completed, ninth.late, ninth.answered],
            [4, 2, 2, 0]
        );
        assert_eq!(ninth.latency, 2 * (SECOND / 4 + SECOND));
        assert!(both.longest() >= SECOND && queries.whole.max() < SECOND / 500);
    }
}
