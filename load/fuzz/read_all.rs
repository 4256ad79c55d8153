//! Common code of the fuzz target and the test of mutated packets.

use leaseload_packet::{dhcp4, dhcp6, dns, frame, stream};

/// Let every parser read the bytes and write them again; return how many could.
///
/// # Panics
/// If a parser does not read its own output.
pub fn read_all(bytes: &[u8]) -> u64 {
    let mut out = Vec::new();
    let mut read = 0;
    if let Ok(message) = dhcp4::read(bytes) {
        message.write(&mut out);
        assert_eq!(dhcp4::read(&out).expect("it was written").kind, message.kind);
        read += 1;
    }
    if let Ok((message, _)) = dhcp6::read(bytes) {
        out.clear();
        message.write(&mut out);
        assert_eq!(dhcp6::read(&out).expect("it was written").0.kind, message.kind);
        read += 1;
    }
    if let Ok((id, question)) = dns::read_query(bytes) {
        out.clear();
        let is_update = dns::is_update(bytes);
        if is_update {
            dns::put_updated(&mut out, id, 0);
        } else {
            dns::put_answer(&mut out, id, question, 0, Some([192, 0, 2, 1]));
        }
        assert_eq!(dns::is_update(&out), is_update);
        assert_eq!(dns::read(&out).expect("it was written").id, id);
        read += 1;
    }
    read += messages(bytes, bytes.len());
    assert_eq!(messages(bytes, 1), messages(bytes, bytes.len()), "pieces change nothing");
    read + u64::from(dns::read(bytes).is_ok()) + u64::from(frame::read(bytes).is_ok())
}

/// Queries in a stream that arrives in pieces of a size.
fn messages(bytes: &[u8], size: usize) -> u64 {
    let (mut messages, mut read) = (stream::Messages::default(), 0);
    for piece in bytes.chunks(size.clamp(1, 1 << 16)) {
        messages.room()[..piece.len()].copy_from_slice(piece);
        messages.fill(piece.len());
        while let Some(message) = messages.next() {
            read += u64::from(dns::read_query(message).is_ok());
        }
    }
    read
}
