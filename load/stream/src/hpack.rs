//! Compressed headers (RFC 7541), as far as DNS over HTTPS uses them: no entry is ever indexed.

/// Status 200, of the static table.
pub(crate) const OK: u8 = 0x88;
/// The name of a status, in full and by Huffman's code.
const STATUS: [&[u8]; 2] = [b"\x07:status", b"\x85\xb8\x84\x8d\x36\xa3"];
/// 200, the same.
const OK_VALUE: [&[u8]; 2] = [b"\x03200", b"\x82\x10\x01"];

/// A header whose name is in the static table, and which is in no other.
pub(crate) fn put_header(out: &mut Vec<u8>, name: u8, value: &str) {
    // A number of four bits, or 15 and the rest.
    out.extend(if name < 15 { vec![name] } else { vec![15, name - 15] });
    // A number of seven bits, or 127 and the rest, seven bits at a time.
    let mut rest = value.len();
    if rest < 127 {
        out.push(rest as u8);
    } else {
        out.push(127);
        rest -= 127;
        while rest >= 128 {
            out.push(128 | rest as u8);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    out.extend(value.as_bytes());
}

/// Whether a block of headers says status 200 first, as it has to be.
pub(crate) fn is_ok(mut block: &[u8]) -> bool {
    // A table without entries may be announced before anything else.
    while let [0x20, others @ ..] = block {
        block = others;
    }
    let value = match block {
        [OK, ..] => return true,
        // Literal, its name that of an entry of the static table.
        [0x08..=0x0e | 0x18..=0x1e | 0x48..=0x4e, value @ ..] => value,
        [0x00 | 0x10 | 0x40, name @ ..] => {
            STATUS.iter().find_map(|known| name.strip_prefix(*known)).unwrap_or_default()
        }
        _ => return false,
    };
    OK_VALUE.iter().any(|known| value.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_200_by_its_number_or_literally() {
        // Literal: the names are of the static table (8 to 14), or in full.
        for (block, expected) in [
            (&b"\x48\x03200"[..], true),
            (b"\x4e\x03200", true),
            (b"\x20\x08\x82\x10\x01", true),
            (b"\x1b\x03200", true),
            (b"\x40\x07:status\x03200", true),
            (b"\x00\x85\xb8\x84\x8d\x36\xa3\x03200", true),
            (b"\x10\x07:status\x82\x10\x01", true),
            (b"\x48\x032000", true),
            (b"\x20\x88", true),
            (b"\x48\x042000", false),
            (b"\x48\x03404", false),
            (b"\x48\x02200", false),
            (b"\x47\x03200", false),
            (b"\x00\x07:statuz\x03200", false),
            (b"\x00\x00\x03200", false),
            (b"\x48", false),
        ] {
            assert_eq!(is_ok(block), expected, "{block:?}");
        }
    }

    #[test]
    fn a_header_of_any_length_has_its_length_before_it() {
        for (length, expected) in [
            (126, &[126][..]),
            (127, &[127, 0]),
            (254, &[127, 127]),
            (255, &[127, 0x80, 1]),
            (0x17f + 0x4000, &[127, 0x80, 0x82, 1]),
        ] {
            let mut header = Vec::new();
            put_header(&mut header, 1, &"a".repeat(length));
            assert_eq!(header[1..=expected.len()], *expected, "{length}");
            assert_eq!(header.len(), 1 + expected.len() + length);
        }
    }
}
