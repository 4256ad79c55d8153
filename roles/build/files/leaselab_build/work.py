"""Building: a clean tree, the server's recipe, its log, an artifact."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from leaselab_contract.errors import BeneathError, ContractError, last_line

from leaselab_build import artifact, cache, log

NOT_THIS_SERVERS = 2
PHASE = "== "
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
    shutil.rmtree(folder, ignore_errors=True)
    source, stage = folder / "source", folder / "stage"
    for path in (source, stage):
        path.mkdir(parents=True)
    try:
        unpack(job.source, source)
        system = identify(config, source)
        phases = run_recipe(config, job, source, stage)
        document = {
            "name": config["name"],
            "key": job.key,
            "commit": job.commit,
            "tree": job.tree,
            "described": job.described,
            "system": system,
            "options": config["options"],
            "prefix": config["prefix"],
            "builder": job.inputs["builder"],
            "seconds": {**phases, "total": round(time.monotonic() - began, 1)},
            **artifact.pack(config, stage, folder / cache.ARTIFACT),
        }
        keep(config, job, folder, document)
    except OSError as error:
        check_disk(config, FULL_BYTES)
        raise BeneathError(f"the builder fails: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {**document, "cached": False}


def unpack(files, folder):
    """Unpack the files of the commit; nobody's names of theirs are known here."""
    argv = ["tar", "--extract", "--no-same-owner", f"--file={files}", f"--directory={folder}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
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
    done = subprocess.run(
        [config["recipe"], "identify", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NOT_THIS_SERVERS:
        raise ForeignError(last_line(done.stderr))
    if done.returncode != 0:
        raise BeneathError(f"{config['recipe']}: {last_line(done.stderr)}")
    return done.stdout.strip()


def run_recipe(config, job, source, stage):
    """Run it with its output in the log; return how long its phases took (s)."""
    path = log_path(config, job)
    path.parent.mkdir(parents=True, exist_ok=True)
    environment = {
        "PATH": "/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "CCACHE_DIR": str(Path(config["cache"]) / "ccache"),
        "CCACHE_MAXSIZE": config["ccache_size"],
        "LEASELAB_PREFIX": config["prefix"],
        "LEASELAB_JOBS": str(len(os.sched_getaffinity(0))),
        "LEASELAB_DESCRIBED": job.described,
        **{f"LEASELAB_{name.upper()}": str(value) for name, value in config["options"].items()},
    }
    phases = {}
    with gzip.open(path, "wt", encoding="utf-8") as kept:
        child = subprocess.Popen(
            [config["recipe"], "build", str(source), str(stage)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=source,
            start_new_session=True,
        )
        stopped = threading.Event()
        watch = threading.Timer(config["timeout_s"], _stop, (child, stopped))
        watch.start()
        try:
            status = follow(child, kept, phases)
        finally:
            watch.cancel()
            _stop(child, threading.Event())
    if stopped.is_set():
        phase = list(phases)[-1] if phases else "nothing"
        raise ContractError(
            f"it does not end building within {config['timeout_s']} s (last begun: {phase})"
        )
    if status != 0:
        check_disk(config, FULL_BYTES)
        raise ContractError(log.first_error(path) or f"the recipe ended with status {status}")
    return phases


def _stop(child, stopped):
    """End the recipe with all that it started, unless it has ended."""
    if child.poll() is None:
        stopped.set()
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def follow(child, kept, phases):
    """Write what it prints into the log; a line that begins with `PHASE` names what begins.

    `phases` gets how long each took (s); return the recipe's status.
    """
    name, started = "", time.monotonic()
    for raw in child.stdout:
        line = raw.decode(errors="replace")
        kept.write(line)
        if line.startswith(PHASE):
            name, started = line.removeprefix(PHASE).strip(), time.monotonic()
        if name:
            phases[name] = round(time.monotonic() - started, 1)
    return child.wait()


def log_path(config, job):
    """Where the log of a key is kept, whether it was built or not."""
    return Path(config["cache"]) / "logs" / f"{job.key}.log.gz"


def keep(config, job, folder, document):
    """Put the artifact and what is known of it into the cache, in one step."""
    target = cache.place(config, job)
    draft = target.with_name(f"{target.name}.new")
    for path in (target, draft):
        shutil.rmtree(path, ignore_errors=True)
    draft.mkdir(parents=True)
    shutil.move(folder / cache.ARTIFACT, draft / cache.ARTIFACT)
    (draft / cache.DOCUMENT).write_text(
        json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    draft.rename(target)
