"""Two archived results, by the names that a user gives them, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leaselab.analysis.comparison.verdict import Comparison, compare
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.record import Record
from leaselab.run.pair import (
    PREVIOUS,
    VERSION,
    CommitNames,
    load_named,
    load_previous,
    load_version,
)


@dataclass(frozen=True, slots=True)
class NamedPair:
    """A and B, and how they are compared."""

    store: Store
    a: str
    """A result, `previous` or version:V; with `names` a commit."""
    b: str
    names: CommitNames | None
    threshold: float
    """As `compare` has it (%)."""
    metric: str | None
    """The figure that decides; None for the procedure's."""

    def of_scenarios(self, scenarios: Sequence[str]) -> tuple[list[Comparison], list[str]]:
        """Compare by each scenario that B has a result of; return also those without one.

        Raises a usage error where B has none at all.
        """
        if self.names is not None:
            self.names.repository.resolve(self.b)  # an unknown commit is reported once
        comparisons: list[Comparison] = []
        left_out: list[str] = []
        for scenario in scenarios:
            names = self.names and replace(self.names, scenario=scenario)
            try:
                comparisons.append(replace(self, names=names).comparison())
            except LeaselabError as error:
                if error.outcome is not Outcome.USAGE:
                    raise
                left_out.append(scenario)
        if not comparisons:
            raise usage_error(
                f"no result of any scenario for {self.b}",
                where=str(self.store.root),
                wanted=f"one of {', '.join(left_out)}",
            )
        return comparisons, left_out

    def comparison(self) -> Comparison:
        """Compare the two; raises a usage error for a name without a result."""
        store, a, names = self.store, self.a, self.names
        named = a != PREVIOUS and not a.startswith(VERSION)
        if names is not None:  # an unknown commit comes before a missing result
            for ref in (a, self.b)[not named :]:
                names.repository.resolve(ref)
        try:
            other = load_named(store, self.b, names, against=a if named else None)
        except LeaselabError:
            if named:
                load_named(store, a, names)  # where both are wrong, the first is reported
            raise
        try:
            base = self._base(other)
        except LeaselabError as error:
            # B's own failure takes precedence: it does not depend on A
            alone = compare(None, other, self.threshold)
            return replace(alone, error=alone.error or error)
        anchors = store.anchors_of(*(record for record in (base, other) if record is not None))
        anchors = {ident: record.by(self.metric) for ident, record in anchors.items()}
        base = None if base is None else base.by(self.metric)
        return compare(base, other.by(self.metric), self.threshold, anchors)

    def _base(self, other: Record) -> Record | None:
        if self.a == PREVIOUS:
            return load_previous(self.store, other)
        if self.a.startswith(VERSION):
            return load_version(self.store, other, self.a.removeprefix(VERSION))
        return load_named(self.store, self.a, self.names, other)
