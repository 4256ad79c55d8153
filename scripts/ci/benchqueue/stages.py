"""Stages: each runs one script of scripts/ci, and its exit code says how the build goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from buildbot.plugins import steps, util
from buildbot.process.buildstep import BuildStep, ShellMixin
from buildbot.process.results import FAILURE, RETRY, SKIPPED, SUCCESS, WARNINGS

from ci.benchqueue.order import BROKEN, broken_benches
from ci.benchqueue.site import CANARY, Job, Site, Source
from leaselab.model.errors import IN_USE, Outcome

MOST_BROKEN = 3
"""Benches that a request may find broken; a common fault must not take out all of them."""
_END_S = 60
_LAB = (Outcome.LAB.value, 130)
_DOUBTFUL = (Outcome.REGRESSION.value, Outcome.INVALID.value)
_PASSED = (SUCCESS, SKIPPED)


class Stage(ShellMixin, BuildStep):  # type: ignore[misc]
    """A command on a bench.

    It ends with its worker, even if that is killed: what measures must not outlive the build
    that is repeated then.  `setpriv` has the kernel tell `timeout` of the worker's end, which
    ends the whole group of processes.
    """

    def __init__(self, command: Sequence[str], limit_s: int, **more: Any) -> None:
        """`limit_s` is when it is ended (s)."""
        guarded = ["setpriv", "--pdeathsig", "TERM", "timeout", f"--kill-after={_END_S}"]
        more = {"haltOnFailure": True, "timeout": None, "logEnviron": False, **more}
        more["warnOnWarnings"] = not more.get("alwaysRun")  # what only cleans up judges nothing
        shell = {"command": [*guarded, str(limit_s), *command], "interruptSignal": "TERM"}
        super().__init__(**self.setupShellMixin({**shell, "sigtermTime": _END_S, **more}))

    async def run(self) -> int:
        """Run it; return Buildbot's result."""
        command = await self.makeRemoteShellCommand()
        await self.runCommand(command)
        code = command.rc
        self.descriptionDone = [self.name, f"ended with {code}"] if code else None
        if code == IN_USE:
            # Another user has the bench: ask again later, at longer and longer intervals.
            self.worker.putInQuarantine()
            return RETRY
        if code == 0 or self.alwaysRun:
            return SUCCESS if code == 0 else WARNINGS
        if self.build.builder.name.startswith(CANARY):
            return FAILURE
        if code in _LAB:
            return await self._broken()
        return WARNINGS if code in _DOUBTFUL else FAILURE

    async def _broken(self) -> int:
        """Have the bench inspected; retry elsewhere, a few times."""
        self.setProperty(BROKEN, self.getProperty("workername"), "Stage")
        earlier = await broken_benches(self.master, self.build.requests[0].id)
        return RETRY if len(earlier) + 1 < MOST_BROKEN else FAILURE


def _script(name: str, minutes: int, *arguments: str, **more: Any) -> Stage:
    command = [f"scripts/ci/{name}.sh", *arguments]
    if not more.get("alwaysRun"):
        more["doStepIf"] = lambda step: step.build.results in _PASSED
    return Stage(command, 60 * minutes, name="-".join((name, *arguments)), **more)


def _clone(source: Source, folder: str, **more: Any) -> Any:
    return steps.Git(
        repourl=source.url,
        branch=source.branch,
        mode="incremental",
        workdir=folder,
        retry=(60, 2),
        haltOnFailure=True,
        **more,
    )


def _leaselab(site: Site) -> list[Any]:
    clone = site.leaselab
    return [_clone(clone, "build", codebase="leaselab", alwaysUseLatest=True)] if clone else []


def _command(text: str) -> Stage:
    return Stage(["bash", "-c", text], 86_400, name="command")


def steps_of(site: Site, job: Job) -> list[Any]:
    """The stages of a job; those of `Jenkinsfile`."""
    inspected = steps.Trigger(
        schedulerNames=[util.Interpolate(f"{CANARY}%(prop:workername)s")],
        waitForFinish=False,
        updateSourceStamp=False,
        alwaysRun=True,
        doStepIf=lambda step: step.getProperty(BROKEN) is not None,
        hideStepIf=lambda results, _: results == SKIPPED,
        name="inspect the bench",
    )
    if job.command:
        return [*_leaselab(site), _command(job.command), inspected]
    made = [*_leaselab(site), _script("check", 30), _script("provision", 30)]
    if job.server:
        made += [_clone(site.servers[job.server], "build/server"), _script("build", 100)]
    if not (job.server and (job.against or job.anchor)):  # else both are deployed in `measure`
        made += [_script("deploy", 30), _script("tune", 30)]
    made += [_script("measure", 360), _script("archive", 10), _script("report", 30)]
    made += [_script("verdict", 10)]
    comment = {"logfiles": {"comment": "ci/comment.md"}, "lazylogfiles": True}
    made += [_script("publish", 30, alwaysRun=True, **comment)]
    return [*made, _script("release", 10, alwaysRun=True), inspected]


def steps_of_canary(site: Site) -> list[Any]:
    """The stages that show whether a bench may be used."""
    if site.canary.command:
        return [*_leaselab(site), _command(site.canary.command)]
    return [
        *_leaselab(site),
        *(_script("canary", 5, "begin"), _script("check", 30), _script("provision", 30)),
        _script("canary", 360, "duels"),
        _script("canary", 5, "end", alwaysRun=True),
        _script("release", 10, alwaysRun=True),
    ]
