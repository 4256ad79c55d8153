//! The generator: offers a load to a DHCP or DNS server, and reports its outcome.

mod book;
mod cli;
pub mod clients;
mod connection;
mod dhcp4;
mod dhcp6;
pub mod dns;
mod endings;
mod engine;
mod exchanges;
mod fresh;
mod history;
mod lane;
mod lease_clock;
mod load;
mod open;
pub(crate) mod options;
pub mod population;
mod protocol;
mod recorded;
mod report;
mod ring;
mod schedule;
mod serve;
mod subnets;
mod tally;
mod threads;
mod tsig;
mod wheel;
mod window;

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use leaseload_net::thread;

use crate::generator::cli::{Asked, Target};
use crate::generator::lane::Lane;
use crate::generator::protocol::Protocol;
use crate::generator::threads::Generator;

/// Exit codes.
const DONE: i32 = 0;
const NOT_OFFERED: i32 = 1;
const WRONG: i32 = 2;

/// Do what a command line without the program's name requests; return the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let asked = match cli::read(arguments) {
        Ok(Some(asked)) => asked,
        Ok(None) => return DONE,
        Err(wrong) => return ended(WRONG, &wrong),
    };
    thread::stop_on_signals();
    let offered = match &asked.target {
        Target::Dhcp4(target) => offer(&asked, |thread| open::dhcp4(&asked, target, thread)),
        Target::Dhcp6(target) => offer(&asked, |thread| open::dhcp6(&asked, target, thread)),
        Target::Dns(target) => match dns::Dns::open(target) {
            Ok(protocol) => {
                offer(&asked, |_| Ok((protocol.clone(), open::dns(&asked, target)?)))
            }
            Err(wrong) => return ended(WRONG, &format!("--queries: {wrong}")),
        },
    };
    offered.map_or_else(|why| ended(NOT_OFFERED, &why), |()| DONE)
}

fn ended(code: i32, why: &str) -> i32 {
    eprintln!("leaseload: {why}");
    code
}

fn offer<P: Protocol>(
    asked: &Asked,
    of_thread: impl Fn(usize) -> Result<(P, Vec<Lane>), String>,
) -> Result<(), String> {
    // What it holds is not given back piece by piece: the process ends.
    let lines = serve::Lines::new();
    let mut generator = ManuallyDrop::new(Generator::open(asked, of_thread, &lines.gate())?);
    if asked.fill {
        generator.fill(&asked.load)?;
    }
    if let Some(words) = &asked.serve {
        return serve::serve(asked, words, &lines, &mut generator);
    }
    let outcome = generator.offer(&asked.load)?;
    println!("{}", report::document(asked, &asked.load, &outcome));
    Ok(())
}
