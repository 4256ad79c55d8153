"""A count of a server, by the commands that its contract takes meanwhile."""

from __future__ import annotations

from leaselab.lab.contract.verbs import Verbs
from leaselab.lab.hosts.transport import Follower
from leaselab.model.errors import LeaselabError
from leaselab.model.observation import Counts, Held

COUNT_TIMEOUT_S = 120.0
"""Longest answer of a count: a dump of all functions, or a server that does not rest (s)."""


class RemoteCounter:
    """A server that is counted by its contract, as `leaselab.measure.ports.Counter`."""

    def __init__(self, verbs: Verbs, follower: Follower) -> None:
        self._verbs, self._follower = verbs, follower

    def settle(self) -> None:
        """Return once all of its threads sleep."""
        self._answer("settle")

    def begin(self) -> None:
        """Begin to count what is not to be counted yet."""
        self._answer("begin")

    def zero(self) -> None:
        """Forget what was counted so far."""
        self._answer("zero")

    def take(self) -> Counts:
        """Return what was counted since, and count nothing further."""
        return self._verbs.decoded(self._answer("take"), Counts, "count")

    def held(self) -> int | None:
        """Return how many entries it holds; None where it holds none, or is silent."""
        return self._verbs.decoded(self._answer("held"), Held, "count").held

    def _answer(self, command: str) -> str:
        line = self._follower.say(command, COUNT_TIMEOUT_S)
        self._follower.lines()
        if line is None:
            raise self.lost(f"the server was not counted ({command})")
        return line

    def lost(self, what: str) -> LeaselabError:
        """Return why the contract has no answer; raises a broken-lab error for its host's."""
        return self._verbs.not_done(self._follower, what, COUNT_TIMEOUT_S)
