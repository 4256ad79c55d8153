"""Archived results damaged or made by hand: valid by the schema, and odd."""

import json
import os
import random
import shutil
from datetime import timedelta

from msgspec.structs import replace
from tests.examples import (
    MAX_RATES,
    START,
    archive_result,
    built,
    burst_result,
    confirmed,
    edited,
    example_result,
    fixed_load_result,
    invalid_result,
)
from tests.past import fought

from leaselab.archive.checksums import write_sums
from leaselab.archive.store import Store
from leaselab.model.record import Experiment

DEEP = 3000
VALUES = (
    *(None, True, [], {}, "", 0, -1, 1, 0.5, -0.5, 1e308, -1e308, 1e-320, 2**53, 2**64),
    *(
        10**400,
        "A" * 300,
        "A" * 300_000,
        "\x00",
        "\x1b[31m",
        "../../../etc/passwd",
        "/dev/zero",
    ),
    *("10000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z"),
    *("2026-11-21T11:30:05+99:59", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"),
    *([None], [[]], [{}], [0, 0], [1e308, 1e308], {"": None}, {"a": {"a": {"a": []}}}, "NaN"),
    *({"server": {}}, {"server": None}, [1, "a", None], {"a" * 300: 1}, "max_rate", "ok"),
)
RAW = ("NaN", "Infinity", "-Infinity", "1e999", '"\\ud800"', "[" * DEEP + "]" * DEEP)
"""Texts in place of a value that Python's JSON, or no JSON, allows."""
_HOLE = "@@hole@@"
FILES = ("result.json", "SHA256SUMS")


def good(root):
    """Archive what must stay readable; returns the ids."""
    records = (
        built(example_result(), "a" * 40, author_date="2026-11-20T10:00:00+00:00"),
        example_result(scenario="v6-memfile", started=START + timedelta(hours=1)),
    )
    return [archive_result(root, record).id for record in records]


def victims(root):
    """Archive one result of each kind, of which others are made; returns their ids."""
    plain = built(
        confirmed(example_result(token="0001", started=START + timedelta(days=1))), "b" * 40
    )
    server = {"server": plain.server, "partner": plain.server}
    experiment = Experiment(id="20261121-two", points=("x", plain.id), interleaved=True)
    records = (
        replace(plain, servers=server, experiment=replace(experiment, points=(plain.id,))),
        edited(
            invalid_result(token="0002", started=START + timedelta(days=2)),
            lambda document: document.update(at_least=5000.0),
        ),
        fixed_load_result([0.01, 0.02, 0.03], token="0003", started=START + timedelta(days=3)),
        burst_result(500, [1.0, 2.0, None], token="0004", started=START + timedelta(days=4)),
    )
    ids = [archive_result(root, record).id for record in records]
    first = built(example_result(MAX_RATES), "c" * 40)
    return [*ids, *fought(root, first, built(first, "d" * 40), 0.9)]


def mutate(root, ident, chance):
    """Damage one result; returns what was done, in words."""
    place = Store(root).place(ident)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    kind = chance.choice(("value",) * 12 + ("raw", "raw", "bytes", "file", "sums"))
    ways = {"value": _value, "raw": _raw, "bytes": _bytes, "file": _file, "sums": _sums}
    change = ways[kind](place, chance)
    if kind in ("value", "raw", "bytes"):
        write_sums(place)
    return f"{ident}: {change}"


def _places(value, path=()):
    """Every place of a document, as ways to it."""
    yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _places(part, (*path, key))
    elif isinstance(value, list):
        for key, part in enumerate(value[:2]):
            yield from _places(part, (*path, key))


def _changed(document, way, change):
    if not way:
        return change(document)
    parent = document
    for key in way[:-1]:
        parent = parent[key]
    parent[way[-1]] = change(parent[way[-1]])
    return document


def _way(document, chance):
    """A place, the short ways as often as the many long ones."""
    places = list(_places(document))
    depth = chance.choice(sorted({len(place) for place in places}))
    return chance.choice([place for place in places if len(place) == depth])


def _value(place, chance):
    path = place / "result.json"
    document = json.loads(path.read_bytes())
    changes = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        way = _way(document, chance)
        how = chance.choice(("put", "put", "put", "drop", "add", "scale", "double"))
        value = chance.choice(VALUES)
        alike = chance.random()

        def change(old, how=how, value=value, alike=alike):
            if how == "put" and alike < 0.7:  # of its type, which more often decodes
                same = [item for item in VALUES if type(item) is type(old)]
                return chance.choice(same) if same else value
            if how == "scale" and isinstance(old, int | float) and not isinstance(old, bool):
                return old * value if isinstance(value, float) else -old
            if how == "double" and isinstance(old, list):
                return old + old
            if how == "add" and isinstance(old, dict):
                return {**old, chance.choice(("x", "", "a" * 300, "../x", "<b>")): value}
            if how == "drop":
                return type(old)() if old is not None else {}
            return value

        document = _changed(document, way, change)
        changes.append(f"{how} {'.'.join(map(str, way))} {str(value)[:40]!r}")
    path.write_text(json.dumps(document))
    return "; ".join(changes)


def _raw(place, chance):
    path = place / "result.json"
    document = json.loads(path.read_bytes())
    way, text = _way(document, chance), chance.choice(RAW)
    document = _changed(document, way, lambda _: _HOLE)
    path.write_text(json.dumps(document).replace(f'"{_HOLE}"', text))
    return f"raw {'.'.join(map(str, way))} {text[:20]}"


def _bytes(place, chance):
    path = place / "result.json"
    content = bytearray(path.read_bytes())
    how = chance.choice(("cut", "flip", "empty", "latin", "bom", "nul"))
    at = chance.randrange(len(content))
    if how == "cut":
        content = content[:at]
    elif how == "flip":
        for _ in range(5):
            content[chance.randrange(len(content))] = chance.randrange(256)
    elif how == "latin":
        content[at:at] = b"\xe9\xff"
    else:
        content = {"empty": b"", "bom": b"\xef\xbb\xbf" + content, "nul": bytes(100)}[how]
    path.write_bytes(bytes(content))
    return f"bytes {how} {at}"


def _file(place, chance):
    path = place / chance.choice(FILES)
    how = chance.choice(("gone", "folder", "loop", "zero", "pipe", "long"))
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "loop":
        path.symlink_to(path)
    elif how == "zero":
        path.symlink_to("/dev/zero")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "long":
        path.symlink_to("a" * 255)
    return f"{path.name} {how}"


def _sums(place, chance):
    path = place / "SHA256SUMS"
    content = chance.choice(
        (b"", b"\xff\xfe", b"a" * 300_000, b"0" * 64 + b"  result.json\n", b"\0" * 70, b"\n\n")
    )
    path.write_bytes(content)
    return f"sums {content[:20]!r}"


def archive_of(root, seed, template):
    """An archive with one damaged result beside good ones; returns that, and what was done."""
    chance = random.Random(seed)  # noqa: S311  # a simulation
    shutil.copytree(template, root, symlinks=True)
    ids = sorted(path.parent.name for path in root.glob("*/*/*/result.json"))
    own = [item for item in ids if not item.endswith("3f9a")]
    ident = chance.choice(own)
    return ident, mutate(root, ident, chance)
