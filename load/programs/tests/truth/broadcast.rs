//! Clients on the link: frames over a pair of virtual interfaces in namespaces of their own.

use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value;

use crate::bench::{Responder, count, first, reported, started, sums_up, wait_until};
use crate::served::Served;

/// Two namespaces with an end of a cable in each; both go with it.
pub struct Cable([String; 2]);

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split_whitespace()).status();
    assert!(status.expect("Debian's iproute2 is there").success(), "ip {words}");
}

impl Cable {
    /// With an address of IPv4 at the second end, and link-local ones that are usable at once.
    pub fn new() -> Self {
        static NEXT: AtomicU8 = AtomicU8::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let names =
            ["a", "b"].map(|end| format!("leaseload-{}-{number}-{end}", std::process::id()));
        let cable = Self(names);
        let [a, b] = &cable.0;
        for words in [
            format!("netns add {a}"),
            format!("netns add {b}"),
            format!("link add cable netns {a} type veth peer name cable netns {b}"),
            format!("netns exec {a} sysctl -qw net.ipv6.conf.cable.accept_dad=0"),
            format!("netns exec {b} sysctl -qw net.ipv6.conf.cable.accept_dad=0"),
            format!("-n {a} link set cable up"),
            format!("-n {b} link set cable up"),
            format!("-n {b} address add 198.18.0.10/24 dev cable"),
        ] {
            ip(&words);
        }
        cable.wait_for_link();
        cable
    }

    /// Wait until both ends send: for a moment after `set up` the kernel drops what they send.
    fn wait_for_link(&self) {
        for name in &self.0 {
            wait_until("the link is up", || {
                let mut show = Command::new("ip");
                let shown = show.args(["-n", name, "link", "show", "cable", "up"]).output();
                String::from_utf8_lossy(&shown.expect("it runs").stdout).contains(" state UP ")
            });
        }
    }

    /// A program at one end.
    fn at(&self, end: usize, program: &str) -> Command {
        let mut command = first("ip");
        command.args(["netns", "exec", &self.0[end], program]);
        command
    }

    /// A responder at the second end.
    pub fn responder(&self, protocol: &str, words: &str) -> Responder {
        let mut responder = self.at(1, env!("CARGO_BIN_EXE_leaserespond"));
        responder.args([protocol, "--interface", "cable"]);
        responder.args(words.split_whitespace());
        started(responder)
    }

    /// The report of a load from the first end.
    pub fn offered(&self, protocol: &str, load: &str) -> Value {
        let generator = self.at(0, env!("CARGO_BIN_EXE_leaseload"));
        reported(generator, &format!("{protocol} --interface cable {load}"))
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.0 {
            Command::new("ip").args(["netns", "del", name]).status().ok();
        }
    }
}

/// Every exchange of the load has completed, and nothing else came.
pub fn is_complete(report: &Value, exchanges: u64) {
    assert_eq!(count(report, "/counts/completed"), exchanges, "{report}");
    for name in ["repeated", "foreign", "malformed", "duplicates", "unsent"] {
        assert_eq!(count(report, &format!("/{name}")), 0, "{name}");
    }
    sums_up(report);
}

#[test]
fn clients_without_relays_broadcast_to_a_server_of_the_kernel_s_udp() {
    let cable = Cable::new();
    let _responder = cable.responder("dhcp4", "--listen 198.18.0.10 --on-link udp");
    is_complete(&cable.offered("dhcp4", "--rate 500 --seconds 1"), 500);
    let mix = "renew=2,rebind=1,reboot=1,new=1,inform=1";
    let load = format!("--rate 500 --seconds 1 --clients 200 --fill --mix {mix}");
    let report = cable.offered("dhcp4", &load);
    is_complete(&report, 500);
    assert!(count(&report, "/kinds/renew/completed") > 100, "{report}");
    assert!(count(&report, "/kinds/inform/completed") > 50, "{report}");
}

#[test]
fn threads_receive_the_replies_to_their_own_clients() {
    let cable = Cable::new();
    let _responder = cable.responder("dhcp4", "--listen 198.18.0.10 --on-link frames");
    is_complete(&cable.offered("dhcp4", "--rate 500 --seconds 1 --threads 3"), 500);
}

#[test]
fn clients_are_in_a_vlan_and_in_no_other() {
    let cable = Cable::new();
    let load = "--rate 200 --seconds 0.5";
    for (own, others) in [("7", ["8", "7,8"]), ("7,8", ["7", "7,9"])] {
        let _responder =
            cable.responder("dhcp4", &format!("--listen 198.18.0.10 --on-link frames:{own}"));
        is_complete(&cable.offered("dhcp4", &format!("{load} --vlan {own}")), 100);
        let others = others.map(|other| format!("--vlan {other}"));
        for other in others.iter().map(String::as_str).chain([""]) {
            let load = format!("{load} --late 0.2 --grace 0 {other}");
            let report = cable.offered("dhcp4", &load);
            assert_eq!(count(&report, "/counts/lost"), 100, "{own} answers {other:?}");
        }
    }
}

#[test]
fn a_load_that_the_network_ends_is_answered_by_an_error_and_the_next_one_is_whole() {
    let cable = Cable::new();
    let responder = cable.responder("dhcp4", "--listen 198.18.0.10 --on-link frames");
    let end = cable.0[0].clone();
    let unplugged =
        responder.once_it_receives(move || ip(&format!("-n {end} link set cable down")));
    let mut generator = cable.at(0, env!("CARGO_BIN_EXE_leaseload"));
    generator.args(["dhcp4", "--interface", "cable"]);
    let mut served = Served::of(cable.0.clone(), responder, generator);
    let answer = served.answer(b"--rate 500 --seconds 3");
    assert!(answer["error"].as_str().is_some_and(|why| why.contains("down")), "{answer}");
    unplugged.join().unwrap();
    ip(&format!("-n {} link set cable up", cable.0[0]));
    cable.wait_for_link();
    is_complete(&served.answer(b"--rate 500 --seconds 0.5"), 250);
}
