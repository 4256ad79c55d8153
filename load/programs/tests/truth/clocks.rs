//! Clients with the clocks of their leases: 4 s, of which T1 is after 2 s and T2 after 3 s.

use serde_json::Value;

use crate::bench::{before, count, listening, reported, sums_up};
use crate::served::Served;

const TIMES: &str = "--lease-time 4,2,3";

fn each_second(report: &Value, path: &str) -> Vec<u64> {
    let seconds = report["seconds"].as_array().expect("seconds");
    seconds
        .iter()
        .map(|second| second.pointer(path).and_then(Value::as_u64).unwrap_or(0))
        .collect()
}

#[test]
fn clients_renew_at_t1_and_lose_nothing() {
    let (_responder, generator) = before("dhcp4", TIMES);
    let load = "--clients 300 --fill --lease-clock --seconds 6";
    let report = reported(generator, load);
    assert_eq!(report["ended"], "complete");
    // Each once in 2 s and some ms, from a random moment on.
    let renewed = count(&report, "/kinds/renew/completed");
    assert!((860..=910).contains(&renewed), "{report}");
    assert_eq!(count(&report, "/counts/attempted"), renewed);
    assert_eq!(count(&report, "/expired"), 0);
    for what in ["due", "sent", "answered"] {
        let seconds = each_second(&report, &format!("/kinds/renew/{what}"));
        assert_eq!(seconds.iter().sum::<u64>(), renewed, "{what}");
        assert!(seconds[..6].iter().all(|count| (80..=220).contains(count)), "{seconds:?}");
    }
    sums_up(&report);
}

#[test]
fn clients_without_answers_rebind_and_begin_again() {
    let mut served = Served::new(TIMES, "--clients 100 --fill --late 0.3 --grace 0.1");
    let first = served.answer(b"--lease-clock --seconds 0.01");
    assert_eq!(count(&first, "/filled/leases"), 100);
    served.stop_responder();
    let report = served.answer(b"--lease-clock --seconds 5");
    for kind in ["renew", "rebind", "new"] {
        let lost = count(&report, &format!("/kinds/{kind}/lost"));
        // Who begins again and gets nothing does so once more after 1.4 s.
        assert!(
            lost == 100 || (kind == "new" && (100..=200).contains(&lost)),
            "{kind}: {lost}"
        );
        // Those that the very first load has renewed may be a little later.
        let seconds = each_second(&report, &format!("/kinds/{kind}/due"));
        let due = seconds.iter().position(|count| *count > 0).unwrap();
        let expected = match kind {
            "renew" => 0..=0,
            "rebind" => 2..=2,
            _ => 3..=3,
        };
        assert!(expected.contains(&due), "{kind}: {seconds:?}");
    }
    assert_eq!(count(&report, "/expired"), 100);
    sums_up(&report);
}

#[test]
fn clients_that_are_refused_begin_again_at_once() {
    let mut served = Served::new(TIMES, "--clients 50 --fill");
    assert_eq!(count(&served.answer(b"--rate 1 --seconds 0.01"), "/filled/leases"), 50);
    served.stop_responder();
    let refusing = listening(&served.addresses, "dhcp4", &format!("{TIMES} --refuse 1"));
    let report = served.answer(b"--lease-clock --seconds 3");
    drop(refusing);
    assert_eq!(count(&report, "/kinds/renew/refused"), 50);
    // And once a second after that.
    let begun = count(&report, "/kinds/new/refused");
    assert!((75..=200).contains(&begun), "{begun}");
    assert_eq!(count(&report, "/expired"), 0);
    sums_up(&report);
}

#[test]
fn clients_of_a_rate_are_on_the_clock_from_then_on() {
    let (_responder, generator) = before("dhcp4", TIMES);
    let load = "--clients 200 --lease-clock --steps 200x1,0x3";
    let report = reported(generator, load);
    assert_eq!(count(&report, "/kinds/new/completed"), 200);
    let renewed = each_second(&report, "/kinds/renew/answered");
    assert!(renewed[..2].iter().sum::<u64>() <= 2, "{renewed:?}");
    assert!((170..=200).contains(&renewed[2]), "{renewed:?}");
    assert_eq!(renewed.iter().sum::<u64>(), 200);
}
