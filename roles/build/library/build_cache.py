"""Removes from a builder's cache what was not used for long."""

from __future__ import annotations

import fcntl
import re
import shutil
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: build_cache
short_description: Remove from a builder's cache what was not used for long
description:
  - Removes artifacts that nothing names, logs, and what builds that were killed have left.
    Nothing is removed while something is built. What was compiled is bounded by ccache.
options:
  path: {type: path, required: true, description: The cache.}
  unused_days: {type: int, required: true, description: Days after the last use, 1 or more.}
  keep: {type: list, elements: str, default: [], description: Keys of artifacts that stay.}
"""
RETURN = r"""
busy: {type: bool, returned: always, description: Whether a build is under way; nothing goes.}
freed: {type: dict, returned: always, description: "C(items) and C(bytes) by kind."}
"""
DAY_S = 86400
_KEY = re.compile(r"[0-9a-f]{24}")


def items(path: Path, keep: set[str], now: float, days: int) -> list[tuple[str, Path]]:
    """Kind and place of what goes; no link among them."""
    found = [
        ("artifacts", entry)
        for entry in _entries(path / "artifacts")
        if _KEY.fullmatch(entry.name) and entry.name not in keep
    ]
    found += [("logs", entry) for entry in _entries(path / "logs")]
    # The files of a commit come before the lock is taken, so they may be of a build to come.
    found += [("leftovers", entry) for entry in _entries(path / "sources")]
    old = [one for one in found if now - one[1].lstat().st_mtime >= days * DAY_S]
    drafts = [entry for entry in _entries(path / "artifacts") if entry.suffix == ".new"]
    return old + [("leftovers", one) for one in (*drafts, *_entries(path / "work"))]


def _entries(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.is_symlink())


def size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    inside = path.rglob("*") if path.is_dir() else [path]
    return sum(one.lstat().st_size for one in inside if one.is_symlink() or not one.is_dir())


def prune(gone: list[tuple[str, Path]], *, dry_run: bool) -> dict[str, dict[str, int]]:
    """Remove it, or only say what that would free."""
    freed: dict[str, dict[str, int]] = {}
    for kind, one in gone:
        known = freed.setdefault(kind, {"items": 0, "bytes": 0})
        known["items"] += 1
        known["bytes"] += size(one)
        if dry_run:
            continue
        if one.is_dir():
            shutil.rmtree(one)
        else:
            one.unlink()
    return freed


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "unused_days": {"type": "int", "required": True},
            "keep": {"type": "list", "elements": "str", "default": [], "no_log": False},
        },
        supports_check_mode=True,
    )
    path, days = Path(module.params["path"]), module.params["unused_days"]
    if days < 1:
        module.fail_json(msg=f"unused_days is too small (found {days}, wanted 1 or more)")
    try:
        lock = (path / "build.lock").open("r+")
    except FileNotFoundError:  # nothing was ever built here
        module.exit_json(changed=False, busy=False, freed={})
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            module.exit_json(changed=False, busy=True, freed={})
        gone = items(path, set(module.params["keep"]), time.time(), days)
        freed = prune(gone, dry_run=module.check_mode)
    module.exit_json(changed=bool(gone), busy=False, freed=freed)


if __name__ == "__main__":
    main()
