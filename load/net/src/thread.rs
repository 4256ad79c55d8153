//! A thread that sends when it is due.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::checked;

/// Run this thread on one processor alone.
///
/// # Errors
/// A processor that the process may not use.
pub fn pin(processor: usize) -> io::Result<()> {
    // SAFETY: a zeroed set is an empty one; CPU_SET checks its bound.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    checked(result).map(drop)
}

/// The processors that this process may use.
pub fn processors() -> Vec<usize> {
    // SAFETY: `set` is valid for writing, and its size is said.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) < 0 {
            return vec![0];
        }
        set
    };
    // SAFETY: the index is below the set's size.
    (0..libc::CPU_SETSIZE as usize)
        .filter(|&one| unsafe { libc::CPU_ISSET(one, &set) })
        .collect()
}

/// Have timers end when they are due, and not up to 50 µs later to save power.
pub fn exact_timers() {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// The most memory that this process has had at once (bytes); None where the kernel does not
/// say. What `getrusage` says is also of the process that started this one.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

static STOP: AtomicBool = AtomicBool::new(false);

/// Handle SIGINT and SIGTERM as a request to stop, which `is_stopped` reports.
///
/// A second signal ends the process at once.
pub fn stop_on_signals() {
    extern "C" fn stop(signal: libc::c_int) {
        if STOP.swap(true, Ordering::Relaxed) {
            // SAFETY: both may be called in a handler of signals.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
    let handler: extern "C" fn(libc::c_int) = stop;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler keeps to what handlers may do.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

static FORGET: AtomicBool = AtomicBool::new(false);
static STALL: AtomicBool = AtomicBool::new(false);

/// Handle SIGHUP as a request to forget and SIGUSR1 as one to stall, which
/// `takes_wish_to_forget` and `takes_wish_to_stall` report once each.
pub fn take_wishes_by_signals() {
    extern "C" fn wish(signal: libc::c_int) {
        let flag = if signal == libc::SIGHUP { &FORGET } else { &STALL };
        flag.store(true, Ordering::Relaxed);
    }
    let handler: extern "C" fn(libc::c_int) = wish;
    for signal in [libc::SIGHUP, libc::SIGUSR1] {
        // SAFETY: the handler keeps to what handlers may do.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Whether SIGHUP came since the last call.
pub fn takes_wish_to_forget() -> bool {
    FORGET.swap(false, Ordering::Relaxed)
}

/// Whether SIGUSR1 came since the last call.
pub fn takes_wish_to_stall() -> bool {
    STALL.swap(false, Ordering::Relaxed)
}

/// Whether a signal requested a stop.
pub fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}
