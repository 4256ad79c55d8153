"""The file of clients: what a capture has of them, without anybody's identity."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import yaml
from msgspec import Struct, to_builtins

from leaselab.catalog.decoding import build, shown
from leaselab.catalog.documents import parse_yaml
from leaselab.catalog.plain_file import given_content, unpacking
from leaselab.inputs.clients.messages import WORDS
from leaselab.model.errors import usage_error

_HEAD = """\
# Clients as `leaselab clients` counted them. Nobody is in here: relays have made-up addresses
# by their rank, identities are made up by the load, and a value of an option is kept only
# where several clients sent it.
"""
_MOST = 1 << 48
"""Largest number of what was counted."""
_CODES = {4: 255, 6: 1 << 16}
_VALUE = re.compile("text:.*|hex:(?:[0-9a-f]{2})*", re.IGNORECASE | re.DOTALL)
_LONGEST = 16 << 20
"""Bytes of a file of clients at the most: three times one of 4096 kinds."""
_BEGINS = re.compile("(?:[01][0-9]|2[0-3]):[0-5][0-9]")


class Peak(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The busiest minute."""

    minute: int
    """Its place among the minutes, from 0."""
    per_s: float
    """Exchanges begun a second in it."""
    shares: dict[str, float]
    """What was begun in it, by its share."""


class Traffic(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The clients of one family."""

    clients: int
    """How many there were."""
    relays: int
    seconds: float
    """From the first message to the last."""
    messages: int
    """Messages of clients."""
    exchanges: int
    """What clients began."""
    shares: dict[str, float]
    """What they began, by its share: new, renew, release and the like."""
    resent: float
    """Share of the messages that clients had sent before."""
    begins: str
    """Time of day of the first minute (UTC)."""
    peak: Peak | None
    """None where no time is known."""
    minutes: dict[str, list[int]]
    """Exchanges begun in each minute, from the first, by what they are."""
    notes: list[str]
    """What is not as it was seen, and which tables were full."""
    kinds: list[dict[str, Any]]
    """Kinds of clients, as leaseload reads them (`--population`)."""


class _Kind(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kind of clients, as far as `leaselab clients` writes it."""

    name: str
    clients: int
    relay: str | None = None
    agent: list[tuple[int, str]] = []
    options: list[tuple[int, str]] = []
    first_mac: str | None = None
    want: Literal["address", "prefix", "both"] = "address"


class Clients(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file of clients holds."""

    skipped: dict[str, int] = {}
    """What was no message of a client, by the reason."""
    notes: list[str] = []
    """What was wrong with the captures."""
    dhcpv4: Traffic | None = None
    dhcpv6: Traffic | None = None

    def of(self, family: int) -> Traffic | None:
        """The clients of a family; None without any."""
        return self.dhcpv4 if family == 4 else self.dhcpv6

    def text(self) -> str:
        """The file's text."""
        document = {key: value for key, value in to_builtins(self).items() if value}
        body = yaml.dump(
            document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=96
        )
        return _HEAD + body


def shares_of(begun: Mapping[str, int]) -> dict[str, float]:
    """Shares that sum to 1 exactly as they are written: the largest takes what is left."""
    total = sum(begun.values())
    counted = sorted(((begun[word], word) for word in WORDS if begun.get(word)), reverse=True)
    shares = {word: round(count / total, 4) for count, word in counted[1:]}
    shares = {word: share for word, share in shares.items() if share}
    return {counted[0][1]: round(1 - sum(shares.values()), 4), **shares}


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Has short lists in one line."""


def _listed(dumper: Any, value: list[Any]) -> Any:  # noqa: ANN401  # untyped in yaml
    is_flat = all(isinstance(entry, int | str) for entry in value) and not any(
        isinstance(entry, str) and " " in entry for entry in value
    )
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_flat)


_Dumper.add_representer(list, _listed)


def read_clients(path: Path) -> tuple[Clients, str]:
    """Read a file of clients; return it and the hash of its bytes.

    Raises a usage error for what is none.
    """
    data = given_content(path, _LONGEST)
    document = parse_yaml(data, str(path))
    if not isinstance(document, Mapping):
        raise usage_error(
            "not a file of clients",
            where=str(path),
            found=shown(document),
            wanted="what `leaselab clients` writes",
            todo=unpacking(path),
        )
    clients = build(Clients, document, str(path))
    for family in (4, 6):
        traffic = clients.of(family)
        if traffic is not None:
            _check(traffic, f"{path}: dhcpv{family}")
    return clients, hashlib.sha256(data).hexdigest()


def _check(traffic: Traffic, where: str) -> None:
    _check_shares(traffic.shares, f"{where}: shares")
    if traffic.peak is not None:
        _check_shares(traffic.peak.shares, f"{where}: peak: shares")
    if not _BEGINS.fullmatch(traffic.begins):
        raise usage_error(
            "not a time of day",
            where=f"{where}: begins",
            found=shown(traffic.begins),
            wanted="HH:MM",
        )
    minutes = traffic.minutes
    if set(minutes) - set(WORDS) or len({len(counts) for counts in minutes.values()}) > 1:
        raise usage_error(
            "not minutes of exchanges",
            where=f"{where}: minutes",
            found=", ".join(f"{word} {len(counts)}" for word, counts in minutes.items()),
            wanted=f"lists of one length for {', '.join(WORDS)}",
        )
    counted = ("clients", "relays", "messages", "exchanges", "seconds", "resent")
    numbers = [(name, getattr(traffic, name)) for name in counted]
    numbers += [("minutes", count) for count in chain(*minutes.values())]
    if traffic.peak is not None:
        numbers += [("peak: minute", traffic.peak.minute), ("peak: per_s", traffic.peak.per_s)]
    for name, number in numbers:
        if not 0 <= number <= _MOST:
            raise usage_error(
                "not a number of what was counted",
                where=f"{where}: {name}",
                found=shown(number),
                wanted=f"0 to {_MOST}",
            )
    if not traffic.kinds:
        raise usage_error("no kind of clients", where=f"{where}: kinds", wanted="one or more")
    for number, kind in enumerate(traffic.kinds):
        _check_kind(
            build(_Kind, kind, f"{where}: kinds[{number}]"), f"{where}: kinds[{number}]"
        )


def _check_shares(shares: Mapping[str, float], where: str) -> None:
    numbers = all(0 <= share <= 1 for share in shares.values())
    if set(shares) - set(WORDS) or not numbers or not 0.99 < sum(shares.values()) < 1.01:
        raise usage_error(
            "not shares of exchanges",
            where=where,
            found=", ".join(f"{word} {share}" for word, share in shares.items())[:200]
            or "none",
            wanted=f"shares of {', '.join(WORDS)} that sum to 1",
        )


def _check_kind(kind: _Kind, where: str) -> None:
    if not 1 <= kind.clients <= _MOST:
        raise usage_error(
            "not a number of clients",
            where=f"{where}.clients",
            found=shown(kind.clients),
            wanted="1 or more",
        )
    family = 6 if where.endswith("6", 0, where.index(": kinds")) else 4
    pairs = {"agent": kind.agent, "options": kind.options}
    for name, number, (code, value) in (
        (name, number, pair)
        for name, listed in pairs.items()
        for number, pair in enumerate(listed)
    ):
        if not 0 < code < _CODES[family] or not _VALUE.fullmatch(value):
            raise usage_error(
                "not an option",
                where=f"{where}.{name}[{number}]",
                found=f"{code}, {value!r}"[:80],
                wanted=f"a code from 1 to {_CODES[family] - 1}, and text:… or hex:…",
            )
    try:
        is_relay = not kind.relay or ipaddress.ip_address(kind.relay).version == family
    except ValueError:
        is_relay = False
    if not is_relay:
        raise usage_error(
            "not a relay",
            where=f"{where}.relay",
            found=str(kind.relay)[:40],
            wanted=f"an address of IPv{family}",
        )
