"""The bench lock: one sweep at a time per bench, whoever starts it.

The lock lives on the generator's host, kept by the small program its role
installs there, and on that host's clock alone.  It is a lease: its owner
renews it between trials, and a dead owner's lock expires by itself.  The same
program keeps who has the bench in maintenance, which lasts until it is ended.
"""

from __future__ import annotations

import getpass
import json
import os
import secrets
import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from leaselab.lab.server import PROFILE_END_S
from leaselab.lab.transport import Connection
from leaselab.model.bench import START_LIMIT_S, Bench
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.model.procedure import ROUND_OVERHEAD_S, TRIAL_OVERHEAD_S
from leaselab.model.procedures.profile import Profile

PROGRAM = "/opt/leaselab/bench-lock"
_TIMEOUT_S = 15.0
_HELD_BY_OTHER = 3


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a bench."""

    name: str
    """Person and machine, such as ``ana@laptop``."""
    purpose: str
    """What it is held for, such as the sweep's id."""
    token: str
    """Known to the owner alone; whoever has it may renew and release."""
    under: str = ""
    """Token of the hold that it takes the bench under and gives it back to; see `lab.hold`."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A bench that its keeper has taken out of use; nothing but the keeper's word ends it."""

    name: str
    """Whose, such as ``ana@laptop``."""
    reason: str
    since: str
    """When it began, in UTC by the generator's clock: ``2026-11-23T10:05:00Z``."""

    def __str__(self) -> str:
        """Return ``ana@laptop since 2026-11-23 10:05 UTC: new network card``."""
        since = self.since[:16].replace("T", " ")
        return f"{self.name} since {since} UTC: {self.reason}"


@dataclass(frozen=True, slots=True)
class LockStatus:
    """What the generator's host says of its bench."""

    holder: dict[str, Any] | None
    """Who has it (name, purpose, age_s, expires_in_s), None when it is free."""
    maintenance: Maintenance | None


@dataclass
class BenchInUseError(LeaselabError):
    """Somebody else has the bench: a broken-lab error that is nobody's fault."""


def lease_s(bench: Bench) -> int:
    """How long a lock lasts without being renewed (s).

    It is renewed before each trial and each start, so it must outlast the longer of the two: a
    trial with as much again to spare, with a pair also the time in which it may find together
    again, with a profile that in which its stacks are unwound; a start of one server after the
    other, with what serves beside or for them, and of the pair.
    """
    settle = 2 * bench.server.settle_s  # of a pair, one is asked after the other
    traffic = max(bench.procedure.longest_trial_s, bench.procedure.warm_up_s)
    trial = traffic + bench.procedure.wait_s + TRIAL_OVERHEAD_S
    limits = [server.start_limit_s for server in bench.servers.values()]
    slow = bench.scenario.beside or bench.scenario.support or max(limits) > START_LIMIT_S
    start = sum(limits) if slow else ROUND_OVERHEAD_S * len(limits)
    # The stacks of a profile are unwound after the traffic.
    unwound = PROFILE_END_S if isinstance(bench.procedure, Profile) else 0.0
    return round(max(2 * trial + settle + unwound, start + settle))


def owner_name() -> str:
    """Who this is, as others read it: LEASELAB_OWNER, else the user and the machine."""
    return os.environ.get("LEASELAB_OWNER") or f"{getpass.getuser()}@{socket.gethostname()}"


def new_owner(purpose: str, token: str | None = None, *, under: str = "") -> Owner:
    """Name this process as an owner; `token` takes a lock over that was its own."""
    name = f"{owner_name()} pid {os.getpid()}"
    return Owner(name, purpose, token or secrets.token_hex(8), under)


@dataclass
class InMaintenanceError(BenchInUseError):
    """The bench is in maintenance: waiting does not help, asking its keeper does."""


def status(connection: Connection) -> LockStatus:
    """Return who holds the bench, and who has it in maintenance."""
    done = connection.run([PROGRAM, "status"], timeout_s=_TIMEOUT_S)
    if done.status != 0:
        raise lab_broken(
            f"the bench lock cannot be read: {done.stderr.strip()}",
            where=connection.access.name,
            todo="provision the bench first: leaselab run, or ansible/provision.yml",
        )
    return _answer(done.stdout)


def _answer(text: bytes) -> LockStatus:
    """What the lock's program prints; one of an earlier release knows no maintenance."""
    answer = json.loads(text)
    closed = answer.get("maintenance")
    return LockStatus(answer["owner"], Maintenance(**closed) if closed else None)


def refuse_in_use(connection: Connection, hold: Mapping[str, Any] | None = None) -> None:
    """Raise a broken-lab error that names who has the bench, if anybody else has.

    So it does for one in maintenance, unless one's own hold is older than that.  A bench
    that was never provisioned has no lock, and nobody can hold it.  `hold` is the request
    of one's own hold (`lab.hold`), which is prolonged.
    """
    try:
        found = status(connection)
    except LeaselabError:
        return
    if hold is not None:
        ask(connection, "acquire", hold)
    elif found.maintenance is not None or found.holder is not None:
        raise _refused(connection, found)


def _refused(connection: Connection, found: LockStatus) -> BenchInUseError:
    if found.maintenance is not None:
        return InMaintenanceError(
            Outcome.LAB,
            "the bench is in maintenance",
            where=connection.access.name,
            found=str(found.maintenance),
            todo=f"ask {found.maintenance.name}; `leaselab lab maintenance off` ends it",
        )
    return _in_use(connection, found.holder or {})


def _in_use(connection: Connection, held: Mapping[str, Any]) -> BenchInUseError:
    return BenchInUseError(
        Outcome.LAB,
        "the bench is in use",
        where=connection.access.name,
        found=f"{held['name']}, {held['purpose']}, for {held['age_s']:.0f} s",
        todo=f"wait; if it is dead, its lock expires in {held['expires_in_s']:.0f} s",
    )


class BenchLock(AbstractContextManager["BenchLock"]):
    """The lock, held from entering to leaving."""

    def __init__(self, connection: Connection, owner: Owner, lease: int) -> None:
        self._connection = connection
        self._owner = owner
        self._lease = lease

    def __enter__(self) -> BenchLock:
        """Take it, or raise a broken-lab error that names who has it."""
        self._call("acquire")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it back; after a fault a lock that cannot be released expires."""
        try:
            self._call("release")
        except Exception:
            if kind is None:
                raise

    def renew(self) -> None:
        """Prolong it; raises a broken-lab error when it was lost to somebody else."""
        self._call("renew")

    def _call(self, verb: str) -> None:
        request = {**asdict(self._owner), "lease_s": self._lease}
        ask(self._connection, verb, request)


def ask(connection: Connection, verb: str, request: Mapping[str, Any]) -> LockStatus:
    """Have the lock's program do a verb, and return its answer; errors as `BenchLock`."""
    # on standard input: a token in argv could be read by everyone on the host
    done = connection.run(
        [PROGRAM, verb], timeout_s=_TIMEOUT_S, stdin=json.dumps(dict(request)).encode()
    )
    if done.status == _HELD_BY_OTHER:
        raise _refused(connection, _answer(done.stdout))
    if done.status != 0:
        raise lab_broken(
            f"bench lock: {done.stderr.strip() or f'exit status {done.status}'}",
            where=connection.access.name,
            todo="provision the bench first: leaselab run, or ansible/provision.yml",
        )
    return _answer(done.stdout)
