"""Present state of points that are measured in turn: a duel, a profile, an experiment."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from leaselab.analysis.comparison.verdict import answer_word
from leaselab.analysis.duels.duel import Answer, DuelVerdict, judge
from leaselab.model.bench import Bench
from leaselab.model.contest import contest_by
from leaselab.model.journal import AnyEntry, LiveEntry, RoundDone
from leaselab.model.procedures.duel import Duel
from leaselab.model.record import Round
from leaselab.report.live import LiveView, estimate_words

_CANNOT_TELL = "cannot tell yet"


@dataclass(slots=True)
class Turns:
    """The points of an experiment by their names, in order; entries of each update it."""

    views: dict[str, LiveView] = field(default_factory=dict)
    rounds: dict[str, list[Round]] = field(default_factory=dict)
    now: str = ""
    """The point that is measured now."""
    _began: datetime | None = None
    _before: int = 0
    """Rounds of all points that were made before this view began: of a resumed one."""

    def add(self, name: str, bench: Bench) -> None:
        """Add a point before it is measured."""
        view = LiveView(name)
        view.begin(bench)
        self.views[name], self.rounds[name] = view, []

    def take(self, name: str, entry: AnyEntry | LiveEntry, at: datetime, *, old: bool) -> None:
        """Count the rounds of a point; `old`: this one is from its journal."""
        self.now = name
        if isinstance(entry, RoundDone):
            self.rounds[name].append(entry.round)
            self._before += old
        elif self._began is None and not old:
            self._began = at

    def line(self, now: datetime) -> str:
        """Where it stands: ``round 7 (5 to 74) · B/A 0.98 · cannot tell yet · about 2 min``."""
        counts = [len(made) for made in self.rounds.values()]
        first, *others = self.views.values()
        contest = contest_by(first.procedure, first, others[0]) if len(others) == 1 else None
        plan = first.procedure
        if contest is not None:
            plan = contest.plan
            verdict = judge(plan, *self.rounds.values())
            span_of = f"{plan.looks[0]} to {plan.rounds}"
            parts = [f"round {min(counts) + 1} ({span_of})", *_answer(verdict)]
            left = 2 * _expected(plan, verdict, min(counts)) - sum(counts)
        else:
            parts = [f"round {min(counts) + 1} of {plan.rounds}"]
            left = len(counts) * plan.rounds - sum(counts)
        return " · ".join([*parts, *self._left(left, now)])

    def estimates(self) -> dict[str, str]:
        """The figure of each point so far, by its name; of a duel the ratio says more."""
        return {
            name: estimate_words(
                [value for made in self.rounds[name] if (value := made.metrics.get(kind.name))],
                kind,
            )
            for name, view in self.views.items()
            if not view.procedure.of_two
            for kind in view.procedure.metrics(view.plural)[:1]
        }

    def _left(self, rounds: int, now: datetime) -> list[str]:
        """The expected time of so many rounds of one point; nothing before the first."""
        made = sum(map(len, self.rounds.values())) - self._before
        if self._began is None or made <= 0:
            return []
        each = (now - self._began).total_seconds() / made
        return [f"about {_roughly(max(rounds, 1) * each)}"]


def _answer(verdict: DuelVerdict | None) -> list[str]:
    if verdict is None:
        return [_CANNOT_TELL]
    known = verdict.answer is not Answer.UNKNOWN
    word = answer_word(verdict.answer, verdict.metric) if known else _CANNOT_TELL
    return [f"B/A {verdict.ratio:.3f}", word]


def _expected(plan: Duel, verdict: DuelVerdict | None, made: int) -> int:
    """After how many rounds the duel probably ends."""
    if verdict is None:
        return plan.looks[0]
    following = [look for look in plan.looks if look > made] or [made + 1]
    return min(plan.rounds, max(following[0], round(verdict.further * verdict.rounds)))


def _roughly(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
