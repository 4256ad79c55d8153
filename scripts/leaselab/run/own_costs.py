"""Known costs of a user's configuration, each measured by a duel with and without it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from leaselab.analysis.duel import Answer
from leaselab.analysis.verdict import Comparison, Limit
from leaselab.lab.catalog import find_scenario
from leaselab.lab.checkout import announce, checkout_root
from leaselab.lab.judge import Given
from leaselab.lab.own import Own, write_own
from leaselab.lab.without import own_without
from leaselab.measure.generators import adapter_of
from leaselab.model.advice import Advice, OwnCost
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures.duel import Duel
from leaselab.report.advice import own_words
from leaselab.report.closing import closing, more_words
from leaselab.run.contest import archived_duel, duel
from leaselab.run.session import Session
from leaselab.run.task import Task


def plan_costs(advice: Advice, own: Own, file: Path, scenario: str, given: Given) -> Advice:
    """Write a scenario of the file without each of its costs, where it can be without it.

    `scenario` is the one of the file as it is.
    """
    folder = checkout_root() / "scenarios"
    findings = []
    for finding in advice.findings:
        try:
            other, changes = own_without(own, finding.name, given)
        except LeaselabError as refusal:
            planned = OwnCost(why=str(refusal))
        else:
            base = write_own(other, file, folder)
            planned = OwnCost(scenario=scenario, base=base, changes=tuple(changes))
        findings.append(replace(finding, own=planned))
    return replace(advice, findings=tuple(findings))


def duels_of(advice: Advice, generator: str | None) -> dict[str, tuple[Task, Task]]:
    """The planned duels by the cost's name: the file without it, and the file as it is."""
    folder = checkout_root() / "scenarios"
    return {
        finding.name: (
            Task(find_scenario(folder, finding.own.base, generator)),
            Task(find_scenario(folder, finding.own.scenario, generator)),
        )
        for finding in advice.findings
        if finding.own and finding.own.base
    }


def measure_costs(
    advice: Advice, session: Session, duels: Mapping[str, tuple[Task, Task]]
) -> Advice:
    """Measure costs one after the other; the longest time for that is printed first.

    A duel that the archive has is not made again.  Raises for a broken lab, for an interrupt
    (the same command goes on with the duel that it ended in), and where no duel can be made.
    """
    first = next(iter(duels.values()))[0]
    plan = session.procedure(first)
    if not isinstance(plan, Duel):
        raise AssertionError(f"{plan.name} is no duel")
    waits = adapter_of(first.scenario).waits
    minutes = plan.rounds * plan.round_with_s(waits=waits) / 60
    announce(
        f"{len(duels)} duels of at most {minutes:.0f} min each, without deployments: "
        f"{len(duels) * minutes:.0f} min"
    )
    session.prepare(first.distribution)
    refused: list[LeaselabError] = []
    findings = []
    for finding in advice.findings:
        if finding.own is None or finding.name not in duels:
            findings.append(finding)
            continue
        first, second = duels[finding.name]
        announce(f"{finding.name}: A: {first}, without it; B: {second}")
        own = _judged(finding.own, _compared(session, first, second, refused))
        announce(f"{finding.name}: {own_words(own)}")
        findings.append(replace(finding, own=own))
    if len(refused) == len(duels):
        raise refused[-1]
    return replace(advice, findings=tuple(findings))


def _compared(
    session: Session, first: Task, second: Task, refused: list[LeaselabError]
) -> Comparison | str:
    """Make a duel, unless the archive has it; or why a server of the two cannot be started.

    That error is added to `refused`.
    """
    archived = _archived(session, first, second)
    if archived is not None:
        return archived
    try:
        return duel(session, first, second).comparison
    except LeaselabError as error:
        if error.outcome not in (Outcome.USAGE, Outcome.BUILD):
            raise
        refused.append(error)
        return str(error)


def _archived(session: Session, first: Task, second: Task) -> Comparison | None:
    """An archived duel of at least what is asked for; None without one."""
    archived, plan = archived_duel(session, first, second), session.procedure(second)
    if archived is None or archived.verdict is None or archived.verdict.duel is None:
        return None
    made = archived.other.procedure
    if not (isinstance(made, Duel) and isinstance(plan, Duel)) or made.errors != plan.errors:
        return None
    unknown = archived.verdict.duel.answer is Answer.UNKNOWN
    return None if unknown and made.rounds < plan.rounds else archived


def _judged(own: OwnCost, comparison: Comparison | str) -> OwnCost:
    if isinstance(comparison, str):
        return replace(own, why=comparison)
    base, verdict = comparison.base, comparison.verdict
    results = tuple(record.id for record in (base, comparison.other) if record is not None)
    if verdict is None or verdict.duel is None:
        return replace(own, results=results, why=str(comparison.error or closing(comparison)))
    low, high = verdict.ci95
    return replace(
        own,
        results=results,
        answer=verdict.duel.answer.value,
        cost=1 - verdict.ratio,
        ci95=(1 - high, 1 - low),
        bound=verdict.duel.bound,
        at_least=verdict.limit is not Limit.NONE,
        more=tuple(more_words(verdict.duel, comparison.other)),
    )
