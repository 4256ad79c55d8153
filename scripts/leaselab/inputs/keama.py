"""A configuration of ISC dhcpd as the one of Kea that ISC's keama makes of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from leaselab.catalog.kept_scenarios import keep_bytes
from leaselab.catalog.plain_file import given_content
from leaselab.inputs.commented_json import read_commented_json
from leaselab.inputs.leases import Leases
from leaselab.inputs.reader import Asked, Served
from leaselab.inputs.user_configuration import served_of
from leaselab.inputs.user_files import MOST_BYTES
from leaselab.model.errors import usage_error

_FOLDERS = "/usr/local/sbin:/usr/sbin"
_MOST_S = 60.0
_OF_SIX = re.compile(rb"^[^\S\n]*(?:subnet6|range6|prefix6)\s", re.MULTILINE)
_IDENTIFIERS = {"hw-address", "duid", "circuit-id", "client-id", "flex-id"}


def read_with_keama(
    file: Path, folder: Path, without: Sequence[str] = (), leases: Leases | None = None
) -> Served:
    """Have keama make a configuration of Kea of a dhcpd.conf, and read that as `read_served`.

    It is kept in `folder`, with reservations in their subnets, as dhcpd has them.  Raises a
    usage error where there is no keama, and for a file that it does not take.
    """
    family = 6 if _OF_SIX.search(given_content(file, MOST_BYTES)) else 4
    made, failed = _converted(file, family)
    document = read_commented_json(folder / f"{keep_bytes(folder, made, 'json')}.json")
    dropped = dict.fromkeys(_drop_nameless(document.top))
    own = served_of(document, Asked(without=without, leases=leases))
    said = [f"keama: {failed} statements have no counterpart"] if failed else []
    return replace(own, changes=[*said, *dropped, *own.changes])


def _converted(file: Path, family: int) -> tuple[bytes, int]:
    """Return Kea's configuration, and how many statements keama could not convert."""
    program = shutil.which("keama") or shutil.which("keama", path=_FOLDERS)
    if program is None:
        raise usage_error(
            "no keama on this machine",
            where="--keama",
            wanted="ISC's Kea Migration Assistant",
            todo="install isc-dhcp-keama (Debian 13), or build keama/ of ISC DHCP 4.4.3",
        )
    done = subprocess.run(
        [program, f"-{family}", "-N", "-i", str(file)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_MOST_S,
        check=False,
    )
    if not done.stdout.strip():
        raise usage_error(
            "keama does not take it",
            where=str(file),
            found=(done.stderr.decode(errors="replace").splitlines() or ["no word"])[0][:200],
            wanted="a configuration of ISC dhcpd",
        )
    return done.stdout, done.returncode


def _drop_nameless(value: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON value
    """Drop reservations without an identifier, which Kea refuses; yield what they were.

    keama makes them of hosts that are known by an option, such as a client identifier.
    """
    if isinstance(value, list):
        for inner in value:
            yield from _drop_nameless(inner)
    if not isinstance(value, dict):
        return
    for inner in value.values():
        yield from _drop_nameless(inner)
    hosts = value.get("reservations", [])
    for number in reversed(range(len(hosts))):
        if not _IDENTIFIERS & hosts[number].keys():
            yield "reservations[*]: none without an identifier"
            del hosts[number], hosts.spots[number]
