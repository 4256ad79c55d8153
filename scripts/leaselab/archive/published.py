"""What of a result others may read: hosts by their roles, and no secret.

A result is copied, published and kept for years.  Who can log in where, and as whom, is of no
use to its readers; so it says "server" and "generator", and a repository's address has no
name, password or token in it.  `published` makes the record of a new result so, and that of
one that was archived before, each time it is read.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leaselab.model.bench import NO_ACCESS
from leaselab.model.bounds import clipped
from leaselab.model.record import GENERATOR
from leaselab.model.source import public_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leaselab.model.bench import Bench, BenchHost
    from leaselab.model.record import Record
    from leaselab.model.server import Server

_INVENTORIES = "inventory"
"""The folder of a checkout that inventories lie in."""
_LOCAL = re.compile(
    r"(?P<option>(?:--?[\w-]+=)?)(?:file://)?(?P<path>[/~].*|\.\.?/.*)", re.DOTALL
)
"""A word that is a path, or an option and its path."""


def published(record: Record, names: Mapping[str, str] | None = None) -> Record:
    """Return a record as others may read it.

    `names` are words for `by_role`; those that the record itself has are known.
    """
    hosts = record.bench.hosts
    known = {
        **(names or {}),
        **{host.hostname: role for role, host in hosts.items() if host.hostname},
    }
    host = GENERATOR if record.generator.host else None
    if record.generator.host:
        known[record.generator.host] = GENERATOR
    return replace(
        record,
        reasons=tuple(
            replace(reason, text=clipped(public_address(by_role(reason.text, known))))
            for reason in record.reasons
        ),
        servers={role: _server(server) for role, server in record.servers.items()},
        generator=replace(record.generator, host=host),
        bench=replace(
            record.bench,
            inventory=inventory_name(record.bench.inventory or "") or None,
            hosts={role: replace(host, hostname=None) for role, host in hosts.items()},
        ),
        provenance=replace(
            record.provenance,
            command=tuple(public_word(word) for word in record.provenance.command),
        ),
    )


def public_word(word: str) -> str:
    """Return a word of a command without secrets, and without the way to a place of its own.

    Such a way is that of somebody's home; the last name of it is kept.
    """
    parts = _LOCAL.fullmatch(public_address(word))
    if parts is None:
        return public_address(word)
    return parts["option"] + (inventory_name(parts["path"]) or parts["path"])


def published_bench(bench: Bench) -> Bench:
    """Return a bench as others may read it: hosts have neither access nor names."""
    return dataclasses.replace(
        bench,
        inventory=inventory_name(bench.inventory),
        hosts={role: _host(host) for role, host in bench.hosts.items()},
    )


def _host(host: BenchHost) -> BenchHost:
    known = {"hostname": None} if "hostname" in host.facts else {}
    return replace(host, access=NO_ACCESS, facts={**host.facts, **known})


def inventory_name(path: str) -> str:
    """Return an inventory's place in a checkout, ``inventory/rack1``, or its own name alone.

    The way to it is that of somebody's home.
    """
    if not path:
        return path
    parts = PurePosixPath(path).parts
    if _INVENTORIES in parts[:-1]:
        last = len(parts) - 1 - parts[::-1].index(_INVENTORIES, 1)
        return str(PurePosixPath(*parts[last:]))
    return parts[-1]


def by_role(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which hosts have other words: `names` are those by what is replaced.

    The longest first, and only where they stand as words of their own.
    """
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", names[name], text)
    return text


def _server(server: Server) -> Server:
    """Return a server of a record; the repository of its build may hold a secret."""
    source = server.build.source if server.build else None
    if server.build is None or source is None:
        return server
    public = dataclasses.replace(source, repository=public_address(source.repository))
    return replace(server, build=replace(server.build, source=public))
