"""The dhcp-hosts of a dnsmasq.conf: whose each is, and what it gives."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator

from leaselab.inputs.client_kinds import Identity, InList, Prefix, Telling, hex_of
from leaselab.inputs.dnsmasq.classes import (
    MAC6,
    Patterns,
    covers,
    digits_of,
    match,
    named,
    pattern_of,
    said_mac,
)
from leaselab.inputs.dnsmasq.lines import Line, tag_of
from leaselab.model.pool import Address

_SETS = ("set:", "net:")
"""What a tag has before it that a dhcp-host sets."""
_MOST_MACS = 1 << 18
"""Hardware addresses of one pattern that are tried."""
_LIFETIME = re.compile(r"[0-9]+[smhdw]?|infinite", re.IGNORECASE)


class Host:
    """A dhcp-host."""

    def __init__(self, line: Line, family: int, *, by_id: bool = True) -> None:
        """`by_id` says whether clients are known by their identifiers."""
        self.line, self.family = line, family
        self.tags, self.is_ignored, others = ["known"], False, 0
        self.filter: list[str] = []
        self.macs: list[str] = []
        self._ids: list[str] = []
        addresses: list[Address] = []
        names: list[str] = []
        for word in line.words:
            others += 1
            if tag := tag_of(word, _SETS):
                self.tags.append(tag)
                others -= 1
            elif tag := tag_of(word):
                self.filter.append(tag)
            elif word[:3].lower() == "id:":
                self._ids += [word[3:]] * by_id
            elif mac := pattern_of(word):
                self.macs.append(mac)
                others -= 1
            elif word == "ignore":
                self.is_ignored = True
            else:
                try:
                    addresses.append(ipaddress.ip_address(word.strip("[]")))
                except ValueError:
                    is_name = not (_LIFETIME.fullmatch(word) or {*":*/"} & {*word})
                    names += [word] if is_name else []
        self.addresses = [one for one in addresses if one.version == family]
        self.maker = ""
        """The pattern of its clients, where it says nothing but their tags."""
        if family == 4 and not others and len(self.macs) == 1 and "*" in self.macs[0]:
            [self.maker] = self.macs
        of_other_family = addresses and not self.addresses
        self.has_client = not (self.is_ignored or self.maker or of_other_family)
        self.identity = self._identity(names)
        """What its client has, as leaseload reads it; None where that is not known."""

    def _identity(self, names: list[str]) -> Identity | None:
        given = [made for word in self._ids if (made := self._by_id(word))]
        for mac in (mac for mac in self.macs if "*" not in mac):
            of_relay = Telling("agent", (MAC6[1], hex_of(said_mac(mac))))
            given.append(InList("macs", mac) if self.family == 4 else of_relay)
        for name in names[:1]:
            (of, code), value = named(name, self.family)
            given.append(Telling(of, (code, hex_of(value))))
        return given[0] if given else None

    def address(self, prefix: Prefix) -> Address | None:
        """Its address in a subnet; None where it has none there.

        One of IPv6 with a host part alone is in each subnet of 64 bits.
        """
        for one in self.addresses:
            if one in prefix:
                return one
            if one.version == 6 and not int(one) >> 64 and prefix.prefixlen == 64:
                return prefix[int(one)]
        return None

    def _by_id(self, word: str) -> Identity | None:
        if word[:1] in ("", "*"):
            return None
        value = digits_of(word) or word.encode()
        if self.family == 6:
            return InList("duids", value.hex())
        return Telling("options", (61, hex_of(value)))


class Makers:
    """The dhcp-hosts by hardware addresses, of which a client has the closest one."""

    def __init__(self, hosts: Iterable[Host]) -> None:
        self._hosts = Patterns[tuple[str, int, Host]]()
        for number, host in enumerate(hosts):
            for mac in host.macs:
                self._hosts.add(mac, (mac, number, host))

    def host(self, mac: str, tags: Collection[str]) -> Host | None:
        """The dhcp-host of a client with some tags; None without one.

        One for a tag comes before others, then that with the fewest ``*``, then the last.
        """
        found = [
            (bool(host.filter), -pattern.count("*"), number, host)
            for pattern, number, host in self._hosts.of(mac)
            if match(host.filter, tags)
        ]
        return max(found, key=lambda one: one[:-1])[-1] if found else None

    def within(self, pattern: str) -> Iterator[str]:
        """Yield hardware addresses of a pattern that have no closer dhcp-host."""
        free = pattern.count("*")
        for number in range(min(256**free, _MOST_MACS)):
            digits = iter(number.to_bytes(4, "little"))  # the first octets differ first
            mac = ":".join(
                f"{next(digits, 0):02x}" if part == "*" else part for part in pattern.split(":")
            )
            others = (held for held, *_ in self._hosts.of(mac) if held != pattern)
            if not any(covers(pattern, held) for held in others):
                yield mac
