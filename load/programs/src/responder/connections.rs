//! Connections that clients have opened: over TCP, TLS and HTTPS.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use leaseload_net::{Interest, Listener};
use leaseload_stream::{Channel, Server};

use crate::responder::cli::Asked;

/// Connections at once; more wait to be accepted.
const MOST: usize = 512;
/// Bytes that a client leaves unread from which on nothing more is read of it.
const MOST_UNREAD: usize = 1 << 16;

/// Where clients connect, and their transport.
struct Door {
    listener: Listener,
    tls: Option<Server>,
}

struct Peer {
    channel: Channel,
    from: SocketAddr,
    answers: u64,
}

impl Peer {
    /// Whether it has to read before anything more is read of it.
    fn is_held_up(&self) -> bool {
        self.channel.unread() > MOST_UNREAD
    }
}

/// All of them.
#[derive(Default)]
pub struct Connections {
    doors: Vec<Door>,
    open: BTreeMap<u64, Peer>,
    close_after: Option<u64>,
    /// Those that were accepted since the start.
    pub accepted: u64,
}

impl Connections {
    /// Listen if requested.
    pub fn open(asked: &Asked) -> Result<Self, String> {
        let Some(streams) = &asked.streams else { return Ok(Self::default()) };
        let door = |port, tls| {
            let at = SocketAddr::new(asked.listen.ip(), port);
            let listener = Listener::open(at, &asked.interface)
                .map_err(|error| format!("{at}, TCP: {error}"))?;
            Ok::<_, String>(Door { listener, tls })
        };
        let mut doors = vec![door(asked.listen.port(), None)?];
        if streams.tls_port.or(streams.https_port).is_some() {
            let server = Server::new(asked.listen.ip())?;
            if let Some(path) = &streams.certificate {
                std::fs::write(path, server.certificate())
                    .map_err(|error| format!("--certificate: {}: {error}", path.display()))?;
            }
            if let Some(port) = streams.https_port {
                doors.push(door(port, Some(server.with_https(streams.http_status)))?);
            }
            if let Some(port) = streams.tls_port {
                doors.push(door(port, Some(server))?);
            }
        }
        Ok(Self { doors, close_after: streams.close_after, ..Self::default() })
    }

    /// The event to wait for.
    pub fn interests(&self) -> impl Iterator<Item = Interest> {
        let has_room = self.open.len() < MOST;
        let doors = self.doors.iter().filter(move |_| has_room);
        let doors = doors.map(|door| Interest::reading(&door.listener));
        let peers = self.open.values().map(|peer| {
            let interest = peer.channel.interest();
            Interest { reads: interest.reads && !peer.is_held_up(), ..interest }
        });
        doors.chain(peers)
    }

    /// Accept who waits.
    pub fn accept(&mut self) -> io::Result<()> {
        for door in &self.doors {
            while self.open.len() < MOST {
                let Some((stream, from)) = door.listener.accept()? else { break };
                let session = door.tls.as_ref().map(Server::session).transpose();
                let session = session.map_err(io::Error::other)?;
                let http = door.tls.as_ref().and_then(Server::http);
                let channel = Channel::new(stream, session, http);
                self.open.insert(self.accepted, Peer { channel, from, answers: 0 });
                self.accepted += 1;
            }
        }
        Ok(())
    }

    /// Receive available data; `take` gets the number of its connection, who sent it, the
    /// message and its time (realtime clock, ns). Return how many messages that were.
    pub fn receive(&mut self, mut take: impl FnMut(u64, SocketAddr, &[u8], u64)) -> usize {
        let mut all = 0;
        self.open.retain(|&number, peer| {
            if peer.is_held_up() {
                return true;
            }
            let from = peer.from;
            let received = peer.channel.receive(|bytes, at| take(number, from, bytes, at));
            all += received.as_ref().map_or(0, |count| *count);
            received.is_ok()
        });
        all
    }

    /// Answer through a connection, with the next `flush`; return whether it took the answer.
    pub fn answer(&mut self, number: u64, bytes: &[u8]) -> bool {
        let Some(peer) = self.open.get_mut(&number) else { return false };
        peer.answers += 1;
        peer.channel.put(|out| out.extend(bytes))
    }

    /// Send waiting data; close connections that have had their number of answers.
    pub fn flush(&mut self) {
        let close_after = self.close_after.unwrap_or(u64::MAX);
        self.open.retain(|_, peer| {
            let is_over = peer.channel.flush().is_err();
            !(is_over || peer.answers >= close_after && peer.channel.backlog() == 0)
        });
    }
}

#[cfg(test)]
mod tests {
    use leaseload_net::Stream;

    use super::*;
    use crate::responder::cli;

    #[test]
    fn of_a_client_that_does_not_read_nothing_more_is_read() {
        let words = ["dns", "--listen", "127.0.77.1", "--port", "20053"];
        let asked = cli::read(words.map(Into::into)).unwrap().unwrap();
        let mut connections = Connections::open(&asked).unwrap();
        let mut client = Channel::new(Stream::connect(asked.listen, "").unwrap(), None, None);
        let (mut taken, mut most) = (0, 0);
        for _ in 0..20_000 {
            while client.put(|out| out.extend([0; 12])) {
                taken += 1;
            }
            client.flush().unwrap();
            connections.accept().unwrap();
            let mut asked = Vec::new();
            connections.receive(|number, _, _, _| asked.push(number));
            asked.iter().for_each(|&number| assert!(connections.answer(number, &[0; 100])));
            connections.flush();
            let backlogs = connections.open.values().map(|peer| peer.channel.backlog());
            most = backlogs.fold(most, usize::max);
            if connections.open.values().any(Peer::is_held_up) {
                let interests: Vec<_> = connections.interests().collect();
                assert!(!interests[1].reads && interests[1].writes);
            }
        }
        // What one call reads is answered, and no more of what it sends is taken.
        assert!((MOST_UNREAD..MOST_UNREAD + 200_000).contains(&most), "{most}");
        assert!(taken < 2_000_000, "{taken}");
    }
}
