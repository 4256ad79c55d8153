//! A certificate that a server signs itself (X.509, RFC 5280, in DER).

use std::net::IpAddr;

/// Tags of DER.
mod tag {
    pub const INTEGER: u8 = 0x02;
    pub const BITS: u8 = 0x03;
    pub const BYTES: u8 = 0x04;
    pub const OID: u8 = 0x06;
    pub const TEXT: u8 = 0x0C;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;
    pub const SHORT_TIME: u8 = 0x17;
    pub const LONG_TIME: u8 = 0x18;
    pub const VERSION: u8 = 0xA0;
    pub const EXTENSIONS: u8 = 0xA3;
    pub const ADDRESS: u8 = 0x87;
}

/// Of object identifiers, encoded.
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1D, 17];
const EC_KEY: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1];
const P256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7];
const ECDSA_SHA256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2];

/// The certificate of a server at an address, by its public key (a point of P-256); `sign`
/// returns the signature of bytes (ECDSA with SHA-256, in DER). It never expires.
pub fn of<E>(
    address: IpAddr,
    key: &[u8],
    sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    let algorithm = sequence(&[&put(tag::OID, ECDSA_SHA256)]);
    let name = sequence(&[&put(
        tag::SET,
        &sequence(&[&put(tag::OID, COMMON_NAME), &put(tag::TEXT, b"leaserespond")]),
    )]);
    let validity = sequence(&[
        &put(tag::SHORT_TIME, b"000101000000Z"),
        &put(tag::LONG_TIME, b"99991231235959Z"),
    ]);
    let octets = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let names = sequence(&[&put(tag::ADDRESS, &octets)]);
    let extension = sequence(&[&put(tag::OID, ALTERNATIVE_NAMES), &put(tag::BYTES, &names)]);
    let content = sequence(&[
        &put(tag::VERSION, &put(tag::INTEGER, &[2])),
        &put(tag::INTEGER, &[1]),
        &algorithm,
        &name,
        &validity,
        &name,
        &sequence(&[
            &sequence(&[&put(tag::OID, EC_KEY), &put(tag::OID, P256)]),
            &put(tag::BITS, &[&[0], key].concat()),
        ]),
        &put(tag::EXTENSIONS, &sequence(&[&extension])),
    ]);
    let signature = [vec![0], sign(&content)?].concat();
    Ok(sequence(&[&content, &algorithm, &put(tag::BITS, &signature)]))
}

/// The same as text (PEM, RFC 7468).
pub fn to_text(certificate: &[u8]) -> String {
    let lines: Vec<_> = certificate.chunks(48).map(base64).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for digit in 0..4 {
            let place = (bits >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit > three.len() { '=' } else { DIGITS[place].into() });
        }
    }
    text
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    put(tag::SEQUENCE, &parts.concat())
}

/// A value after its tag and length, which has one byte, or a count and one or two bytes.
fn put(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = match value.len() {
        length @ 0..0x80 => vec![length as u8],
        length => [&[0x82], &(length as u16).to_be_bytes()[..]].concat(),
    };
    let length = if let [0x82, 0, short] = length[..] { vec![0x81, short] } else { length };
    [&[tag], &length[..], value].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_as_many_bytes_as_they_need() {
        for (length, head) in
            [(127, &[4, 127][..]), (128, &[4, 0x81, 128]), (300, &[4, 0x82, 1, 44])]
        {
            assert_eq!(put(tag::BYTES, &vec![7; length])[..head.len()], *head);
        }
    }

    #[test]
    fn text_is_base64() {
        let texts = [&b"leaserespond"[..], b"lease", b"load"].map(base64);
        assert_eq!(texts, ["bGVhc2VyZXNwb25k", "bGVhc2U=", "bG9hZA=="]);
    }
}
