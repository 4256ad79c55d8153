"""Filter of role bench_file: how a host is reached, as the engine reads an inventory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError

from leaselab.lab.hosts.access import host_access
from leaselab.model.errors import LeaselabError


def bench_file_access(login: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """Return the fields of the engine's `HostAccess` from what `leaselab_login` answered."""
    try:
        return asdict(host_access(name, login, where))
    except LeaselabError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """What Ansible loads."""

    def filters(self) -> dict[str, Any]:
        return {"bench_file_access": bench_file_access}
