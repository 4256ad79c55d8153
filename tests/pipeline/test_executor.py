"""Builds of the sample pipeline: what exit codes come to, and what a build leaves."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.pipeline.sample import JENKINSFILE, make_controller, make_pipelines, make_server
from tests.repositories import git

STAGES = ["Bench", "Check", "Provision", "Build", "Deploy", "Tune"]
LATER = ["Measure", "Archive", "Report", "Verdict"]
# By the exit code of one script: the parameters, and what the build comes to.
BUILDS = {
    0: ({"BASELINE": "last"}, "SUCCESS"),
    1: ({"OPTIONS": "verdict=1"}, "UNSTABLE"),
    2: ({"OPTIONS": "check=2"}, "FAILURE"),
    3: ({"OPTIONS": "measure=3"}, "UNSTABLE"),
    4: ({"OPTIONS": "deploy=4"}, "NOT_BUILT"),
    5: ({"REPO": "SERVER", "COMMIT": "v1", "OPTIONS": "build=5"}, "FAILURE"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("executor")


@pytest.fixture(scope="module")
def repository(place):
    return make_pipelines(place / "pipelines")


@pytest.fixture(scope="module")
def server(place):
    return make_server(place / "server")


@pytest.fixture(scope="module")
def controllers(place):
    return {
        code: make_controller(place / str(code), {"leaselab": JENKINSFILE}) for code in BUILDS
    }


@pytest.fixture(scope="module")
def builds(controllers, repository, server):
    """{exit code: the build's record}; two run at a time."""

    def run(code):
        parameters = {
            name: value.replace("SERVER", str(server))
            for name, value in BUILDS[code][0].items()
        }
        return controllers[code].run("leaselab", repository, parameters=parameters)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(BUILDS, pool.map(run, BUILDS), strict=True))


@pytest.mark.parametrize("code", BUILDS)
def test_an_exit_code_of_a_script_comes_to_its_result(builds, code):
    assert builds[code].result == BUILDS[code][1], builds[code].log


def test_a_build_runs_every_script_with_its_true_command(builds):
    scripts = [
        "check",
        "provision",
        "deploy",
        "tune",
        "measure",
        "archive",
        "report",
        "verdict",
    ]
    assert builds[0].commands == [
        *(f"scripts/ci/{name}.sh" for name in scripts),
        "scripts/ci/publish.sh",
        "scripts/ci/release.sh",
    ]
    assert "+ scripts/ci/measure.sh\n" in builds[0].log.replace("] +", "]\n+")
    assert "measure on bench1 measures v4-memfile" in builds[0].log


def test_every_step_is_recorded_with_its_stage_and_exit(builds):
    steps = [step for step in builds[3].document["steps"] if step["step"] == "sh"]
    measured = next(
        step for step in steps if step["settings"]["script"] == "scripts/ci/measure.sh"
    )
    assert (measured["stage"], measured["exit"]) == ("Measure", 3)
    assert measured["error"] == "script returned exit code 3"
    assert measured["seconds"] > 0


def test_a_stage_that_is_not_wanted_is_skipped_and_has_run_nothing(builds):
    stages = {stage["name"]: stage["skipped"] for stage in builds[0].document["stages"]}
    assert stages["Build"] == "when conditional"
    assert builds[0].stages["Build"] == "SKIPPED"
    assert set(stages) == {*STAGES, *LATER}


def test_stages_after_an_unstable_one_are_skipped(builds):
    assert builds[3].stages["Measure"] == "UNSTABLE"
    assert builds[3].stages["Bench"] == "UNSTABLE"
    assert builds[3].stages["Tune"] == "SUCCESS"
    skipped = {stage["name"]: stage["skipped"] for stage in builds[3].document["stages"]}
    for name in ("Archive", "Report", "Verdict"):
        assert skipped[name] == "earlier stage(s) marking the build as unstable"


def test_post_conditions_are_asked_one_after_the_other(builds):
    """The result at that moment counts: unstable makes of it what the later ones see."""
    assert builds[0].posts == ["always", "cleanup"]
    assert builds[1].posts == ["always", "unstable", "cleanup"]
    assert builds[4].posts == ["always", "unstable", "notBuilt", "cleanup"]
    assert builds[5].posts == ["always", "unstable", "cleanup"]


def test_a_failing_post_condition_fails_the_build_and_the_others_still_run(builds):
    assert builds[2].result == "FAILURE"
    assert builds[2].commands[-2:] == ["scripts/ci/outcome.sh commit", "scripts/ci/release.sh"]
    assert "Error when executing unstable post condition" in builds[2].log


def test_a_broken_bench_is_taken_out_and_the_job_asked_for_again(builds, controllers):
    broken = controllers[4].resource("bench1")
    assert broken["labels"] == ["leaselab-broken"]
    assert broken["note"] == "broken: http://jenkins.example/job/leaselab/1/"
    assert broken["heldBy"] is None
    (request,) = builds[4].requested
    assert request["job"] == "leaselab"
    assert request["parameters"] == builds[4].document["parameters"]


def test_the_build_that_was_asked_for_runs_on_another_bench(builds, controllers, repository):
    """Without another bench it fails at once: the label is nobody's any more."""
    controller = controllers[4]
    (again,) = controller.follow(builds[4], repository, at_most=1)
    assert again.result == "FAILURE"
    assert "nothing has the label leaselab-bench" in again.log
    assert again.document["number"] == "2"


def test_the_server_is_checked_out_at_the_commit_beside_the_scripts(
    builds, controllers, server
):
    workspace = controllers[5].home / "agent" / "leaselab" / "bench1"
    assert (workspace / "server" / "version").read_text() == "1\n"
    assert git(workspace / "server", "rev-parse", "HEAD") == git(server, "rev-parse", "v1")
    assert builds[5].stages["Build"] == "UNSTABLE"


def test_the_workspace_is_the_pipelines_own_repository(builds, controllers, repository):
    workspace = controllers[0].home / "agent" / "leaselab" / "bench1"
    assert git(workspace, "rev-parse", "HEAD") == git(repository, "rev-parse", "main")
    assert f"Running in {workspace}" in builds[0].log


def test_a_lock_is_recorded_and_released(builds, controllers):
    (lock,) = builds[0].document["locks"]
    assert lock["wanted"] == "Label: leaselab-bench, Quantity: 1"
    assert lock["names"] == ["bench1"]
    assert lock["held"] > 0
    assert controllers[0].resource("bench1")["heldBy"] is None


def test_tests_pages_plots_and_files_are_kept(builds):
    kept = builds[0].folder
    assert builds[0].document["tests"] == {"total": 2, "failed": 1, "skipped": 0}
    assert (kept / "htmlreports/Leaselab/index.html").read_text() == "<p>report</p>\n"
    assert (kept / "archive/ci/plot.csv").exists()
    assert "ci/junit.xml" in builds[0].document["artifacts"]
    series = (kept.parent / "plots/leaselab-max-rate.csv").read_text().splitlines()
    assert series == ['"Value","Series Label","Build Number"', '"11222","max_rate","1"']


def test_lines_of_the_log_have_their_time(builds):
    lines = builds[0].log.splitlines()
    assert all(line.startswith("[20") for line in lines[:-1])
    assert lines[-1] == "Finished: SUCCESS"


def test_the_record_is_whole_at_any_time(builds):
    for build in builds.values():
        document = json.loads((build.folder / "build.json").read_text())
        assert document["result"] == build.result
        assert document["seconds"] >= max(stage["seconds"] for stage in document["stages"])
