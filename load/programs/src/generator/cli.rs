//! The command line, read and checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use leaseload_packet::dns::{self, Edns};

use serde::{Deserialize, Serialize};

use crate::generator::clients::{
    Encoding, FIRST_MAC, MOST_CLIENTS, Mac, Macs, OptionValue, Template, Want, read_mac,
};
use crate::generator::load::Load;
use crate::generator::options::TABLE;
use crate::generator::population::{Crowd, Population};
use crate::generator::subnets;
use crate::generator::tsig::Key;
use crate::words::{Words, Wrong};

/// Transport of queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Datagrams.
    #[default]
    Udp,
    /// Connections.
    Tcp,
    /// Connections with TLS.
    Dot,
    /// Connections with TLS and HTTP.
    Https,
}

impl Transport {
    /// The usual port of servers.
    fn port(self) -> u16 {
        match self {
            Self::Udp | Self::Tcp => dns::SERVER_PORT,
            Self::Dot => dns::TLS_PORT,
            Self::Https => dns::HTTPS_PORT,
        }
    }

    /// Whether its connections have TLS.
    pub fn has_tls(self) -> bool {
        matches!(self, Self::Dot | Self::Https)
    }
}

/// The protocol and its parameters.
#[derive(Clone, Debug)]
pub enum Target {
    /// Clients behind relays, or on the link.
    Dhcp4(Dhcp4Target),
    /// Clients on the link, or behind relays.
    Dhcp6(Dhcp6Target),
    Dns(DnsTarget),
}

/// A server of DHCPv4.
#[derive(Clone, Debug)]
pub struct Dhcp4Target {
    /// The server; by broadcast where there is none.
    pub server: Option<Ipv4Addr>,
    /// Relays of clients: addresses of this host.
    pub relays: Vec<Ipv4Addr>,
    /// Tags of VLANs of clients on the link, the outermost first.
    pub vlans: Vec<u16>,
}

/// A server of DHCPv6.
#[derive(Clone, Debug)]
pub struct Dhcp6Target {
    /// The server; by multicast where there is none.
    pub server: Option<Ipv6Addr>,
    /// Relays of clients: addresses of this host.
    pub relays: Vec<Ipv6Addr>,
    pub want: Want,
}

/// A server of DNS, and what it is asked.
#[derive(Clone, Debug)]
pub struct DnsTarget {
    pub server: IpAddr,
    pub port: u16,
    pub transport: Transport,
    /// Certificates that are trusted; any where there is no file.
    pub trusted: Option<PathBuf>,
    /// The name in its certificate; its address where there is none.
    pub tls_name: Option<String>,
    pub queries: PathBuf,
    pub expected: Vec<u8>,
    /// Queries have the RD bit.
    pub recursion: bool,
    pub edns: Option<Edns>,
    /// Sockets or connections of a thread, each with 65 536 ids.
    pub sockets: usize,
    /// Each query has a connection of its own.
    pub fresh: bool,
    /// Networks that queries name, encoded.
    pub subnets: Vec<Vec<u8>>,
    /// Share of the queries that name one.
    pub subnet_share: f64,
    /// What updates are signed with.
    pub key: Option<Key>,
}

/// All options of the command line.
#[derive(Clone, Debug)]
pub struct Asked {
    pub target: Target,
    /// The interface; any for DNS where it is empty.
    pub interface: String,
    /// Clients that come back in turn; all are new where there is none.
    pub clients: Option<u64>,
    /// Each client has a lease before the load begins.
    pub fill: bool,
    pub crowd: Crowd,
    /// Circuit id (DHCPv4) or interface id (DHCPv6).
    pub circuit_id: Vec<u8>,
    pub remote_id: Vec<u8>,
    /// Threads, each with a socket of its own.
    pub threads: usize,
    /// Processors of the threads; any where it is empty.
    pub processors: Vec<usize>,
    /// The load; if loads come line by line, the options of all of them.
    pub load: Load,
    /// Loads come line by line, after these options.
    pub serve: Option<Words>,
    /// What clients saw of their leases is printed before the report.
    pub history: bool,
}

/// Read a command line without the program's name; None if what it requested was printed.
pub fn read(
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<Option<Asked>, Wrong> {
    Words::read(&TABLE, arguments)?.map(|words| asked(&words)).transpose()
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
        Some(_) => Some(words.number("clients", 1, 1, listed.unwrap_or(MOST_CLIENTS))?),
    };
    let fill = words.flag("fill");
    if fill && clients.is_none() {
        return Err("--fill: how many clients? add --clients".into());
    }
    let threads = words.number("threads", 1, 1, 16)?;
    let lanes = match &target {
        Target::Dhcp4(Dhcp4Target { server: None, .. }) | Target::Dns(_) => threads,
        Target::Dhcp4(target) => target.relays.len(),
        Target::Dhcp6(target) => target.relays.len().max(1),
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
        && ["rate", "steps", "counts", "at-once", "window"].iter().any(|name| words.flag(name))
    {
        return Err("--serve: found a load, expected it on standard input".into());
    }
    let history = words.flag("history");
    if history && serve.is_some() {
        return Err(
            "--history: does not go with --serve, which prints a line for each load".into()
        );
    }
    // Any will do where each load brings its own.
    let load =
        Load::read(&if serve.is_some() { words.with("--rate 1")? } else { words.clone() })?;
    Ok(Asked {
        target,
        interface: words.last("interface").unwrap_or_default().to_owned(),
        clients,
        fill,
        crowd: Crowd { macs, population, options: options(words)? },
        circuit_id: words.last("circuit-id").unwrap_or_default().into(),
        remote_id: words.last("remote-id").unwrap_or_default().into(),
        threads,
        processors: processors(words)?,
        load,
        serve,
        history,
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
        return Ok(Target::Dhcp4(Dhcp4Target { server, relays, vlans }));
    }
    let what = "an IPv6 address";
    let relays: Vec<Ipv6Addr> = words.addresses("relay", what)?;
    let server = words.addresses("server", what)?.pop();
    if server.is_none() && !relays.is_empty() {
        return Err("--relay: a relay needs --server".into());
    }
    let want = words.choice("want")?;
    Ok(Target::Dhcp6(Dhcp6Target { server, relays, want }))
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
    let size = words.number("edns", 0, 0, u16::MAX)?;
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
    Ok(Target::Dns(DnsTarget {
        server: server.ok_or("expected --server")?,
        port: words.number("port", transport.port(), 1, u16::MAX)?,
        transport,
        trusted: words.last("ca").map(Into::into),
        tls_name: words.last("tls-name").map(Into::into),
        queries: queries.into(),
        expected: expected.collect::<Result<_, _>>()?,
        recursion: words.flag("recursion"),
        edns: (size > 0).then_some(Edns { size, dnssec }),
        sockets: words.number("sockets", 4, 1, 64)?,
        fresh,
        subnets,
        subnet_share: words.number("subnet-share", 1.0, 0.0, 1.0)?,
        key: words.last("tsig").map(Key::read).transpose()?,
    }))
}

fn transport(words: &Words) -> Result<Transport, Wrong> {
    let transport: Transport = words.choice("transport")?;
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
    read_mac(word)
        .map(Macs::after)
        .ok_or_else(|| format!("--first-mac: found {word:?}, expected aa:bb:cc:dd:ee:ff"))
}

/// How the protocol of the clients encodes options.
fn encoding(words: &Words) -> Encoding {
    if words.protocol == "dhcp6" { Encoding::DHCP6 } else { Encoding::DHCP4 }
}

fn population(words: &Words) -> Result<Option<Population>, Wrong> {
    let Some(path) = words.last("population") else { return Ok(None) };
    let apart = ["first-mac", "macs", "option", "circuit-id", "remote-id", "want", "vlan"];
    if let Some(name) = apart.into_iter().find(|name| words.flag(name)) {
        return Err(format!("--population: does not go with --{name}"));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("--population: {path}: cannot be read: {error}"))?;
    let population = Population::read(&text, encoding(words));
    population.map(Some).map_err(|wrong| format!("--population: {path}: {wrong}"))
}

fn options(words: &Words) -> Result<Template, Wrong> {
    let mut template = Template::new(encoding(words));
    for word in words.all("option") {
        let wrong = || format!("--option: found {word:?}, expected CODE=text:… or CODE=hex:…");
        let (code, value) = word.split_once('=').ok_or_else(wrong)?;
        let code = code.parse().map_err(|_| wrong())?;
        let value = OptionValue::try_from(value.to_owned()).map_err(|_| wrong())?;
        template.add(code, &value).map_err(|wrong| format!("--option {code}: {wrong}"))?;
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
    use crate::generator::protocol::Dhcp;
    use crate::generator::schedule::Step;

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
        assert_eq!(asked.load.mix, [(0.25, Dhcp::New), (1.0, Dhcp::Renew)]);
        assert_eq!((asked.load.late, asked.load.grace), (SECOND / 2, 2 * SECOND));
        assert_eq!(asked.crowd.mac(1), [0, 0x0c, 1, 2, 3, 5]);
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
            match asked(&format!("{DNS} {words}")).unwrap().target {
                Target::Dns(target) => assert_eq!((target.transport, target.port), expected),
                other => panic!("{other:?}"),
            }
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
            ("dhcp4 --interface lo --serve --history", "--history"),
            (&format!("{DNS} --history"), "--history"),
            ("dhcp4 --interface lo --serve --window 1 --transactions 1", "--serve"),
            ("dhcp4 --interface lo --serve --transactions 1", "--transactions"),
            ("dhcp4 --interface lo --window 1 --transactions 1 --step", "--serve"),
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
