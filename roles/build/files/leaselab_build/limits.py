"""The limits of one build: it is watched while it runs, and ended when it exceeds one."""

import os
import re
import subprocess
import threading
import time

from leaselab_contract.errors import ContractError, LabError
from leaselab_contract.process import ENVIRONMENT

from leaselab_build import confine

SPARE_BYTES = 64 << 20
SPARE_FILES = 1000
"""With less free than this a disk counts as full; the rest is for the builder's other work."""
_EVERY_S = 0.2
_MEASURE_EVERY_S = 1.0
_MIB = 1 << 20
_NEVER = ("", 0, float("inf"))
_NO_PROCESS = re.compile("Cannot fork|Resource temporarily unavailable|can't start new thread")
_FILE_TOO_LARGE = re.compile("File too large|File size limit exceeded")


class Limits:
    """The limits of one build, from its begin to its artifact.

    As a context it has a thread that ends all processes of the build when one is exceeded;
    then `check` raises ContractError with the limit's name and value.
    """

    def __init__(self, config):
        """Begin; raises LabError where the builder has no room for a build."""
        self._config = config
        self._folder = confine.work(config)
        self._step, self._step_end = "", _NEVER
        self._end = _deadline("build_timeout_s", config["timeout_s"])
        self._began = _room(self._config["cache"])
        self._measured = time.monotonic()
        self._exceeded, self._fault = "", None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._refuse_full(config["disk_bytes"], config["files"])

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def step(self, name):
        """Begin a step whose time only the limit of the whole build bounds."""
        self._step, self._step_end = name, _NEVER

    def short_step(self, name):
        """Begin a step of the contract itself, which has a limit of its own."""
        self._step = name
        self._step_end = _deadline("build_step_timeout_s", self._config["step_timeout_s"])

    def exceed(self, what, name, value):
        """End the build: `what` is more than the limit `name` allows."""
        self._exceeded = self._exceeded or f"{what} (limit: {name} {value})"
        confine.end(self._config)

    def check(self):
        """Raise ContractError where a limit is exceeded."""
        self._check_time()
        if self._exceeded:
            raise ContractError(self._exceeded)
        if self._fault:
            raise LabError(f"the limits of the build are not watched: {self._fault}")

    def named(self, reason):
        """Return a program's reason, with the kernel limit that it names."""
        for words, name, value in (
            (_NO_PROCESS, "build_threads", self._config["threads"]),
            (_FILE_TOO_LARGE, "build_disk_mib", self._config["disk_bytes"] // _MIB),
        ):
            if words.search(reason):
                return f"{reason} (limit: {name} {value})"
        return reason

    def check_disk(self):
        """Measure what the build has written; raise ContractError where it is too much."""
        self._measure()
        self.check()

    def blame(self):
        """Raise the error of a full disk for a build that failed and has ended.

        Raises ContractError where the build has filled it, LabError where others have.
        """
        free_bytes, free_files = _room(self._config["cache"])
        if free_bytes < SPARE_BYTES or free_files < SPARE_FILES:
            self._measure(
                SPARE_BYTES if free_bytes < SPARE_BYTES else 0,
                SPARE_FILES if free_files < SPARE_FILES else 0,
            )
            self.check()
            self._refuse_full(SPARE_BYTES, SPARE_FILES)

    def _watch(self):
        try:
            wait_s = _EVERY_S
            while not self._over.wait(wait_s):
                began = time.monotonic()
                self._check_time()
                self._check_processes()
                # So it takes a twentieth of a processor at most, however many others there are.
                wait_s = max(_EVERY_S, 20 * (time.monotonic() - began))
                if self._may_have_written_too_much():
                    self._measure()
        except Exception as error:  # noqa: BLE001  # a build is not left without limits
            self._fault = error
            confine.end(self._config)

    def _check_time(self):
        for name, seconds, end in (self._step_end, self._end):
            if time.monotonic() > end:
                self.exceed(f"it does not end step {self._step}", name, f"{seconds} s")

    def _check_processes(self):
        threads, memory = confine.running(self._config)
        if threads > self._config["threads"]:
            self.exceed(f"it runs {threads} threads", "build_threads", self._config["threads"])
        processors = len(os.sched_getaffinity(0))
        if memory > processors * self._config["memory_bytes"]:
            self.exceed(
                f"it takes {memory // _MIB} MiB of memory on {processors} processors",
                "build_memory_mib",
                f"{self._config['memory_bytes'] // _MIB} each",
            )

    def _may_have_written_too_much(self):
        """Whether so much room is gone since the begin; others may have taken it."""
        if time.monotonic() - self._measured < _MEASURE_EVERY_S:
            return False
        found = zip(self._began, _room(self._config["cache"]), strict=True)
        used_bytes, used_files = (before - now for before, now in found)
        return used_bytes > self._config["disk_bytes"] or used_files > self._config["files"]

    def _measure(self, spare_bytes=0, spare_files=0):
        used_bytes, used_files = _used(self._folder)
        most_bytes, most_files = self._config["disk_bytes"], self._config["files"]
        if used_bytes + spare_bytes > most_bytes:
            found = f"it writes {used_bytes // _MIB} MiB to disk"
            self.exceed(found, "build_disk_mib", most_bytes // _MIB)
        if used_files + spare_files > most_files:
            self.exceed(f"it makes {used_files} files", "build_disk_files", most_files)
        self._measured = time.monotonic()

    def _refuse_full(self, wanted_bytes, wanted_files):
        free_bytes, free_files = _room(self._config["cache"])
        if free_bytes < wanted_bytes or free_files < wanted_files:
            raise LabError(
                f"the builder's disk is full (found {free_bytes // _MIB} MiB and room for "
                f"{free_files} files free in {self._config['cache']}, wanted "
                f"{wanted_bytes // _MIB} MiB and {wanted_files} files)"
            )


def _deadline(name, seconds):
    """A limit of time: its name, its value, and when it is reached (monotonic, s)."""
    return name, seconds, time.monotonic() + seconds


def _room(folder):
    """What is free on a folder's disk: bytes, and files (infinite where it counts none)."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else float("inf")


def _used(folder):
    """What a folder takes: bytes, and files; what vanishes meanwhile is not counted."""
    found = []
    for unit in ("--block-size=1", "--inodes"):
        argv = ["du", "--summarize", "--one-file-system", unit, "--", str(folder)]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, env=ENVIRONMENT
        )
        found.append(int((done.stdout.split() or ["0"])[0]))
    return found
