//! Stalls at a command, and what came of each. Times are in nanoseconds, by the monotonic clock.

use leaseload_net::clock::{Converter, SECOND};
use serde_json::{Value, json};

/// One stall.
#[derive(Clone, Copy, Debug)]
struct Made {
    at: u64,
    /// Longest time between two answers, from the last one before the command on.
    longest_gap: u64,
    /// When a request came for the first time that did not have to wait; 0 before that.
    recovered_at: u64,
}

/// The stalls so far, and how long those are that may follow.
#[derive(Debug)]
pub struct Stalls {
    lengths: Vec<u64>,
    made: Vec<Made>,
    last_answer: u64,
}

impl Stalls {
    pub fn new(lengths: Vec<u64>, now: u64) -> Self {
        Self { lengths, made: Vec::new(), last_answer: now }
    }

    /// Begin the next one; return its length. The last length is that of all further ones.
    pub fn begin(&mut self, now: u64) -> Option<u64> {
        let length = *self.lengths.get(self.made.len()).or(self.lengths.last())?;
        self.made.push(Made { at: now, longest_gap: 0, recovered_at: 0 });
        Some(length)
    }

    /// Answers were sent.
    pub fn answered(&mut self, now: u64) {
        if let Some(last) = self.made.last_mut() {
            last.longest_gap = last.longest_gap.max(now.saturating_sub(self.last_answer));
        }
        self.last_answer = now;
    }

    /// A request that came at a time did not have to wait.
    pub fn taken_at_once(&mut self, at: u64) {
        if let Some(last) = self.made.last_mut().filter(|last| last.recovered_at == 0) {
            last.recovered_at = at;
        }
    }

    /// All of them, for the counts (s).
    pub fn document(&self, clock: &Converter) -> Value {
        let seconds = |ns: u64| ns as f64 / SECOND as f64;
        let one = |made: &Made| {
            let recovered = made.recovered_at.checked_sub(made.at).map(seconds);
            json!({
                "at_s": seconds(clock.to_realtime(made.at)),
                "longest_gap_s": seconds(made.longest_gap),
                "recovered_s": recovered,
            })
        };
        self.made.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_longest_gap_and_its_end() {
        let mut stalls = Stalls::new(vec![5, 9], 0);
        stalls.answered(90);
        assert_eq!(stalls.begin(100), Some(5));
        stalls.answered(107);
        stalls.answered(109);
        stalls.taken_at_once(111);
        stalls.taken_at_once(112);
        assert_eq!([stalls.begin(200), stalls.begin(300)], [Some(9), Some(9)]);
        stalls.answered(305);
        let [first, second, third] = stalls.made[..] else { panic!("{stalls:?}") };
        assert_eq!([first.longest_gap, first.recovered_at], [17, 111]);
        assert_eq!([second.longest_gap, second.recovered_at, third.longest_gap], [0, 0, 196]);
        assert_eq!(Stalls::new(Vec::new(), 0).begin(1), None);
    }
}
