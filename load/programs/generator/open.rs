//! The protocol of each thread, and its sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use leaseload_net::{Link, Options, Socket, interface_index, raise_descriptors};
use leaseload_packet::{dhcp4 as v4, dhcp6 as v6};
use leaseload_stream::Client;

use crate::cli::{Asked, Target, Transport};
use crate::connection::{Connection, Road};
use crate::dhcp4::Dhcp4;
use crate::dhcp6::Dhcp6;
use crate::fresh::Fresh;
use crate::lane::{Datagrams, Way};

fn socket(asked: &Asked, options: Options) -> Result<Socket, String> {
    let options = Options { interface: asked.interface.clone(), ..options };
    Socket::open(&options)
        .map_err(|error| format!("{} on {:?}: {error}", options.local, asked.interface))
}

fn way(asked: &Asked, local: SocketAddr, to: SocketAddr) -> Result<Datagrams, String> {
    // A relay may have more than one server to reach.
    let broadcast = to.ip() == Ipv4Addr::BROADCAST;
    let socket = socket(asked, Options { broadcast, ..Options::new(local) })?;
    Ok(Datagrams { socket, beside: None, to: Some(to), is_strict: false })
}

/// The way of a relay: a server may answer a client that only wants options at the address that
/// this client says, which is the relay's, and at a client's port.
fn relayed(asked: &Asked, relay: Ipv4Addr, to: SocketAddr) -> Result<Way, String> {
    let mut way = way(asked, (relay, v4::SERVER_PORT).into(), to)?;
    if asked.serve.is_some() || asked.load.informs() {
        let options = Options::new((relay, v4::CLIENT_PORT).into());
        way.beside = Some(socket(asked, Options { beside_others: true, ..options })?);
    }
    Ok(Way::Datagrams(way))
}

fn link(asked: &Asked, vlans: &[u16], id_byte: u8) -> Result<Socket, String> {
    let link = Link {
        interface: asked.interface.clone(),
        vlans: vlans.to_vec(),
        port: v4::CLIENT_PORT,
        id_byte: Some(id_byte),
    };
    Socket::open_link(&link)
        .map_err(|error| format!("frames of {:?}: {error}", asked.interface))
}

/// The places of a list that are one thread's.
fn shares<T: Clone>(all: &[T], thread: usize, threads: usize) -> Vec<T> {
    all.iter().skip(thread).step_by(threads).cloned().collect()
}

/// A thread of DHCPv4.
///
/// # Errors
/// An error of the kernel for its sockets.
pub fn dhcp4(asked: &Asked, thread: usize) -> Result<(Dhcp4, Vec<Way>), String> {
    let Target::Dhcp4 { server, relays, vlans } = &asked.target else { unreachable!() };
    let relays = shares(relays, thread, asked.threads);
    // Every thread receives the replies to its own transaction ids.
    let id_byte = thread as u8 + 1;
    let ways = match server {
        Some(server) => {
            let to = SocketAddr::from((*server, v4::SERVER_PORT));
            let ways = relays.iter().map(|relay| relayed(asked, *relay, to));
            ways.collect::<Result<_, _>>()?
        }
        None => {
            let socket = link(asked, vlans, id_byte)?;
            vec![Way::Datagrams(Datagrams {
                socket,
                beside: None,
                to: None,
                is_strict: false,
            })]
        }
    };
    let mut agent = Vec::new();
    for (code, value) in [(1, &asked.circuit_id), (2, &asked.remote_id)] {
        if !value.is_empty() {
            v4::put(&mut agent, code, value);
        }
    }
    let protocol = Dhcp4 {
        macs: asked.macs.clone(),
        population: asked.population.clone(),
        relay_agent: vec![agent; relays.len()],
        relays,
        options: asked.options.clone(),
        id_base: u32::from(id_byte) << 24,
        link: server.is_none().then(|| vlans.clone()),
        servers: Vec::new(),
    };
    Ok((protocol, ways))
}

/// A thread of DHCPv6.
///
/// # Errors
/// The same.
pub fn dhcp6(asked: &Asked, thread: usize) -> Result<(Dhcp6, Vec<Way>), String> {
    let Target::Dhcp6 { server, relays, addresses, prefixes } = &asked.target else {
        unreachable!()
    };
    let relays = shares(relays, thread, asked.threads);
    let scope = interface_index(&asked.interface)
        .map_err(|error| format!("--interface {:?}: {error}", asked.interface))?;
    let server = server.unwrap_or(v6::ALL_SERVERS);
    let to = SocketAddrV6::new(server, v6::SERVER_PORT, 0, scope as u32).into();
    let local: Vec<SocketAddr> = if relays.is_empty() {
        vec![(Ipv6Addr::UNSPECIFIED, v6::CLIENT_PORT).into()]
    } else {
        relays.iter().map(|relay| (*relay, v6::SERVER_PORT).into()).collect()
    };
    let ways = local.into_iter().map(|local| way(asked, local, to).map(Way::Datagrams));
    let ways = ways.collect::<Result<_, _>>()?;
    // Of a population some may ask for one and some for the other.
    let differ = asked.population.is_some();
    let protocol = Dhcp6 {
        macs: asked.macs.clone(),
        population: asked.population.clone(),
        addresses: *addresses || differ,
        prefixes: *prefixes || differ,
        interface_id: vec![asked.circuit_id.clone(); relays.len()],
        relays,
        options: asked.options.clone(),
        id_base: (thread as u32) << 20,
        servers: Vec::new(),
    };
    Ok((protocol, ways))
}

/// The ways of a thread of DNS.
///
/// # Errors
/// The same.
pub fn dns(asked: &Asked) -> Result<Vec<Way>, String> {
    let Target::Dns { server, port, transport, trusted, tls_name, sockets, fresh, .. } =
        &asked.target
    else {
        unreachable!()
    };
    let to = SocketAddr::from((*server, *port));
    if *transport != Transport::Udp {
        let tls = transport
            .has_tls()
            .then(|| Client::new(*server, trusted.as_deref(), tls_name.as_deref()));
        let tls = tls.transpose().map_err(|why| format!("TLS: {why}"))?;
        let tls = match transport {
            Transport::Https => tls.map(|tls| tls.with_https(*port)),
            _ => tls,
        };
        let road = Road { to, interface: asked.interface.clone(), tls };
        let way = || match fresh {
            true => Way::Fresh(Box::new(Fresh::new(road.clone()))),
            false => Way::Connection(Box::new(Connection::new(road.clone()))),
        };
        if *fresh {
            raise_descriptors().map_err(|error| format!("open files: {error}"))?;
        }
        return Ok((0..*sockets).map(|_| way()).collect());
    }
    let any: IpAddr = match server {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let way = |_| {
        let way = way(asked, (any, 0).into(), to)?;
        Ok(Way::Datagrams(Datagrams { is_strict: true, ..way }))
    };
    (0..*sockets).map(way).collect()
}
