"""Plays this repository's Jenkinsfiles: real shells, checkouts and locks, no Jenkins.

Stages, options, `when`, `post` and results are those of Jenkins' declarative pipelines; the
steps are those that our files have.  Whatever else a file says ends its build.
"""

import os
import shutil
import signal
import subprocess
import threading
import time
import xml.etree.ElementTree as ET
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.pipeline.jenkinsfile import Call, Filled, Name, read

RESULTS = ["SUCCESS", "UNSTABLE", "FAILURE", "NOT_BUILT", "ABORTED"]
"""From good to bad; the result of a build only gets worse."""
CONDITIONS = {"always": None, "aborted": "ABORTED", "success": "SUCCESS"}
CONDITIONS |= {"unstable": "UNSTABLE", "failure": "FAILURE", "notBuilt": "NOT_BUILT"}
CONDITIONS |= {"cleanup": None}
"""In the order in which Jenkins asks for them, with the result that each wants."""
UNITS = {"MILLISECONDS": 0.001, "MINUTES": 60, "HOURS": 3600, "DAYS": 86400}
ARGUMENTS = {
    **dict.fromkeys(["skipDefaultCheckout", "skipStagesAfterUnstable", "timestamps"], ()),
    **dict.fromkeys(["sh", "dir", "deleteDir"], ()),
    "lock": {"label", "resource", "quantity", "variable"},
    "timeout": {"time", "unit"},
    "checkout": {"scm", "poll", "changelog"},
    "warnError": {"message", "catchInterruptions"},
    "catchError": {"message", "buildResult", "stageResult"},
    "updateLock": {"resource", "addLabels", "removeLabels", "setNote"},
    "build": {"job", "wait", "parameters"},
    "junit": {"testResults", "allowEmptyResults", "skipMarkingBuildUnstable"},
    "publishHTML": {"target"},
    "plot": {"csvFileName", "csvSeries", "group", "style", "title", "yaxis"},
    "archiveArtifacts": {"artifacts", "allowEmptyArchive"},
}
"""Of each option and step, the names of its arguments."""
CONTROLLER = "http://jenkins.example/"


class StepError(Exception):
    """A step failed; its message is for the log."""


class RefusedError(Exception):
    """The file says what is not played here: no `catchError` hides that."""


class InterruptionError(Exception):
    """Somebody aborted the build, or a timeout ran out."""


def result_of(error):
    """What an error, or None, makes of a build."""
    if isinstance(error, InterruptionError):
        return "ABORTED"
    return "FAILURE" if error else "SUCCESS"


def worst(*results):
    """The worst of some results."""
    return max(results, key=RESULTS.index)


@dataclass
class Controller:
    """Jobs, builds, workspaces and lockable resources below one folder.

    `jobs` is {name: its Jenkinsfile}, `labels` are those of the agents, `parameters` {name:
    {parameter: default}}; `grace_s` lies between SIGTERM and SIGKILL.
    """

    home: Path
    jobs: dict
    labels: tuple = ("leaselab",)
    parameters: dict = field(default_factory=dict)
    grace_s: float = 20

    def __post_init__(self):
        self.resources = {}
        self.changed = threading.Condition()
        self.waiting = []

    def have_resources(self, labels):
        """Set the lockable resources: {name: labels}."""
        self.resources = {
            name: {"labels": each, "note": "", "held": False} for name, each in labels.items()
        }

    def start(self, job, repository, *, parameters=None, environment=None):
        """Start the next build of a job; its pipeline is of branch main of `repository`."""
        builds = self.home / "jobs" / job
        builds.mkdir(parents=True, exist_ok=True)
        number = 1 + sum(1 for _ in builds.iterdir())
        given = {**self.parameters.get(job, {}), **(parameters or {})}
        build = Build(self, job, number, repository, given)
        build.variables |= environment or {}
        build.thread.start()
        return build

    def run(self, job, repository, **how):
        """Run the next build of a job to its end."""
        return self.start(job, repository, **how).wait()

    def follow(self, build, repository, *, at_most, **how):
        """Run the builds that a build asked for, and what those ask for, but not for ever."""
        waiting, done = list(build.requested), []
        while waiting and len(done) < at_most:
            job, parameters = waiting.pop(0)
            done.append(self.run(job, repository, parameters=parameters, **how))
            waiting += done[-1].requested
        return done


class Build:
    """A build, while it runs and after.

    `stages` is {name: status} (SKIPPED too), `commands` those of all `sh` steps, `posts` the
    conditions that held, `requested` (job, parameters) of the builds that it asked for.
    """

    def __init__(self, controller, job, number, repository, parameters):
        self.controller, self.job, self.repository = controller, job, repository
        self.folder = controller.home / "jobs" / job / str(number)
        self.folder.mkdir()
        self.parameters = parameters
        self.variables = {
            "BUILD_TAG": f"jenkins-{job.replace('/', '-')}-{number}",
            "BUILD_URL": f"{CONTROLLER}job/{job}/{number}/",
            "JOB_NAME": job,
            **parameters,
        }
        self.result = "SUCCESS"
        self.stages, self.open, self.options, self.deadlines = {}, [], set(), []
        self.commands, self.posts, self.requested = [], [], []
        self.where = None
        self.aborted = threading.Event()
        self.thread = threading.Thread(target=self.play, daemon=True)

    def abort(self):
        """Do what a person's click on the red square does; the build goes on to its post."""
        self.aborted.set()

    def wait(self, timeout_s=None):
        """This build, once it is over."""
        self.thread.join(timeout_s)
        assert not self.thread.is_alive(), self.log
        return self

    @property
    def log(self):
        """All that the build has printed so far."""
        path = self.folder / "log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def say(self, line):
        with (self.folder / "log").open("a", encoding="utf-8") as log:
            log.write(f"{line}\n")

    def mark(self, result):
        self.result = worst(self.result, result)

    def mark_stage(self, name, result):
        if self.stages[name] != "SKIPPED":
            self.stages[name] = worst(self.stages[name], result)

    # --- Stages ---------------------------------------------------------------------

    def play(self):
        error = None
        try:
            pipeline = read(self.controller.jobs[self.job])
            self.options = {option.name for option in children(pipeline, "options")}
            error = self.within(pipeline, lambda: self.sequence(pipeline))
        except Exception as failure:  # noqa: BLE001  (a thread's only way to report)
            error = failure
        self.mark(result_of(error))
        self.say(f"Finished: {self.result} {error or ''}")

    def sequence(self, parent, skipped=""):
        """Play the stages of a block and then its post; return the first error."""
        first = None
        for stage in children(parent, "stages"):
            unstable = self.result == "UNSTABLE" and "skipStagesAfterUnstable" in self.options
            error = self.stage(stage, skipped or first or (unstable and "an unstable stage"))
            self.mark(result_of(error))
            first = first or error
        return first if skipped else self.post(parent, first)

    def stage(self, stage, skipped):
        (name,) = stage.args
        self.stages[name] = "SUCCESS"
        self.open.append(name)
        self.say(f"[stage] {name}")
        try:
            with self.set(STAGE_NAME=name):
                if skipped:
                    return self.skip(stage, skipped)
                error = self.within(stage, lambda: self.content(stage))
        except Exception as failure:  # noqa: BLE001  (of an option or an agent)
            error = failure
        finally:
            self.open.pop()
        self.mark_stage(name, result_of(error))
        if self.open and self.stages[name] != "SKIPPED":
            self.mark_stage(self.open[-1], self.stages[name])
        return error

    def skip(self, stage, why):
        self.stages[stage.args[0]] = "SKIPPED"
        self.say(f"[skipped] {stage.args[0]}: {why}")
        self.sequence(stage, skipped=why)

    def content(self, stage):
        when = stage.child("when")
        if when and not all(map(self.holds, when.calls())):
            return self.skip(stage, "when")
        if stage.child("stages"):
            return self.sequence(stage)
        error = None
        try:
            self.steps(stage.child("steps"))
        except Exception as failure:  # noqa: BLE001  (post conditions see it)
            error = failure
        self.mark(result_of(error))
        return self.post(stage, error)

    def holds(self, condition):
        if condition.name == "expression":
            return bool(self.value(condition.body[0]))
        parts = map(self.holds, condition.calls())
        return {"allOf": all, "anyOf": any, "not": lambda all_: not all(all_)}[condition.name](
            parts
        )

    def post(self, parent, error):
        """Play each condition that holds at its turn; return the first error of all."""
        blocks = {each.name: each for each in children(parent, "post")}
        if unknown := blocks.keys() - CONDITIONS.keys():
            raise RefusedError(f"no such condition: {unknown}")
        for condition, wanted in CONDITIONS.items():
            now = worst(self.result, result_of(error))
            if condition not in blocks or wanted not in {None, now}:
                continue
            self.say(f"[post] {condition}")
            self.posts.append(condition)
            try:
                self.steps(blocks[condition])
            except Exception as failure:  # noqa: BLE001  (the other conditions still run)
                self.mark(result_of(failure))
                self.say(f"ERROR: {condition}: {failure}")
                error = error or failure
        return error

    # --- What surrounds a stage -----------------------------------------------------

    def within(self, block, body):
        """Run a body within the options of a block, the first outermost, and on its agent."""
        with ExitStack() as stack:
            for option in children(block, "options"):
                settings = self.settings(option, "option")
                surround = {"lock": self.lock, "timeout": self.timeout}.get(option.name)
                if surround:
                    stack.enter_context(surround(settings))
            agent = block.child("agent")
            if agent and agent.body:
                stack.enter_context(self.agent(agent))
                if "skipDefaultCheckout" not in self.options:
                    self.fetch(self.where, self.repository, "main")
            return body()

    @contextmanager
    def agent(self, agent):
        """A workspace; what was started in it and still runs at the end is ended."""
        says = {each.name: self.value(each.args[0]) for each in agent.walk() if each.args}
        if says["label"] not in self.controller.labels:
            raise StepError(f"no agent has the label {says['label']}")
        place = says.get("customWorkspace", f"workspace/{self.job}")
        self.where = self.controller.home / "agent" / place
        self.where.mkdir(parents=True, exist_ok=True)
        cookie = f"{self.folder} {len(self.commands)}"
        try:
            with self.set(WORKSPACE=str(self.where), JENKINS_NODE_COOKIE=cookie):
                yield
        finally:
            self.end("JENKINS_NODE_COOKIE", cookie)
            self.where = None

    @contextmanager
    def timeout(self, settings):
        place = len(self.deadlines)
        self.deadlines.append(time.monotonic() + settings["time"] * UNITS[settings["unit"]])
        try:
            yield
        finally:
            del self.deadlines[place:]

    @contextmanager
    def lock(self, want):
        """Hold a resource by its name, or one with a label; first come, first served."""
        controller = self.controller
        resources, ticket = controller.resources, (self, want)
        with controller.changed:
            if not self.fitting(want):
                raise StepError(f"lock: there is nothing like {want}")
            self.say(f"waiting for one of {self.fitting(want)}")
            controller.waiting.append(ticket)
            try:
                while not (held := self.free(want)):
                    controller.changed.wait(0.1)
                    self.check()
            finally:
                controller.waiting.remove(ticket)
            resources[held]["held"] = True
        try:
            with self.set(**{want.get("variable", "LOCKED"): held}):
                yield
        finally:
            with controller.changed:
                resources[held]["held"] = False
                controller.changed.notify_all()

    def fitting(self, want):
        return [
            name
            for name, each in self.controller.resources.items()
            if name == want.get("resource") or want.get("label") in each["labels"]
        ]

    def free(self, want):
        """A resource that nobody holds, if it is this build's turn."""
        resources = self.controller.resources
        free = [name for name in self.fitting(want) if not resources[name]["held"]]
        waiting = [build for build, wanted in self.controller.waiting if wanted == want]
        return dict(zip(waiting, free, strict=False)).get(self)

    @contextmanager
    def set(self, **variables):
        before = self.variables
        self.variables = {**before, **variables}
        try:
            yield
        finally:
            self.variables = before

    def check(self):
        """Raise what interrupts: an abort once, a timeout once more after a minute."""
        if self.aborted.is_set():
            self.aborted.clear()
            raise InterruptionError("aborted")
        for place, deadline in enumerate(self.deadlines):
            if time.monotonic() > deadline:
                self.deadlines[place] = time.monotonic() + 60
                raise InterruptionError("Timeout has been exceeded")

    # --- Steps ----------------------------------------------------------------------

    def steps(self, block):
        for call in block.calls():
            self.check()
            settings = self.settings(call, "step")
            step = getattr(self, f"do_{call.name}")
            args = [call] if call.body is not None else map(self.value, call.args)
            step(*args, **({"settings": settings} if settings else {}))

    def settings(self, call, kind):
        if call.name not in ARGUMENTS or call.named.keys() - set(ARGUMENTS[call.name]):
            raise RefusedError(f"line {call.line}: no such {kind}: {call.name} {call.named}")
        return self.value(call.named)

    def value(self, value):
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if isinstance(value, dict):
            return {key: self.value(each) for key, each in value.items()}
        if isinstance(value, Filled):
            return "".join(self.value(part) for part in value.parts)
        if isinstance(value, Call):
            return self.value(value.named)
        if not isinstance(value, Name):
            return value
        root, _, name = value.path.partition(".")
        known = {"params": self.parameters, "env": self.variables, "scm": {"": "scm"}}
        if name not in known.get(root, {}):
            raise RefusedError(f"no such name: {value.path}")
        return known[root][name]

    def do_sh(self, script):
        self.commands.append(script)
        self.say(f"+ {script}")
        if code := self.shell(["sh", "-e", "-c", script], self.where):
            raise StepError(f"script returned exit code {code}")

    def do_dir(self, call):
        before = self.where
        self.where = before / call.args[0]
        self.where.mkdir(parents=True, exist_ok=True)
        try:
            self.steps(call)
        finally:
            self.where = before

    def do_deleteDir(self):  # noqa: N802  (Jenkins' names)
        shutil.rmtree(self.where)

    def do_checkout(self, described=None, settings=None):  # noqa: ARG002  (scm: our own)
        if described is None:
            self.fetch(self.where, self.repository, "main")
            return
        (branch,), (remote,) = described["branches"], described["userRemoteConfigs"]
        (extension,) = described["extensions"]
        place = self.where / extension["relativeTargetDir"]
        self.fetch(place, remote["url"], branch["name"])

    def do_warnError(self, call, settings):  # noqa: N802
        self.do_catchError(
            call, {"buildResult": "UNSTABLE", "stageResult": "UNSTABLE"} | settings
        )

    def do_catchError(self, call, settings):  # noqa: N802
        try:
            self.steps(call)
        except (StepError, InterruptionError) as error:
            stopped = isinstance(error, InterruptionError)
            if stopped and not settings.get("catchInterruptions", True):
                raise
            self.say(f"ERROR: {settings['message']}: {error}")
            self.mark("ABORTED" if stopped else settings["buildResult"])
            self.mark_stage(self.open[-1], "ABORTED" if stopped else settings["stageResult"])

    def do_updateLock(self, settings):  # noqa: N802
        known = self.controller.resources[settings["resource"]]
        removed = settings.get("removeLabels", "").split()
        labels = {*known["labels"], *settings.get("addLabels", "").split()}
        known |= {"labels": sorted(labels.difference(removed)), "note": settings["setNote"]}

    def do_build(self, settings):
        job = settings["job"].removeprefix("/")
        if settings["wait"] or job not in self.controller.jobs:
            raise StepError(f"No item named {job} found, or it would be waited for")
        asked = {each["name"]: each["value"] for each in settings["parameters"]}
        self.requested.append((job, asked))

    def do_junit(self, settings):
        for path in self.matching(settings["testResults"], empty=settings["allowEmptyResults"]):
            ET.parse(path)  # noqa: S314  (the scripts' own)

    def do_publishHTML(self, settings):  # noqa: N802
        target = settings["target"]
        source = self.where / target["reportDir"]
        if (source / target["reportFiles"]).exists():
            shutil.copytree(source, self.folder / "htmlreports" / target["reportName"])

    def do_plot(self, settings):
        (series,) = settings["csvSeries"]
        for path in self.matching(series["file"], empty=True):
            head, *rows = (line.split(",") for line in path.read_text("utf-8").split())
            for row in rows:
                float(row[head.index(series["exclusionValues"])])

    def do_archiveArtifacts(self, settings):  # noqa: N802
        for path in self.matching(settings["artifacts"], empty=settings["allowEmptyArchive"]):
            kept = self.folder / "archive" / path.relative_to(self.where)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, kept)

    def matching(self, pattern, *, empty):
        wanted = f"{pattern}/*" if pattern.endswith("**") else pattern
        files = [path for path in self.where.glob(wanted) if path.is_file()]
        if not files and not empty:
            raise StepError(f"no file is like {pattern}")
        return files

    # --- Processes ------------------------------------------------------------------

    def fetch(self, place, url, name):
        """Check out a branch of the remote, a tag or a hash, in this order."""
        place.mkdir(parents=True, exist_ok=True)
        self.shell(["git", "init", "--quiet"], place)
        heads = "+refs/heads/*:refs/remotes/origin/*"
        if self.shell(
            ["git", "fetch", "--tags", "--force", "--quiet", "--", url, heads], place
        ):
            raise StepError(f"git cannot fetch {url}")
        short = name.removeprefix("*/").removeprefix("origin/")
        for reference in (f"refs/remotes/origin/{short}", f"refs/tags/{short}", short):
            argv = ["git", "checkout", "--quiet", "--force", "--detach", reference, "--"]
            if self.shell(argv, place) == 0:
                return
        raise StepError(f"Couldn't find any revision to build: {name} in {url}")

    def shell(self, argv, folder):
        """The exit code of a program, whose output goes to the log."""
        cookie = f"{self.folder} {time.monotonic_ns()}"
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                env={**os.environ, **self.variables, "JENKINS_SERVER_COOKIE": cookie},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        while True:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(0.05)
                return code if code >= 0 else 128 - code
            try:
                self.check()
            except InterruptionError:
                self.end("JENKINS_SERVER_COOKIE", cookie)
                process.wait()
                raise

    def end(self, variable, cookie):
        """End all that has inherited a variable: SIGTERM, and SIGKILL after the grace."""
        until = time.monotonic() + self.controller.grace_s
        left = signalled(variable, cookie, signal.SIGTERM)
        while left and time.monotonic() < until:
            time.sleep(0.02)
            left = signalled(variable, cookie, 0)
        if left:
            self.say(f"killing {left}: no end on SIGTERM")
            signalled(variable, cookie, signal.SIGKILL)


def children(parent, section):
    """The calls in a section of a block."""
    block = parent.child(section)
    return block.calls() if block else []


def signalled(variable, cookie, number):
    """The processes with this in their environment, which got a signal (0: none)."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # gone already, or of another user
            if f"{variable}={cookie}\0".encode() in path.read_bytes():
                os.kill(int(path.parent.name), number)
                pids.append(int(path.parent.name))
    return pids
