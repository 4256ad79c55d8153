"""A repository whose pipeline is small: scripts of some lines that do as configured.

By parameter OPTIONS: `measure=3` makes measure.sh exit with 3, `measure=sleep` lets it
sleep for 5 min, `measure=stubborn` lets it sleep whatever SIGTERM says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.pipeline.executor import Controller
from tests.repositories import commit, git, make_repository

JENKINSFILE = Path(__file__).with_name("sample.Jenkinsfile")
STAGES = (
    *("check", "provision", "build", "deploy", "tune"),
    *("measure", "archive", "report", "verdict"),
)

_STAGE = """#!/bin/sh
# BASELINE, THRESHOLD, INVENTORY: "$BASELINE" "$THRESHOLD" "$INVENTORY"
mkdir -p ci
echo "NAME on $BENCH measures $SCENARIO"
answer=0
for word in $OPTIONS; do
  case $word in NAME=*) answer=${word#*=} ;; esac
done
echo "$answer" >ci/status
case $answer in
  sleep) sleep 300 ;;
  stubborn) (trap '' TERM && echo ready && sleep 300) & wait ;;
  *) exit "$answer" ;;
esac
"""

_OUTCOME = """#!/bin/sh
status=$(cat ci/status)
case $1 in
  lab) [ "$status" != 4 ] ;;
  commit) [ "$status" != 2 ] && [ "$status" != 5 ] ;;
esac
"""

_PUBLISH = """#!/bin/sh
mkdir -p ci/report
echo '<p>report</p>' >ci/report/index.html
printf 'max_rate,loss\\n11222,2.5\\n' >ci/plot.csv
echo '<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>' \\
  >ci/junit.xml
"""

_RELEASE = """#!/bin/sh
echo "released $BENCH"
"""

SCRIPTS = {
    **{name: _STAGE.replace("NAME", name) for name in STAGES},
    "outcome": _OUTCOME,
    "publish": _PUBLISH,
    "release": _RELEASE,
}

# As jobs/controller/provides.yaml has it, with more steps than our pipelines need: the
# executor's own tests use them.
PROVIDES = {
    "plugins": [
        *("git", "htmlpublisher", "junit", "lockable-resources", "pipeline-build-step", "plot"),
        *("pipeline-model-definition", "timestamper", "workflow-basic-steps"),
        *("workflow-durable-task-step", "workflow-scm-step", "credentials-binding"),
    ],
    "provides": {
        "core": ["archiveArtifacts", "buildDiscarder", "logRotator", "string", "booleanParam"],
        "credentials-binding": ["withCredentials", "usernamePassword"],
        "git": ["scmGit"],
        "htmlpublisher": ["publishHTML"],
        "junit": ["junit"],
        "lockable-resources": ["lock", "updateLock"],
        "pipeline-build-step": ["build"],
        "pipeline-model-definition": [
            *("disableConcurrentBuilds", "skipDefaultCheckout", "skipStagesAfterUnstable"),
            *("always", "changed", "fixed", "regression", "aborted", "success"),
            *("unsuccessful", "unstable", "failure", "notBuilt", "cleanup"),
        ],
        "plot": ["plot"],
        "slack": ["slackSend"],
        "timestamper": ["timestamps"],
        "workflow-basic-steps": [
            *("catchError", "dir", "echo", "error", "retry", "sleep", "timeout"),
            *("unstable", "warnError", "withEnv", "deleteDir"),
        ],
        "workflow-durable-task-step": ["sh"],
        "workflow-scm-step": ["checkout"],
    },
}


def make_pipelines(path: Path, more: Mapping[str, str] | None = None) -> Path:
    """Make a repository with the small scripts, and further ones by their names."""
    repository = make_repository(path)
    scripts = SCRIPTS | dict(more or {})
    files = {f"scripts/ci/{name}.sh": text for name, text in scripts.items()}
    commit(repository, "Scripts", files)
    for name in files:
        (repository / name).chmod(0o755)
    commit(repository, "Make them executable", {}, minute=1)
    return repository


def write_pipeline(path: Path, body: str, *, head: str = "agent any") -> Path:
    """Write a Jenkinsfile of one's own: what is in `stages`, and what is before it."""
    path.write_text(f"pipeline {{\n{head}\nstages {{\n{body}\n}}\n}}\n", encoding="utf-8")
    return path


def make_server(path: Path) -> Path:
    """Make a repository like that of a server: v1, and a commit after it on master."""
    server = make_repository(path)
    commit(server, "One", {"version": "1\n"})
    git(server, "branch", "-m", "master")
    git(server, "tag", "v1")
    commit(server, "Two", {"version": "2\n"}, minute=1)
    return server


def make_controller(
    home: Path,
    jobs: Mapping[str, Path],
    benches: Sequence[str] = ("bench1",),
    **how: object,
) -> Controller:
    """A controller with benches of the label leaselab-bench."""
    controller = Controller(home, PROVIDES, dict(jobs), **how)  # type: ignore[arg-type]
    controller.have_resources({bench: ["leaselab-bench"] for bench in benches})
    return controller
