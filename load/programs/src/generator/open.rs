//! The protocol of each thread, and its sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use leaseload_net::{Link, Options, Socket, interface_index, raise_descriptors};
use leaseload_packet::{dhcp4 as v4, dhcp6 as v6};
use leaseload_stream::Client;

use crate::generator::cli::{Asked, Dhcp4Target, Dhcp6Target, DnsTarget, Transport};
use crate::generator::clients::Want;
use crate::generator::connection::Road;
use crate::generator::dhcp4::Dhcp4;
use crate::generator::dhcp6::Dhcp6;
use crate::generator::lane::Lane;

fn socket(asked: &Asked, options: Options) -> Result<Socket, String> {
    let options = Options { interface: asked.interface.clone(), ..options };
    Socket::open(&options)
        .map_err(|error| format!("{} on {:?}: {error}", options.local, asked.interface))
}

fn lane(asked: &Asked, local: SocketAddr, to: SocketAddr) -> Result<Lane, String> {
    let socket = socket(asked, Options::new(local))?;
    Ok(Lane::datagrams(vec![socket], Some(to), false))
}

/// The lane of a relay: a server may answer a client that only wants options at the address that
/// this client says, which is the relay's, and at a client's port.
fn relayed(asked: &Asked, relay: Ipv4Addr, to: SocketAddr) -> Result<Lane, String> {
    let options = Options::new((relay, v4::SERVER_PORT).into());
    // A relay may have more than one server to reach.
    let broadcast = to.ip() == Ipv4Addr::BROADCAST;
    let mut sockets = vec![socket(asked, Options { broadcast, ..options })?];
    if asked.serve.is_some() || asked.load.informs() {
        let options = Options::new((relay, v4::CLIENT_PORT).into());
        sockets.push(socket(asked, Options { beside_others: true, ..options })?);
    }
    Ok(Lane::datagrams(sockets, Some(to), false))
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
pub fn dhcp4(
    asked: &Asked,
    target: &Dhcp4Target,
    thread: usize,
) -> Result<(Dhcp4, Vec<Lane>), String> {
    let Dhcp4Target { server, relays, vlans } = target;
    let relays = shares(relays, thread, asked.threads);
    // Every thread receives the replies to its own transaction ids.
    let id_byte = thread as u8 + 1;
    let lanes = match server {
        Some(server) => {
            let to = SocketAddr::from((*server, v4::SERVER_PORT));
            let lanes = relays.iter().map(|relay| relayed(asked, *relay, to));
            lanes.collect::<Result<_, _>>()?
        }
        None => vec![Lane::datagrams(vec![link(asked, vlans, id_byte)?], None, false)],
    };
    let mut agent = Vec::new();
    for (code, value) in [(1, &asked.circuit_id), (2, &asked.remote_id)] {
        if !value.is_empty() {
            v4::put(&mut agent, code, value);
        }
    }
    let protocol = Dhcp4 {
        crowd: asked.crowd.clone(),
        relay_agent: vec![agent; relays.len()],
        relays,
        id_base: u32::from(id_byte) << 24,
        link: server.is_none().then(|| vlans.clone()),
        servers: Vec::new(),
    };
    Ok((protocol, lanes))
}

/// A thread of DHCPv6.
pub fn dhcp6(
    asked: &Asked,
    Dhcp6Target { server, relays, want }: &Dhcp6Target,
    thread: usize,
) -> Result<(Dhcp6, Vec<Lane>), String> {
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
    let lanes = local.into_iter().map(|local| lane(asked, local, to));
    let lanes = lanes.collect::<Result<_, _>>()?;
    let protocol = Dhcp6 {
        crowd: asked.crowd.clone(),
        // Of a population some may ask for one and some for the other.
        want: if asked.crowd.population.is_some() { Want::Both } else { *want },
        interface_id: vec![asked.circuit_id.clone(); relays.len()],
        relays,
        id_base: (thread as u32) << 20,
        servers: Vec::new(),
    };
    Ok((protocol, lanes))
}

/// The lanes of a thread of DNS.
pub fn dns(asked: &Asked, target: &DnsTarget) -> Result<Vec<Lane>, String> {
    let DnsTarget { server, port, transport, trusted, tls_name, sockets, fresh, .. } = target;
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
        if *fresh {
            raise_descriptors().map_err(|error| format!("open files: {error}"))?;
        }
        let lane = if *fresh { Lane::fresh } else { Lane::connected };
        return Ok((0..*sockets).map(|_| lane(road.clone())).collect());
    }
    let any: IpAddr = match server {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let lane = |_| {
        let socket = socket(asked, Options::new((any, 0).into()))?;
        Ok(Lane::datagrams(vec![socket], Some(to), true))
    };
    (0..*sockets).map(lane).collect()
}
