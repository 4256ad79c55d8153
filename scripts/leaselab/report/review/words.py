"""Words for a change: its build, its size, what is known of it and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from leaselab.analysis.history.changes import Do, decides, what_next
from leaselab.analysis.history.detectors import Shape
from leaselab.analysis.history.series import Change, Point, Series, State
from leaselab.model.source import SHORT
from leaselab.report.verdict.cost import detail_words, part_words, short_words
from leaselab.report.verdict.words import pace_words, percent

_SUBJECT = 60
"""Letters of a subject that a table shows."""
NO_ANCHOR = (
    "no anchor: the machine's drift is in these figures; leaselab run with --anchor measures "
    "a fixed reference in turn with the others"
)


def point_words(point: Point) -> str:
    """A build as people know it: short hash and subject, or server and version."""
    if not point.commit:
        return point.name
    return f"{point.commit[:SHORT]} {point.subject[:_SUBJECT]}".rstrip()


def title_words(changes: Sequence[tuple[Series, Change]], when: str = "") -> str:
    """The change in a few words, or how many there are for the worse and for the better.

    `when` says in which time; empty without any change.
    """
    if not changes:
        return ""
    if len(changes) == 1:
        ((series, change),) = changes
        verb = verb_words(change) if change.measured is State.CONFIRMED else "may be"
        size = size_words(change, series.unit)
        since = build_name(change.first_after)
        return f"1 change{when}: {series.scenario} {verb} {size} since {since}"
    worse = sum(change.worse for _, change in changes)
    counts = ((worse, "for the worse"), (len(changes) - worse, "for the better"))
    parts = " and ".join(f"{count} {word}" for count, word in counts if count)
    return f"{len(changes)} changes{when}: {parts}"


def verb_words(change: Change) -> str:
    """The verb before `size_words`: code that was counted costs more, and is no slower."""
    return "is" if change.counted is None else "costs"


def size_words(change: Change, unit: str) -> str:
    """How large a change is: ``3.4 % slower``, ``1.2 % more instructions per exchange``."""
    if change.counted is None:
        return pace_words(change.size[0], unit)
    return part_words(change.counted.verdict.deciding[0])


def moved_words(change: Change) -> str:
    """The same in a table: ``-3.4 %``, ``+1.2 % instructions``."""
    if change.counted is None:
        return percent(change.size[0])
    return short_words(change.counted.verdict.deciding[0])


def step_words(change: Change) -> str:
    """A change for a chart: its size, and what is known of it."""
    return f"{moved_words(change)} {state_words(change)}"


def state_words(change: Change) -> str:
    """What is known of a change, with what its duel found where that is not the `size`."""
    known, taken = change.measured, change.accepted
    if taken is not None:
        return f"accepted by {taken.by} on {taken.at[:10]}: {taken.reason}"
    if change.culprit is not None:
        return f"{known.value}: bisect named the commit"
    if change.counted is not None:
        counted = change.counted
        most = detail_words(counted.verdict, counted.functions)
        return f"{known.value} by counts{': ' * bool(most)}{most}"
    if change.duel is None:
        return known.value
    ratio = percent(change.duel.ratio)
    if known is State.SUSPECTED:
        return f"{known.value}: a duel could not tell ({ratio})"
    refuting = f": {ratio}" if known is State.REFUTED else ""
    return f"{known.value} by a duel{refuting}"


def range_words(change: Change) -> str:
    """Commits that a change lies between, as git takes them."""
    before, after = change.last_before, change.first_after
    if not (before.commit and after.commit):
        return f"{before.name} to {after.name}"
    return f"{before.commit[:SHORT]}..{after.commit[:SHORT]}"


def next_words(series: Series, change: Change) -> tuple[str, str]:
    """What to do about a change, and the command for it; both empty where there is nothing."""
    do = what_next(series, change)
    if do is None:
        return "", ""
    scenario, by = series.scenario, decides(series)
    good, bad = change.before.commit or "", change.after.commit or ""
    repo = f" --repo {shlex.quote(change.after.repository or '')}"
    bisect = f"bisect {scenario}{repo} --good {good[:SHORT]} --bad {bad[:SHORT]}{by}"
    ends = f"{good[:SHORT]} {bad[:SHORT]}"
    since = change.first_after.commit or ""
    command = {
        Do.SETTLE: f"review {scenario} --confirm",
        Do.LONGER: f"compare {ends} --live --budget 60{repo} --scenario {scenario}{by}",
        Do.BISECT: bisect,
        Do.FURTHER: f"{bisect} --budget 480",
        Do.ACCEPT: f'review {scenario} --accept {since[:SHORT]} "REASON"',
    }[do]
    return do.value, f"./leaselab {command}"


def shape_words(change: Change) -> str:
    """Better or worse, at once or little by little."""
    word = "worse" if change.worse else "better"
    return f"{word}, creeping" if change.shape is Shape.CREEP else word


def build_name(point: Point) -> str:
    """A build by its short commit, or by its name where it is of none."""
    return point.commit[:SHORT] if point.commit else point.name
