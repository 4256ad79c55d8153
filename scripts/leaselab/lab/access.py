"""How a host is reached, from the variables that Ansible's inventory has for it.

Ansible connects with OpenSSH's client.  What its options and its configuration files come
to is asked of that program (``ssh -G``), so that the engine goes over the same jump hosts.
"""

from __future__ import annotations

import getopt
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from leaselab.model.bench import HostAccess
from leaselab.model.errors import lab_broken, usage_error

DEFAULT_KNOWN_HOSTS = "~/.ssh/known_hosts"
DEFAULT_KEY = "~/.ssh/id_ed25519"
SSH_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
"""What Ansible passes to ssh, in this order; ssh takes the first value of each option."""
VARIABLES = frozenset(
    {
        "ansible_become",
        "ansible_become_method",
        "ansible_become_user",
        "ansible_host",
        "ansible_port",
        "ansible_ssh_private_key_file",
        "ansible_user",
        "leaselab_known_hosts",
        *SSH_ARGUMENTS,
    }
)
"""The variables that `host_access` reads."""

_SUDO = ("sudo", "ansible.builtin.sudo")
_YES = ("1", "on", "t", "true", "y", "yes")
# The options of OpenSSH's client that take no value, and those that take one.
_SSH_OPTIONS = "1246AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:"

_HOP = re.compile(
    r"(?:ssh://)?(?:(?P<user>.+)@)?(?:\[(?P<literal>[^]]+)\]|(?P<host>[^]:[]+))"
    r"(?::(?P<port>[0-9]+))?/?"
)


def host_access(name: str, variables: Mapping[str, Any], where: str) -> HostAccess:
    """Return how a host is reached; `variables` has no templates left in those of `VARIABLES`.

    Raises a usage error that names `where` for a value that the engine cannot follow: a
    port that is none, another way of becoming root than sudo, a proxy command.
    """
    where = f"{where}, host {name}"
    user = str(variables.get("ansible_user", "root"))
    port = _port(variables.get("ansible_port", 22), where)
    arguments = [
        word for key in SSH_ARGUMENTS for word in shlex.split(str(variables.get(key) or ""))
    ]
    file = _configuration_file(arguments, where)
    target = ("-p", str(port), "-l", user, str(variables.get("ansible_host", name)))
    settings = _ssh_settings((*arguments, *target), where)
    return HostAccess(
        name=name,
        address=settings["hostname"][0],
        user=user,
        key_file=_file(variables.get("ansible_ssh_private_key_file", DEFAULT_KEY)),
        known_hosts_file=_file(variables.get("leaselab_known_hosts", DEFAULT_KNOWN_HOSTS)),
        port=port,
        sudo=_sudo(variables, where),
        jump=_jump(settings, file, where),
    )


def _sudo(variables: Mapping[str, Any], where: str) -> bool:
    """Whether root is reached by sudo, which is the one way that the engine has."""
    if str(variables.get("ansible_become", False)).lower() not in _YES:
        return False
    for key, allowed in (("ansible_become_method", _SUDO), ("ansible_become_user", ("root",))):
        found = str(variables.get(key, allowed[0]))
        if found not in allowed:
            raise usage_error(
                f"{key} is nothing that the engine can do",
                where=where,
                found=found,
                wanted=allowed[0],
            )
    return True


def _jump(
    settings: Mapping[str, Sequence[str]],
    file: Sequence[str],
    where: str,
    passed: tuple[str, ...] = (),
) -> HostAccess | None:
    """Return the jump host before the host that `settings` are of, None without one.

    As OpenSSH has it: of the options of a host only the configuration file also holds for
    its jump hosts; a jump host is reached over those that are named before it, or over its
    own.
    """
    command = settings.get("proxycommand", ["none"])[0]
    if command != "none":
        raise usage_error(
            "a ProxyCommand is nothing that the engine can follow",
            where=where,
            found=command,
            wanted="ProxyJump",
            todo="name the jump host by ProxyJump, in ansible_ssh_common_args or in a file of "
            "ssh's configuration, as inventory/README.md shows",
        )
    *before, last = settings.get("proxyjump", ["none"])[0].split(",")
    if last == "none":
        return None
    if last in passed:
        raise usage_error(
            f"jump host {last} is reached over itself",
            where=where,
            found=" over ".join((*passed, last)),
            wanted="a first jump host that is reached without another",
            todo="let the host pattern of its ProxyJump leave the jump host out",
        )
    over = ["-J", ",".join(before)] if before else []
    place = _HOP.fullmatch(last)
    if place is None:
        raise usage_error(
            "ProxyJump names no host",
            where=where,
            found=last,
            wanted="user@host:port, an IPv6 address in brackets",
        )
    login = ["-l", place["user"]] if place["user"] else []
    door = ["-p", place["port"]] if place["port"] else []
    target = place["literal"] or place["host"]
    found = _ssh_settings((*file, *over, *login, *door, target), where)
    keys = [_file(key) for key in found["identityfile"]]
    address, port = found["hostname"][0], int(found["port"][0])
    return HostAccess(
        name=f"jump host {address}",
        address=address,
        user=found["user"][0],
        key_file=next((key for key in keys if Path(key).exists()), keys[0]),
        known_hosts_file=_file(found["userknownhostsfile"][0].split()[0]),
        port=port,
        jump=_jump(found, file, where, (*passed, last)),
    )


def _configuration_file(arguments: Sequence[str], where: str) -> Sequence[str]:
    """Return the option that names another configuration file, nothing where none does."""
    try:
        options, _ = getopt.getopt(list(arguments), _SSH_OPTIONS)
    except getopt.GetoptError as error:
        raise usage_error(
            f"ssh has no such option: {error}",
            where=where,
            found=shlex.join(arguments),
            wanted="options of ssh in " + ", ".join(SSH_ARGUMENTS),
        ) from error
    files = [value for option, value in options if option == "-F"]
    return ("-F", os.path.expanduser(files[-1])) if files else ()  # noqa: PTH111  ("none" is a name)


@cache
def _ssh_settings(arguments: tuple[str, ...], where: str) -> Mapping[str, Sequence[str]]:
    """What ssh would do with these arguments: its settings, each with its values."""
    try:
        done = subprocess.run(
            ["ssh", "-G", *arguments],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        raise lab_broken(
            "OpenSSH's client is not on this machine, and Ansible connects with it",
            where=where,
            todo="apt-get install openssh-client",
        ) from error
    if done.returncode != 0:
        raise usage_error(
            f"ssh refuses its settings: {' '.join(done.stderr.split())}",
            where=where,
            found=shlex.join(arguments),
            todo=f"correct {', '.join(SSH_ARGUMENTS)} or the configuration file that they name",
        )
    settings: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        settings.setdefault(key, []).append(value)
    return settings


def _file(value: object) -> str:
    return os.path.normpath(Path(str(value)).expanduser())


def _port(value: object, where: str) -> int:
    text = str(value)
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise usage_error(
            "ansible_port is not a port",
            where=where,
            found=text,
            wanted="a number from 1 to 65535",
        )
    return int(text)
