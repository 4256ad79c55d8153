"""What a client sends so that it is in a class of a dhcpd.conf, where that is known."""

from __future__ import annotations

import re

from .statements import every

_CODES = {
    "vendor-class-identifier": 60,
    "user-class": 77,
    "host-name": 12,
    "dhcp-client-identifier": 61,
    "pxe-system-type": 93,
}
AGENT = {"agent.circuit-id": 1, "agent.remote-id": 2, "agent.subscriber-id": 6}
_FIELD = r"(?P<field>hardware|option\s+[\w.-]+)"
_TESTS = (
    re.compile(rf"{_FIELD}\s*=\s*(?P<value>\S.*)"),
    re.compile(
        rf"substring\s*\(\s*{_FIELD}\s*,\s*(?P<at>\d+)\s*,\s*(?P<length>\d+)\s*\)\s*=\s*"
        r"(?P<value>\S.*)"
    ),
    re.compile(
        rf"[lu]case\s*\(\s*substring\s*\(\s*{_FIELD}\s*,\s*(?P<at>\d+)\s*,\s*(?P<length>\d+)"
        r"\s*\)\s*\)\s*=\s*(?P<value>\S.*)"
    ),
    re.compile(rf"[lu]case\s*\(\s*{_FIELD}\s*\)\s*=\s*(?P<value>\S.*)"),
    re.compile(
        r'binary-to-ascii\s*\(\s*16\s*,\s*8\s*,\s*"(?P<between>[:.-])"\s*,\s*substring\s*'
        rf"\(\s*{_FIELD}\s*,\s*(?P<at>\d+)\s*,\s*(?P<length>\d+)\s*\)\s*\)\s*=\s*"
        r'(?P<value>"[^"]*")'
    ),
)
_SUB = re.compile(rf"{_FIELD}|substring\s*\(\s*{_FIELD.replace('field', 'part')}\s*,\s*0\s*,.*")
_EITHER = re.compile(
    r"pick-first-value\s*\(\s*option\s+dhcp-client-identifier\s*,\s*hardware\s*\)"
)
"""What tests the hardware address of clients that send no identifier."""
_DIGITS = re.compile(r"[0-9a-fA-F]{1,2}(?::[0-9a-fA-F]{1,2})*")
_MAC_BYTES = 6
_LIMITS = ("lease", "spawn")
"""Statements by which a class has few leases."""
REFUSE = ("deny", "ignore")


def is_ignored(statement):
    """Whether messages of what a statement is about are not answered."""
    return any(
        one.name in REFUSE and one.words[1:2] == ("booting",) for one in statement.inner or ()
    )


def classes_of(statements):
    """What clients of each class have, by its name: keys of a kind; None where not known.

    Clients of a class that are not answered are not known either.
    """
    every_one = [one for one in every(statements) if one.name in ("class", "subclass")]
    known, by_field = {}, {}
    for one in every_one:
        name = one.words[1].strip('"') if len(one.words) > 1 else ""
        tests = [
            _EITHER.sub("hardware", " ".join(held.words[1:]))
            for held in one.inner or ()
            if held.name == "match"
        ]
        if one.name == "class":
            known.setdefault(name, None)
            if is_ignored(one) or any(held.name in _LIMITS for held in one.inner or ()):
                continue
            if tests and tests[0].startswith("if "):
                known[name] = _sent(tests[0].removeprefix("if "))
            elif tests and (match := _SUB.fullmatch(tests[0])):
                by_field[name] = match["field"] or match["part"]
        elif name in by_field and len(one.words) > 2 and not is_ignored(one):
            own = _having(by_field[name], 0, one.words[2]) or {}
            if len(own.get("mac", "")) == _MAC_BYTES:
                own = {"macs": [own["mac"].hex(":")]}
            known[name] = known.get(name) or own
            if "macs" in own and own is not known[name]:
                known[name].get("macs", []).extend(own["macs"])
    return known


def _sent(test):
    """What a client sends for a test: the first of several of which one is enough."""
    first = _parts(test, "or")[0]
    joined = {}
    # What only has to be there comes last: often another part says what it is.
    parts = sorted(_parts(first, "and"), key=lambda part: part.startswith("exists"))
    for part in parts:
        own = _sent(part[1:-1]) if part[:1] == "(" else _sent_for(part)
        if own is None or ("mac" in own and "mac" in joined):
            return None
        for key, value in own.items():
            held = joined.get(key, ())
            if not (key != "mac" and part.startswith("exists") and _has(held, value)):
                joined[key] = value if key == "mac" else [*held, *value]
    codes = [code for key in ("options", "agent") for code, _ in joined.get(key, ())]
    return joined if len(codes) == len(set(codes)) else None


def _has(options, others):
    """Whether options have one of the codes of others."""
    return bool({code for code, _ in options} & {code for code, _ in others})


def _sent_for(test):
    """What a client sends for one comparison, or for one field that has to be there."""
    if match := re.fullmatch(r"exists\s+([\w.-]+)", test):
        if match[1] in AGENT:  # each client has its own
            return {"agent": [[AGENT[match[1]], "text:leaselab-{client}"]]}
        return _having(f"option {match[1]}", 0, '"leaselab"')
    for form in _TESTS:
        if match := form.fullmatch(test):
            parts = match.groupdict()
            value = parts["value"]
            if "between" in parts:
                value = value.strip('"').replace(parts["between"], ":")
            return _having(parts["field"], int(parts.get("at") or 0), value)
    return None


def _parts(test, word):
    """The parts of a test between a word that stands outside quotes and parentheses."""
    parts, depth = [[]], 0
    for piece in re.findall(r'"[^"]*"|[()]|[^\s()"]+|\s+', test.strip()):
        depth += (piece == "(") - (piece == ")")
        if piece == word and depth == 0:
            parts.append([])
        else:
            parts[-1].append(piece)
    return ["".join(pieces).strip() for pieces in parts]


def _having(field, at, word):
    """What a client has whose field has a value from some byte on."""
    value = _bytes(word.strip())
    name = field.partition("option")[2].strip()
    if value is None or not 0 < len(value) < 200 or at > 64:
        return None
    if field == "hardware":
        return _hardware(at, value)
    filled = f"hex:{(b'.' * at + value).hex()}"
    if name in AGENT:
        return {"agent": [[AGENT[name], filled]]}
    return {"options": [[_CODES[name], filled]]} if name in _CODES else None


def _hardware(at, value):
    """Hardware addresses that begin with a value: their type is before their first byte."""
    digits = value[1:] if at == 0 else value
    if at > 1 or (at == 0 and value[0] != 1) or not 0 < len(digits) <= _MAC_BYTES:
        return None
    return {"mac": digits}


def _bytes(word):
    """Text in quotes, or hexadecimal digits with colons; None for another word."""
    if len(word) > 1 and word[0] == word[-1] == '"':
        return word[1:-1].encode()
    if not _DIGITS.fullmatch(word):
        return None
    return bytes.fromhex("".join(part.zfill(2) for part in word.split(":")))


def members(own, clients, used, listed):
    """The keys of a kind of so many clients of a class.

    `used` clients were made before, and `listed` of those that the class lists: each of these
    is in one place at a time.
    """
    if macs := own.get("macs"):
        macs = macs[listed : listed + clients]
        return {"clients": len(macs), "macs": macs}
    if "mac" not in own:
        return {**own, "clients": clients}
    free = _MAC_BYTES - len(own["mac"])
    count = min(clients, 256**free)
    numbers = (number % 256**free for number in range(used, used + count))
    macs = [(own["mac"] + number.to_bytes(free, "big")).hex(":") for number in numbers]
    return {"clients": count, "macs": macs}
