"""The row of a result in the index, for lists, histories and exports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leaselab.archive.checksums import MEND
from leaselab.archive.disk import content_of
from leaselab.archive.running import RESULT
from leaselab.archive.schema import decode
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.identity import Conditions, ruler_of
from leaselab.model.record import Record
from leaselab.model.source import public_address

Row = dict[str, Any]
"""One line of the index, by column name; values are JSON's."""
UNREADABLE = "unreadable"
"""Outcome in the row of a result whose result.json cannot be read."""
_LISTED: Mapping[str, Callable[[Record], object]] = {
    "id": lambda record: record.id,
    "started_at": lambda record: record.started_at,
    "finished_at": lambda record: record.finished_at,
    "scenario": lambda record: record.scenario.name,
    "procedure": lambda record: record.procedure.name,
    "server": lambda record: record.server.name,
    "version": lambda record: record.server.version,
    "commit": lambda record: record.server.commit,
    "durability": lambda record: record.server.durability,
    "bench": lambda record: record.bench.name,
    "outcome": lambda record: record.outcome,
    # the main metric of the procedure; its value is null without a figure
    "metric": lambda record: record.figure.name,
    "unit": lambda record: record.figure.unit,
    "value": lambda record: record.figure.value,
}
_MORE: Mapping[str, Callable[[Record], object]] = {
    # in a calibrating duel: slowdown of B
    "slowdown": lambda record: record.experiment and record.experiment.slowdown,
    "environment": lambda record: record.bench.environment,
    "release": lambda record: record.release,
    "author_date": lambda record: record.source and record.source.author_date,
    # of the commit: the committer's date, or the author's where only that is known
    "commit_date": lambda record: record.source and record.source.date,
    "subject": lambda record: record.source and record.source.subject,
    "repository": lambda record: record.source and public_address(record.source.repository),
    # such as the tag of a release, where the commit has one
    "described": lambda record: record.source and record.source.described,
    # 1: a checkout with uncommitted changes
    "dirty": lambda record: int(bool(record.source and record.source.dirty)),
    # JSON: the procedure, as far as results of another one are not compared
    "ruler": lambda record: ruler_of(record.procedure),
    # hash of the commit that the generator was built from
    "generator": lambda record: Conditions.of_record(record).generator,
    "reasons": lambda record: " ".join(reason.word for reason in record.reasons),
    "better": lambda record: record.figure.better,
    # 95 % interval of the metric
    "ci_low": lambda record: record.figure.ci95 and record.figure.ci95[0],
    "ci_high": lambda record: record.figure.ci95 and record.figure.ci95[1],
    "standard_error": lambda record: record.figure.standard_error,
    # JSON: [value or null, dropped] of each round
    "rounds": lambda record: json.dumps(
        [
            [value, place in record.figure.dropped]
            for place, value in enumerate(record.values(record.figure.name))
        ]
    ),
    # JSON: [value, low and high of the interval, unit] by the name of each metric
    "metrics": lambda record: json.dumps(
        {
            each.name: [each.value, *(each.ci95 or (None, None)), each.unit]
            for each in record.figures
        }
    ),
    # JSON: the words for each metric by its name
    "titles": lambda record: json.dumps({each.name: each.title for each in record.figures}),
    "wall_s": lambda record: record.wall_s,
    "experiment": lambda record: record.experiment and record.experiment.id,
    # id of the result of the fixed reference with which its rounds alternated
    "anchor": lambda record: record.anchor,
    # keys of the builds that it refers to
    "builds": lambda record: " ".join(sorted(_builds(record))),
}
LISTED = (*_LISTED, "path")
"""Columns of a list."""
PLACE = ("scenario", "procedure", "durability")
"""Columns that identify a point: only its newest result is shown."""
_BUILT = re.compile(r"/builds/([0-9a-f]{24})/")
COLUMNS = (*LISTED, *_MORE)
"""All columns, which suffice for a history without reading result.json."""


def _builds(record: Record) -> set[str]:
    """Keys of the builds of its servers and its generator, whose path has its key."""
    builds = (server.build for server in record.servers.values())
    keys = {build.key for build in builds if build and build.key}
    return keys | set(_BUILT.findall(str(record.generator.options.get("path"))))


def row_of(record: Record, path: str) -> Row:
    """The index row of a result that lies at `path` below the results folder."""
    known: Row = {"path": path}
    return known | {name: value_of(record) for name, value_of in {**_LISTED, **_MORE}.items()}


def read_row(root: Path, path: str) -> tuple[Row, str]:
    """The row of the result at `path`, and why it cannot be read, or an empty text.

    The row of an unreadable result has the outcome `UNREADABLE`.
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
    known = {"id": name, "path": path, "outcome": UNREADABLE}
    return (
        dict.fromkeys(COLUMNS) | known | dict.fromkeys(("started_at", "finished_at"), started)
    ), why
