//! The generator against the responder: it counts the settings' outcomes.
//!
//! Both need their ports, so these tests need root, as the lab does.

mod bench;
mod broadcast;
mod clocks;
mod ends;
mod parts;
mod served;
mod six;
mod streams;
mod window;

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::Value;

use bench::{addresses, count, offered, sums_up, time};

#[test]
fn a_server_without_faults_completes_everything() {
    let report = offered("dhcp4", "", "--rate 500 --seconds 1");
    assert_eq!(count(&report, "/counts/completed"), 500);
    assert_eq!(report["ended"], "complete");
    assert_eq!(count(&report, "/duplicates"), 0);
    sums_up(&report);
}

#[test]
fn what_is_dropped_is_lost_in_its_stage() {
    let report = offered(
        "dhcp4",
        "--drop-first 0.2 --drop-second 0.1",
        "--rate 1000 --seconds 2 --late 0.3 --grace 0.1",
    );
    let [first, second] = [0, 1].map(|stage| count(&report, &format!("/stages/{stage}/lost")));
    assert!((300..500).contains(&first) && (100..220).contains(&second), "{first}, {second}");
    assert_eq!(count(&report, "/counts/lost"), first + second);
    sums_up(&report);
}

#[test]
fn refusals_are_no_losses() {
    let report = offered("dhcp4", "--refuse 1", "--rate 200 --seconds 1");
    assert_eq!(count(&report, "/counts/refused"), 200);
    assert_eq!(count(&report, "/refused/NAK"), 200);
    sums_up(&report);
}

#[test]
fn what_comes_after_the_line_is_late_and_not_lost() {
    // Two replies of 100 ms each.
    let load = "--rate 200 --seconds 1 --grace 1";
    let before = offered("dhcp4", "--delay 100", &format!("{load} --late 0.4"));
    assert_eq!(count(&before, "/counts/completed"), 200);
    let after = offered("dhcp4", "--delay 100", &format!("{load} --late 0.15"));
    assert_eq!(count(&after, "/counts/late"), 200);
    let p50 = time(&after, "/whole/p50_s");
    assert!((0.2..0.3).contains(&p50), "{p50}");
    let lost = offered("dhcp4", "--delay 900", "--rate 50 --seconds 1 --late 0.1 --grace 0.1");
    assert_eq!(count(&lost, "/counts/lost"), 50);
}

#[test]
fn other_replies_are_counted_apart() {
    let faults = "--duplicate 1 --malformed 1 --foreign 1";
    let report = offered("dhcp4", faults, "--rate 200 --seconds 1");
    assert_eq!(count(&report, "/counts/completed"), 200);
    assert!(count(&report, "/repeated") >= 399, "{report}");
    assert!(count(&report, "/malformed") >= 399);
    assert!(count(&report, "/foreign") >= 399);
}

#[test]
fn an_address_of_two_clients_is_noticed() {
    let report = offered("dhcp4", "--same-address 1", "--rate 100 --seconds 1");
    assert_eq!(count(&report, "/duplicates"), 99);
}

#[test]
fn clients_with_leases_renew_and_release_them() {
    let mix = "renew=5,rebind=2,reboot=1,release=1,inform=1";
    let load = &format!("--rate 500 --seconds 1 --clients 300 --fill --mix {mix}");
    let report = offered("dhcp4", "", load);
    assert_eq!(count(&report, "/filled/leases"), 300);
    assert_eq!(count(&report, "/counts/completed"), 500);
    for kind in ["renew", "rebind", "reboot", "release", "inform"] {
        assert!(count(&report, &format!("/kinds/{kind}/completed")) > 0, "{kind}");
    }
    assert_eq!(count(&report, "/duplicates"), 0);
}

#[test]
fn all_at_once_send_again_until_they_are_served_or_the_time_is_over() {
    // They send again after 4 s, give or take a tenth.
    let load = "--at-once 500 --seconds 4.6 --retransmit --late 0.2 --grace 0";
    let report = offered("dhcp4", "--drop-first 0.3", load);
    let [late, lost] = ["late", "lost"].map(|part| count(&report, &format!("/counts/{part}")));
    assert!((70..150).contains(&late), "{report}");
    assert!((20..80).contains(&lost), "{report}");
    assert!(count(&report, "/sent_again") >= late + lost);
    sums_up(&report);
}

#[test]
fn rcodes_that_are_not_expected_are_refusals() {
    let queries = std::env::temp_dir().join(format!("leaseload-{}", std::process::id()));
    std::fs::write(&queries, "a.example. A\nb.example. AAAA\n").unwrap();
    let path = queries.display();
    let load = format!("--queries {path} --rate 500 --seconds 1");
    let right = offered("dns", "", &load);
    let wrong = offered("dns", "--refuse 1", &load);
    let expected = offered("dns", "--refuse 1", &format!("{load} --expect NOERROR,REFUSED"));
    std::fs::remove_file(&queries).unwrap();
    assert_eq!(count(&right, "/counts/completed"), 500);
    assert_eq!(count(&right, "/replies/NOERROR/count"), 500);
    // Header, question and one address.
    assert_eq!(count(&right, "/replies/NOERROR/bytes"), 500 * (12 + 15 + 16));
    assert_eq!(count(&wrong, "/refused/REFUSED"), 500);
    assert_eq!(count(&expected, "/counts/completed"), 500);
}

#[test]
fn an_interrupt_ends_the_load_with_its_report() {
    let [server, relay] = addresses();
    let mut generator = Command::new(env!("CARGO_BIN_EXE_leaseload"));
    generator.args(["dhcp4", "--interface", "lo", "--server", &server, "--relay", &relay]);
    generator.args(["--rate", "100", "--seconds", "60"]).stdout(Stdio::piped());
    let silent = std::net::UdpSocket::bind((server.as_str(), 67)).expect("nobody else has it");
    let mut running = generator.spawn().expect("built");
    silent.recv(&mut [0; 2048]).expect("a packet");
    let interrupt = Command::new("kill").args(["-INT", &running.id().to_string()]).status();
    assert!(interrupt.expect("kill").success());
    let mut text = String::new();
    running.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(running.wait().unwrap().success());
    let report: Value = serde_json::from_str(&text).expect("a report");
    assert_eq!(report["ended"], "interrupted");
    assert!(count(&report, "/counts/open") > 0);
    sums_up(&report);
}

#[test]
fn what_was_dropped_is_not_waited_for_once_the_server_is_silent() {
    let load = "--rate 500 --seconds 1 --late 2 --grace 2 --quiet 0.2";
    let report = offered("dhcp4", "--drop-first 0.1", load);
    // Else it would take 5 s.
    assert!(time(&report, "/took_s") < 4.5, "{report}");
    let lost = count(&report, "/counts/lost");
    assert!((20..100).contains(&lost), "{report}");
    sums_up(&report);
    // A stall that is longer than the silence is waited for, where one was seen before.
    let report = offered("dhcp4", "--delay 300-400", load);
    assert_eq!(count(&report, "/counts/completed"), 500, "{report}");
}

#[test]
fn clients_of_a_population_come_through_its_relays_each_with_its_own_lease() {
    let addresses = addresses();
    let _responder = bench::listening(&addresses, "dhcp4", "");
    let path = std::env::temp_dir().join(format!("leaseload-kinds-{}", std::process::id()));
    let kinds = serde_json::json!({"kinds": [
        {"clients": 150, "relay": addresses[1], "agent": [[1, "text:port{client}"]]},
        {"clients": 50, "first_mac": "02:00:00:00:00:01", "options": [[60, "text:phone"]]},
    ]});
    std::fs::write(&path, kinds.to_string()).unwrap();
    let load = format!("--rate 400 --seconds 1 --fill --population {}", path.display());
    let report = bench::reported(bench::generator(&addresses, "dhcp4"), &load);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(count(&report, "/filled/clients"), 200);
    assert_eq!(count(&report, "/counts/completed"), 400);
    sums_up(&report);
}
