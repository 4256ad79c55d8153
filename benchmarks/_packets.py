"""A server and a generator in simulated packets: buffers, stalls, losses, late replies."""

from __future__ import annotations

import gzip
import math
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from leaselab.model.journal import AnyEntry, Confirming, Entry, LiveEntry, Phase, TrialMade
from leaselab.model.observation import Generated, Sampled, ServerStarted
from leaselab.model.trial import Sample

BURST_RATE = 30_000
"""Rate at which the generator sends late packets (packets/s)."""
PAUSE_S = 2.0
"""Time between two trials (s)."""
HOP_S = 20e-6
"""Time of a packet on the wire, and of the generator to answer an offer (s)."""
IDLE_S = 1.0
"""Time without work after which a server is at rest (s)."""
CPU_US = 73.0
"""CPU time of the server for each exchange as a sweep begins (us)."""
CONFIRMING = "confirming the result"
"""The phase in which the engine confirms a result."""


@dataclass(frozen=True, slots=True)
class Faults:
    """What is wrong with a server, or with its generator."""

    capacity: float = 2000.0
    """Exchanges that the server completes per second."""
    buffer: int = 277
    """Packets that fit into its socket's receive buffer; further ones are lost."""
    stands_still: tuple[float, float] = (0.0, 0.0)
    """Every so many seconds the server does nothing for so many (s, s)."""
    loses: float = 0.0
    """Share of the exchanges whose last reply it does not send, at any load (0..1)."""
    loses_at_times: float = 0.0
    """The same, in half of the seconds."""
    cold: tuple[float, float] = (0.0, 1.0)
    """Share of its capacity (0..1) that it lacks for so many seconds after a start (s)."""
    turbo: tuple[float, float] = (1.0, 0.0)
    """Factor by which it is faster for so many seconds after a rest (s)."""
    credit: tuple[float, float] = (1.0, 0.0)
    """Factor by which it is faster while it has credit, and how long a full one lasts (s).

    Credit grows by the unused part of its capacity."""
    alternates: tuple[float, ...] = (1.0,)
    """Factors of its capacity, one for each trial in turn."""
    sulks: tuple[float, float] = (1.0, 0.0)
    """Factor of its capacity after its buffer was full, and for how long (s)."""
    cpu_falls: float = 0.0
    """By how much its CPU time per exchange falls in 100 s (ratio)."""
    answers_after_s: float = 0.0
    """Time that every reply takes beside its work (s)."""
    generator_stalls: tuple[float, float] = (0.0, 0.0)
    """Every so many seconds the generator does nothing for so many (s, s)."""
    stalls_from_to: tuple[float, float] = (0.0, math.inf)
    """When that begins and when it ends (s)."""
    reach: float = math.inf
    """Exchanges per second that the generator begins at most."""
    begins_confirming: float = 1.0
    """Share of a load that the generator begins while the result is confirmed (0..1)."""


@dataclass(slots=True)
class PacketWorld:
    """Server, generator, lock and disk of one sweep, for the real engine."""

    faults: Faults
    started: ServerStarted
    now: float = 0.0
    """Simulated time (s)."""
    warm_at: float = 0.0
    seconds: float = 0.0
    """Time of all trials, traffic and wait (s)."""
    chance: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311
    paused_s: float = 0.0
    """How long the engine waited for the generator (s)."""
    words: list[str] = field(default_factory=list)
    """Why trials did not count."""
    confirming: bool = False
    busy_from_to: tuple[float, float] = (-math.inf, -math.inf)
    """When the server's work began, without a rest since, and when it ended (s)."""
    credit: float = math.inf
    """Exchanges that it may serve faster."""
    cpu_s: float = 0.0
    full_at: float = -math.inf
    """When the buffer was full last (s)."""
    loads: int = 0
    """Trials so far."""

    # The server.

    def start(self) -> ServerStarted:
        self.warm_at = self.now + self.faults.cold[1]
        return self.started

    def trouble(self) -> str:
        return ""

    def settle(self) -> None:
        """At once."""

    def reset(self) -> Mapping[str, int]:
        return {}

    def stop(self) -> None:
        """Nothing is left."""

    def sample_now(self) -> Sample:
        return Sample(
            t=self.now, cpu_s=self.cpu_s, rss_bytes=0, udp_drops=0, held=0, counters={}
        )

    def samples(self) -> Mapping[str, Sequence[Sample]]:
        return {}

    def clear(self) -> None:
        """Nothing is left."""

    def counting(self, by: str) -> NoReturn:
        raise AssertionError(f"nothing is counted here by {by}")

    def serving(self, argv: Sequence[str], _environment: Mapping[str, str]) -> NoReturn:
        raise AssertionError(f"nothing takes loads line by line here: {argv}")

    def crash(self, roles: Sequence[str]) -> None:
        """They never do."""

    def restart(self, roles: Sequence[str]) -> None:
        """They never did crash."""

    def listing(self) -> Mapping[str, Mapping[str, str]]:
        return {}

    def cut(self) -> NoReturn:
        raise AssertionError("it does not declare that")

    def rejoin(self) -> None:
        """They always do reach each other."""

    def operations(self) -> NoReturn:
        raise AssertionError("it does not declare that")

    def operating(self) -> NoReturn:
        raise AssertionError("it does not declare that")

    def clock_ahead_s(self) -> float:
        return 0.0

    def reload(self) -> float:
        raise AssertionError("it does not declare that")

    def brake(self, share: float) -> None:  # noqa: ARG002
        raise AssertionError("no duel is made of it")

    def begin_profile(self) -> None:
        raise AssertionError("no profile is made of it")

    def end_profile(self) -> Sampled:
        raise AssertionError("no profile is made of it")

    # The generator.

    def unreached(self, address: str) -> str:  # noqa: ARG002  # the port's
        """It always does."""
        return ""

    def generate(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],  # noqa: ARG002  # the port's
        timeout_s: float,  # noqa: ARG002
    ) -> Generated:
        """Print what perfdhcp prints of this load; it ends by itself."""

        def option(name: str) -> float:
            return float(argv[list(argv).index(name) + 1])

        if "-x" not in argv:
            return printed(perfdhcp_text(1, [(0.0, 0.001)], [(0.002, 0.003)]))
        rate, count = option("-r"), int(option("-n"))
        share = min(1.0, self.faults.reach / rate)
        share *= self.faults.begins_confirming if self.confirming else 1.0
        rate, count = rate * share, int(count * share)
        self.loads += 1
        first, second = self._exchange(rate, count)
        wait_s = option("-W") / 1e6
        if "-D" in argv:
            count = given_up(first, rate, count, option("-D"))
        end = count / rate
        first = [pair for pair in first if pair[0] < end and pair[1] <= end + wait_s]
        second = [pair for pair in second if pair[1] <= end + wait_s][: len(first)]
        self.cpu_s += len(second) * 1e-6 * CPU_US * self._cpu_share
        last = max([end, *(done for _, done in second)])
        took_s = last if len(second) == count else end + wait_s
        self.seconds += took_s
        self.now += took_s + PAUSE_S
        return printed(perfdhcp_text(count, first, second))

    def _exchange(
        self, rate: float, count: int
    ) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Times of the answered requests of both stages, sent and received (s)."""
        faults, origin = self.faults, self.now
        starts = deque(self._send_times(rate, count))
        requests: deque[tuple[float, float]] = deque()  # when sent, when the offer came
        waiting: deque[float] = deque()
        first: list[tuple[float, float]] = []
        second: list[tuple[float, float]] = []
        free_at = 0.0
        while starts or requests:
            is_first = not requests or (bool(starts) and starts[0] <= requests[0][0])
            sent = starts.popleft() if is_first else requests.popleft()[0]
            came = sent + HOP_S
            while waiting and waiting[0] <= came:
                waiting.popleft()
            if len(waiting) > faults.buffer:
                self.full_at = origin + came
                continue
            begin = self._awake(origin + max(came, free_at)) - origin
            free_at = begin + self._work_s(origin + begin)
            waiting.append(free_at)
            received = self._running(free_at + faults.answers_after_s + HOP_S)
            if is_first:
                first.append((sent, received))
                requests.append((received + HOP_S, received))
            elif not self._loses(origin + sent):
                second.append((sent, received))
        return first, second

    @property
    def _cpu_share(self) -> float:
        return max(0.5, 1.0 - self.faults.cpu_falls * self.now / 100.0)

    def _work_s(self, moment: float) -> float:
        """Time that the packet takes which the server begins at a moment (s)."""
        faults, (since, until) = self.faults, self.busy_from_to
        speed = 1.0 - faults.cold[0] if moment < self.warm_at else 1.0
        since = moment if moment - until > IDLE_S else since
        if moment - since < faults.turbo[1]:
            speed *= faults.turbo[0]
        if moment - self.full_at < faults.sulks[1]:
            speed *= faults.sulks[0]
        speed *= faults.alternates[self.loads % len(faults.alternates)]
        speed *= self._by_credit(max(0.0, moment - until))
        work_s = 1.0 / faults.capacity / 2.0 / speed
        self.busy_from_to = since, moment + work_s
        return work_s

    def _by_credit(self, rested_s: float) -> float:
        """Factor by which it is faster for one packet, of which its credit is spent."""
        factor, lasts_s = self.faults.credit
        if factor == 1.0:
            return 1.0
        full = (factor - 1.0) * self.faults.capacity * lasts_s
        self.credit = min(full, self.credit + rested_s * self.faults.capacity)
        if self.credit <= 0.0:
            return 1.0
        self.credit -= 0.5 * (1.0 - 1.0 / factor)
        return factor

    def _send_times(self, rate: float, count: int) -> list[float]:
        times: list[float] = []
        for number in range(count):
            due = self._running(number / rate)
            times.append(max(due, times[-1] + 1.0 / BURST_RATE) if times else due)
        return times

    def _running(self, moment: float) -> float:
        """Actual time of a generator's action that is due at a moment of a trial (s)."""
        every, length = self.faults.generator_stalls
        begins, ends = self.faults.stalls_from_to
        disturbed = bool(every) and begins <= self.now + moment < ends
        into = (self.now + moment) % every if disturbed else math.inf
        return moment + max(0.0, length - into)

    def _awake(self, moment: float) -> float:
        every, length = self.faults.stands_still
        into = moment % every if every else math.inf
        return moment + max(0.0, length - into)

    def _loses(self, moment: float) -> bool:
        share = self.faults.loses
        if self.faults.loses_at_times and random.Random(int(moment)).random() < 0.5:  # noqa: S311
            share = self.faults.loses_at_times
        return share > 0 and self.chance.random() < share

    # The lock, the disk, the clock, and the observer.

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.paused_s += seconds

    def renew(self, busy_s: float = 0.0) -> None:
        """The lock is always free."""

    def record(self, entry: Entry) -> None:
        if isinstance(entry, (TrialMade, Confirming)) and not entry.trial.valid:
            self.words.append(entry.trial.reason)

    def write_bytes(self, name: str, content: bytes) -> str:  # noqa: ARG002
        return name

    def __call__(self, entry: AnyEntry | LiveEntry, *, replayed: bool = False) -> None:  # noqa: ARG002
        self.confirming |= entry == Phase(text=CONFIRMING)


def given_up(
    first: Sequence[tuple[float, float]], rate: float, count: int, limit: float
) -> int:
    """How many exchanges are begun until more than `limit` of them have no first reply."""
    received = np.sort([pair[1] for pair in first])
    sent = np.arange(count)
    hopeless = np.flatnonzero(sent - np.searchsorted(received, sent / rate) > limit)
    return int(hopeless[0]) if hopeless.size else count


def perfdhcp_text(
    sent: int, first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]]
) -> str:
    """What perfdhcp prints of a DHCPv4 trial: requests sent, times of each stage (s)."""
    stages = (
        ("DISCOVER-OFFER", sent, first),
        ("REQUEST-ACK", len(first), second),
    )
    parts = ["Running: perfdhcp\nMalformed packets: 0\n"]
    for name, number, pairs in stages:
        parts.append(
            f"***Statistics for: {name}***\nsent packets: {number}\n"
            f"received packets: {len(pairs)}\nrejected leases: 0\nnon unique addresses: 0\n\n"
        )
    for name, _, pairs in stages:
        parts.append(f"***Timestamps for packets: {name}***\n")
        parts += [f"sent / received: {_clock(a)} / {_clock(b)}\n" for a, b in pairs]
        parts.append("\n")
    return "".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes):04d}{rest:09.6f}"


def printed(text: str) -> Generated:
    """A generator that ended well and printed this; always the same bytes."""
    return Generated(0, gzip.compress(text.encode(), 1, mtime=0), "")
