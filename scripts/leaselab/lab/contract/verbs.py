"""The verbs of a server's contract on its host, their answers, and why there is none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from leaselab.lab.hosts.answers import NO_ANSWER, decoded
from leaselab.lab.hosts.boot import boot, boot_of
from leaselab.lab.hosts.transport import Completed, Connection, Follower
from leaselab.model.bench import ServerUnderTest
from leaselab.model.errors import LeaselabError, invalid_measurement, lab_broken, server_broken
from leaselab.model.text import last_line

_Told = TypeVar("_Told")
DEPLOY_AGAIN = "deploy again, which installs this release's contract"
NOT_THERE = frozenset({126, 127})
"""Exit statuses where there is no contract."""
BENEATH = 4
"""Exit status of the contract when something that the server depends on fails."""
_SHUTDOWN_S = 5.0
"""How long a host that is shut down may outlive its server (s)."""


class Verbs:
    """The contract of one deployed server."""

    def __init__(self, connection: Connection, deployed: ServerUnderTest) -> None:
        self.connection = connection
        self.deployed = deployed
        self._boot = ""

    @property
    def where(self) -> str:
        """The host, as errors name it."""
        return self.connection.access.name

    def note_boot(self) -> None:
        """Note which boot of the host a server is started in."""
        self._boot = boot(self.connection)

    def argv(self, verb: str) -> list[str]:
        """Return the command of a verb."""
        return [self.deployed.contract, verb, self.deployed.variant]

    def do(self, verb: str, timeout_s: float) -> Completed:
        """Carry out a verb, which may take so long (s)."""
        return self.connection.run(self.argv(verb), timeout_s=timeout_s)

    def done(self, verb: str, timeout_s: float, otherwise: str) -> Completed:
        """Carry out a verb that must not fail; raises a broken-lab error for that."""
        done = self.do(verb, timeout_s)
        if done.status != 0:
            raise self.broken(f"{otherwise}: {last_line(done.stderr)}")
        return done

    def follow(
        self, verb: str, on_line: Callable[[str], None] | None = None
    ) -> AbstractContextManager[Follower]:
        """Run a verb that prints lines until its context ends; `on_line` gets each."""
        return self.connection.follow(self.argv(verb), on_line)

    def decoded(self, answer: str | bytes, kind: type[_Told], verb: str) -> _Told:
        """Read an answer of a verb; raises a broken-lab error for another one."""
        what, todo = self.no_answer(verb), DEPLOY_AGAIN
        return decoded(answer, kind, what=what, where=self.where, todo=todo)

    def no_answer(self, verb: str) -> str:
        """Return that a verb has printed something else than its answer."""
        return f"what '{self.deployed.contract} {verb}' {NO_ANSWER}"

    def broken(self, what: str) -> LeaselabError:
        """Return a broken-lab error of the host."""
        todo = "see whether the host works; then resume the sweep"
        return lab_broken(what, where=self.where, todo=todo)

    def refused(self, what: str, verb: str, done: Completed) -> LeaselabError:
        """Return a server-broken error of a verb, with the server's own reason."""
        return server_broken(
            f"{what}: {last_line(done.stderr)}",
            where=self.where,
            todo=f"run '{' '.join(self.argv(verb))}' on that host to see for yourself",
        )

    def not_done(self, follower: Follower, what: str, limit_s: float) -> LeaselabError:
        """Return the error of a verb that has ended under commands; raises that of its host.

        `limit_s` is how long it was waited for.  A server that does not run under a counter is
        not broken: it started as it is deployed.
        """
        reason = follower.ended
        if reason is None:
            return self.broken(f"{what}: no answer within {limit_s:.0f} s")
        if follower.status == BENEATH or follower.status in NOT_THERE:
            return self.broken(f"{what}: {last_line(reason)}")
        self.check_host(follower.status)
        return invalid_measurement(
            f"{what}: {last_line(reason)}", where=self.where, todo="see the server's log there"
        )

    def check_host(self, status: int | None) -> None:
        """Raise a broken-lab error where not the server alone is gone, but its host.

        `status` is the sampler's: a contract ends with one, and a host that goes away without.
        One that is shut down ends the server first, and its connections a moment later.
        """
        if status is not None and status >= 0 and self.connection.lasts(_SHUTDOWN_S):
            return
        now = boot_of(self.connection.access)
        if not now:
            what = "the host went away while its server was measured"
        elif now != self._boot:
            what = "the host was restarted while its server was measured"
        else:
            what = "the connection broke while the server was measured"
        raise self.broken(what)
