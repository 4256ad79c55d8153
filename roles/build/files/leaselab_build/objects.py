"""The cache of compiled objects (ccache): read by every build, written by few.

A build with write access could replace the object of any source.  So a build only reads the
cache, and writes into a folder of its own.  That folder is removed with the build, unless the
commit is on the main branch or has a tag: then its objects are kept, for builds of the same
repository alone.
"""

import hashlib
import re
import shutil
import stat
import subprocess
from pathlib import Path

from leaselab_contract.process import ENVIRONMENT

_NAME = re.compile(r"[0-9a-z]{2}/[0-9a-z]+")
"""How ccache names its files; what else lies there is left."""
_DIGITS = 24


def environment(config, job, own, scratch):
    """Return ccache's environment: where it reads and where it writes.

    `own` is the folder of this build, `scratch` one for ccache's passing files.
    """
    return {
        "CCACHE_DIR": str(scratch),
        "CCACHE_NOSTATS": "1",
        "CCACHE_REMOTE_ONLY": "1",
        "CCACHE_REMOTE_STORAGE": f"file:{_kept(config, job)}|read-only file:{own}",
    }


def keep(config, job, own):
    """Keep what a build of an accepted commit compiled; forget the oldest of what is kept."""
    if not job.accepted:
        return
    kept = _kept(config, job)
    for path in own.glob("*/*"):
        name = path.relative_to(own).as_posix()
        about = path.lstat()
        if not (_NAME.fullmatch(name) and stat.S_ISREG(about.st_mode)):
            continue
        if about.st_uid != config["uid"]:
            continue  # another's file, under a second name
        target = kept / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        draft = target.with_suffix(".new")
        shutil.copyfile(path, draft)
        draft.chmod(0o644)
        draft.replace(target)
    _forget(config)


def _kept(config, job):
    """Folder of what builds of this repository share."""
    name = hashlib.sha256(job.repository.encode()).hexdigest()[:_DIGITS]
    return Path(config["cache"]) / "objects" / name


def _forget(config):
    """Remove the least used, of all repositories, until they fit."""
    folder = Path(config["cache"]) / "objects"
    if folder.is_dir():
        subprocess.run(
            ["ccache", "--trim-dir", str(folder), "--trim-max-size", config["ccache_size"]],
            stdout=subprocess.DEVNULL,
            env=ENVIRONMENT,
            check=True,
        )
