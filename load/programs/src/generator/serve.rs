//! Loads that come line by line on standard input, each answered by a line of JSON.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leaseload_net::thread;
use serde_json::{Value, json};

use crate::generator::cli::Asked;
use crate::generator::engine::Gate;
use crate::generator::load::Load;
use crate::generator::protocol::Protocol;
use crate::generator::report;
use crate::generator::threads::Generator;
use crate::words::{Words, Wrong};

/// How soon a signal is seen while no line comes.
const SIGNAL_SEEN: Duration = Duration::from_millis(50);

/// Lines of standard input, which loads and their messages wait for.
pub struct Lines {
    to: Sender<Vec<u8>>,
    from: Arc<Mutex<Receiver<Vec<u8>>>>,
}

/// What came.
enum Came {
    Line(Vec<u8>),
    /// No line comes any more.
    End,
    Signal,
}

impl Lines {
    /// None are read yet.
    pub fn new() -> Self {
        let (to, from) = channel();
        Self { to, from: Arc::new(Mutex::new(from)) }
    }

    /// Read them from now on.
    fn read(&self) {
        let to = self.to.clone();
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            loop {
                let mut line = Vec::new();
                let is_over = !matches!(input.read_until(b'\n', &mut line), Ok(1..));
                // An empty one is the end.
                if to.send(line).is_err() || is_over {
                    break;
                }
            }
        });
    }

    /// What messages in lock step wait for: it prints that one would leave, and lets it go by the
    /// next line.
    pub fn gate(&self) -> Gate {
        let from = Arc::clone(&self.from);
        Arc::new(move || {
            writeln!(io::stdout(), "{}", json!({ "step": true }))?;
            match next(&from) {
                Came::Line(_) => Ok(true),
                Came::Signal => Ok(false),
                Came::End => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        })
    }
}

/// Wait for the next line.
fn next(lines: &Mutex<Receiver<Vec<u8>>>) -> Came {
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if thread::is_stopped() {
            return Came::Signal;
        }
        match lines.recv_timeout(SIGNAL_SEEN) {
            Ok(line) if line.is_empty() => return Came::End,
            Ok(line) => return Came::Line(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Came::End,
        }
    }
}

/// Offer one load after the other, until there are no more lines or a signal has come.
pub fn serve<P: Protocol>(
    asked: &Asked,
    words: &Words,
    lines: &Lines,
    generator: &mut Generator<P>,
) -> Result<(), String> {
    lines.read();
    while let Came::Line(line) = next(&lines.from) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = offered(asked, words, generator, &line)
            .unwrap_or_else(|wrong| json!({ "error": wrong }));
        writeln!(io::stdout(), "{answer}").map_err(|error| format!("report: {error}"))?;
    }
    Ok(())
}

fn offered<P: Protocol>(
    asked: &Asked,
    words: &Words,
    generator: &mut Generator<P>,
    line: &[u8],
) -> Result<Value, Wrong> {
    let line = std::str::from_utf8(line).map_err(|error| format!("{error}"))?;
    let load = Load::read(&words.with(line)?)?;
    Ok(report::document(asked, &load, &generator.offer(&load)?))
}
