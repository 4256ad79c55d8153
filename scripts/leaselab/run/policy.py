"""The policy by which a commit is judged: leaselab.yml of what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from leaselab.analysis.comparison.ruling import judge
from leaselab.analysis.comparison.verdict import Comparison
from leaselab.builds.repository import Repository
from leaselab.catalog.catalogue import Catalogue
from leaselab.inputs.policy import MOST_BYTES, read_policy
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.policy import (
    FIGURES,
    FILE,
    NO_POLICY,
    TRAILER,
    Acceptance,
    Clause,
    InForce,
    Policy,
)
from leaselab.model.procedures.cost import COST
from leaselab.model.procedures.duel import DUEL
from leaselab.model.source import SHORT, Commit

_MOST_TRAILERS = 20
"""Trailers of a commit that are read."""


@dataclass(frozen=True, slots=True)
class PolicySource:
    """Where policies are read: in the commits of a repository, or one that the user named."""

    repository: Repository | None
    given: tuple[str, str] | None = None
    """Name and text of a file that counts instead of those of the repository."""

    def in_force(self, a: Commit | None, b: Commit | None) -> InForce | None:
        """Return the policy by which B is judged against A; None where there is none.

        Raises a usage error for one with an error, and for one of B with an error.
        """
        if b is None or self.repository is None:
            policy = self._read(*self.given[::-1]) if self.given else None
            return InForce(policy, self.given[0]) if policy and self.given else None
        policy, after = self.policies(a, b)
        if policy is None and after is None:
            return None
        base, notes = self._base(a, b), []
        name = base.name if base else "no commit"
        source = f"{FILE} of {name}" if policy else f"{name}, which has no {FILE}"
        if self.given is not None:
            source = self.given[0]
        elif policy != after:
            notes.append(f"{FILE} of {b.hash[:SHORT]} differs: it counts once it is merged")
        policy = policy or NO_POLICY
        accepted, refused = self._acceptances(policy, b)
        return InForce(policy, source, tuple(accepted), (*notes, *refused))

    def policies(self, a: Commit | None, b: Commit) -> tuple[Policy | None, Policy | None]:
        """Return the policy in force, and that of B; None where there is none."""
        if self.given is not None:
            return self._read(self.given[1], self.given[0]), None
        base = self._base(a, b)
        return (None if base is None else self._of(base)), self._of(b)

    def clauses(
        self, a: Commit | None, b: Commit, procedure: str, scenario: str | None, metric: str
    ) -> list[Clause]:
        """Return how one scenario is measured, or all that the policy has of a procedure.

        With a `metric`, duels about another are left out.
        """
        base, after = self.policies(a, b)
        policy = base or NO_POLICY
        if scenario is not None:
            return [policy.clause(scenario, procedure, metric)]
        clauses = policy.measured(procedure, after)
        return [clause for clause in clauses if metric in ("", clause.metric)]

    def _base(self, a: Commit | None, b: Commit) -> Commit | None:
        """The commit whose policy is in force: A, or where B's branch left the main one.

        That one counts where A is before it, such as the last release: rules would otherwise
        change with releases only.
        """
        if self.repository is None:
            return None
        try:
            point = self.repository.branch_point(b)
        except LeaselabError as error:
            if error.outcome is not Outcome.USAGE:
                raise
            return a  # there is no main branch, or nothing before B
        return point if a is None or self.repository.is_ancestor(a, point) else a

    def _of(self, commit: Commit) -> Policy | None:
        text = self.repository.file(commit, FILE, MOST_BYTES) if self.repository else None
        if text is None:
            return None
        try:
            return self._read(text, FILE)
        except LeaselabError as error:
            error.where += f" of {commit.hash[:SHORT]}"
            raise

    @staticmethod
    def _read(text: str, name: str) -> Policy:
        policy, errors = read_policy(text, name, Catalogue.here().scenarios)
        if policy is None:
            raise errors[0]
        return policy

    def _acceptances(self, policy: Policy, b: Commit) -> tuple[list[Acceptance], list[str]]:
        """The trailers of B that count, and why others do not."""
        if b.dirty or self.repository is None:
            return [], []
        address, values = self.repository.trailers(b, TRAILER)
        accepted, refused = [], []
        for value in values[:_MOST_TRAILERS]:
            figure, scenario, reason, *_ = *value.split(maxsplit=2), "", "", ""
            if figure not in (*FIGURES, COST, DUEL) or not reason:
                why = f"it is not FIGURE SCENARIO REASON: {value}"
            elif not policy.may_override(address):
                why = f"the policy does not list {address}"
            else:
                accepted.append(Acceptance(figure, scenario, reason, address, b.hash))
                continue
            refused.append(f"{TRAILER} of {b.hash[:SHORT]} does not count: {why}")
        return accepted, refused


def ruled(source: PolicySource | None, comparison: Comparison) -> Comparison:
    """Return a comparison with what the policy of its repository says of it."""
    if source is None:
        return comparison
    base = comparison.base.source if comparison.base is not None else None
    rules = source.in_force(base, comparison.other.source)
    return comparison if rules is None else replace(comparison, ruling=judge(rules, comparison))
