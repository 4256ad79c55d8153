//! Loads in parts: each has what was due in it, and what came of that.

use serde_json::{Value, json};

use crate::bench::{addresses, count, generator, listening, offered, reported, sums_up, time};

fn of_parts(report: &Value, what: &str) -> Vec<u64> {
    let parts = report["parts"].as_array().expect("parts");
    parts.iter().map(|part| part[what].as_u64().expect("a count")).collect()
}

#[test]
fn each_part_has_as_many_exchanges_as_were_asked_for() {
    let report = offered("dhcp4", "", "--counts 100,0,301,7 --seconds 2");
    assert_eq!(of_parts(&report, "attempted"), [100, 0, 301, 7]);
    assert_eq!(of_parts(&report, "completed"), [100, 0, 301, 7]);
    assert_eq!(time(&report, "/asked/exchanges"), 408.0);
    assert_eq!(report["parts"][1]["p99_s"], Value::Null);
    let of_second = |at| count(&report, &format!("/seconds/{at}/attempted"));
    assert_eq!([0, 1].map(of_second), [100, 308]);
    sums_up(&report);
}

#[test]
fn what_is_late_or_lost_is_of_the_part_in_which_it_was_due() {
    // Two replies that take longer than it may; those of the first step come in the second.
    let load = "--steps 200x0.1,0x1.9,50x2 --late 0.2 --grace 2";
    let report = offered("dhcp4", "--delay 250-300", load);
    assert_eq!(of_parts(&report, "attempted"), [20, 0, 100]);
    assert_eq!(of_parts(&report, "late"), [20, 0, 100]);
    assert!(time(&report, "/parts/0/p50_s") > 0.5, "{report}");
    let report = offered("dhcp4", "--drop-first 1", "--counts 10,30 --seconds 1 --late 0.1");
    assert_eq!(of_parts(&report, "attempted"), [10, 30]);
    assert_eq!(of_parts(&report, "completed"), [0, 0]);
    assert_eq!(of_parts(&report, "late"), [0, 0]);
}

#[test]
fn a_population_lives_by_the_clocks_of_its_leases_beside_such_a_load() {
    let addresses = addresses();
    let _responder = listening(&addresses, "dhcp4", "--lease-time 4,2,3");
    let path = std::env::temp_dir().join(format!("leaseload-clocks-{}", std::process::id()));
    let kinds = json!({"kinds": [{"clients": 300, "relay": addresses[1]}]});
    std::fs::write(&path, kinds.to_string()).unwrap();
    let load = format!(
        "--counts 20,80 --seconds 4 --fill --lease-clock --retransmit --population {}",
        path.display()
    );
    let report = reported(generator(&addresses, "dhcp4"), &load);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(count(&report, "/kinds/new/completed"), 100);
    // Each renews once in 2 s; one that has begun again, 2 s after that.
    let renewed = count(&report, "/kinds/renew/completed");
    assert!((480..=620).contains(&renewed), "{report}");
    let of_parts = of_parts(&report, "attempted");
    assert_eq!(of_parts.iter().sum::<u64>(), count(&report, "/counts/attempted"));
    assert!(of_parts.iter().all(|count| *count > 200), "{of_parts:?}");
    sums_up(&report);
}
