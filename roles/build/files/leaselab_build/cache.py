"""Artifacts that were built: a folder a key, renamed into place when it is whole."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from pathlib import Path

from leaselab_contract.errors import ContractError

ARTIFACT = "artifact.tar.gz"
DOCUMENT = "build.json"


class MissingError(ContractError):
    """It was not built yet."""

    status = 6

    def __init__(self, job):
        """Name the commit and the key."""
        super().__init__(f"no artifact of commit {job.commit[:10]} (key {job.key})")


@contextlib.contextmanager
def alone(config):
    """One build at a time: each has all processors, and the same one again finds it built."""
    path = Path(config["cache"]) / "build.lock"
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def place(config, job):
    """The folder of a key."""
    return Path(config["cache"]) / "artifacts" / job.key


def find(config, job):
    """Return what is known of an artifact, or None; a damaged one is as good as none."""
    folder = place(config, job)
    try:
        os.utime(folder)  # what was used lately is not pruned
        document = json.loads((folder / DOCUMENT).read_text(encoding="utf-8"))
        found = sha256(folder / ARTIFACT)
    except (FileNotFoundError, ValueError):
        return None
    if found != document["artifact_sha256"]:
        return None
    return {**document, "cached": True}


def draft(config, job):
    """Make the folder, empty and root's, in which the artifact of a key is put together."""
    folder = place(config, job).with_suffix(".new")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def keep(config, job, document):
    """Put the draft, with what is known of the artifact in it, in its place in one step."""
    target = place(config, job)
    folder = target.with_suffix(".new")
    (folder / DOCUMENT).write_text(
        json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    shutil.rmtree(target, ignore_errors=True)
    folder.rename(target)


def sha256(path):
    """Hash of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
