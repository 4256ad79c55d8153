"""The bench lock: one owner at a time per bench.

The lock lives on the generator's host, kept by the small program its role
installs there, and on that host's clock alone.  It is a lease: its owner
renews it, and a dead owner's lock expires by itself.  The same
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
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any

import msgspec

from leaselab.lab.contract.server import PROFILE_END_S
from leaselab.lab.hosts.answers import NO_ANSWER, decoded
from leaselab.lab.hosts.transport import Connection
from leaselab.model.bench import START_LIMIT_S, Bench
from leaselab.model.errors import IN_USE, LeaselabError, Outcome, lab_broken
from leaselab.model.procedure import ROUND_OVERHEAD_S, TRIAL_OVERHEAD_S
from leaselab.model.procedures.profile import Profile

PROGRAM = "/opt/leaselab/bench-lock"
_TIMEOUT_S = 15.0
_HELD_BY_OTHER = 3


@dataclass(frozen=True, slots=True)
class Hold:
    """Who has a bench, and for how long: a request of the lock's program."""

    name: str
    """Person and machine, such as ``ana@laptop``."""
    purpose: str
    """What the bench is used for, such as a sweep's id."""
    token: str
    """Secret of the owner; with it a lock is renewed and released."""
    lease_s: int
    """How long the lock lasts after it was last renewed (s)."""
    under: str = ""
    """Token of the hold under which it takes the bench, and to which it returns the bench."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A bench that its keeper has taken out of use; only a keeper's command ends that."""

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


class _Owner(msgspec.Struct):
    name: str
    purpose: str
    age_s: float
    expires_in_s: float


class _Printed(msgspec.Struct):
    owner: _Owner | None
    maintenance: Maintenance | None


@dataclass
class BenchInUseError(LeaselabError):
    """The bench is in maintenance, or another owner holds it: no fault of the lab."""


@dataclass
class BenchHeldError(BenchInUseError):
    """Another command or user holds the bench, and will release it."""

    @property
    def code(self) -> int:
        """Not that of a broken lab: waiting is enough."""
        return IN_USE


def lease_s(bench: Bench) -> int:
    """How long a lock lasts without being renewed (s).

    A sweep renews it before each trial, for its traffic as well, and before each start, so it
    must outlast the longer: what a trial takes beside its traffic, with as much again to spare,
    with a pair also the time in which it may find together again, with a profile that in which
    its stacks are unwound; a start of one server after the other, with companion and
    supporting services, and of the pair.
    """
    settle = 2 * bench.server.settle_s  # of a pair, one is asked after the other
    trial = bench.procedure.wait_s + TRIAL_OVERHEAD_S
    limits = [server.start_limit_s for server in bench.servers.values()]
    slow = bench.scenario.beside or bench.scenario.support or max(limits) > START_LIMIT_S
    start = sum(limits) if slow else ROUND_OVERHEAD_S * len(limits)
    # The stacks of a profile are unwound after the traffic.
    unwound = PROFILE_END_S if isinstance(bench.procedure, Profile) else 0.0
    return round(max(2 * trial + settle + unwound, start + settle))


def owner_name() -> str:
    """Who this is, as others read it: LEASELAB_OWNER, else the user and the machine."""
    return os.environ.get("LEASELAB_OWNER") or f"{getpass.getuser()}@{socket.gethostname()}"


def new_hold(purpose: str, lease_s: int, *, under: str = "") -> Hold:
    """Make a hold in the name of this user; nothing is locked by it yet."""
    return Hold(owner_name(), purpose, secrets.token_hex(16), lease_s, under)


def status(connection: Connection) -> LockStatus:
    """Return who holds the bench, and who has it in maintenance."""
    done = connection.run([PROGRAM, "status"], timeout_s=_TIMEOUT_S)
    if done.status != 0:
        raise _failed(connection, done.stderr.strip())
    return _answer(connection, done.stdout)


def _answer(connection: Connection, text: bytes) -> LockStatus:
    """What the lock's program prints."""
    answer = decoded(
        text,
        _Printed,
        what=f"what {PROGRAM} {NO_ANSWER}",
        where=connection.access.name,
        todo="provision the bench again, which installs this release's lock",
    )
    owner = msgspec.structs.asdict(answer.owner) if answer.owner else None
    return LockStatus(owner, answer.maintenance)


def _refused(connection: Connection, status: LockStatus) -> BenchInUseError:
    if status.maintenance is not None:
        return BenchInUseError(
            Outcome.LAB,
            "the bench is in maintenance",
            where=connection.access.name,
            found=str(status.maintenance),
            todo=f"ask {status.maintenance.name}; `leaselab lab maintenance off` ends it",
        )
    held = status.holder or {}
    return BenchHeldError(
        Outcome.LAB,
        "the bench is in use",
        where=connection.access.name,
        found=f"{held['name']}, {held['purpose']}, for {held['age_s']:.0f} s",
        todo=f"wait; if it is dead, its lock expires in {held['expires_in_s']:.0f} s",
    )


@dataclass
class NoLockError(LeaselabError):
    """The generator's host has no lock program: the bench was never provisioned."""


class BenchLock(AbstractContextManager["BenchLock"]):
    """The lock, held from entering to leaving."""

    def __init__(self, connection: Connection, hold: Hold, after: Hold) -> None:
        """`after` is the hold of the same token that goes on afterwards."""
        self._connection = connection
        self._hold = hold
        self._after = after

    def __enter__(self) -> BenchLock:
        """Take it, or raise a broken-lab error that names who has it."""
        ask(self._connection, "renew", self._hold)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Go on with the other hold; after a fault a lock that is not renewed expires."""
        try:
            ask(self._connection, "renew", self._after)
        except Exception:
            if kind is None:
                raise

    def renew(self, busy_s: float = 0.0) -> None:
        """Prolong it; raises a broken-lab error when it was lost to another owner.

        It lasts twice `busy_s` longer than usual: a trial may be longer than those of a round.
        """
        lease_s = self._hold.lease_s + round(2 * busy_s)
        ask(self._connection, "renew", replace(self._hold, lease_s=lease_s))


def ask(connection: Connection, verb: str, request: Hold | Mapping[str, Any]) -> LockStatus:
    """Call a verb of the lock's program, and return its answer.

    Raises `BenchInUseError` where another owner has the bench, `NoLockError` where there is no
    such program, and a broken-lab error for anything else.
    """
    document = asdict(request) if isinstance(request, Hold) else dict(request)
    # on standard input: a token in argv could be read by everyone on the host
    done = connection.run(
        [PROGRAM, verb], timeout_s=_TIMEOUT_S, stdin=json.dumps(document).encode()
    )
    if done.status == _HELD_BY_OTHER:
        raise _refused(connection, _answer(connection, done.stdout))
    if done.status != 0:
        raise _failed(connection, done.stderr.strip() or f"exit status {done.status}")
    return _answer(connection, done.stdout)


def _failed(connection: Connection, why: str) -> LeaselabError:
    where = connection.access.name
    if connection.run(["test", "-x", PROGRAM], timeout_s=_TIMEOUT_S).status == 0:
        return lab_broken(
            f"bench lock: {why}", where=where, todo=f"see what {PROGRAM} status says there"
        )
    return NoLockError(
        Outcome.LAB,
        f"there is no bench lock: {why}",
        where=where,
        todo="provision the bench first: leaselab run, or ansible/provision.yml",
    )
