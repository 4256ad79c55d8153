"""One result on a terminal or in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from leaselab.analysis.latency import PERCENTILES, latencies
from leaselab.analysis.summary import other_cpu_us, run_cpu_us
from leaselab.model.durability import durability_of
from leaselab.model.server import server_name
from leaselab.report.facts import facts
from leaselab.report.listing import span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import TextIO

    from rich.console import RenderableType

_NONE = "-"
_PIPE_WIDTH = 10_000
"""Columns of a pipe: its lines are never folded, so that grep finds whole ones."""


def print_result(
    document: Mapping[str, Any],
    path: Path,
    stream: TextIO | None = None,
    *,
    why: bool = True,
) -> None:
    """Print a result; `path` is its directory, `stream` stdout unless given.

    Without `why`, only the words of what went wrong: its sentences are told elsewhere.
    A terminal gets rules and colours; a pipe gets plain lines.
    """
    stream = stream or sys.stdout
    console = Console(file=stream, highlight=False, soft_wrap=False)
    if console.is_terminal:
        console.print(_result(document, path, ruled=True, why=why))
        return
    plain = Console(
        file=stream, highlight=False, color_system=None, force_terminal=False, width=_PIPE_WIDTH
    )
    with plain.capture() as capture:
        plain.print(_result(document, path, ruled=False, why=why))
    for line in capture.get().splitlines():
        stream.write(line.rstrip() + "\n")


def _result(
    document: Mapping[str, Any], path: Path, *, ruled: bool, why: bool
) -> RenderableType:
    parts: list[RenderableType] = [*_headline(document, why=why), Text()]
    if document["runs"]:
        parts += [Text("Runs", style="bold"), _runs(document, ruled=ruled), Text()]
    latency = _latency(document, ruled=ruled)
    if latency is not None:
        parts += [
            Text("Latency at the lower bound (ms, median of the runs)", style="bold"),
            latency,
            Text(),
        ]
    parts += [Text("Provenance", style="bold"), _provenance(document, path)]
    return Group(*parts)


def _headline(document: Mapping[str, Any], *, why: bool) -> Iterator[RenderableType]:
    server = document["server"]
    name = f"{document['scenario']['name']} · {server_name(server)}"
    if durability_of(server):
        name += f" · durability {durability_of(server)}"
    if document["outcome"] != "ok":
        yield Text(f"{name}: {document['outcome']}", style="bold red")
        for reason in document["reasons"]:
            told = f"{reason['word']}: {reason['text']}" if why else reason["word"]
            yield _indented(told, style="red")
    else:
        for reason in document["reasons"]:
            yield Text(f"{reason['word']}: {reason['text']}", style="yellow")
    rate = document["summary"]["max_rate"]
    if rate is None:
        found = sum(run["max_rate"] is not None for run in document["runs"])
        yield _indented(f"no max rate: {found} of {document['goal']['runs']} runs found theirs")
        if document["summary"].get("at_least"):
            passed = f"{document['summary']['at_least']:.0f} exchanges/s"
            yield _indented(f"the runs that were made passed {passed}")
    elif document["outcome"] == "ok":
        yield Text(f"{name}: {_rate(rate)}", style="bold green")
    else:
        yield _indented(f"not to be relied on: {_rate(rate)}")
    if rate is not None:
        yield from map(_indented, _how_known(rate))
    yield _indented(_cost(document))


def _rate(rate: Mapping[str, Any]) -> str:
    mean = f"{rate['trimmed_mean']:.0f}"
    if rate["ci95"] is None:
        return f"{mean} exchanges/s"
    return f"{mean} ± {(rate['ci95'][1] - rate['ci95'][0]) / 2:.0f} exchanges/s"


def _how_known(rate: Mapping[str, Any]) -> Iterator[str]:
    n, trim = rate["n"], rate["trim"]
    if trim:
        yield f"max rate, trimmed mean of {n} runs, {trim} highest and {trim} lowest dropped"
    else:
        yield "max rate of one run" if n == 1 else f"max rate, mean of {n} runs"
    known = []
    if rate["ci95"] is not None:
        known.append(f"95 % interval {rate['ci95'][0]:.0f} to {rate['ci95'][1]:.0f}")
    if rate["spread"] is not None:
        known.append(f"spread of all {n} runs {100 * rate['spread']:.1f} %")
    if known:
        yield "; ".join(known)


def _cost(document: Mapping[str, Any]) -> str:
    summary = document["summary"]
    parts = []
    if summary["cpu_us_per_exchange"] is not None:
        others = other_cpu_us(document["runs"], document["goal"]["loss_ratio"])
        parts.append(
            ", ".join(
                [
                    f"server CPU {summary['cpu_us_per_exchange']:.1f} µs per exchange",
                    *(f"{name} {value:.0f} µs" for name, value in others.items()),
                ]
            )
        )
    took = f"measured in {span(summary['wall_s'])}"
    if summary["traffic_share"] is not None:
        took += f", {100 * summary['traffic_share']:.0f} % of it traffic"
    return "; ".join([*parts, took])


def _runs(document: Mapping[str, Any], *, ruled: bool) -> Table:
    table = _table(ruled=ruled)
    for heading in ("run", "max rate", "bracket", "completed", "trials", "CPU µs"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    middle = document["summary"]["max_rate"]
    for run in document["runs"]:
        table.add_row(
            str(run["index"]),
            _number(run["max_rate"]),
            _bracket(run),
            _number(run["completed_rate"]),
            str(len(run["trials"])),
            _number(run_cpu_us(run, document["goal"]["loss_ratio"]), 1),
            _remark(run, middle),
            style="dim" if run["trimmed"] else "",
        )
    return table


def _bracket(run: Mapping[str, Any]) -> str:
    if run["lower_bound"] is None and run["upper_bound"] is None:
        return _NONE
    return f"{_number(run['lower_bound'])}-{_number(run['upper_bound'])}"


def _remark(run: Mapping[str, Any], middle: Mapping[str, Any] | None) -> str:
    remarks = []
    if run["trimmed"] and middle is not None:
        side = "highest" if run["max_rate"] > middle["trimmed_mean"] else "lowest"
        remarks.append(f"dropped: {side}")
    bad = [trial["reason"] for trial in run["trials"] if not trial["valid"]]
    if bad:
        remarks.append(f"{len(bad)} not valid: {', '.join(sorted(set(bad)))}")
    return "; ".join(remarks)


def _latency(document: Mapping[str, Any], *, ruled: bool) -> Table | None:
    found = latencies(document)
    if not found:
        return None
    table = _table(ruled=ruled)
    table.add_column("stage", no_wrap=True)
    for column in PERCENTILES:
        table.add_column(column, justify="right", no_wrap=True)
    for stage, values in found.items():
        table.add_row(stage, *(f"{1000 * value:.2f}" for value in values))
    return table


def _provenance(document: Mapping[str, Any], path: Path) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in facts(document, path):
        table.add_row(Text(f"  {label}", style="dim"), Text(value))
    return table


def _table(*, ruled: bool) -> Table:
    return Table(
        box=box.SIMPLE_HEAD if ruled else None,
        show_edge=False,
        padding=(0, 1, 0, 0) if ruled else (0, 1),
        pad_edge=False,
        header_style="bold" if ruled else "",
    )


def _indented(text: str, style: str = "") -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, 2))


def _number(value: float | None, digits: int = 0) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"
