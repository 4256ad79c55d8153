"""The gate of a code host: what its pipelines say, and how its script ends."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests import gates
from tests.repositories import commit, git, make_repository

ROOT = Path(__file__).parents[2]
WORKFLOWS = [*(ROOT / ".github" / "workflows").glob("*.yml")]
CHECK = Path(sys.executable).with_name("check-jsonschema")
LEASELAB = """#!/bin/sh
printf '%s\\n' "$@" >>"$CALLS"
case $1 in
  cost | compare) printf '%s\\n' "$SAID" >&2 && exit "${CODE:-0}" ;;
  lab) [ "$2" != take ] || exit "${TAKEN:-0}" ;;
esac
"""


def schema(name, *paths):
    words = ("--builtin-schema", f"vendor.{name}", *map(str, paths))
    return subprocess.run(
        [CHECK, *words], capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.fixture(params=["none", "rack1"])
def jobs(request):
    """Name and job of each job of GitLab's pipeline."""
    document = gates.component(bench=request.param)
    return {name: job for name, job in document.items() if "script" in job}


def steps():
    """Workflow, job and step of each step of GitHub's."""
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            for step in job["steps"]:
                yield path.name, job, step


def commands():
    document = gates.component()
    for job in document.values():
        yield from (*job.get("script", ()), *job.get("after_script", ()))
    yield from (step["run"] for _, _, step in steps() if "run" in step)


def test_githubs_workflows_fit_its_schema():
    assert len(WORKFLOWS) == 2
    done = schema("github-workflows", *WORKFLOWS)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("bench", ["none", "rack1"])
def test_gitlabs_component_fits_its_schema(bench, tmp_path):
    place = tmp_path / ".gitlab-ci.yml"
    place.write_text(yaml.safe_dump(gates.component(bench=bench)))
    done = schema("gitlab-ci", place)
    assert done.returncode == 0, done.stdout
    place.write_text(place.read_text().replace("resource_group", "resource_grop"))
    assert schema("gitlab-ci", place).returncode != 0


def test_every_command_parses_and_every_script_is_there():
    seen = [*commands()]
    assert len(seen) > 7
    for command in seen:
        subprocess.run(["bash", "-n", "-c", command], check=True)
        (name,) = re.findall(r'"\$LEASELAB/(\S+)"', command)
        assert (ROOT / name).is_file()


def test_what_a_stranger_names_is_never_part_of_a_command():
    for command in commands():
        assert "${{" not in command


def test_gitlabs_image_is_named_and_never_one_that_anybody_may_publish():
    header = (
        gates.COMPONENT.read_text(encoding="utf-8").removeprefix("---\n").split("\n---\n")[0]
    )
    assert "default" not in yaml.safe_load(header)["spec"]["inputs"]["image"]


def test_no_job_that_builds_a_commit_has_a_token(jobs):
    for name, job in jobs.items():
        builds = any("gate.sh" in line for line in job["script"])
        assert builds == (job["extends"] == ".leaselab-gate"), name
        assert builds != (job["extends"] == ".leaselab-comment"), name
    document = gates.component()
    assert document[".leaselab-comment"]["environment"]["name"] == "leaselab"
    assert document[".leaselab-comment"]["variables"]["GIT_STRATEGY"] == "none"
    assert "environment" not in document[".leaselab-gate"]
    for name, job, step in steps():
        if name == "leaselab.yml":
            assert not re.search(r"token|secrets", json.dumps(step).lower())
            assert "permissions" not in job
    gate, comment = (
        yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())["permissions"]
        for name in ("leaselab.yml", "leaselab-comment.yml")
    )
    assert (gate, comment) == ({"contents": "read"}, {})


def test_the_job_that_comments_takes_no_file_of_the_commit_but_one():
    for name, _, step in steps():
        uses = step.get("uses", "")
        assert not uses or re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", uses)
        if uses.startswith("actions/checkout"):
            assert name == "leaselab.yml"
            assert step["with"]["persist-credentials"] is False
    for path in WORKFLOWS:
        assert "pull_request_target" not in path.read_text(encoding="utf-8")


def test_a_strangers_commit_reaches_a_bench_by_a_maintainer_alone():
    rules = gates.component(bench="rack1")["leaselab-rate"]["rules"]
    foreign = "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID != $CI_PROJECT_ID"
    (manual,) = [rule for rule in rules if foreign in rule["if"]]
    assert manual["when"] == "manual"
    # The rule before keeps a fork's own pipeline away.
    assert rules[rules.index(manual) - 1]["when"] == "never"
    text = (ROOT / ".github" / "workflows" / "leaselab.yml").read_text(encoding="utf-8")
    rate = yaml.safe_load(text)["jobs"]["rate"]
    assert "head.repo.full_name == github.repository" in rate["if"]


def test_a_bench_has_one_job_at_a_time_and_is_released():
    rate = gates.component(bench="rack1")["leaselab-rate"]
    assert rate["resource_group"] == "leaselab-rack1"
    assert "release.sh" in rate["after_script"][0]
    text = (ROOT / ".github" / "workflows" / "leaselab.yml").read_text(encoding="utf-8")
    rate = yaml.safe_load(text)["jobs"]["rate"]
    assert rate["concurrency"]["group"] == "leaselab-${{ inputs.bench }}"
    (back,) = [step for step in rate["steps"] if "release.sh" in step.get("run", "")]
    assert back["if"] == "always()"


@pytest.fixture
def gate(tmp_path):
    """Run the gate of a merge request; its `leaselab` notes words and ends as it is asked."""
    own, server = tmp_path / "leaselab", make_repository(tmp_path / "server")
    (own / "scripts" / "ci").mkdir(parents=True)
    for script in (ROOT / "scripts" / "ci").glob("*.*"):
        (own / "scripts" / "ci" / script.name).write_bytes(script.read_bytes())
    (own / "leaselab").write_text(LEASELAB)
    for path in (own / "leaselab", own / "scripts" / "ci" / "gate.sh"):
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    point = commit(server, "Begin", {"a": "1"}, minute=1)
    commit(server, "Go on", {"a": "2"}, minute=2)
    git(server, "checkout", "--quiet", "-b", "change", point)
    head = commit(server, "Change", {"b": "1"}, minute=3)
    calls = tmp_path / "calls"

    def run(kind="cost", **environment):
        given = {"BASE": "main", "COMMIT": head, "SCENARIO": "v4-dnsmasq"}
        done = subprocess.run(
            [own / "scripts" / "ci" / "gate.sh", kind],
            env={
                "PATH": os.environ["PATH"],
                "CI_PROJECT_DIR": str(server),
                "CALLS": str(calls),
                "SAID": "leaselab: the lab is broken",
                **given,
                **environment,
            },
            check=False,
            capture_output=True,
            text=True,
        )
        return done, calls.read_text().splitlines() if calls.exists() else []

    run.server, run.point, run.head = server, point, head
    run.out = server / "leaselab-out"
    return run


def test_a_merge_request_is_counted_against_its_branch_point(gate):
    done, words = gate(OPTIONS="--set rounds=2")
    assert done.returncode == 0, done.stderr
    assert words[0] == "cost"
    assert {f"--commit={gate.head}", f"--against={gate.point}", "--set"} <= {*words}
    assert words[-2:] == ["--", "v4-dnsmasq"]


@pytest.mark.parametrize("part", ["cost", "rate"])
def test_of_a_push_the_rules_of_the_repository_say_what_is_measured_against_what(gate, part):
    _, words = gate(part, BASE="", SCENARIO="")
    assert not [word for word in words if word.startswith(("--against", "--scenario"))]
    assert {gate.point, gate.head, "v4-dnsmasq"}.isdisjoint(words)


def test_a_link_of_the_commit_leads_nowhere(gate, tmp_path):
    kept = tmp_path / "kept" / "file"
    kept.parent.mkdir()
    kept.write_text("kept")
    gate.out.symlink_to(kept.parent)
    gate()
    assert kept.read_text() == "kept"
    assert [*kept.parent.iterdir()] == [kept]
    assert (gate.out / "comment.md").is_file()


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, 70, 75])
def test_gitlab_gets_the_exit_code_and_reports_without_a_result(gate, code):
    done, _ = gate(CODE=str(code))
    assert done.returncode == code
    assert "leaselab: the lab is broken" in (gate.out / "comment.md").read_text()
    assert json.loads((gate.out / "code-quality.json").read_text()) == []


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (3, 0), (4, 0), (5, 5), (75, 0)])
def test_github_gets_a_warning_where_the_commit_is_not_at_fault(gate, tmp_path, code, ends):
    summary = tmp_path / "summary"
    variables = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done, _ = gate(CODE=str(code), SAID="::error::a commit's own words", **variables)
    assert done.returncode == ends, done.stderr
    first, *others = done.stdout.splitlines()
    assert f"::{first.removeprefix('::stop-commands::')}::" in others
    assert ("::warning title=Leaselab::" in done.stdout) == (code in (3, 4, 75))
    assert summary.read_text() == (gate.out / "comment.md").read_text()


@pytest.mark.parametrize(
    "changes",
    [
        {"LEASELAB_TOKEN": "token"},
        {"LEASELAB_TOKEN_FILE": "/run/token"},
        {"BASE": "--upload-pack=x"},
        {"BASE": "unknown"},
        {"COMMIT": "--all"},
        {"SCENARIO": "--results=/"},
        {"OPTIONS": "-i elsewhere"},
        {"INVENTORY": "/elsewhere"},
    ],
)
def test_a_token_and_what_is_no_parameter_are_refused_before_anything_runs(gate, changes):
    done, words = gate(**changes)
    assert (done.returncode, words) == (2, []), done.stderr


def test_a_bench_that_is_broken_is_inspected_so_that_its_fault_is_shown(gate):
    _, words = gate("rate", INVENTORY="inventory/docker", TAKEN="4")
    assert "compare" not in words
    assert words[words.index("check") - 1] == "lab"
    _, words = gate("rate", INVENTORY="inventory/docker", TAKEN="75")
    assert words.count("check") == 1


def test_a_duel_is_of_the_branch_point_and_the_commit(gate):
    done, words = gate("rate", INVENTORY="inventory/docker", OPTIONS="--find 5", CODE="1")
    assert done.returncode == 1
    assert "--live" in words
    assert words[-3:] == ["--", gate.point, gate.head]
