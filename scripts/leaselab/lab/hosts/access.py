"""How a host is reached, from what Ansible answers that it would use.

The action plugin `leaselab_login` has that answer: what came of variables with all their
aliases, environment and ansible.cfg.  Ansible connects with OpenSSH's client.  What its options
and its configuration files come to is asked of that program (``ssh -G``), so that the engine
goes over the same jump hosts.  What the engine cannot do as Ansible would is refused.
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

Option = Sequence[Any]
"""Value of an option, and where Ansible has it from."""

_SSH_ARGUMENTS = ("ssh_args", "ssh_common_args", "ssh_extra_args")
_ARGUMENTS = ", ".join(f"ansible_{name}" for name in _SSH_ARGUMENTS)
_CORRECT = f"correct {_ARGUMENTS} or the configuration file that they name"
_SSH_TIMEOUT_S = 30.0
_SECRETS = {
    "password": "a password",
    "private_key": "a private key in a variable",
    "pkcs11_provider": "a smart card",
}
"""Options of Ansible's plugin ssh that the engine does not support: it uses key files."""
_SUDO_FLAGS = re.compile(r"(-[EHSn]+\s*)*")
"""Flags of sudo that change nothing for the engine."""
_CHECKED = ("true", "yes", "ask")
"""Values of StrictHostKeyChecking that accept no unknown key without a terminal."""
# The options of OpenSSH's client that take no value, and those that take one.
_SSH_OPTIONS = "1246AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:"

_HOP = re.compile(
    r"(?:ssh://)?(?:(?P<user>.+)@)?(?:\[(?P<literal>[^]]+)\]|(?P<host>[^]:[]+))"
    r"(?::(?P<port>[0-9]+))?/?"
)


def host_access(name: str, login: Mapping[str, Any], where: str) -> HostAccess:
    """Return how a host is reached; `login` is the answer of the action `leaselab_login`.

    Raises a usage error that names the host and where Ansible has it from for what the engine
    cannot do as Ansible would: another connection than SSH, another way of becoming root than
    sudo, passwords, a proxy command, host keys that are not checked.
    """
    where = f"{where}, host {name}"
    if login["connection"] != "ssh":
        raise usage_error(
            "the engine reaches hosts by SSH alone",
            where=where,
            found=f"ansible_connection {login['connection']}",
            wanted="ssh",
            todo="remove ansible_connection, and transport from the environment",
        )
    options: Mapping[str, Option] = login["options"]
    _check_options(options, where)
    argv = login["argv"]
    settings = _ssh_settings((argv[0], "-G", *argv[1:]), where)
    checked = settings.get("stricthostkeychecking", _CHECKED)[0]
    if checked not in _CHECKED:
        raise usage_error(
            "Ansible would not check the host key",
            where=where,
            found=f"StrictHostKeyChecking {checked}",
            wanted="yes",
            todo="pin the host's key, as docs/reference/inventory.md shows",
        )
    return HostAccess(
        name=name,
        address=settings["hostname"][0],
        user=settings["user"][0],
        key_file=_key_file(settings),
        known_hosts_file=_known_hosts(settings, login["variables"], where),
        port=int(settings["port"][0]),
        sudo=_sudo(login["become"], settings["user"][0], where),
        jump=_jump(settings, _configuration_file(argv[1:-1], where), where),
    )


def _check_options(options: Mapping[str, Option], where: str) -> None:
    """Refuse what the engine cannot do as Ansible would, and what ssh could not take."""
    for name, what in _SECRETS.items():
        if options[name][0]:
            raise usage_error(
                f"{what} is not supported by the engine",
                where=where,
                found=_place(name, options),
                wanted="a key file without a passphrase",
                todo="write its path to ansible_ssh_private_key_file",
            )
    if not str(options["host"][0]).strip():
        raise usage_error(
            f"{_place('host', options)} is empty", where=where, wanted="an address"
        )
    port = options["port"][0]
    if port is not None and not 0 < port < 65536:
        raise usage_error(
            f"{_place('port', options)} is not a port",
            where=where,
            found=str(port),
            wanted="a number from 1 to 65535",
        )
    for name in _SSH_ARGUMENTS:
        text = options[name][0] or ""
        try:
            shlex.split(text)
        except ValueError as error:
            raise usage_error(
                f"{_place(name, options)} does not parse: {error}",
                where=where,
                found=text,
                wanted="options of ssh, each quote closed",
            ) from error


def _place(name: str, options: Mapping[str, Option]) -> str:
    """Where Ansible has an option from: a variable, one of the environment, a file."""
    origin = str(options[name][1])
    kind, colon, rest = origin.partition(": ")
    if kind == "env":
        return f"environment variable {rest}"
    return rest if colon else f"{name} of {origin}"


def _sudo(become: Mapping[str, Option] | None, user: str, where: str) -> bool:
    """Whether root is reached by sudo, which is the one way that the engine has."""
    if become is None:
        return False
    for name, allowed in (("method", "sudo"), ("become_user", "root"), ("become_exe", "sudo")):
        value = str(become.get(name, (allowed,))[0] or allowed)
        if value.removeprefix("ansible.builtin.") != allowed:
            raise usage_error(
                f"{_place(name, become)} is not supported by the engine",
                where=where,
                found=value,
                wanted=allowed,
            )
    flags = str(become["become_flags"][0] or "")
    if not _SUDO_FLAGS.fullmatch(flags):
        raise usage_error(
            f"{_place('become_flags', become)} is not supported by the engine",
            where=where,
            found=flags,
            wanted="no others than -E, -H, -S and -n",
        )
    if become["become_pass"][0]:
        raise usage_error(
            "a password of sudo is not supported by the engine",
            where=where,
            found=_place("become_pass", become),
            wanted="sudo that asks for none",
            todo=f"remove it, and write '{user} ALL=(root) NOPASSWD: ALL' to a file in "
            "/etc/sudoers.d of the host",
        )
    return user != "root"


def _key_file(settings: Mapping[str, Sequence[str]]) -> str:
    """The first key that ssh would try."""
    keys = [_file(key) for key in settings["identityfile"]]
    return next((key for key in keys if Path(key).exists()), keys[0])


def _known_hosts(
    settings: Mapping[str, Sequence[str]], variables: Mapping[str, Any], where: str
) -> str:
    """The file that ssh checks the host's key by; the variable for it has to name the same."""
    files = settings["userknownhostsfile"][0]
    used = [_file(file) for file in (*files.split(), files)]  # ssh quotes no spaces in a path
    named = variables.get("leaselab_known_hosts")
    if named is not None and _file(named) not in used:
        raise usage_error(
            "leaselab_known_hosts is not the file by which Ansible checks the host's key",
            where=where,
            found=f"{_file(named)}; ssh takes {used[0]}",
            wanted="one file",
            todo='add -o UserKnownHostsFile="{{ leaselab_known_hosts }}" to '
            "ansible_ssh_common_args",
        )
    return used[0] if named is None else _file(named)


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
            "ProxyCommand is not supported",
            where=where,
            found=command,
            wanted="ProxyJump",
            todo="name the jump host by ProxyJump, in ansible_ssh_common_args or in a file of "
            "ssh's configuration, as docs/reference/inventory.md shows",
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
    resolved = _ssh_settings(("ssh", "-G", *file, *over, *login, *door, target), where)
    address, port = resolved["hostname"][0], int(resolved["port"][0])
    return HostAccess(
        name=f"jump host {address}",
        address=address,
        user=resolved["user"][0],
        key_file=_key_file(resolved),
        known_hosts_file=_file(resolved["userknownhostsfile"][0].split()[0]),
        port=port,
        jump=_jump(resolved, file, where, (*passed, last)),
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
            wanted="options of ssh in " + _ARGUMENTS,
        ) from error
    files = [value for option, value in options if option == "-F"]
    return ("-F", os.path.expanduser(files[-1])) if files else ()  # noqa: PTH111  ("none" is a name)


@cache
def _ssh_settings(command: tuple[str, ...], where: str) -> Mapping[str, Sequence[str]]:
    """What ssh would do with these arguments (``ssh -G``): values of each of its settings."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_SSH_TIMEOUT_S,
        )
    except FileNotFoundError as error:
        raise lab_broken(
            "OpenSSH's client is not on this machine, and Ansible connects with it",
            where=where,
            found=f"no {command[0]}",
            todo="apt-get install openssh-client",
        ) from error
    except (ValueError, subprocess.TimeoutExpired) as error:  # a NUL, or a file without an end
        raise usage_error(
            f"ssh cannot say what its settings are: {error}", where=where, todo=_CORRECT
        ) from error
    if done.returncode != 0:
        raise usage_error(
            f"ssh refuses its settings: {' '.join(done.stderr.split())}",
            where=where,
            found=shlex.join(command),
            todo=_CORRECT,
        )
    settings: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        settings.setdefault(key, []).append(value)
    return settings


def _file(value: object) -> str:
    return os.path.normpath(Path(str(value)).expanduser())
