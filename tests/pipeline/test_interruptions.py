"""Aborts, timeouts and locks between builds that run at the same time."""

import time

import pytest
from tests.pipeline.sample import JENKINSFILE, make_controller, make_pipelines, write_pipeline

SLOW = """
  stage('Caught') {
    steps {
      catchError(stageResult: 'ABORTED') {
        timeout(time: 300, unit: 'MILLISECONDS') { sh 'sleep 50' }
      }
      echo 'went on'
    }
  }
  stage('Slow') {
    options { timeout(time: 300, unit: 'MILLISECONDS') }
    steps { warnError(message: 'Slow', catchInterruptions: false) { sh 'sleep 51' } }
    post {
      always { sh 'sleep 52' }
      aborted { echo 'was aborted' }
      unstable { echo 'was unstable' }
    }
  }
  stage('After') { steps { echo 'never' } }
"""


def wait_for(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return make_pipelines(tmp_path_factory.mktemp("interruptions") / "pipelines")


@pytest.fixture
def controller(tmp_path):
    return make_controller(tmp_path / "controller", {"leaselab": JENKINSFILE}, grace_s=0.5)


def test_an_abort_ends_what_runs_and_cleans_up(controller, repository):
    """A child that does not hear SIGTERM is killed after the grace."""
    build = controller.start("leaselab", repository, parameters={"OPTIONS": "measure=stubborn"})
    wait_for(lambda: "ready" in build.log, "the script has not started")
    build.abort()
    record = build.wait(60)
    assert record.result == "ABORTED"
    assert "no end on SIGTERM" in record.log
    assert record.stages["Measure"] == "ABORTED"
    assert record.stages["Archive"] == "SKIPPED"
    assert record.posts == ["always", "cleanup"]
    assert record.commands[-1] == "scripts/ci/release.sh"
    assert controller.resource("bench1")["heldBy"] is None


def test_a_timeout_aborts_its_body_alone_and_a_caught_one_goes_on(tmp_path, repository):
    file = write_pipeline(tmp_path / "Jenkinsfile", SLOW)
    controller = make_controller(
        tmp_path / "controller", {"slow": file}, timeout_grace_s=3, grace_s=5
    )
    record = controller.run("slow", repository)
    assert record.result == "ABORTED"
    assert "went on" in record.log.splitlines()
    assert record.stages == {"Caught": "ABORTED", "Slow": "ABORTED", "After": "SKIPPED"}
    # The post is inside the stage's timeout: it has the grace, and is then interrupted, too.
    assert record.posts == ["always", "aborted"]
    slow = record.log.split("[stage] Slow")[1]
    assert slow.count("Cancelling nested steps due to timeout") == 2
    assert "was aborted" in record.log.splitlines()


def test_a_bench_is_one_builds_at_a_time(controller, repository):
    """The others wait in line; who gives up leaves it, and who dies is forgotten."""
    holding = controller.start("leaselab", repository, parameters={"OPTIONS": "measure=sleep"})
    wait_for(lambda: "measure on bench1" in holding.log, "the first build has no bench")
    waiting = controller.start("leaselab", repository)
    giving_up = controller.start("leaselab", repository)
    for build in (waiting, giving_up):
        wait_for(lambda build=build: "is locked" in build.log, "a build does not wait")
    assert "is locked by leaselab #1, waiting..." in waiting.log

    giving_up.abort()
    record = giving_up.wait(60)
    assert record.result == "ABORTED"
    assert record.commands == []
    assert record.posts == []

    assert "Running in" not in waiting.log
    holding.kill()
    record = waiting.wait(60)
    assert record.result == "SUCCESS"
    (lock,) = record.document["locks"]
    assert lock["waited"] > 0
    assert controller.resource("bench1")["heldBy"] is None


def test_two_benches_serve_two_builds(tmp_path, repository):
    controller = make_controller(
        tmp_path / "controller",
        {"leaselab": JENKINSFILE},
        benches=["bench1", "bench2"],
    )
    first = controller.start("leaselab", repository, parameters={"OPTIONS": "measure=sleep"})
    wait_for(lambda: "measure on bench1" in first.log, "the first build has no bench")
    second = controller.run("leaselab", repository)
    assert second.document["locks"][0]["names"] == ["bench2"]
    assert "measure on bench2" in second.log
    first.abort()
    assert first.wait(60).result == "ABORTED"
