"""Filters that read what builders hand over, by the engine's own rules.

An error fails the filter; its exit code becomes that of the task.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from leaselab.builds.artifacts import check_answer, read_record
from leaselab.model.errors import LeaselabError


def build_record(text: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Return a builder's answer (JSON), checked against the request."""
    try:
        document: dict[str, Any] = json.loads(text)
        check_answer(document, asked, "the builder")
    except (ValueError, LeaselabError) as error:
        raise AnsibleFilterError(str(error)) from error
    return document


def kept_build(key: str, builds: str) -> dict[str, Any]:
    """Return the record of the build with a key below a folder."""
    try:
        return read_record(Path(builds), key)
    except LeaselabError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names they have in templates."""
        return {"leaselab_build_record": build_record, "leaselab_kept_build": kept_build}
