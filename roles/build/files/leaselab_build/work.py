"""Building: a clean tree, the server's recipe, its log, an artifact."""

import contextlib
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from leaselab_contract.errors import ContractError, LabError

from leaselab_build import artifact, cache, confine, limits, log, objects, progress
from leaselab_build.job import FORMAT

PHASES = ("configure", "make", "install")
"""Verbs of a recipe, in the order that they are called."""
NOT_THIS_SERVERS = 2
NOT_STARTED = (126, 127)
"""What a shell ends with where it cannot start a program."""


class ForeignError(ContractError):
    """The source is not one of this server's."""

    status = NOT_THIS_SERVERS


def build(config, job):
    """Build it and keep it; return what is known of it.

    Raises ContractError where the commit is at fault: with the first error of the compiler,
    or the limit that it exceeded.  Raises LabError where the builder is at fault.  The log
    is kept in both cases.
    """
    began = time.monotonic()
    clear(config)  # what a build that was cut short has left
    draft = cache.draft(config, job)
    place = Place(confine.work(config))
    try:
        with limits.Limits(config) as watch:
            confine.give(config, *place.folders())
            try:
                system = prepare(config, job, place, watch)
                phases = run_recipe(config, job, place, system, watch)
                watch.check_disk()
            except (ContractError, OSError):
                confine.end(config)
                watch.check()
                watch.blame()
                with contextlib.suppress(OSError):  # the commit's reason is the one to report
                    objects.keep(config, job, place.objects)
                raise
            objects.keep(config, job, place.objects)
            watch.short_step("pack")
            packed = artifact.pack(
                config, job.prefix, place.stage, draft / cache.ARTIFACT, watch
            )
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
            **packed,
        }
        cache.keep(config, job, document)
    finally:
        clear(config)
    return {**document, "cached": False}


def clear(config):
    """End and remove what a build has left; the lock must be held."""
    confine.end(config)
    confine.clear(confine.work(config), *cache.drafts(config))
    progress.end(config)


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


def prepare(config, job, place, watch):
    """Unpack the files of the commit; return the build system that the recipe sees in them."""
    watch.short_step("unpack")
    argv = ["tar", "--extract", f"--file={job.source}", f"--directory={place.source}"]
    done = confine.run(config, argv)
    if done.returncode != 0:
        reason = watch.named(log.reason(done.returncode, done.stderr))
        raise ContractError(f"its files cannot be written: {reason}")
    watch.check_disk()
    watch.short_step("identify")
    done = confine.run(config, [config["recipe"], "identify", str(place.source)])
    reason = log.reason(done.returncode, done.stderr)
    if done.returncode == NOT_THIS_SERVERS:
        raise ForeignError(reason)
    if done.returncode in NOT_STARTED:
        raise LabError(f"{config['recipe']}: {reason}")
    if done.returncode != 0:
        raise ContractError(f"its build system cannot be read: {reason}")
    return done.stdout.strip()


def run_recipe(config, job, place, system, watch):
    """Run the recipe's phases with their output in the log; return how long each took (s)."""
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
        "LEASELAB_SYSTEM": system,
        **{f"LEASELAB_{name.upper()}": str(value) for name, value in config["options"].items()},
    }
    seconds = {}
    state = progress.Progress(config, job)
    with log.Log(path, config["log_bytes"]) as kept:
        for phase in PHASES:
            began = time.monotonic()
            watch.step(phase)
            state.begin(phase)
            child = confine.start(
                config,
                [config["recipe"], phase, str(place.source), str(place.stage)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=place.source,
            )
            for line in kept.lines(f"== {phase}", child.stdout.fileno()):
                state.read_line(line)
            if kept.full:
                value = f"{config['log_bytes'] >> 20} MiB"
                watch.exceed("it prints without end", "build_log_mib", value)
            status = child.wait()
            confine.end(config)  # what a phase has left running is no part of the next
            watch.check()
            if status != 0:
                reason = kept.first_error() or f"step {phase} ended: {log.reason(status, '')}"
                raise ContractError(watch.named(reason))
            seconds[phase] = round(time.monotonic() - began, 1)
    return seconds


def log_path(config, job):
    """Where the log of a key is kept, whether it was built or not."""
    return Path(config["cache"]) / "logs" / f"{job.key}.log.gz"
