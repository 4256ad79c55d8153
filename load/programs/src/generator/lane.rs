//! A path to the server, and the messages that wait for it.

use std::io;
use std::net::SocketAddr;

use leaseload_net::{Interest, Receiver, Sender, Socket, clock};

use crate::generator::connection::{Connection, Road};
use crate::generator::exchanges::Message;
use crate::generator::fresh::Fresh;
use crate::generator::tally::Tally;

/// Packets sent or received by one system call at the most.
pub const BATCH: usize = 64;
/// Packets that are forgotten before a load begins, at the most.
const MOST_DRAINED: usize = 1 << 20;

/// A path, and the messages that wait for it.
pub struct Lane {
    carrier: Carrier,
    /// The exchanges of the messages that wait, in their order.
    waiting: Vec<(u64, Message)>,
}

enum Carrier {
    Datagrams {
        /// The first one sends; each with the replies that it has dropped since it was opened.
        sockets: Vec<(Socket, u32)>,
        sender: Sender,
        /// Whose answers alone are taken.
        server: Option<SocketAddr>,
        /// Those from elsewhere.
        foreign: u64,
    },
    Connection(Box<Connection>),
    Fresh(Box<Fresh>),
}

impl Lane {
    /// One of sockets: the first sends, and all receive. Where `to` is None, it is in each frame.
    /// If it is strict, what comes from elsewhere is no answer, as to resolvers (RFC 5452, 9.1); a
    /// relay takes it.
    pub fn datagrams(sockets: Vec<Socket>, to: Option<SocketAddr>, is_strict: bool) -> Self {
        Self::new(Carrier::Datagrams {
            sockets: sockets.into_iter().map(|socket| (socket, 0)).collect(),
            sender: Sender::new(BATCH, to.as_slice()),
            server: to.filter(|_| is_strict),
            foreign: 0,
        })
    }

    /// A connection.
    pub fn connected(road: Road) -> Self {
        Self::new(Carrier::Connection(Box::new(Connection::new(road))))
    }

    /// A connection for each message.
    pub fn fresh(road: Road) -> Self {
        Self::new(Carrier::Fresh(Box::new(Fresh::new(road))))
    }

    fn new(carrier: Carrier) -> Self {
        Self { carrier, waiting: Vec::with_capacity(BATCH) }
    }

    /// Add the events to wait for.
    pub fn add_interests(&self, to: &mut Vec<Interest>) {
        match &self.carrier {
            Carrier::Datagrams { sockets, .. } => {
                to.extend(sockets.iter().map(|(socket, _)| Interest::reading(socket)));
            }
            Carrier::Connection(connection) => to.extend(connection.interests()),
            Carrier::Fresh(fresh) => to.extend(fresh.interests()),
        }
    }

    /// Its connection, if it is one.
    pub fn connection(&mut self) -> Option<&mut Connection> {
        match &mut self.carrier {
            Carrier::Datagrams { .. } | Carrier::Fresh(_) => None,
            Carrier::Connection(connection) => Some(connection),
        }
    }

    /// Exchanges whose own connection has ended without an answer since the last call.
    pub fn take_ended(&mut self) -> Vec<u64> {
        match &mut self.carrier {
            Carrier::Fresh(fresh) => fresh.take_ended(),
            _ => Vec::new(),
        }
    }

    /// Whether another message would be one too many.
    pub fn is_full(&self) -> bool {
        self.waiting.len() == BATCH
    }

    /// Add the message of an exchange, which `write` appends.
    pub fn add(&mut self, number: u64, message: Message, write: impl FnOnce(&mut Vec<u8>)) {
        match &mut self.carrier {
            Carrier::Datagrams { sender, .. } => sender.add(0, write),
            Carrier::Connection(connection) => connection.put(write),
            Carrier::Fresh(fresh) => fresh.put(number, write),
        }
        self.waiting.push((number, message));
    }

    /// Send waiting messages; `note` gets the exchange of each, its time (that of the call, shared
    /// out evenly), and whether this host accepted it. Return their number.
    pub fn flush(
        &mut self,
        mut note: impl FnMut(u64, Message, u64, bool),
    ) -> io::Result<usize> {
        let count = self.waiting.len();
        if count == 0 {
            // What the server did not read before may go now.
            self.connection().into_iter().for_each(Connection::flush);
            return Ok(0);
        }
        let before = clock::monotonic();
        let sent = match &mut self.carrier {
            Carrier::Datagrams { sockets, sender, .. } => sender.flush(&sockets[0].0)?,
            Carrier::Connection(connection) => {
                connection.flush();
                count
            }
            Carrier::Fresh(fresh) => {
                fresh.flush();
                count
            }
        };
        let took = clock::monotonic() - before;
        for (place, (number, message)) in self.waiting.drain(..).enumerate() {
            let at = before + took * (2 * place as u64 + 1) / (2 * count as u64);
            note(number, message, at, place < sent);
        }
        Ok(count)
    }

    /// Read received messages, at most one batch of each socket; `take` gets each with the
    /// kernel's time stamp (realtime clock, ns; 0 without one). Return their number.
    pub fn receive(
        &mut self,
        receiver: &mut Receiver,
        mut take: impl FnMut(&[u8], u64),
    ) -> io::Result<usize> {
        let (sockets, server, foreign) = match &mut self.carrier {
            Carrier::Datagrams { sockets, server, foreign, .. } => (sockets, server, foreign),
            Carrier::Connection(connection) => return Ok(connection.receive(take)),
            Carrier::Fresh(fresh) => return fresh.receive(take),
        };
        let mut all = 0;
        for (socket, dropped) in sockets {
            let count = receiver.receive(socket)?;
            for place in 0..count {
                let packet = receiver.packet(place);
                *dropped = packet.dropped.unwrap_or(*dropped);
                let end = |at: SocketAddr| (at.ip(), at.port());
                if server.is_none() || server.map(end) == packet.from.map(end) {
                    take(packet.bytes, packet.received_at);
                } else {
                    *foreign += 1;
                }
            }
            all += count;
        }
        Ok(all)
    }

    /// Discard messages since the last load, and those kept by an error of the network; a
    /// connection does that as it is opened.
    pub fn drain(&mut self, receiver: &mut Receiver) {
        self.waiting.clear();
        match &mut self.carrier {
            Carrier::Datagrams { sender, .. } => sender.clear(),
            Carrier::Connection(_) => return,
            Carrier::Fresh(fresh) => return fresh.forget(),
        }
        for _ in 0..MOST_DRAINED / BATCH {
            // The kernel says an earlier error once; one that lasts ends this load, too.
            if self.receive(receiver, |_, _| ()).is_ok_and(|count| count < BATCH) {
                break;
            }
        }
        if let Carrier::Datagrams { foreign, .. } = &mut self.carrier {
            *foreign = 0;
        }
    }

    /// Replies that its socket has dropped since it was opened.
    pub fn dropped(&self) -> u64 {
        match &self.carrier {
            Carrier::Datagrams { sockets, .. } => {
                sockets.iter().map(|(_, dropped)| u64::from(*dropped)).sum()
            }
            Carrier::Connection(_) | Carrier::Fresh(_) => 0,
        }
    }

    /// Add its counts to a tally.
    pub fn count(&self, tally: &mut Tally) {
        let (counts, error) = match &self.carrier {
            Carrier::Datagrams { foreign, .. } => {
                tally.events.foreign += foreign;
                return;
            }
            Carrier::Connection(connection) => {
                tally.largest_backlog = connection.largest_backlog.max(tally.largest_backlog);
                (&connection.counts, &connection.error)
            }
            Carrier::Fresh(fresh) => (&fresh.counts, &fresh.error),
        };
        tally.connections.combine(counts, std::ops::Add::add);
        let error = error.as_ref().map(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "closed by the server".to_owned(),
            _ => error.to_string(),
        });
        tally.connection_error = error.or(tally.connection_error.take());
    }
}
