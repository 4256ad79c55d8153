"""A stand-in for a controller: runs Jenkinsfiles, build after build, on this machine.

It is no Jenkins; README.md says what is alike and what is not.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.pipeline import groovy

EXIT_STATUS = {"SUCCESS": 0, "UNSTABLE": 10, "FAILURE": 11, "NOT_BUILT": 12, "ABORTED": 13}


@dataclass(frozen=True)
class Record:
    """What a build did, as its build.json says, and its log."""

    folder: Path
    document: dict[str, Any]

    @property
    def result(self) -> str:
        """SUCCESS, UNSTABLE, FAILURE, NOT_BUILT or ABORTED."""
        return str(self.document["result"])

    @property
    def log(self) -> str:
        """All that the build printed."""
        return (self.folder / "log").read_text(encoding="utf-8")

    @property
    def commands(self) -> list[str]:
        """The commands of all `sh` steps, in the order in which they were started."""
        steps = self.document["steps"]
        return [step["settings"]["script"] for step in steps if step["step"] == "sh"]

    @property
    def stages(self) -> dict[str, str]:
        """{name: status}; a stage that was skipped is SKIPPED."""
        return {stage["name"]: stage["status"] for stage in self.document["stages"]}

    @property
    def posts(self) -> list[str]:
        """The post conditions that held, in their order."""
        return [post["condition"] for post in self.document["posts"]]

    @property
    def requested(self) -> list[dict[str, Any]]:
        """The builds that this one asked for: job and parameters."""
        return list(self.document["requested"])


class Running:
    """A build that was started."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process = process
        self.folder = folder

    def abort(self) -> None:
        """Do what a person's click on the red square does; the build goes on to its post."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the executor at once, and what it runs, as when a machine loses its power."""
        self._process.kill()
        self._process.wait()
        mark = f"JENKINS_SERVER_COOKIE=durable-{self._process.pid}-".encode()
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):  # gone already, or of another user
                if mark in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)

    @property
    def log(self) -> str:
        """All that the build has printed so far."""
        path = self.folder / "log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def wait(self, timeout_s: float | None = None) -> Record:
        """The record, once the build is over."""
        status = self._process.wait(timeout_s)
        errors = (self.folder / "executor.err").read_text(encoding="utf-8")
        path = self.folder / "build.json"
        assert path.exists(), f"the executor ended with {status}: {errors}"
        record = Record(self.folder, json.loads(path.read_text(encoding="utf-8")))
        assert status == EXIT_STATUS[record.result], errors
        return record


@dataclass
class Controller:
    """Jobs, builds, workspaces and lockable resources below one folder.

    `provides` is the allow-list ({"plugins": [...], "provides": {plugin: {...}}}), `labels`
    are those of the agents, `jobs` {name: its Jenkinsfile}, and `parameters` {name: {parameter:
    default}} for those that a job declares itself.
    """

    home: Path
    provides: Mapping[str, Any]
    jobs: dict[str, Path]
    labels: Sequence[str] = ("leaselab",)
    grace_s: float = 20
    timeout_grace_s: float = 60
    credentials: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, str | bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "provides.json").write_text(json.dumps(self.provides), encoding="utf-8")
        path = self.home / "credentials.json"
        path.write_text(json.dumps(self.credentials), encoding="utf-8")
        path.chmod(0o600)

    def have_resources(self, labels: Mapping[str, Sequence[str]]) -> None:
        """Set the lockable resources: {name: labels}."""
        resources = [
            {"name": name, "labels": list(each), "note": ""} for name, each in labels.items()
        ]
        text = json.dumps({"resources": resources, "queue": []})
        (self.home / "resources.json").write_text(text, encoding="utf-8")

    def resource(self, name: str) -> dict[str, Any]:
        """A resource as it is now: name, labels, note, heldBy."""
        text = (self.home / "resources.json").read_text(encoding="utf-8")
        (results,) = [load for load in json.loads(text)["resources"] if load["name"] == name]
        return dict(results)

    def start(
        self,
        job: str,
        repository: Path,
        *,
        revision: str = "main",
        parameters: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Running:
        """Start the next build of a job; its pipeline is of `repository` at `revision`."""
        number, folder = self._next(job)
        words = {
            "jenkinsfile": self.jobs[job],
            "repository": repository,
            "revision": revision,
            "workspaces": self.home / "agent",
            "build": folder,
            "number": number,
            "job": job,
            "resources": self.home / "resources.json",
            "provides": self.home / "provides.json",
            "credentials": self.home / "credentials.json",
            "parameters": folder / "parameters.json",
            "grace-s": self.grace_s,
            "timeout-grace-s": self.timeout_grace_s,
        }
        declared = json.dumps(self.parameters.get(job, {}))
        (folder / "parameters.json").write_text(declared, encoding="utf-8")
        argv = [word for name, value in words.items() for word in (f"--{name}", str(value))]
        for name, value in (parameters or {}).items():
            argv += ["--param", f"{name}={value}"]
        for label in self.labels:
            argv += ["--label", label]
        for known in self.jobs:
            argv += ["--known-job", known]
        with (folder / "executor.err").open("wb") as errors:
            process = subprocess.Popen(
                groovy.command("run", *argv),
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )
        return Running(process, folder)

    def run(self, job: str, repository: Path, **how: Any) -> Record:
        """Run the next build of a job to its end."""
        return self.start(job, repository, **how).wait()

    def follow(
        self, record: Record, repository: Path, *, at_most: int, **how: Any
    ) -> list[Record]:
        """Run the builds that a build asked for, and what those ask for, but not for ever."""
        waiting = list(record.requested)
        done: list[Record] = []
        while waiting and len(done) < at_most:
            request = waiting.pop(0)
            done.append(
                self.run(request["job"], repository, parameters=request["parameters"], **how)
            )
            waiting += done[-1].requested
        return done

    def _next(self, job: str) -> tuple[int, Path]:
        builds = self.home / "jobs" / job
        builds.mkdir(parents=True, exist_ok=True)
        number = 1 + max(
            (int(path.name) for path in builds.iterdir() if path.name.isdigit()), default=0
        )
        folder = builds / str(number)
        folder.mkdir()
        return number, folder
