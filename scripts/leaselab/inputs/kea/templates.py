"""Template classes: a client is in the class that its value of an expression spawns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from leaselab.inputs.json_tokens import octets

SPAWNED = "SPAWN_"
"""What the name of each spawned class begins with; its template and the value follow."""
_VALUE = "31"
"""Of clients of a template whose classes nothing names: a text, and bytes in hexadecimal."""

_WAYS = 16
"""Values by which a client may come to a template, of those of its classes."""


def tests_of(
    classes: Iterable[Mapping[str, Any]], named: Collection[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return tests of classes by their names, and templates by the classes that they spawn.

    A test is "" where a class has none.  Of spawned classes, these are those in `named`.
    """
    tests: dict[str, str] = {}
    spawned: dict[str, str] = {}
    for one in classes:
        name, template = one.get("name", ""), one.get("template-test", "")
        tests.setdefault(name, one.get("test", ""))
        if template:
            before = f"{SPAWNED}{name}_"
            values = {other.removeprefix(before) for other in named if other.startswith(before)}
            equal = {
                f"{before}{value}": f"{template} == 0x{octets(value).hex()}"
                for value in sorted(values - {""})
            }
            some = list(equal.values())[:_WAYS] or [f"{template} == '{_VALUE}'"]
            tests[name] = " or ".join([*some, f"not ({template} == '')"])
            spawned |= dict.fromkeys(equal, name)
            tests |= equal
    return tests, spawned
