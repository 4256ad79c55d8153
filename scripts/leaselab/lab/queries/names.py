"""Names and types of DNS: as text, as labels, and in messages (RFC 1035, 3597).  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

LONGEST_NAME = 255
"""Bytes of a name in a message."""
LONGEST_LABEL = 63
_WORDS = (
    *("A 1", "NS 2", "CNAME 5", "SOA 6", "PTR 12", "HINFO 13", "MX 15", "TXT 16", "AAAA 28"),
    *("SRV 33", "NAPTR 35", "DS 43", "RRSIG 46", "DNSKEY 48", "SVCB 64", "HTTPS 65", "ANY 255"),
)
_NAMED = {word: int(code) for word, code in (pair.split() for pair in _WORDS)}
"""Types that every generator knows by their names."""
_OTHERS = (
    *("NULL 10", "RP 17", "AFSDB 18", "KEY 25", "LOC 29", "CERT 37", "DNAME 39", "SSHFP 44"),
    *("NSEC 47", "DHCID 49", "NSEC3 50", "NSEC3PARAM 51", "TLSA 52", "SMIMEA 53", "CDS 59"),
    *("CDNSKEY 60", "OPENPGPKEY 61", "CSYNC 62", "ZONEMD 63", "SPF 99", "URI 256", "CAA 257"),
)
_TYPES = _NAMED | {word: int(code) for word, code in (pair.split() for pair in _OTHERS)}
_BY_CODE = {code: word for word, code in _NAMED.items()}
_NO_DATA = {0, 41, 249, 250, 251, 252, 253, 254}
"""Types that ask for no records of a name: OPT, TKEY, TSIG, transfers and the like."""
_PLAIN = frozenset(range(33, 127)) - frozenset(b'."\\;@$()')


def type_word(code: int) -> str | None:
    """A type as all generators read it: its name, or TYPE65280; None for what is no data."""
    if code in _NO_DATA or not 0 < code < 1 << 16:
        return None
    return _BY_CODE.get(code, f"TYPE{code}")


def type_of(word: str) -> int:
    """The code of a type by its name or as TYPE257; raises ValueError."""
    upper = word.upper()
    code = _TYPES.get(upper)
    if code is None and upper.startswith("TYPE") and upper[4:].isdigit() and len(upper) < 10:
        code = int(upper[4:])
    if code is None or type_word(code) is None:
        raise ValueError(f"no type of records: {word[:40]}")
    return code


def labels_of(name: str) -> tuple[bytes, ...]:
    r"""The labels of a name in text form, with ``\.`` and ``\DDD``; none of the root.

    Raises ValueError for what is no name.
    """
    labels, label, place = [], bytearray(), 0
    text = "" if name == "." else name
    while place < len(text):
        letter = text[place]
        place += 1
        if letter == ".":
            labels.append(bytes(label))
            label.clear()
            continue
        if letter == "\\":
            digits = text[place : place + 3]
            if digits.isdigit() and len(digits) == 3 and int(digits) < 256:
                label.append(int(digits))
                place += 3
                continue
            letter, place = text[place : place + 1], place + 1
        if not letter or ord(letter) > 126:
            raise ValueError("a name that is not ASCII, or ends within an escape")
        label.append(ord(letter))
    labels += [bytes(label)] if label else []
    check_labels(labels)
    if not labels and name != ".":
        raise ValueError("no name")
    return tuple(labels)


def check_labels(labels: Sequence[bytes]) -> None:
    """Raise ValueError for labels that a message cannot have."""
    if any(not 0 < len(label) <= LONGEST_LABEL for label in labels):
        raise ValueError(f"an empty label, or one of more than {LONGEST_LABEL} bytes")
    if sum(len(label) + 1 for label in labels) + 1 > LONGEST_NAME:
        raise ValueError(f"a name of more than {LONGEST_NAME} bytes")


def name_of(labels: Sequence[bytes]) -> str:
    """A name in text form, with its last dot."""
    return "".join(f"{_text(label)}." for label in labels) or "."


def suffixes(labels: Sequence[bytes]) -> Iterator[str]:
    """The name and the names above it, to the root, in small letters."""
    small = [label.lower() for label in labels]
    return (name_of(small[first:]) for first in range(len(small) + 1))


def _text(label: bytes) -> str:
    return "".join(chr(one) if one in _PLAIN else f"\\{one:03d}" for one in label)
