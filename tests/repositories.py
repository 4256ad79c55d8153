"""Git repositories made for a test: commits whose files the test gives."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_AUTHOR = {
    "GIT_AUTHOR_NAME": "A. Developer",
    "GIT_AUTHOR_EMAIL": "a.developer@example.org",
    "GIT_COMMITTER_NAME": "A. Developer",
    "GIT_COMMITTER_EMAIL": "a.developer@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


def git(
    path: Path,
    *arguments: str,
    minute: int = 0,
    input: str | None = None,  # noqa: A002  (subprocess's name)
    address: str = _AUTHOR["GIT_COMMITTER_EMAIL"],
) -> str:
    """Run git in a repository; `minute` is that of a commit's date. Return what it prints.

    `address` is that of the committer.
    """
    date = f"2026-11-01T12:{minute:02d}:00+01:00"
    done = subprocess.run(
        ["git", "-C", str(path), *arguments],
        capture_output=True,
        text=True,
        check=True,
        input=input,
        env={
            **os.environ,
            **_AUTHOR,
            "GIT_COMMITTER_EMAIL": address,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
        },
    )
    return done.stdout.strip()


def make_repository(path: Path) -> Path:
    """Make an empty repository with a branch main."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    return path


def commit(path: Path, subject: str, files: Mapping[str, str], *, minute: int = 0) -> str:
    """Commit files, by their names; return the full hash."""
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--allow-empty", "-m", subject, minute=minute)
    return git(path, "rev-parse", "HEAD")
