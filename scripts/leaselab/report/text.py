"""One result on a terminal or in a pipe."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from leaselab.analysis.comparison.profile import Spent
from leaselab.analysis.figures.credibility import flags, level_of
from leaselab.analysis.figures.summary import PERCENTILES, latencies, other_cpu_us
from leaselab.model.errors import Outcome
from leaselab.model.record import PARTNER, Metric, Record, Round
from leaselab.model.server import server_name
from leaselab.model.trial import KIND_NAMES, Part
from leaselab.report.console import Console
from leaselab.report.facts import confirmation_words, facts, shown_where, steps_rows, whole_of
from leaselab.report.listing import aligned, measured, number, span
from leaselab.report.profile import Table, counted_table, spent_tables
from leaselab.report.units import in_shown_units
from leaselab.report.width import folded, left_out

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
    spent: Sequence[Spent] = (),
) -> None:
    """Print a result; `path` is its directory, `stream` stdout unless given.

    `whole` adds steps, latency, provenance, and what each round was `spent` on.  Without
    `why`, errors are shown by their words only, as the sentences are printed elsewhere.  A
    terminal gets colours, and only the columns that fit; a pipe gets plain lines.
    """
    stream = stream or sys.stdout
    (record,) = in_shown_units([record])
    console = Console(file=stream, highlight=False, soft_wrap=False)
    if console.is_terminal:
        shape = _Shape(console.width, styled=True)
        console.print(_result(record, path, shape, why=why, whole=whole, spent=spent))
        return
    plain = Console(
        file=stream, highlight=False, color_system=None, force_terminal=False, width=_PIPE_WIDTH
    )
    shape = _Shape(_PIPE_WIDTH, styled=False)
    with plain.capture() as capture:
        plain.print(_result(record, path, shape, why=why, whole=whole, spent=spent))
    for line in capture.get().rstrip().splitlines():
        stream.write(line.rstrip() + "\n")


@dataclass(frozen=True)
class _Shape:
    """How tables look."""

    width: int
    """Of a line (columns)."""
    styled: bool

    def table(
        self,
        columns: Sequence[Column],
        names: int = 0,
        needed: int | None = None,
        remarks: Sequence[str] = (),
        dim: Sequence[bool] = (),
    ) -> Iterator[RenderableType]:
        """Lines of a table as `aligned` has it, and the columns that did not fit.

        The `needed` first ones, by default all, are there in any case.  `remarks` follow the
        rows; those that are `dim` count for nothing.
        """
        longest = max((len(word) for remark in remarks for word in remark.split()), default=0)
        reserve = longest + _GAP if remarks else 0
        fit = self._fitting(columns, len(columns) if needed is None else needed, reserve)
        headings, *rows = zip(*columns[:fit], strict=True)
        heading, *lines = (line.rstrip("\n") for line in aligned(headings, rows, names))
        yield Text(heading, style="bold" if self.styled else "", no_wrap=True)
        edge = max(map(len, (heading, *lines))) + _GAP
        for place, line in enumerate(lines):
            remark = remarks[place] if remarks else ""
            text = folded(line.ljust(edge) + remark, self.width, edge) if remark else line
            style = "dim" if dim and dim[place] else ""
            yield Text(text, style=style, no_wrap=True)
        if fit < len(columns):
            yield _indented(left_out(title for title, *_ in columns[fit:]), style="dim")

    def fields(self, lines: Iterable[tuple[str, str]]) -> Iterator[RenderableType]:
        """Labels and their words, which are folded where a terminal is narrow."""
        known = [*lines]
        edge = max((len(label) for label, _ in known), default=0) + 2 * _GAP
        for label, words in known:
            line = f"  {label}".ljust(edge) + words
            yield Text(folded(line, self.width, edge), no_wrap=True, overflow="fold")

    def _fitting(self, columns: Sequence[Column], needed: int, reserve: int) -> int:
        """How many of the columns fit: the `needed` first, and those after them that do.

        `reserve` is the width that remarks need (columns of a line).
        """
        left = self.width - reserve
        for place, column in enumerate(columns):
            left -= max(map(len, column)) + _GAP
            if left + _GAP < 0 and place >= needed:
                return place
        return len(columns)


def _result(
    record: Record,
    path: Path,
    shape: _Shape,
    *,
    why: bool,
    whole: bool,
    spent: Sequence[Spent],
) -> RenderableType:
    parts: list[RenderableType] = [*_headline(record, why=why), Text()]
    if record.rounds and record.procedure.counts_alone:
        parts += _table(counted_table(record), shape)
    elif record.rounds:
        parts += [Text("Runs", style="bold"), *_rounds(record, shape), Text()]
    if steps := steps_rows(record):
        columns = [*zip(*steps, strict=True)]
        parts += [Text(f"{steps[0][0].capitalize()}s", style="bold")]
        parts += [*shape.table(columns, names=1, needed=2), Text()]
    if minutes := _worst_minutes(record, shape):
        parts += [Text("Worst minutes", style="bold"), *minutes, Text()]
    if broken := [*_violations(record)]:
        parts += [Text("Violations", style="bold"), *broken, Text()]
    if not whole:
        return Group(*parts, *shape.fields([("result", str(path))]))
    if kinds := _kinds(record, shape):
        title = f"Kinds of {record.scenario.transaction.plural}{shown_where(record)}"
        parts += [Text(title, style="bold"), *kinds, Text()]
    if latency := _latency(record, shape):
        title = f"Latency{shown_where(record)} (ms, median of the runs)"
        parts += [Text(title, style="bold"), *latency, Text()]
    for table in spent_tables(spent, record.figure.unit) if spent else ():
        parts += _table(table, shape)
    known = [(flag.word, flag.text) for flag in flags(record) if flag.level == "known"]
    if known:
        parts += [Text("Notes on this result", style="bold"), *shape.fields(known), Text()]
    parts += [Text("Provenance", style="bold"), *shape.fields(facts(record, path))]
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
    for metric in () if record.procedure.counts_alone else whole_of(record)[1:]:
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


def _table(table: Table, shape: _Shape) -> list[RenderableType]:
    columns = [*zip(table.headings, *table.rows, strict=True)]
    return [Text(table.title, style="bold"), *shape.table(columns, names=1), Text()]


def _rounds(record: Record, shape: _Shape) -> Iterator[RenderableType]:
    """A line for each round, with as many columns as fit."""
    dropped = [place in record.figure.dropped for place in range(len(record.rounds))]
    remarks = [
        _remark(round_, record.figure, dropped=out)
        for round_, out in zip(record.rounds, dropped, strict=True)
    ]
    columns, needed = _round_columns(record)
    yield from shape.table(columns, needed=needed, remarks=remarks, dim=dropped)


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


def _worst_minutes(record: Record, shape: _Shape) -> list[RenderableType]:
    """The worst minutes of all runs of a replay, the worst first; nothing without any."""
    known = [
        (round_.index, minute, part)
        for round_ in record.rounds
        for trial in round_.trials
        for minute, part in enumerate(trial.parts, start=1)
        if part.attempted
    ]
    worst = sorted(known, key=lambda row: row[2].badness, reverse=True)[:_WORST_MINUTES]
    return _parts("minute", worst, shape)


def _violations(record: Record) -> Iterator[RenderableType]:
    """The promises that a server broke in each run, with a counter-example."""
    for round_ in record.rounds:
        for violation in (each for trial in round_.trials for each in trial.violations):
            yield _indented(f"run {round_.index}: {violation.words}", style="yellow")
            yield from (_indented(f"  {line}") for line in violation.lines)


def _kinds(record: Record, shape: _Shape) -> list[RenderableType]:
    """Each kind of transactions in the trial shown of each run; nothing where there is one."""
    known = [
        (round_.index, KIND_NAMES[word], part)
        for round_ in record.rounds
        if round_.shown
        for word, part in round_.shown.kinds.items()
    ]
    return _parts("kind", known, shape)


def _parts(
    heading: str, rows: Sequence[tuple[int, object, Part]], shape: _Shape
) -> list[RenderableType]:
    titles = ("run", heading, "started", "completed", "late", "failed", "loss %", "p99 ms")
    cells = []
    for run, name, part in rows:
        counts = (run, name, part.attempted, part.completed, part.late, part.failed)
        p99 = _NONE if part.p99_s is None else f"{1000 * part.p99_s:.2f}"
        cells.append((*map(str, counts), f"{100 * part.loss_ratio:.2f}", p99))
    return [*shape.table([*zip(titles, *cells, strict=True)])] if cells else []


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


def _latency(record: Record, shape: _Shape) -> list[RenderableType]:
    rows = [
        (stage, *(f"{1000 * value:.2f}" for value in values))
        for stage, values in latencies(record).items()
    ]
    return (
        [*shape.table([*zip(("stage", *PERCENTILES), *rows, strict=True)], names=1)]
        if rows
        else []
    )


def _indented(text: str, style: str = "") -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, 2))
