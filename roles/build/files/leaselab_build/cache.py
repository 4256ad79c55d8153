"""Artifacts that were built: a folder a key, renamed into place when it is whole."""

import fcntl
import hashlib
import json
import os
import shutil
import time
from pathlib import Path

from leaselab_contract.errors import ContractError, LabError

ARTIFACT = "artifact.tar.gz"
DOCUMENT = "build.json"
_POLL_S = 0.5


class MissingError(ContractError):
    """It was not built yet."""

    status = 6

    def __init__(self, job):
        """Name the commit and the key."""
        super().__init__(f"no artifact of commit {job.commit[:10]} (key {job.key})")


class Lock:
    """One build at a time: each uses all processors, and a repeated one finds it built.

    Processes that were forked share what one of them holds.
    """

    def __init__(self, config):
        """Open the lock's file; the lock is not taken yet."""
        self._config = config
        self._file = (Path(config["cache"]) / "build.lock").open("a+", encoding="utf-8")

    def held(self):
        """Take the lock if it is free; return whether this process holds it now."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def take(self, job):
        """Wait for it; raises LabError with what is built where that lasts too long."""
        until = time.monotonic() + self._config["wait_s"]
        while not self.held():
            if time.monotonic() > until:
                raise LabError(
                    f"the builder has built {self._holder()}, and this build has waited "
                    f"{self._config['wait_s']} s for it (limit: build_wait_s)"
                )
            time.sleep(_POLL_S)
        self._file.truncate(0)
        row = f"{self._config['name']} {job.commit[:10]}"
        self._file.write(json.dumps([row, os.getpid(), time.monotonic()]))
        self._file.flush()

    def _holder(self):
        try:
            self._file.seek(0)
            row, pid, began = json.load(self._file)
        except ValueError:
            return "something else"  # which is about to say what
        return f"{row} for {time.monotonic() - began:.0f} s (process {pid})"


def place(config, job):
    """The folder of a key."""
    return Path(config["cache"]) / "artifacts" / job.key


def find(config, job):
    """Return the record of an artifact; None without one or for a damaged one."""
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


def drafts(config):
    """Folders of artifacts that are not whole."""
    return sorted((Path(config["cache"]) / "artifacts").glob("*.new"))


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
