//! A server as a formula: when a packet that arrived at a time is answered, or that it is not.
//!
//! Work takes its time on the clock of the packets' own time stamps, not on a processor, so
//! the capacity is exact however busy the machine is. Times are in nanoseconds.

use std::collections::VecDeque;

use serde::Deserialize;

/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

/// Behaviour of a server under overload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overload {
    /// It refuses new work first, so it completes as much as it can.
    #[default]
    Holds,
    /// It drops the last packets of any kind, and dropping takes half of the work.
    Collapses,
}

/// Its stalls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// For how long (ns).
    pub length: u64,
    /// How often (ns).
    pub every: u64,
}

/// Settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Packets a second; None for no limit.
    pub packets_per_s: Option<f64>,
    /// Packets that may wait.
    pub queue: usize,
    /// Behaviour beyond that.
    pub overload: Overload,
    /// Beside the work, every answer takes this long (ns): at least, and at most.
    pub delay: (u64, u64),
    pub stall: Option<Stall>,
    /// Work takes this many times longer at first, and how soon that ends (ns).
    pub warm_up: (f64, u64),
    /// Leases after which work takes twice the time; None for no such thing.
    pub doubled_by: Option<u64>,
}

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is answered at this time.
    Answered(u64),
    Dropped,
}

/// The server's state.
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    began: u64,
    free_at: u64,
    /// When each packet that waits or is worked on is done.
    under_way: VecDeque<u64>,
    /// Until then it stands still at a command.
    stands_until: u64,
}

impl Server {
    /// A server that begins at a time.
    pub fn new(settings: Settings, now: u64) -> Self {
        let under_way = VecDeque::new();
        Self { settings, began: now, free_at: now, under_way, stands_until: 0 }
    }

    /// Stand still for a length: what is under way is done that much later.
    pub fn stall(&mut self, now: u64, length: u64) {
        self.stands_until = self.stands_until.max(now) + length;
        let later = self.under_way.iter_mut().chain(std::iter::once(&mut self.free_at));
        later.filter(|done| **done > now).for_each(|done| *done += length);
    }

    /// Whether a packet that arrives then does not have to wait.
    pub fn is_free(&self, at: u64) -> bool {
        self.free_at.max(self.stands_until) <= at
    }

    /// Have nothing that waits.
    pub fn forget(&mut self, now: u64) {
        self.free_at = now;
        self.stands_until = 0;
        self.under_way.clear();
    }

    /// A packet arrived; `begins` an exchange or not; `leases` were given before; `random` is
    /// a number from 0 to 1.
    pub fn packet(&mut self, at: u64, begins: bool, leases: u64, random: f64) -> Fate {
        let (least, most) = self.settings.delay;
        let delay = least + ((most - least) as f64 * random) as u64;
        let Some(rate) = self.settings.packets_per_s else {
            return Fate::Answered(self.after_stall(at, 0) + delay);
        };
        while self.under_way.front().is_some_and(|&done| done <= at) {
            self.under_way.pop_front();
        }
        let work = self.work(at, SECOND / rate, leases);
        if !self.has_room(begins) {
            if self.settings.overload == Overload::Collapses {
                self.free_at = self.after_stall(self.free_at.max(at), work / 2);
            }
            return Fate::Dropped;
        }
        self.free_at = self.after_stall(self.free_at.max(at), work);
        self.under_way.push_back(self.free_at);
        Fate::Answered(self.free_at + delay)
    }

    /// Clients with an offer have room in a server that holds: half of the queue is theirs.
    fn has_room(&self, begins: bool) -> bool {
        let is_first = begins && self.settings.overload == Overload::Holds;
        let queue =
            if is_first { self.settings.queue.div_ceil(2) } else { self.settings.queue };
        self.under_way.len() <= queue
    }

    fn work(&self, at: u64, work: f64, leases: u64) -> u64 {
        let (slower, until) = self.settings.warm_up;
        let since = at.saturating_sub(self.began);
        let warm = if since < until {
            1.0 + (slower - 1.0) * (1.0 - since as f64 / until as f64)
        } else {
            1.0
        };
        let full = self.settings.doubled_by.map_or(1.0, |by| 1.0 + leases as f64 / by as f64);
        (work * warm * full) as u64
    }

    /// When work that begins at a time is done, with the stalls in it.
    fn after_stall(&self, from: u64, work: u64) -> u64 {
        let mut now = from.max(self.stands_until);
        let Some(stall) = self.settings.stall else { return now + work };
        let mut left = work;
        loop {
            let place = now.saturating_sub(self.began) % stall.every;
            let awake = stall.every - stall.length;
            if place >= awake {
                now += stall.every - place;
            } else if left <= awake - place {
                return now + left;
            } else {
                left -= awake - place;
                now += awake - place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            packets_per_s: Some(1000.0),
            queue: 10,
            overload: Overload::Holds,
            delay: (0, 0),
            stall: None,
            warm_up: (1.0, 0),
            doubled_by: None,
        }
    }

    /// Packets at a rate for a time; how many were answered, and the last answer.
    fn offered(settings: Settings, rate: f64, seconds: f64, begins: bool) -> (u64, u64) {
        let mut server = Server::new(settings, 0);
        let (mut answered, mut last) = (0, 0);
        for number in 0..(rate * seconds) as u64 {
            let at = (number as f64 / rate * SECOND) as u64;
            if let Fate::Answered(done) = server.packet(at, begins, number, 0.5) {
                answered += 1;
                last = done;
            }
        }
        (answered, last)
    }

    #[test]
    fn it_serves_its_capacity_and_no_more() {
        assert_eq!(offered(settings(), 999.0, 10.0, true).0, 9990);
        let (answered, _) = offered(settings(), 1500.0, 10.0, false);
        assert!(answered.abs_diff(10_011) <= 2, "{answered}");
    }

    #[test]
    fn overload_holds_or_collapses() {
        let collapses = Settings { overload: Overload::Collapses, ..settings() };
        let (holding, _) = offered(settings(), 3000.0, 10.0, true);
        let (collapsing, _) = offered(collapses, 3000.0, 10.0, true);
        assert!(holding >= 10_000);
        // What is served and half of what is dropped are all that there is time for.
        assert!(collapsing <= 200, "{collapsing}");
    }

    #[test]
    fn a_stall_takes_its_share() {
        let stall = Some(Stall { length: 200_000_000, every: 1_000_000_000 });
        let stalled = Settings { stall, ..settings() };
        let (answered, _) = offered(stalled, 1000.0, 10.0, false);
        assert!(answered.abs_diff(8_000) <= 120, "{answered}");
        let endless = Settings { packets_per_s: None, stall, ..settings() };
        let mut server = Server::new(endless, 0);
        assert_eq!(server.packet(850_000_000, true, 0, 0.0), Fate::Answered(1_000_000_000));
        assert_eq!(server.packet(750_000_000, true, 0, 0.0), Fate::Answered(750_000_000));
    }

    #[test]
    fn a_stall_at_a_command_puts_everything_off() {
        let mut server = Server::new(settings(), 0);
        assert_eq!(server.packet(0, true, 0, 0.0), Fate::Answered(1_000_000));
        assert!(!server.is_free(500_000));
        server.stall(500_000, 50_000_000);
        assert_eq!(server.packet(600_000, true, 0, 0.0), Fate::Answered(52_000_000));
        assert!(!server.is_free(51_999_999) && server.is_free(52_000_000));
        let mut endless = Server::new(Settings { packets_per_s: None, ..settings() }, 0);
        endless.stall(1_000, 5_000);
        assert!(!endless.is_free(5_999));
        assert_eq!(endless.packet(2_000, true, 0, 0.0), Fate::Answered(6_000));
        assert_eq!(endless.packet(7_000, true, 0, 0.0), Fate::Answered(7_000));
        assert!(endless.is_free(7_000));
    }

    #[test]
    fn it_warms_up_and_slows_down_as_it_fills() {
        let cold = Settings { warm_up: (3.0, 2_000_000_000), ..settings() };
        let (answered, _) = offered(cold, 1000.0, 2.0, false);
        // 1000 times the logarithm of 3, the queue, and work that is as long as at arrival.
        assert!((1090..1125).contains(&answered), "{answered}");
        let filling = Settings { doubled_by: Some(1000), ..settings() };
        let (answered, _) = offered(filling, 1000.0, 2.0, false);
        assert!((1090..1125).contains(&answered), "{answered}");
    }

    #[test]
    fn a_delay_is_between_its_bounds() {
        let delayed = Settings { packets_per_s: None, delay: (1_000, 3_000), ..settings() };
        let mut server = Server::new(delayed, 0);
        assert_eq!(server.packet(0, true, 0, 0.0), Fate::Answered(1_000));
        assert_eq!(server.packet(0, true, 0, 0.5), Fate::Answered(2_000));
    }
}
