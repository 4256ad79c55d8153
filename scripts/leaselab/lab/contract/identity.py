"""Whether what runs is what was deployed: a result repeats the deployment, and would lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leaselab.lab.hosts.transport import Connection
from leaselab.model.bench import ServerUnderTest
from leaselab.model.errors import LeaselabError, lab_broken
from leaselab.model.observation import ServerStarted
from leaselab.model.text import bounded

_HASHED_S = 10.0
"""Longest time in which a host hashes the files of a server (s)."""
_SHOWN = 200
"""Letters of a value that differs."""
_PROFILE = "AppArmor profile"
"""How a difference in confinement is named."""


def check_started(started: ServerStarted, wanted: ServerUnderTest, where: str) -> None:
    """Refuse a server that is not the one that was deployed on the host `where`."""
    for what, running, expected in (
        ("configuration", started.running_config_sha256, wanted.running_config_sha256),
        ("version", started.version, wanted.version),
        ("commit", str(started.commit), str(wanted.commit)),
    ):
        if running != expected:
            raise _another(what, running, expected, where)
    if wanted.program_sha256 is None:
        return  # its contract does not report it
    if (digest := str(started.program_sha256)) != wanted.program_sha256:
        raise _another(str(wanted.program), digest, wanted.program_sha256, where)
    for path, expected in wanted.libraries_sha256.items():
        # One that is loaded when it is first needed may not be there yet.
        if (digest := started.libraries_sha256.get(path, expected)) != expected:
            raise _another(path, digest, expected, where)
    if started.confinement != wanted.confinement:
        raise _another(_PROFILE, str(started.confinement), str(wanted.confinement), where)


def check_files(connection: Connection, deployed: ServerUnderTest) -> None:
    """Hold program and libraries against their hashes, where the server does not run."""
    if deployed.program is None or deployed.program_sha256 is None:
        return
    wanted = {deployed.program: deployed.program_sha256, **deployed.libraries_sha256}
    done = connection.run(["sha256sum", "--", *wanted], timeout_s=_HASHED_S)
    rows = (line.split("  ", 1) for line in done.stdout.decode().splitlines())
    digests = {path: digest for digest, path in rows}
    for path, expected in wanted.items():
        if (digest := digests.get(path)) != expected:
            where = connection.access.name
            raise _another(path, digest or "no such file", expected, where)


def check_beside(running: Mapping[str, Any], wanted_all: Mapping[str, Any], where: str) -> None:
    """Refuse companion services that are not as tuned: a result would not show that."""
    for what in sorted({*running, *wanted_all}):
        own, wanted = _flat(running.get(what)), _flat(wanted_all.get(what))
        other = sorted(name for name in own | wanted if own.get(name) != wanted.get(name))
        if other:
            raise lab_broken(
                f"the server's {what} has another {' and '.join(other)} than was tuned for "
                "this sweep",
                where=where,
                found=", ".join(own.get(name, "none") for name in other),
                wanted=", ".join(wanted.get(name, "none") for name in other),
                todo="it was tuned or deployed again since; deploy and tune again",
            )


def _another(what: str, running: str, wanted: str, where: str) -> LeaselabError:
    return lab_broken(
        f"the server has another {what} than was deployed for this sweep",
        where=where,
        found=bounded(running, _SHOWN),
        wanted=bounded(wanted, _SHOWN),
        todo="it was deployed or installed again since; deploy again",
    )


def _flat(beside: Mapping[str, Any] | None) -> dict[str, str]:
    """Name, version, confinement and settings of companion services by name; may be empty."""
    if not beside:
        return {}
    settings = {name: str(value) for name, value in beside["variables"].items()}
    settings[_PROFILE] = str(beside.get("confinement"))
    return {"name": beside["name"], "version": beside["version"], **settings}
