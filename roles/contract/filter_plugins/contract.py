"""Filters of role contract."""

from __future__ import annotations

from pathlib import Path

from ansible.plugins.filter.core import to_nice_json


def contract_json(settings):
    """{name: JSON text} of settings by the name of their file, as Ansible writes JSON."""
    return {
        name: to_nice_json(value, sort_keys=True) + "\n" for name, value in settings.items()
    }


def contract_texts(paths):
    """{path below the folder of each: text} of the modules in folders of this machine."""
    return {
        f"{Path(folder).name}/{path.name}": path.read_text(encoding="utf-8")
        for folder in paths
        for path in sorted(Path(folder).glob("*.py"))
    }


class FilterModule:
    """Filters of role contract."""

    def filters(self):
        return {"contract_json": contract_json, "contract_texts": contract_texts}
