//! DNS messages as requests of HTTP/2 and their answers (RFC 9113, RFC 8484), of both ends.
//!
//! Requests are POST. Neither end lets the other compress headers by what came before, so all
//! that has to be read of them is whether an answer's status, its first header, is 200.

use std::collections::BTreeMap;

use crate::frame::{self, HEAD, LONGEST, flag, kind, number, setting, unpadded};
use crate::hpack::{OK, is_ok, put_header};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Longest message, which the window of a stream has room for from the beginning.
const MOST_BODY: usize = (1 << 16) - 1;
/// Bytes of bodies that the other end may send before their messages are whole: a client has room
/// for as many answers as it usually waits for, and a server for some requests, as it has many
/// clients.
const ROOM: [i64; 2] = [1 << 18, MOST as i64 * (1 << 16)];
/// The same until the other end has heard of it.
const FIRST_ROOM: i64 = 65_535;
/// Requests at once that a server takes, and a client sends before it knows.
const MOST: usize = 100;
/// Requests at once that ids of messages tell apart.
const MOST_IDS: usize = 1 << 16;
/// The last number of a stream.
const LAST: u32 = (1 << 31) - 1;

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
    most: usize,
    /// Bytes of bodies that the other end takes.
    window: i64,
    /// Bytes of bodies that the other end may send.
    room: i64,
    /// Those that it does not know of yet.
    unsaid: i64,
    /// Of a client requests without an answer, of a server those that are not whole yet.
    open: BTreeMap<u32, Open>,
    /// The server takes no more requests.
    is_leaving: bool,
    /// Messages of requests that it has not taken.
    refused: Vec<Vec<u8>>,
    /// Ids of a server's unanswered requests and their streams, the oldest first: those of a proxy's
    /// clients may have the same id.
    asked: Vec<([u8; 2], u32)>,
}

/// What is awaited on a stream.
#[derive(Debug, Default)]
struct Open {
    /// Of a client: the request's message, and whether the answer's status is 200.
    request: Vec<u8>,
    is_ok: bool,
    /// What has come of the body.
    body: Vec<u8>,
}

impl Http {
    /// A client of a server, by its address or name and perhaps its port.
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

    /// A server whose answers have a status, 200 or 500, or with 0 no headers at all.
    pub fn server(status: u16) -> Self {
        let mut headers = Vec::new();
        if status != 0 {
            headers.push(if status == 200 { OK } else { 0x8e });
            put_header(&mut headers, 31, MESSAGE);
        }
        let mut http = Self::new(headers, false);
        http.put_settings(&[(setting::TABLE, 0), (setting::STREAMS, MOST as u32)]);
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
            window: FIRST_ROOM,
            room: ROOM[usize::from(is_client)],
            unsaid: 0,
            open: BTreeMap::new(),
            is_leaving: false,
            refused: Vec::new(),
            asked: Vec::new(),
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
            if self.is_leaving || self.open.len() >= self.most || self.next > LAST {
                return false;
            }
            let stream = self.next;
            self.next += 2;
            self.open.insert(stream, Open { request: message.to_vec(), ..Open::default() });
            stream
        } else {
            let place = self.asked.iter().position(|(asked, _)| *asked == id(message));
            let Some(place) = place else { return true };
            self.asked.remove(place).1
        };
        self.window -= message.len() as i64;
        if !self.headers.is_empty() {
            let mut headers = self.headers.clone();
            put_header(&mut headers, 28, &message.len().to_string());
            self.put_frame(kind::HEADERS, flag::END_HEADERS, stream, &headers);
        }
        let mut rest = message;
        while rest.len() > LONGEST {
            let (piece, others) = rest.split_at(LONGEST);
            self.put_frame(kind::DATA, 0, stream, piece);
            rest = others;
        }
        self.put_frame(kind::DATA, flag::END, stream, rest);
        true
    }

    /// Of a server that takes no more requests: the messages that it has not taken since the last
    /// call. It has promised to answer the others.
    pub fn take_refused(&mut self) -> Option<Vec<Vec<u8>>> {
        self.is_leaving.then(|| std::mem::take(&mut self.refused))
    }

    /// Whether a request waits for its answer.
    pub fn is_awaited(&self) -> bool {
        !self.open.is_empty()
    }

    /// Receive bytes; `take` gets each message that is whole, and of a request that has ended
    /// without an answer of status 200 the two bytes of its id. Return how many that were.
    ///
    /// # Errors
    /// What the other end does wrong, or that it has answered its last request.
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
        if self.is_leaving && self.open.is_empty() {
            return Err("the other end ends HTTP");
        }
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
        if !frame::has_its_length(kind, flags, payload) {
            return Err("a frame of a wrong length");
        }
        match kind {
            kind::DATA | kind::HEADERS | kind::RESET if stream == 0 => {
                return Err("a frame of no stream");
            }
            kind::SETTINGS | kind::PING | kind::GO_AWAY if stream != 0 => {
                return Err("a stream's frame that is the connection's");
            }
            kind::DATA => {
                self.data(stream, flags, payload)?;
                return Ok(if is_end { self.ended(stream, take) } else { 0 });
            }
            kind::HEADERS => {
                self.headers(stream, flags, payload)?;
                return Ok(if is_end { self.ended(stream, take) } else { 0 });
            }
            kind::SETTINGS if flags & flag::ACK == 0 => self.settings(payload)?,
            kind::PING if flags & flag::ACK == 0 => {
                self.put_frame(kind::PING, flag::ACK, 0, payload);
            }
            kind::WINDOW if stream == 0 => {
                let more = i64::from(number(payload) & LAST);
                self.window += more;
                if more == 0 || self.window > LAST.into() {
                    return Err("a window that cannot be");
                }
            }
            kind::RESET if self.is_client => {
                self.open.entry(stream).and_modify(|open| open.is_ok = false);
                return Ok(self.ended(stream, take));
            }
            kind::RESET => {
                self.asked.retain(|(_, asked)| *asked != stream);
                let open = self.open.remove(&stream).unwrap_or_default();
                self.give_room(open.body.len());
            }
            kind::GO_AWAY if self.is_client => {
                self.is_leaving = true;
                let last = number(&payload[..4]) & LAST;
                for open in self.open.split_off(&(last + 1)).into_values() {
                    self.give_room(open.body.len());
                    self.refused.push(open.request);
                }
            }
            // Also what is behind the first part of headers: the status was in that.
            _ => {}
        }
        Ok(0)
    }

    fn data(&mut self, stream: u32, flags: u8, payload: &[u8]) -> Result<(), &'static str> {
        self.room -= payload.len() as i64;
        if self.room < 0 {
            return Err("more than there was room for");
        }
        let bytes = unpadded(flags, payload)?;
        let mut kept = 0;
        // Not of a stream that was given up, nor of what is no answer.
        if let Some(Open { is_ok: true, body, .. }) = self.open.get_mut(&stream) {
            if body.len() + bytes.len() > MOST_BODY {
                return Err("a message that is too long");
            }
            body.extend(bytes);
            kept = bytes.len();
        }
        self.give_room(payload.len() - kept);
        Ok(())
    }

    /// A stream has ended; return whether that was a message, or a request without an answer.
    fn ended(&mut self, stream: u32, take: &mut impl FnMut(&[u8])) -> usize {
        let Some(Open { request, is_ok, body }) = self.open.remove(&stream) else { return 0 };
        self.give_room(body.len());
        if self.is_client && (body.is_empty() || !is_ok) {
            take(&id(&request));
            return 1;
        }
        if !self.is_client {
            self.asked.push((id(&body), stream));
        }
        take(&body);
        1
    }

    fn headers(&mut self, stream: u32, flags: u8, payload: &[u8]) -> Result<(), &'static str> {
        if !self.is_client {
            let is_new = !self.open.contains_key(&stream);
            if is_new && (flags & flag::END != 0 || self.open.len() + self.asked.len() >= MOST)
            {
                // It is one too many, or without a body none of DNS.
                self.put_frame(kind::RESET, 0, stream, &[0, 0, 0, 7]);
            } else if is_new {
                self.open.insert(stream, Open { is_ok: true, ..Open::default() });
            }
            return Ok(());
        }
        let mut block = unpadded(flags, payload)?;
        if flags & flag::PRIORITY != 0 {
            block = block.get(5..).ok_or("headers that are cut short")?;
        }
        // Trailers have no status.
        let is_ok = is_ok(block);
        self.open.entry(stream).and_modify(|open| open.is_ok |= is_ok);
        Ok(())
    }

    fn settings(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        for one in payload.chunks_exact(6) {
            match (number(&one[..2]) as u16, number(&one[2..])) {
                (setting::STREAMS, most) => self.most = MOST_IDS.min(most as usize),
                (setting::WINDOW, window) if !(MOST_BODY as u32..=LAST).contains(&window) => {
                    return Err(
                        "a window that is smaller than a message may be, or too large",
                    );
                }
                _ => {}
            }
        }
        self.put_frame(kind::SETTINGS, flag::ACK, 0, &[]);
        Ok(())
    }

    /// Let the other end send as much as is not kept any more, now and then.
    fn give_room(&mut self, bytes: usize) {
        self.unsaid += bytes as i64;
        if self.unsaid > LONGEST as i64 {
            let unsaid = std::mem::take(&mut self.unsaid);
            self.put_frame(kind::WINDOW, 0, 0, &(unsaid as u32).to_be_bytes());
            self.room += unsaid;
        }
    }

    fn put_settings(&mut self, settings: &[(u16, u32)]) {
        let bytes: Vec<u8> = settings
            .iter()
            .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        self.put_frame(kind::SETTINGS, 0, 0, &bytes);
        let more = (self.room - FIRST_ROOM) as u32;
        self.put_frame(kind::WINDOW, 0, 0, &more.to_be_bytes());
    }

    fn put_frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        frame::put(&mut self.out, kind, flags, stream, payload);
    }
}

const MESSAGE: &str = "application/dns-message";

/// The id of a message.
fn id(message: &[u8]) -> [u8; 2] {
    *message.first_chunk().unwrap_or(&[0, 0])
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
        let (mut client, mut server) = (Http::client("[::1]"), Http::server(200));
        let sent: Vec<_> =
            [12, 40_000, 3].iter().zip(1..).map(|(&n, id)| message(id, n)).collect();
        assert!(sent.iter().all(|message| client.put(message)));
        assert_eq!(carried(&mut client, &mut server), sent);
        assert!(sent.iter().rev().all(|message| server.put(message)));
        // Of a second answer nothing is sent, and two requests of an id are two.
        assert!(server.put(&sent[0]));
        let answers = carried(&mut server, &mut client);
        assert_eq!(answers, [sent[2].clone(), sent[1].clone(), sent[0].clone()]);
        assert!(client.open.is_empty() && server.asked.is_empty());
        assert!(client.put(&sent[0]) && client.put(&sent[0]));
        carried(&mut client, &mut server);
        assert!(server.put(&sent[0]) && server.put(&sent[0]));
        assert_eq!(carried(&mut server, &mut client), [sent[0].clone(), sent[0].clone()]);
        // Nor of one to a request that was given up.
        client.put(&sent[0]);
        client.put_frame(kind::RESET, 0, 11, &[0; 4]);
        carried(&mut client, &mut server);
        assert!(
            server.asked.is_empty() && server.put(&sent[0]) && server.take_out().is_empty()
        );
    }

    #[test]
    fn no_more_is_sent_than_the_other_end_takes() {
        let (mut client, mut server) = (Http::client("a"), Http::server(200));
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
    fn what_is_no_http_ends_the_connection() {
        let frames: [(u8, u32, &[u8], &str); 15] = [
            (kind::GO_AWAY, 0, &[0; 8], "ends"),
            (kind::GO_AWAY, 0, &[0; 7], "length"),
            (kind::GO_AWAY, 1, &[0; 8], "connection"),
            (kind::SETTINGS, 0, &[0, 4, 0, 0, 0, 9], "window"),
            (kind::SETTINGS, 0, &[0, 4, 0xff, 0, 0, 0], "window"),
            (kind::SETTINGS, 0, &[0, 3, 0, 0, 0, 9, 0], "length"),
            (kind::SETTINGS, 1, &[], "connection"),
            (kind::WINDOW, 0, &[0; 3], "length"),
            (kind::WINDOW, 1, &[0, 0, 0, 1, 0], "length"),
            (kind::WINDOW, 0, &[0; 4], "window"),
            (kind::WINDOW, 0, &[0x7f, 0xff, 0xff, 0xff], "window"),
            (kind::PING, 0, &[0; 9], "length"),
            (kind::PING, 1, &[0; 8], "connection"),
            (kind::RESET, 1, &[0; 3], "length"),
            (kind::DATA, 1, &[9, 1], "padding"),
        ];
        for (kind, stream, payload, word) in frames {
            let (mut client, mut server) = (Http::client("a"), Http::server(200));
            client.put(b"message");
            server.put_frame(kind, flag::PADDED, stream, payload);
            let error = client.receive(&server.take_out(), |_| panic!("a message"));
            assert!(error.unwrap_err().contains(word), "{word}");
        }
        let (mut client, mut server) = (Http::client("a"), Http::server(200));
        assert!(server.receive(b"GET / HTTP/1.1\r\nHost: a\r\n", |_| panic!()).is_err());
        let long = [0, 0x40, 1, 0, 0, 0, 0, 0, 1];
        assert_eq!(client.receive(&long, |_| panic!()), Err("a frame that is too long"));
    }

    #[test]
    fn a_request_without_an_answer_of_status_200_is_said_by_its_id() {
        let all = flag::END_HEADERS | flag::END;
        let answers: [&[(u8, u8, &[u8])]; 6] = [
            // Another status, none, no body, an end too early, a body too early, a reset.
            &[
                (kind::HEADERS, flag::END_HEADERS, b"\x20\x8d"),
                (kind::DATA, flag::END, b"body"),
            ],
            &[(kind::DATA, flag::END, b"body")],
            &[(kind::HEADERS, all, b"\x20\x88")],
            &[(kind::HEADERS, all, b"\x8e")],
            &[(kind::DATA, 0, b"body"), (kind::HEADERS, all, b"\x88")],
            &[
                (kind::HEADERS, 4, b"\x88"),
                (kind::DATA, 0, b"body"),
                (kind::RESET, 0, &[0; 4]),
            ],
        ];
        for answer in answers {
            let (mut client, mut server) = (Http::client("a"), Http::server(200));
            assert!(client.put(&message(7, 12)) && client.put(&message(8, 12)));
            carried(&mut client, &mut server);
            for (kind, flags, payload) in answer {
                server.put_frame(*kind, *flags, 1, payload);
            }
            // Others go on.
            server.put(&message(8, 40));
            assert_eq!(carried(&mut server, &mut client), [vec![0, 7], message(8, 40)]);
            assert!(client.open.is_empty());
        }
        for status in [500, 0] {
            let (mut client, mut server) = (Http::client("a"), Http::server(status));
            client.put(&message(7, 12));
            carried(&mut client, &mut server);
            server.put(&message(7, 40));
            assert_eq!(carried(&mut server, &mut client), [[0, 7]], "{status}");
        }
    }

    /// What an end keeps of the other: bytes, and streams.
    fn kept(http: &Http) -> (usize, usize) {
        let bodies: usize = http.open.values().map(|open| open.body.len()).sum();
        (http.received.len() + bodies, http.open.len() + http.asked.len())
    }

    #[test]
    fn what_is_kept_of_another_end_is_bounded() {
        let piece = [7; LONGEST];
        // What a client repeats on a new stream each time: requests that are not whole, or too
        // many at once, or given up; headers without an end, bodies without a stream.
        let attacks: [&[(u8, u8, &[u8])]; 6] = [
            &[(kind::HEADERS, flag::END_HEADERS, b""), (kind::DATA, 0, &piece)],
            &[(kind::HEADERS, flag::END_HEADERS, b""), (kind::DATA, 0, b"a")],
            &[(kind::HEADERS, 0, b""), (kind::DATA, flag::END, b"id")],
            &[(kind::HEADERS, 0, b""), (kind::DATA, 0, &piece), (kind::RESET, 0, &[0; 4])],
            &[(kind::HEADERS, 0, &piece), (9, 0, &piece), (9, 0, &piece)],
            &[(kind::DATA, flag::END, &piece)],
        ];
        for (place, attack) in attacks.iter().enumerate() {
            let (mut server, mut client) = (Http::server(200), Http::client("a"));
            client.take_out();
            server.receive(PREFACE, |_| panic!()).unwrap();
            for stream in 0..1000 {
                for (kind, flags, payload) in *attack {
                    client.put_frame(*kind, *flags, 2 * stream + 1, payload);
                }
                let done = server.receive(&client.take_out(), |_| ());
                let (bytes, streams) = kept(&server);
                assert!(bytes <= 1 << 18 && streams <= MOST, "attack {place}");
                assert!(server.take_out().len() < 1000, "attack {place}");
                assert!(done.is_ok() || place == 0, "attack {place}");
            }
        }
        let (mut client, mut server) = (Http::client("a"), Http::server(200));
        server.put_frame(kind::SETTINGS, 0, 0, &[0, 3, 0xff, 0xff, 0xff, 0xff]);
        carried(&mut server, &mut client);
        assert_eq!(
            (0..70_000).filter(|id| client.put(&message(*id as u16, 2))).count(),
            MOST_IDS
        );
        for stream in 0..1000 {
            server.put_frame(kind::HEADERS, 0, 2 * stream + 1, &[OK]);
            server.put_frame(kind::DATA, 0, 2 * stream + 1, &piece);
            let done = client.receive(&server.take_out(), |_| ());
            assert_eq!(done.is_err(), stream >= 400, "{done:?}");
        }
        assert!(kept(&client).0 <= MOST * (1 << 16));
    }

    #[test]
    fn what_a_server_that_goes_away_has_promised_is_answered() {
        let (mut client, mut server) = (Http::client("a"), Http::server(200));
        let sent: Vec<_> = (1..5).map(|id| message(id, 12)).collect();
        assert!(sent.iter().all(|message| client.put(message)));
        carried(&mut client, &mut server);
        // First that it will go away, and then behind which stream.
        for (last, refused) in [(LAST, 0), (5, 1)] {
            let payload = [last.to_be_bytes(), [0; 4]].concat();
            server.put_frame(kind::GO_AWAY, 0, 0, &payload);
            assert!(carried(&mut server, &mut client).is_empty());
            assert_eq!(client.take_refused(), Some(sent[4 - refused..].to_vec()));
            assert!(client.is_awaited() && !client.put(&sent[0]));
        }
        server.put(&sent[0]);
        server.put(&sent[2]);
        assert_eq!(carried(&mut server, &mut client), [sent[0].clone(), sent[2].clone()]);
        // With the last of them it is over.
        server.put(&sent[1]);
        let mut last = Vec::<u8>::new();
        let over = client.receive(&server.take_out(), |message| last.extend(message));
        assert!(over.is_err() && last == sent[1] && !client.is_awaited());
    }

    #[test]
    fn a_ping_is_answered_and_settings_are_acknowledged() {
        let (mut client, mut server) = (Http::client("a"), Http::server(200));
        client.take_out();
        server.put_frame(kind::PING, 0, 0, b"12345678");
        client.receive(&server.take_out(), |_| panic!()).unwrap();
        let said = client.take_out();
        assert_eq!(said[..9], [0, 0, 0, kind::SETTINGS, flag::ACK, 0, 0, 0, 0]);
        assert_eq!(said[9..], *b"\0\0\x08\x06\x01\0\0\0\x0012345678");
    }
}
