"""Stages: each runs one script of scripts/ci, and its exit code says how the build goes on."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot.interfaces import IBuildStep
from buildbot.plugins import steps, util
from buildbot.process.build import Build
from buildbot.process.buildstep import BuildStep, ShellMixin
from buildbot.process.results import FAILURE, RETRY, SKIPPED, SUCCESS, WARNINGS
from buildbot.process.workerforbuilder import WorkerForBuilder
from buildbot.util.twisted import async_to_deferred

from ci.benchqueue.order import BROKEN, broken_benches
from ci.benchqueue.site import CANARY, Job, Site, Source
from leaselab.model.errors import IN_USE, Outcome

MOST_BROKEN = 3
"""Benches that a request may find broken; a common fault must not take out all of them."""
_END_S = 60
_DAY_MIN = 1440
_LAB = (Outcome.LAB.value, 130)
_DOUBTFUL = (Outcome.REGRESSION.value, Outcome.INVALID.value)


class Stage(ShellMixin, BuildStep):
    """A command on a bench.

    It ends with its worker, even if that is killed: what measures must not outlive the build
    that is then repeated.  The kernel signals the end of the worker to `timeout` (`setpriv`
    asks for that), which ends all processes of its group.
    """

    def __init__(self, name: str, command: Sequence[str], minutes: int, **more: object) -> None:
        """`minutes` is its limit (min); `more` are Buildbot's options of a step."""
        guard = ["setpriv", "--pdeathsig", "TERM", "timeout", f"--kill-after={_END_S}"]
        always = {"name": name, "logEnviron": False, "timeout": None, "haltOnFailure": True}
        always |= {"interruptSignal": "TERM", "sigtermTime": _END_S}
        always["command"] = [*guard, f"{minutes}m", *command]
        # What runs after any outcome judges nothing.
        always["warnOnWarnings"] = not more.get("alwaysRun")
        super().__init__(**self.setupShellMixin({**always, **more}))

    async def run(self) -> int:
        """Run it; return Buildbot's result."""
        command = await self.makeRemoteShellCommand()
        await self.runCommand(command)
        code = command.rc
        self.descriptionDone = f"{self.name}: exit code {code}"
        if code == IN_USE:
            # Another user has the bench: ask again later, at longer and longer intervals.
            self.worker.putInQuarantine()
            return RETRY
        if code == 0 or self.alwaysRun:
            return SUCCESS if code == 0 else WARNINGS
        if self.build.builder.name.startswith(CANARY):
            return FAILURE
        if code in _LAB:
            self.setProperty(BROKEN, self.getProperty("workername"), "Stage")
            earlier = await broken_benches(self.master, self.build.requests[0].id)
            return RETRY if len(earlier) + 1 < MOST_BROKEN else FAILURE
        return WARNINGS if code in _DOUBTFUL else FAILURE


class Repeated(Build):
    """A build that is repeated, too, where its worker dies before the first stage.

    Buildbot 4.3 then uses a worker that is gone, or puts it into quarantine; both fail, and the
    build would not end before the master does.
    """

    @async_to_deferred
    async def startBuild(self, workerforbuilder: WorkerForBuilder) -> None:  # noqa: N802  # Buildbot's
        """Start it; end it where the worker is gone."""
        try:
            await super().startBuild(workerforbuilder)
        except (AssertionError, AttributeError):
            worker = workerforbuilder.worker
            if worker is not None and worker.conn is not None:
                raise
            await self.buildFinished(["worker", "lost"], RETRY)

    async def buildPreparationFailure(self, why: object, state_string: str) -> None:  # noqa: N802  # Buildbot's
        """Note that the worker cannot be used; the build ends afterwards."""
        if self.workerforbuilder.worker is not None:
            await super().buildPreparationFailure(why, state_string)
            return
        noted = self.master.data.updates
        await noted.finishStep(self._preparation_step.stepid, RETRY, False)


class Stages(util.BuildFactory):
    """The stages of a builder."""

    buildClass = Repeated  # noqa: N815  # Buildbot's


def _script(name: str, minutes: int, *arguments: str, **more: object) -> Stage:
    if not more.get("alwaysRun"):
        more["doStepIf"] = lambda step: step.build.results in (SUCCESS, SKIPPED)
    command = [f"scripts/ci/{name}.sh", *arguments]
    return Stage(" ".join((name, *arguments)), command, minutes, **more)


def _clone(source: Source, folder: str, **more: object) -> IBuildStep:
    more |= {"mode": "incremental", "workdir": folder, "retry": (60, 2), "haltOnFailure": True}
    return steps.Git(repourl=source.url, branch=source.branch, **more)


def _leaselab(site: Site) -> list[IBuildStep]:
    clone = site.leaselab
    return [_clone(clone, "build", alwaysUseLatest=True)] if clone else []


def steps_of(site: Site, job: Job) -> list[IBuildStep]:
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
    made = _leaselab(site)
    if job.command:
        return [*made, Stage("command", ["bash", "-c", job.command], _DAY_MIN), inspected]
    made += [_script("check", 30), _script("provision", 30)]
    if job.server:
        made += [_clone(site.servers[job.server], "build/server"), _script("build", 100)]
    if not (job.server and (job.against or job.anchor)):  # else `measure` deploys both builds
        made += [_script("deploy", 30), _script("tune", 30)]
    made += [_script("measure", 360), _script("archive", 10), _script("report", 30)]
    comment = {"logfiles": {"comment": "ci/comment.md"}, "lazylogfiles": True}
    made += [_script("verdict", 10), _script("publish", 30, alwaysRun=True, **comment)]
    return [*made, _script("release", 10, alwaysRun=True), inspected]


def steps_of_canary(site: Site) -> list[IBuildStep]:
    """The stages that show whether a bench may be used."""
    made, canary = _leaselab(site), site.canary
    if canary.command:
        return [*made, Stage("command", ["bash", "-c", canary.command], _DAY_MIN)]
    made += [_script("canary", 5, "begin"), _script("check", 30), _script("provision", 30)]
    made += [_script("canary", 360, "duels"), _script("canary", 5, "end", alwaysRun=True)]
    return [*made, _script("release", 10, alwaysRun=True)]
