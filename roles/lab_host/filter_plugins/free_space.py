"""Jinja filter of role lab_host."""

from __future__ import annotations

from pathlib import PurePosixPath

from ansible.errors import AnsibleFilterError


def free_mib(mount_points, folder):
    """Free space below a folder (MiB), from the fact ``mount_points`` of mount_facts.

    That of the mount nearest above it.  Raises an error where none is known, as in a bare
    chroot, or does not say how much it has.
    """
    place = PurePosixPath(folder)
    above = [str(parent) for parent in (place, *place.parents)]
    nearest = next((one for one in above if one in mount_points), None)
    free = None if nearest is None else mount_points[nearest].get("size_available")
    if free is None:
        raise AnsibleFilterError(
            f"the free space below {folder} is not known (found {nearest or 'no mounted disk'})"
        )
    return free >> 20


class FilterModule:
    """What Ansible loads."""

    def filters(self):
        return {"lab_host_free_mib": free_mib}
