//! The command line, read and checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use leaseload_net::clock::SECOND;
use leaseload_packet::dns::Edns;
use leaseload_packet::{dhcp4, dhcp6};
use lexopt::prelude::*;

use crate::clients::{Mac, Macs, Template, read_mac};
use crate::protocol::Kind;
use crate::schedule::{Arrivals, Step};

/// What `--help` prints.
pub const HELP: &str = include_str!("help.txt");
/// The first client of perfdhcp, so that the same clients come by default.
const FIRST_MAC: u64 = 0x000c_0102_0304;
const LARGEST_RATE: f64 = 1e8;
const LONGEST_S: f64 = 7.0 * 86_400.0;
const MOST_CLIENTS: u64 = 1 << 32;

/// A command line that cannot be followed: what is wrong, and what is wanted.
pub type Wrong = String;

/// Which protocol, and what it needs.
#[derive(Clone, Debug)]
pub enum Target {
    /// Clients behind relays.
    Dhcp4 {
        /// The server.
        server: Ipv4Addr,
        /// Their relays: addresses of this host.
        relays: Vec<Ipv4Addr>,
    },
    /// Clients on the link, or behind relays.
    Dhcp6 {
        /// The server; by multicast where there is none.
        server: Option<Ipv6Addr>,
        /// Their relays: addresses of this host.
        relays: Vec<Ipv6Addr>,
        /// They ask for an address.
        addresses: bool,
        /// They ask for a prefix.
        prefixes: bool,
    },
    /// Queries.
    Dns {
        /// The server.
        server: IpAddr,
        /// Its port.
        port: u16,
        /// The query file.
        queries: PathBuf,
        /// RCODEs that are expected.
        expected: Vec<u8>,
        /// They have the RD bit.
        recursion: bool,
        /// They have EDNS.
        edns: Option<Edns>,
        /// Sockets of a thread, each with 65 536 ids.
        sockets: usize,
    },
}

/// Everything that was asked for.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub struct Asked {
    /// Where to.
    pub target: Target,
    /// The interface; any for DNS where it is empty.
    pub interface: String,
    /// Rates, one after the other.
    pub steps: Vec<Step>,
    /// How exchanges follow each other.
    pub arrivals: Arrivals,
    /// Clients that come back in turn; all are new where there is none.
    pub clients: Option<u64>,
    /// Each client has a lease before the load begins.
    pub fill: bool,
    /// Who clients are.
    pub macs: Macs,
    /// What clients want, by their weights.
    pub mix: Vec<(f64, Kind)>,
    /// Options of every message.
    pub options: Template,
    /// Circuit id (DHCPv4) or interface id (DHCPv6), and remote id.
    pub circuit_id: Vec<u8>,
    /// Remote id (DHCPv4).
    pub remote_id: Vec<u8>,
    /// What takes longer is late (ns).
    pub late: u64,
    /// For how long late replies are waited for, after that (ns).
    pub grace: u64,
    /// Share of the exchanges that may fail before the load is ended; 1 to go on anyway.
    pub goal: f64,
    /// Send again what is not answered.
    pub again: bool,
    /// Threads, each with a socket of its own.
    pub threads: usize,
    /// Processors of the threads; any where it is empty.
    pub processors: Vec<usize>,
    /// What is due within this time is sent together (ns).
    pub tick: u64,
    /// Never sleep.
    pub spin: bool,
    /// Of random numbers.
    pub seed: u64,
    /// A load has fallen behind where more than 1 % was sent later than this (ns).
    pub lag: u64,
    /// Completed exchanges are counted by times of this length, too (ns); 0 for none.
    pub bin: u64,
}

/// Read a command line without the program's name; None where help or version was asked for
/// and printed.
///
/// # Errors
/// What is wrong with it.
pub fn read(
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<Option<Asked>, Wrong> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut words = Words::default();
    while let Some(argument) = parser.next().map_err(said)? {
        match argument {
            Short('h') | Long("help") => {
                print!("{HELP}");
                return Ok(None);
            }
            Short('V') | Long("version") => {
                println!("leaseload {}", env!("CARGO_PKG_VERSION"));
                return Ok(None);
            }
            Value(word) if words.protocol.is_empty() => words.protocol = text(word)?,
            Value(word) => return Err(format!("{:?}: unexpected argument", text(word)?)),
            Long(name) => {
                let name = name.to_owned();
                words.take(&name, &mut parser)?;
            }
            Short(_) => return Err(said(argument.unexpected())),
        }
    }
    words.asked().map(Some)
}

#[allow(clippy::needless_pass_by_value)]
fn said(error: lexopt::Error) -> Wrong {
    error.to_string()
}

fn text(word: std::ffi::OsString) -> Result<String, Wrong> {
    word.into_string().map_err(|word| format!("{word:?}: not UTF-8"))
}

/// Options as they were given.
#[derive(Default)]
struct Words {
    protocol: String,
    given: Vec<(String, String)>,
}

/// Options of all protocols, and those of each.
const COMMON: [&str; 14] = [
    "rate",
    "seconds",
    "steps",
    "arrivals",
    "late",
    "grace",
    "goal",
    "threads",
    "processors",
    "tick",
    "seed",
    "lag",
    "bin",
    "interface",
];
const DHCP: [&str; 10] = [
    "at-once",
    "clients",
    "first-mac",
    "macs",
    "mix",
    "option",
    "circuit-id",
    "remote-id",
    "relay",
    "server",
];
const DHCP6: [&str; 1] = ["want"];
const DNS: [&str; 6] = ["server", "port", "queries", "expect", "edns", "sockets"];
const FLAGS: [&str; 5] = ["spin", "fill", "retransmit", "recursion", "dnssec"];

impl Words {
    fn take(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<(), Wrong> {
        if FLAGS.contains(&name) {
            self.given.push((name.to_owned(), String::new()));
            return Ok(());
        }
        if ![&COMMON[..], &DHCP, &DHCP6, &DNS].iter().any(|names| names.contains(&name)) {
            return Err(format!("--{name}: no such option; see leaseload --help"));
        }
        let value = text(parser.value().map_err(said)?)?;
        self.given.push((name.to_owned(), value));
        Ok(())
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.given.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    fn last<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).last()
    }

    fn flag(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// A number within bounds, or the default.
    fn number(&self, name: &str, default: f64, least: f64, most: f64) -> Result<f64, Wrong> {
        let Some(word) = self.last(name) else { return Ok(default) };
        match f64::from_str(word) {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(format!("--{name}: found {word:?}, expected a number from {least} to {most}")),
        }
    }

    fn whole(&self, name: &str, default: u64, least: u64, most: u64) -> Result<u64, Wrong> {
        let Some(word) = self.last(name) else { return Ok(default) };
        match u64::from_str(word) {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(format!(
                "--{name}: found {word:?}, expected a whole number from {least} to {most}"
            )),
        }
    }

    fn seconds(&self, name: &str, default: f64) -> Result<u64, Wrong> {
        self.number(name, default, 0.0, LONGEST_S).map(|s| (s * SECOND as f64) as u64)
    }

    fn addresses<T: FromStr>(&self, name: &str, what: &str) -> Result<Vec<T>, Wrong> {
        let read = |word: &str| {
            T::from_str(word).map_err(|_| format!("--{name}: found {word:?}, expected {what}"))
        };
        self.all(name).map(read).collect()
    }

    fn asked(&self) -> Result<Asked, Wrong> {
        let own: &[&[&str]] = match self.protocol.as_str() {
            "dhcp4" => &[&COMMON, &DHCP, &["spin", "fill", "retransmit"]],
            "dhcp6" => &[&COMMON, &DHCP, &DHCP6, &["spin", "fill", "retransmit"]],
            "dns" => &[&COMMON, &DNS, &["spin", "retransmit", "recursion", "dnssec"]],
            "" => return Err("no protocol; expected dhcp4, dhcp6 or dns".into()),
            other => return Err(format!("{other:?}: expected dhcp4, dhcp6 or dns")),
        };
        let is_own = |name: &str| own.iter().any(|names| names.contains(&name));
        if let Some((name, _)) = self.given.iter().find(|(name, _)| !is_own(name)) {
            return Err(format!("--{name}: does not go with {}", self.protocol));
        }
        let (steps, arrivals) = self.load()?;
        let target = self.target()?;
        let macs = self.macs()?;
        let listed = if let Macs::Listed(macs) = &macs { Some(macs.len() as u64) } else { None };
        let clients = match self.last("clients") {
            None => listed,
            Some(_) => Some(self.whole("clients", 1, 1, listed.unwrap_or(MOST_CLIENTS))?),
        };
        let fill = self.flag("fill");
        if fill && clients.is_none() {
            return Err("--fill: how many clients? add --clients".into());
        }
        let threads = self.whole("threads", 1, 1, 16)? as usize;
        let lanes = match &target {
            Target::Dhcp4 { relays, .. } => relays.len(),
            Target::Dhcp6 { relays, .. } => relays.len().max(1),
            Target::Dns { .. } => threads,
        };
        if lanes < threads {
            return Err(format!(
                "--threads: found {threads}, expected at most {lanes}: each thread needs a relay"
            ));
        }
        let mix = self.mix()?;
        if clients.is_some_and(|clients| clients < threads as u64) {
            return Err("--clients: fewer than threads".into());
        }
        Ok(Asked {
            target,
            interface: self.last("interface").unwrap_or_default().to_owned(),
            steps,
            arrivals,
            clients,
            fill,
            macs,
            mix,
            options: self.options()?,
            circuit_id: self.last("circuit-id").unwrap_or_default().into(),
            remote_id: self.last("remote-id").unwrap_or_default().into(),
            late: self.seconds("late", 2.0)?,
            grace: self.seconds("grace", 2.0)?,
            goal: self.number("goal", 1.0, 0.0, 1.0)?,
            again: self.flag("retransmit"),
            threads,
            processors: self.processors()?,
            tick: self.number("tick", 50.0, 0.0, 1e6).map(|us| (us * 1e3) as u64)?,
            spin: self.flag("spin"),
            seed: self.whole("seed", 1, 0, u64::MAX)?,
            lag: self.seconds("lag", 0.01)?,
            bin: self.number("bin", 0.0, 0.0001, LONGEST_S).map(|s| (s * SECOND as f64) as u64)?,
        })
    }

    fn load(&self) -> Result<(Vec<Step>, Arrivals), Wrong> {
        let seconds = self.number("seconds", 5.0, 0.001, LONGEST_S)?;
        let given = ["rate", "steps", "at-once"].map(|name| self.last(name));
        if given.iter().flatten().count() != 1 {
            return Err("expected one of --rate, --steps and --at-once".into());
        }
        if given[2].is_some() {
            let count = self.whole("at-once", 1, 1, 1 << 24)?;
            if !self.flag("retransmit") || self.last("arrivals").is_some() {
                return Err("--at-once: needs --retransmit, and has no --arrivals".into());
            }
            // All are due at the beginning of their only burst; then the time goes on.
            let burst = Step { rate: count as f64 * 1e3, seconds: 1e-3 };
            let rest = Step { rate: 0.0, seconds };
            return Ok((vec![burst, rest], Arrivals::Bursts(count)));
        }
        let steps = match given[1] {
            None => vec![Step { rate: self.number("rate", 0.0, 0.001, LARGEST_RATE)?, seconds }],
            Some(_) if self.last("seconds").is_some() => {
                return Err("--seconds: does not go with --steps".into());
            }
            Some(words) => words.split(',').map(step).collect::<Result<_, _>>()?,
        };
        let arrivals = match self.last("arrivals").unwrap_or("even") {
            "even" => Arrivals::Even,
            "poisson" => Arrivals::Poisson,
            word => match word.strip_prefix("bursts:").and_then(|size| size.parse().ok()) {
                Some(size @ 1..=1_000_000) => Arrivals::Bursts(size),
                _ => {
                    return Err(format!(
                        "--arrivals: found {word:?}, expected even, poisson or bursts:SIZE"
                    ));
                }
            },
        };
        Ok((steps, arrivals))
    }

    fn target(&self) -> Result<Target, Wrong> {
        if self.protocol == "dns" {
            return self.dns();
        }
        if self.last("interface").is_none() {
            return Err("expected --interface".into());
        }
        if self.protocol == "dhcp4" {
            let what = "an IPv4 address";
            let relays = self.addresses("relay", what)?;
            let server = self.addresses("server", what)?.pop();
            let server = server.ok_or("expected --server")?;
            if relays.is_empty() {
                return Err("expected --relay, an address of this host".into());
            }
            return Ok(Target::Dhcp4 { server, relays });
        }
        let what = "an IPv6 address";
        let relays: Vec<Ipv6Addr> = self.addresses("relay", what)?;
        let server = self.addresses("server", what)?.pop();
        if server.is_none() && !relays.is_empty() {
            return Err("--relay: a relay needs --server".into());
        }
        let (addresses, prefixes) = match self.last("want").unwrap_or("address") {
            "address" => (true, false),
            "prefix" => (false, true),
            "both" => (true, true),
            word => {
                return Err(format!("--want: found {word:?}, expected address, prefix or both"));
            }
        };
        Ok(Target::Dhcp6 { server, relays, addresses, prefixes })
    }

    fn dns(&self) -> Result<Target, Wrong> {
        let server = self.addresses("server", "an address")?.pop();
        let queries = self.last("queries").ok_or("expected --queries")?;
        let expected = self.last("expect").unwrap_or("NOERROR").split(',').map(|word| {
            let rcodes = (0..16).find(|&rcode| leaseload_packet::dns::rcode_word(rcode) == word);
            rcodes.ok_or_else(|| format!("--expect: found {word:?}, expected RCODEs: NOERROR,…"))
        });
        let size = self.whole("edns", 0, 0, 65_535)? as u16;
        let dnssec = self.flag("dnssec");
        if dnssec && size == 0 {
            return Err("--dnssec: needs --edns".into());
        }
        Ok(Target::Dns {
            server: server.ok_or("expected --server")?,
            port: self.whole("port", 53, 1, 65_535)? as u16,
            queries: queries.into(),
            expected: expected.collect::<Result<_, _>>()?,
            recursion: self.flag("recursion"),
            edns: (size > 0).then_some(Edns { size, dnssec }),
            sockets: self.whole("sockets", 4, 1, 64)? as usize,
        })
    }

    fn macs(&self) -> Result<Macs, Wrong> {
        if let Some(path) = self.last("macs") {
            return listed(Path::new(path)).map(Macs::Listed);
        }
        let Some(word) = self.last("first-mac") else { return Ok(Macs::From(FIRST_MAC)) };
        let mac = read_mac(word)
            .ok_or_else(|| format!("--first-mac: found {word:?}, expected aa:bb:cc:dd:ee:ff"))?;
        let [a, b, c, d, e, f] = mac;
        Ok(Macs::From(u64::from_be_bytes([0, 0, a, b, c, d, e, f])))
    }

    /// Kinds with the upper bounds of their shares.
    fn mix(&self) -> Result<Vec<(f64, Kind)>, Wrong> {
        let words = self.last("mix").unwrap_or("new=1");
        let wrong = || {
            let kinds = Kind::WORDS.map(|(word, _)| word).join(", ");
            format!("--mix: found {words:?}, expected KIND=WEIGHT,… with kinds {kinds}")
        };
        let mut mix = Vec::new();
        let mut sum = 0.0;
        for part in words.split(',') {
            let (word, weight) = part.split_once('=').ok_or_else(wrong)?;
            let kind = Kind::WORDS.iter().find(|(known, _)| *known == word).ok_or_else(wrong)?.1;
            let weight: f64 = weight.parse().map_err(|_| wrong())?;
            if !(weight > 0.0 && weight <= 1e9) {
                return Err(wrong());
            }
            sum += weight;
            mix.push((sum, kind));
        }
        mix.iter_mut().for_each(|(up_to, _)| *up_to /= sum);
        Ok(mix)
    }

    fn options(&self) -> Result<Template, Wrong> {
        let is_v6 = self.protocol == "dhcp6";
        let mut template = Template::new(if is_v6 { dhcp6::put } else { put4 });
        for word in self.all("option") {
            let wrong = || format!("--option: found {word:?}, expected CODE=text:… or CODE=hex:…");
            let (code, value) = word.split_once('=').ok_or_else(wrong)?;
            let most = if is_v6 { 65_535 } else { 254 };
            let code = code.parse::<u16>().ok().filter(|code| (1..=most).contains(code));
            let code = code.ok_or_else(wrong)?;
            let (value, is_text) = if let Some(text) = value.strip_prefix("text:") {
                (text.as_bytes().to_vec(), true)
            } else if let Some(hex) = value.strip_prefix("hex:") {
                (bytes_of(hex).ok_or_else(wrong)?, false)
            } else {
                return Err(wrong());
            };
            // Room for the longest number of a client.
            if value.len() > if is_v6 { 1024 } else { 240 } {
                return Err(format!("--option {code}: found {} bytes, too many", value.len()));
            }
            template.add(code, &value, is_text);
        }
        Ok(template)
    }

    fn processors(&self) -> Result<Vec<usize>, Wrong> {
        let Some(words) = self.last("processors") else { return Ok(Vec::new()) };
        let usable = leaseload_net::thread::processors();
        words
            .split(',')
            .map(|word| {
                let number = word.parse().ok().filter(|number| usable.contains(number));
                number.ok_or_else(|| {
                    format!("--processors: found {word:?}, expected some of {usable:?}")
                })
            })
            .collect()
    }
}

fn step(words: &str) -> Result<Step, Wrong> {
    let read = |word: &str, most: f64| {
        word.parse().ok().filter(|number: &f64| (0.0..=most).contains(number))
    };
    words
        .split_once('x')
        .and_then(|(rate, seconds)| {
            let seconds = read(seconds, LONGEST_S).filter(|seconds| *seconds > 0.0)?;
            Some(Step { rate: read(rate, LARGEST_RATE)?, seconds })
        })
        .ok_or_else(|| format!("--steps: found {words:?}, expected RATExSECONDS,…"))
}

/// Codes of DHCPv4 were checked to be below 255.
fn put4(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    dhcp4::put(out, code as u8, value);
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    if !hex.is_ascii() || digits.len() % 2 != 0 {
        return None;
    }
    let pair = |place: usize| u8::from_str_radix(&hex[place..place + 2], 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

fn listed(path: &Path) -> Result<Vec<Mac>, Wrong> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("--macs: {name}: cannot be read: {error}"))?;
    let mut macs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let word = line.split(['#', ';']).next().unwrap_or_default().trim();
        if word.is_empty() {
            continue;
        }
        let mac = read_mac(word).ok_or_else(|| {
            format!("--macs: {name}:{}: found {word:?}, expected a hardware address", number + 1)
        })?;
        macs.push(mac);
    }
    if macs.is_empty() {
        return Err(format!("--macs: {name}: no hardware address in it"));
    }
    Ok(macs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Result<Asked, Wrong> {
        read(words.split_whitespace().map(Into::into)).map(Option::unwrap)
    }

    const V4: &str = "dhcp4 --interface lo --server 127.0.0.1 --relay 127.0.0.2 --rate 100";

    #[test]
    fn a_command_line_is_read() {
        let asked =
            asked(&format!("{V4} --seconds 2.5 --mix new=1,renew=3 --clients 10 --late 0.5"))
                .unwrap();
        assert_eq!(asked.steps, [Step { rate: 100.0, seconds: 2.5 }]);
        assert_eq!(asked.mix, [(0.25, Kind::New), (1.0, Kind::Renew)]);
        assert_eq!((asked.late, asked.grace), (SECOND / 2, 2 * SECOND));
        assert_eq!(asked.macs.of(1), [0, 0x0c, 1, 2, 3, 5]);
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        for (words, name) in [
            ("", "protocol"),
            ("dhcp5", "dhcp5"),
            ("dns --server 127.0.0.1 --rate 1", "--queries"),
            ("dhcp4 --interface lo --server ::1 --relay 127.0.0.2 --rate 1", "--server"),
            ("dhcp6 --interface lo --relay ::1 --rate 1", "--relay"),
            (&format!("{V4} --steps 1x1"), "--steps"),
            (&format!("{V4} --seconds nan"), "--seconds"),
            (&format!("{V4} --seconds 1e400"), "--seconds"),
            (&format!("{V4} --late -1"), "--late"),
            (&format!("{V4} --clients 99999999999999999999"), "--clients"),
            (&format!("{V4} --fill"), "--fill"),
            (&format!("{V4} --threads 2"), "--threads"),
            (&format!("{V4} --mix new=0"), "--mix"),
            (&format!("{V4} --option 300=text:a"), "--option"),
            (&format!("{V4} --option 60=hex:0"), "--option"),
            (&format!("{V4} --queries f"), "--queries"),
            (&format!("{V4} --processors 4096"), "--processors"),
            (&format!("{V4} --nosuch 1"), "--nosuch"),
        ] {
            let error = asked(words).expect_err(words);
            assert!(error.contains(name), "{words}: {error}");
        }
    }
}
