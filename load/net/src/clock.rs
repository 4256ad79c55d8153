//! Clocks. All times are nanoseconds; `monotonic` never steps, `realtime` is UTC since 1970.

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// The clock by which everything is scheduled and compared.
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// The clock of the kernel's time stamps, and of people.
pub fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing. These clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// Converts the kernel's time stamps to the monotonic clock.
///
/// A clock that is set in between moves the difference of the two: it is read again every
/// 100 ms.
#[derive(Debug)]
pub struct Converter {
    difference: i64,
    read_at: u64,
}

impl Converter {
    const AGAIN: u64 = SECOND / 10;

    /// Read both clocks.
    pub fn read() -> Self {
        Self { difference: difference(), read_at: monotonic() }
    }

    /// Read both clocks again if it is time to.
    pub fn refresh(&mut self, now: u64) {
        if now.saturating_sub(self.read_at) >= Self::AGAIN {
            (self.difference, self.read_at) = (difference(), now);
        }
    }

    /// The monotonic time of a moment of the realtime clock.
    pub fn to_monotonic(&self, realtime: u64) -> u64 {
        (realtime as i64 - self.difference) as u64
    }

    /// The realtime of a monotonic moment.
    pub fn to_realtime(&self, monotonic: u64) -> u64 {
        (monotonic as i64 + self.difference) as u64
    }
}

/// Realtime less monotonic; the closest of three readings.
fn difference() -> i64 {
    (0..3)
        .map(|_| {
            let before = monotonic();
            let real = realtime();
            let after = monotonic();
            (after - before, real as i64 - before.midpoint(after) as i64)
        })
        .min()
        .map_or(0, |(_, difference)| difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_converts_to_itself() {
        let converter = Converter::read();
        let (real, now) = (realtime(), monotonic());
        assert!(converter.to_monotonic(real).abs_diff(now) < SECOND / 100);
        assert_eq!(converter.to_monotonic(converter.to_realtime(now)), now);
    }

    #[test]
    fn a_clock_that_was_set_is_noticed() {
        let (mut converter, now) = (Converter::read(), monotonic());
        converter.difference -= 3 * SECOND as i64;
        converter.refresh(now + SECOND);
        assert!(converter.to_monotonic(realtime()).abs_diff(now) < SECOND);
    }
}
