"""The lab's form of a dnsmasq.conf: as it is, but for files, interfaces and other hosts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from leaselab.inputs.client_kinds import OPTIONS_ALONE
from leaselab.inputs.dnsmasq.lines import Line, Range, is_address, lines_of, range_of, tag_of
from leaselab.inputs.lab_form import LabForm
from leaselab.inputs.user_files import UserFiles

FOLDER = "@files@"
"""Stands for the folder of the files that it names, which role dnsmasq puts in."""
_LABS = {
    "the test network": (
        *("interface", "except-interface", "listen-address", "bridge-interface"),
        *("bind-interfaces", "bind-dynamic", "no-dhcp-interface"),
        *("no-dhcpv4-interface", "no-dhcpv6-interface"),
    ),
    "a file of the lab": ("log-facility", "pid-file", "dhcp-leasefile", "dhcp-lease"),
    "root, who may read its counters": ("user", "group"),
    "the lab's own, for its counters": ("enable-dbus", "enable-ubus"),
    "it runs in the foreground": ("keep-in-foreground", "no-daemon"),
    "the ports of DHCP": ("dhcp-alternate-port",),
    "no client is pinged": ("no-ping",),
    "none, as clients take the first answer that they get": ("dhcp-reply-delay",),
    "none, as no query is asked of it": (
        *("server", "rev-server", "local", "servers-file", "resolv-file", "umbrella"),
        *("auth-server", "auth-zone", "auth-ttl", "auth-soa", "auth-sec-servers", "auth-peer"),
        *("ipset", "nftset", "conntrack", "connmark-allowlist-enable", "connmark-allowlist"),
        *("dnssec-timestamp", "query-port"),
    ),
    "no router is advertised": ("enable-ra", "ra-param", "quiet-ra"),
    "no packets are written to files": ("dumpfile", "dumpmask"),
}
_HOLDS = {name: what for what, names in _LABS.items() for name in names}
"""Options that the lab leaves out, by what holds instead."""
_SPOKEN = {
    **dict.fromkeys(
        ("dhcp-script", "dhcp-luascript", "dhcp-scriptuser", "script-arp", "script-on-renewal"),
        ("dhcp-script", "it runs programs of your host"),
    ),
    "conf-script": ("conf-script", "it runs programs of your host"),
    "dhcp-relay": ("dhcp-relay", "it passes messages on to another server"),
    "read-ethers": ("read-ethers", "its addresses are in /etc/ethers"),
}
_TFTP = ("tftp", "it serves files of your host")
_PREFIX = int(ip_address("2001:db8:ffff::"))
"""Where the lab's prefixes begin for ranges that have those of an interface (RFC 3849)."""
_HOSTS = {"dhcp-hostsfile": "dhcp-hostsfile", "dhcp-hostsdir": "dhcp-hostsfile"}
_FILES = {
    **_HOSTS,
    **dict.fromkeys(("dhcp-optsfile", "dhcp-optsdir"), "dhcp-optsfile"),
    **dict.fromkeys(("addn-hosts", "hostsdir"), "addn-hosts"),
}
"""Options that name files or folders of them, by the one that names a file."""


class DnsmasqForm(LabForm):
    """What the lab makes of a configuration, each change of it listed."""

    def __init__(self, text: str, files: UserFiles, without: Sequence[str]) -> None:
        """Raise an error for what the lab cannot run, unless it is among `without`."""
        super().__init__(without)
        self._files, where = files, str(files.file)
        self.files: dict[str, str] = {}
        self.hosts: list[Line] = []
        self.unserved: list[str] = []
        """Ranges without leases, and why their clients do not come."""
        self._prefixes: dict[str, int] = {}
        """Numbers of the lab's prefixes, by the interfaces whose own they stand for."""
        self._read = {Path(where).resolve()}
        read = list(self._included(lines_of(text, where), 0))
        self._interfaces = {
            word for line in read if line.name == "interface" for word in line.words
        }
        self._held = {line: range_of(line) for line in read if line.name == "dhcp-range"}
        pools = [held for held in self._held.values() if held.size or held.is_static]
        self._is_stateless = not any(held.size or held.family == 4 for held in pools)
        """Whether no range has leases, but those for hosts."""
        self.family = self._family(pools, without)
        self.lines = [kept for line in read for kept in self._kept(line)]
        self.hosts += [line for line in self.lines if line.name == "dhcp-host"]
        for change in (
            "no-ping: no client is pinged",
            "no-resolv, no-hosts: files of the lab's host are not read",
        ):
            self.change(change)
        self.ranges = [range_of(line) for line in self.lines if line.name == "dhcp-range"]
        self.check_used(serves=any(held.size or held.is_static for held in self.ranges))

    @property
    def text(self) -> str:
        """The lines as a file."""
        return "".join(line.text for line in self.lines)

    @property
    def options(self) -> dict[str, str | int]:
        """Options of the scenario that the file decides."""
        lifetimes = [held.lease_s for held in self.ranges if held.lease_s]
        in_memory = any(line.name == "leasefile-ro" for line in self.lines)
        return {
            "backend": "memory" if in_memory else "file",
            **({"lease_lifetime_s": lifetimes[0]} if lifetimes else {}),
        }

    def _included(self, lines: Iterable[Line], depth: int) -> Iterator[Line]:
        """The lines, with those of included files in their place."""
        for line in lines:
            names = [line.words[0]] if line.value and line.name == "conf-file" else []
            if line.name == "conf-dir" and line.value:
                names = self._of_folder(line)
            if line.name not in ("conf-file", "conf-dir"):
                yield line
            included = partial(self._files.included, depth=depth)
            for name in names:
                held = self.unless_unread(included, name, line.where)
                # What has been read is not read again: dnsmasq knows files by their inodes.
                if held is not None and Path(held[1]).resolve() not in self._read:
                    self._read.add(Path(held[1]).resolve())
                    yield from self._included(lines_of(*held), depth + 1)

    def _of_folder(self, line: Line) -> list[str]:
        """Names of the files of a folder that dnsmasq would read."""
        folder, *endings = line.words or ("",)
        wanted = tuple(word[1:] for word in endings if word.startswith("*"))
        refused = tuple(word for word in endings if word and not word.startswith("*"))
        names = []
        for name in self.unless_unread(self._files.names, folder, line.where) or ():
            own = name.rpartition("/")[2]
            is_backup = own.endswith("~") or own.startswith(".") or own[0] == own[-1] == "#"
            if is_backup or (wanted and not own.endswith(wanted)):
                continue
            if not own.endswith(refused):
                names.append(name)
        return names

    def _family(self, pools: Sequence[Range], without: Sequence[str]) -> int:
        """The one family of its ranges that is measured."""
        families = sorted({held.family for held in pools})
        if not families:
            return 6 if any("ra-stateless" in held.modes for held in self._held.values()) else 4
        if len(families) < 2:
            return families[0]
        words = [f"dhcpv{family}" for family in families]
        asked = next((word for word in words if word in without), words[1])
        six = next(held for held in pools if held.family == 6)
        why = "one family is measured: this one where dhcpv4 is left out instead"
        self.leave_out(asked, why, six.line.where)
        return families[1 - words.index(asked)]

    def _kept(self, line: Line) -> Iterator[Line]:
        """Yield what stays of a line."""
        name = line.name
        word, why = _TFTP if "tftp" in name else _SPOKEN.get(name, ("", ""))
        if word:
            self.leave_out(word, why, f"{line.where}: {name}")
        elif name in _HOLDS:
            self.change(f"{name}: {_HOLDS[name]}")
        elif name in _FILES:
            yield from self._carried(line)
        elif name == "dhcp-range":
            yield from self._of_range(line)
        elif name == "shared-network" and self._interfaces & {*line.words[:1]}:
            self.change(f"{name}: the test network")
        else:
            yield line

    def _carried(self, line: Line) -> Iterator[Line]:
        """Lines that name copies of the files of a line."""
        is_folder = line.name.endswith("dir") or self.unless_unread(
            self._files.is_folder, line.value, line.where
        )
        if is_folder is None:
            return
        for name in self._of_folder(line) if is_folder else [line.value]:
            held = self.unless_unread(self._files.text, name, line.where)
            if held is None:
                continue
            text, path = held
            copy = hashlib.sha256(text.encode()).hexdigest()[:16]
            self.files[copy] = text
            if line.name in _HOSTS:
                self.hosts += [
                    Line("dhcp-host", f"{held.name}={held.value}".rstrip("="), held.where)
                    for held in lines_of(text, path)
                ]
            yield Line(_FILES[line.name], f"{FOLDER}/{copy}", line.where)
        self.change(f"{line.name}: a copy in a folder of the lab")

    def _of_range(self, line: Line) -> Iterator[Line]:
        """A range in the lab's form, or none."""
        held = self._held[line]
        is_pool = held.size or held.is_static
        words = line.words
        if held.modes:
            self.change("dhcp-range: no router is advertised")
        is_stateless = "ra-stateless" in held.modes and not is_pool
        is_alone = held.modes and not is_pool and not is_stateless
        if is_alone or (is_stateless and not self._is_stateless):
            why = "only its router is advertised" if is_alone else OPTIONS_ALONE
            self.unserved.append(f"{line.where}: {held.prefix}: {why}")
        if held.family != self.family or (
            held.modes and not is_pool and not (is_stateless and self._is_stateless)
        ):
            return
        if is_stateless:
            # Without its advertisements it is the same for clients of DHCPv6.
            words = ["static" if word == "ra-stateless" else word for word in words]
        if held.constructor:
            self.change("dhcp-range: a prefix of the lab instead of an interface's")
            of = self._prefixes.setdefault(held.constructor, len(self._prefixes) + 1)
            prefix = _PREFIX | of << 64
            words = [
                str(ip_address(prefix | int(ip_address(word)))) if is_address(word) else word
                for word in words
                if word != held.constructor
            ]
        if held.modes:
            words = [word for word in words if word not in held.modes]
        for at, word in enumerate(words):
            if tag_of(word) in self._interfaces:
                words[at] = f"set:{tag_of(word)}"
                self.change("dhcp-range: a tag instead of an interface's: the test network")
        yield line._replace(value=",".join(words))
