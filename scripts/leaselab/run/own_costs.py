"""Known costs of a user's configuration, each measured by a duel with and without it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from leaselab.analysis.comparison.verdict import Comparison, Limit
from leaselab.analysis.duels.duel import Answer
from leaselab.catalog.catalogue import Catalogue
from leaselab.inputs.advice import Given, Judge, judges
from leaselab.inputs.commented_json import Array, Document, as_document
from leaselab.inputs.configuration import Match
from leaselab.inputs.known_costs import Rewriting
from leaselab.inputs.reader import Asked, Served
from leaselab.inputs.user_configuration import add_scenario, served_of
from leaselab.model.advice import Advice, OwnCost
from leaselab.model.contest import Contest
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.scenario import Scenario
from leaselab.model.speech import announce
from leaselab.report.advice import own_words
from leaselab.report.verdict.sentence import closing, more_words
from leaselab.run.contest import archived_duel, duel, most_minutes
from leaselab.run.session import Session
from leaselab.run.task import Task


def plan_costs(
    advice: Advice,
    own: Served,
    file: Path,
    given: Given,
    *,
    catalogue: Catalogue,
    whole: Scenario,
) -> Advice:
    """Add a scenario of the file without each of its costs, where it can be without it.

    `whole` is the scenario of the file as it is.
    """
    findings = []
    for finding in advice.findings:
        try:
            other, changes = own_without(own, finding.name, given)
        except LeaselabError as refusal:
            planned = OwnCost(why=str(refusal))
        else:
            base = add_scenario(other, file, catalogue).name
            planned = OwnCost(scenario=whole.name, base=base, changes=tuple(changes))
        findings.append(replace(finding, own=planned))
    return replace(advice, findings=tuple(findings))


def duels_of(
    advice: Advice, catalogue: Catalogue, generator: str | None
) -> dict[str, tuple[Task, Task]]:
    """The planned duels by the cost's name: the file without it, and the file as it is."""
    return {
        finding.name: (
            Task(catalogue.find(finding.own.base, generator)),
            Task(catalogue.find(finding.own.scenario, generator)),
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
    first, second = next(iter(duels.values()))
    minutes = most_minutes(session.contest(first, second))
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
        own = _judged(finding.own, _compared(session, session.contest(first, second), refused))
        announce(f"{finding.name}: {own_words(own)}")
        findings.append(replace(finding, own=own))
    if len(refused) == len(duels):
        raise refused[-1]
    return replace(advice, findings=tuple(findings))


def _compared(
    session: Session, contest: Contest[Task], refused: list[LeaselabError]
) -> Comparison | str:
    """Make a duel, unless the archive has it; or why a server of the two cannot be started.

    That error is added to `refused`.
    """
    archived = _archived(session, contest)
    if archived is not None:
        return archived
    try:
        return duel(session, contest).comparison
    except LeaselabError as error:
        if error.outcome not in (Outcome.USAGE, Outcome.BUILD):
            raise
        refused.append(error)
        return str(error)


def _archived(session: Session, contest: Contest[Task]) -> Comparison | None:
    """An archived duel of at least what is asked for; None without one."""
    archived, plan = archived_duel(session, contest), contest.plan
    if archived is None or archived.verdict is None or archived.verdict.duel is None:
        return None
    made = archived.other.procedure
    if made.errors != plan.errors:
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
        word=verdict.duel.answer.value,
        cost=1 - verdict.ratio,
        ci95=(1 - high, 1 - low),
        bound=verdict.duel.bound,
        at_least=verdict.limit is not Limit.NONE,
        more=tuple(more_words(verdict.duel.worse, comparison.other)),
    )


_NUMBER = re.compile(r"\[[0-9]+\]")


def own_without(own: Served, name: str, given: Given) -> tuple[Served, list[str]]:
    """Return what the lab makes of a configuration without a known cost, and what differs.

    Its clients are those of `own`, so that a duel of the two has one load.  Raises a usage
    error with the reason where the lab's form does not have the cost, where it cannot be taken
    out, and where clients would get no answer then.
    """
    document = as_document({own.holder: own.server}, name)
    before = served_of(document, Asked())
    changes = _take_out(document, name, given)
    after = served_of(as_document(document.top, name), Asked())
    lost = [reason for reason in after.unserved if reason not in before.unserved]
    if lost:
        raise usage_error("without it, clients would get no answer", found=lost[0])
    other = replace(
        after,
        kinds=own.kinds,
        addresses=own.addresses,
        unserved=own.unserved,
        changes=[*own.changes, *(f"{change}, without {name}" for change in changes)],
        left_out=[*own.left_out, name],
    )
    return other, changes


def _take_out(document: Document, name: str, given: Given) -> list[str]:
    """Take a cost out of a document; return what was changed."""
    [judge] = judges(document, given)
    cost = next(cost for cost in judge.costs.costs if cost.name == name)
    seen = judge.seen(cost)
    if not seen:
        raise usage_error("the lab's form of the file does not have it")
    done = Counter(
        change for rewriting in cost.without for change in _rewrite(judge, rewriting, seen)
    )
    if not done:
        raise usage_error(cost.unmeasured)
    return [
        f"{path}: {f'{count} ' if count > 1 else ''}{what}"
        for (path, what), count in done.items()
    ]


def _rewrite(
    judge: Judge, rewriting: Rewriting, seen: Sequence[Match]
) -> Iterator[tuple[str, str]]:
    """Change a configuration in place; yield the path and what was done, of each change."""
    places = judge.configuration.at(*rewriting.at) if rewriting.at else seen
    matches = judge.meets(places, rewriting.when)
    for match in matches:
        path = _NUMBER.sub("[*]", match.path.removeprefix(judge.configuration.whole.path))
        for key, expression in rewriting.set.items():
            match.value[key] = judge.ask(expression, match, value=match.value)
            yield f"{path}.{key}".lstrip("."), "changed"
        for key in rewriting.drop:
            if match.value.pop(key, None) is not None:
                yield f"{path}.{key}".lstrip("."), "removed"
        if rewriting.remove:
            yield path.lstrip("."), "removed"
    if rewriting.remove:
        _remove(matches)


def _remove(matches: Sequence[Match]) -> None:
    """Remove elements from the lists in which they are."""
    gone = {id(match.value) for match in matches}
    for holder in {
        id(match.around[0].value): match.around[0].value for match in matches
    }.values():
        for elements in holder.values():
            if isinstance(elements, Array):
                elements[:] = [element for element in elements if id(element) not in gone]
