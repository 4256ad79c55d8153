//! One process that offers one load after the other.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::bench::{
    Responder, Running, addresses, count, generator, listening, sums_up, time,
};

/// A generator that reads loads, and a responder before it.
pub struct Served {
    /// Of both.
    pub addresses: [String; 2],
    responder: Option<Responder>,
    process: Running,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Served {
    /// Both, with the responder's faults and the generator's options.
    pub fn new(faults: &str, options: &str) -> Self {
        let addresses = addresses();
        let responder = listening(&addresses, "dhcp4", faults);
        let mut generator = generator(&addresses, "dhcp4");
        generator.args(options.split_whitespace());
        Self::of(addresses, responder, generator)
    }

    /// A responder, and a generator's command, its loads left out.
    pub fn of(addresses: [String; 2], responder: Responder, mut generator: Command) -> Self {
        generator.arg("--serve").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = generator.spawn().expect("built");
        let (input, output) =
            (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { addresses, responder: Some(responder), process: Running(child), input, output }
    }

    /// End the responder.
    pub fn stop_responder(&mut self) {
        self.responder = None;
    }

    /// The answer to a line.
    pub fn answer(&mut self, line: &[u8]) -> Value {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).and_then(|()| input.write_all(b"\n")).expect("it reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer:?}"))
    }

    /// Close its input; its exit status, and the rest of its output.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        (self.process.0.wait().unwrap().code(), rest)
    }
}

#[test]
fn loads_follow_each_other_with_the_same_clients() {
    let mut served = Served::new("", "--clients 200 --fill --late 0.5 --mix renew=1");
    let first = served.answer(b"--rate 400 --seconds 0.5");
    let second = served.answer(b"  --steps 1000x0.3,500x0.2 --mix renew=1,new=1 --late 1 ");
    for (report, exchanges, late_s) in [(&first, 200, 0.5), (&second, 400, 1.0)] {
        assert_eq!(report["ended"], "complete");
        assert_eq!(count(report, "/counts/completed"), exchanges);
        assert_eq!(time(report, "/asked/late_s"), late_s);
        // They have kept their leases, of a filling that was done once.
        assert_eq!(count(report, "/starved"), 0);
        assert_eq!(count(report, "/filled/leases"), 200);
        assert_eq!(report["filled"]["took_s"], first["filled"]["took_s"]);
        assert_eq!(count(report, "/duplicates"), 0);
        sums_up(report);
    }
    assert!(count(&second, "/kinds/new/completed") > 100, "{second}");
    assert!(time(&second, "/started_at_s") > time(&first, "/started_at_s") + 0.5);
    assert_eq!(served.end(), (Some(0), String::new()));
}

#[test]
fn what_is_no_load_is_answered_and_does_not_end_it() {
    let mut served = Served::new("", "");
    for (line, name) in [
        (&b"--rate"[..], "--rate"),
        (b"--rate 5 --rate -1", "--rate"),
        (b"--seconds 5", "--rate"),
        (b"--rate 5 --relay 127.0.0.1", "--relay"),
        (b"--nosuch 1", "--nosuch"),
        (b"{\"rate\": 5}", "rate"),
        (b"--rate 5 --seconds \xff", "utf-8"),
    ] {
        let answer = served.answer(line);
        let error = answer["error"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(error.contains(name), "{error}");
    }
    // An empty line is none.
    let report = served.answer(b"\n\n--rate 100 --seconds 0.1");
    assert_eq!(count(&report, "/counts/completed"), 10);
    assert_eq!(served.end().0, Some(0));
}

#[test]
fn replies_to_an_earlier_load_are_counted_apart() {
    let mut served = Served::new("--delay 500", "--grace 0");
    let first = served.answer(b"--rate 200 --seconds 0.5 --late 0.1");
    assert_eq!(count(&first, "/counts/lost"), 100);
    // Larger, so that there has to be room for more.
    let second = served.answer(b"--rate 15000 --seconds 0.7 --late 0.1");
    let earlier = count(&second, "/earlier");
    assert!((50..=100).contains(&earlier), "{second}");
    sums_up(&second);
}

#[test]
fn a_signal_ends_it_with_the_report_of_its_load() {
    let mut served = Served::new("", "--seconds 60");
    let id = served.process.0.id().to_string();
    let responder = served.responder.as_ref().expect("it is there");
    let interrupt = responder.once_it_receives(move || {
        let status = Command::new("kill").args(["-INT", &id]).status();
        assert!(status.expect("kill").success());
    });
    let report = served.answer(b"--rate 100");
    interrupt.join().unwrap();
    assert_eq!(report["ended"], "interrupted");
    // Its input is still open.
    assert_eq!(served.process.0.wait().unwrap().code(), Some(0));
}
