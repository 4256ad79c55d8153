//! Loads that come line by line on standard input, each answered by a line of JSON.

use std::io::{BufRead, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use leaseload_net::thread;
use serde_json::{Value, json};

use crate::generator::cli::Asked;
use crate::generator::load::Load;
use crate::generator::protocol::Protocol;
use crate::generator::report;
use crate::generator::threads::Generator;
use crate::words::{Words, Wrong};

/// How soon a signal is seen while no line comes.
const SIGNAL_SEEN: Duration = Duration::from_millis(50);

/// Offer one load after the other, until there are no more lines or a signal has come.
pub fn serve<P: Protocol>(
    asked: &Asked,
    words: &Words,
    generator: &mut Generator<P>,
) -> Result<(), String> {
    let (to, lines) = channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.read_until(b'\n', &mut line) {
                Ok(1..) if to.send(line).is_ok() => {}
                _ => break,
            }
        }
    });
    while !thread::is_stopped() {
        let line = match lines.recv_timeout(SIGNAL_SEEN) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = offered(asked, words, generator, &line)
            .unwrap_or_else(|wrong| json!({ "error": wrong }));
        writeln!(std::io::stdout(), "{answer}").map_err(|error| format!("report: {error}"))?;
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
