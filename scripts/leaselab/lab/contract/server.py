"""The server under test, through the one executable its role installed.

The contract (verbs, what they print) is described in docs/reference/server-contract.md;
nothing here knows which server it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from msgspec.structs import replace

from leaselab.lab.contract.counter import RemoteCounter
from leaselab.lab.contract.identity import check_beside, check_files, check_started
from leaselab.lab.contract.verbs import BENEATH, DEPLOY_AGAIN, NOT_THERE, Verbs
from leaselab.lab.hosts.transport import Completed, Connection, Follower
from leaselab.model.bench import ServerUnderTest
from leaselab.model.errors import LeaselabError, invalid_measurement, lab_broken, server_broken
from leaselab.model.observation import (
    Cut,
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
from leaselab.model.text import last_line
from leaselab.model.trial import Sample

RESET_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 90.0
SAMPLE_TIMEOUT_S = 10.0
SETTLE_TIMEOUT_S = 300.0
LIST_TIMEOUT_S = 120.0
LIST = "list"
"""The verb, and the capability, of a server that can say all that it holds."""
PROFILE_BEGIN_S, PROFILE_END_S = 30.0, 300.0


class ContractServer:
    """One server behind its contract, started and stopped by a sweep."""

    def __init__(
        self,
        connection: Connection,
        deployed: ServerUnderTest,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """`on_line` is called with each sample as it comes, as the contract prints it."""
        self._verbs = Verbs(connection, deployed)
        self._deployed = deployed
        self._on_line = on_line
        self._running = ExitStack()
        self._sampler: Follower | None = None
        self._brake = 0.0
        self._profiler: Follower | None = None

    def start(self) -> ServerStarted:
        """Start it clean, as deployed, and begin sampling.

        Raises a server-broken error with the server's own reason when it does
        not start, a broken-lab error when it is not what was deployed.
        """
        self._verbs.note_boot()
        done = self._verbs.do("start", self._deployed.start_limit_s)
        if done.status in NOT_THERE:
            raise lab_broken(
                f"no server is deployed: {last_line(done.stderr)}",
                where=self._verbs.where,
                todo="deploy first: leaselab run, or ansible/deploy.yml",
            )
        if done.status == BENEATH:
            raise self._verbs.broken(last_line(done.stderr))
        if done.status != 0:
            self._verbs.check_host(done.status)
            # A file that was replaced does not show what was deployed.
            check_files(self._verbs.connection, self._deployed)
            raise self._verbs.refused("the server does not start", "start", done)
        started = self._verbs.decoded(done.stdout, ServerStarted, "start")
        self._sampler = self._running.enter_context(self._verbs.follow("sample", self._on_line))
        if self._brake:
            self._begin_to_brake()
        check_started(started, self._deployed, self._verbs.where)
        check_beside(started.beside, self._deployed.beside, self._verbs.where)
        return started

    def state(self) -> str:
        """How it differs from the state asked for among several, empty when it does not."""
        done = self._verbs.do("state", RESET_TIMEOUT_S)
        if done.status != 0:
            self._check_alive_now()
            what = f"the server does not say its state: {last_line(done.stderr)}"
            raise self._verbs.broken(what)
        return self._verbs.decoded(done.stdout, State, "state").trouble

    def settle(self) -> None:
        """Wait until it is in the state asked for among several.

        Raises a broken-lab error that says which state it is in.
        """
        done = self._verbs.do("settle", SETTLE_TIMEOUT_S)
        if done.status != 0:
            self._check_alive_now()
            raise self._verbs.broken(last_line(done.stderr))

    def reset(self) -> int | None:
        """Empty it; return how much it held, None where it never holds anything."""
        done = self._verbs.do("reset", RESET_TIMEOUT_S)
        if done.status != 0:
            if done.status != BENEATH:
                self._check_alive_now()
            raise self._verbs.broken(f"the server cannot be reset: {last_line(done.stderr)}")
        answer = self._verbs.decoded(done.stdout, Reset, "reset")
        if answer.held:
            raise self._verbs.broken(
                f"the server was not reset: {answer.held} {self._deployed.holds} left"
            )
        return answer.was

    def reload(self) -> float:
        """Make it read its data again; return how long it took (s).

        Raises a server-broken error where it does not, an invalid-measurement error where it
        has died.
        """
        done = self._verbs.do("reload", self._deployed.start_limit_s)
        if done.status != 0:
            self._check_alive_now()
            self._verbs.check_host(done.status)
            raise self._verbs.refused("the server does not reload", "reload", done)
        return self._verbs.decoded(done.stdout, Reloaded, "reload").reload_s

    def brake(self, share: float) -> None:
        """Brake it for a share of the time (0..1) from its next start on."""
        self._brake = share

    def _begin_to_brake(self) -> None:
        braking = self._running.enter_context(self._verbs.follow("brake"))
        if braking.say(f"{self._brake}", SAMPLE_TIMEOUT_S) is None:
            reason = braking.ended
            raise self._verbs.broken(
                "the server is not slowed down: "
                + (last_line(reason) if reason else "its contract says nothing")
            )

    @contextmanager
    def counting(self, by: str) -> Iterator[RemoteCounter]:
        """Start it under a counter, and stop it at the end of the context.

        `by` is of `measure.counting`.  Raises an invalid-measurement error where
        the counter does not run it.
        """
        self._verbs.note_boot()
        with self._verbs.follow("count") as follower:
            counter = RemoteCounter(self._verbs, follower)
            line = follower.say(by, self._deployed.start_limit_s)
            if line is None:
                raise counter.lost("the server cannot be counted")
            started = self._verbs.decoded(line, ServerStarted, "count")
            # A program under valgrind has another profile than the server's own, or none.
            unconfined = replace(started, confinement=self._deployed.confinement)
            check_started(unconfined, self._deployed, self._verbs.where)
            yield counter
            follower.conclude(STOP_TIMEOUT_S)

    def crash(self) -> None:
        """End it as a crash would: its store stays as it is, and no service is notified."""
        self._stop_sampling()
        self._verbs.done("crash", STOP_TIMEOUT_S, "the server does not crash")

    def restart(self) -> None:
        """Start it again after that; raises a server-broken error where it does not start."""
        done = self._verbs.do("restart", self._deployed.start_limit_s)
        if done.status != 0:
            raise server_broken(
                f"the server does not start again: {last_line(done.stderr)}",
                where=self._verbs.where,
                todo="see the server's log there",
            )

    def cut(self) -> str:
        """Drop what it sends to its partner; return the mode in which both serve then."""
        done = self._verbs.done("cut", RESET_TIMEOUT_S, "the server cannot be cut off")
        return self._verbs.decoded(done.stdout, Cut, "cut").mode

    def rejoin(self) -> None:
        """Let it reach its partner again."""
        self._verbs.done("rejoin", RESET_TIMEOUT_S, "the server stays cut off")

    @property
    def can_list(self) -> bool:
        """Whether it can say all that it holds."""
        return LIST in self._deployed.capabilities

    def listing(self) -> dict[str, str]:
        """Return all that it holds: whose it is, by what it is, such as client by address."""
        otherwise = f"the {self._deployed.holds} cannot be read"
        done = self._verbs.done(LIST, LIST_TIMEOUT_S, otherwise)
        lines = done.stdout.decode("ascii", "backslashreplace").splitlines()
        for line in lines:
            if line.count(" ") != 1:
                raise lab_broken(
                    self._verbs.no_answer("list"),
                    where=self._verbs.where,
                    found=repr(line[:80]),
                    wanted="two words in each line",
                    todo=DEPLOY_AGAIN,
                )
        return dict(line.split(" ") for line in lines)

    def operations(self) -> Mapping[str, OperationKind]:
        """Return what can be done to it while it serves, by name."""
        otherwise = "what can be done to it is unknown"
        done = self._verbs.done("operations", SAMPLE_TIMEOUT_S, otherwise)
        return self._verbs.decoded(done.stdout, Operable, "operations").operations

    @contextmanager
    def operating(self) -> Iterator[Callable[[str], Operated]]:
        """Get ready to operate it; the function does so by a name."""
        with self._verbs.follow("operate") as follower:

            def operate(name: str) -> Operated:
                asked = time.time()
                line = follower.say(name, LONGEST_OPERATION_S)
                answered = time.time()
                if line is None:
                    why = f"{name} was not carried out"
                    raise self._verbs.not_done(follower, why, LONGEST_OPERATION_S)
                done = self._verbs.decoded(line, Operated, "operate")
                # Its clock reads so much more: at most by the one, and at least by the other.
                ahead_s = (done.asked - asked + done.ended - answered) / 2
                return replace(done, ahead_s=ahead_s)

            if follower.await_line(PROFILE_BEGIN_S) is None:
                why = "the server cannot be operated"
                raise self._verbs.not_done(follower, why, PROFILE_BEGIN_S)
            yield operate

    def begin_profile(self) -> None:
        """Begin to sample what it runs.

        Raises an invalid-measurement error with the host's reason where that may not be.
        """
        profiler = self._running.enter_context(self._verbs.follow("profile"))
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
        return self._verbs.decoded(line, Sampled, "profile")

    def _no_profile(self, profiler: Follower, late: str) -> LeaselabError:
        if profiler.ended is not None:
            self._verbs.check_host(profiler.status)
        reason = late if profiler.ended is None else last_line(profiler.ended)
        return invalid_measurement(
            f"there is no profile: {reason}",
            where=self._verbs.where,
            todo="see whether perf may sample there: leaselab lab check",
        )

    def _stop_sampling(self) -> None:
        self._running.close()
        self._sampler = self._profiler = None

    def stop(self) -> None:
        """Stop sampling and the server."""
        self._stop_sampling()
        self._stopped(self._verbs.do("stop", STOP_TIMEOUT_S))

    def clear(self) -> None:
        """Stop every variant of its host, such as one that a killed sweep left running."""
        argv = [self._deployed.contract, "stop"]
        self._stopped(self._verbs.connection.run(argv, timeout_s=STOP_TIMEOUT_S))

    def _stopped(self, done: Completed) -> None:
        if done.status != 0:
            raise self._verbs.broken(f"the server does not stop: {last_line(done.stderr)}")

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
            raise self._verbs.broken(f"no sample of the server within {SAMPLE_TIMEOUT_S:.0f} s")
        return self._sample(line)

    def samples(self) -> Sequence[Sample]:
        """Return the samples that came in since the last call, oldest first."""
        lines = self._sampler.lines() if self._sampler else []
        return [self._sample(line) for line in lines]

    def _check_alive(self) -> None:
        if self._sampler and (reason := self._sampler.ended) is not None:
            if self._sampler.status == BENEATH:
                raise self._verbs.broken(last_line(reason))
            self._verbs.check_host(self._sampler.status)
            raise invalid_measurement(
                f"the server died while it was measured: {last_line(reason)}",
                where=self._verbs.where,
                todo="see its log there, and offer less if that is why",
            )

    def _check_alive_now(self) -> None:
        """Ask the sampler first: it may not have seen yet that the server just died.

        Twice, as one sample may still have been on its way.
        """
        for _ in range(2):
            if self._sampler:
                self._sampler.ask(SAMPLE_TIMEOUT_S)
        self._check_alive()

    def _sample(self, line: str) -> Sample:
        return self._verbs.decoded(line, Sample, "sample")
