//! A connection to a name server that stays, and is opened again where it ends.

use std::io;
use std::net::SocketAddr;

use leaseload_net::clock::{self, SECOND};
use leaseload_net::{Interest, Stream};
use leaseload_stream::{Channel, Client};

use crate::generator::tally::Connections;

/// After a connection that has carried no reply, how long until the next try (ns).
const BACK_OFF: u64 = SECOND / 10;
/// How long connections are waited for before a load, since the last that was opened (ns).
const PATIENCE: u64 = 2 * SECOND;
/// How often they are looked at meanwhile (ns).
const LOOKED_AT: u64 = SECOND / 100;
/// Earlier channels that are waited for, at the most.
const MOST_LEAVING: usize = 16;
/// The error of a server that takes no more.
const GONE: &str = "the server takes no more requests on it";

/// Where connections go.
#[derive(Clone, Debug)]
pub struct Road {
    pub to: SocketAddr,
    /// The interface; any where it is empty.
    pub interface: String,
    /// How its certificate is taken; plain where there is none.
    pub tls: Option<Client>,
}

impl Road {
    /// Begin a connection; `once` for one that is not to leave its port behind.
    pub fn open(&self, once: bool) -> io::Result<Channel> {
        let session = self.tls.as_ref().map(Client::session).transpose();
        let session = session.map_err(io::Error::other)?;
        let stream = Stream::connect(self.to, &self.interface)?;
        if once {
            stream.reset_at_close()?;
        }
        Ok(Channel::new(stream, session, self.tls.as_ref().and_then(Client::http)))
    }
}

/// One connection.
pub struct Connection {
    road: Road,
    channel: Option<Channel>,
    /// Earlier ones, whose server takes no more messages and has promised some answers.
    leaving: Vec<Channel>,
    /// Messages with their lengths that it has not taken.
    refused: Vec<u8>,
    /// Messages have gone through the channel, or could have.
    was_open: bool,
    /// A message has come through it.
    was_useful: bool,
    /// A failed send has ended it; data received before are still to be read.
    failure: Option<io::Error>,
    /// When it may be opened again.
    again_at: u64,
    has_ended: bool,
    pub counts: Connections,
    /// Most bytes that waited for the server to read.
    pub largest_backlog: usize,
    /// Why it ended, the last time.
    pub error: Option<io::Error>,
}

impl Connection {
    /// One that is not open yet.
    pub fn new(road: Road) -> Self {
        Self {
            road,
            channel: None,
            leaving: Vec::new(),
            refused: Vec::new(),
            was_open: false,
            was_useful: false,
            failure: None,
            again_at: 0,
            has_ended: false,
            counts: Connections::default(),
            largest_backlog: 0,
            error: None,
        }
    }

    fn is_open(&self) -> bool {
        self.channel.as_ref().is_some_and(Channel::is_open)
    }

    /// The events to wait for.
    pub fn interests(&self) -> impl Iterator<Item = Interest> {
        self.channel.iter().chain(&self.leaving).map(Channel::interest)
    }

    /// Take a message to be sent by the next `flush`, unless nothing takes it.
    pub fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.channel.as_mut().is_some_and(|channel| channel.put(write)) {
            self.counts.no_room += 1;
        }
    }

    /// Send waiting data, as far as the kernel accepts it.
    pub fn flush(&mut self) {
        // What it says to an ended one is of no use.
        self.leaving.iter_mut().for_each(|channel| _ = channel.flush());
        let Some(channel) = &mut self.channel else { return };
        if self.failure.is_none() {
            self.failure = channel.flush().err();
        }
        self.largest_backlog = channel.backlog().max(self.largest_backlog);
    }

    /// Receive available data, as `Channel::receive` does; open the connection where there is
    /// none.
    pub fn receive(&mut self, mut take: impl FnMut(&[u8], u64)) -> usize {
        let count = self.receive_promised(&mut take);
        count + self.receive_others(take)
    }

    /// What was promised to earlier channels, each until that has come or it ends.
    fn receive_promised(&mut self, mut take: impl FnMut(&[u8], u64)) -> usize {
        let mut all = 0;
        let Self { leaving, refused, .. } = self;
        leaving.retain_mut(|channel| {
            let received = channel.receive(&mut take);
            refused
                .extend(channel.take_refused().into_iter().flat_map(|(refused, _)| refused));
            all += received.as_ref().map_or(0, |count| *count);
            received.is_ok()
        });
        if let Some(channel) = &mut self.channel {
            channel.put_refused(&std::mem::take(refused));
        }
        all
    }

    fn receive_others(&mut self, mut take: impl FnMut(&[u8], u64)) -> usize {
        let Some(channel) = &mut self.channel else {
            self.open();
            return 0;
        };
        if let failure @ Some(_) = self.failure.take_if(|_| !channel.is_open()) {
            self.end(failure);
            return 0;
        }
        let was_useful = &mut self.was_useful;
        let received = channel.receive(|bytes, at| {
            *was_useful = true;
            take(bytes, at);
        });
        self.was_open |= channel.is_open();
        if let Some((refused, is_awaited)) = channel.take_refused() {
            self.refused.extend(refused);
            // It has taken something.
            self.was_useful |= is_awaited;
            let is_kept = is_awaited && received.is_ok();
            self.leaving.extend(self.channel.take().filter(|_| is_kept));
            self.leaving.drain(..self.leaving.len().saturating_sub(MOST_LEAVING));
            self.close(Some(io::Error::other(GONE)));
            return received.unwrap_or(0);
        }
        match received {
            Ok(0) if self.failure.is_some() => {
                let error = self.failure.take();
                self.end(error);
                0
            }
            Ok(count) => count,
            Err(error) => {
                self.end(Some(error));
                0
            }
        }
    }

    /// Whether it has ended since the last call.
    pub fn takes_end(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    fn open(&mut self) {
        let now = clock::monotonic();
        if now < self.again_at {
            return;
        }
        match self.road.open(false) {
            Ok(mut channel) => {
                channel.put_refused(&std::mem::take(&mut self.refused));
                self.channel = Some(channel);
            }
            Err(error) => self.end(Some(error)),
        }
    }

    fn end(&mut self, error: Option<io::Error>) {
        self.has_ended = true;
        self.leaving.clear();
        self.refused.clear();
        self.close(error);
    }

    /// Open another channel, at once if this one was of use.
    fn close(&mut self, error: Option<io::Error>) {
        (self.channel, self.failure) = (None, None);
        self.error = error.or(self.error.take());
        if std::mem::take(&mut self.was_open) {
            self.counts.closed += 1;
        } else {
            self.counts.not_opened += 1;
        }
        if std::mem::take(&mut self.was_useful) {
            self.open();
        } else {
            self.again_at = clock::monotonic() + BACK_OFF;
        }
    }

    /// Discard data of an earlier load.
    fn forget(&mut self) {
        if self.channel.as_ref().is_some_and(|channel| channel.backlog() > 0) {
            // Half of a query may be sent.
            (self.channel, self.failure, self.was_open) = (None, None, false);
        }
        self.leaving.clear();
        self.refused.clear();
        while self.receive(|_, _| ()) > 0 {}
        (self.counts, self.largest_backlog, self.error) = Default::default();
        self.again_at = 0;
    }
}

/// Open connections before a load, as far as the server lets them; what came for an earlier
/// load is forgotten.
pub fn settle(connections: &mut [&mut Connection]) -> io::Result<()> {
    connections.iter_mut().for_each(|connection| connection.forget());
    let (mut before, mut until) = (0, clock::monotonic() + PATIENCE);
    loop {
        for connection in connections.iter_mut() {
            connection.receive(|_, _| ());
            let error = connection.error.take();
            match error {
                Some(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(error);
                }
                error => connection.error = error,
            }
        }
        let open = connections.iter().filter(|connection| connection.is_open()).count();
        let now = clock::monotonic();
        if open > before {
            (before, until) = (open, now + PATIENCE);
        }
        if open == connections.len() || now > until || leaseload_net::thread::is_stopped() {
            break;
        }
        let interests: Vec<_> = connections.iter().flat_map(|one| one.interests()).collect();
        leaseload_net::wait(&interests, LOOKED_AT)?;
    }
    for connection in connections {
        let open = u64::from(connection.is_open());
        connection.counts = Connections { wanted: 1, open, ..Connections::default() };
        connection.has_ended = false;
    }
    Ok(())
}
