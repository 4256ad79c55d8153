"""What switches a host's power: a command of this machine, a Redfish service or an IPMI BMC.

The inventory names it (`leaselab_power`).  Role power does what is asked, by the libraries
that Ansible has for each; here is what the variable may say and what answers mean.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from leaselab.catalog.decoding import build
from leaselab.catalog.plain_file import check_plain
from leaselab.model.errors import LeaselabError, usage_error

POWER, BOOT = "leaselab_power", "leaselab_power_boot_s"
"""The variables of a host."""
VERBS = ("on", "off", "cycle", "status")
BOOT_S = 600.0
"""Longest time from the switch to an answer by SSH (s): servers test their memory first."""
_STATES = re.compile(r"\b(on|off)\b", re.IGNORECASE)
_HOST = re.compile(r"[A-Za-z0-9._:-]+")
_IPMI_PASSWORD_BYTES = 20


@dataclass(frozen=True, slots=True)
class CommandPower:
    """A program of this machine."""

    words: tuple[str, ...]
    """Program and arguments; ``{action}`` and ``{host}`` in them stand for what is asked."""

    def argv(self, verb: str, host: str) -> list[str]:
        """Fill in what is asked; no shell reads it."""
        known = {"{action}": verb, "{host}": host}
        pattern = re.compile("|".join(map(re.escape, known)))
        return [pattern.sub(lambda match: known[match[0]], word) for word in self.words]


@dataclass(frozen=True, slots=True)
class RedfishPower:
    """A Redfish service, as management controllers of servers have."""

    address: str
    """Base address, ``https://bmc.example.org``."""
    user: str
    password_file: str
    system: str = ""
    """Id of the computer system, where the service has several."""
    ca_file: str = ""
    """Certificates (PEM) that the service's is checked with, instead of this machine's."""
    check_certificate: bool = True
    """Whether it is checked at all."""

    @property
    def place(self) -> str:
        """Host and port."""
        return urlsplit(self.address).netloc


@dataclass(frozen=True, slots=True)
class IpmiPower:
    """A BMC with IPMI 2.0 over the network."""

    address: str
    user: str
    password_file: str
    port: int = 623


Power = CommandPower | RedfishPower | IpmiPower
_NETWORK = {"redfish": RedfishPower, "ipmi": IpmiPower}
KINDS = ("command", *_NETWORK)


def parse_power(value: object, where: str) -> Power:
    """Read what the inventory says; a usage error that names `where` for anything else."""
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in KINDS:
        kinds = " and ".join(map(str, value)) if isinstance(value, Mapping) else repr(value)
        raise usage_error(
            f"{POWER} is not one way to switch a host",
            where=where,
            found=kinds or "nothing",
            wanted="exactly one of command, redfish and ipmi",
            todo="docs/reference/power.md has an example of each",
        )
    ((kind, content),) = value.items()
    where = f"{where}: {POWER}: {kind}"
    if kind == "command":
        return _command(content, where)
    power: RedfishPower | IpmiPower = build(_NETWORK[kind], content, where)
    for name in ("user", "password_file"):
        if not getattr(power, name).strip():
            raise usage_error(f"{name} is empty", where=where, wanted="a value")
    for name in ("password_file", "ca_file"):
        file = getattr(power, name, "")
        if file and not file.startswith(("/", "~")):
            raise usage_error(
                f"{name} depends on where the command is called",
                where=where,
                found=file,
                wanted="a path from / or ~, or from {{ inventory_dir }}",
            )
    if isinstance(power, RedfishPower):
        _check_redfish(power, where)
    else:
        _check_ipmi(power, where)
    return power


def _command(content: object, where: str) -> CommandPower:
    if (
        not isinstance(content, Sequence)
        or isinstance(content, str)
        or not content
        or not all(isinstance(word, str) and word for word in content)
    ):
        raise usage_error(
            "not a list of words",
            where=where,
            found=repr(content),
            wanted='[program, argument, …], such as [pdu, "{action}", "{host}"]',
            todo="write numbers, on and off in quotes",
        )
    if not any("{action}" in word for word in content):
        raise usage_error(
            "the command lacks {action}",
            where=where,
            found=" ".join(content),
            wanted="a word with {action}: on, off, cycle or status",
        )
    return CommandPower(tuple(content))


def _check_redfish(power: RedfishPower, where: str) -> None:
    try:
        parts = urlsplit(power.address)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:  # such as a port that is none
        usable = False
    if (
        not usable
        or parts.scheme != "https"
        or "@" in parts.netloc
        or parts.path.strip("/")
        or parts.query
        or parts.fragment
    ):
        raise usage_error(
            "address is not the base address of a Redfish service",
            where=where,
            # What stands before an @ may be a password.
            found=power.address.rpartition("@")[2],
            wanted="https://HOST or https://HOST:PORT",
        )
    if power.ca_file and not power.check_certificate:
        raise usage_error(
            "ca_file is of no use where check_certificate is false",
            where=where,
            wanted="one of the two",
        )


def _check_ipmi(power: IpmiPower, where: str) -> None:
    if not _HOST.fullmatch(power.address):
        raise usage_error(
            "address is not that of a BMC",
            where=where,
            found=power.address,
            wanted="a name or an IP address; the port is a key of its own",
        )
    if not 0 < power.port < 65536:
        raise usage_error(
            "not a port", where=where, found=str(power.port), wanted="a number from 1 to 65535"
        )


def boot_limit_s(value: object, where: str) -> float:
    """How long a host may take to boot (s); a usage error for what is no time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise usage_error(
            f"{BOOT} is not a time", where=where, found=repr(value), wanted="seconds above 0"
        )
    return float(value)


def check_files(power: Power, where: str) -> None:
    """Refuse files that cannot be used here, before anything is asked; usage errors."""
    if isinstance(power, CommandPower):
        if shutil.which(power.words[0]) is None:
            raise usage_error(
                "no such program on this machine",
                where=f"{where}: {POWER}: command",
                found=power.words[0],
                wanted="a program that may be run",
            )
        return
    password = read_password(power.password_file, where)
    if isinstance(power, IpmiPower) and len(password.encode()) > _IPMI_PASSWORD_BYTES:
        raise usage_error(
            "IPMI 2.0 has no such long passwords",
            where=f"{where}: {power.password_file}",
            found=f"{len(password.encode())} bytes",
            wanted=f"up to {_IPMI_PASSWORD_BYTES}",
        )
    ca_file = getattr(power, "ca_file", "")
    if ca_file and not Path(ca_file).expanduser().is_file():
        raise usage_error(
            "no such ca_file", where=where, found=ca_file, wanted="certificates in PEM"
        )


def read_password(name: str, where: str) -> str:
    """Read a password file, one line; a usage error where others could read it as well."""
    path = Path(name).expanduser()
    where = f"{where}: {path}"
    try:
        check_plain(path)
        with path.open(encoding="utf-8") as file:
            about = os.fstat(file.fileno())
            text = file.read(1 << 12) if stat.S_ISREG(about.st_mode) else ""
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise usage_error(
            "the password file cannot be read",
            where=where,
            found=reason,
            wanted="a file with the password in its one line, mode 0600",
        ) from error
    mode = stat.S_IMODE(about.st_mode)
    if mode & 0o077 or about.st_uid not in (os.geteuid(), 0):
        raise usage_error(
            "others can read the password file, or change it",
            where=where,
            found=f"mode {mode:04o}, owner {about.st_uid}",
            wanted=f"mode 0600, owner {os.geteuid()}",
            todo=f"chmod 600 {path}, and change the password if others may have read it",
        )
    password = text.removesuffix("\n").removesuffix("\r")
    if not password or "\n" in password:
        raise usage_error(
            "not a password in one line",
            where=where,
            found=f"{len(text.splitlines())} lines",
            wanted="1",
        )
    return password


def steps(power: Power, verb: str, before: str) -> list[tuple[str, str]]:
    """What to do one after the other, each with the state that proves it.

    `before` is the state that was found.  A host without power is not cycled but switched
    on.  A BMC gets off and on, as a reset alone would leave no state to be read back.
    """
    if verb in ("status", before):
        return []
    if verb in ("on", "off"):
        return [(verb, verb)]
    if before == "off":
        return [("on", "on")]
    if isinstance(power, CommandPower):
        return [("cycle", "on")]
    return [("off", "off"), ("on", "on")]


def state_of(power: Power, answer: Mapping[str, Any]) -> str:
    """What a module's answer says of the power: ``on``, ``off``, or nothing that is known."""
    if answer.get("failed") or answer.get("unreachable"):
        return ""
    if isinstance(power, CommandPower):
        states = _STATES.findall(str(answer.get("stdout", "")))
        return str(states[-1]).lower() if states else ""
    if isinstance(power, IpmiPower):
        # Asked in check mode whether it would have to be switched on: the module has no
        # other way to read the state.
        return "off" if answer.get("changed") else "on"
    systems = _systems(answer, power.system)
    state = str(systems[0].get("PowerState", "")).lower() if len(systems) == 1 else ""
    return state if state in ("on", "off") else ""


def _systems(answer: Mapping[str, Any], name: str = "") -> list[Mapping[str, Any]]:
    """The computer systems of a Redfish service's answer, or those of that Id."""
    entries = (answer.get("redfish_facts") or {}).get("system", {}).get("entries", [])
    return [system for _, system in entries if name in ("", system.get("Id"))]


def is_final(power: Power, answer: Mapping[str, Any], wanted: Sequence[str]) -> bool:
    """Whether asking again is of no use: it is as wanted, refused, or about no one system.

    A controller may lock an account after some wrong passwords.
    """
    if answer.get("failed") or state_of(power, answer) in wanted:
        return True
    return isinstance(power, RedfishPower) and len(_systems(answer, power.system)) != 1


def state_by(power: Power, answer: Mapping[str, Any]) -> str:
    """What an answer says where it is not the one that was wanted, in a few words."""
    if answer.get("failed"):
        words = answer.get("stderr") or answer.get("stdout") or answer.get("msg") or "no reason"
        return " ".join(str(words).split())[-500:]
    if isinstance(power, CommandPower):
        return repr(str(answer.get("stdout", ""))[-200:])
    if isinstance(power, RedfishPower):
        systems = [
            f"{system.get('Id')} {system.get('PowerState')}" for system in _systems(answer)
        ]
        chosen = _systems(answer, power.system)
        choose = "" if len(chosen) == 1 else ", of which `system` has to name one"
        return f"systems {', '.join(systems) or 'none'}{choose}"
    return state_of(power, answer)


def problem(value: object, host: str) -> str:
    """Why a host's variable cannot be used on this machine, empty where it can."""
    try:
        check_files(parse_power(value, f"host {host}"), f"host {host}")
    except LeaselabError as error:
        return str(error)
    return ""


def settings(power: Power) -> dict[str, Any]:
    """The fields of a way to switch, with its kind, for the role's templates."""
    kinds = {CommandPower: "command", RedfishPower: "redfish", IpmiPower: "ipmi"}
    own = {field.name: getattr(power, field.name) for field in fields(power)}
    place = {"place": power.place} if isinstance(power, RedfishPower) else {}
    return {"kind": kinds[type(power)], **own, **place}
