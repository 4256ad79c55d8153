//! The end of a load, and the resources that it uses.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::bench::{TRIALS, before, count, offered, reported, sums_up, time};

/// From the last reply to the end of the process (s). Where the load waits for what is lost, from
/// the end of the load.
const LONGEST_END_S: f64 = 0.05;
/// The same for a load with a hundred thousand exchanges to report, on a busy machine.
const LONGEST_LARGE_END_S: f64 = 0.25;

/// The report of a load whose process ends soon enough.
fn ended_soon(faults: &str, load: &str, longest_s: f64) -> Value {
    let mut waits_s = Vec::new();
    for _ in 0..TRIALS {
        let (_running, generator) = before("dhcp4", faults);
        let report = reported(generator, load);
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let due = if report["ended"] == "waited" { "/took_s" } else { "/last_reply_s" };
        let wait_s = now_s - time(&report, "/started_at_s") - time(&report, due);
        println!("{load}: {wait_s:.4} s from {due} to the end, {}", report["counts"]);
        if wait_s < longest_s {
            return report;
        }
        waits_s.push(wait_s);
    }
    panic!("{load}: {waits_s:?} s to the end of the process");
}

#[test]
fn a_finished_load_ends_with_its_last_reply() {
    let report = ended_soon("", "--rate 500 --seconds 1", LONGEST_END_S);
    assert_eq!(report["ended"], "complete");
    let load = "--rate 500 --seconds 1 --goal 0.5";
    let report = ended_soon("--refuse 0.1", load, LONGEST_END_S);
    assert_eq!(report["ended"], "complete");
}

#[test]
fn a_load_that_a_refusal_has_decided_ends_with_it() {
    let load = "--rate 1000 --seconds 10 --goal 0.025";
    let report = ended_soon("--refuse 1", load, LONGEST_END_S);
    assert_eq!(report["ended"], "failed");
    // One batch may come with the one that decides.
    let refused = count(&report, "/counts/refused");
    assert!((251..=251 + 64).contains(&refused), "{refused}");
}

#[test]
fn a_large_load_ends_soon_and_has_little_memory() {
    // Room for what comes while a busy machine holds the responder up. It may lose some even so.
    let faults = "--receive-buffer 67108864";
    let report = ended_soon(faults, "--rate 20000 --seconds 5", LONGEST_LARGE_END_S);
    let ended = if count(&report, "/counts/lost") == 0 { "complete" } else { "waited" };
    assert_eq!(report["ended"], ended, "{report}");
    let bytes = count(&report, "/peak_memory_bytes");
    assert!((1 << 20..64 << 20).contains(&bytes), "{bytes}");
    sums_up(&report);
}

#[test]
fn losses_are_waited_for_no_longer_than_was_asked_for() {
    let load = "--rate 500 --seconds 1 --late 0.2 --grace 0.1";
    let excesses_s = (0..TRIALS).map(|_| {
        let report = offered("dhcp4", "--drop-first 0.5", load);
        assert_eq!(report["ended"], "waited");
        time(&report, "/took_s") - 1.3
    });
    // The last one may be due a little earlier, and be no loss.
    let best_s = excesses_s.fold(f64::INFINITY, |best, excess| best.min(excess.abs()));
    assert!(best_s < LONGEST_END_S, "{best_s} s");
}

#[test]
fn losses_decide_a_load_as_soon_as_they_are_late() {
    // The 251st of them is due after 0.25 s.
    let load = "--rate 1000 --seconds 10 --late 0.2 --goal 0.025";
    let excesses_s = (0..TRIALS).map(|_| {
        let report = offered("dhcp4", "--drop-first 1", load);
        assert_eq!(report["ended"], "failed");
        time(&report, "/took_s") - 0.45
    });
    let best_s = excesses_s.fold(f64::INFINITY, |best, excess| best.min(excess.abs()));
    assert!(best_s < 0.02, "{best_s} s");
}
