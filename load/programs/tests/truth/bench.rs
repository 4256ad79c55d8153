//! A responder, a generator, and the generator's report.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A machine that is busy with other tests may hold a process up: so many trials at most.
pub const TRIALS: usize = 5;
/// What begins later than this after it was due was held up (s); the tests' bounds leave it room.
const LONGEST_LAG_S: f64 = 0.05;

/// A process that ends with its test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Loopback addresses that no other test of this run has: a server's and a relay's.
pub fn addresses() -> [String; 2] {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    [format!("127.0.{number}.1"), format!("127.0.{number}.2")]
}

/// Wait until a condition is true; fail when it takes so long that the machine must hang.
pub fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < Duration::from_secs(60), "after 60 s not yet: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A program with priority over others, as a generator of a rack.
pub fn first(program: &str) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "-20", program]);
    command
}

/// A responder that listens.
pub struct Responder {
    _process: Running,
    counts: PathBuf,
}

impl Responder {
    /// Do something in another thread once it has received a packet.
    pub fn once_it_receives(&self, then: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        let counts = self.counts.clone();
        std::thread::spawn(move || {
            wait_until("the responder receives a packet", || {
                let text = std::fs::read(&counts).expect("it writes them whole");
                let written: Value = serde_json::from_slice(&text).expect("JSON");
                count(&written, "/received") > 0
            });
            then();
        })
    }
}

/// Start a responder and wait until it listens: only then does it write its counts.
pub fn started(mut responder: Command) -> Responder {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let counts = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("responder-{number}"));
    std::fs::remove_file(&counts).ok();
    responder.arg("--counts").arg(&counts).stdin(Stdio::null());
    let mut running = Running(responder.spawn().expect("built"));
    wait_until("the responder listens", || {
        let ended = running.0.try_wait().expect("it can be asked");
        assert!(ended.is_none(), "the responder: {ended:?}");
        counts.exists()
    });
    Responder { _process: running, counts }
}

/// A responder that listens at the first of some addresses.
pub fn listening([server, _]: &[String; 2], protocol: &str, faults: &str) -> Responder {
    let mut responder = first(env!("CARGO_BIN_EXE_leaserespond"));
    responder.arg(protocol).args(["--listen", server]).args(faults.split_whitespace());
    started(responder)
}

/// The generator's command between some addresses, its load left out.
pub fn generator([server, relay]: &[String; 2], protocol: &str) -> Command {
    let mut generator = first(env!("CARGO_BIN_EXE_leaseload"));
    generator.arg(protocol).args(["--server", server]);
    if protocol == "dhcp4" {
        generator.args(["--interface", "lo", "--relay", relay]);
    }
    generator
}

/// A responder that listens, and the generator's command before it, its load left out.
pub fn before(protocol: &str, faults: &str) -> (Responder, Command) {
    let addresses = addresses();
    (listening(&addresses, protocol, faults), generator(&addresses, protocol))
}

/// The report of a load that a generator's command offers: of the first trial in which no exchange
/// began much later than it was due, or of the last.
pub fn reported(mut generator: Command, load: &str) -> Value {
    generator.args(load.split_whitespace());
    let mut report = Value::Null;
    for _ in 0..TRIALS {
        let output = generator.output().expect("built");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        report = serde_json::from_slice(&output.stdout).expect("a report");
        if largest_lag_s(&report) < LONGEST_LAG_S {
            break;
        }
        println!("{load}: begun up to {} s late", largest_lag_s(&report));
    }
    report
}

fn largest_lag_s(report: &Value) -> f64 {
    let seconds = report["seconds"].as_array().expect("a list");
    seconds.iter().map(|second| time(second, "/largest_lag_s")).fold(0.0, f64::max)
}

/// The report of a load before a responder with faults.
pub fn offered(protocol: &str, faults: &str, load: &str) -> Value {
    let (_running, generator) = before(protocol, faults);
    reported(generator, load)
}

/// A count of a report.
pub fn count(report: &Value, path: &str) -> u64 {
    report.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {report}"))
}

/// A time of a report (s).
pub fn time(report: &Value, path: &str) -> f64 {
    report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {report}"))
}

/// Check that every exchange is known to have ended in some way.
pub fn sums_up(report: &Value) {
    let parts = ["completed", "late", "lost", "refused", "open"];
    let sum: u64 = parts.iter().map(|part| count(report, &format!("/counts/{part}"))).sum();
    assert_eq!(sum, count(report, "/counts/attempted"));
}
