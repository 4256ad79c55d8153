//! The command line, read and checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use leaseload_packet::dns::{self, Edns};
use leaseload_packet::{dhcp4, dhcp6};

use crate::clients::{Mac, Macs, Template, read_mac};
use crate::load::Load;
use crate::population::Population;
use crate::subnets;
use crate::tsig::Key;
use crate::words::{Wish, Words, Wrong};

/// Output of `--help`.
pub const HELP: &str = include_str!("help.txt");
/// The first client of perfdhcp, so that the same clients come by default.
pub const FIRST_MAC: u64 = 0x000c_0102_0304;
/// As many as there can be.
pub const MOST_CLIENTS: u64 = 1 << 32;

/// Transport of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// Connections.
    Tcp,
    /// Connections with TLS.
    Dot,
    /// Connections with TLS and HTTP.
    Https,
}

impl Transport {
    const ALL: [Self; 4] = [Self::Udp, Self::Tcp, Self::Dot, Self::Https];

    /// The usual port of servers.
    fn port(self) -> u16 {
        match self {
            Self::Udp | Self::Tcp => dns::SERVER_PORT,
            Self::Dot => dns::TLS_PORT,
            Self::Https => dns::HTTPS_PORT,
        }
    }

    /// Whether its connections have TLS.
    #[must_use]
    pub fn has_tls(self) -> bool {
        matches!(self, Self::Dot | Self::Https)
    }

    /// Its word on the command line and in the report.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Dot => "dot",
            Self::Https => "https",
        }
    }
}

/// The protocol and its parameters.
#[derive(Clone, Debug)]
pub enum Target {
    /// Clients behind relays, or on the link.
    Dhcp4 {
        /// The server; by broadcast where there is none.
        server: Option<Ipv4Addr>,
        /// Their relays: addresses of this host.
        relays: Vec<Ipv4Addr>,
        /// Tags of VLANs of clients on the link, the outermost first.
        vlans: Vec<u16>,
    },
    /// Clients on the link, or behind relays.
    Dhcp6 {
        /// The server; by multicast where there is none.
        server: Option<Ipv6Addr>,
        /// Their relays: addresses of this host.
        relays: Vec<Ipv6Addr>,
        /// They request an address.
        addresses: bool,
        /// They request a prefix.
        prefixes: bool,
    },
    /// Queries.
    Dns {
        /// The server.
        server: IpAddr,
        /// Its port.
        port: u16,
        /// Their transport.
        transport: Transport,
        /// Certificates that are trusted; any where there is no file.
        trusted: Option<PathBuf>,
        /// The name in its certificate; its address where there is none.
        tls_name: Option<String>,
        /// The query file.
        queries: PathBuf,
        /// RCODEs that are expected.
        expected: Vec<u8>,
        /// They have the RD bit.
        recursion: bool,
        /// They have EDNS.
        edns: Option<Edns>,
        /// Sockets or connections of a thread, each with 65 536 ids.
        sockets: usize,
        /// Each query has a connection of its own.
        fresh: bool,
        /// Networks that queries name, encoded.
        subnets: Vec<Vec<u8>>,
        /// Share of the queries that name one.
        subnet_share: f64,
        /// What updates are signed with.
        key: Option<Key>,
    },
}

/// All options of the command line.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Where to.
    pub target: Target,
    /// The interface; any for DNS where it is empty.
    pub interface: String,
    /// Clients that come back in turn; all are new where there is none.
    pub clients: Option<u64>,
    /// Each client has a lease before the load begins.
    pub fill: bool,
    /// Who clients are.
    pub macs: Macs,
    /// Kinds of clients; all are alike where there is none.
    pub population: Option<Arc<Population>>,
    /// Options of every message.
    pub options: Template,
    /// Circuit id (DHCPv4) or interface id (DHCPv6).
    pub circuit_id: Vec<u8>,
    /// Remote id (DHCPv4).
    pub remote_id: Vec<u8>,
    /// Threads, each with a socket of its own.
    pub threads: usize,
    /// Processors of the threads; any where it is empty.
    pub processors: Vec<usize>,
    /// The load; if loads come line by line, the options of all of them.
    pub load: Load,
    /// Loads come line by line, after these options.
    pub serve: Option<Words>,
}

/// Read a command line without the program's name; None if help or version was requested
/// and printed.
///
/// # Errors
/// An error in it.
pub fn read(
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<Option<Asked>, Wrong> {
    match Words::read(arguments)? {
        (_, Wish::Help) => print!("{HELP}"),
        (_, Wish::Version) => println!("leaseload {}", env!("CARGO_PKG_VERSION")),
        (words, Wish::Go) => return asked(&words).map(Some),
    }
    Ok(None)
}

fn asked(words: &Words) -> Result<Asked, Wrong> {
    let target = target(words)?;
    let macs = macs(words)?;
    let population = population(words)?.map(Arc::new);
    let listed = match (&population, &macs) {
        (Some(population), _) => Some(population.size()),
        (None, Macs::Listed(macs)) => Some(macs.len() as u64),
        (None, Macs::From(_)) => None,
    };
    let clients = match words.last("clients") {
        None => listed,
        Some(_) => Some(words.whole("clients", 1, 1, listed.unwrap_or(MOST_CLIENTS))?),
    };
    let fill = words.flag("fill");
    if fill && clients.is_none() {
        return Err("--fill: how many clients? add --clients".into());
    }
    let threads = words.whole("threads", 1, 1, 16)? as usize;
    let lanes = match &target {
        Target::Dhcp4 { server: None, .. } => threads,
        Target::Dhcp4 { relays, .. } => relays.len(),
        Target::Dhcp6 { relays, .. } => relays.len().max(1),
        Target::Dns { .. } => threads,
    };
    if lanes < threads {
        return Err(format!(
            "--threads: found {threads}, expected at most {lanes}: each thread needs a relay"
        ));
    }
    if clients.is_some_and(|clients| clients < threads as u64) {
        return Err("--clients: fewer than threads".into());
    }
    let serve = words.flag("serve").then(|| words.clone());
    if serve.is_some()
        && ["rate", "steps", "counts", "at-once"].iter().any(|name| words.flag(name))
    {
        return Err("--serve: found a load, expected it on standard input".into());
    }
    // Any rate will do where each load brings its own.
    let load =
        Load::read(&if serve.is_some() { words.with("--rate 1")? } else { words.clone() })?;
    Ok(Asked {
        target,
        interface: words.last("interface").unwrap_or_default().to_owned(),
        clients,
        fill,
        macs,
        population,
        options: options(words)?,
        circuit_id: words.last("circuit-id").unwrap_or_default().into(),
        remote_id: words.last("remote-id").unwrap_or_default().into(),
        threads,
        processors: processors(words)?,
        load,
        serve,
    })
}

fn target(words: &Words) -> Result<Target, Wrong> {
    if words.protocol == "dns" {
        return queries(words);
    }
    if words.last("interface").is_none() {
        return Err("expected --interface".into());
    }
    if words.protocol == "dhcp4" {
        let what = "an IPv4 address";
        let relays = words.addresses("relay", what)?;
        let server = words.addresses("server", what)?.pop();
        if relays.is_empty() != server.is_none() {
            return Err(
                "expected --server and --relay, or neither: clients broadcast then".into()
            );
        }
        let vlans = vlans(words)?;
        if !(vlans.is_empty() || relays.is_empty()) {
            return Err("--vlan: does not go with --relay".into());
        }
        let is_of_relay = |name: &&str| words.flag(name) && relays.is_empty();
        if let Some(name) = ["circuit-id", "remote-id"].iter().find(|name| is_of_relay(name)) {
            return Err(format!("--{name}: needs --relay"));
        }
        return Ok(Target::Dhcp4 { server, relays, vlans });
    }
    let what = "an IPv6 address";
    let relays: Vec<Ipv6Addr> = words.addresses("relay", what)?;
    let server = words.addresses("server", what)?.pop();
    if server.is_none() && !relays.is_empty() {
        return Err("--relay: a relay needs --server".into());
    }
    let (addresses, prefixes) = match words.last("want").unwrap_or("address") {
        "address" => (true, false),
        "prefix" => (false, true),
        "both" => (true, true),
        word => {
            return Err(format!("--want: found {word:?}, expected address, prefix or both"));
        }
    };
    Ok(Target::Dhcp6 { server, relays, addresses, prefixes })
}

fn vlans(words: &Words) -> Result<Vec<u16>, Wrong> {
    let Some(list) = words.last("vlan") else { return Ok(Vec::new()) };
    let read = |word: &str| word.parse().ok().filter(|number| (1..=4094).contains(number));
    let vlans: Option<Vec<u16>> = list.split(',').map(read).collect();
    vlans
        .filter(|vlans| vlans.len() <= 2)
        .ok_or_else(|| format!("--vlan: found {list:?}, expected N or N,N, from 1 to 4094"))
}

fn queries(words: &Words) -> Result<Target, Wrong> {
    let server = words.addresses("server", "an address")?.pop();
    let queries = words.last("queries").ok_or("expected --queries")?;
    let expected = words.last("expect").unwrap_or("NOERROR").split(',').map(|word| {
        let rcodes = (0..16).find(|&rcode| dns::rcode_word(rcode) == word);
        rcodes.ok_or_else(|| format!("--expect: found {word:?}, expected RCODEs: NOERROR,…"))
    });
    let size = words.whole("edns", 0, 0, 65_535)? as u16;
    let dnssec = words.flag("dnssec");
    if dnssec && size == 0 {
        return Err("--dnssec: needs --edns".into());
    }
    let transport = transport(words)?;
    let subnets = words.last("subnets").map_or(Ok(Vec::new()), subnets::read)?;
    if !subnets.is_empty() && size == 0 {
        return Err("--subnets: needs --edns".into());
    }
    let fresh = words.flag("fresh");
    if fresh && transport == Transport::Udp {
        return Err("--fresh: needs --transport tcp, dot or https".into());
    }
    Ok(Target::Dns {
        server: server.ok_or("expected --server")?,
        port: words.whole("port", transport.port().into(), 1, 65_535)? as u16,
        transport,
        trusted: words.last("ca").map(Into::into),
        tls_name: words.last("tls-name").map(Into::into),
        queries: queries.into(),
        expected: expected.collect::<Result<_, _>>()?,
        recursion: words.flag("recursion"),
        edns: (size > 0).then_some(Edns { size, dnssec }),
        sockets: words.whole("sockets", 4, 1, 64)? as usize,
        fresh,
        subnets,
        subnet_share: words.number("subnet-share", 1.0, 0.0, 1.0)?,
        key: words.last("tsig").map(Key::read).transpose()?,
    })
}

fn transport(words: &Words) -> Result<Transport, Wrong> {
    let word = words.last("transport").unwrap_or(Transport::Udp.word());
    let known = Transport::ALL.into_iter().find(|transport| transport.word() == word);
    let transport = known.ok_or_else(|| {
        format!("--transport: found {word:?}, expected udp, tcp, dot or https")
    })?;
    let of_tls = ["ca", "tls-name"].into_iter().find(|name| words.flag(name));
    match of_tls {
        Some(name) if !transport.has_tls() => {
            Err(format!("--{name}: needs --transport dot or https"))
        }
        _ => Ok(transport),
    }
}

fn macs(words: &Words) -> Result<Macs, Wrong> {
    if let Some(path) = words.last("macs") {
        return listed(Path::new(path)).map(Macs::Listed);
    }
    let Some(word) = words.last("first-mac") else { return Ok(Macs::From(FIRST_MAC)) };
    let mac = read_mac(word)
        .ok_or_else(|| format!("--first-mac: found {word:?}, expected aa:bb:cc:dd:ee:ff"))?;
    let [a, b, c, d, e, f] = mac;
    Ok(Macs::From(u64::from_be_bytes([0, 0, a, b, c, d, e, f])))
}

fn population(words: &Words) -> Result<Option<Population>, Wrong> {
    let Some(path) = words.last("population") else { return Ok(None) };
    let apart = ["first-mac", "macs", "option", "circuit-id", "remote-id", "want", "vlan"];
    if let Some(name) = apart.into_iter().find(|name| words.flag(name)) {
        return Err(format!("--population: does not go with --{name}"));
    }
    let is_v6 = words.protocol == "dhcp6";
    let put = if is_v6 { dhcp6::put } else { put4 };
    let population = Population::open(Path::new(path), put, put, is_v6);
    population.map(Some).map_err(|wrong| format!("--population: {wrong}"))
}

fn options(words: &Words) -> Result<Template, Wrong> {
    let is_v6 = words.protocol == "dhcp6";
    let mut template = Template::new(if is_v6 { dhcp6::put } else { put4 });
    for word in words.all("option") {
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

fn processors(words: &Words) -> Result<Vec<usize>, Wrong> {
    let Some(list) = words.last("processors") else { return Ok(Vec::new()) };
    let usable = leaseload_net::thread::processors();
    list.split(',')
        .map(|word| {
            let number = word.parse().ok().filter(|number| usable.contains(number));
            number.ok_or_else(|| {
                format!("--processors: found {word:?}, expected some of {usable:?}")
            })
        })
        .collect()
}

/// Codes of DHCPv4 were checked to be below 255.
fn put4(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    dhcp4::put(out, code as u8, value);
}

/// The bytes of hexadecimal digits; None for other text.
#[must_use]
pub fn bytes_of(hex: &str) -> Option<Vec<u8>> {
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
            format!(
                "--macs: {name}:{}: found {word:?}, expected a hardware address",
                number + 1
            )
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
    use leaseload_net::clock::SECOND;

    use super::*;
    use crate::protocol::Kind;
    use crate::schedule::Step;

    fn asked(words: &str) -> Result<Asked, Wrong> {
        read(words.split_whitespace().map(Into::into)).map(Option::unwrap)
    }

    const V4: &str = "dhcp4 --interface lo --server 127.0.0.1 --relay 127.0.0.2 --rate 100";

    #[test]
    fn a_command_line_is_read() {
        let asked =
            asked(&format!("{V4} --seconds 2.5 --mix new=1,renew=3 --clients 10 --late 0.5"))
                .unwrap();
        assert_eq!(asked.load.steps, [Step { rate: 100.0, seconds: 2.5 }]);
        assert_eq!(asked.load.mix, [(0.25, Kind::New), (1.0, Kind::Renew)]);
        assert_eq!((asked.load.late, asked.load.grace), (SECOND / 2, 2 * SECOND));
        assert_eq!(asked.macs.of(1), [0, 0x0c, 1, 2, 3, 5]);
    }

    const DNS: &str = "dns --server 127.0.0.1 --queries f --rate 1";

    #[test]
    fn queries_go_to_the_port_of_their_transport() {
        for (words, expected) in [
            ("", (Transport::Udp, 53)),
            ("--transport tcp", (Transport::Tcp, 53)),
            ("--transport dot --ca f --tls-name a", (Transport::Dot, 853)),
            ("--transport dot --port 5", (Transport::Dot, 5)),
        ] {
            let Target::Dns { transport, port, .. } =
                asked(&format!("{DNS} {words}")).unwrap().target
            else {
                panic!("no queries")
            };
            assert_eq!((transport, port), expected, "{words}");
        }
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
            ("dhcp4 --interface lo --counts 1,,2", "--counts: found \"\""),
            ("dhcp4 --interface lo --counts 4000000000", "--counts"),
            (&format!("{V4} --counts 1,2"), "--counts"),
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
            (&format!("{V4} --serve"), "--serve"),
            (&format!("{V4} --lease-clock"), "--clients"),
            (&format!("{V4} --lease-clock --clients 5 --mix renew=1"), "renew"),
            (&format!("{V4} --lease-clock --clients 5 --goal 0.1"), "--goal"),
            ("dhcp4 --interface lo --lease-clock --clients 5", "--fill"),
            (&format!("{V4} --vlan 7"), "--vlan"),
            ("dhcp4 --interface lo --rate 1 --vlan 7,8,9", "--vlan"),
            ("dhcp4 --interface lo --rate 1 --vlan 4095", "--vlan"),
            ("dhcp4 --interface lo --rate 1 --server 127.0.0.1", "--relay"),
            ("dhcp4 --interface lo --rate 1 --circuit-id a", "--circuit-id"),
            (&format!("{V4} --transport tcp"), "--transport"),
            (&format!("{DNS} --transport sctp"), "--transport"),
            (&format!("{DNS} --transport tcp --ca f"), "--ca"),
            (&format!("{DNS} --tls-name a"), "--tls-name"),
            (&format!("{DNS} --transport dot --retransmit"), "--retransmit"),
        ] {
            let error = asked(words).expect_err(words);
            assert!(error.contains(name), "{words}: {error}");
        }
    }
}
