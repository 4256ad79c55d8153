//! Signatures of updates by a key that client and server share (TSIG, RFC 8945).

use leaseload_packet::dns;
use ring::hmac;

use crate::words::Wrong;

const TSIG: u16 = 250;
const ANY: u16 = 255;
/// What the clocks of both may differ by (s).
const FUDGE: u16 = 300;
const ALGORITHM: &[u8] = b"\x0bhmac-sha256\0";
/// Where a message counts its additional records.
const ADDITIONAL: usize = 10;

/// A key with its name.
#[derive(Clone, Debug)]
pub struct Key {
    name: Vec<u8>,
    key: Box<hmac::Key>,
}

impl Key {
    /// Read a key of HMAC-SHA256: its name, a colon, and the secret in base64.
    pub fn read(words: &str) -> Result<Self, Wrong> {
        let wrong = || "--tsig: expected NAME:SECRET, the secret in base64".to_owned();
        let (name, secret) = words.split_once(':').ok_or_else(wrong)?;
        let secret =
            of_base64(secret).filter(|secret| !secret.is_empty()).ok_or_else(wrong)?;
        let mut encoded = Vec::new();
        dns::put_name(&mut encoded, &name.to_ascii_lowercase()).map_err(|_| wrong())?;
        let key = Box::new(hmac::Key::new(hmac::HMAC_SHA256, &secret));
        Ok(Self { name: encoded, key })
    }

    /// Sign the message with which `out` ends, which begins at `start`, at a time (s since 1970).
    pub fn sign(&self, out: &mut Vec<u8>, start: usize, now: u64) {
        let time = [&now.to_be_bytes()[2..], &FUDGE.to_be_bytes()].concat();
        let class = [&ANY.to_be_bytes()[..], &[0; 4]].concat();
        // Neither an error nor other data.
        let end = [0; 4];
        let mut signed = hmac::Context::with_key(&self.key);
        for part in [&out[start..], &self.name, &class, ALGORITHM, &time, &end] {
            signed.update(part);
        }
        let signature = signed.sign();
        let signature = signature.as_ref();
        let id = [out[start], out[start + 1]];
        let count = start + ADDITIONAL;
        let records = u16::from_be_bytes([out[count], out[count + 1]]) + 1;
        out[count..count + 2].copy_from_slice(&records.to_be_bytes());
        let length = ALGORITHM.len() + time.len() + 2 + signature.len() + 2 + end.len();
        for part in [
            &self.name,
            &TSIG.to_be_bytes()[..],
            &class,
            &(length as u16).to_be_bytes(),
            ALGORITHM,
            &time,
            &(signature.len() as u16).to_be_bytes(),
            signature,
            &id,
            &end,
        ] {
            out.extend(part);
        }
    }
}

fn of_base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=');
    if text.len() % 4 != 0 || text.len() - digits.len() > 2 {
        return None;
    }
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for digit in digits.bytes() {
        bits = bits << 6 | DIGITS.iter().position(|known| *known == digit)? as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_and_what_is_none_is_refused() {
        for (text, bytes) in [
            ("bGVhc2VyZXNwb25k", &b"leaserespond"[..]),
            ("bGVhc2U=", b"lease"),
            ("/w==", &[255]),
        ] {
            assert_eq!(of_base64(text).unwrap(), bytes);
        }
        for wrong in ["a", "k", "k:", "k:bGVhc2U", "k:b=======", "k:b!==", "..:bGVhc2U="] {
            assert!(Key::read(wrong).unwrap_err().starts_with("--tsig"), "{wrong}");
        }
    }

    #[test]
    fn a_message_is_signed_behind_its_records() {
        let key = Key::read("Lab.test:bGVhc2U=").unwrap();
        let message = dns::update("h.z.", "z.").unwrap();
        let mut out = [b"before", &message[..]].concat();
        key.sign(&mut out, 6, 1 << 40);
        let (head, record) = out[6..].split_at(message.len());
        assert_eq!((&head[..10], &head[10..12]), (&message[..10], &[0, 1][..]));
        assert_eq!(head[12..], message[12..]);
        let begins = b"\x03lab\x04test\0\0\xfa\0\xff\0\0\0\0\0\x3d\x0bhmac-sha256\0";
        assert!(record.starts_with(begins));
        assert!(record[begins.len()..].starts_with(b"\x01\0\0\0\0\0\x01\x2c\0\x20"));
        assert_eq!(record.len(), begins.len() + 8 + 2 + 32 + 2 + 4);
    }
}
