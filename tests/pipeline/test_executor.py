"""What is played is as in Jenkins: results, skipped stages, posts, locks, aborts, refusals."""

import re

import pytest
from tests.pipeline.executor import Controller
from tests.processes import await_end
from tests.repositories import commit, make_repository
from tests.waiting import until

STAGES = """
  stage('Shaky') {
    steps { warnError(message: 'Shaky', catchInterruptions: false) { sh 'exit 3' } }
    post { unstable { sh 'echo seen' }; success { sh 'echo never' } }
  }
  stage('Caught') {
    when { not { allOf { expression { params.YES }; expression { params.EMPTY } } } }
    steps {
      catchError(message: 'c', buildResult: 'SUCCESS', stageResult: 'UNSTABLE') { sh 'false' }
      sh 'echo on'
    }
  }
  stage('Never') { when { anyOf { expression { params.EMPTY } } } steps { sh 'exit 9' } }
"""
POST = """
  post {
    cleanup { sh 'echo cleanup' }; notBuilt { sh 'true' }
    unstable { sh 'exit 1' }; always { sh 'true' }
  }
"""
STUBBORN = '(trap "" TERM; echo $$ ready; sleep 300) & echo pid $!; wait'


@pytest.fixture
def begin(tmp_path):
    """Start a build of a job that has these stages; what all builds share is one controller."""
    repository = make_repository(tmp_path / "pipelines")
    commit(repository, "Begin", {"file": "\n"})
    file = tmp_path / "Jenkinsfile"
    controller = Controller(tmp_path / "home", {"job": file}, grace_s=0.2)
    controller.have_resources({"rack1": ["bench"], "rack2": ["bench"]})

    def start(stages, head="agent { label 'leaselab' }"):
        file.write_text(f"pipeline {{\n{head}\nstages {{\n{stages}\n}}\n}}\n", encoding="utf-8")
        given = {"YES": "yes", "EMPTY": ""}
        return controller.start("job", repository, parameters=given)

    return start


def await_line(build, pattern):
    until(lambda: build.log, lambda log: re.search(pattern, log, re.MULTILINE))


def test_results_only_get_worse_and_posts_see_them(begin):
    build = begin(STAGES, f"agent {{ label 'leaselab' }}\n{POST}").wait()
    assert build.stages == {"Shaky": "UNSTABLE", "Caught": "UNSTABLE", "Never": "SKIPPED"}
    assert build.posts == ["unstable", "always", "unstable", "cleanup"]
    assert build.result == "FAILURE", "the last unstable condition failed"
    assert build.commands[-1] == "echo cleanup"
    assert "seen" in build.log.splitlines()
    head = "agent { label 'leaselab' }\noptions { skipStagesAfterUnstable() }"
    build = begin(STAGES, head).wait()
    assert list(build.stages.values()) == ["UNSTABLE", "SKIPPED", "SKIPPED"]
    build = begin("stage('A') { steps { sh 'exit 2' } }" + STAGES).wait()
    assert (build.result, build.stages["Shaky"]) == ("FAILURE", "SKIPPED")


def test_an_abort_ends_what_runs_and_the_next_build_gets_the_lock(begin):
    """A child that ignores SIGTERM is killed after the grace; the post still runs."""
    locked = "options { lock(resource: 'rack1', variable: 'BENCH') }"
    either = "options { lock(label: 'bench', quantity: 1, variable: 'BENCH') }"
    post = "post { aborted { sh 'echo A' } }"
    first = begin(f"stage('A') {{ {locked}\nsteps {{ sh '{STUBBORN}' }}\n{post} }}")
    await_line(first, r"^\d+ ready")
    second = begin(f"stage('A') {{ {locked}\nsteps {{ sh 'echo has $BENCH' }} }}")
    await_line(second, "waiting for one of")
    assert second.commands == []
    third = begin(f"stage('A') {{ {either}\nsteps {{ sh 'echo has $BENCH' }} }}")
    assert third.wait().result == "SUCCESS", third.log
    assert "has rack2" in third.log
    first.abort()
    assert first.wait().result == "ABORTED"
    assert first.posts == ["aborted"]
    await_end(int(re.search(r"^pid (\d+)", first.log, re.MULTILINE)[1]))
    assert second.wait().result == "SUCCESS"
    assert "has rack1" in second.log


def test_a_timeout_interrupts_its_stage_and_warnerror_does_not_catch_it(begin):
    timeout = "options { timeout(time: 1, unit: 'MILLISECONDS') }"
    step = "warnError(message: 'A', catchInterruptions: false) { sh 'sleep 300' }"
    build = begin(f"stage('A') {{ {timeout}\nsteps {{ {step} }} }}").wait()
    assert (build.result, build.stages) == ("ABORTED", {"A": "ABORTED"})


@pytest.mark.parametrize(
    ("stage", "reason"),
    [
        ("steps { warnError(message: 'A') { println 'x' } }", "no such step: println"),
        ("options { ansiColor('x') }\nsteps { sh 'true' }", "no such option"),
        ("steps { sh params.NO }", "no such name: params.NO"),
        ("agent { label 'no' }\nsteps { sh 'true' }", "no agent has the label no"),
        ("options { lock(label: 'no') }\nsteps { sh 'true' }", "nothing like"),
        ("steps { sh 'true' }\npost { allways { sh 'true' } }", "allways"),
        ("steps { if (x) { sh 'true' }", "wanted"),
        ("steps { build job: 'no', wait: false, parameters: [] }", "No item named no"),
    ],
)
def test_what_is_not_there_fails_the_build(begin, stage, reason):
    build = begin(f"stage('A') {{ {stage} }}").wait()
    assert build.result == "FAILURE"
    assert reason in build.log
