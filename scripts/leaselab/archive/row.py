"""The row of a result in the index: what lists, histories and exports ask of it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leaselab.archive.checksums import MEND
from leaselab.archive.disk import content_of
from leaselab.archive.running import RESULT
from leaselab.archive.schema import decode
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.identity import Conditions, ruler_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from leaselab.model.record import Record

Row = dict[str, Any]
"""One line of the index, by column name; values are JSON's."""
UNREADABLE = "unreadable"
"""Stands for the outcome of a result whose result.json cannot be read."""
_LISTED: Mapping[str, Callable[[Record], object]] = {
    "id": lambda one: one.id,
    "started_at": lambda one: one.started_at,
    "finished_at": lambda one: one.finished_at,
    "scenario": lambda one: one.scenario.name,
    "procedure": lambda one: one.procedure.name,
    "server": lambda one: one.server.name,
    "version": lambda one: one.server.version,
    "commit": lambda one: one.server.commit,
    "durability": lambda one: one.server.durability,
    "bench": lambda one: one.bench.name,
    "outcome": lambda one: one.outcome,
    # what the procedure is about; its value is null where the result came to none
    "metric": lambda one: one.figure.name,
    "unit": lambda one: one.figure.unit,
    "value": lambda one: one.figure.value,
}
_MORE: Mapping[str, Callable[[Record], object]] = {
    # of a duel that calibrates: by how much B was slowed down
    "slowdown": lambda one: one.experiment and one.experiment.slowdown,
    "environment": lambda one: one.bench.environment,
    "release": lambda one: one.release,
    "author_date": lambda one: one.source and one.source.author_date,
    # of the commit: that of the committer, or of the author where only that is known
    "commit_date": lambda one: one.source and one.source.date,
    "subject": lambda one: one.source and one.source.subject,
    # such as the tag of a release, where the commit has one
    "described": lambda one: one.source and one.source.described,
    # 1: a checkout with changes that no commit has
    "dirty": lambda one: int(bool(one.source and one.source.dirty)),
    # JSON: the procedure, as far as results of another one are not compared
    "ruler": lambda one: ruler_of(one.procedure),
    # hash of the commit that the generator was built from
    "generator": lambda one: Conditions.of_record(one).generator,
    "reasons": lambda one: " ".join(reason.word for reason in one.reasons),
    "better": lambda one: one.figure.better,
    # 95 % interval of the metric
    "ci_low": lambda one: one.figure.ci95 and one.figure.ci95[0],
    "ci_high": lambda one: one.figure.ci95 and one.figure.ci95[1],
    "standard_error": lambda one: one.figure.standard_error,
    # JSON: [value or null, dropped] of each round
    "rounds": lambda one: json.dumps(
        [
            [value, place in one.figure.dropped]
            for place, value in enumerate(one.values(one.figure.name))
        ]
    ),
    # JSON: [value, low and high of the interval, unit] by the name of each metric
    "metrics": lambda one: json.dumps(
        {
            each.name: [each.value, *(each.ci95 or (None, None)), each.unit]
            for each in one.metrics
        }
    ),
    # JSON: the words for each metric by its name
    "titles": lambda one: json.dumps({each.name: each.title for each in one.metrics}),
    "wall_s": lambda one: one.wall_s,
    "experiment": lambda one: one.experiment and one.experiment.id,
    # id of the result of the fixed reference that its rounds took turns with
    "anchor": lambda one: one.anchor,
    # keys of the builds that it names
    "builds": lambda one: " ".join(sorted(_builds(one))),
}
LISTED = (*_LISTED, "path")
"""Columns of a list."""
PLACE = ("scenario", "procedure", "durability")
"""Columns by which results take each other's place: the newest of each is shown."""
_BUILT = re.compile(r"/builds/([0-9a-f]{24})/")
COLUMNS = (*LISTED, *_MORE)
"""All columns: what a history shows, so that it reads no result.json."""


def _builds(record: Record) -> set[str]:
    """Keys of the builds of its servers and its generator, whose path has its key."""
    keys = {one.build.key for one in record.servers.values() if one.build and one.build.key}
    return keys | set(_BUILT.findall(str(record.generator.options.get("path"))))


def row_of(record: Record, path: str) -> Row:
    """The index row of a result that lies at `path` below the results folder."""
    known: Row = {"path": path}
    return known | {name: value_of(record) for name, value_of in {**_LISTED, **_MORE}.items()}


def read_row(root: Path, path: str) -> tuple[Row, str]:
    """The row of the result at `path`, and why it cannot be read; empty where it can.

    One that cannot be read has a row that says so.
    """
    name = path.rpartition("/")[2]
    place = root / path / RESULT
    try:
        record = decode(content_of(place), str(place))
        if record.id != name:
            raise usage_error(
                "not the result of its folder",
                where=str(place),
                found=record.id,
                wanted=name,
                todo="give the folder its name",
            )
        return row_of(record, path), ""
    except OSError as error:
        why = str(
            usage_error(
                "cannot be read",
                where=str(place),
                found=error.strerror or str(error),
                todo=MEND,
            )
        )
    except LeaselabError as error:
        why = str(error)
    started = f"{name[:4]}-{name[4:6]}-{name[6:11]}:{name[11:13]}:{name[13:16]}"
    told = {"id": name, "path": path, "outcome": UNREADABLE}
    return (
        dict.fromkeys(COLUMNS) | told | dict.fromkeys(("started_at", "finished_at"), started)
    ), why
