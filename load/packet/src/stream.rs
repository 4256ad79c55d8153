//! Messages of DNS in a stream of bytes, each behind its length (RFC 1035, 4.2.2; RFC 7766).

/// Bytes of a length.
pub const LENGTH: usize = 2;
/// Room for the longest message that is still incomplete, and for more of what follows it.
const ROOM: usize = 1 << 17;

/// Append a message, which `write` appends, behind its length.
///
/// # Panics
/// If the message is too long for its length field.
pub fn put(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; LENGTH]);
    write(out);
    let length = u16::try_from(out.len() - start - LENGTH).expect("a message of 16 bits");
    out[start..start + LENGTH].copy_from_slice(&length.to_be_bytes());
}

/// How long the first message is with its length (bytes); None where it is not whole yet.
pub fn whole(bytes: &[u8]) -> Option<usize> {
    let length = bytes.first_chunk::<LENGTH>()?;
    let end = LENGTH + usize::from(u16::from_be_bytes(*length));
    (end <= bytes.len()).then_some(end)
}

/// Takes messages out of a stream that arrives in pieces of any size.
///
/// A length that is wrong makes wrong messages of all that follows, and never more of them than
/// there is room for.
#[derive(Clone, Debug)]
pub struct Messages {
    bytes: Vec<u8>,
    taken: usize,
    filled: usize,
}

impl Messages {
    /// Where the next bytes go: more than the longest message, once `next` has returned None.
    pub fn room(&mut self) -> &mut [u8] {
        self.bytes.copy_within(self.taken..self.filled, 0);
        (self.taken, self.filled) = (0, self.filled - self.taken);
        &mut self.bytes[self.filled..]
    }

    /// So many bytes were put at the beginning of the room.
    pub fn fill(&mut self, count: usize) {
        self.filled = (self.filled + count).min(self.bytes.len());
    }

    /// The next message, without its length; None where it is not whole yet.
    #[allow(clippy::should_implement_trait)] // an iterator cannot lend
    pub fn next(&mut self) -> Option<&[u8]> {
        let start = self.taken;
        self.taken += whole(&self.bytes[start..self.filled])?;
        Some(&self.bytes[start + LENGTH..self.taken])
    }
}

impl Default for Messages {
    fn default() -> Self {
        Self { bytes: vec![0; ROOM], taken: 0, filled: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of a stream that arrives in these pieces.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
        let (mut messages, mut all) = (Messages::default(), Vec::new());
        for piece in pieces {
            messages.room()[..piece.len()].copy_from_slice(piece);
            messages.fill(piece.len());
            while let Some(message) = messages.next() {
                all.push(message.to_vec());
            }
        }
        all
    }

    fn stream(messages: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| put(&mut bytes, |out| out.extend(*message)));
        bytes
    }

    #[test]
    fn a_stream_is_read_wherever_it_is_split() {
        let sent: [&[u8]; 3] = [b"first message", b"", &[7; 300]];
        let bytes = stream(&sent);
        assert_eq!(read([&bytes[..]]), sent);
        assert_eq!(read(bytes.chunks(1)), sent);
        for place in 0..bytes.len() {
            let (head, tail) = bytes.split_at(place);
            assert_eq!(read([head, tail]), sent, "split at {place}");
        }
    }

    #[test]
    fn what_is_not_whole_is_waited_for() {
        let bytes = stream(&[b"abc", b"defg"]);
        assert_eq!(read([&bytes[..bytes.len() - 1]]), [b"abc"]);
        assert_eq!(read([&[0][..]]), [b""; 0]);
        assert_eq!((whole(&[0, 1]), whole(&[0, 1, 5])), (None, Some(3)));
    }

    #[test]
    fn there_is_room_behind_the_longest_message_however_often() {
        let longest = vec![9; usize::from(u16::MAX)];
        let bytes = stream(&[&longest, &longest, &longest]);
        // No piece is larger than the room that is left.
        assert_eq!(read(bytes.chunks(ROOM / 2 - 1)), vec![longest; 3]);
        let mut messages = Messages::default();
        let cut = usize::from(u16::MAX) + LENGTH - 1;
        messages.room()[..cut].copy_from_slice(&bytes[..cut]);
        messages.fill(cut);
        assert_eq!(messages.next(), None);
        assert!(messages.room().len() >= ROOM / 2 - 1);
    }

    #[test]
    fn a_wrong_length_makes_wrong_messages_and_no_more() {
        // Longer than what was meant: the next message is eaten.
        let mut bytes = stream(&[b"abc", b"def"]);
        bytes[1] = 6;
        assert_eq!(read([&bytes[..]]), [b"abc\x00\x03d"]);
        // Shorter: its rest is taken for a length.
        bytes[1] = 1;
        assert_eq!(read([&bytes[..]]), [b"a"]);
    }
}
