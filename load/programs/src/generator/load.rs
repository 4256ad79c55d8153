//! A load: the schedule of exchanges, and which of them count.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use leaseload_net::clock::SECOND;

use crate::generator::protocol::{Dhcp, Kind};
use crate::generator::recorded::Recorded;
use crate::generator::schedule::{Arrivals, Schedule, Step};
use crate::generator::window::Window;
use crate::random::Random;
use crate::words::{LONGEST_S, Words, Wrong, known};

const LARGEST_RATE: f64 = 1e8;
/// Exchanges that are remembered beyond those that can be under way.
const SPARE: f64 = 4096.0;
/// How long a message that is sent again may be waited for, at the least (s): two of the
/// longest waits of RFC 2131.
const AGAIN_S: f64 = 128.0;
/// Clients whose leases may run out together, at the most.
const MOST_BY_CLOCK: u64 = 1 << 20;

/// A load as requested. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Load {
    /// Rates, one after the other.
    pub steps: Vec<Step>,
    /// How exchanges follow each other.
    pub arrivals: Arrivals,
    /// Exchanges begin as others end, and by no schedule.
    pub window: Option<Window>,
    /// Actions of clients; shares are cumulative, up to 1.
    pub mix: Vec<(f64, Dhcp)>,
    /// Longer exchanges are late.
    pub late: u64,
    /// For how long late replies are waited for, after that.
    pub grace: u64,
    /// After the traffic, unanswered exchanges are lost once no reply has come for so long.
    pub quiet: u64,
    /// Share of the exchanges that may fail before the load is ended; 1 to go on anyway.
    pub goal: f64,
    /// Clients renew, rebind and begin again at the times of their leases.
    pub lease_clock: bool,
    /// Messages without an answer are sent again, by the RFCs' rules.
    pub again: bool,
    /// Messages due within this time are sent together.
    pub tick: u64,
    pub spin: bool,
    pub seed: u64,
    /// What is begun later than this after it was due has fallen behind; what is not begun so
    /// long after the traffic is left out.
    pub lag: u64,
    /// Completed exchanges are counted by times of this length, too; 0 for none.
    pub bin: u64,
}

impl Load {
    /// Read it.
    pub fn read(words: &Words) -> Result<Self, Wrong> {
        let window = Window::read(words)?;
        let (steps, arrivals) = match window {
            // One step, for as long as it takes.
            Some(_) => (vec![Step { rate: 0.0, seconds: LONGEST_S }], Arrivals::Even),
            None => steps(words)?,
        };
        let mix = mix(words.last("mix").unwrap_or("new=1"))?;
        if words.flag("lease-clock") {
            // The clock itself does what needs a lease.
            if let Some((_, kind)) = mix.iter().find(|(_, kind)| kind.needs_lease()) {
                return Err(format!(
                    "--lease-clock: does not go with --mix {}",
                    Kind::from(*kind).word()
                ));
            }
            if words.flag("goal") {
                return Err("--lease-clock: does not go with --goal, which is a share of \
                            exchanges whose number is known"
                    .into());
            }
            if !words.flag("clients") && !words.flag("population") {
                return Err("--lease-clock: how many clients? add --clients".into());
            }
        }
        if words.flag("retransmit")
            && words.last("transport").is_some_and(|word| word != "udp")
        {
            return Err("--retransmit: goes with --transport udp alone; connections lose \
                        nothing"
                .into());
        }
        // What is due when it is begun does not fall behind.
        let lag_s = if window.is_some() { LONGEST_S } else { 0.01 };
        let bin = words.number("bin", 0.0, 0.0001, LONGEST_S)?;
        Ok(Self {
            steps,
            arrivals,
            window,
            mix,
            late: words.time("late", 2.0)?,
            grace: words.time("grace", 2.0)?,
            quiet: words.time("quiet", LONGEST_S)?,
            goal: words.number("goal", 1.0, 0.0, 1.0)?,
            lease_clock: words.flag("lease-clock"),
            again: words.flag("retransmit"),
            tick: words.number("tick", 50.0, 0.0, 1e6).map(|us| (us * 1e3) as u64)?,
            spin: words.flag("spin"),
            seed: words.number("seed", 1, 0, u64::MAX)?,
            lag: words.time("lag", lag_s)?,
            bin: (bin * SECOND as f64) as u64,
        })
    }

    /// Exchanges in all.
    pub fn planned(&self) -> f64 {
        if let Some(window) = &self.window {
            return window.transactions as f64;
        }
        self.steps.iter().map(|step| step.rate * step.seconds).sum()
    }

    /// How long the schedule is.
    pub fn traffic(&self) -> u64 {
        (self.steps.iter().map(|step| step.seconds).sum::<f64>() * SECOND as f64) as u64
    }

    /// Whether some of its exchanges need clients that have leases, or say their address.
    pub fn needs_leases(&self) -> bool {
        let needs = |(_, kind): &(_, Dhcp)| kind.needs_lease();
        self.lease_clock || self.informs() || self.mix.iter().any(needs)
    }

    /// Whether some of its clients want options alone.
    pub fn informs(&self) -> bool {
        self.mix.iter().any(|(_, kind)| *kind == Dhcp::Inform)
    }

    /// The part of one thread of several.
    pub fn schedule(&self, thread: u64, threads: u64) -> Schedule {
        Schedule::new(self.steps.clone(), self.arrivals.clone(), thread, threads, self.seed)
    }

    /// Exchanges that one thread of several, with so many clients of a population, may have to
    /// remember at once.
    pub fn room(&self, threads: u64, clients: u64) -> u64 {
        if let Some(window) = &self.window {
            return window.most + SPARE as u64;
        }
        let fastest = self.steps.iter().map(|step| step.rate).fold(0.0, f64::max);
        let remembered_s = (self.late + self.grace) as f64 / SECOND as f64 + 1.0;
        let burst = match &self.arrivals {
            Arrivals::Even | Arrivals::Poisson => 0.0,
            Arrivals::Bursts(size) => *size as f64,
            Arrivals::Recorded(recorded) => {
                let most = |step: &Step| {
                    recorded.most_within(remembered_s, step.count(), step.seconds)
                };
                self.steps.iter().map(most).max().unwrap_or(0) as f64
            }
        };
        let kept_s = if self.again { remembered_s.max(AGAIN_S) } else { remembered_s };
        let at_once = fastest * kept_s + burst;
        let by_clock = if self.lease_clock { clients.min(MOST_BY_CLOCK) } else { 0 };
        (at_once.min(self.planned()) / threads as f64 + SPARE) as u64 + 2 * by_clock
    }

    /// The next client's action.
    pub fn draw(&self, random: &mut Random) -> Dhcp {
        let draw = if self.mix.len() == 1 { 0.0 } else { random.share() };
        let kind = self.mix.iter().find(|(up_to, _)| draw < *up_to).or(self.mix.last());
        kind.map_or(Dhcp::New, |(_, kind)| *kind)
    }
}

/// A load, and the common state of its threads.
#[derive(Debug)]
pub struct Offer {
    pub load: Load,
    /// How long its schedule is (ns).
    pub traffic: u64,
    /// When each of its steps ends (ns since the start).
    ends: Vec<u64>,
    /// Exchanges that may fail before it has failed for certain.
    may_fail: u64,
    failed: AtomicU64,
    is_decided: AtomicBool,
}

impl Offer {
    /// A load of which nothing has failed yet.
    pub fn new(load: Load) -> Arc<Self> {
        let may_fail =
            if load.goal < 1.0 { (load.goal * load.planned()) as u64 } else { u64::MAX };
        let mut end_s = 0.0;
        let ends = load.steps.iter().map(|step| {
            end_s += step.seconds;
            (end_s * SECOND as f64) as u64
        });
        Arc::new(Self {
            traffic: load.traffic(),
            ends: ends.collect(),
            may_fail,
            load,
            failed: AtomicU64::new(0),
            is_decided: AtomicBool::new(false),
        })
    }

    /// Exchanges due before this time show how long the server takes while it has no queue (ns
    /// since the start).
    pub fn early(&self) -> u64 {
        // A closed window lets no queue grow.
        if self.load.window.is_some() { 0 } else { self.traffic / 10 }
    }

    /// The place of the step in which an exchange is due; the last one for what is due later.
    pub fn step_at(&self, due: u64) -> usize {
        self.ends.partition_point(|&end| end <= due).min(self.ends.len() - 1)
    }

    /// Count a failure, and end the load where that is one too many.
    pub fn fail(&self) {
        if self.failed.fetch_add(1, Ordering::Relaxed) >= self.may_fail {
            self.is_decided.store(true, Ordering::Relaxed);
        }
    }

    /// Whether more has failed than may.
    pub fn is_decided(&self) -> bool {
        self.is_decided.load(Ordering::Relaxed)
    }
}

fn steps(words: &Words) -> Result<(Vec<Step>, Arrivals), Wrong> {
    let seconds = words.number("seconds", 5.0, 0.001, LONGEST_S)?;
    let given = ["rate", "steps", "at-once", "counts"].map(|name| words.last(name));
    let is_by_clock = words.flag("lease-clock") && words.flag("fill");
    match given.iter().flatten().count() {
        0 if is_by_clock => return Ok((vec![Step { rate: 0.0, seconds }], Arrivals::Even)),
        1 => {}
        _ => {
            return Err(
                "expected one of --rate, --steps, --counts, --at-once and --window, or \
                        --fill and --lease-clock"
                    .into(),
            );
        }
    }
    if given[2].is_some() {
        let count = words.number("at-once", 1, 1, 1 << 24)?;
        if !words.flag("retransmit") || words.last("arrivals").is_some() {
            return Err("--at-once: needs --retransmit, and has no --arrivals".into());
        }
        // All are due at the beginning of their only burst; then the time goes on.
        let burst = Step { rate: count as f64 * 1e3, seconds: 1e-3 };
        let rest = Step { rate: 0.0, seconds };
        return Ok((vec![burst, rest], Arrivals::Bursts(count)));
    }
    let steps = match (given[1], given[3]) {
        (None, None) => {
            vec![Step { rate: words.number("rate", 0.0, 0.001, LARGEST_RATE)?, seconds }]
        }
        (None, Some(counts)) => parts(counts, seconds)?,
        (Some(_), _) if words.last("seconds").is_some() => {
            return Err("--seconds: does not go with --steps".into());
        }
        (Some(words), _) => words.split(',').map(step).collect::<Result<_, _>>()?,
    };
    Ok((steps, arrivals(words.last("arrivals").unwrap_or("even"))?))
}

fn step(words: &str) -> Result<Step, Wrong> {
    let read = |word: &str, most: f64| {
        word.parse().ok().filter(|number: &f64| (0.0..=most).contains(number))
    };
    words
        .split_once('x')
        .and_then(|(rate, seconds)| {
            let seconds = read(seconds, LONGEST_S).filter(|seconds| *seconds > 0.0)?;
            Some(Step { rate: read(rate, LARGEST_RATE)?, seconds })
        })
        .ok_or_else(|| format!("--steps: found {words:?}, expected RATExSECONDS,…"))
}

/// Equal parts of a time, with so many exchanges each.
fn parts(words: &str, seconds: f64) -> Result<Vec<Step>, Wrong> {
    let words: Vec<_> = words.split(',').collect();
    let seconds = seconds / words.len() as f64;
    let part = |word: &&str| match word.parse::<u32>() {
        Ok(count) if f64::from(count) <= LARGEST_RATE * seconds => {
            Ok(Step { rate: f64::from(count) / seconds, seconds })
        }
        _ => Err(format!("--counts: found {word:?}, expected NUMBER,NUMBER,...")),
    };
    words.iter().map(part).collect()
}

fn arrivals(word: &str) -> Result<Arrivals, Wrong> {
    match word {
        "even" => Ok(Arrivals::Even),
        "poisson" => Ok(Arrivals::Poisson),
        _ if word.starts_with("recorded:") => {
            let path = Path::new(word.trim_start_matches("recorded:"));
            let recorded =
                Recorded::open(path).map_err(|wrong| format!("--arrivals: {wrong}"));
            recorded.map(|recorded| Arrivals::Recorded(Arc::new(recorded)))
        }
        _ => match word.strip_prefix("bursts:").and_then(|size| size.parse().ok()) {
            Some(size @ 1..=1_000_000) => Ok(Arrivals::Bursts(size)),
            _ => Err(format!(
                "--arrivals: found {word:?}, expected even, poisson, bursts:SIZE or \
                 recorded:FILE"
            )),
        },
    }
}

/// Dhcps with the upper bounds of their shares.
fn mix(words: &str) -> Result<Vec<(f64, Dhcp)>, Wrong> {
    let wrong = || format!("--mix: found {words:?}, expected KIND=WEIGHT,…");
    let mut mix = Vec::new();
    let mut sum = 0.0;
    for part in words.split(',') {
        let (word, weight) = part.split_once('=').ok_or_else(wrong)?;
        let kind = known("mix", word)?;
        let weight: f64 = weight.parse().map_err(|_| wrong())?;
        if !(weight > 0.0 && weight <= 1e9) {
            return Err(wrong());
        }
        sum += weight;
        mix.push((sum, kind));
    }
    mix.iter_mut().for_each(|(up_to, _)| *up_to /= sum);
    Ok(mix)
}
