"""A builder in a folder: the build contract as it is installed, with a test's own recipe."""

import contextlib
import gzip
import itertools
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

ROLES = Path(__file__).parents[1] / "roles"
GOOD = 'mkdir -p "$3$LEASELAB_PREFIX"; cp text "$3$LEASELAB_PREFIX/text"'
PACKAGES = (
    "build/files/leaselab_build",
    "contract/files/leaselab_contract",
    "artifact/module_utils/leaselab_artifact",
)
USERS = itertools.count(1_000_000_000 + 100 * os.getpid())
"""Nobody else's: whatever runs as such a user is ended with a build."""


class Builder:
    """A builder in a folder: the contract, a recipe, settings, and a source to build."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = folder / "cache"
        self.cache.mkdir()
        self.user = next(USERS)
        for part in PACKAGES:
            shutil.copytree(ROLES / part, folder / Path(part).name)
        self.program = folder / "build-some"
        shutil.copy(ROLES / "build/files/build", self.program)
        (folder / "text").write_text("as committed")
        with tarfile.open(folder / "source.tar", "w") as files:
            files.add(folder / "text", "text")
        self.settings = {
            "name": "some",
            "recipe": str(folder / "recipe"),
            "options": {"flags": "-O2"},
            "builds": "/opt/builds",
            "cache": str(self.cache),
            "uid": self.user,
            "gid": self.user,
            "ccache_size": "1M",
            "timeout_s": 60,
            "step_timeout_s": 60,
            "wait_s": 60,
            "memory_bytes": 256 << 20,
            "threads": 50,
            "disk_bytes": 64 << 20,
            "files": 1000,
            "log_bytes": 1 << 20,
            "artifact_bytes": 1 << 20,
            "artifact_files": 100,
        }
        self.job = {
            "commit": "c" * 40,
            "tree": "d" * 40,
            "described": "v1",
            "repository": "https://git.example.org/some.git",
            "accepted": False,
            "source": str(folder / "source.tar"),
        }
        self.recipe(GOOD)

    def recipe(self, make=GOOD, identify="echo make", configure=":", install=":"):
        """Write the recipe: what the shell does for each of its verbs."""
        verbs = {"identify": identify, "configure": configure, "make": make, "install": install}
        cases = "".join(f"{verb}) {script};;\n" for verb, script in verbs.items())
        path = self.folder / "recipe"
        path.write_text(f"#!/bin/sh\nset -e\ncase $1 in\n{cases}esac\n")
        path.chmod(0o755)

    def start(self, verb, settings=None, **options):
        """Start a verb; return its process, which has read what to build."""
        place = self.program.with_name("build-some.json")
        draft = place.with_suffix(f".{verb}")
        draft.write_text(json.dumps({**self.settings, **(settings or {})}))
        draft.replace(place)
        with tempfile.TemporaryFile("w+") as asked:
            asked.write(json.dumps(self.job))
            asked.seek(0)
            return subprocess.Popen([self.program, verb], stdin=asked, **options)

    def __call__(self, verb, **settings):
        """Run a verb; return how it ended."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with self.start(verb, settings, **pipes) as child:
            output, errors = child.communicate()
        return subprocess.CompletedProcess(verb, child.returncode, output, errors)

    @property
    def prefix(self):
        """Where what it builds is installed: a folder that the key names."""
        return f"/opt/builds/{made(self('key'))['key']}"

    def log(self):
        """What the build printed: the log without the names of its phases."""
        (path,) = self.cache.glob("logs/*.log.gz")
        text = gzip.decompress(path.read_bytes()).decode()
        for phase in ("configure", "make", "install"):
            text = text.replace(f"== {phase}\n", "", 1)
        return text


@contextlib.contextmanager
def temporary_builder():
    """In a folder that the build's user may come to, as a builder's is."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Builder(Path(folder))


def made(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def running_as(user, name=""):
    """Ids of the processes of a user, of those with a name if one is given."""
    results = []
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = path.read_text(errors="replace")
            is_named = not name or text.startswith(f"Name:\t{name}\n")
            if f"\nUid:\t{user}\t" in text and "\nState:\tZ" not in text and is_named:
                results.append(path.parent.name)
    return results
