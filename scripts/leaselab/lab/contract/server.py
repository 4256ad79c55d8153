"""The server under test, through the one executable its role installed.

The contract (verbs, what they print) is described in docs/reference/server-contract.md;
nothing here knows which server it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from msgspec.structs import replace

from leaselab.lab.hosts.answers import NO_ANSWER, decoded
from leaselab.lab.hosts.boot import boot, boot_of
from leaselab.lab.hosts.transport import Completed, Connection, Follower
from leaselab.model.bench import ServerUnderTest
from leaselab.model.errors import LeaselabError, invalid_measurement, lab_broken, server_broken
from leaselab.model.observation import (
    Counts,
    Cut,
    Held,
    Operable,
    Operated,
    OperationKind,
    Reloaded,
    Reset,
    Sampled,
    ServerStarted,
    State,
)
from leaselab.model.procedures.operate import LONGEST_OPERATION_S
from leaselab.model.text import bounded, last_line
from leaselab.model.trial import Sample

RESET_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 90.0
SAMPLE_TIMEOUT_S = 10.0
SETTLE_TIMEOUT_S = 300.0
LIST_TIMEOUT_S = 120.0
PROFILE_BEGIN_S, PROFILE_END_S = 30.0, 300.0
COUNT_TIMEOUT_S = 120.0
"""Longest answer of a count: a dump of all functions, or a server that does not rest (s)."""
_Told = TypeVar(
    "_Told",
    Counts,
    Cut,
    Held,
    Operable,
    Operated,
    Reloaded,
    Reset,
    Sample,
    Sampled,
    ServerStarted,
    State,
)
_DEPLOY_AGAIN = "deploy again, which installs this release's contract"
_SHUTDOWN_S = 5.0
"""How long a host that is shut down may outlive its server (s)."""
_NOT_THERE = frozenset({126, 127})
_BENEATH = 4
"""Exit status of the contract when something that the server depends on fails."""
_SHOWN = 200
"""Letters of a value that differs."""
_PROFILE = "AppArmor profile"
"""How a difference in confinement is named."""


class ContractServer:
    """One server behind its contract, started and stopped by a sweep."""

    def __init__(
        self,
        connection: Connection,
        deployed: ServerUnderTest,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """`on_line` is called with each sample as it comes, as the contract prints it."""
        self._connection = connection
        self._deployed = deployed
        self._on_line = on_line
        self._running = ExitStack()
        self._sampler: Follower | None = None
        self._brake = 0.0
        self._boot = ""
        self._profiler: Follower | None = None

    def start(self) -> ServerStarted:
        """Start it clean, as deployed, and begin sampling.

        Raises a server-broken error with the server's own reason when it does
        not start, a broken-lab error when it is not what was deployed.
        """
        self._boot = boot(self._connection)
        done = self._do("start", self._deployed.start_limit_s)
        if done.status in _NOT_THERE:
            raise lab_broken(
                f"no server is deployed: {last_line(done.stderr)}",
                where=self._connection.access.name,
                todo="deploy first: leaselab run, or ansible/deploy.yml",
            )
        if done.status == _BENEATH:
            raise self._broken(last_line(done.stderr))
        if done.status != 0:
            self._check_host(done.status)
            self._check_files()  # a file that was replaced does not show what was deployed
            raise server_broken(
                f"the server does not start: {last_line(done.stderr)}",
                where=self._connection.access.name,
                todo=f"run '{' '.join(self._argv('start'))}' on that host to see for yourself",
            )
        started = self.decoded(done.stdout, ServerStarted, "start")
        self._sampler = self._running.enter_context(
            self._connection.follow(self._argv("sample"), self._on_line)
        )
        if self._brake:
            self._begin_to_brake()
        self._check_deployed(started)
        self._check_beside(started.beside)
        return started

    def _check_deployed(self, started: ServerStarted) -> None:
        wanted = self._deployed
        for what, found, expected in (
            ("configuration", started.running_config_sha256, wanted.running_config_sha256),
            ("version", started.version, wanted.version),
            ("commit", str(started.commit), str(wanted.commit)),
        ):
            if found != expected:
                raise self._another(what, found, expected)
        if wanted.program_sha256 is None:
            return  # its contract does not report it
        if (found := str(started.program_sha256)) != wanted.program_sha256:
            raise self._another(str(wanted.program), found, wanted.program_sha256)
        for path, expected in wanted.libraries_sha256.items():
            # One that is loaded when it is first needed may not be there yet.
            if (found := started.libraries_sha256.get(path, expected)) != expected:
                raise self._another(path, found, expected)
        if started.confinement != wanted.confinement:
            raise self._another(_PROFILE, str(started.confinement), str(wanted.confinement))

    def _check_files(self) -> None:
        """Hold program and libraries against their hashes, where the server does not run."""
        deployed = self._deployed
        if deployed.program is None or deployed.program_sha256 is None:
            return
        wanted = {deployed.program: deployed.program_sha256, **deployed.libraries_sha256}
        done = self._connection.run(["sha256sum", "--", *wanted], timeout_s=SAMPLE_TIMEOUT_S)
        rows = (line.split("  ", 1) for line in done.stdout.decode().splitlines())
        digests = {path: digest for digest, path in rows}
        for path, expected in wanted.items():
            if digests.get(path) != expected:
                raise self._another(path, digests.get(path, "no such file"), expected)

    def _another(self, what: str, found: str, wanted: str) -> LeaselabError:
        return lab_broken(
            f"the server has another {what} than was deployed for this sweep",
            where=self._connection.access.name,
            found=bounded(found, _SHOWN),
            wanted=bounded(wanted, _SHOWN),
            todo="it was deployed or installed again since; deploy again",
        )

    def _check_beside(self, running: Mapping[str, Any]) -> None:
        """Refuse companion services that are not as tuned: a result would not show that."""
        wanted_all = self._deployed.beside
        for what in sorted({*running, *wanted_all}):
            found, wanted = _flat(running.get(what)), _flat(wanted_all.get(what))
            other = sorted(
                name for name in found | wanted if found.get(name) != wanted.get(name)
            )
            if other:
                raise lab_broken(
                    f"the server's {what} has another {' and '.join(other)} than was tuned for "
                    "this sweep",
                    where=self._connection.access.name,
                    found=", ".join(found.get(name, "none") for name in other),
                    wanted=", ".join(wanted.get(name, "none") for name in other),
                    todo="it was tuned or deployed again since; deploy and tune again",
                )

    def state(self) -> str:
        """How it differs from the state asked for among several, empty when it does not."""
        done = self._do("state", RESET_TIMEOUT_S)
        if done.status != 0:
            self._check_alive_now()
            raise self._broken(f"the server does not say its state: {last_line(done.stderr)}")
        return self.decoded(done.stdout, State, "state").trouble

    def settle(self) -> None:
        """Wait until it is in the state asked for among several.

        Raises a broken-lab error that says which state it is in.
        """
        done = self._do("settle", SETTLE_TIMEOUT_S)
        if done.status != 0:
            self._check_alive_now()
            raise self._broken(last_line(done.stderr))

    def reset(self) -> int | None:
        """Empty it; return how much it held, None where it never holds anything."""
        done = self._do("reset", RESET_TIMEOUT_S)
        if done.status != 0:
            if done.status != _BENEATH:
                self._check_alive_now()
            raise self._broken(f"the server cannot be reset: {last_line(done.stderr)}")
        answer = self.decoded(done.stdout, Reset, "reset")
        if answer.held:
            raise self._broken(
                f"the server was not reset: {answer.held} {self._deployed.holds} left"
            )
        return answer.was

    def reload(self) -> float:
        """Make it read its data again; return how long it took (s).

        Raises a server-broken error where it does not, an invalid-measurement error where it
        has died.
        """
        done = self._do("reload", self._deployed.start_limit_s)
        if done.status != 0:
            self._check_alive_now()
            self._check_host(done.status)
            raise server_broken(
                f"the server does not reload: {last_line(done.stderr)}",
                where=self._connection.access.name,
                todo=f"run '{' '.join(self._argv('reload'))}' on that host to see for yourself",
            )
        return self.decoded(done.stdout, Reloaded, "reload").reload_s

    def brake(self, share: float) -> None:
        """Brake it for a share of the time (0..1) from its next start on."""
        self._brake = share

    def _begin_to_brake(self) -> None:
        braking = self._running.enter_context(self._connection.follow(self._argv("brake")))
        if braking.say(f"{self._brake}", SAMPLE_TIMEOUT_S) is None:
            reason = braking.ended
            raise self._broken(
                "the server is not slowed down: "
                + (last_line(reason) if reason else "its contract says nothing")
            )

    @contextmanager
    def counting(self, by: str) -> Iterator[RemoteCounter]:
        """Start it under a counter, and stop it at the end of the context.

        `by` is of `measure.counting`.  Raises an invalid-measurement error where
        the counter does not run it.
        """
        self._boot = boot(self._connection)
        with self._connection.follow(self._argv("count")) as follower:
            counter = RemoteCounter(self, follower)
            line = follower.say(by, self._deployed.start_limit_s)
            if line is None:
                raise counter.lost("the server cannot be counted")
            started = self.decoded(line, ServerStarted, "count")
            # A program under valgrind has another profile than the server's own, or none.
            self._check_deployed(replace(started, confinement=self._deployed.confinement))
            yield counter
            follower.conclude(STOP_TIMEOUT_S)

    def crash(self) -> None:
        """End it as a crash would: its store stays as it is, and no service is notified."""
        self._stop_sampling()
        done = self._do("crash", STOP_TIMEOUT_S)
        if done.status != 0:
            raise self._broken(f"the server does not crash: {last_line(done.stderr)}")

    def restart(self) -> None:
        """Start it again after that; raises a server-broken error where it does not start."""
        done = self._do("restart", self._deployed.start_limit_s)
        if done.status != 0:
            raise server_broken(
                f"the server does not start again: {last_line(done.stderr)}",
                where=self._connection.access.name,
                todo="see the server's log there",
            )

    def cut(self) -> str:
        """Drop what it sends to its partner; return the mode in which both serve then."""
        done = self._do("cut", RESET_TIMEOUT_S)
        if done.status != 0:
            raise self._broken(f"the server cannot be cut off: {last_line(done.stderr)}")
        return self.decoded(done.stdout, Cut, "cut").mode

    def rejoin(self) -> None:
        """Let it reach its partner again."""
        done = self._do("rejoin", RESET_TIMEOUT_S)
        if done.status != 0:
            raise self._broken(f"the server stays cut off: {last_line(done.stderr)}")

    def listing(self) -> dict[str, str]:
        """Return all that it holds: whose it is, by what it is, such as client by address."""
        done = self._do("list", LIST_TIMEOUT_S)
        if done.status != 0:
            raise self._broken(
                f"the {self._deployed.holds} cannot be read: {last_line(done.stderr)}"
            )
        lines = done.stdout.decode("ascii", "backslashreplace").splitlines()
        for line in lines:
            if line.count(" ") != 1:
                raise lab_broken(
                    self._no_answer("list"),
                    where=self._connection.access.name,
                    found=repr(line[:80]),
                    wanted="two words in each line",
                    todo=_DEPLOY_AGAIN,
                )
        return dict(line.split(" ") for line in lines)

    def operations(self) -> Mapping[str, OperationKind]:
        """Return what can be done to it while it serves, by name."""
        done = self._do("operations", SAMPLE_TIMEOUT_S)
        if done.status != 0:
            raise self._broken(f"what can be done to it is unknown: {last_line(done.stderr)}")
        return self.decoded(done.stdout, Operable, "operations").operations

    @contextmanager
    def operating(self) -> Iterator[Callable[[str], Operated]]:
        """Get ready to operate it; the function does so by a name."""
        with self._connection.follow(self._argv("operate")) as follower:

            def operate(name: str) -> Operated:
                asked = time.time()
                line = follower.say(name, LONGEST_OPERATION_S)
                answered = time.time()
                if line is None:
                    why = f"{name} was not carried out"
                    raise self.not_counted(follower, why, LONGEST_OPERATION_S)
                done = self.decoded(line, Operated, "operate")
                # Its clock reads so much more: at most by the one, and at least by the other.
                ahead_s = (done.begun - asked + done.ended - answered) / 2
                return replace(done, ahead_s=ahead_s)

            if follower.await_line(PROFILE_BEGIN_S) is None:
                why = "the server cannot be operated"
                raise self.not_counted(follower, why, PROFILE_BEGIN_S)
            yield operate

    def begin_profile(self) -> None:
        """Begin to sample what it runs.

        Raises an invalid-measurement error with the host's reason where that may not be.
        """
        profiler = self._running.enter_context(self._connection.follow(self._argv("profile")))
        if profiler.await_line(PROFILE_BEGIN_S) is None:
            raise self._no_profile(profiler, f"it has not begun in {PROFILE_BEGIN_S:.0f} s")
        self._profiler = profiler

    def end_profile(self) -> Sampled:
        """Return what was sampled since `begin_profile`; raises as that does."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            raise AssertionError("a profile is begun before it is ended")
        line = profiler.conclude(PROFILE_END_S)
        if profiler.status != 0 or line is None:
            raise self._no_profile(profiler, f"it has not ended in {PROFILE_END_S:.0f} s")
        return self.decoded(line, Sampled, "profile")

    def _no_profile(self, profiler: Follower, late: str) -> LeaselabError:
        if profiler.ended is not None:
            self._check_host(profiler.status)
        reason = late if profiler.ended is None else last_line(profiler.ended)
        return invalid_measurement(
            f"there is no profile: {reason}",
            where=self._connection.access.name,
            todo="see whether perf may sample there: leaselab lab check",
        )

    def _stop_sampling(self) -> None:
        self._running.close()
        self._sampler = self._profiler = None

    def stop(self) -> None:
        """Stop sampling and the server."""
        self._stop_sampling()
        self._stopped(self._do("stop", STOP_TIMEOUT_S))

    def clear(self) -> None:
        """Stop every variant of its host, such as one that a killed sweep left running."""
        argv = [self._deployed.contract, "stop"]
        self._stopped(self._connection.run(argv, timeout_s=STOP_TIMEOUT_S))

    def _stopped(self, done: Completed) -> None:
        if done.status != 0:
            raise self._broken(f"the server does not stop: {last_line(done.stderr)}")

    def _argv(self, verb: str) -> list[str]:
        return [self._deployed.contract, verb, self._deployed.variant]

    def _do(self, verb: str, timeout_s: float) -> Completed:
        return self._connection.run(self._argv(verb), timeout_s=timeout_s)

    def sample_now(self) -> Sample:
        """Return a sample taken now.

        Raises an invalid-measurement error when the server has died.
        """
        sampler = self._sampler
        if sampler is None:
            raise AssertionError("a server is started before it is sampled")
        # a sample that was on its way may come first; the one asked for follows
        # within milliseconds and is taken by the next call of `samples`
        line = sampler.ask(SAMPLE_TIMEOUT_S)
        self._check_alive()
        if line is None:
            raise lab_broken(
                f"no sample of the server within {SAMPLE_TIMEOUT_S:.0f} s",
                where=self._connection.access.name,
                todo="see whether the host works; then resume the sweep",
            )
        return self._sample(line)

    def samples(self) -> Sequence[Sample]:
        """Return the samples that came in since the last call, oldest first."""
        lines = self._sampler.lines() if self._sampler else []
        return [self._sample(line) for line in lines]

    def _check_alive(self) -> None:
        if self._sampler and (reason := self._sampler.ended) is not None:
            if self._sampler.status == _BENEATH:
                raise self._broken(last_line(reason))
            self._check_host(self._sampler.status)
            raise invalid_measurement(
                f"the server died while it was measured: {last_line(reason)}",
                where=self._connection.access.name,
                todo="see its log there, and offer less if that is why",
            )

    def not_counted(
        self, follower: Follower, what: str, limit_s: float = COUNT_TIMEOUT_S
    ) -> LeaselabError:
        """Return the error of a verb that has ended under commands; raises that of its host.

        `limit_s` is how long it was waited for.  A server that does not run under a counter is
        not broken: it started as it is deployed.
        """
        reason = follower.ended
        if reason is None:
            return self._broken(f"{what}: no answer within {limit_s:.0f} s")
        if follower.status == _BENEATH or follower.status in _NOT_THERE:
            return self._broken(f"{what}: {last_line(reason)}")
        self._check_host(follower.status)
        return invalid_measurement(
            f"{what}: {last_line(reason)}",
            where=self._connection.access.name,
            todo="see the server's log there",
        )

    def _check_host(self, status: int | None) -> None:
        """Raise a broken-lab error where not the server alone is gone, but its host.

        `status` is the sampler's: a contract ends with one, and a host that goes away without.
        One that is shut down ends the server first, and its connections a moment later.
        """
        if status is not None and status >= 0 and self._connection.lasts(_SHUTDOWN_S):
            return
        now = boot_of(self._connection.access)
        if not now:
            what = "the host went away while its server was measured"
        elif now != self._boot:
            what = "the host was restarted while its server was measured"
        else:
            what = "the connection broke while the server was measured"
        raise self._broken(what)

    def _check_alive_now(self) -> None:
        """Ask the sampler first: it may not have seen yet that the server just died.

        Twice, as one sample may still have been on its way.
        """
        for _ in range(2):
            if self._sampler:
                self._sampler.ask(SAMPLE_TIMEOUT_S)
        self._check_alive()

    def _broken(self, what: str) -> LeaselabError:
        return lab_broken(
            what,
            where=self._connection.access.name,
            todo="see whether the host works; then resume the sweep",
        )

    def _sample(self, line: str) -> Sample:
        return self.decoded(line, Sample, "sample")

    def decoded(self, answer: str | bytes, kind: type[_Told], verb: str) -> _Told:
        """Read an answer of a verb; raises a broken-lab error for another one."""
        return decoded(
            answer,
            kind,
            what=self._no_answer(verb),
            where=self._connection.access.name,
            todo=_DEPLOY_AGAIN,
        )

    def _no_answer(self, verb: str) -> str:
        return f"what '{self._deployed.contract} {verb}' {NO_ANSWER}"


class RemoteCounter:
    """A server that is counted by its contract, as `leaselab.measure.ports.Counter`."""

    def __init__(self, server: ContractServer, follower: Follower) -> None:
        self._server, self._follower = server, follower

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
        return self._server.decoded(self._answer("take"), Counts, "count")

    def held(self) -> int | None:
        """Return how many entries it holds; None where it holds none, or is silent."""
        return self._server.decoded(self._answer("held"), Held, "count").held

    def _answer(self, command: str) -> str:
        line = self._follower.say(command, COUNT_TIMEOUT_S)
        self._follower.lines()
        if line is None:
            raise self.lost(f"the server was not counted ({command})")
        return line

    def lost(self, what: str) -> LeaselabError:
        """Return why the contract has no answer; raises a broken-lab error for its host's."""
        return self._server.not_counted(self._follower, what)


def _flat(beside: Mapping[str, Any] | None) -> dict[str, str]:
    """Name, version, confinement and settings of companion services by name; may be empty."""
    if not beside:
        return {}
    settings = {name: str(value) for name, value in beside["variables"].items()}
    settings[_PROFILE] = str(beside.get("confinement"))
    return {"name": beside["name"], "version": beside["version"], **settings}
