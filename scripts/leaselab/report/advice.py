"""Advice on a server's configuration as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TextIO

from leaselab.analysis.duels.duel import Answer
from leaselab.model.advice import Advice, Cost, Finding, MeasuredCost, OwnCost, Place
from leaselab.model.text import printable

_PLACES = 3
"""Number of positions of a cost that are shown; the JSON document has all."""


def print_advice(advice: Advice, stream: TextIO | None = None) -> None:
    """Print each known cost: where, how much and what to do; stdout unless given."""
    stream = stream or sys.stdout
    for finding in advice.findings:
        stream.writelines(f"{printable(line)}\n" for line in _lines(finding))
        stream.write("\n")
    for skipped in advice.not_judged:
        line = f"not judged: {skipped.what} ({skipped.why})"
        stream.writelines(f"{printable(line)}\n" for line in (line, *_places(skipped.places)))
    if advice.not_judged:
        stream.write("\n")
    stream.write(f"{printable(advice.file)}: {summary(advice)}\n")


def summary(advice: Advice) -> str:
    """The last line: ``3 known costs, 1 of them measured here; 2 things not judged (…)``."""
    count = len(advice.findings)
    measured = sum(
        bool(finding.own and finding.own.word) or any(cost.measured for cost in finding.costs)
        for finding in advice.findings
    )
    text = f"{count or 'no'} known cost{'' if count == 1 else 's'}"
    if count:
        text += f", {measured or 'none'} of them measured here"
    if advice.not_judged:
        things = len(advice.not_judged)
        text += f"; {things} thing{'' if things == 1 else 's'} not judged"
    return f"{text} (judged as {advice.server} {advice.version})"


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.name}: {finding.found}"
    yield f"  {finding.what}"
    yield from _places(finding.places)
    if finding.own is not None:
        yield from _own(finding.own)
    for cost in finding.costs:
        yield from _cost(cost)
    if not finding.costs and not finding.own:
        yield "  not measured here: no experiment asks for it yet"
    yield f"  to do: {finding.todo}"


def own_words(own: OwnCost) -> str:
    """What a cost is in the configuration itself: ``costs 12.3 % (10.1 to 14.5 %) of …``."""
    if own.cost is None or own.ci95 is None or own.bound is None:
        return f"not measured: {own.why}"
    low, high = own.ci95
    least = "at least " if own.at_least else ""
    if own.word == "slower":
        text = f"costs {least}{_span(own.cost, low, high)} of the max rate"
    elif own.word == "faster":
        text = f"gains {least}{_span(-own.cost, -high, -low)} of the max rate"
    elif own.word == Answer.SAME.value:
        text = f"no cost bigger than {100 * own.bound:.1f} % of the max rate"
    else:
        text = (
            f"cannot tell: {_span(own.cost, low, high)} of the max rate; "
            "give more --budget, or a steadier machine"
        )
    return "; ".join([text, *own.more])


def _span(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"


def _own(own: OwnCost) -> Iterator[str]:
    yield f"  in this file: {own_words(own)}"
    if own.changes:
        yield f"    without it: {'; '.join(own.changes)}"
    if own.results:
        yield f"    results {', '.join(own.results)}"


def _places(places: tuple[Place, ...]) -> Iterator[str]:
    for place in places[:_PLACES]:
        at = f"{place.file}:{place.line}"
        yield f"  at {place.path} ({at})" if place.path else f"  at {at}"
    if len(places) > _PLACES:
        yield f"  and at {len(places) - _PLACES} other places"


def _cost(cost: Cost) -> Iterator[str]:
    measured = cost.measured
    if measured is None:
        yield f"  not measured here: {cost.point} against {cost.base}"
        yield f"    `{cost.command}` measures it"
        return
    yield f"  measured here: {measured.metric} {_change(measured)}"
    yield f"    {cost.point} against {cost.base}: results {measured.result}, {measured.base}"
    order = "in turn" if measured.alternated else "one after the other: drift is in the ratio"
    yield f"    {measured.measured_on}, bench {measured.bench}, {measured.server}, {order}"


def _change(measured: MeasuredCost) -> str:
    """The ratio in words: ``71 % lower (ratio 0.290, 95 % interval 0.270 to 0.310)``."""
    percent = 100 * (measured.ratio - 1)
    word = "lower" if percent < 0 else "higher"
    ends = "without interval"
    if measured.ci95 is not None:
        low, high = measured.ci95
        ends = f"95 % interval {low:.3f} to {high:.3f}, {measured.word}"
    rests = "" if measured.alternated else " across sessions"
    return f"{abs(percent):.0f} % {word}{rests} (ratio {measured.ratio:.3f}, {ends})"
