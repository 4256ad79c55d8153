//! When exchanges are due: an absolute schedule, whatever the server does.

use std::sync::Arc;

use crate::generator::recorded::Recorded;
use crate::random::Random;

const SECOND: f64 = 1e9;

/// A rate for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub rate: f64,
    /// How long (s).
    pub seconds: f64,
}

impl Step {
    /// How many exchanges.
    pub fn count(self) -> u64 {
        (self.rate * self.seconds).round() as u64
    }
}

/// How exchanges follow each other at a rate.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// At equal distances.
    Even,
    /// Independent of each other, by a Poisson process.
    Poisson,
    /// So many at once, at equal distances.
    Bursts(u64),
    Recorded(Arc<Recorded>),
}

/// The due times of one of several threads (ns since the start), in order.
#[derive(Debug)]
pub struct Schedule {
    steps: Vec<Step>,
    arrivals: Arrivals,
    threads: u64,
    place: usize,
    /// When the step began (s), and the number of its next exchange among all threads'.
    began_s: f64,
    next: u64,
    random: Random,
    poisson_s: f64,
}

impl Schedule {
    /// The exchanges of thread `thread` of `threads`: every so-manieth of all; of a Poisson
    /// process one of the lower rate, with a seed of its own.
    pub fn new(
        steps: Vec<Step>,
        arrivals: Arrivals,
        thread: u64,
        threads: u64,
        seed: u64,
    ) -> Self {
        Self {
            steps,
            arrivals,
            threads,
            place: 0,
            began_s: 0.0,
            next: thread,
            random: Random::new(seed.wrapping_add(thread)),
            poisson_s: 0.0,
        }
    }

    fn due_s(&mut self, step: Step) -> f64 {
        let distance_s = 1.0 / step.rate;
        match &self.arrivals {
            Arrivals::Even => self.next as f64 * distance_s,
            Arrivals::Bursts(size) => (self.next / size * size) as f64 * distance_s,
            Arrivals::Poisson => {
                self.poisson_s += self.random.exponential() * distance_s * self.threads as f64;
                self.poisson_s
            }
            Arrivals::Recorded(recorded) => {
                recorded.due_s(self.next, step.count(), step.seconds).unwrap_or(f64::INFINITY)
            }
        }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let step = *self.steps.get(self.place)?;
            let due_s = if step.rate > 0.0 { self.due_s(step) } else { f64::INFINITY };
            if due_s < step.seconds - 1e-9 {
                self.next += self.threads;
                return Some(((self.began_s + due_s) * SECOND) as u64);
            }
            self.began_s += step.seconds;
            self.place += 1;
            self.next %= self.threads;
            self.poisson_s = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(steps: &[(f64, f64)], arrivals: Arrivals, threads: u64) -> Vec<u64> {
        let steps: Vec<_> =
            steps.iter().map(|&(rate, seconds)| Step { rate, seconds }).collect();
        let mut due: Vec<_> = (0..threads)
            .flat_map(|thread| {
                Schedule::new(steps.clone(), arrivals.clone(), thread, threads, 7)
            })
            .collect();
        due.sort_unstable();
        due
    }

    #[test]
    fn threads_share_what_one_would_do() {
        let alone = all(&[(1000.0, 1.0), (0.0, 0.5), (3000.0, 2.0)], Arrivals::Even, 1);
        assert_eq!(alone.len(), 7000);
        assert_eq!(alone[..3], [0, 1_000_000, 2_000_000]);
        assert_eq!(alone[1000], 1_500_000_000);
        for threads in [2, 3, 4] {
            let shared =
                all(&[(1000.0, 1.0), (0.0, 0.5), (3000.0, 2.0)], Arrivals::Even, threads);
            assert_eq!(shared, alone, "{threads} threads");
        }
    }

    #[test]
    fn bursts_come_together_at_the_same_rate() {
        let due = all(&[(1000.0, 1.0)], Arrivals::Bursts(100), 1);
        assert_eq!(due.len(), 1000);
        assert_eq!(due.iter().filter(|&&at| at == 300_000_000).count(), 100);
    }

    #[test]
    fn recorded_times_are_shared_out_and_begin_again() {
        let file = std::env::temp_dir().join(format!("recorded-{}", std::process::id()));
        std::fs::write(&file, "a A @0\nb A @0.1\nc A @0.9\nd A @3\n").unwrap();
        let recorded = Arrivals::Recorded(Arc::new(Recorded::open(&file).unwrap()));
        std::fs::remove_file(&file).unwrap();
        let alone = all(&[(2.0, 4.0)], recorded.clone(), 1);
        let ms: Vec<_> = alone.iter().map(|ns| (ns + 500) / 1_000_000).collect();
        assert_eq!(ms, [0, 50, 450, 1500, 2000, 2050, 2450, 3500]);
        assert_eq!(all(&[(2.0, 4.0)], recorded, 3), alone);
    }

    #[test]
    fn a_poisson_process_has_its_rate_and_its_scatter() {
        for threads in [1, 3] {
            let due = all(&[(10_000.0, 10.0)], Arrivals::Poisson, threads);
            // 100 000 with a standard deviation of 316.
            assert!(due.len().abs_diff(100_000) < 1600, "{} of {threads} threads", due.len());
            let mut seconds = [0_f64; 1000];
            due.iter().for_each(|at| seconds[(at / 10_000_000) as usize] += 1.0);
            let variance = seconds.iter().map(|n| (n - 100.0).powi(2)).sum::<f64>() / 1000.0;
            assert!((80.0..120.0).contains(&variance), "{variance}");
        }
    }
}
