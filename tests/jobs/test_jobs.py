"""What the jobs are: where they lie, what they run, when, and with what."""

import json
import os
import re
import subprocess
import sys

import yaml
from tests.jobs.definitions import JOBS, ROOT, made, parameters, pipelines
from tests.pipeline.jenkinsfile import read

from leaselab.catalog.family import load_families

PROJECT = yaml.safe_load((JOBS / "project.yaml").read_text("utf-8"))
SETTINGS = PROJECT[0]["project"]
CONTROLLER = yaml.safe_load((JOBS / "controller/jenkins.yaml").read_text("utf-8"))


def jobs(family):
    """{name: XML} of one family, by the beginning of its jobs' names."""
    by_name = {
        name: tree
        for name, tree in pipelines().items()
        if name.startswith(f"leaselab/{family}")
    }
    assert by_name
    return by_name


def script(tree):
    """The pipeline file of a job, a path of this repository."""
    return tree.findtext("definition/scriptPath")


def test_all_families_of_jobs_lie_in_one_folder():
    folder, *others = sorted(made().jobs)
    assert folder == "leaselab"
    assert all(re.fullmatch(r"leaselab/leaselab-[a-z0-9-]+", name) for name in others)
    families = {
        re.match(r"leaselab(-lab-check|-[a-z]+|)", name.removeprefix("leaselab/"))[0]
        for name in made().jobs
    }
    assert families == {
        *("leaselab", "leaselab-commit", "leaselab-branches", "leaselab-nightly"),
        *("leaselab-weekly", "leaselab-release", "leaselab-range"),
        *("leaselab-lab-check", "leaselab-review", "leaselab-selftest"),
    }


def test_every_job_is_in_a_view():
    assert not made().views.keys() & {name.partition("/")[0] for name in made().jobs}
    patterns = [re.compile(view.findtext("includeRegex")) for view in made().views.values()]
    for name in made().jobs:
        if name != "leaselab":
            assert [pattern for pattern in patterns if pattern.fullmatch(name)], name


def test_nights_and_weeks_measure_every_scenario_of_a_server():
    """The responder is none: its figures say how good the others are."""
    done = subprocess.run(
        [sys.executable, "-m", "leaselab", "list", "--scenarios", "--json"],
        cwd=ROOT,
        env={**os.environ, "LEASELAB_ROOT": str(ROOT), "PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True,
        check=True,
        text=True,
    )
    known = [
        scenario["name"]
        for scenario in json.loads(done.stdout)
        if scenario["server"]["kind"] != "responder"
        if not scenario["name"].startswith("own-")
        if not scenario["name"].endswith("-shared-3")  # for a bench with two partners
    ]
    nightly = [parameters(tree)["SCENARIO"] for tree in jobs("leaselab-nightly-").values()]
    families = load_families(JOBS.parent / "scenarios")
    named = [parameters(tree)["SCENARIO"] for tree in jobs("leaselab-weekly-").values()]
    weekly = [
        scenario
        for name in named
        for scenario in (families[name].scenarios if name in families else [name])
    ]
    assert sorted([*nightly, *weekly]) == sorted(known)


def test_a_release_is_compared_by_all_that_its_server_has():
    of_server = {
        name
        for name, family in load_families(JOBS.parent / "scenarios").items()
        if {scenario.server.kind for scenario in family.scenarios.values()} == {"kea"}
    }
    assert set(SETTINGS["release_experiment"]) == of_server
    text = (JOBS / "release.Jenkinsfile").read_text("utf-8")
    started = re.findall(r"build job: '/leaselab/leaselab-release-([^']+)', wait: false", text)
    assert started == SETTINGS["release_experiment"]
    for tree in jobs("leaselab-release-").values():
        assert parameters(tree)["COMMITS"] == SETTINGS["release_commits"]


def test_a_week_asks_for_the_branch_as_one_commit_or_for_what_is_packaged():
    """So that what the archive has of this commit is not measured again."""
    packaged = set()
    for tree in jobs("leaselab-weekly-").values():
        asked = parameters(tree)
        if asked["REPO"]:
            assert asked["COMMITS"] == SETTINGS["server_branch"]
        else:
            packaged.add(asked["SCENARIO"])
        (trigger,) = tree.iter("hudson.triggers.TimerTrigger")
        assert trigger.findtext("spec") == SETTINGS["weekly_cron"]
    assert packaged == set(SETTINGS["packaged_weekly_scenario"])


def test_a_job_declares_every_parameter_that_its_pipeline_reads():
    """The pipeline declares none: its defaults would replace each job's own at every run."""
    for name, tree in pipelines().items():
        text = (ROOT / script(tree)).read_text("utf-8")
        assert set(re.findall(r"\bparams\.(\w+)", text)) <= parameters(tree).keys(), name
        assert read(ROOT / script(tree)).child("parameters") is None


def test_jobs_of_one_pipeline_have_the_same_parameters():
    of = {}
    for tree in pipelines().values():
        of.setdefault(script(tree), set()).add(tuple(parameters(tree)))
    ours = ("range", "release", "check", "review", "selftest")
    assert of.keys() == {"Jenkinsfile", *(f"jobs/{name}.Jenkinsfile" for name in ours)}
    assert {path: len(sets) for path, sets in of.items()} == dict.fromkeys(of, 1)


def test_a_push_and_a_poll_find_the_jobs_that_watch_a_branch():
    """Without a trigger that polls, the git plugin ignores a job when a push is reported."""
    assert set(SETTINGS["commit_scenario"]) <= set(SETTINGS["night_scenario"])
    assert SETTINGS["commit_scenario_default"] in SETTINGS["commit_scenario"]
    for tree in jobs("leaselab-commit-").values():
        (trigger,) = tree.iter("hudson.triggers.SCMTrigger")
        assert trigger.findtext("ignorePostCommitHooks") == "false"
        assert parameters(tree)["REPO"] == SETTINGS["server_url"]
        assert parameters(tree)["COMMIT"] == SETTINGS["server_branch"]


def test_what_is_started_by_hand_or_by_hash_is_triggered_by_nothing():
    for name in ("leaselab-commit", "leaselab-release", "leaselab-range"):
        tree = made().jobs[f"leaselab/{name}"]
        assert not [element for element in tree.iter() if element.tag.endswith("Trigger")]


def test_branches_are_measured_by_the_job_that_nothing_triggers():
    text = (JOBS / "multibranch/leaselab.Jenkinsfile").read_text("utf-8")
    (job,) = re.findall(r"build job: '/([^']+)'", text)
    tree = made().jobs[job]
    assert job == "leaselab/leaselab-commit"
    passed = set(re.findall(r"string\(name: '(\w+)'", text))
    assert passed == {"COMMIT", "AGAINST"}
    assert passed <= parameters(tree).keys()
    multibranch = made().jobs["leaselab/leaselab-branches"]
    assert multibranch.findtext("factory/scriptPath") == "leaselab.Jenkinsfile"


def test_pushes_may_wait_for_several_benches_and_nights_do_not_pile_up():
    one_at_a_time = (
        "properties/org.jenkinsci.plugins.workflow.job.properties."
        "DisableConcurrentBuildsJobProperty"
    )
    for name, tree in pipelines().items():
        alone = tree.find(one_at_a_time) is not None
        assert alone is not name.startswith("leaselab/leaselab-commit"), name
        strategy = tree.find("properties/jenkins.model.BuildDiscarderProperty/strategy")
        assert int(strategy.findtext("artifactNumToKeep")) > 0, name
        assert int(strategy.findtext("numToKeep")) > 0, name


def test_a_pipeline_is_read_from_the_repository_and_wipes_no_workspace():
    """A bench's workspace holds the build tree that makes the next build fast."""
    for tree in pipelines().values():
        definition = tree.find("definition")
        assert definition.get("class").endswith("CpsScmFlowDefinition")
        assert definition.findtext("lightweight") == "true"
        assert not list(definition.find("scm/extensions"))
    assert not list(made().jobs["leaselab/leaselab-branches"].iter("WipeWorkspace"))


def test_benches_are_those_that_the_controller_declares():
    declared = CONTROLLER["unclassified"]["lockableResourcesManager"]["declaredResources"]
    assert [row["name"] for row in declared] == SETTINGS["bench"]
    assert {row["labels"] for row in declared} == {SETTINGS["benches"]}
    checked = [parameters(tree)["BENCH"] for tree in jobs("leaselab-lab-check-").values()]
    assert checked == SETTINGS["bench"]


def test_credentials_are_ids_that_the_controller_has():
    (domain,) = CONTROLLER["credentials"]["system"]["domainCredentials"]
    known = {next(iter(credential.values()))["id"] for credential in domain["credentials"]}
    named = {
        element.text
        for tree in made().jobs.values()
        for element in tree.iter("credentialsId")
        if element.text
    } | {
        parameters(tree)["CREDENTIALS"]
        for tree in pipelines().values()
        if parameters(tree).get("CREDENTIALS")
    }
    assert named
    assert named <= known
