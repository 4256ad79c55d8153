"""Zone files and query files on a disk, with what is known of them beside them.

They are made again only where the files there do not match the request: another kind or size,
another version of this program, or bytes that have changed since.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

from leaselab_dns_data.choice import LISTED, NAMES, shared
from leaselab_dns_data.errors import DataError
from leaselab_dns_data.kinds import kind_of, number

LIST = "zones.tsv"
KNOWN = "data.json"
_CHUNK = 1 << 20
_TOGETHER = 10_000
"""Pieces of text that are encoded and hashed at a time."""


class _Hashed:
    """Files that are written one after the other, and the hash of all of them."""

    def __init__(self) -> None:
        self._found = hashlib.sha256()

    def write(self, path: Path, texts: Iterable[str], name: str = "") -> None:
        """Write a file in one step; `name` is its name in the hash."""
        draft = path.with_name(f"{path.name}.new")
        if name:
            self._found.update(f"{name}\0".encode())
        with draft.open("wb") as file:
            for batch in _batches(texts):
                content = "".join(batch).encode("ascii")
                self._found.update(content)
                file.write(content)
        draft.chmod(0o644)
        draft.replace(path)

    @property
    def sha256(self) -> str:
        """The hash of what was written."""
        return self._found.hexdigest()


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch = []
    for text in texts:
        batch.append(text)
        if len(batch) == _TOGETHER:
            yield batch
            batch = []
    yield batch


def zones(folder: Path, data: str, size: int, address: str) -> dict:
    """Make the zone files of a kind of data in a folder; return their record.

    `sha256` is over each file's name and bytes, the list of zones last; `changed` says whether
    anything was written.
    """
    kind = kind_of(data, size)
    if kind.at_address != bool(address):
        wanted = "the server's own" if kind.at_address else "none, its zones hold no address"
        raise DataError(f"--address {address or 'not given'} for {data} (wanted {wanted})")
    asked = {"data": data, "size": size, "address": address, "program": program_sha256()}
    if found := _kept(folder / KNOWN, asked, lambda: _sha256_of(folder)):
        return found
    _empty(folder)
    (folder / KNOWN).write_text(json.dumps({"asked": asked}) + "\n", encoding="utf-8")
    hashed, counts = _Hashed(), {}
    for name, pieces in kind.files(size, address):
        counts[name] = 0
        hashed.write(folder / name, _counted(pieces, counts, name), name)
    number_of = {"zones": 0, "records": 0}
    hashed.write(folder / LIST, _listed(kind.zones(size), counts, number_of), LIST)
    made = {"sha256": hashed.sha256, **number_of}
    return _remember(folder / KNOWN, asked, made)


def _empty(folder: Path) -> None:
    """Make an empty folder for zone files; raises DataError for one with other files."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    files = list(folder.iterdir())
    if files and not (folder / KNOWN).exists():
        raise DataError(f"--folder {folder} (found other files in it, wanted an empty one)")
    for path in files:  # those of another size, or of an interrupted call
        if path.name != KNOWN:
            path.unlink()


def _counted(pieces: Iterable[tuple[str, int]], counts: dict, name: str) -> Iterator[str]:
    for text, records in pieces:
        counts[name] += records
        yield text


def _listed(pairs: Iterable[tuple[str, str]], counts: dict, number_of: dict) -> Iterator[str]:
    for zone, file in pairs:
        number_of["zones"] += 1
        number_of["records"] += counts[file]
        yield f"{zone}\t{file}\n"


def queries(
    file: Path,
    data: str,
    size: int,
    *,
    names: str,
    misses: Fraction,
    updates: Fraction,
    count: int,
) -> dict:
    """Make a file of queries, one a line; return its record.

    `sha256` is the file's own, `distinct` the number of different names in it, `misses` of how
    many lines the name does not exist.  A share of the lines are `updates`, without `misses`.
    """
    kind = kind_of(data, size)
    if count < 1:
        raise DataError(f"--count {count} (wanted one at least)")
    if not 0 <= misses <= 1:
        raise DataError(f"--misses {misses} (wanted a share, 0 to 1)")
    if not 0 <= updates <= 1 or (updates and (misses or not kind.updated)):
        raise DataError(
            f"--updates {updates} (wanted a share, 0 to 1, of delegations and without --misses)"
        )
    asked = {
        "data": data,
        "size": size,
        "names": names,
        "misses": str(misses),
        "updates": str(updates),
        "count": count,
        "program": program_sha256(),
    }
    forms = (f"{kind.asked} A\n", f"{kind.missing} A\n", f"{kind.updated}\n")
    seen = tuple(bytearray(size + 1) for _ in forms)
    missing, updating = shared(count, misses), shared(count, updates)
    chosen = (2 if next(updating) else int(is_missing) for is_missing in missing)
    lines = _lines(forms, NAMES[names](size, count), chosen, seen)
    made = {"queries": count, "misses": count * misses.numerator // misses.denominator}
    return _queries(file, asked, lines, seen, made)


def drawn(file: Path, lines: Path, *, names: str, count: int) -> dict:
    """Make a file of queries from the lines of another one; return its record.

    Queries that do not follow that file's order are drawn from its different lines.  `sha256`
    and `distinct` as of `queries`; which of the names do not exist is not known.
    """
    if count < 1:
        raise DataError(f"--count {count} (wanted one at least)")
    asked = {
        "lines": _sha256_of_files([lines]),
        "names": names,
        "count": count,
        "program": program_sha256(),
    }
    there = lines.read_text(encoding="ascii").splitlines()
    # A line may end with the time of its query, which makes no other one of it.
    different = dict.fromkeys(line.partition(" @")[0] for line in there)
    places = {query: number for number, query in enumerate(different)}
    chosen = there if names == LISTED else list(places)
    if not chosen:
        raise DataError(f"--lines {lines} (found none, wanted one at least)")
    seen = (bytearray(len(places)),)
    texts = _of(chosen, NAMES[names](len(chosen), count), places, seen[0])
    return _queries(file, asked, texts, seen, {"queries": count})


def _queries(file: Path, asked: dict, lines: Iterable[str], seen, made: dict) -> dict:
    """Write a file of queries, unless it lies there; `seen` marks what is in it."""
    known = file.with_name(f"{file.name}.json")
    if found := _kept(known, asked, lambda: _sha256_of_files([file])):
        return found
    file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    hashed = _Hashed()
    hashed.write(file, lines)
    distinct = sum(map(sum, seen))
    return _remember(known, asked, {"sha256": hashed.sha256, "distinct": distinct, **made})


def _of(chosen, numbers, places, seen):
    for one in numbers:
        line = chosen[one - 1]
        seen[places[line.partition(" @")[0]]] = 1
        yield f"{line}\n"


def _lines(forms, numbers, chosen, seen):
    for one, form in zip(numbers, chosen, strict=True):
        seen[form][one] = 1
        yield forms[form].format(number(one))


def program_sha256() -> str:
    """Return the hash of this program: another one may make other bytes."""
    folder = Path(__file__).parent
    return _sha256_of_files(sorted(folder.glob("*.py")))


def _kept(known: Path, asked: dict, sha256) -> dict | None:
    """Return the record of the files that are there, if they match the request."""
    try:
        found = json.loads(known.read_text(encoding="utf-8"))
        if found["asked"] == asked and found["made"]["sha256"] == sha256():
            return {**found["made"], "changed": False}
    except (OSError, ValueError, LookupError):
        pass  # nothing there, or what an interrupted call left
    return None


def _remember(known: Path, asked: dict, made: dict) -> dict:
    known.write_text(json.dumps({"asked": asked, "made": made}) + "\n", encoding="utf-8")
    known.chmod(0o644)
    return {**made, "changed": True}


def _sha256_of(folder: Path) -> str:
    """Return the hash of a folder of zone files, as they were written."""
    found = hashlib.sha256()
    names = [path.name for path in folder.iterdir() if path.name not in (LIST, KNOWN)]
    for name in (*_in_order(folder, names), LIST):
        found.update(f"{name}\0".encode())
        _add(found, folder / name)
    return found.hexdigest()


def _in_order(folder: Path, names: list[str]) -> list[str]:
    """Return file names in the order of the list of zones, which is that of their making."""
    with (folder / LIST).open(encoding="ascii") as lines:
        listed = dict.fromkeys(line.rstrip("\n").split("\t")[1] for line in lines)
    if set(listed) != set(names):
        raise DataError("files that are in no list")
    return list(listed)


def _sha256_of_files(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        _add(found, path)
    return found.hexdigest()


def _add(found, path: Path) -> None:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
