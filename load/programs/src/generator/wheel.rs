//! A timing wheel, for very many timers that are rarely cancelled.

/// Timers by milliseconds, with a turn of 65.5 s; later timers wait for further turns.
///
/// A timer is never cancelled: its owner decides, when it is due, whether it counts.
#[derive(Debug)]
pub struct Wheel<T> {
    slots: Vec<Vec<(u64, T)>>,
    /// The next tick to look at.
    tick: u64,
    count: usize,
}

const SLOTS: u64 = 1 << 16;
/// Length of a tick (ns).
pub const TICK: u64 = 1_000_000;

impl<T: Copy> Wheel<T> {
    /// A wheel that begins at a time (ns).
    pub fn new(now: u64) -> Self {
        Self { slots: (0..SLOTS).map(|_| Vec::new()).collect(), tick: now / TICK, count: 0 }
    }

    /// When a timer can be due, at the earliest (ns).
    pub fn next(&self) -> u64 {
        if self.count == 0 { u64::MAX } else { self.tick * TICK }
    }

    /// Set a timer. A timer already due comes with the next tick.
    pub fn set(&mut self, at: u64, what: T) {
        let tick = (at.div_ceil(TICK)).max(self.tick);
        self.slots[(tick % SLOTS) as usize].push((tick, what));
        self.count += 1;
    }

    /// Call `each` with the tick (ns) of every timer that is due at `now`, in their order.
    pub fn due(&mut self, now: u64, mut each: impl FnMut(u64, T)) {
        let last = now / TICK;
        if self.count == 0 {
            self.tick = self.tick.max(last);
            return;
        }
        while self.tick <= last {
            let tick = self.tick;
            let before = self.slots[(tick % SLOTS) as usize].len();
            self.slots[(tick % SLOTS) as usize].retain(|&(due, what)| {
                if due <= tick {
                    each(due * TICK, what);
                }
                due > tick
            });
            self.count -= before - self.slots[(tick % SLOTS) as usize].len();
            self.tick += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_when_they_are_due_and_once() {
        let mut wheel = Wheel::new(5 * TICK);
        let later = 5 * TICK + SLOTS * TICK * 2 + TICK;
        for (at, name) in [(7, 'b'), (6, 'a'), (9, 'd'), (7, 'c')] {
            wheel.set(at * TICK, name);
        }
        wheel.set(later, 'e');
        let mut seen = String::new();
        for now in [5 * TICK, 7 * TICK, 7 * TICK, 8 * TICK, 100 * TICK, later - 1] {
            wheel.due(now, |_, name| seen.push(name));
        }
        assert_eq!(seen, "abcd");
        wheel.due(later, |_, name| seen.push(name));
        assert_eq!(seen, "abcde");
        assert_eq!(wheel.next(), u64::MAX);
    }

    #[test]
    fn a_timer_of_the_past_is_due_at_once() {
        let mut wheel = Wheel::new(100 * TICK);
        wheel.set(3 * TICK, ());
        let mut count = 0;
        wheel.due(100 * TICK, |at, ()| {
            assert_eq!(at, 100 * TICK);
            count += 1;
        });
        assert_eq!(count, 1);
    }
}
