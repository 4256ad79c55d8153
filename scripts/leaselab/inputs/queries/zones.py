"""A user's own zone files: as far as one must know them to have a server serve them."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from leaselab.archive.disk import PRIVATE, drafted
from leaselab.catalog.plain_file import not_read, unpacking
from leaselab.inputs.queries.names import absolute, written, zone_name
from leaselab.inputs.queries.zone_lines import lines_in_full, text_in_full
from leaselab.model.errors import LeaselabError, usage_error

_TOKEN = re.compile(r'"(?:\\.|[^"\\]++)*+"|;.*|[()]|(?:\\.|[^\s();"\\]++)++|\S')
_BEFORE = re.compile(r"[0-9][0-9smhdw]*|in|ch|hs|class[0-9]+", re.IGNORECASE)
_ORIGIN, _SOA = "$ORIGIN", "SOA"
_MADE_S = 1_700_000_000
"""When the kept files were written, the same always (s since 1970): a zone file of the time 0
is none to NSD."""


class Zone(NamedTuple):
    """A zone of a user."""

    name: str
    """With its last dot, in small letters."""
    path: Path
    records: int
    within: tuple[Path, ...] = ()
    """Folders that files which it includes may lie in; none for its own alone."""


def read_zone(word: str, also: tuple[Path, ...] = ()) -> Zone:
    """Read ``[NAME=]FILE``; the name is that of its SOA record where it is not given.

    `also` are files and folders outside its own that it may include.

    The records are counted, and their servers read them: they say what else is wrong.  Raises
    a usage error for what is no zone file, and for one whose zone is not known.
    """
    given, _, file = word.rpartition("=")
    return zone_of(given, Path(file), "--zone", (Path(file).parent, *also))


def zone_of(given: str, path: Path, where: str, within: tuple[Path, ...] = ()) -> Zone:
    """Read a zone file as `read_zone`; `where` is what gave the name, empty for none.

    `within` has the folders of files that it may include.
    """
    try:
        name = origin = zone_name(given) if given else ""
    except ValueError as error:
        raise usage_error(
            f"not a zone: {error}",
            where=where,
            found=given,
            wanted="the name of a zone, such as example.com",
        ) from error
    records, owner, has_soa = 0, "@", False
    for number, tokens, is_blank in entries(path, origin, within):
        if tokens[0].startswith("$"):
            origin = _directive(path, number, tokens, origin)
            continue
        records += 1
        owner = owner if is_blank else tokens[0]
        if record_type(tokens if is_blank else tokens[1:]) == _SOA:
            held = _absolute(path, number, owner, origin)
            if name and held != name:
                raise _of_another(path, number, held, name)
            name, has_soa = held, True
    if not has_soa:
        raise usage_error(
            "no SOA record in it",
            where=str(path),
            found=f"{records} records",
            wanted="a zone file",
            todo=unpacking(path),
        )
    return Zone(name, path, records, within)


def kept_zones(folder: Path, name: str) -> frozenset[str]:
    """Return the names of the zones of an archive that `keep_zones` made."""
    with tarfile.open(folder / f"{name}.tar") as archive:
        listed = archive.extractfile("zones.tsv")
        lines = listed.read().decode().splitlines() if listed else []
    return frozenset(line.partition("\t")[0] for line in lines)


def keep_zones(folder: Path, zones: Sequence[Zone], beside: Sequence[Zone] = ()) -> str:
    """Keep zones by their content in one archive; return its hash.

    It has the files, their list and what is known of them, as role dns_data makes its own.
    Files of zones `beside` them follow in their order, and are not in the list.
    Raises a usage error for a zone that is named twice.
    """
    ordered = sorted(zones)
    for one, other in pairwise(ordered):
        if one.name == other.name:
            raise usage_error(
                f"zone {one.name} is named twice", where=str(other.path), wanted="one file"
            )
    with drafted(folder / "zones") as draft:
        draft.touch(PRIVATE)
        _pack(draft, ordered, beside)
        with draft.open("rb") as file:
            name = hashlib.file_digest(file, "sha256").hexdigest()
        draft.replace(folder / f"{name}.tar")
    return name


def _pack(path: Path, listed: Sequence[Zone], beside: Sequence[Zone]) -> None:
    """Write the archive of `keep_zones`."""
    zones, hashed, lines = [*listed, *beside], hashlib.sha256(), ""
    with tarfile.open(path, mode="w") as archive:
        for number, zone in enumerate(zones):
            content = text_in_full(zone.path, zone.name, zone.within)
            lines += f"{zone.name}\t{number}.zone\n" if number < len(listed) else ""
            hashed.update(f"{zone.name}\0".encode() + content)
            _add(archive, f"{number}.zone", content)
        _add(archive, "zones.tsv", lines.encode())
        records = sum(zone.records for zone in zones)
        made = {"sha256": hashed.hexdigest(), "zones": len(zones), "records": records}
        made["last_zone"] = listed[-1].name
        _add(archive, "data.json", json.dumps({"asked": {}, "made": made}).encode())


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = len(content), 0o644, _MADE_S
    archive.addfile(entry, io.BytesIO(content))


def entries(
    path: Path, origin: str = "", within: tuple[Path, ...] = ()
) -> Iterator[tuple[int, list[str], bool]]:
    """The entries of a zone file: first line, words, and whether the line begins blank."""
    tokens: list[str] = []
    depth = first = 0
    is_blank = False
    try:
        for number, line in lines_in_full(path, origin, within=within):
            if not tokens and not depth:
                first, is_blank = number, line[:1].isspace()
            for word in _TOKEN.findall(line):
                if word == '"':
                    raise _wrong(path, number, "a text without an end", [line])
                depth += (word == "(") - (word == ")")
                is_name = not tokens and not is_blank
                tokens += [written(word) if is_name else word] if word[0] not in "();" else []
            if depth < 0:
                raise _wrong(
                    path, number, "a closing parenthesis without an opening one", [line]
                )
            if tokens and not depth:
                yield first, tokens, is_blank
                tokens = []
    except OSError as error:
        raise not_read(path, error) from error
    if depth:
        raise _wrong(path, first, "a parenthesis without an end", tokens)


def _directive(path: Path, number: int, tokens: Sequence[str], origin: str) -> str:
    """The origin after a directive."""
    if tokens[0].upper() != _ORIGIN:
        return origin
    return _absolute(path, number, written((*tokens, "")[1]), origin)


def record_type(words: Sequence[str]) -> str:
    """The type of a record, by what follows its owner: lifetime and class come first."""
    types = (word.upper() for word in words if not _BEFORE.fullmatch(word))
    return next(types, "")


def _absolute(path: Path, number: int, name: str, origin: str) -> str:
    """A name of a file, in full."""
    if not origin and not name.endswith("."):
        raise _unknown(path)
    try:
        return zone_name(absolute(name, origin))
    except ValueError as error:
        raise _wrong(path, number, f"not a name of a zone: {error}", [name]) from error


def _of_another(path: Path, number: int, owner: str, name: str) -> LeaselabError:
    is_relative = owner.endswith(f".{name}")
    return usage_error(
        "its SOA record is that of another zone",
        where=f"{path}:{number}",
        found=owner,
        wanted=name,
        todo="end the name with a dot, or write @" if is_relative else "",
    )


def _unknown(path: Path) -> LeaselabError:
    return usage_error(
        "the file does not say of which zone it is",
        where=str(path),
        wanted="$ORIGIN, or the full name before its SOA record",
        todo=f"name the zone: --zone NAME={path}",
    )


def _wrong(path: Path, number: int, what: str, tokens: Sequence[str]) -> LeaselabError:
    return usage_error(
        what,
        where=f"{path}:{number}",
        found=" ".join(tokens).strip()[:80],
        wanted="a zone file",
    )
