"""The server under test, through the one executable its role installed.

The contract (verbs, what they print) is described in docs/server-contract.md;
nothing here knows which server it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from leaselab.lab.transport import Connection, Follower
from leaselab.model.errors import invalid_measurement, lab_broken, server_broken
from leaselab.model.observation import Sample, ServerStarted

START_TIMEOUT_S = 60.0
WIPE_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
SAMPLE_TIMEOUT_S = 10.0
_NOT_THERE = frozenset({126, 127})


class ContractServer:
    """One server behind its contract, started and stopped by a sweep."""

    def __init__(self, connection: Connection, contract: str) -> None:
        self._connection = connection
        self._contract = contract
        self._running = ExitStack()
        self._sampler: Follower | None = None

    def start(self) -> ServerStarted:
        """Start it clean and begin sampling.

        Raises a server-broken error with the server's own reason when it does
        not start.
        """
        done = self._connection.run([self._contract, "start"], timeout_s=START_TIMEOUT_S)
        if done.status in _NOT_THERE:
            raise lab_broken(
                f"no server is deployed: {_last_line(done.stderr)}",
                where=self._connection.access.name,
                todo="deploy first: leaselab run, or ansible/deploy.yml",
            )
        if done.status != 0:
            raise server_broken(
                f"the server does not start: {_last_line(done.stderr)}",
                where=self._connection.access.name,
                todo=f"run '{self._contract} start' on that host to see for yourself",
            )
        answer = self._json(done.stdout, "start")
        self._sampler = self._running.enter_context(
            self._connection.follow([self._contract, "sample"])
        )
        return ServerStarted(
            pid=int(answer["pid"]),
            version=str(answer["version"]),
            commit=answer.get("commit"),
            running_config_sha256=str(answer["config_sha256"]),
        )

    def wipe(self) -> int:
        """Empty the lease store; return the leases left."""
        done = self._connection.run([self._contract, "wipe"], timeout_s=WIPE_TIMEOUT_S)
        if done.status != 0:
            # A server that died a moment ago: the sampler has not seen it yet, and one
            # sample may still have been on its way.
            for _ in range(2):
                if self._sampler:
                    self._sampler.ask(SAMPLE_TIMEOUT_S)
            self._check_alive()
            raise lab_broken(
                f"the lease store cannot be emptied: {_last_line(done.stderr)}",
                where=self._connection.access.name,
            )
        return int(self._json(done.stdout, "wipe")["leases"])

    def stop(self) -> None:
        """Stop sampling and the server."""
        self._running.close()
        self._sampler = None
        done = self._connection.run([self._contract, "stop"], timeout_s=STOP_TIMEOUT_S)
        if done.status != 0:
            raise lab_broken(
                f"the server does not stop: {_last_line(done.stderr)}",
                where=self._connection.access.name,
            )

    def sample_now(self) -> Sample:
        """Return a sample taken now.

        Raises an invalid-measurement error when the server has died.
        """
        sampler = self._sampler
        if sampler is None:
            raise lab_broken("no server was started", where=self._connection.access.name)
        # a sample that was on its way may come first; the one asked for follows
        # within milliseconds and is taken by the next call of `samples`
        line = sampler.ask(SAMPLE_TIMEOUT_S)
        self._check_alive()
        if line is None:
            raise lab_broken(
                f"no sample of the server within {SAMPLE_TIMEOUT_S:.0f} s",
                where=self._connection.access.name,
                todo="look at the host; the sweep can be resumed when it is well",
            )
        return _sample(self._json(line.encode(), "sample"))

    def samples(self) -> Sequence[Sample]:
        """Return the samples that came in since the last call, oldest first."""
        lines = self._sampler.lines() if self._sampler else []
        return [_sample(self._json(line.encode(), "sample")) for line in lines]

    def _check_alive(self) -> None:
        if self._sampler and (reason := self._sampler.ended) is not None:
            raise invalid_measurement(
                f"the server died while it was measured: {_last_line(reason)}",
                where=self._connection.access.name,
            )

    def _json(self, text: bytes, verb: str) -> dict[str, Any]:
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise lab_broken(
                f"'{self._contract} {verb}' printed no JSON",
                where=self._connection.access.name,
                found=repr(text[:80]),
            ) from error
        if not isinstance(answer, dict):
            raise lab_broken(
                f"'{self._contract} {verb}' printed no JSON object",
                where=self._connection.access.name,
                found=repr(text[:80]),
            )
        return answer


def _sample(answer: dict[str, Any]) -> Sample:
    return Sample(
        t=float(answer["t"]),
        cpu_s=float(answer["cpu_s"]),
        rss_bytes=int(answer["rss_bytes"]),
        udp_drops=int(answer["udp_drops"]),
        leases=answer["leases"],
        counters=answer["counters"],
    )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
