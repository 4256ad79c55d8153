"""The public form of a result: hosts by their roles, and no secrets.

A result is copied, published and kept for years.  Logins of hosts are of no use to its readers;
so it has "server" and "generator", and a repository's address has no user name, password or
token.  `published` converts the record of a new result, and that of an older archived result
each time it is read.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from msgspec.structs import replace

from leaselab.model.bench import NO_ACCESS, Bench, BenchHost
from leaselab.model.bounds import clipped
from leaselab.model.record import GENERATOR, Record
from leaselab.model.server import Server
from leaselab.model.source import public_address

_INVENTORIES = "inventory"
"""The folder of a checkout with inventories."""
_LOCAL = re.compile(
    r"(?P<option>(?:--?[\w-]+=)?)(?:file://)?(?P<path>[/~].*|\.\.?/.*)", re.DOTALL
)
"""A word that is a path, or an option and its path."""


def published(record: Record, names: Mapping[str, str] | None = None) -> Record:
    """Return the public form of a record.

    `names` are further names to replace by roles, besides those in the record.
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
    """Return a word of a command without secrets; of absolute paths only the last name.

    Such a path may contain the user's home directory.
    """
    parts = _LOCAL.fullmatch(public_address(word))
    if parts is None:
        return public_address(word)
    return parts["option"] + (inventory_name(parts["path"]) or parts["path"])


def published_bench(bench: Bench) -> Bench:
    """Return the public form of a bench: hosts have neither access nor names."""
    return dataclasses.replace(
        bench,
        inventory=inventory_name(bench.inventory),
        hosts={role: _host(host) for role, host in bench.hosts.items()},
    )


def _host(host: BenchHost) -> BenchHost:
    known = {"hostname": None} if "hostname" in host.facts else {}
    return replace(host, access=NO_ACCESS, facts={**host.facts, **known})


def inventory_name(path: str) -> str:
    """Return an inventory's path in a checkout, ``inventory/rack1``, or only its name.

    The rest of the path may contain the user's home directory.
    """
    if not path:
        return path
    parts = PurePosixPath(path).parts
    if _INVENTORIES in parts[:-1]:
        last = len(parts) - 1 - parts[::-1].index(_INVENTORIES, 1)
        return str(PurePosixPath(*parts[last:]))
    return parts[-1]


def by_role(text: str, names: Mapping[str, str]) -> str:
    """Return a text with host names replaced: `names` are the replacements by name.

    The longest are replaced first, and only whole words.
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
