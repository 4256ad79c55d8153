"""What can be done next, as commands: after a sweep, a comparison, a search."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from leaselab.analysis.comparison.verdict import Comparison
from leaselab.analysis.duels.culprits import Gap
from leaselab.analysis.duels.duel import Answer
from leaselab.model.errors import Outcome
from leaselab.model.record import TOO_FEW_CLIENTS, Record
from leaselab.model.source import SHORT
from leaselab.report.searched import Searched

Step = tuple[str, str]
"""A command without the program, and what it is for."""


def step_lines(steps: Sequence[Step], most: int | None = None) -> str:
    """Commands, a line each; empty for none.

    What they are for is beside them, where that leaves no line longer than `most`.
    """
    if not steps:
        return ""
    width = max(len(command) for command, _ in steps)
    lines = [f"  ./leaselab {command:{width}}  {what}" for command, what in steps]
    if most and max(map(len, lines)) > most:
        lines = [f"  ./leaselab {command}" for command, _ in steps]
    return "\n".join(["next:", *lines])


def after_sweep(record: Record) -> list[Step]:
    """Commands for a result that is not of a duel."""
    ref = record.id
    shows = (f"show --all {ref}", "latency and provenance")
    again = (f"rerun {ref}", "measure it again")
    if record.outcome == Outcome.OK.label:
        compares = (f"compare previous {ref}", "with the newest comparable result before it")
        return [shows, compares, again]
    if any(reason.word == TOO_FEW_CLIENTS for reason in record.reasons):
        return [shows]  # another load is needed, of which the error says what
    return [shows, ("lab check", "whether the hosts are fit to measure"), again]


def after_comparison(comparison: Comparison) -> list[Step]:
    """Commands for a verdict on two results."""
    base, other, verdict = comparison.base, comparison.other, comparison.verdict
    shows = (f"show --all {other.id}", "all that is known of B")
    if base is None or verdict is None:
        return [shows]
    ends = [record.source for record in (base, other)]
    scenario = other.scenario.name
    before, after = ends
    if before is None or after is None or before.repository != after.repository:
        return [shows]
    repo, names = shlex.quote(after.repository), [end.hash[:SHORT] for end in (before, after)]
    if verdict.duel is None:
        duel = f"compare {' '.join(names)} --live --repo {repo} --scenario {scenario}"
        changed = verdict.differs
        return [(duel, "measure both in turn")] * changed + [shows]
    if verdict.duel.answer is Answer.SLOWER and names[0] != names[1]:
        ends_of = f"--good {names[0]} --bad {names[1]}"
        return [(f"bisect {scenario} --repo {repo} {ends_of}", "which commit it is"), shows]
    return [shows]


def after_hunt(hunted: Searched) -> list[Step]:
    """Commands for the culprits of a search."""
    return [step for gap in hunted.gaps.values() for step in _on(hunted, gap)]


def _on(hunted: Searched, gap: Gap) -> Iterator[Step]:
    place = gap.place
    repo = shlex.quote(hunted.commits[place].repository)
    if place in hunted.merged:
        base, last = (name[:SHORT] for name in hunted.merged[place])
        ends = f"--good {base} --bad {last}{hunted.by}"
        yield f"bisect {hunted.scenario} --repo {repo} {ends}", "inside the merge"
    elif place not in hunted.checked:
        options, what = hunted.check
        both = f"{hunted.short(gap.after)} {hunted.short(place)} --scenario {hunted.scenario}"
        yield f"compare {both} {options} --repo {repo}", what
    yield "report", "pages with all results: results/report/index.html"
