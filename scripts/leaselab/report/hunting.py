"""Progress lines of a search for a culprit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from leaselab.analysis.comparison.archived_duels import Facts
from leaselab.analysis.comparison.verdict import answer_word
from leaselab.analysis.duels.bisect import Known, Limits, Step, Why, expected_cost, suspects
from leaselab.analysis.duels.culprits import Duelled, Gap
from leaselab.report.listing import sentence
from leaselab.report.searched import CommitNames
from leaselab.report.verdict.words import change_words


@dataclass(frozen=True)
class HuntWords(CommitNames):
    """A range, and what its search may cost."""

    limits: Limits

    def cost(self, facts: Facts, build_s: float | None) -> Iterator[str]:
        """The known facts before it starts, and its cost; `build_s` is per build (s)."""
        known = facts.known
        cost = expected_cost(known, self.limits)
        by = "by the plan of a duel"
        if known.duels:
            by = f"by {len(known.duels)} archived duels"
        yield (
            f"{known.count} commits from {self.short(1)} to {self.short(known.count)}; the "
            f"archive has {len(known.duels)} duels of them, and knows {len(known.broken)} that "
            "cannot be measured"
        )
        each = "" if build_s is None else f" of about {build_s:.0f} s each, unless kept,"
        yield (
            f"expected: {cost.duels:.0f} duels, {cost.minutes:.0f} min of lab time ({by}), and "
            f"{cost.places:.0f} builds{each} with their deployments; budget: "
            f"{self._spent(known)}"
        )

    def step(self, facts: Facts, step: Step) -> str:
        """Which commits are left, and which duel comes next."""
        known = facts.known
        left = Gap(0, known.count) if step.why is Why.ENDS else suspects(known, self.limits)
        minutes = step.rounds * known.round_minutes(self.limits.round_minutes)
        return (
            f"{left.commits} commit{'s' * (left.commits != 1)} left, after "
            f"{self.short(left.after)} up to {self.short(left.place)}: {step.why.value} "
            f"{self.name(step.newer)} against {self.short(step.older)}, at most {step.rounds} "
            f"rounds, {minutes:.0f} min"
        )

    def found(self, before: Facts, now: Facts) -> Iterator[str]:
        """The result of a duel; nothing where it has none."""
        had = {duel.id for duel in before.known.duels}
        for duel in now.known.duels:
            if duel.id not in had:
                yield f"{duel_words(duel, self.limits.metric)}; {self._spent(now.known)}"
        for place in sorted(now.known.broken - before.known.broken):
            yield f"{self.name(place)} is left out: {now.reasons[place]}"

    def _spent(self, known: Known) -> str:
        return f"{known.minutes:.0f} of {self.limits.budget_minutes:g} min spent"


def duel_words(duel: Duelled, metric: str) -> str:
    """The result of one duel on a metric, in one line."""
    return (
        f"{sentence(answer_word(duel.answer, metric))}: {change_words(duel.ratio, duel.ci95)}, "
        f"{duel.rounds} rounds, {duel.minutes:.1f} min"
    )
