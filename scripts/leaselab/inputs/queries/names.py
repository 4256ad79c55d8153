"""Names and types of DNS: as text, as labels, and in messages (RFC 1035, 3597).  Pure."""

from __future__ import annotations

import re
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
    *("MD 3", "MF 4", "MB 7", "MG 8", "MR 9", "NULL 10", "WKS 11", "MINFO 14", "RP 17"),
    *("AFSDB 18", "X25 19", "ISDN 20", "RT 21", "NSAP 22", "NSAP-PTR 23", "SIG 24", "KEY 25"),
    *("PX 26", "GPOS 27", "LOC 29", "NXT 30", "EID 31", "NIMLOC 32", "ATMA 34", "KX 36"),
    *("CERT 37", "A6 38", "DNAME 39", "SINK 40", "APL 42", "SSHFP 44", "IPSECKEY 45"),
    *("NSEC 47", "DHCID 49", "NSEC3 50", "NSEC3PARAM 51", "TLSA 52", "SMIMEA 53", "HIP 55"),
    *("NINFO 56", "RKEY 57", "TALINK 58", "CDS 59", "CDNSKEY 60", "OPENPGPKEY 61"),
    *("CSYNC 62", "ZONEMD 63", "DSYNC 66", "HHIT 67", "BRID 68", "SPF 99", "UINFO 100"),
    *("UID 101", "GID 102", "UNSPEC 103", "NID 104", "L32 105", "L64 106", "LP 107"),
    *("EUI48 108", "EUI64 109", "URI 256", "CAA 257", "AVC 258", "DOA 259", "AMTRELAY 260"),
    *("RESINFO 261", "WALLET 262", "TA 32768", "DLV 32769"),
)
_TYPES = _NAMED | {word: int(code) for word, code in (pair.split() for pair in _OTHERS)}
_BY_CODE = {code: word for word, code in _NAMED.items()}
_NO_DATA = {0, 41, 249, 250, 251, 252, 253, 254}
"""Types that ask for no records of a name: OPT, TKEY, TSIG, transfers and the like."""
_LABEL = re.compile(rb"[a-z0-9_-]+|[0-9]+/[0-9]+")
"""A label of a zone's name that every server's configuration takes as it is (RFC 2317)."""
_PLAIN = frozenset(range(33, 127)) - frozenset(b'."\\;@$()')
_ODD = re.compile(r"\\.|[^!-~]|[;()]")
_UNESCAPED = re.compile(r"[\0-\[\]-~]+")


def type_word(code: int) -> str | None:
    """A type as all generators read it: its name, or TYPE65280; None for what is no data."""
    if code in _NO_DATA or not 0 < code < 1 << 16:
        return None
    return _BY_CODE.get(code, f"TYPE{code}")


def type_of(word: str) -> int:
    """The code of a type by its name or as TYPE257; raises ValueError."""
    upper = word.upper()
    code = _TYPES.get(upper)
    if code is None and re.fullmatch("TYPE[0-9]{1,5}", upper):
        code = int(upper[4:])
    if code is None or type_word(code) is None:
        raise ValueError(f"no type of records: {word[:40]}")
    return code


def labels_of(name: str) -> tuple[bytes, ...]:
    r"""The labels of a name in text form, with ``\.`` and ``\DDD``; none of the root.

    Raises ValueError for what is no name.
    """
    text = "" if name == "." else name
    labels, label, place = [], bytearray(), 0
    if _UNESCAPED.fullmatch(text):  # nearly all names: much faster
        labels, text = [part.encode() for part in text.removesuffix(".").split(".")], ""
    while place < len(text):
        letter = text[place]
        place += 1
        if letter == ".":
            labels.append(bytes(label))
            label.clear()
            continue
        if letter == "\\":
            digits = text[place : place + 3]
            if re.fullmatch("[01][0-9]{2}|2[0-4][0-9]|25[0-5]", digits):
                label.append(int(digits))
                place += 3
                continue
            if digits[:1] in ("", *"0123456789"):
                raise ValueError("an escape that is neither \\000 to \\255 nor of one letter")
            letter, place = text[place], place + 1
        if ord(letter) > 126:
            raise ValueError("a name that is not ASCII: write xn--… or \\DDD")
        label.append(ord(letter))
    labels += [bytes(label)] if label else []
    check_labels(labels)
    if not labels and name != ".":
        raise ValueError("no name")
    return tuple(labels)


def written(word: str) -> str:
    """A name as a zone file has it, without quotes, and with an escape for each odd byte."""
    inner = word[1:-1] if word.startswith('"') else word
    return _ODD.sub(lambda at: at[0] if at[0][1:] else f"\\{ord(at[0]):03d}", inner)


def absolute(name: str, origin: str) -> str:
    """A name of a zone file, in full; `origin` is that of its place."""
    if name == "@":
        return origin
    return name if name.endswith(".") else f"{name}.{origin.removeprefix('.')}"


def zone_name(text: str) -> str:
    """The name of a zone with its last dot, in small letters; raises ValueError."""
    labels = [label.lower() for label in labels_of(text)]
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("other than letters, digits, - and _")
    return name_of(labels)


def check_labels(labels: Sequence[bytes]) -> None:
    """Raise ValueError for labels that a message cannot have."""
    if any(not 0 < len(label) <= LONGEST_LABEL for label in labels):
        raise ValueError(f"an empty label, or one of more than {LONGEST_LABEL} bytes")
    if sum(len(label) + 1 for label in labels) + 1 > LONGEST_NAME:
        raise ValueError(f"a name of more than {LONGEST_NAME} bytes")


def name_of(labels: Sequence[bytes]) -> str:
    """A name in text form, with its last dot."""
    return "".join(f"{_text(label)}." for label in labels) or "."


def above(name: str) -> Iterator[str]:
    """A name as `name_of` writes it and those above it, to the root, in small letters."""
    name = name.lower()
    while name != ".":
        yield name
        name = name.partition(".")[2] or "."
    yield name


def _text(label: bytes) -> str:
    if _PLAIN.issuperset(label):
        return label.decode()
    return "".join(chr(one) if one in _PLAIN else f"\\{one:03d}" for one in label)
