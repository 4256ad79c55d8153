//! DNS messages as requests of HTTP/2 and their answers (RFC 9113, RFC 8484), of both ends.
//!
//! Requests are POST. Neither end lets the other compress headers by what came before, so all
//! that has to be read of them is whether an answer's status, its first header, is 200.

use std::collections::BTreeMap;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes before the payload of a frame.
const HEAD: usize = 9;
/// Longest payload of a frame, as neither end allows more.
const LONGEST: usize = 1 << 14;
/// Longest message, which the window of a stream has room for from the beginning.
const MOST_BODY: usize = (1 << 16) - 1;
/// Bytes of bodies that the other end may send beyond the usual 65 535 before it is given room.
const ROOM: u32 = 1 << 20;
/// Requests at once that a server takes, and a client sends before it knows.
const MOST: u32 = 100;
/// The last number of a stream.
const LAST: u32 = (1 << 31) - 1;

mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RESET: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PING: u8 = 6;
    pub const GO_AWAY: u8 = 7;
    pub const WINDOW: u8 = 8;
}

mod flag {
    pub const ACK: u8 = 1;
    pub const END: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 32;
}

mod setting {
    pub const TABLE: u16 = 1;
    pub const PUSH: u16 = 2;
    pub const STREAMS: u16 = 3;
    pub const WINDOW: u16 = 4;
}

/// One end of a connection.
#[derive(Debug)]
pub struct Http {
    /// Headers of every message but its length, compressed.
    headers: Vec<u8>,
    is_client: bool,
    /// The preface has come.
    has_begun: bool,
    received: Vec<u8>,
    /// Frames to be sent.
    out: Vec<u8>,
    /// Number of the next request.
    next: u32,
    /// Requests at once that the server takes.
    most: u32,
    /// Bytes of bodies that the other end takes.
    window: i64,
    /// Bytes of bodies that have come since the other end was given room.
    taken: usize,
    /// Of a client requests without an answer, of a server those that are not whole yet: what
    /// has come of the body.
    open: BTreeMap<u32, Vec<u8>>,
    /// Streams of a server's unanswered requests, by the ids of their messages.
    asked: BTreeMap<[u8; 2], u32>,
}

impl Http {
    /// A client of a server, by its address or name and perhaps its port.
    #[must_use]
    pub fn client(authority: &str) -> Self {
        // Of the static table: POST and https are whole entries, the others only names.
        let mut headers = vec![0x83, 0x87];
        for (name, value) in [(1, authority), (4, "/dns-query"), (31, MESSAGE), (19, MESSAGE)]
        {
            put_header(&mut headers, name, value);
        }
        let mut http = Self::new(headers, true);
        http.out.extend(PREFACE);
        http.put_settings(&[(setting::TABLE, 0), (setting::PUSH, 0)]);
        http
    }

    /// A server.
    #[must_use]
    pub fn server() -> Self {
        let mut headers = vec![0x88];
        put_header(&mut headers, 31, MESSAGE);
        let mut http = Self::new(headers, false);
        http.put_settings(&[(setting::TABLE, 0), (setting::STREAMS, MOST)]);
        http
    }

    fn new(headers: Vec<u8>, is_client: bool) -> Self {
        Self {
            headers,
            is_client,
            has_begun: is_client,
            received: Vec::new(),
            out: Vec::new(),
            next: 1,
            most: MOST,
            window: 65_535,
            taken: 0,
            open: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// Take the bytes to be sent.
    pub fn take_out(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Send a message: a request, or the answer to one, of which there is one at the most.
    /// Return whether the other end has room for it now.
    pub fn put(&mut self, message: &[u8]) -> bool {
        if self.window < message.len() as i64 {
            return false;
        }
        let stream = if self.is_client {
            if self.open.len() >= self.most as usize || self.next > LAST {
                return false;
            }
            let stream = self.next;
            self.next += 2;
            self.open.insert(stream, Vec::new());
            stream
        } else {
            let id = message.first_chunk().unwrap_or(&[0, 0]);
            let Some(stream) = self.asked.remove(id) else { return true };
            stream
        };
        self.window -= message.len() as i64;
        let mut headers = self.headers.clone();
        put_header(&mut headers, 28, &message.len().to_string());
        self.put_frame(kind::HEADERS, flag::END_HEADERS, stream, &headers);
        let mut rest = message;
        while rest.len() > LONGEST {
            let (piece, others) = rest.split_at(LONGEST);
            self.put_frame(kind::DATA, 0, stream, piece);
            rest = others;
        }
        self.put_frame(kind::DATA, flag::END, stream, rest);
        true
    }

    /// Receive bytes; `take` gets each message that is whole. Return how many that were.
    ///
    /// # Errors
    /// What the other end does wrong, or that it ends the connection.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&[u8]),
    ) -> Result<usize, &'static str> {
        self.received.extend(bytes);
        let received = std::mem::take(&mut self.received);
        let (mut rest, mut count) = (&received[..], 0);
        if !self.has_begun && rest.len() >= PREFACE.len() {
            rest = rest.strip_prefix(PREFACE).ok_or("no HTTP/2")?;
            self.has_begun = true;
        }
        while self.has_begun && rest.len() >= HEAD {
            let length = number(&rest[..3]) as usize;
            if length > LONGEST {
                return Err("a frame that is too long");
            }
            let Some((frame, others)) = rest.split_at_checked(HEAD + length) else { break };
            let stream = number(&frame[5..HEAD]) & LAST;
            count += self.frame(frame[3], frame[4], stream, &frame[HEAD..], &mut take)?;
            rest = others;
        }
        self.received.extend(rest);
        Ok(count)
    }

    fn frame(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
        take: &mut impl FnMut(&[u8]),
    ) -> Result<usize, &'static str> {
        let is_end = flags & flag::END != 0;
        match kind {
            kind::DATA => {
                self.give_room(payload.len());
                return self.data(stream, is_end, unpadded(flags, payload)?, take);
            }
            kind::HEADERS => self.headers(stream, flags, is_end, payload)?,
            kind::SETTINGS if flags & flag::ACK == 0 => self.settings(payload)?,
            kind::PING if flags & flag::ACK == 0 => {
                self.put_frame(kind::PING, flag::ACK, 0, payload);
            }
            kind::WINDOW if stream == 0 => self.window += i64::from(number(payload) & LAST),
            kind::RESET => {
                self.open.remove(&stream);
            }
            kind::GO_AWAY => return Err("the other end ends HTTP"),
            // Also what is behind the first part of headers: the status was in that.
            _ => {}
        }
        Ok(0)
    }

    fn data(
        &mut self,
        stream: u32,
        is_end: bool,
        bytes: &[u8],
        take: &mut impl FnMut(&[u8]),
    ) -> Result<usize, &'static str> {
        // Of a stream that was given up.
        let Some(body) = self.open.get_mut(&stream) else { return Ok(0) };
        if body.len() + bytes.len() > MOST_BODY {
            return Err("a message that is too long");
        }
        body.extend(bytes);
        if !is_end {
            return Ok(0);
        }
        let body = self.open.remove(&stream).unwrap_or_default();
        if let (false, Some(id)) = (self.is_client, body.first_chunk()) {
            self.asked.insert(*id, stream);
        }
        take(&body);
        Ok(1)
    }

    fn headers(
        &mut self,
        stream: u32,
        flags: u8,
        is_end: bool,
        payload: &[u8],
    ) -> Result<(), &'static str> {
        if !self.is_client {
            // A request without a body is none of DNS.
            if is_end {
                self.put_frame(kind::RESET, 0, stream, &[0, 0, 0, 7]);
            } else {
                self.open.entry(stream).or_default();
            }
            return Ok(());
        }
        let mut block = unpadded(flags, payload)?;
        if flags & flag::PRIORITY != 0 {
            block = block.get(5..).ok_or("headers that are cut short")?;
        }
        // A table without entries may be announced before anything else.
        while let [0x20, others @ ..] = block {
            block = others;
        }
        // Trailers come behind a body, and have no status.
        let is_first = self.open.get(&stream).is_some_and(Vec::is_empty);
        if is_first && block.first() != Some(&0x88) {
            return Err("an answer with another status than 200");
        }
        if is_end {
            self.open.remove(&stream);
        }
        Ok(())
    }

    fn settings(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        for one in payload.chunks_exact(6) {
            match (number(&one[..2]) as u16, number(&one[2..])) {
                (setting::STREAMS, most) => self.most = most,
                (setting::WINDOW, window) if (window as usize) < MOST_BODY => {
                    return Err("a window that is smaller than a message may be");
                }
                _ => {}
            }
        }
        self.put_frame(kind::SETTINGS, flag::ACK, 0, &[]);
        Ok(())
    }

    /// Let the other end send as much as it has sent, now and then.
    fn give_room(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken > LONGEST {
            let taken = std::mem::take(&mut self.taken) as u32;
            self.put_frame(kind::WINDOW, 0, 0, &taken.to_be_bytes());
        }
    }

    fn put_settings(&mut self, settings: &[(u16, u32)]) {
        let bytes: Vec<u8> = settings
            .iter()
            .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        self.put_frame(kind::SETTINGS, 0, 0, &bytes);
        self.put_frame(kind::WINDOW, 0, 0, &ROOM.to_be_bytes());
    }

    fn put_frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.out.extend(&(payload.len() as u32).to_be_bytes()[1..]);
        self.out.extend([kind, flags]);
        self.out.extend(stream.to_be_bytes());
        self.out.extend(payload);
    }
}

const MESSAGE: &str = "application/dns-message";

/// A header whose name is in the static table, and which is in no other.
fn put_header(out: &mut Vec<u8>, name: u8, value: &str) {
    // A number of four bits, or 15 and the rest.
    out.extend(if name < 15 { vec![name] } else { vec![15, name - 15] });
    // A number of seven bits.
    let length = value.len();
    out.extend(if length < 127 {
        vec![length as u8]
    } else {
        vec![127, (length - 127) as u8]
    });
    out.extend(value.as_bytes());
}

fn unpadded(flags: u8, payload: &[u8]) -> Result<&[u8], &'static str> {
    if flags & flag::PADDED == 0 {
        return Ok(payload);
    }
    let (padding, rest) = payload.split_first().ok_or("a frame that is cut short")?;
    let length = rest.len().checked_sub(usize::from(*padding));
    length.map(|length| &rest[..length]).ok_or("more padding than there is")
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carry what one end has to say to the other; the messages that come.
    fn carried(from: &mut Http, to: &mut Http) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for piece in from.take_out().chunks(7) {
            to.receive(piece, |message| all.push(message.to_vec())).unwrap();
        }
        all
    }

    fn message(id: u16, length: usize) -> Vec<u8> {
        let mut bytes = vec![7; length];
        bytes[..2].copy_from_slice(&id.to_be_bytes());
        bytes
    }

    #[test]
    fn answers_come_on_the_streams_of_their_requests_in_any_order() {
        let (mut client, mut server) = (Http::client("[::1]"), Http::server());
        let sent: Vec<_> =
            [12, 40_000, 3].iter().zip(1..).map(|(&n, id)| message(id, n)).collect();
        assert!(sent.iter().all(|message| client.put(message)));
        assert_eq!(carried(&mut client, &mut server), sent);
        assert!(sent.iter().rev().all(|message| server.put(message)));
        // Of a second answer nothing is sent.
        assert!(server.put(&sent[0]));
        let answers = carried(&mut server, &mut client);
        assert_eq!(answers, [sent[2].clone(), sent[1].clone(), sent[0].clone()]);
        assert!(client.open.is_empty() && server.asked.is_empty());
    }

    #[test]
    fn no_more_is_sent_than_the_other_end_takes() {
        let (mut client, mut server) = (Http::client("a"), Http::server());
        assert!(client.put(&message(1, 60_000)) && !client.put(&message(2, 60_000)));
        carried(&mut server, &mut client);
        // Far more than the first window, as room is given again.
        for id in 2..50 {
            assert!(client.put(&message(id, 60_000)));
            assert!(carried(&mut client, &mut server).iter().all(|one| server.put(one)));
            carried(&mut server, &mut client);
        }
        let taken = (0..1000).take_while(|&id| client.put(&message(id, 12))).count();
        assert_eq!(taken, 100);
        assert_eq!(carried(&mut client, &mut server).len(), 100);
    }

    #[test]
    fn what_is_no_answer_ends_the_connection_or_its_request() {
        let frames: [(u8, u8, &[u8], &str); 4] = [
            (kind::HEADERS, flag::END_HEADERS, b"\x20\x8d", "status"),
            (kind::GO_AWAY, 0, &[0; 8], "ends"),
            (kind::SETTINGS, 0, &[0, 4, 0, 0, 0, 9], "window"),
            (kind::DATA, flag::PADDED, &[9, 1], "padding"),
        ];
        for (kind, flags, payload, word) in frames {
            let (mut client, mut server) = (Http::client("a"), Http::server());
            client.put(b"message");
            server.put_frame(kind, flags, 1, payload);
            let error = client.receive(&server.take_out(), |_| panic!("a message"));
            assert!(error.unwrap_err().contains(word), "{word}");
        }
        let (mut client, mut server) = (Http::client("a"), Http::server());
        client.put(b"message");
        server.put_frame(kind::HEADERS, flag::END_HEADERS | flag::END, 1, &[0x20, 0x88]);
        assert_eq!(client.receive(&server.take_out(), |_| panic!("a message")), Ok(0));
        assert!(client.open.is_empty());
        assert!(server.receive(b"GET / HTTP/1.1\r\nHost: a\r\n", |_| panic!()).is_err());
        let long = [0, 0x40, 1, 0, 0, 0, 0, 0, 1];
        assert_eq!(client.receive(&long, |_| panic!()), Err("a frame that is too long"));
    }

    #[test]
    fn a_ping_is_answered_and_settings_are_acknowledged() {
        let (mut client, mut server) = (Http::client("a"), Http::server());
        client.take_out();
        server.put_frame(kind::PING, 0, 0, b"12345678");
        client.receive(&server.take_out(), |_| panic!()).unwrap();
        let said = client.take_out();
        assert_eq!(said[..9], [0, 0, 0, kind::SETTINGS, flag::ACK, 0, 0, 0, 0]);
        assert_eq!(said[9..], *b"\0\0\x08\x06\x01\0\0\0\x0012345678");
    }
}
