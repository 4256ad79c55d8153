"""What of a result others may read: hosts by their roles, and no secret.

A result is copied, published and kept for years.  Who can log in where, and as whom, is of no
use to its readers; so it says "server" and "generator", and a repository's address has no
name, password or token in it.  `published` makes the document of a new result so, and that of
one that was archived before, each time it is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from leaselab.model.source import public_address

_INVENTORIES = "inventory"
"""The folder of a checkout that inventories lie in."""


def published(
    document: Mapping[str, Any], names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the document of a result as others may read it.

    `names` are words for `by_role`; those that the document itself has are known.
    """
    bench, made = document["bench"], document["provenance"]
    generator = document["generator"]
    known = {
        **(names or {}),
        **{
            host["hostname"]: role
            for role, host in bench["hosts"].items()
            if host.get("hostname")
        },
    }
    if generator["host"]:
        known[generator["host"]] = "generator"
    return {
        **document,
        "reasons": [
            {**reason, "text": public_address(by_role(reason["text"], known))}
            for reason in document["reasons"]
        ],
        **{role: _server(document[role]) for role in ("server", "partner") if role in document},
        "generator": {**generator, "host": "generator" if generator["host"] else None},
        "bench": {
            **bench,
            "inventory": inventory_name(bench["inventory"]),
            "hosts": {role: published_facts(host) for role, host in bench["hosts"].items()},
        },
        "provenance": {**made, "command": [public_address(word) for word in made["command"]]},
    }


def published_bench(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a bench document without how its hosts are reached."""
    hosts = {
        role: {
            key: published_facts(value) if key == "facts" else value
            for key, value in host.items()
            if key != "access"
        }
        for role, host in document["hosts"].items()
    }
    return {**document, "inventory": inventory_name(document["inventory"]), "hosts": hosts}


def published_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a host without its name; its role is what they are known by."""
    return {**facts, "hostname": None} if "hostname" in facts else dict(facts)


def inventory_name(path: str | None) -> str | None:
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


def _server(server: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a server of a result; the repository of its build may hold a secret."""
    if server is None:
        return None
    build = server["build"]
    source = (build or {}).get("source")
    if not source or "repository" not in source:
        return dict(server)
    public = {**source, "repository": public_address(source["repository"])}
    return {**server, "build": {**build, "source": public}}
