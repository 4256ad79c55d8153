"""One result on a terminal or in a pipe."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from leaselab.analysis.credibility import flags, level_of
from leaselab.analysis.summary import PERCENTILES, latencies, other_cpu_us
from leaselab.model.errors import Outcome
from leaselab.model.record import PARTNER, Metric, Record, Round
from leaselab.model.server import server_name
from leaselab.model.trial import KIND_NAMES, Part
from leaselab.report.console import Console
from leaselab.report.facts import confirmation_words, facts, shown_where, steps_of, whole_of
from leaselab.report.listing import measured, number, span
from leaselab.report.units import in_shown_units

_NONE = "-"
CPU = "cpu_us"
"""The metric with which the CPU time of companion services is shown."""
_WORST_MINUTES = 10
"""Minutes of a replay that are listed at the most."""
_PIPE_WIDTH = 10_000
"""Columns of a pipe: its lines are never folded, so that grep finds whole ones."""
_GAP = 2
"""Between two columns of a table."""
Column = tuple[str, ...]
"""Its title, and a cell for each row."""


def print_result(
    record: Record,
    path: Path,
    stream: TextIO | None = None,
    *,
    why: bool = True,
    whole: bool = False,
) -> None:
    """Print a result; `path` is its directory, `stream` stdout unless given.

    `whole` adds steps, latency and provenance.  Without `why`, errors are shown by their words
    only, as the sentences are printed elsewhere.  A terminal gets rules and colours,
    and only the columns that fit; a pipe gets plain lines.
    """
    stream = stream or sys.stdout
    (record,) = in_shown_units([record])
    console = Console(file=stream, highlight=False, soft_wrap=False)
    if console.is_terminal:
        shape = _Shape(console.width, ruled=True)
        console.print(_result(record, path, shape, why=why, whole=whole))
        return
    plain = Console(
        file=stream, highlight=False, color_system=None, force_terminal=False, width=_PIPE_WIDTH
    )
    shape = _Shape(_PIPE_WIDTH, ruled=False)
    with plain.capture() as capture:
        plain.print(_result(record, path, shape, why=why, whole=whole))
    for line in capture.get().rstrip().splitlines():
        stream.write(line.rstrip() + "\n")


@dataclass(frozen=True)
class _Shape:
    """How tables look."""

    width: int
    """Of a line (columns)."""
    ruled: bool

    def table(self) -> Table:
        """Return an empty table."""
        return Table(
            box=box.SIMPLE_HEAD if self.ruled else None,
            show_edge=False,
            padding=(0, 1, 0, 0) if self.ruled else (0, 1),
            pad_edge=False,
            header_style="bold" if self.ruled else "",
        )

    def fitting(self, columns: Sequence[Column], needed: int, reserve: int = 0) -> int:
        """How many of the columns fit: the `needed` first, and those after them that do.

        `reserve` is the width that another column needs (columns of a line).
        """
        left = self.width - reserve
        for place, column in enumerate(columns):
            left -= max(map(len, column)) + _GAP
            if left + _GAP < 0 and place >= needed:
                return place
        return len(columns)


def _result(
    record: Record, path: Path, shape: _Shape, *, why: bool, whole: bool
) -> RenderableType:
    parts: list[RenderableType] = [*_headline(record, why=why), Text()]
    if record.rounds:
        parts += [Text("Runs", style="bold"), *_rounds(record, shape), Text()]
    steps = _steps(record, shape)
    if steps:
        parts += [Text("Steps", style="bold"), *steps, Text()]
    minutes = _worst_minutes(record, shape)
    if minutes is not None:
        parts += [Text("Worst minutes", style="bold"), minutes, Text()]
    if not whole:
        return Group(*parts, _pairs([("result", str(path))]))
    latency = _latency(record, shape)
    kinds = _kinds(record, shape)
    if kinds is not None:
        title = f"Kinds of {record.scenario.transaction.plural}{shown_where(record)}"
        parts += [Text(title, style="bold"), kinds, Text()]
    if latency is not None:
        title = f"Latency{shown_where(record)} (ms, median of the runs)"
        parts += [Text(title, style="bold"), latency, Text()]
    known = [(flag.word, flag.text) for flag in flags(record) if flag.level == "known"]
    if known:
        parts += [Text("Notes on this result", style="bold"), _pairs(known), Text()]
    parts += [Text("Provenance", style="bold"), _pairs(facts(record, path))]
    return Group(*parts)


def _headline(record: Record, *, why: bool) -> Iterator[RenderableType]:
    name = f"{record.scenario.name} · {server_name(record.server)}"
    if record.server.durability:
        name += f" · durability {record.server.durability}"
    if record.outcome != Outcome.OK.label:
        yield Text(f"{name}: {record.outcome}", style="bold red")
        for reason in record.reasons:
            text = f"{reason.word}: {reason.text}" if why else reason.word
            yield _indented(text, style="red")
    figure = record.figure
    if figure.value is None:
        refused = record.refused_figure
        words = f"not to be relied on: {figure_words(refused)}" if refused else ""
        yield _indented(words or _why_none(record))
        if record.at_least:
            passed = f"{record.at_least:.0f} {record.scenario.transaction.plural}/s"
            yield _indented(f"the runs that were made passed {passed}")
    else:
        yield Text(f"{name}: {figure_words(figure)}", style="bold green")
        known = flags(record)
        yield from map(_indented, _how_known(figure, level_of(known)))
        for flag in known:
            if flag.level == "doubt":
                yield _indented(f"{flag.word}: {flag.text}", style="yellow")
    load = record.scenario.load
    if "family" in load and load.get("clients"):
        yield _indented(f"{load['clients']} clients come back in turn")
    if record.confirmation:
        yield _indented(confirmation_words(record))
    yield _indented(_cost(record))


def _why_none(record: Record) -> str:
    figure, planned = record.figure, record.procedure.rounds
    measured = sum(value is not None for value in record.values(figure.name))
    if measured == planned:
        return f"no {figure.title}: {measured} runs measured one, which was not confirmed"
    return f"no {figure.title}: {measured} of {planned} runs measured theirs"


def figure_words(metric: Metric) -> str:
    """A metric with half of its interval, where it has one, and its unit."""
    return f"{measured(metric.value, metric.unit, metric.half_width)} {metric.unit}"


def _how_known(metric: Metric, level: str) -> Iterator[str]:
    n, trim = metric.n, metric.trim
    if trim:
        dropped = f"{trim} highest and {trim} lowest dropped"
        yield f"{metric.title}, {metric.how} of {n} runs, {dropped}"
    elif n == 1:
        yield f"{metric.title} of one run"
    else:
        yield f"{metric.title}, {metric.how.removeprefix('trimmed ')} of {n} runs"
    known = []
    if metric.ci95 is not None:
        low, high = (number(end, metric.unit, metric.value) for end in metric.ci95)
        known.append(f"95 % interval {low} to {high}")
    if metric.spread is not None:
        known.append(f"standard deviation of runs {100 * metric.spread:.1f} %")
    yield "; ".join([*known, f"trust: {level}"])


def _cost(record: Record) -> str:
    """The metrics besides the figure, except rates like it, and how the time was spent."""
    rate = f"{record.scenario.transaction.plural}/s"
    parts = []
    for metric in whole_of(record)[1:]:
        if metric.value is not None and not metric.unit == record.figure.unit == rate:
            texts = [f"{metric.title} {figure_words(metric)}"]
            if metric.name == CPU:
                others = other_cpu_us(record.rounds, record.procedure)
                texts += [
                    f"{_whose(record, name)} {value:.0f} µs" for name, value in others.items()
                ]
            parts.append(", ".join(texts))
    took = f"measured in {span(record.wall_s)}"
    if record.traffic_share is not None:
        took += f", {100 * record.traffic_share:.0f} % of it traffic"
    return "; ".join([*parts, took])


def _whose(record: Record, name: str) -> str:
    """The owner of a CPU time: a supporting service is named by its kind, not by its host."""
    support = record.scenario.support
    return name.replace(PARTNER, support.kind, 1) if support else name


def _rounds(record: Record, shape: _Shape) -> Iterator[RenderableType]:
    """A line for each round, with as many columns as fit."""
    dropped = [place in record.figure.dropped for place in range(len(record.rounds))]
    remarks = [
        _remark(round_, record.figure, dropped=out)
        for round_, out in zip(record.rounds, dropped, strict=True)
    ]
    columns, needed = _round_columns(record)
    longest = max((len(word) for remark in remarks for word in remark.split()), default=0)
    fit = shape.fitting(columns, needed, longest + _GAP)
    table = shape.table()
    for title, *_ in columns[:fit]:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    rows = list(zip(*columns[:fit], strict=True))[1:]
    for cells, remark, out in zip(rows, remarks, dropped, strict=True):
        table.add_row(*cells, remark, style="dim" if out else "")
    yield table
    yield from _left_out(columns[fit:])


def _round_columns(record: Record) -> tuple[list[Column], int]:
    """The columns of rounds, the most needed first, and how many have to be shown.

    Metrics in the figure's unit come before the number of trials, the others after it.
    """
    figure, *others = whole_of(record)
    rounds = record.rounds

    def column(title: str, metric: Metric) -> Column:
        return (title, *(_value(round_, metric) for round_ in rounds))

    needed = [("run", *(str(round_.index) for round_ in rounds)), column(figure.title, figure)]
    if any(round_.bracket for round_ in rounds):
        needed.append(("bracket", *(_bracket(round_, figure) for round_ in rounds)))
    alike = [
        column(_other_words(other, figure), other)
        for other in others
        if other.unit == figure.unit
    ]
    trials = ("trials", *(str(len(round_.trials)) for round_ in rounds))
    beside = [
        column(f"{other.title} {other.unit.partition(' ')[0]}", other)
        for other in others
        if other.unit != figure.unit
    ]
    return [*needed, *alike, trials, *beside], len(needed)


def _left_out(columns: Sequence[Column]) -> Iterator[RenderableType]:
    """Name the columns for which the terminal is too narrow."""
    if columns:
        names = ", ".join(title for title, *_ in columns)
        yield _indented(f"not shown at this width: {names}", style="dim")


def _steps(record: Record, shape: _Shape) -> list[RenderableType]:
    """A line for each step; nothing where there are none."""
    known = steps_of(record)
    if not known.steps:
        return []
    columns: list[Column] = [
        ("step", *(step.title.removeprefix("step ") for step in known.steps))
    ]
    for place, (title, unit) in enumerate(known.headings):
        metrics = (step.metrics[place] for step in known.steps)
        figures = (measured(metric.value, metric.unit, metric.half_width) for metric in metrics)
        columns.append((f"{title} {unit.partition(' ')[0]}", *figures))
    fit = shape.fitting(columns, needed=2)
    table = shape.table()
    for place, (title, *_) in enumerate(columns[:fit]):
        table.add_column(title, justify="right" if place else "left", no_wrap=True)
    for row in list(zip(*columns[:fit], strict=True))[1:]:
        table.add_row(*row)
    return [table, *_left_out(columns[fit:])]


def _worst_minutes(record: Record, shape: _Shape) -> Table | None:
    """The worst minutes of all runs of a replay, the worst first; None without any."""
    known = [
        (round_.index, minute, part)
        for round_ in record.rounds
        for trial in round_.trials
        for minute, part in enumerate(trial.parts, start=1)
        if part.attempted
    ]
    if not known:
        return None
    worst = sorted(known, key=lambda row: row[2].badness, reverse=True)[:_WORST_MINUTES]
    return _parts("minute", worst, shape)


def _kinds(record: Record, shape: _Shape) -> Table | None:
    """Each kind of transactions in the trial shown of each run; None where there is one."""
    known = [
        (round_.index, KIND_NAMES[word], part)
        for round_ in record.rounds
        if round_.shown
        for word, part in round_.shown.kinds.items()
    ]
    return _parts("kind", known, shape) if known else None


def _parts(heading: str, rows: Sequence[tuple[int, object, Part]], shape: _Shape) -> Table:
    table = shape.table()
    for title in ("run", heading, "started", "completed", "late", "failed", "loss %", "p99 ms"):
        table.add_column(title, justify="right", no_wrap=True)
    for run, name, part in rows:
        counts = (run, name, part.attempted, part.completed, part.late, part.failed)
        p99 = _NONE if part.p99_s is None else f"{1000 * part.p99_s:.2f}"
        table.add_row(*map(str, counts), f"{100 * part.loss_ratio:.2f}", p99)
    return table


def _value(round_: Round, metric: Metric) -> str:
    return number(round_.metrics.get(metric.name), metric.unit)


def _other_words(metric: Metric, figure: Metric) -> str:
    """The title without the words that the figure's title has already."""
    words = [word for word in metric.title.split() if word not in figure.title.split()]
    return " ".join(words) or metric.title


def _bracket(round_: Round, figure: Metric) -> str:
    if round_.bracket is None:
        return _NONE
    ends = (round_.bracket.lower, round_.bracket.upper)
    return "-".join(number(end, figure.unit) for end in ends)


def _remark(round_: Round, figure: Metric, *, dropped: bool) -> str:
    remarks = []
    value = round_.metrics.get(figure.name)
    if dropped and value is not None and figure.value is not None:
        remarks.append(f"dropped: {'highest' if value > figure.value else 'lowest'}")
    otherwise = Counter[str]()
    for trial in round_.trials:
        otherwise.update(trial.failures)
    if otherwise:
        counted = ", ".join(f"{count} {kind}" for kind, count in otherwise.most_common())
        remarks.append(f"answered otherwise: {counted}")
    bad = [trial.reason for trial in round_.trials if not trial.valid]
    if bad:
        remarks.append(f"{len(bad)} not valid: {', '.join(sorted(set(bad)))}")
    return "; ".join(remarks)


def _latency(record: Record, shape: _Shape) -> Table | None:
    by_stage = latencies(record)
    if not by_stage:
        return None
    table = shape.table()
    table.add_column("stage", no_wrap=True)
    for column in PERCENTILES:
        table.add_column(column, justify="right", no_wrap=True)
    for stage, values in by_stage.items():
        table.add_row(stage, *(f"{1000 * value:.2f}" for value in values))
    return table


def _pairs(lines: Iterable[tuple[str, str]]) -> Table:
    """Labels and their words, which are folded where a terminal is narrow."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in lines:
        table.add_row(Text(f"  {label}", style="dim"), Text(value))
    return table


def _indented(text: str, style: str = "") -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, 2))
