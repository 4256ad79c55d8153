"""Filters for the source and the builds of the project's own generator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leaselab.builds.artifacts import INSTALLED_BY, built_key, is_built_for, pack


def own_source(folder: str) -> dict[str, Any]:
    """Pack its source into a tar below a folder; return the build's parameters."""
    return pack(Path(folder))


def own_build(role: str, builds: str) -> str:
    """Return the key of what is built of it and kept below a folder, for a role by name.

    Empty without any, and for a role that does not install it.
    """
    return built_key(Path(builds)) if role in INSTALLED_BY else ""


def own_is(role: str) -> bool:
    """Whether a role, by name, installs a build of it."""
    return role in INSTALLED_BY


def own_is_built(architecture: str, builds: str) -> bool:
    """Whether a folder holds a build of it for such machines."""
    return is_built_for(Path(builds), architecture)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names they have in templates."""
        return {
            "leaselab_is_own": own_is,
            "leaselab_own_source": own_source,
            "leaselab_own_build": own_build,
            "leaselab_own_is_built": own_is_built,
        }
