//! Queries over TCP, TLS and HTTPS connections.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::bench::{
    Responder, addresses, count, generator, listening, reported, sums_up, time,
};
use crate::served::Served;

const TLS: &str = "--tls-port 853 --https-port 443";

/// A file that goes with its test.
struct Kept(PathBuf);

impl Kept {
    fn new(text: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("leaseload-streams-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn queries() -> Self {
        Self::new("a.example. A\nb.example. AAAA\n")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// A responder that listens, the generator's command before it without its load, and the query
/// file.
fn before(transport: &str, faults: &str) -> (Responder, Command, Kept) {
    let addresses = addresses();
    let running = listening(&addresses, "dns", &format!("{TLS} {faults}"));
    let (generator, queries) = asking(&addresses, transport);
    (running, generator, queries)
}

fn asking(addresses: &[String; 2], transport: &str) -> (Command, Kept) {
    let (mut generator, queries) = (generator(addresses, "dns"), Kept::queries());
    generator.args(["--transport", transport, "--queries"]).arg(&queries.0);
    (generator, queries)
}

fn offered(transport: &str, faults: &str, load: &str) -> Value {
    let (_running, generator, _queries) = before(transport, faults);
    let report = reported(generator, load);
    sums_up(&report);
    report
}

#[test]
fn queries_are_answered_over_connections_that_stay() {
    for transport in ["tcp", "dot", "https"] {
        let report = offered(transport, "", "--rate 500 --seconds 1 --sockets 3");
        assert_eq!(count(&report, "/counts/completed"), 500, "{report}");
        assert_eq!(
            (&report["ended"], &report["transport"]),
            (&"complete".into(), &transport.into())
        );
        // Header, question and one address, without their lengths.
        assert_eq!(count(&report, "/replies/NOERROR/bytes"), 500 * (12 + 15 + 16));
        let expected =
            [("wanted", 3), ("open", 3), ("closed", 0), ("not_opened", 0), ("lost", 0)];
        for (name, expected) in expected {
            assert_eq!(count(&report, &format!("/connections/{name}")), expected, "{name}");
        }
        assert_eq!(report["reply_times"], "kernel");
        assert!(time(&report, "/whole/p50_s") < 0.05 && time(&report, "/setup_s") > 0.0);
    }
    assert_eq!(offered("udp", "", "--rate 100 --seconds 0.1")["connections"], Value::Null);
}

#[test]
fn updates_and_queries_of_one_file_are_answered_as_what_they_are() {
    for transport in ["udp", "tcp", "dot", "https"] {
        let addresses = addresses();
        let _running = listening(&addresses, "dns", TLS);
        let lines = Kept::new("a.example. A\nh.example. UPDATE example.\n");
        let mut generator = generator(&addresses, "dns");
        generator.args(["--transport", transport, "--queries"]).arg(&lines.0);
        generator.args(["--tsig", "lab.test:bGVhc2U="]);
        let report = reported(generator, "--rate 400 --seconds 0.5");
        assert_eq!(count(&report, "/counts/completed"), 200, "{transport}: {report}");
        // Of a query header, question and one address; of an update a header alone.
        assert_eq!(count(&report, "/replies/NOERROR/bytes"), 100 * (12 + 15 + 16) + 100 * 12);
        for (kind, stage) in [("query", "QUERY-ANSWER"), ("update", "UPDATE-ANSWER")] {
            let kind = &report["kinds"][kind];
            assert_eq!([count(kind, "/attempted"), count(kind, "/completed")], [100, 100]);
            let stages = report["stages"].as_array().expect("a list");
            let stage = stages.iter().find(|known| known["name"] == stage).expect("counted");
            assert!(time(stage, "/latency/max_s") > 0.0);
            assert!(time(kind, "/p99_s") >= time(kind, "/p50_s"), "{report}");
        }
    }
}

#[test]
fn queries_come_as_they_were_recorded_twice_as_fast() {
    // Three together, three after 2 s, one after 3 s; half a second later they begin again.
    let times = ["0", "0", "0", "2", "2", "2", "3"];
    let lines: String = times.iter().map(|time| format!("a.example. A @{time}\n")).collect();
    let (addresses, file) = (addresses(), Kept::new(&lines));
    let _running = listening(&addresses, "dns", "");
    let mut generator = generator(&addresses, "dns");
    generator.arg("--queries").arg(&file.0);
    generator.arg(format!("--arrivals=recorded:{}", file.0.display()));
    let report = reported(generator, "--rate 4 --seconds 3.5");
    sums_up(&report);
    assert_eq!(count(&report, "/counts/completed"), 14, "{report}");
    let seconds = report["seconds"].as_array().expect("seconds");
    let due: Vec<_> = seconds.iter().map(|one| count(one, "/kinds/query/due")).collect();
    assert_eq!(due[..4], [3, 7, 3, 1], "{report}");
}

#[test]
fn a_query_may_have_a_connection_of_its_own() {
    for transport in ["tcp", "dot", "https"] {
        // A server that closes after each answer is asked by a new connection anyway.
        for faults in ["", "--close-after 1"] {
            let load = "--fresh --rate 100 --seconds 1 --late 5";
            let report = offered(transport, faults, load);
            assert_eq!(count(&report, "/counts/completed"), 100, "{report}");
            let expected = [("wanted", 100), ("closed", 0), ("not_opened", 0), ("lost", 0)];
            for (name, expected) in expected {
                assert_eq!(count(&report, &format!("/connections/{name}")), expected);
            }
        }
    }
}

#[test]
fn a_query_whose_own_connection_is_closed_is_lost_at_once() {
    let addresses = addresses();
    let listener = TcpListener::bind((addresses[0].as_str(), 53)).unwrap();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    for (server, name) in [(&addresses[0], "closed"), (&addresses[1], "not_opened")] {
        let asked = [server.clone(), String::new()];
        let (generator, _queries) = asking(&asked, "tcp");
        let load = "--fresh --rate 100 --seconds 0.5 --late 20 --grace 20";
        let report = reported(generator, load);
        assert_eq!(count(&report, "/counts/lost"), 50, "{report}");
        assert_eq!(count(&report, "/connections/lost"), 50);
        assert!(count(&report, &format!("/connections/{name}")) >= 40, "{report}");
        assert!(time(&report, "/took_s") < 30.0, "{report}");
    }
}

#[test]
fn what_is_not_answered_takes_a_connection_until_there_are_too_many() {
    let (_running, generator, _queries) = before("tcp", "--drop-first 1");
    let load = "--fresh --sockets 1 --rate 3000 --seconds 3 --late 0.1 --grace 0";
    let report = reported(generator, load);
    let [wanted, no_room] =
        ["wanted", "no_room"].map(|name| count(&report, &format!("/connections/{name}")));
    assert_eq!(count(&report, "/counts/completed"), 0, "{report}");
    assert!(no_room > 0 && wanted - no_room >= 4096, "{report}");
}

#[test]
fn queries_go_over_ipv6() {
    let addresses = ["::1".to_owned(), String::new()];
    let _running = listening(&addresses, "dns", TLS);
    for transport in ["udp", "tcp", "dot", "https"] {
        let (generator, _queries) = asking(&addresses, transport);
        let report = reported(generator, "--rate 100 --seconds 0.5 --late 5");
        assert_eq!(count(&report, "/counts/completed"), 50, "{transport}: {report}");
    }
}

#[test]
fn threads_have_connections_of_their_own() {
    let report = offered("tcp", "", "--rate 500 --seconds 1 --threads 2");
    assert_eq!(count(&report, "/connections/open"), 8);
    assert_eq!(count(&report, "/counts/completed"), 500);
}

#[test]
fn answers_come_in_any_order() {
    for transport in ["tcp", "dot", "https"] {
        let report = offered(transport, "--delay 1-80", "--rate 1000 --seconds 1 --sockets 1");
        assert_eq!(count(&report, "/counts/completed"), 1000, "{report}");
        let p50 = time(&report, "/whole/p50_s");
        assert!((0.03..0.06).contains(&p50), "{p50}");
    }
}

#[test]
fn what_a_server_does_wrong_is_counted_as_over_udp() {
    let faults = "--duplicate 1 --malformed 1 --foreign 1 --drop-first 0.2";
    let load = "--rate 500 --seconds 1 --late 0.3 --grace 0";
    // A request of HTTPS has no more than its answer.
    for transport in ["tcp", "dot"] {
        let report = offered(transport, faults, load);
        let [completed, lost] =
            ["completed", "lost"].map(|part| count(&report, &format!("/counts/{part}")));
        assert!((60..150).contains(&lost) && completed + lost == 500, "{report}");
        for name in ["repeated", "malformed", "foreign"] {
            assert!(count(&report, &format!("/{name}")) >= completed - 1, "{name}: {report}");
        }
        assert_eq!(count(&report, "/connections/closed"), 0);
    }
}

#[test]
fn what_a_client_would_not_take_is_not_completed() {
    let load = "--rate 100 --seconds 1 --late 5 --grace 0 --quiet 5";
    // A resolver drops what comes from elsewhere, and asks again over TCP for what did not fit.
    for (transport, faults, kind, word, share) in [
        ("udp", "--elsewhere 0.5", "lost", "/foreign", 30..70),
        ("udp", "--truncate 0.5", "refused", "/refused/TRUNCATED", 30..70),
        ("https", "--http-status 500", "refused", "/refused/HTTP-ERROR", 100..101),
        ("https", "--http-status none", "refused", "/refused/HTTP-ERROR", 100..101),
        (
            "https --fresh",
            "--http-status 500",
            "refused",
            "/replies/HTTP-ERROR/count",
            100..101,
        ),
    ] {
        let (transport, more) = transport.split_once(' ').unwrap_or((transport, ""));
        let report = offered(transport, faults, &format!("{load} {more}"));
        let failed = count(&report, &format!("/counts/{kind}"));
        assert!(share.contains(&failed), "{faults}: {report}");
        assert_eq!(count(&report, "/counts/completed") + failed, 100, "{faults}: {report}");
        assert_eq!(count(&report, word), failed, "{faults}: {report}");
    }
    assert_eq!(count(&offered("tcp", "--truncate 1", load), "/counts/completed"), 100);
}

#[test]
fn a_capacity_is_kept_over_connections() {
    let load = "--rate 1000 --seconds 2 --late 0.3 --grace 0";
    let report = offered("tcp", "--capacity 500 --queue 20", load);
    let completed = count(&report, "/counts/completed");
    // A responder that is held up serves fewer, and never more.
    assert!((900..1040).contains(&completed), "{completed}");
}

#[test]
fn a_connection_that_the_server_closes_is_opened_again() {
    for transport in ["tcp", "dot", "https"] {
        // What was under way is lost with it, and at once.
        let faults = "--close-after 50 --delay 5";
        let load = "--rate 1000 --seconds 1 --late 1 --grace 1";
        let report = offered(transport, faults, load);
        let [completed, lost] =
            ["completed", "lost"].map(|part| count(&report, &format!("/counts/{part}")));
        let closed = count(&report, "/connections/closed");
        assert!(closed >= 10 && completed >= 50 * closed, "{report}");
        assert!(lost > 0 && completed + lost == 1000, "{report}");
        assert_eq!(count(&report, "/connections/lost"), lost);
        // Queries that it has not read make its end of the connection a reset, and a query after
        // that finds none.
        let error = report["connections"]["error"].as_str().unwrap();
        let ended = [
            "closed by the server",
            "Connection reset by peer (os error 104)",
            "Broken pipe (os error 32)",
        ];
        assert!(ended.contains(&error), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_loses_everything() {
    let (generator, _queries) = asking(&addresses(), "tcp");
    let report = reported(generator, "--rate 100 --seconds 0.5 --late 0.2 --grace 0");
    assert_eq!(count(&report, "/counts/lost"), 50);
    assert_eq!(count(&report, "/connections/open"), 0);
    assert!(count(&report, "/connections/not_opened") >= 4, "{report}");
    let error = report["connections"]["error"].as_str().unwrap();
    assert!(error.contains("refused"), "{error}");
    sums_up(&report);
}

#[test]
fn a_certificate_is_checked_where_one_is_trusted() {
    let (own, addresses) = (Kept::new(""), addresses());
    let faults = format!("{TLS} --certificate {}", own.0.display());
    let _running = listening(&addresses, "dns", &faults);
    let load = "--rate 100 --seconds 0.2";
    let (mut generator, _queries) = asking(&addresses, "dot");
    generator.arg("--ca").arg(&own.0);
    assert_eq!(count(&reported(generator, load), "/counts/completed"), 20);
    for (file, name) in [(&own, "another.example"), (&Kept::queries(), &addresses[0])] {
        let (mut generator, _queries) = asking(&addresses, "dot");
        generator.arg("--ca").arg(&file.0).args(["--tls-name", name]);
        let output = generator.args(load.split_whitespace()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("certificate"), "{said}");
    }
}

#[test]
fn loads_follow_each_other_and_a_server_that_was_started_again_is_found() {
    let addresses = addresses();
    let running = listening(&addresses, "dns", TLS);
    let (generator, _queries) = asking(&addresses, "dot");
    let mut served = Served::of(addresses.clone(), running, generator);
    assert_eq!(count(&served.answer(b"--rate 200 --seconds 0.5"), "/counts/completed"), 100);
    served.stop_responder();
    let none = served.answer(b"--rate 200 --seconds 0.5 --late 0.2 --grace 0");
    assert_eq!((count(&none, "/counts/lost"), count(&none, "/connections/open")), (100, 0));
    let _running = listening(&addresses, "dns", TLS);
    let report = served.answer(b"--rate 200 --seconds 0.5");
    assert_eq!(count(&report, "/counts/completed"), 100, "{report}");
    assert_eq!((count(&report, "/connections/open"), count(&report, "/earlier")), (4, 0));
}

#[test]
fn a_server_that_closes_at_once_is_asked_ten_times_a_second() {
    let addresses = addresses();
    let listener = TcpListener::bind((addresses[0].as_str(), 53)).unwrap();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let (generator, _queries) = asking(&addresses, "tcp");
    let load = "--rate 100 --seconds 1 --late 0.1 --grace 0 --sockets 1";
    let report = reported(generator, load);
    assert_eq!(count(&report, "/counts/lost"), 100);
    let closed = count(&report, "/connections/closed");
    assert!((3..=12).contains(&closed), "{report}");
    assert!(count(&report, "/connections/no_room") > 50, "{report}");
}

#[test]
fn wrong_lengths_are_malformed_and_bounded() {
    let addresses = addresses();
    let listener = TcpListener::bind((addresses[0].as_str(), 53)).unwrap();
    std::thread::spawn(move || {
        for peer in listener.incoming() {
            std::thread::spawn(move || {
                let mut peer = peer?;
                // Nothing in it, too little for a header, and one that never ends.
                peer.write_all(&[0, 0, 0, 3, 1, 2, 3, 0xff, 0xff])?;
                while peer.read(&mut [0; 4096])? > 0 {
                    peer.write_all(&[7; 64])?;
                }
                std::io::Result::Ok(())
            });
        }
    });
    let (generator, _queries) = asking(&addresses, "tcp");
    let load = "--rate 100 --seconds 0.5 --late 0.3 --grace 0";
    let report = reported(generator, load);
    assert_eq!(count(&report, "/counts/lost"), 50, "{report}");
    // What came before the load began was forgotten.
    assert!(count(&report, "/malformed") <= 8, "{report}");
    assert!(count(&report, "/peak_memory_bytes") < 64 << 20);
}
