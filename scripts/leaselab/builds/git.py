"""One call of git, with the access of its user, and without prompts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leaselab.model.errors import lab_broken

_LOCAL_S = 120.0
_OF_ANOTHER = ("DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "COMMON_DIR", "PREFIX")
"""Variables (GIT_...) by which a hook says which repository it is of: not the one read here."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a git command came to."""

    status: int
    stdout: str
    stderr: str

    @property
    def reason(self) -> str:
        """What git says of its failure."""
        lines = [line for line in self.stderr.splitlines() if line.strip()]
        telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
        return (telling or lines or [f"status {self.status}"])[0]


def git_environment(path: Path) -> dict[str, str]:
    """Return the user's own, without prompts and without acceptance of unknown host keys."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.removeprefix("GIT_") not in _OF_ANOTHER or not name.startswith("GIT_")
    }
    ssh = os.environ.get("GIT_SSH_COMMAND", "ssh")
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": f"{ssh} -o BatchMode=yes -o StrictHostKeyChecking=yes",
        # A folder inside of some repository is not one itself.
        "GIT_CEILING_DIRECTORIES": str(path.absolute().parent),
        "LC_ALL": "C.UTF-8",
    }


def git(
    path: Path,
    *arguments: str,
    seconds: float = _LOCAL_S,
    environment: dict[str, str] | None = None,
) -> Done:
    """Run git in a folder.  Raises a broken-lab error without git, or after so many seconds."""
    argv: Sequence[str] = ("git", "-C", str(path), "-c", "log.showSignature=false", *arguments)
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
            env={**git_environment(path), **(environment or {})},
        )
    except FileNotFoundError as error:
        raise lab_broken(
            "git is not installed", where="this machine", todo="apt-get install git"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise lab_broken(
            f"git {arguments[0]} did not end within {seconds:.0f} s",
            where=str(path),
            todo="see what it waits for",
        ) from error
    # A message may be in any encoding; what is no text is shown as such.
    return Done(
        done.returncode,
        done.stdout.decode(errors="replace"),
        done.stderr.decode(errors="replace"),
    )
