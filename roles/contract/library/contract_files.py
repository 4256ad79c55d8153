#!/usr/bin/python
"""Ansible module: have a set of small text files on a host, in one task.

ansible.builtin.copy asks the host twice for each file of a folder; a contract has a dozen.
"""

from __future__ import annotations

import os
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
---
module: contract_files
short_description: Have a set of small text files on a host
description:
  - Writes what differs, each file whole or not at all. In folders that it has files in below
    I(folder), it removes other files that end in C(.py), as a module that was renamed would
    still be found.
options:
  folder:
    description: Absolute path of the folder.
    type: path
    required: true
  programs:
    description: Files that anybody may run (mode 0755), by name. Content is text.
    type: dict
    default: {}
  files:
    description: Other files (mode 0644), by path below the folder. Content is text.
    type: dict
    default: {}
author: the leaselab maintainers
"""

RETURN = r"""
written:
  description: Paths below the folder that were written.
  type: list
  returned: always
removed:
  description: Paths below the folder that were removed.
  type: list
  returned: always
"""

FOLDER_MODE, PROGRAM_MODE, FILE_MODE = 0o755, 0o755, 0o644


def differs(path: Path, content: bytes, mode: int) -> bool:
    """Whether a file is not there, or another one."""
    try:
        found = path.stat()
        same = path.read_bytes() == content and path.is_file() and not path.is_symlink()
    except FileNotFoundError:
        return True
    return not same or (found.st_mode & 0o7777, found.st_uid, found.st_gid) != (mode, 0, 0)


def write(path: Path, content: bytes, mode: int) -> None:
    """Write a file of root's in one step."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_bytes(content)
    draft.chmod(mode)
    os.chown(draft, 0, 0)
    draft.replace(path)


def leftovers(folder: Path, wanted: set[Path]) -> list[Path]:
    """Modules in the subfolders of what is wanted that are not wanted."""
    parents = {path.parent for path in wanted if path.parent != folder}
    return sorted(
        path for parent in parents for path in parent.glob("*.py") if path not in wanted
    )


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "programs": {"type": "dict", "default": {}},
            "files": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    folder = Path(module.params["folder"])
    wanted = {
        folder / name: (text, PROGRAM_MODE) for name, text in module.params["programs"].items()
    }
    wanted |= {
        folder / name: (text, FILE_MODE) for name, text in module.params["files"].items()
    }
    todo = {
        path: (text.encode(), mode)
        for path, (text, mode) in wanted.items()
        if differs(path, text.encode(), mode)
    }
    gone = leftovers(folder, set(wanted))
    if not module.check_mode:
        for path, (content, mode) in todo.items():
            path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            write(path, content, mode)
        for path in gone:
            path.unlink()
    module.exit_json(
        changed=bool(todo or gone),
        written=sorted(str(path.relative_to(folder)) for path in todo),
        removed=[str(path.relative_to(folder)) for path in gone],
    )


if __name__ == "__main__":
    main()
