//! DNS (RFC 1035, 2136, 6891): queries, updates, and the counted parts of answers.

use std::net::IpAddr;

use crate::Malformed;
use crate::reader::Reader;

/// Port of servers.
pub const SERVER_PORT: u16 = 53;
/// Port of servers over TLS.
pub const TLS_PORT: u16 = 853;
/// Port of servers over HTTPS.
pub const HTTPS_PORT: u16 = 443;
/// Bytes of a header.
pub const HEADER: usize = 12;

const LONGEST_NAME: usize = 255;
const LONGEST_LABEL: usize = 63;
const RESPONSE: u16 = 0x8000;
const TRUNCATED: u16 = 0x0200;
const RECURSION: u16 = 0x0100;
const OPCODE: u16 = 0x7800;
const UPDATE: u16 = 5 << 11;
const OPT: u16 = 41;
const TTL_S: u32 = 300;
const CLIENT_SUBNET: u8 = 8;

/// Types of records by their names; others are written `TYPE65`.
const TYPES: [(&str, u16); 17] = [
    ("A", 1),
    ("NS", 2),
    ("CNAME", 5),
    ("SOA", 6),
    ("PTR", 12),
    ("HINFO", 13),
    ("MX", 15),
    ("TXT", 16),
    ("AAAA", 28),
    ("SRV", 33),
    ("NAPTR", 35),
    ("DS", 43),
    ("RRSIG", 46),
    ("DNSKEY", 48),
    ("SVCB", 64),
    ("HTTPS", 65),
    ("ANY", 255),
];

/// EDNS of a query: the largest answer accepted, and whether DNSSEC is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edns {
    /// Largest answer (bytes).
    pub size: u16,
    /// The DO bit.
    pub dnssec: bool,
}

/// Encode a query whose id is 0: name in text form, type by its name.
///
/// # Errors
/// A name or type that is none.
pub fn query(
    name: &str,
    kind: &str,
    recursion: bool,
    edns: Option<Edns>,
) -> Result<Vec<u8>, Malformed> {
    let mut bytes = Vec::with_capacity(HEADER + name.len() + 20);
    bytes.extend([0, 0]);
    bytes.extend(if recursion { RECURSION } else { 0 }.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 0, 0, 0, u8::from(edns.is_some())]);
    put_name(&mut bytes, name)?;
    bytes.extend(type_code(kind)?.to_be_bytes());
    bytes.extend([0, 1]);
    if let Some(edns) = edns {
        bytes.push(0);
        bytes.extend(OPT.to_be_bytes());
        bytes.extend(edns.size.to_be_bytes());
        bytes.extend([0, 0, if edns.dnssec { 0x80 } else { 0 }, 0, 0, 0]);
    }
    Ok(bytes)
}

/// Encode an update whose id is 0: it replaces the addresses of a name in a zone by one,
/// 0.0.0.0, which is its last four bytes.
///
/// # Errors
/// A name or zone that is none, or a name outside the zone.
pub fn update(name: &str, zone: &str) -> Result<Vec<u8>, Malformed> {
    let mut bytes = vec![0, 0];
    bytes.extend(UPDATE.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 0, 2, 0, 0]);
    put_name(&mut bytes, zone)?;
    let mut owner = Vec::with_capacity(LONGEST_NAME);
    put_name(&mut owner, name)?;
    if !is_below(&owner, &bytes[HEADER..]) {
        return Err(Malformed("name outside the zone of its update"));
    }
    // The type SOA, class IN.
    bytes.extend([0, 6, 0, 1]);
    // Class ANY without data deletes all records of the type.
    bytes.extend(&owner);
    bytes.extend([0, 1, 0, 255, 0, 0, 0, 0, 0, 0]);
    bytes.extend(&owner);
    bytes.extend([0, 1, 0, 1]);
    bytes.extend(TTL_S.to_be_bytes());
    bytes.extend([0, 4, 0, 0, 0, 0]);
    Ok(bytes)
}

/// Whether a message is an update, or the answer to one.
pub fn is_update(bytes: &[u8]) -> bool {
    bytes.get(2).is_some_and(|flags| u16::from(*flags) << 8 & OPCODE == UPDATE)
}

/// Whether an encoded name is that of a zone, or below it.
fn is_below(name: &[u8], zone: &[u8]) -> bool {
    let mut rest = name;
    while rest.len() > zone.len() {
        rest = &rest[1 + usize::from(rest[0])..];
    }
    rest.eq_ignore_ascii_case(zone)
}

/// Encode the option of EDNS that names a client's network (RFC 7871).
///
/// # Errors
/// A length that the address does not have, or bits behind it.
pub fn client_subnet(network: IpAddr, length: u8) -> Result<Vec<u8>, Malformed> {
    let (family, octets) = match network {
        IpAddr::V4(address) => (1_u8, address.octets().to_vec()),
        IpAddr::V6(address) => (2, address.octets().to_vec()),
    };
    let bits = usize::from(length);
    if bits > 8 * octets.len() {
        return Err(Malformed("longer prefix than its address"));
    }
    let bytes = bits.div_ceil(8);
    let is_clear = |place: usize| octets[place / 8] & (0x80 >> (place % 8)) == 0;
    if !(bits..8 * octets.len()).all(is_clear) {
        return Err(Malformed("address with bits behind its prefix"));
    }
    let mut option = vec![0, CLIENT_SUBNET, 0, 4 + bytes as u8, 0, family, length, 0];
    option.extend(&octets[..bytes]);
    Ok(option)
}

/// Give the query with EDNS that `out` ends with an option.
pub fn add_option(out: &mut Vec<u8>, option: &[u8]) {
    // OPT is the last record, and the length of its options the last field of it.
    let length = out.len();
    out[length - 2..].copy_from_slice(&(option.len() as u16).to_be_bytes());
    out.extend(option);
}

fn type_code(name: &str) -> Result<u16, Malformed> {
    let upper = name.to_ascii_uppercase();
    if let Some((_, code)) = TYPES.iter().find(|(known, _)| *known == upper) {
        return Ok(*code);
    }
    upper
        .strip_prefix("TYPE")
        .and_then(|number| number.parse().ok())
        .ok_or(Malformed("unknown type of record"))
}

/// Append a name: labels, with `\.` and `\DDD` as master files have them.
///
/// # Errors
/// A name that is none.
pub fn put_name(out: &mut Vec<u8>, name: &str) -> Result<(), Malformed> {
    let start = out.len();
    let mut label = Vec::new();
    let mut put = |label: &mut Vec<u8>| {
        if label.is_empty() || label.len() > LONGEST_LABEL {
            return Err(Malformed("empty label, or one of more than 63 bytes"));
        }
        out.push(label.len() as u8);
        out.append(label);
        Ok(())
    };
    if name.is_empty() {
        return Err(Malformed("empty name"));
    }
    let mut bytes = name.bytes();
    if name != "." {
        while let Some(byte) = bytes.next() {
            match byte {
                b'.' => put(&mut label)?,
                b'\\' => label.push(escaped(&mut bytes)?),
                _ => label.push(byte),
            }
        }
        if !label.is_empty() {
            put(&mut label)?;
        }
    }
    out.push(0);
    if out.len() - start > LONGEST_NAME {
        return Err(Malformed("name of more than 255 bytes"));
    }
    Ok(())
}

fn escaped(bytes: &mut std::str::Bytes<'_>) -> Result<u8, Malformed> {
    const WRONG: Malformed = Malformed("wrong escape in a name");
    let first = bytes.next().ok_or(WRONG)?;
    if !first.is_ascii_digit() {
        return Ok(first);
    }
    let mut value = u32::from(first - b'0');
    for _ in 0..2 {
        let digit = bytes.next().filter(u8::is_ascii_digit).ok_or(WRONG)?;
        value = value * 10 + u32::from(digit - b'0');
    }
    u8::try_from(value).map_err(|_| WRONG)
}

/// The parts of an answer that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Id of the query.
    pub id: u16,
    /// Its RCODE, without the extended bits of EDNS.
    pub rcode: u8,
    /// It did not fit.
    pub truncated: bool,
    /// Name, type and class of the question, as they were sent; empty where a server left
    /// them out, which it may where it could not read the query.
    pub question: &'a [u8],
}

/// Read an answer's header and question.
///
/// # Errors
/// If it is a query, or too short.
pub fn read(bytes: &[u8]) -> Result<Answer<'_>, Malformed> {
    let (id, flags, questions, body) = header(bytes)?;
    if flags & RESPONSE == 0 {
        return Err(Malformed("a query"));
    }
    Ok(Answer {
        id,
        rcode: (flags & 0xF) as u8,
        truncated: flags & TRUNCATED != 0,
        question: if questions == 0 { &[] } else { question(body)? },
    })
}

/// Read a query: its id and its question.
///
/// # Errors
/// If it is an answer, too short, or has no question.
pub fn read_query(bytes: &[u8]) -> Result<(u16, &[u8]), Malformed> {
    let (id, flags, questions, body) = header(bytes)?;
    if flags & RESPONSE != 0 || questions != 1 {
        return Err(Malformed("no query"));
    }
    Ok((id, question(body)?))
}

/// Append the answer to an update: a header alone, as BIND sends it.
pub fn put_updated(out: &mut Vec<u8>, id: u16, rcode: u8) {
    out.extend(id.to_be_bytes());
    out.extend((RESPONSE | UPDATE | u16::from(rcode)).to_be_bytes());
    out.extend([0; 8]);
}

/// Append an answer to a query: its question, and no records but an address where `address`.
pub fn put_answer(
    out: &mut Vec<u8>,
    id: u16,
    question: &[u8],
    rcode: u8,
    address: Option<[u8; 4]>,
) {
    out.extend(id.to_be_bytes());
    out.extend((RESPONSE | 0x0400 | u16::from(rcode)).to_be_bytes());
    out.extend([0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
    out.extend(question);
    if let Some(address) = address {
        out.extend([0xC0, HEADER as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        out.extend(address);
    }
}

/// Say of an answer that it did not fit.
pub fn truncate(answer: &mut [u8]) {
    answer[2] |= (TRUNCATED >> 8) as u8;
}

fn header(bytes: &[u8]) -> Result<(u16, u16, u16, &[u8]), Malformed> {
    let mut reader = Reader::new(bytes);
    let id = reader.u16("shorter than its header")?;
    let flags = reader.u16("shorter than its header")?;
    let questions = reader.u16("shorter than its header")?;
    reader.take(6, "shorter than its header")?;
    Ok((id, flags, questions, reader.rest()))
}

/// The question at the beginning of a body; a question's name is never compressed.
fn question(body: &[u8]) -> Result<&[u8], Malformed> {
    let mut reader = Reader::new(body);
    let mut length = 0;
    loop {
        let label = usize::from(reader.u8("question cut short")?);
        if label > LONGEST_LABEL {
            return Err(Malformed("question with a compressed name"));
        }
        length += 1 + label;
        reader.take(label, "question cut short")?;
        if label == 0 {
            break;
        }
    }
    reader.take(4, "question cut short")?;
    Ok(&body[..length + 4])
}

/// Words of RCODEs.
pub fn rcode_word(rcode: u8) -> &'static str {
    const WORDS: [&str; 16] = [
        "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN",
        "YXRRSET", "NXRRSET", "NOTAUTH", "NOTZONE", "RCODE11", "RCODE12", "RCODE13",
        "RCODE14", "RCODE15",
    ];
    WORDS[usize::from(rcode & 0xF)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_question_of_its_query() {
        let edns = Some(Edns { size: 1232, dnssec: true });
        let asked = query("www.example.com.", "AAAA", true, edns).unwrap();
        let (id, question) = read_query(&asked).unwrap();
        let mut bytes = Vec::new();
        put_answer(&mut bytes, id, question, 3, Some([192, 0, 2, 1]));
        let answer = read(&bytes).unwrap();
        assert_eq!((answer.id, answer.rcode, answer.truncated), (0, 3, false));
        assert_eq!(answer.question, question);
        truncate(&mut bytes);
        assert!(read(&bytes).unwrap().truncated);
        assert_eq!(question, b"\x03www\x07example\x03com\x00\x00\x1c\x00\x01");
    }

    #[test]
    fn a_clients_network_is_the_option_of_a_query() {
        let mut bytes =
            query("a.", "A", false, Some(Edns { size: 1232, dnssec: false })).unwrap();
        let before = bytes.len();
        let option = client_subnet("10.1.128.0".parse().unwrap(), 17).unwrap();
        add_option(&mut bytes, &option);
        assert_eq!(bytes[before - 2..], [0, 11, 0, 8, 0, 7, 0, 1, 17, 0, 10, 1, 128]);
        let six = client_subnet("2001:db8::".parse().unwrap(), 32).unwrap();
        assert_eq!(six, [0, 8, 0, 8, 0, 2, 32, 0, 0x20, 1, 0xd, 0xb8]);
        let none = client_subnet("0.0.0.0".parse().unwrap(), 0).unwrap();
        assert_eq!(none, [0, 8, 0, 4, 0, 1, 0, 0]);
        for (network, length) in [("10.1.0.0", 33), ("10.1.0.1", 31), ("2001::1", 64)] {
            assert!(client_subnet(network.parse().unwrap(), length).is_err(), "{network}");
        }
    }

    #[test]
    fn an_update_replaces_the_addresses_of_a_name() {
        let bytes = update("h.example.", "Example.").unwrap();
        let zone = b"\x07Example\x00\x00\x06\x00\x01";
        let (deletes, adds) = bytes[HEADER + zone.len()..].split_at(21);
        assert_eq!(bytes[..HEADER], [0, 0, 0x28, 0, 0, 1, 0, 0, 0, 2, 0, 0]);
        assert_eq!(read_query(&bytes).unwrap(), (0, &zone[..]));
        assert_eq!(deletes, b"\x01h\x07example\x00\0\x01\0\xff\0\0\0\0\0\0");
        assert_eq!(adds, b"\x01h\x07example\x00\0\x01\0\x01\0\0\x01\x2c\0\x04\0\0\0\0");
        assert!(is_update(&bytes));
        assert!(!is_update(&query("a.", "A", true, None).unwrap()) && !is_update(&[0, 0]));
        assert!(update("example.", "example.").is_ok() && update("a.", ".").is_ok());
        for outside in ["h.other.", "anexample.", "."] {
            assert!(update(outside, "example.").is_err(), "{outside}");
        }
    }

    #[test]
    fn the_answer_to_an_update_has_no_question() {
        let mut bytes = Vec::new();
        put_updated(&mut bytes, 7, 9);
        let answer = read(&bytes).unwrap();
        assert_eq!((answer.id, answer.rcode, answer.question), (7, 9, &[][..]));
        assert!(is_update(&bytes));
    }

    #[test]
    fn names_are_read_as_master_files_write_them() {
        let asked = |name| query(name, "A", false, None).map(|bytes| bytes[HEADER..].to_vec());
        assert_eq!(asked(".").unwrap(), b"\x00\x00\x01\x00\x01");
        assert_eq!(asked(r"a\.b\065.c").unwrap(), b"\x04a.bA\x01c\x00\x00\x01\x00\x01");
        for wrong in ["a..b", "", r"a\99", r"\999", &"a".repeat(64), &"ab.".repeat(90)] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
        assert!(query("a", "TYPE65280", false, None).is_ok());
        assert!(query("a", "AAAAA", false, None).is_err());
    }

    #[test]
    fn what_is_cut_short_is_malformed() {
        let mut bytes = Vec::new();
        put_answer(&mut bytes, 7, b"\x01a\x00\x00\x01\x00\x01", 0, None);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(read(&bytes).is_ok());
    }
}
