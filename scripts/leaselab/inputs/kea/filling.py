"""The leases of a running server that a configuration has subnets for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from leaselab.inputs.configuration import network_of
from leaselab.inputs.json_tokens import Spot
from leaselab.inputs.kea.lab_form import KeaForm
from leaselab.inputs.kea.subnets import reserved_words
from leaselab.inputs.leases import Filling, Leases, Range
from leaselab.model.errors import usage_error


def fill(form: KeaForm, leases: Leases, spot: Spot) -> Filling:
    """Return those of some leases with which the lab fills a server.

    A lease names its subnet by number, so subnets without one get theirs.  Raises a usage error
    where the server reads no leases.
    """
    if form.options.get("memfile_persist") is False:
        raise usage_error(
            "this server reads no leases",
            where=f"{spot}: lease-database.persist",
            found="false",
            wanted="true, or no --leases",
        )
    word, reserved = f"subnet{form.family}", list(reserved_words(form.server))
    ranges: list[Range] = []
    networks = (form.server, *form.server.get("shared-networks", []))
    subnets = [subnet for network in networks for subnet in network.get(word, [])]
    _number(form, subnets, word)
    for subnet in subnets:
        reserved += reserved_words(subnet)
        held: list[tuple[str, int | None]] = [(subnet["subnet"], None)]
        if form.family == 6:
            held += [
                (f"{pool['prefix']}/{pool['prefix-len']}", int(pool["delegated-len"]))
                for pool in subnet.get("pd-pools", [])
            ]
        for text, length in held:
            prefix = network_of(text)
            first, last = int(prefix[0]), int(prefix[-1])
            ranges.append(Range(first, last, subnet["id"], length or prefix.max_prefixlen))
    return Filling(leases, form.family, ranges, reserved)


def _number(form: KeaForm, subnets: Sequence[dict[str, Any]], word: str) -> None:
    known = {subnet.get("id") for subnet in subnets}
    free = (number for number in count(1) if number not in known)
    without = [subnet for subnet in subnets if not subnet.get("id")]
    for subnet, number in zip(without, free, strict=False):
        subnet["id"] = number
    if without:
        form.changes.append(f"{word}[*].id: numbers where there is none, for the leases")
