//! What the fuzz target and the test of mutated packets do with bytes.

use leaseload_packet::{dhcp4, dhcp6, dns, frame};

/// Have every parser read the bytes, and write what it has read; return how many could.
///
/// # Panics
/// Where what was written is not read again.
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
        dns::put_answer(&mut out, id, question, 0, Some([192, 0, 2, 1]));
        assert_eq!(dns::read(&out).expect("it was written").id, id);
        read += 1;
    }
    read + u64::from(dns::read(bytes).is_ok()) + u64::from(frame::read(bytes).is_ok())
}
