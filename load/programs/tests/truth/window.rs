//! A closed window, and messages of it that wait for a line.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use leaseload_packet::dhcp4::{self, Kind, Message};
use serde_json::{Value, json};

use crate::bench::{Running, addresses, before, count, generator, listening, sums_up};
use crate::served::Served;

/// For how long nothing comes, where nothing may (a machine that is slower shows less).
const NOTHING: Duration = Duration::from_millis(200);
/// What takes longer has hung.
const HANGS: Duration = Duration::from_secs(120);

/// A generator that is given lines.
struct Stepped {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _process: Running,
}

impl Stepped {
    fn say(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
    }
}

/// Check that nothing comes before a generator gets a line; return what comes then.
fn received(server: &UdpSocket, generator: &mut Stepped) -> (Vec<u8>, SocketAddr) {
    assert_eq!(generator.line(), json!({ "step": true }));
    let mut bytes = [0; 2048];
    server.set_read_timeout(Some(NOTHING)).unwrap();
    assert!(server.recv_from(&mut bytes).is_err(), "it has not waited");
    generator.say("");
    server.set_read_timeout(Some(HANGS)).unwrap();
    let (length, from) = server.recv_from(&mut bytes).expect("it does not wait any more");
    (bytes[..length].to_vec(), from)
}

#[test]
fn both_messages_of_an_exchange_wait_for_a_line() {
    let addresses = addresses();
    let server = UdpSocket::bind((addresses[0].as_str(), dhcp4::SERVER_PORT)).unwrap();
    let mut command = generator(&addresses, "dhcp4");
    command.args(["--serve", "--late", "120"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("built");
    let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut generator =
        Stepped { input, output: BufReader::new(output), _process: Running(child) };
    generator.say("--window 1 --transactions 1 --step");
    for answer in [Kind::Offer, Kind::Ack] {
        let (bytes, from) = received(&server, &mut generator);
        let asked = dhcp4::read(&bytes).unwrap();
        assert_eq!(asked.secs, 0);
        let mut message = Message::new(answer, asked.xid, asked.mac);
        message.yiaddr = Ipv4Addr::new(10, 0, 0, 1);
        (message.server_id, message.lease_s) = (Some(Ipv4Addr::LOCALHOST), Some(60));
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        server.send_to(&bytes, from).unwrap();
    }
    let report = generator.line();
    assert_eq!(
        (count(&report, "/counts/completed"), &report["ended"]),
        (1, &"complete".into())
    );
    sums_up(&report);
}

#[test]
fn windows_follow_each_other_with_the_same_clients() {
    let addresses = addresses();
    let running = listening(&addresses, "dhcp4", "");
    let mut generator = generator(&addresses, "dhcp4");
    generator.args(["--clients", "30", "--late", "120"]);
    let mut served = Served::of(addresses, running, generator);
    let load = "--window 1 --transactions 30";
    for (mix, window) in [("new=1", 1), ("renew=1", 1), ("new=1,renew=1,inform=1", 4)] {
        let report = served.answer(format!("{load} --window {window} --mix {mix}").as_bytes());
        assert_eq!((count(&report, "/counts/completed"), count(&report, "/starved")), (30, 0));
        assert_eq!(
            (&report["ended"], &report["fell_behind"]),
            (&"complete".into(), &false.into())
        );
        let asked =
            serde_json::json!({ "exchanges": 30.0, "late_s": 120.0, "window": window });
        assert_eq!(report["asked"], asked);
        sums_up(&report);
    }
    for (line, name) in [
        ("--window 31 --transactions 31", "--clients"),
        ("--window 1", "--transactions"),
        ("--rate 5 --step", "--step"),
    ] {
        let answer = served.answer(line.as_bytes());
        assert!(answer["error"].as_str().unwrap_or_default().contains(name), "{answer}");
    }
    // A load after one that has failed.
    let report = served.answer(load.as_bytes());
    assert_eq!(count(&report, "/counts/completed"), 30);
}

#[test]
fn the_first_that_is_lost_or_that_nobody_can_begin_ends_it() {
    for (faults, load, counts) in [
        ("--drop-second 1", "--late 0.2 --grace 0", [1, 1, 0]),
        ("", "--clients 5 --mix renew=1", [0, 0, 1]),
    ] {
        let (_running, mut generator) = before("dhcp4", faults);
        generator.args(["--window", "1", "--transactions", "50"]);
        let output = generator.args(load.split_whitespace()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(report["ended"], "failed");
        let names = ["/counts/attempted", "/counts/lost", "/starved"];
        assert_eq!(names.map(|name| count(&report, name)), counts, "{report}");
        sums_up(&report);
    }
}
