//! Frames of HTTP/2 (RFC 9113): their kinds, and their bytes.

/// Bytes before the payload of a frame.
pub(crate) const HEAD: usize = 9;
/// Longest payload of a frame, as neither end allows more.
pub(crate) const LONGEST: usize = 1 << 14;

pub(crate) mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RESET: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PING: u8 = 6;
    pub const GO_AWAY: u8 = 7;
    pub const WINDOW: u8 = 8;
}

pub(crate) mod flag {
    pub const ACK: u8 = 1;
    pub const END: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 32;
}

pub(crate) mod setting {
    pub const TABLE: u16 = 1;
    pub const PUSH: u16 = 2;
    pub const STREAMS: u16 = 3;
    pub const WINDOW: u16 = 4;
}

/// Whether a payload is as long as its kind of frame has it.
pub(crate) fn has_its_length(kind: u8, flags: u8, payload: &[u8]) -> bool {
    match kind {
        kind::SETTINGS if flags & flag::ACK != 0 => payload.is_empty(),
        kind::SETTINGS => payload.len() % 6 == 0,
        kind::PING => payload.len() == 8,
        kind::GO_AWAY => payload.len() >= 8,
        kind::RESET | kind::WINDOW => payload.len() == 4,
        _ => true,
    }
}

/// Append a frame to what is sent.
pub(crate) fn put(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}

/// A payload without its padding.
///
/// # Errors
/// There is more padding than payload.
pub(crate) fn unpadded(flags: u8, payload: &[u8]) -> Result<&[u8], &'static str> {
    if flags & flag::PADDED == 0 {
        return Ok(payload);
    }
    let (padding, rest) = payload.split_first().ok_or("a frame that is cut short")?;
    let length = rest.len().checked_sub(usize::from(*padding));
    length.map(|length| &rest[..length]).ok_or("more padding than there is")
}

/// A number of up to four bytes, the highest first.
pub(crate) fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}
