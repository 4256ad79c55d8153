"""leaselab.yml of a server's repository: what is measured, and how much worse it may get."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from leaselab.model.errors import Outcome
from leaselab.model.procedures.cost import COST, Cost
from leaselab.model.procedures.duel import DUEL, METRICS, OLD, Duel
from leaselab.model.source import BRANCH_POINT, RELEASE

FILE: Final = "leaselab.yml"
TRAILER: Final = "Leaselab-Accept"
"""Word before ``FIGURE SCENARIO REASON`` in the message of a commit."""
ANY: Final = "any"
COST_FIGURES = tuple(
    kind.name for kind in Cost().metrics("transactions") if kind.better != "neither"
)
FIGURES = (*COST_FIGURES, *METRICS, OLD)
_FIND = 2.0
"""What a duel looks for over what is allowed: changes count from half of it on."""
_MOST_FIND = 0.49
_ROUNDED = 1e-9
"""Errors of computing a change (ratio)."""
_TO = "to "
_AMOUNT = "0.5 %, a number in the unit of the figure, to and such a number, or any"
_REF = f"{BRANCH_POINT}, {RELEASE}, or a branch, tag or hash"
_WHO = "name@example.org, or *@example.org for all of a domain"
Amount = (
    Annotated[
        str,
        Meta(
            pattern=r"^(any|[0-9]{1,3}(\.[0-9]{1,4})? ?%|to [0-9]{1,12}(\.[0-9]{1,6})?)$(?!\n)"
        ),
    ]
    | Annotated[float, Meta(ge=0, le=1e12)]
)
Allowed = Annotated[
    dict[str, Annotated[Amount, Meta(description=_AMOUNT)]],
    Meta(extra_json_schema={"propertyNames": {"enum": list(FIGURES)}}),
]
By = Annotated[Literal["cost", "duel"], Meta(description="cost or duel")]
Metric = Annotated[str, Meta(extra_json_schema={"enum": list(METRICS)})]
Ref = Annotated[
    str, Meta(pattern=r"^[0-9A-Za-z_][0-9A-Za-z_./+^~-]{0,199}$(?!\n)", description=_REF)
]
Who = Annotated[
    str,
    Meta(pattern=r"^(\*|[\w.+-]{1,100})@[\w-]+(\.[\w-]+){1,10}$(?!\n)", description=_WHO),
]


class Terms(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How scenarios are measured and judged."""

    procedure: By | None = None
    """How it is measured; cost unless given."""
    against: Ref | None = None
    """What it is compared with: branch-point (the default), release for the last tag, or a
    branch, tag or hash."""
    metric: Metric | None = None
    """The figure that decides a duel; completed_rate unless given."""
    allow: Allowed = {}
    """By figure, how much worse it may get: a share of what it was, such as 0.5 %, a number in
    its unit, or any; or to which number, whatever it was. Of another figure no change for the
    worse is allowed that is seen."""


class ScenarioTerms(Terms, frozen=True, kw_only=True):
    """A scenario that is measured; what it does not say is as for all."""

    scenario: str
    """Its name, as `leaselab list --scenarios` has it."""


class PolicyFile(Terms, frozen=True, kw_only=True):
    """What leaselab.yml holds: terms for all scenarios, the scenarios, who may override."""

    scenarios: Annotated[tuple[ScenarioTerms, ...], Meta(max_length=50)] = ()
    """What is measured where a command names no scenario."""
    override: Annotated[tuple[Who, ...], Meta(max_length=1000)] = ()
    """Addresses of committers whose Leaselab-Accept counts: one, or *@DOMAIN."""


def drops(figure: str) -> bool:
    """Whether a lower value of a figure is worse."""
    return figure.endswith("_rate")


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much worse a figure may get."""

    most: float
    """A share (0..), or an amount in the unit of the figure; infinite for any."""
    is_share: bool
    is_limit: bool = False
    """Whether the amount is not of a change, but the worst value that the figure may have."""

    @classmethod
    def of(cls, amount: str | float) -> Allowance:
        """Read one that fits `Amount`."""
        if isinstance(amount, str) and amount.startswith(_TO):
            return cls(float(amount.removeprefix(_TO)), is_share=False, is_limit=True)
        if isinstance(amount, str):
            is_any = amount == ANY
            return cls(math.inf if is_any else float(amount.rstrip(" %")) / 100, is_share=True)
        return cls(amount, is_share=False)

    def holds(self, figure: Ruled) -> bool:
        """Whether it allows a figure, or how much worse that is."""
        if math.isinf(self.most):
            return True
        if self.is_limit and drops(figure.figure):
            return figure.value is not None and figure.value >= self.most * (1 - _ROUNDED)
        change = figure.share if self.is_share else figure.amount
        change = figure.value if self.is_limit else change
        return change is not None and change <= self.most * (1 + _ROUNDED)

    @property
    def find(self) -> float:
        """The change that a duel looks for, so that a larger one than this counts; 0: usual."""
        is_known = self.is_share and math.isfinite(self.most)
        return min(_FIND * self.most, _MOST_FIND) if is_known else 0.0


@dataclass(frozen=True, slots=True)
class Rule:
    """How much worse one figure may get."""

    figure: str
    allowed: Allowance
    place: str
    """File and line."""


@dataclass(frozen=True, slots=True)
class Clause:
    """How one scenario is measured and judged."""

    scenario: str
    procedure: str = COST
    against: str = BRANCH_POINT
    metric: str = ""
    """The figure that decides a duel; empty of another procedure."""
    rules: Mapping[str, Rule] = field(default_factory=dict)

    @property
    def what(self) -> tuple[str, str, str]:
        """What it is about: no two clauses of a policy have the same."""
        return self.scenario, self.procedure, self.metric

    @property
    def duel(self) -> Duel:
        """The plan of its duel."""
        rule = self.rules.get(self.metric)
        return Duel(metric=self.metric, find=rule.allowed.find if rule else 0)  # type: ignore[arg-type]

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that it can judge."""
        return self.duel.judged if self.metric else COST_FIGURES


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of a repository, as its file has them."""

    clauses: tuple[Clause, ...]
    usual: Clause
    """The terms for all scenarios; its rules may be of any procedure."""
    override: tuple[str, ...] = ()

    def clause(self, scenario: str, procedure: str, metric: str = "") -> Clause:
        """Return the clause of a scenario, or for one that it does not name the usual terms.

        Without a `metric`, that is the first of its duels.
        """
        for clause in self.clauses:
            if clause.what[:2] == (scenario, procedure) and metric in ("", clause.metric):
                return clause
        if procedure == DUEL:
            metric = metric or self.usual.metric or METRICS[0]
        made = Clause(scenario, procedure, self.usual.against, metric)
        rules = {
            name: self.usual.rules[name] for name in made.figures if name in self.usual.rules
        }
        return replace(made, rules=rules)

    def measured(self, procedure: str, after: Policy | None) -> list[Clause]:
        """Return the clauses of a procedure, then the scenarios that a later policy adds.

        Those have the usual terms of this one: what the later one says does not count yet.
        """
        named = {clause.what for clause in self.clauses}
        added = [one.what for one in after.clauses if one.what not in named] if after else []
        every = [*self.clauses, *(self.clause(*what) for what in added)]
        return [clause for clause in every if clause.procedure == procedure]

    def may_override(self, address: str) -> bool:
        """Whether a committer's address is listed; letters count without their case."""
        name = address.casefold()
        listed = {pattern.casefold() for pattern in self.override}
        return "@" in name and bool({name, f"*@{name.rpartition('@')[2]}"} & listed)


NO_POLICY = Policy((), Clause(""))


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A trailer of the commit under test that accepts a change for the worse."""

    figure: str
    """A figure, or a procedure for all of its figures."""
    scenario: str
    reason: str
    address: str
    """Of the committer; git does not authenticate it."""
    commit: str


@dataclass(frozen=True, slots=True)
class InForce:
    """The policy by which a commit is judged."""

    policy: Policy
    source: str
    """Where it was read."""
    accepted: tuple[Acceptance, ...] = ()
    notes: tuple[str, ...] = ()
    """What of it, or of the commit under test, does not count, and why."""


class State(enum.Enum):
    """What a policy says of a figure; the value is the word for it."""

    KEPT = "no change for the worse"
    ALLOWED = "allowed"
    ACCEPTED = "accepted"
    BROKEN = "not allowed"
    UNKNOWN = "not known well enough"


@dataclass(frozen=True, slots=True)
class Ruled:
    """What a policy says of one figure of a comparison."""

    figure: str
    state: State
    rule: Rule | None = None
    """None: no rule is of it, so that any change that is seen counts."""
    share: float | None = None
    """The change for the worse (0..); None where it was 0 before, or nothing changed."""
    is_bound: bool = False
    """Whether the change is smaller than `share`."""
    amount: float | None = None
    """The same in `unit`; None where only the share is known."""
    value: float | None = None
    """What the figure is now, in `unit`."""
    unit: str = ""
    accepted: Acceptance | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a policy says of a comparison."""

    scenario: str
    source: str
    """Where the policy was read."""
    figures: tuple[Ruled, ...]
    notes: tuple[str, ...] = ()

    @property
    def states(self) -> frozenset[State]:
        """What it says of the figures."""
        return frozenset(one.state for one in self.figures)

    @property
    def outcome(self) -> Outcome:
        """How a comparison ends by it."""
        if State.BROKEN in self.states:
            return Outcome.REGRESSION
        return Outcome.INVALID if State.UNKNOWN in self.states else Outcome.OK

    @property
    def word(self) -> str:
        """The word beside that of the verdict: allowed or accepted; empty for others."""
        if self.outcome is not Outcome.OK:
            return ""
        words = [one for one in (State.ACCEPTED, State.ALLOWED) if one in self.states]
        return words[0].value if words else ""
