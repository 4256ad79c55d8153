"""The lab's form of a configuration: as it is, but for files, addresses and other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from leaselab.inputs.configuration import Configuration, Match, lacking, refused
from leaselab.inputs.kea.grammar import LONGEST_PREFIX
from leaselab.inputs.lab_form import LabForm
from leaselab.inputs.user_files import UnreadError
from leaselab.model.errors import usage_error

INTERFACE = "@interface@"
"""Stands for the interface of the test network, which role kea puts in."""
HOOKS = {
    *("bootp", "cb_cmds", "class_cmds", "flex_id", "flex_option", "host_cache", "host_cmds"),
    *("lease_cmds", "lease_query", "limits", "mysql", "perfmon", "pgsql", "stat_cmds"),
    "subnet_cmds",
}
"""Hooks that contact no host beyond the lab; the role checks whether this Kea has them."""
_WHY = {
    "ha": "it contacts another host; the pairs of the lab are scenarios of their own",
    "radius": "it asks another host",
    "run_script": "it runs programs of your host",
    "ping_check": "it sends to addresses of clients",
    "legal_log": "it writes a log of its own beside the lab's",
    "ddns_tuning": "it names what another server updates",
    "rbac": "it says who may send commands",
    "mysql_cb": "its configuration is in a database that is not here",
    "pgsql_cb": "its configuration is in a database that is not here",
}
_PROGRAMS = {"Dhcp4", "Dhcp6", "DhcpDdns", "Control-agent", "Netconf", "Logging"}
_OF_PAIR = re.compile(r"member[ \t\n]*\([ \t\n]*'HA_[^'\n]*'[ \t\n]*\)")
_POOLS = ("pools", "pd-pools")
_OF_PREFIXES = ("prefix", "prefix-len", "delegated-len")
_DATABASES = {"mysql": "mysql", "postgresql": "postgresql"}


class KeaForm(LabForm):
    """What the lab makes of a configuration, each change of it listed."""

    def __init__(
        self,
        configuration: Configuration,
        without: Sequence[str],
        unread: Iterable[UnreadError],
    ) -> None:
        """Raise an error for what the lab cannot run, unless it is among `without`."""
        super().__init__(without)
        self._configuration = configuration
        self.beside: dict[str, dict[str, Any]] = {}
        for error in unread:
            self.leave_unread(error, error.where)
        self.family = int(configuration.name.removeprefix("Dhcp"))
        self.server: dict[str, Any] = _plain(configuration.whole.value)
        self._beside()
        self._hooks()
        self._databases()
        self._speaking()
        self._interfaces()
        self._logging()
        self.check_used()
        self._check_subnets()

    def _check_subnets(self) -> None:
        """Raise a usage error for subnets and pools that no server takes."""
        word = f"subnet{self.family}"
        needed = {"": ("subnet",), ".pools[*]": ("pool",), ".pd-pools[*]": _OF_PREFIXES}
        for below, keys in needed.items():
            at = (f"{word}[*]{below}", f"shared-networks[*].{word}[*]{below}")
            for match in self._configuration.at(*at):
                for key in keys:
                    if key not in match.value:
                        raise lacking(match, key)
                if keys is _OF_PREFIXES and not _is_of_prefixes(match.value):
                    raise refused(match)

    @property
    def options(self) -> dict[str, Any]:
        """Options of the scenario that the file decides."""
        threads = self.server.get("multi-threading", {})
        several = bool(threads.get("enable-multi-threading", False))
        lifetime = self.server.get("valid-lifetime")
        backend = self.server.get("lease-database", {}).get("type", "memfile")
        counted = {
            "threads": threads.get("thread-pool-size", 0),
            "queue_size": threads.get("packet-queue-size", 0),
        }
        known = several and all(type(value) is int and value > 0 for value in counted.values())
        return {
            "backend": backend,
            **({"multi_threading": True, **counted} if known else {}),
            **(
                {}
                if self.server.get("lease-database", {}).get("persist", True)
                else {"memfile_persist": False}
            ),
            **({"lease_lifetime_s": lifetime} if type(lifetime) is int else {}),
        }

    def _leave_part(self, word: str, match: Match, why: str) -> None:
        """Leave out a part, as the user asked; raises where the user did not."""
        self.leave_out(word, why, f"{match.spot}: {match.path}")

    def _beside(self) -> None:
        """Take the loggers from beside the server, where they were before 1.8."""
        for match in self._configuration.at("/*"):
            if match.path == "Logging" and "loggers" in match.value:
                held = self.server.setdefault("loggers", [])
                held += _plain(match.value["loggers"])
                self.change("Logging.loggers: those of the server, as in Kea since 1.8")
            elif match.path != self._configuration.whole.path and isinstance(match.value, dict):
                other = match.path if match.path in _PROGRAMS else "another object"
                self.change(f"{other}: none, as it is of another program")

    def _hooks(self) -> None:
        kept = []
        for match in self._configuration.at("hooks-libraries[*]"):
            if "library" not in match.value:
                raise lacking(match, "library")
            library = str(match.value["library"])
            stem = library.rpartition("/")[2].removesuffix(".so").removeprefix("libdhcp_")
            if stem not in HOOKS:
                why = _WHY.get(stem, "it is in no package that it knows")
                self._leave_part(f"hook:{stem}", match, why)
                continue
            kept.append({**_plain(match.value), "library": f"libdhcp_{stem}.so"})
            if "/" in library:
                self._at(match, "library", "where the lab's Kea has it")
        self.server["hooks-libraries"] = kept
        if "hook:ha" in self.left_out:
            self._halves()

    def _halves(self) -> None:
        """Give what a pair's servers divide by classes to all clients."""
        word = f"subnet{self.family}"
        subnets = (f"{word}[*]", f"shared-networks[*].{word}[*]")
        places = [f"{each}.{pools}[*]" for each in subnets for pools in _POOLS]
        for match in self._configuration.at("shared-networks[*]", *subnets, *places):
            for key in _halved(match.value):
                self._at(match, key, "none of the pair's")
        networks = self.server.get("shared-networks", [])
        held = [
            *networks,
            *(net for on in (self.server, *networks) for net in on.get(word, [])),
        ]
        held += [pool for net in held for key in _POOLS for pool in net.get(key, [])]
        for one in held:
            for key in list(_halved(one)):
                del one[key]
        classes = self._configuration.at("client-classes[*]")
        for match, one in zip(classes, self.server.get("client-classes", []), strict=True):
            test = _OF_PAIR.sub("member('ALL')", one.get("test", ""))
            if test != one.get("test", ""):
                one["test"] = test
                self._at(match, "test", "member('ALL') for the classes of the pair")

    def _databases(self) -> None:
        for match in self._configuration.at("lease-database"):
            kind = match.value.get("type", "memfile")
            if kind == "memfile":
                self.server["lease-database"].pop("name", None)
                self._at(match, "name", "a file of the lab")
            elif kind in _DATABASES:
                self.server["lease-database"] = {"type": kind}
                self.beside[_DATABASES[kind]] = {}
                self._at(match, "", f"{kind} beside the server, with the lab's settings")
            else:
                raise usage_error(
                    "no database of the lab",
                    where=f"{match.spot}: {match.path}.type",
                    found=str(kind)[:40],
                    wanted="memfile, mysql or postgresql",
                )
        for key in ("hosts-database", "hosts-databases", "config-control"):
            for match in self._configuration.at(key):
                why = "what is in that database is not in this file"
                self._leave_part(key, match, why)
                del self.server[key]

    def _speaking(self) -> None:
        for match in self._configuration.at("dhcp-ddns"):
            if match.value.get("enable-updates", False):
                self._leave_part("dhcp-ddns", match, "it has names updated by another server")
                self.server["dhcp-ddns"] = {"enable-updates": False}
        for match in self._configuration.at("dhcp4o6-port"):
            if match.value:
                self._leave_part("dhcp4o6-port", match, "it needs a second server")
                self.server["dhcp4o6-port"] = 0
        for key in ("control-socket", "control-sockets", "data-directory"):
            for match in self._configuration.at(key):
                del self.server[key]
                self._at(match, "", "the lab's own")

    def _interfaces(self) -> None:
        for match in self._configuration.at("interfaces-config"):
            self._at(match, "interfaces", "the test network")
        self.server["interfaces-config"] = {"service-sockets-require-all": True}
        word = f"subnet{self.family}"
        networks = [self.server, *self.server.get("shared-networks", [])]
        for one in [*networks[1:], *(net for held in networks for net in held.get(word, []))]:
            if one.get("interface"):
                one["interface"] = INTERFACE
        for match in self._configuration.at(
            f"{word}[*].interface",
            "shared-networks[*].interface",
            f"shared-networks[*].{word}[*].interface",
        ):
            self._at(match, "", "the test network")

    def _logging(self) -> None:
        for match in self._configuration.at("loggers[*]", "/Logging.loggers[*]"):
            if {"output-options", "output_options"} & match.value.keys():
                self._at(match, "output-options", "a file of the lab")
        for one in self.server.get("loggers", []):
            one.pop("output_options", None)
            one.pop("output-options", None)

    def _at(self, match: Match, key: str, what: str) -> None:
        path = re.sub(r"^Dhcp[46]\.", "", f"{match.path}.{key}" if key else match.path)
        path = re.sub(r"\[[0-9]+\]", "[*]", path)
        self.change(f"{path}: {what}")


def _halved(value: Mapping[str, Any]) -> Iterator[str]:
    """The keys by which something is only for clients of one server of a pair."""
    for key in ("client-class", "client-classes"):
        names = value.get(key, [])
        names = [names] if isinstance(names, str) else names
        if any(name.startswith("HA_") for name in names):
            yield key


def _is_of_prefixes(pool: Mapping[str, Any]) -> bool:
    """Whether a pool has prefixes of IPv6."""
    is_six = ":" in pool["prefix"]
    return is_six and pool["prefix-len"] <= pool["delegated-len"] <= LONGEST_PREFIX


def _plain(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """The same as plain objects and lists, which can be changed."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
