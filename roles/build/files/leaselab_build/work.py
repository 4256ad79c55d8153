"""Building: a clean tree, the server's recipe, its log, an artifact."""

import gzip
import os
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from leaselab_contract.errors import BeneathError, ContractError, last_line

from leaselab_build import artifact, cache, confine, log, objects
from leaselab_build.job import FORMAT
from leaselab_build.progress import PHASE, Progress

NOT_THIS_SERVERS = 2
FULL_BYTES = 64 << 20
"""Less than this is why a build failed that had room when it began."""


class ForeignError(ContractError):
    """The source is not one of this server's."""

    status = NOT_THIS_SERVERS


def build(config, job):
    """Build it and keep it; return what is known of it.

    Raises ContractError with the first error of the compiler, BeneathError when the
    builder is at fault.  The log is kept in both cases.
    """
    began = time.monotonic()
    check_disk(config, config["free_bytes"])
    # The same paths for every commit: ccache and the binaries have them inside.
    folder = Path(config["cache"]) / "work" / config["name"]
    draft = cache.draft(config, job)
    confine.end(config)  # what a build that was cut short left running
    shutil.rmtree(folder, ignore_errors=True)
    place = Place(folder)
    confine.give(config, *place.folders())
    try:
        unpack(config, job.source, place.source)
        system = identify(config, place.source)
        try:
            phases = run_recipe(config, job, place)
        finally:
            confine.end(config)  # from here on nothing of it changes any more
            objects.keep(config, job, place.objects)
        document = {
            "format": FORMAT,
            "name": config["name"],
            "key": job.key,
            "commit": job.commit,
            "tree": job.tree,
            "described": job.described,
            "system": system,
            "options": config["options"],
            "prefix": job.prefix,
            "builder": job.inputs["builder"],
            "seconds": {**phases, "total": round(time.monotonic() - began, 1)},
            **artifact.pack(config, job.prefix, place.stage, draft / cache.ARTIFACT),
        }
        cache.keep(config, job, document)
    except OSError as error:
        check_disk(config, FULL_BYTES)
        raise BeneathError(f"the builder fails: {error}") from error
    finally:
        confine.end(config)
        for path in (folder, draft):
            shutil.rmtree(path, ignore_errors=True)
    return {**document, "cached": False}


@dataclass(frozen=True)
class Place:
    """Where one build is done: folders of the build's user, which go away with it."""

    folder: Path

    @property
    def source(self):
        """The files of the commit."""
        return self.folder / "source"

    @property
    def stage(self):
        """Below which the recipe installs."""
        return self.folder / "stage"

    @property
    def objects(self):
        """What compilers make in this build."""
        return self.folder / "objects"

    @property
    def home(self):
        """The home of the build's user."""
        return self.folder / "home"

    @property
    def scratch(self):
        """Passing files."""
        return self.folder / "tmp"

    def folders(self):
        """All of them, the one that they are in first."""
        return self.folder, self.source, self.stage, self.objects, self.home, self.scratch


def unpack(config, files, folder):
    """Unpack the files of the commit."""
    argv = ["tar", "--extract", f"--file={files}", f"--directory={folder}"]
    done = confine.run(config, argv)
    if done.returncode != 0:
        raise OSError(last_line(done.stderr))


def check_disk(config, wanted):
    """Refuse to build, or to blame a commit, on a full disk (wanted: bytes free)."""
    free = shutil.disk_usage(config["cache"]).free
    if free < wanted:
        raise BeneathError(
            f"the builder's disk is full (found {free >> 20} MiB free in {config['cache']}, "
            f"wanted {wanted >> 20} MiB)"
        )


def identify(config, source):
    """Ask the recipe which build system the tree has."""
    done = confine.run(config, [config["recipe"], "identify", str(source)])
    if done.returncode == NOT_THIS_SERVERS:
        raise ForeignError(last_line(done.stderr))
    if done.returncode != 0:
        raise BeneathError(f"{config['recipe']}: {last_line(done.stderr)}")
    return done.stdout.strip()


def run_recipe(config, job, place):
    """Run it with its output in the log; return how long its phases took (s)."""
    path = log_path(config, job)
    path.parent.mkdir(parents=True, exist_ok=True)
    environment = {
        "PATH": "/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(place.home),
        "TMPDIR": str(place.scratch),
        "LC_ALL": "C.UTF-8",
        **objects.environment(config, job, place.objects, place.scratch),
        "LEASELAB_PREFIX": job.prefix,
        "LEASELAB_JOBS": str(len(os.sched_getaffinity(0))),
        "LEASELAB_DESCRIBED": job.described,
        **{f"LEASELAB_{name.upper()}": str(value) for name, value in config["options"].items()},
    }
    phases = {}
    progress = Progress(config, job)
    with gzip.open(path, "wt", encoding="utf-8") as kept:
        child = confine.start(
            config,
            [config["recipe"], "build", str(place.source), str(place.stage)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=place.source,
        )
        stopped = threading.Event()
        watch = threading.Timer(config["timeout_s"], _stop, (config, stopped))
        watch.start()
        try:
            status = follow(child, kept, phases, progress)
        finally:
            watch.cancel()
            confine.end(config)
            child.wait()
            progress.end()
    if stopped.is_set():
        phase = list(phases)[-1] if phases else "nothing"
        raise ContractError(
            f"it does not end building within {config['timeout_s']} s (last begun: {phase})"
        )
    if status != 0:
        check_disk(config, FULL_BYTES)
        raise ContractError(log.first_error(path) or f"the recipe ended with status {status}")
    return phases


def _stop(config, stopped):
    """End the recipe with all that it started."""
    stopped.set()
    confine.end(config)


def follow(child, kept, phases, progress):
    """Write what it prints into the log; a line that begins with `PHASE` names what begins.

    `phases` gets how long each took (s); return the recipe's status.
    """
    name, started = "", time.monotonic()
    for raw in child.stdout:
        line = raw.decode(errors="replace")
        kept.write(line)
        progress.heard(line)
        if line.startswith(PHASE):
            name, started = line.removeprefix(PHASE).strip(), time.monotonic()
        if name:
            phases[name] = round(time.monotonic() - started, 1)
    return child.wait()


def log_path(config, job):
    """Where the log of a key is kept, whether it was built or not."""
    return Path(config["cache"]) / "logs" / f"{job.key}.log.gz"
