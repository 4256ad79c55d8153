//! One end of a connection: messages are put in, and taken out.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

use leaseload_net::{Interest, Stream};
use leaseload_packet::stream::{self, LENGTH, Messages};
use rustls::Connection;

use crate::Http;

/// Bytes that are read by one call, so that due messages are not sent late.
const PIECE: usize = 1 << 14;
/// Bytes that may wait for the other end to read; more are not accepted.
const MOST_WAITING: usize = 1 << 20;
/// The same with what it has asked for by frames of HTTP: more end the connection.
const MOST_UNREAD: usize = 2 * MOST_WAITING;

/// A connection, plain, with TLS or HTTPS. An error of it is its end.
pub struct Channel {
    stream: Stream,
    is_connected: bool,
    tls: Option<Box<Connection>>,
    /// In the session of TLS.
    http: Option<Box<Http>>,
    received: Messages,
    /// TLS data from the kernel, still encrypted.
    sealed: Vec<u8>,
    /// Messages with their lengths that wait for the connection to be there.
    waiting: Vec<u8>,
    /// Bytes for the kernel, and how many of them it has taken.
    out: Vec<u8>,
    taken: usize,
}

impl Channel {
    /// Over a connection that was begun or accepted, by a session of TLS, perhaps with HTTP in
    /// it, or plain.
    pub fn new(stream: Stream, tls: Option<Connection>, http: Option<Http>) -> Self {
        let tls = tls.map(|mut session| {
            // The bound is that of what waits in all.
            session.set_buffer_limit(None);
            Box::new(session)
        });
        Self {
            stream,
            is_connected: false,
            sealed: vec![0; if tls.is_some() { PIECE } else { 0 }],
            tls,
            http: http.map(Box::new),
            received: Messages::default(),
            waiting: Vec::new(),
            out: Vec::new(),
            taken: 0,
        }
    }

    /// Whether messages can go through it: it is connected, and has shaken hands.
    pub fn is_open(&self) -> bool {
        self.is_connected && self.tls.as_ref().is_none_or(|tls| !tls.is_handshaking())
    }

    /// Bytes that wait for the connection to be there, or for the other end to read.
    pub fn backlog(&self) -> usize {
        self.waiting.len() + self.unread()
    }

    /// Bytes of the backlog that the other end would only have to read.
    pub fn unread(&self) -> usize {
        self.out.len() - self.taken
    }

    /// The event to wait for before anything else.
    pub fn interest(&self) -> Interest {
        let writes = !self.is_connected || self.unread() > 0;
        Interest { fd: self.stream.as_raw_fd(), reads: true, writes }
    }

    /// Take a message, which `write` appends, to be sent by the next `flush`; return whether
    /// there was room for it.
    pub fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let has_room = self.backlog() < MOST_WAITING;
        if has_room {
            stream::put(&mut self.waiting, write);
        }
        has_room
    }

    /// Of a server that takes no more messages by HTTP: those that it has not taken since the last
    /// call, with their lengths, and whether it has promised answers to others.
    pub fn take_refused(&mut self) -> Option<(Vec<u8>, bool)> {
        let http = self.http.as_mut()?;
        let mut refused = Vec::new();
        for message in http.take_refused()? {
            stream::put(&mut refused, |out| out.extend(message));
        }
        refused.append(&mut self.waiting);
        Some((refused, http.is_awaited()))
    }

    /// Take messages with their lengths that another channel has not sent.
    pub fn put_refused(&mut self, messages: &[u8]) {
        self.waiting.extend(messages);
    }

    /// Continue the connection, and send waiting data as far as the kernel accepts it.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.is_connected {
            self.is_connected = self.stream.is_connected()?;
            if !self.is_connected {
                return Ok(());
            }
        }
        self.seal()?;
        if self.unread() > 0 {
            self.taken += self.stream.send(&self.out[self.taken..])?;
        }
        if self.taken == self.out.len() {
            self.out.clear();
            self.taken = 0;
        } else if self.taken > self.out.len() / 2 {
            self.out.drain(..self.taken);
            self.taken = 0;
        }
        Ok(())
    }

    /// Prepare waiting data for the kernel: with TLS, each message is a record. With HTTP, what
    /// the other end has no room for goes on waiting.
    fn seal(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            self.out.append(&mut self.waiting);
            return Ok(());
        };
        if !tls.is_handshaking() {
            let mut rest = &self.waiting[..];
            while let Some(length) = stream::whole(rest) {
                let (message, others) = rest.split_at(length);
                match &mut self.http {
                    None => tls.writer().write_all(message)?,
                    Some(http) => {
                        if !http.put(&message[LENGTH..]) {
                            break;
                        }
                        tls.writer().write_all(&http.take_out())?;
                    }
                }
                rest = others;
            }
            let sent = self.waiting.len() - rest.len();
            self.waiting.drain(..sent);
            if let Some(http) = &mut self.http {
                tls.writer().write_all(&http.take_out())?;
            }
        }
        while tls.wants_write() {
            tls.write_tls(&mut self.out)?;
        }
        Ok(())
    }

    /// Receive by one call what is there; `take` gets each message, and when the kernel took
    /// the last segment of what was read (realtime clock, ns; 0 where it does not say). Return
    /// how many messages that were.
    ///
    /// # Errors
    /// Why the connection is over: `UnexpectedEof` where the other end has closed it,
    /// `InvalidData` if it violates TLS or HTTP, or does not read what it asks for.
    pub fn receive(&mut self, mut take: impl FnMut(&[u8], u64)) -> io::Result<usize> {
        if !self.is_connected {
            self.flush()?;
            if !self.is_connected {
                return Ok(0);
            }
        }
        let Some(tls) = &mut self.tls else {
            let Some(read) = self.stream.receive(&mut self.received.room()[..PIECE])? else {
                return Ok(0);
            };
            self.received.fill(read.count);
            return Ok(taken(&mut self.received, |bytes| take(bytes, read.received_at)));
        };
        let Some(read) = self.stream.receive(&mut self.sealed)? else { return Ok(0) };
        let (mut rest, mut count) = (&self.sealed[..read.count], 0);
        let mut end = Ok(());
        while !rest.is_empty() && end.is_ok() {
            tls.read_tls(&mut rest)?;
            if let Err(error) = tls.process_new_packets() {
                end = Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            loop {
                match tls.reader().read(self.received.room()) {
                    Ok(0) => end = Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(filled) => {
                        let mut take = |bytes: &[u8]| take(bytes, read.received_at);
                        let Some(http) = &mut self.http else {
                            self.received.fill(filled);
                            count += taken(&mut self.received, take);
                            continue;
                        };
                        match http.receive(&self.received.room()[..filled], &mut take) {
                            Ok(messages) => count += messages,
                            Err(why) => {
                                end = Err(io::Error::new(io::ErrorKind::InvalidData, why));
                                break;
                            }
                        }
                        continue;
                    }
                    Err(_) => {}
                }
                break;
            }
        }
        // What it has to say: its part of the handshake, or what it does not understand; with
        // HTTP also what had no room before.
        let said =
            if tls.wants_write() || self.http.is_some() { self.flush() } else { Ok(()) };
        if self.unread() > MOST_UNREAD {
            let why = "the other end does not read what it asks for";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        end.and(said).map(|()| count)
    }
}

/// Take the messages that are whole; return how many.
fn taken(messages: &mut Messages, mut take: impl FnMut(&[u8])) -> usize {
    let mut count = 0;
    while let Some(message) = messages.next() {
        take(message);
        count += 1;
    }
    count
}
