"""Filters that read the roles' declarations as the engine does.

An error fails the filter; its exit code becomes that of the task.
"""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError

from leaselab.catalog.releases import check_release, of_apt, releases_of
from leaselab.catalog.roles import lab_roles
from leaselab.model.errors import LeaselabError


def roles_with(field: str) -> list[str]:
    """Return the names of the roles that declare something in a field of `LabRole`, sorted."""
    return [name for name, role in lab_roles().items() if getattr(role, field)]


def packages_of(kind: str) -> list[str]:
    """Return the packages of which one has a server; none where its releases are alike."""
    declared = releases_of(kind)
    return [*declared.packages] if declared else []


def takes(answer: str, scenario: dict[str, Any]) -> bool:
    """Whether apt's release takes a scenario's configuration, as far as apt knows it."""
    try:
        check_release(scenario["name"], scenario["server"]["options"], of_apt(answer))
    except LeaselabError as error:
        raise AnsibleFilterError(str(error)) from error
    return True


def release_of(facts: dict[str, Any]) -> str:
    """Return a host's release, as roles name it: debian-13, ubuntu-24.04.

    A release of Debian has one number.
    """
    name = facts["distribution"]
    number = "distribution_major_version" if name == "Debian" else "distribution_version"
    return f"{name}-{facts[number]}".lower()


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names they have in templates."""
        return {
            "leaselab_roles": roles_with,
            "leaselab_packages": packages_of,
            "leaselab_release": release_of,
            "leaselab_takes": takes,
        }
