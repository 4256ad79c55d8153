"""The lab's form of a dhcpd.conf: as it is, but for files, addresses and other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from leaselab.inputs.dhcpd.statements import Statement, every, number_of, parsed
from leaselab.inputs.lab_form import LabForm
from leaselab.inputs.user_files import UserFiles
from leaselab.model.errors import usage_error

_LABS = {
    **dict.fromkeys(
        ("ping-check", "ping-timeout", "ping-timeout-ms", "ping-cltt-secs"),
        "no client is pinged",
    ),
    **dict.fromkeys(
        ("lease-file-name", "pid-file-name", "dhcpv6-lease-file-name", "dhcpv6-pid-file-name"),
        "a file of the lab",
    ),
    **dict.fromkeys(("omapi-port", "omapi-key"), "none, as the lab does not use OMAPI"),
    "key": "none, as no other host is contacted",
    **dict.fromkeys(("local-port", "local-address", "server-identifier"), "the lab's own"),
    "interface": "the test network",
    "dhcp-cache-threshold": "0, as clients come back sooner than they would renew",
    "min-secs": "0, as clients take the first answer that they get",
    "get-lease-hostnames": "off, as no DNS is asked",
}
"""Statements that the lab leaves out, by what holds instead."""
_WHY = {
    "failover": "it contacts another host",
    "ddns": "it has names updated by another server",
    "execute": "it runs programs of your host",
    "ldap": "its configuration is in a directory that is not here",
}
_OF_ADDRESSES = re.compile(r"(?:option )?\S*(?:routers|servers?)")
"""How statements begin that have addresses, or names for which dhcpd asks DNS."""
_NAME = re.compile(r"(?=.*[a-z])[\w-]+(?:\.[\w-]+)*\.?", re.IGNORECASE)
_ADDRESS = "192.0.2.1"
"""What the lab has instead of such a name, of a network for documentation (RFC 5737)."""
_TIMES = ("default-lease-time", "max-lease-time", "min-lease-time")
_NUMBER = re.compile(r"[+-]?[0-9]+")
_LONGEST_S = 2**32 - 1
_DDNS = ("zone", "ddns-updates", "ddns-update-style")
_NO_DDNS = (("ddns-update-style", "none"), ("ddns-updates", "off"))


class DhcpdForm(LabForm):
    """What the lab makes of a configuration, each change of it listed."""

    def __init__(
        self, statements: Iterable[Statement], without: Sequence[str], files: UserFiles
    ) -> None:
        """Raise an error for what the lab cannot run, unless it is among `without`."""
        super().__init__(without)
        self._files = files
        statements = tuple(self._included(statements, 0))
        self.family = self._family(statements)
        self.statements = self._kept(statements)
        if self.family == 4 and not any("ping" in change for change in self.changes):
            self.changes.append("ping-check: no client is pinged")
        if not any("cache" in change for change in self.changes):
            self.changes.append(f"dhcp-cache-threshold: {_LABS['dhcp-cache-threshold']}")
        self.check_used()

    def _included(self, statements: Iterable[Statement], depth: int) -> Iterator[Statement]:
        """Yield the statements, with those of included files in their place."""
        for statement in statements:
            if statement.name != "include":
                inner = statement.inner and tuple(self._included(statement.inner, depth))
                yield statement._replace(inner=inner)
                continue
            name = "".join(statement.words[1:]).strip('"')
            included = partial(self._files.included, depth=depth)
            if (held := self.unless_unread(included, name, statement.spot)) is not None:
                yield from self._included(parsed(*held), depth + 1)

    def _family(self, statements: Iterable[Statement]) -> int:
        """The one family of its subnets."""
        subnets = {one.name: one for one in every(statements) if one.name.startswith("subnet")}
        if {"subnet", "subnet6"} <= subnets.keys():
            raise usage_error(
                "subnets of both families, and dhcpd serves one",
                where=subnets["subnet6"].spot,
                todo="name a file of one family",
            )
        return 6 if "subnet6" in subnets else 4

    @property
    def options(self) -> dict[str, bool | int]:
        """Options of the scenario that the file decides."""
        top = {
            statement.name: "".join(statement.words[1:2])
            for statement in self.statements
            if statement.inner is None
        }
        lifetime = number_of(top.get("default-lease-time", ""))
        return {
            "sync": top.get("dont-use-fsync") not in ("true", "on"),
            **({} if lifetime is None else {"lease_lifetime_s": lifetime}),
        }

    def _kept(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        for one in statements:
            _check_time(one)
        return tuple(
            self._without_names(statement)._replace(
                inner=None if statement.inner is None else self._kept(statement.inner)
            )
            for statement in statements
            if not (self._is_the_labs(statement) or self._is_left_out(statement))
        )

    def _without_names(self, one: Statement) -> Statement:
        """A statement with an address for each name: dhcpd waits for DNS as it replies."""
        at = 2 if one.name == "option" else 1
        begin = " ".join(one.words[:at]).lower()
        is_one = one.inner is None and _OF_ADDRESSES.fullmatch(begin)
        # A definition has a code, an expression a sign; names in calls are in quotes.
        if not is_one or one.words[at : at + 1] in (("code",), ("=",)):
            return one
        words = [_ADDRESS if _NAME.fullmatch(word) else word for word in one.words[at:]]
        if (*one.words[:at], *words) != one.words:
            self.change(f"{begin}: {_ADDRESS} instead of a name, as no DNS is asked")
        return one._replace(words=(*one.words[:at], *words))

    def _is_the_labs(self, one: Statement) -> bool:
        """Whether the lab replaces a statement by its own."""
        if one.name not in _LABS:
            return False
        self.change(f"{one.name}: {_LABS[one.name]}")
        return True

    def _is_left_out(self, one: Statement) -> bool:
        """Whether it is left out as the user asked; raises where the user did not ask."""
        word = _spoken(one)
        if not word:
            return False
        self.leave_out(word, _WHY[word], f"{one.spot}: {one.name}")
        return True


def _check_time(one: Statement) -> None:
    """Raise a usage error for a lease time that dhcpd cannot have."""
    value = "".join(one.words[1:])
    if one.name not in _TIMES or not _NUMBER.fullmatch(value):
        return
    if (number_of(value) or _LONGEST_S + 1) > _LONGEST_S and value.strip("0"):
        raise usage_error(
            "not a lease time as dhcpd has them",
            where=one.spot,
            found=value[:40],
            wanted=f"0 to {_LONGEST_S} seconds",
        )


def _spoken(one: Statement) -> str:
    """The word for a statement's dependence on other hosts, empty without one."""
    if one.name in _DDNS and tuple(map(str.lower, one.words)) not in _NO_DDNS:
        return "ddns"
    if one.name == "failover":
        return "failover"
    if one.name.startswith("ldap-"):
        return "ldap"
    # Of a condition its parts stay, as an else needs its if.
    held = every((one,)) if one.name == "on" else (one,)
    calls = (word.lower().partition("(")[0] for each in held for word in each.words)
    return "execute" if "execute" in calls else ""
