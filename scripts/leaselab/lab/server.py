"""The server under test, through the one executable its role installed.

The contract (verbs, what they print) is described in docs/server-contract.md;
nothing here knows which server it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from leaselab.lab.transport import Connection, Follower
from leaselab.model.bench import ServerUnderTest
from leaselab.model.errors import (
    LeaselabError,
    invalid_measurement,
    lab_broken,
    server_broken,
)
from leaselab.model.observation import Sample, ServerStarted

START_TIMEOUT_S = 150.0
WIPE_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 90.0
SAMPLE_TIMEOUT_S = 10.0
SETTLE_TIMEOUT_S = 300.0
LEASES_TIMEOUT_S = 120.0
_NOT_THERE = frozenset({126, 127})
_BENEATH = 4
"""Exit status of the contract when what the server stands on fails, such as its database."""
_PROFILE = "AppArmor profile"
"""How a difference in confinement is named."""


class ContractServer:
    """One server behind its contract, started and stopped by a sweep."""

    def __init__(
        self,
        connection: Connection,
        deployed: ServerUnderTest,
        heard: Callable[[str], None] | None = None,
    ) -> None:
        """`heard` is told each sample as it comes, as the contract prints it."""
        self._connection = connection
        self._deployed = deployed
        self._heard = heard
        self._contract = deployed.contract
        self._running = ExitStack()
        self._sampler: Follower | None = None

    def start(self) -> ServerStarted:
        """Start it clean, as deployed, and begin sampling.

        Raises a server-broken error with the server's own reason when it does
        not start, a broken-lab error when it is not what was deployed.
        """
        done = self._connection.run([self._contract, "start"], timeout_s=START_TIMEOUT_S)
        if done.status in _NOT_THERE:
            raise lab_broken(
                f"no server is deployed: {_last_line(done.stderr)}",
                where=self._connection.access.name,
                todo="deploy first: leaselab run, or ansible/deploy.yml",
            )
        if done.status == _BENEATH:
            raise self._broken(_last_line(done.stderr))
        if done.status != 0:
            self._check_files()  # what somebody replaced says nothing of what was deployed
            raise server_broken(
                f"the server does not start: {_last_line(done.stderr)}",
                where=self._connection.access.name,
                todo=f"run '{self._contract} start' on that host to see for yourself",
            )
        answer = self._json(done.stdout, "start")
        self._sampler = self._running.enter_context(
            self._connection.follow([self._contract, "sample"], self._heard)
        )
        started = ServerStarted(
            pid=int(answer["pid"]),
            version=str(answer["version"]),
            commit=answer.get("commit"),
            running_config_sha256=str(answer["config_sha256"]),
            program_sha256=answer.get("program_sha256"),
            libraries_sha256=answer.get("libraries_sha256", {}),
            confinement=answer.get("confinement"),
        )
        self._check_deployed(started)
        self._check_database(answer.get("database"))
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
            return  # deployed by an older release, or by a contract that does not tell
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
        found = {path: digest for digest, path in rows}
        for path, expected in wanted.items():
            if found.get(path) != expected:
                raise self._another(path, found.get(path, "no such file"), expected)

    def _another(self, what: str, found: str, wanted: str) -> LeaselabError:
        return lab_broken(
            f"the server has another {what} than was deployed for this sweep",
            where=self._connection.access.name,
            found=found,
            wanted=wanted,
            todo="somebody deployed or installed here since; deploy again",
        )

    def _check_database(self, running: Mapping[str, Any] | None) -> None:
        """Refuse a database that is not the one that was tuned: it would not be seen."""
        found, wanted = _flat(running), _flat(self._deployed.tuning.get("database"))
        if wanted and _PROFILE not in wanted:
            found.pop(_PROFILE, None)  # tuned by an older release
        other = sorted(name for name in found | wanted if found.get(name) != wanted.get(name))
        if other:
            raise lab_broken(
                f"the server's database has another {' and '.join(other)} than was tuned for "
                "this sweep",
                where=self._connection.access.name,
                found=", ".join(found.get(name, "none") for name in other),
                wanted=", ".join(wanted.get(name, "none") for name in other),
                todo="somebody tuned or deployed here since; deploy and tune again",
            )

    def trouble(self) -> str:
        """None: this is one server."""
        return ""

    def settle(self) -> None:
        """At once: this is one server."""

    def state(self) -> str:
        """How it differs from the state asked for in a pair, empty when it does not."""
        done = self._connection.run([self._contract, "state"], timeout_s=WIPE_TIMEOUT_S)
        if done.status != 0:
            self._check_alive_now()
            raise self._broken(f"the server does not say its state: {_last_line(done.stderr)}")
        return str(self._json(done.stdout, "state")["trouble"])

    def wait_for_pair(self) -> None:
        """Wait until it is in the state asked for in a pair.

        Raises a broken-lab error that says which state it is in.
        """
        done = self._connection.run([self._contract, "settle"], timeout_s=SETTLE_TIMEOUT_S)
        if done.status != 0:
            self._check_alive_now()
            raise self._broken(_last_line(done.stderr))

    def wipe(self) -> Sequence[int]:
        """Empty the lease store; return how many leases there were, as a sequence of one."""
        done = self._connection.run([self._contract, "wipe"], timeout_s=WIPE_TIMEOUT_S)
        if done.status != 0:
            if done.status != _BENEATH:
                self._check_alive_now()
            raise self._broken(f"the lease store cannot be emptied: {_last_line(done.stderr)}")
        answer = self._json(done.stdout, "wipe")
        if answer["leases"] != 0:
            raise self._broken(
                f"the lease store was not emptied: {answer['leases']} leases left"
            )
        return (int(answer["wiped"]),)

    def crash(self) -> None:
        """End it as a crash would; its store stays as it is, and nobody is told."""
        self._stop_sampling()
        done = self._connection.run([self._contract, "crash"], timeout_s=STOP_TIMEOUT_S)
        if done.status != 0:
            raise self._broken(f"the server does not crash: {_last_line(done.stderr)}")

    def leases(self) -> dict[str, str]:
        """Return the client of every lease in the store, by address."""
        done = self._connection.run([self._contract, "leases"], timeout_s=LEASES_TIMEOUT_S)
        if done.status != 0:
            raise self._broken(f"the leases cannot be read: {_last_line(done.stderr)}")
        rows = (line.split(" ") for line in done.stdout.decode("ascii").splitlines())
        return dict(rows)

    def _stop_sampling(self) -> None:
        self._running.close()
        self._sampler = None

    def stop(self) -> None:
        """Stop sampling and the server."""
        self._stop_sampling()
        done = self._connection.run([self._contract, "stop"], timeout_s=STOP_TIMEOUT_S)
        if done.status != 0:
            raise self._broken(f"the server does not stop: {_last_line(done.stderr)}")

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

    def partner_samples(self) -> Sequence[Sample]:
        """None: this is one server."""
        return ()

    def _check_alive(self) -> None:
        if self._sampler and (reason := self._sampler.ended) is not None:
            if self._sampler.status == _BENEATH:
                raise self._broken(_last_line(reason))
            raise invalid_measurement(
                f"the server died while it was measured: {_last_line(reason)}",
                where=self._connection.access.name,
            )

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
            todo="look at the host; the sweep can be resumed when it is well",
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
        udp_drops=answer["udp_drops"],
        leases=answer["leases"],
        counters=answer["counters"],
        database_cpu_s=answer.get("database_cpu_s"),
        refused=answer.get("refused"),
    )


def _flat(database: Mapping[str, Any] | None) -> dict[str, str]:
    """A database's name, version, confinement and settings by name; empty without one."""
    if not database:
        return {}
    settings = {name: str(value) for name, value in database["variables"].items()}
    if "confinement" in database:
        settings[_PROFILE] = str(database["confinement"])
    return {"name": database["name"], "version": database["version"], **settings}


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
