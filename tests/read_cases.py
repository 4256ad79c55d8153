"""What is read of files of queries, zones and clients, as cases say it (`tests.cases`).

A file of `text` is read as `reads` says: queries, a zone, or one whose name is known, which
begins with its SOA and NS; `+name` is a file beside it.  The facts are queries, or records of a
zone and what is asked of it (`shows: lines`: its text in full).  Of clients a row has what is
in a sound file, and what is there instead.
`python -m tests.read_cases --renew` writes the facts as they are now: read the difference.
"""

import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import captures
from tests.cases import filled, renew
from tests.own_cases import refusal

from leaselab.inputs.clients.file import read_clients
from leaselab.inputs.queries.file import read_queries
from leaselab.inputs.queries.of_zones import queries_of
from leaselab.inputs.queries.zone_lines import text_in_full
from leaselab.inputs.queries.zones import read_zone, zone_of
from leaselab.model.errors import LeaselabError, Outcome

HEAD = "$TTL 60\n@ SOA a. b. 1 2 3 4 5\n@ NS a.\n"


@cache
def sound_clients():
    """What `leaselab clients` writes of a capture."""
    with TemporaryDirectory() as folder:
        captures.counted(Path(folder), captures.isp().pcap())
        return (Path(folder) / "c.yml").read_text(encoding="utf-8")


def facts_of(_case, row, places, folder):
    """The facts of a row, whose files are written in an empty folder."""
    for key, text in places.items():
        if key.startswith("+"):
            (folder / key[1:]).parent.mkdir(parents=True, exist_ok=True)
            (folder / key[1:]).write_text(_written(text), "latin-1")
    try:
        return _read(row, places, folder)
    except LeaselabError as error:
        refused = error
    assert refused.outcome is Outcome.USAGE
    text = str(refused).replace(f"{folder}/file: ", "").replace(f"{folder}/", "")
    return refusal(re.sub(r"(?<=[\w\]]): (?=[\w.\[\]]+: )", ".", text))


def _written(text, row=""):
    return filled(text, row, joint="").replace("\\t", "\t").replace("\\r", "\r")


def _read(row, places, folder):
    reads, _, name = places.get("reads", "clients").partition(" of ")
    file = folder / ("etc/bind/db" if name else "file")
    file.parent.mkdir(parents=True, exist_ok=True)
    if reads == "clients":
        old, new = (_written(part.strip()) for part in row.split("||"))
        assert old in sound_clients()
        file.write_text(sound_clients().replace(old, new, 1), encoding="utf-8")
        return str(read_clients(file))
    file.write_text(HEAD * bool(name) + _written(places["text"], row), "latin-1")
    if reads == "queries":
        queries = read_queries(file)
        return "; ".join([*queries.lines, *map(str, queries.times or ())])
    zone = zone_of(name, file, "--zone", (folder,)) if name else read_zone(str(file))
    if "lines" in places.get("shows", ""):
        text = text_in_full(file, zone.name, zone.within).decode()
        return f"{zone.records}: {' | '.join(text.removeprefix(HEAD).split())}"
    apex = re.compile(rf"(^|\.){re.escape(zone.name)} ")
    asked = sorted(apex.sub(r"\1@ ", query) for query in queries_of([zone]))
    return f"{zone.name} {zone.records}: {'; '.join(asked)}"


if __name__ == "__main__" and sys.argv[1:] == ["--renew"]:
    for each in ("queries", "clients"):
        renew(each, facts_of)
