"""Configurations with something wrong in them, the same for the same seed."""

import re
from copy import deepcopy
from random import Random

from hypothesis import settings

PIECES = (
    *(b",", b",,", b"{", b"}", b"[", b"]", b":", b'"', b"'", b"#", b"//", b"/*", b"*/", b"/"),
    *(b"\n", b"\t", b"\r", b"\f", b" ", b"\x00", b"\x1b", b"\x7f", b"\xe4", b"\xff\xfe"),
    *(b"\xc2\xa0", b"\xef\xbb\xbf", b"\xe2\x80\x9c", b"\xf0\x9f\x92\xa5"),
    *(b"0", b"-1", b"+", b"-", b".", b".5", b"-.5", b"1.", b"007", b"1e5", b"1E-2", b"5e"),
    *(b"1e999", b"9" * 25, b"0x10", b"true", b"True", b"null", b"NULL", b"nul"),
    *(b"\\", b"\\n", b"\\u00e9", b"\\u12", b"\\x", b"<?", b"?>", b'<?include "gone"?>'),
)
VALUES = (
    *(
        None,
        True,
        False,
        0,
        -1,
        2**40,
        0.5,
        "",
        "x",
        "0",
        "DEBUG",
        "192.0.2.1",
        "::1",
        "a\x1b[31m",
    ),
    *(
        [],
        {},
        [None],
        [[]],
        [{}],
        {"": 1},
        ["x"],
        [{"name": 1}],
        [{"pool": "a - b"}],
        {"type": []},
    ),
)


def tries(count):
    """How many changes a test tries: ten times `count` in the profile `night`."""
    return count * settings.default.max_examples // 50


def with_other_bytes(text, seed):
    """A text with a few pieces put in, taken out, doubled or moved."""
    random = Random(seed)  # noqa: S311  # no secret
    for _ in range(random.choice([1, 1, 1, 2])):
        at, length = random.randrange(len(text) + 1), random.randint(1, 20)
        piece = random.choice(
            [random.choice(PIECES), text[at : at + length] * 2, random.randbytes(1), b""]
        )
        cut = random.choice([0, 0, length])
        text = text[:at] + piece + text[at + cut :]
    return text


DEEP = (b"[", b'{"a":', b"(", b"- ", b"{ ")
WORDS = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?|[A-Za-z][\w-]*")
TYPES = (
    *(
        b"null",
        b"true",
        b"no",
        b"0",
        b"-1",
        b"1.5",
        b".nan",
        b"1e400",
        b"9" * 400,
        b"0x" + b"f" * 9000,
    ),
    *(
        b'""',
        b"[]",
        b"{}",
        b"[[]]",
        b"2026-11-28",
        b"'x'",
        b"\\ud800",
        b'"\\ud800"',
        b"\xed\xa0\x80",
    ),
)
"""What may stand for a word or a number."""


def mutated(data, dice):
    """A file with some of what goes wrong with files: in bits, pieces, lines, types, depth."""
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        at, length = dice.randrange(len(data) + 1), dice.randint(1, 20)
        piece, lines = data[at : at + length], data.splitlines(keepends=True) or [b""]
        words = list(WORDS.finditer(data))
        match dice.randrange(8):
            case 0 if piece:
                bit = bytes([piece[0] ^ 1 << dice.randrange(8)])
                data = data[:at] + bit + data[at + 1 :]
            case 1 if dice.random() < 0.3:
                data = data[:at]
            case 2:
                data = data[:at] + piece * dice.choice([0, 2, 2, 50]) + data[at + length :]
            case 3:
                line = dice.randrange(len(lines))
                lines[line : line + 1] = [lines[line]] * dice.choice([0, 2, 2, 300])
                data = b"".join(lines)
            case 4:
                data = data[:at] + dice.choice(DEEP) * dice.choice([3, 120, 3000]) + data[at:]
            case 5 | 6 if words:
                word = dice.choice(words)
                data = data[: word.start()] + dice.choice(TYPES) + data[word.end() :]
            case _:
                data = data[:at] + dice.choice([*PIECES, dice.randbytes(length)]) + data[at:]
    return data


def with_other_values(value, dice, values=VALUES):
    """A document in which a few values or names of members are others, or gone."""
    copy = deepcopy(value)
    for _ in range(dice.randint(1, 3)):
        holder, key = dice.choice(list(_places(copy)) or [({}, "")])
        other, how = deepcopy(dice.choice(values)), dice.random()
        if isinstance(holder, dict) and how < 0.2:
            holder[dice.choice(["name", "pool", "subnet4", "schema_version", "é", ""])] = other
        elif holder and how < 0.3:
            del holder[key]
        else:
            holder[key] = other
    return copy


def _places(value):
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in members:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)
