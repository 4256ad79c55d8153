"""A filter that reads the roles' declarations as the engine does."""

from __future__ import annotations

from typing import Any

from leaselab.lab.roles import lab_roles


def roles_with(field: str) -> list[str]:
    """Return the names of the roles that declare something in a field of `LabRole`, sorted."""
    return [name for name, role in lab_roles().items() if getattr(role, field)]


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names they have in templates."""
        return {"leaselab_roles": roles_with}
