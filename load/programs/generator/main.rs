//! `leaseload`: offers a load to a DHCP or DNS server, and reports its outcome.

mod book;
mod cli;
mod clients;
mod connection;
mod dhcp4;
mod dhcp6;
mod dns;
mod endings;
mod engine;
mod exchanges;
mod fresh;
mod generator;
mod lane;
mod lease_clock;
mod load;
mod open;
mod population;
mod protocol;
mod random;
mod recorded;
mod report;
mod ring;
mod schedule;
mod serve;
mod subnets;
mod tally;
mod tsig;
mod wheel;
mod words;

use leaseload_net::thread;

use crate::cli::{Asked, Target};
use crate::generator::Generator;
use crate::lane::Way;
use crate::protocol::Protocol;

/// Exit codes.
const DONE: i32 = 0;
const NOT_OFFERED: i32 = 1;
const WRONG: i32 = 2;

fn main() {
    let asked = match cli::read(std::env::args_os().skip(1)) {
        Ok(Some(asked)) => asked,
        Ok(None) => return,
        Err(wrong) => ended(WRONG, &wrong),
    };
    thread::stop_on_signals();
    let offered = match &asked.target {
        Target::Dhcp4 { .. } => offer(&asked, |thread| open::dhcp4(&asked, thread)),
        Target::Dhcp6 { .. } => offer(&asked, |thread| open::dhcp6(&asked, thread)),
        Target::Dns {
            queries, recursion, edns, expected, subnets, subnet_share, key, ..
        } => match dns::Dns::open(queries, *recursion, *edns) {
            Ok(mut protocol) => {
                protocol.expected.clone_from(expected);
                protocol.subnets.clone_from(subnets);
                protocol.subnet_share = *subnet_share;
                protocol.key.clone_from(key);
                offer(&asked, |_| Ok((protocol.clone(), open::dns(&asked)?)))
            }
            Err(wrong) => ended(WRONG, &format!("--queries: {wrong}")),
        },
    };
    if let Err(why) = offered {
        ended(NOT_OFFERED, &why);
    }
}

/// End at once.
fn ended(code: i32, why: &str) -> ! {
    if code != DONE {
        eprintln!("leaseload: {why}");
    }
    std::process::exit(code)
}

fn offer<P: Protocol>(
    asked: &Asked,
    of_thread: impl Fn(usize) -> Result<(P, Vec<Way>), String>,
) -> Result<(), String> {
    let mut generator = Generator::open(asked, of_thread)?;
    if asked.fill {
        generator.fill(&asked.load)?;
    }
    match &asked.serve {
        Some(words) => serve::serve(asked, words, &mut generator)?,
        None => {
            let outcome = generator.offer(&asked.load)?;
            println!("{}", report::document(asked, &asked.load, &outcome));
        }
    }
    // What it holds is not given back piece by piece: the process ends.
    ended(DONE, "")
}
