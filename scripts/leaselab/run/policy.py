"""The policy by which a commit is judged: leaselab.yml of what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from leaselab.analysis.comparison.ruling import judge
from leaselab.analysis.comparison.verdict import Comparison
from leaselab.builds.repository import Repository
from leaselab.catalog.catalogue import Catalogue
from leaselab.inputs.policy import MOST_BYTES, read_policy
from leaselab.model.errors import LeaselabError
from leaselab.model.policy import FIGURES, FILE, TRAILER, Acceptance, Clause, InForce, Policy
from leaselab.model.procedures.cost import COST
from leaselab.model.procedures.duel import DUEL, METRICS
from leaselab.model.source import SHORT, Commit

_NONE = Policy((), Clause(""))
_USUAL = {COST: "", DUEL: METRICS[0]}
_MOST_TRAILERS = 20
"""Trailers of a commit that are read."""


@dataclass(frozen=True, slots=True)
class PolicySource:
    """Where policies are read: in the commits of a repository, or one that the user named."""

    repository: Repository | None
    given: tuple[str, str] | None = None
    """Name and text of a file that counts instead of those of the repository."""

    def clauses(self, procedure: str, a: Commit | None, b: Commit) -> tuple[Clause, ...]:
        """Return what is measured by a procedure where no scenario is named; empty for nothing.

        These are the clauses of the policy in force, then scenarios that B adds, each with the
        usual terms of that policy: what B says of them does not count yet.
        """
        base, after = self._policies(a, b)
        known = [one for one in base.clauses if one.procedure == procedure] if base else []
        named = {one.what for one in base.clauses} if base else set()
        added = [one for one in after.clauses if one.what not in named] if after else []
        usual = base or _NONE
        fresh = [usual.clause(*one.what) for one in added if one.procedure == procedure]
        return (*known, *fresh)

    def clause(
        self, scenario: str, procedure: str, metric: str, a: Commit | None, b: Commit
    ) -> Clause:
        """Return the clause of one scenario by the policy in force, by any metric for none."""
        policy = self._policies(a, b)[0] or _NONE
        known = [
            *policy.clauses,
            policy.clause(scenario, procedure, metric or _USUAL[procedure]),
        ]
        return next(
            one
            for one in known
            if one.what[:2] == (scenario, procedure) and metric in ("", one.metric)
        )

    def in_force(self, a: Commit | None, b: Commit | None) -> InForce | None:
        """Return the policy by which B is judged against A; None where there is none.

        Raises a usage error for one with an error, and for one of B with an error.
        """
        if b is None or self.repository is None:
            policy = self._read(*self.given[::-1]) if self.given else None
            return InForce(policy, self.given[0]) if policy and self.given else None
        policy, after = self._policies(a, b)
        if policy is None and after is None:
            return None
        base, notes = self._base(a, b), []
        name = base.name if base else "no commit"
        source = f"{FILE} of {name}" if policy else f"{name}, which has no {FILE}"
        if self.given is not None:
            source = self.given[0]
        elif policy != after:
            notes.append(f"{FILE} of {b.hash[:SHORT]} differs: it counts once it is merged")
        policy = policy or _NONE
        accepted, refused = self._acceptances(policy, b)
        return InForce(policy, source, tuple(accepted), (*notes, *refused))

    def _policies(self, a: Commit | None, b: Commit) -> tuple[Policy | None, Policy | None]:
        """The policy in force, and that of B."""
        if self.given is not None:
            return self._read(self.given[1], self.given[0]), None
        base = self._base(a, b)
        return (None if base is None else self._of(base)), self._of(b)

    def _base(self, a: Commit | None, b: Commit) -> Commit | None:
        """The commit whose policy is in force: A, or where B's branch left the main one.

        That one counts where A is before it, such as the last release: rules would otherwise
        change with releases only.
        """
        if self.repository is None:
            return None
        try:
            point = self.repository.branch_point(b)
        except LeaselabError:
            return a
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
