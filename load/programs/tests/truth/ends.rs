//! The end of a load, and the resources that it uses.

use serde_json::Value;

use crate::bench::{count, offered, sums_up, time};

/// What a load that waits for nothing takes after it at most (s): one that waits for what was
/// lost takes 4 s, and a busy machine may hold it up.
const LONGEST_END_S: f64 = 3.0;

/// The report of a load that has ended in some way, with its last reply.
fn ended_at_once(faults: &str, load: &str, ended: &str) -> Value {
    let report = offered("dhcp4", faults, load);
    assert_eq!(report["ended"], ended, "{report}");
    let wait_s = time(&report, "/took_s") - time(&report, "/last_reply_s");
    assert!((0.0..LONGEST_END_S).contains(&wait_s), "{report}");
    report
}

#[test]
fn a_finished_load_ends_with_its_last_reply() {
    ended_at_once("", "--rate 500 --seconds 1", "complete");
    ended_at_once("--refuse 0.1", "--rate 500 --seconds 1 --goal 0.5", "complete");
}

#[test]
fn a_load_that_a_refusal_has_decided_ends_with_it() {
    let load = "--rate 1000 --seconds 10 --goal 0.025";
    let report = ended_at_once("--refuse 1", load, "failed");
    // One batch may come with the one that decides.
    let refused = count(&report, "/counts/refused");
    assert!((251..=251 + 64).contains(&refused), "{refused}");
}

#[test]
fn a_large_load_has_little_memory() {
    // Room for what comes while a busy machine holds the responder up. It may lose some even so.
    let faults = "--receive-buffer 67108864";
    let report = offered("dhcp4", faults, "--rate 20000 --seconds 5");
    let ended = if count(&report, "/counts/lost") == 0 { "complete" } else { "waited" };
    assert_eq!(report["ended"], ended, "{report}");
    let bytes = count(&report, "/peak_memory_bytes");
    assert!((1 << 20..64 << 20).contains(&bytes), "{bytes}");
    sums_up(&report);
}

#[test]
fn losses_are_waited_for_no_longer_than_was_asked_for() {
    let load = "--rate 500 --seconds 1 --late 0.2 --grace 0.1";
    let report = offered("dhcp4", "--drop-first 0.5", load);
    assert_eq!(report["ended"], "waited");
    // The last one may be due a little earlier, and be no loss.
    let excess_s = time(&report, "/took_s") - 1.3;
    assert!((-0.1..LONGEST_END_S).contains(&excess_s), "{report}");
}

#[test]
fn losses_decide_a_load_as_soon_as_they_are_late() {
    // The 251st of them, of 10 000.
    let load = "--rate 1000 --seconds 10 --late 0.2 --goal 0.025";
    let report = offered("dhcp4", "--drop-first 1", load);
    assert_eq!(report["ended"], "failed");
    assert!(count(&report, "/counts/lost") > 250, "{report}");
    assert!((251..5000).contains(&count(&report, "/counts/attempted")), "{report}");
    assert!(time(&report, "/took_s") > 0.44, "{report}");
}
