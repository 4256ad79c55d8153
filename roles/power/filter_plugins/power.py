"""Filters of role power: a host's variable and modules' answers, as the engine reads them.

`power_problem` returns what is wrong with the variable as text, for a task's message; the
other filters are used only after it returned an empty text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leaselab.lab.hosts.power import (
    CommandPower,
    is_final,
    parse_power,
    problem,
    read_password,
    settings,
    state_by,
    state_of,
    steps,
)


def power_problem(host: str, variable: object) -> str:
    """Why a host's `leaselab_power` cannot be used on this machine, empty where it can."""
    return problem(_plain(variable), str(host))


def power_settings(variable: object) -> dict[str, Any]:
    """Return the fields of a host's `leaselab_power`, and its kind; no password."""
    return settings(_read(variable))


def power_argv(variable: object, verb: str, host: str) -> list[str]:
    """Return the command that does what is asked, of a host that has one."""
    power = _read(variable)
    return power.argv(str(verb), str(host)) if isinstance(power, CommandPower) else []


def power_password(file: str) -> str:
    """Return what is in a password file; for arguments of tasks with no_log alone."""
    return read_password(str(file), "leaselab_power")


def power_steps(variable: object, verb: str, before: str) -> list[dict[str, str]]:
    """Return what to do, each with the state that proves it, by `before`, the state found."""
    found = steps(_read(variable), str(verb), str(before))
    return [{"verb": step, "wanted": wanted} for step, wanted in found]


def power_state(answer: Mapping[str, Any], variable: object) -> str:
    """Return the power state in an answer: ``on``, ``off``, or nothing."""
    return state_of(_read(variable), answer)


def power_final(answer: Mapping[str, Any], variable: object, wanted: list[str]) -> bool:
    """Whether asking again is of no use."""
    return is_final(_read(variable), answer, wanted)


def power_answer_text(answer: Mapping[str, Any], variable: object) -> str:
    """Return what an answer says instead of the state that was wanted."""
    return state_by(_read(variable), answer)


def _read(variable: object) -> Any:
    return parse_power(_plain(variable), "leaselab_power")


def _plain(value: object) -> object:
    """Ansible's own kinds of text, number, list and mapping as those of Python."""
    for kind in (str, int, float):
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


class FilterModule:
    """What Ansible loads."""

    def filters(self) -> dict[str, Any]:
        return {
            "power_argv": power_argv,
            "power_final": power_final,
            "power_password": power_password,
            "power_problem": power_problem,
            "power_settings": power_settings,
            "power_state": power_state,
            "power_steps": power_steps,
            "power_answer_text": power_answer_text,
        }
