//! What clients saw of their leases: a line for each message that may give or end one, and its
//! answer.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::generator::clients::Lease;
use crate::generator::protocol::{Dhcp, Protocol};
use crate::generator::ring::{Exchange, State};

/// Lines that wait to be written together (bytes).
const WAITING: usize = 1 << 16;
/// In place of what is not known.
const NONE: &str = "-";

/// The lines of one thread. They are written to standard output as they come, so that a load
/// of any length takes the same memory.
#[derive(Debug, Default)]
pub struct History {
    /// Whether it is kept.
    pub is_kept: bool,
    epoch: u64,
    lines: String,
    /// Why it could not be written.
    failed: Option<std::io::Error>,
}

/// The end of an exchange.
#[derive(Clone, Copy, Debug)]
pub enum Ended {
    /// Its last answer came at a time, with the lease that it gave.
    Answered(u64, Option<Lease>),
    Refused(u64),
    /// No answer came, or there is none to it.
    Silent,
}

/// What is said of a message and its answer. Times are monotonic (ns).
struct Line<'a> {
    word: &'static str,
    asked: Lease,
    given: Lease,
    sent: u64,
    answered: Option<u64>,
    resent: Option<u64>,
    client: &'a str,
    server: &'a str,
}

impl History {
    /// Not kept, unless that is set; its times begin at `epoch` (monotonic, ns).
    pub fn new(epoch: u64) -> Self {
        Self { epoch, ..Self::default() }
    }

    /// An exchange of a protocol ends.
    pub fn note<P: Protocol>(
        &mut self,
        protocol: &P,
        exchange: &Exchange<P::Kind>,
        ended: Ended,
    ) {
        let Some(action) = exchange.kind.into().dhcp().filter(|_| self.is_kept) else {
            return;
        };
        let asked = exchange.lease;
        let client = protocol.client_name(exchange.client);
        let offered_by = protocol.server_name(asked.server);
        let is_second = exchange.state == State::Second;
        let resent = (exchange.again > 0).then_some(exchange.again);
        let line = Line {
            word: "granted",
            asked,
            given: asked,
            sent: if is_second { exchange.asked } else { exchange.began },
            answered: None,
            resent,
            client: &client,
            server: &offered_by,
        };
        if is_second {
            let (sent, answered) = (exchange.began, Some(exchange.asked));
            let none = Lease::default();
            self.add(&Line {
                word: "offered",
                asked: none,
                sent,
                answered,
                resent: None,
                ..line
            });
        }
        let (answered, given) = match ended {
            Ended::Answered(at, given) => (Some(at), given.filter(|given| given.valid_s > 0)),
            Ended::Refused(at) => (Some(at), None),
            Ended::Silent => (None, None),
        };
        match (action, given) {
            // A client without an offer has asked for nothing; and what only an answer tells.
            (Dhcp::New, _) if !is_second => {}
            (Dhcp::Renew | Dhcp::Rebind | Dhcp::Reboot | Dhcp::Inform, _)
                if answered.is_none() => {}
            (Dhcp::Inform, _) => {}
            // A confirmation of DHCPv6 says nothing of the lease.
            (Dhcp::Reboot, None) if asked.address > u128::from(u32::MAX) => {}
            (Dhcp::Release, _) => self.add(&Line { word: "released", answered, ..line }),
            (Dhcp::Decline, _) => self.add(&Line { word: "declined", answered, ..line }),
            (Dhcp::New | Dhcp::Rapid, Some(given)) => {
                let server = &protocol.server_name(given.server);
                self.add(&Line { given, answered, server, ..line });
            }
            (Dhcp::New | Dhcp::Rapid, None) if answered.is_none() || resent.is_some() => {
                self.add(&line); // it may be granted: of what was refused another copy
            }
            (Dhcp::New | Dhcp::Rapid, None) => {}
            (_, Some(given)) => {
                let server = &protocol.server_name(given.server);
                self.add(&Line { word: "renewed", given, answered, server, ..line });
            }
            (_, None) => self.add(&Line {
                word: "refused",
                given: Lease::default(),
                answered,
                server: "",
                ..line
            }),
        }
    }

    /// A line for the address, and one for the prefix.
    fn add(&mut self, line: &Line<'_>) {
        let of = |lease: &Lease, is_prefix: bool| match (is_prefix, lease) {
            (false, Lease { address: 0, .. }) | (true, Lease { prefix: 0, .. }) => NONE.into(),
            (true, lease) => {
                format!("{}/{}", Ipv6Addr::from(lease.prefix), lease.prefix_length)
            }
            (false, lease) => match u32::try_from(lease.address) {
                Ok(address) => Ipv4Addr::from(address).to_string(),
                Err(_) => Ipv6Addr::from(lease.address).to_string(),
            },
        };
        let time = |at: u64| (at.saturating_sub(self.epoch) / 1000).to_string();
        let maybe = |at: Option<u64>| at.map_or(NONE.into(), time);
        let has_prefix = line.given.prefix | line.asked.prefix != 0;
        for is_prefix in [false, true] {
            let (given, asked) = (of(&line.given, is_prefix), of(&line.asked, is_prefix));
            // Of what names neither it is not known whether it was an address.
            if given == NONE && asked == NONE && (is_prefix || has_prefix) {
                continue;
            }
            let Line { word, client, server, .. } = line;
            let server = if server.is_empty() { NONE } else { server };
            let (sent, answered, resent) =
                (time(line.sent), maybe(line.answered), maybe(line.resent));
            let valid_s = line.given.valid_s;
            writeln!(
                self.lines,
                "{word} {client} {given} {asked} {sent} {answered} {resent} {valid_s} {server}"
            )
            .expect("a string takes all");
        }
        if self.lines.len() > WAITING {
            self.write();
        }
    }

    fn write(&mut self) {
        let written = std::io::stdout().lock().write_all(self.lines.as_bytes());
        self.lines.clear();
        self.failed = self.failed.take().or(written.err());
    }

    /// Write what waits; the error is that of any line.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.write();
        self.failed.take().map_or(Ok(()), Err)
    }
}
