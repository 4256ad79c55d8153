"""The releases of Kea that take a configuration, by what not all of them have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaselab.catalog.releases import bounds, needs_of
from leaselab.inputs.configuration import Configuration
from leaselab.inputs.known_costs import known_costs


def releases(
    configuration: Configuration, server: dict[str, Any]
) -> tuple[list[str], dict[str, str]]:
    """Return which releases take what the lab keeps of a configuration, as `bounds`.

    `server` is what the lab keeps.
    """
    family, kept = configuration.name.removeprefix("Dhcp"), set(_keys(server))
    needs = []
    for match, since, until in known_costs()["kea"].released(configuration):
        word = match.path.rpartition(".")[2]
        if word in kept:
            needs.append((since, until, f"{word} ({match.spot})"))
    word = f"subnet{family}[*]"
    for match in configuration.at(word, f"shared-networks[*].{word}"):
        if "id" not in match.value:
            needs += needs_of("kea", {"a subnet without id": str(match.spot)})
    return bounds("kea", needs)


def _keys(value: dict[str, Any] | list[Any]) -> Iterator[str]:
    """All keys of objects in a value."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from _keys(inner)
