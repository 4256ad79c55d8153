"""scripts/ci/check-jobs finds what jenkins-jobs lets pass, and names it."""

import re

import pytest
from tests.jobs.definitions import ROOT, change, few, run

from ci.jobcheck.__main__ import checked
from leaselab.model.errors import LeaselabError


def check(folder=None):
    return run(ROOT / "scripts/ci/check-jobs", *([folder] if folder else []))


def test_the_repositorys_own_definitions_are_sound():
    done = check()
    assert done.returncode == 0, done.stderr
    assert "every key is read" in done.stdout
    assert done.stderr == ""


WRONG = {
    # Of each: file, its text, what stands there instead, and what is said of it.
    "a key of a template": ("commit", "    triggers:", "    trigers:", "triggers"),
    "an option of a component": (
        "commit",
        "          cron: '{poll_cron}'",
        "          cron: '{poll_cron}'\n          ignore-post-comit-hooks: true",
        "ignore-post-commit-hooks",
    ),
    "an option in a macro": ("macros", "wipe-workspace:", "wipe-workspce:", "wipe-workspace"),
    "an option of a parameter": ("check", "trim: true", "trimm: true", "trim"),
    "an argument of a macro": (
        "range",
        "          commits: '{range_commits}'",
        "          commits: '{range_commits}'\n          comits: x",
        "commits",
    ),
    "a key of what is no component": (
        "defaults",
        "lightweight-checkout:",
        "lightweight-checkot:",
        "lightweight-checkout",
    ),
    "an option of a multibranch source": (
        "branches",
        "discover-branches: true",
        "discover-branchs: true",
        "discover-branches",
    ),
    "a key of a view": ("views", "    recurse: true", "    recurs: true", "recurse"),
    "a column of a view": ("views", "- weather", "- weathr", "weather"),
    "a variable of the project": (
        "project",
        "    baseline: previous",
        "    baseline: previous\n    baselin: last",
        "baseline",
    ),
    "a variable of one bench": (
        "project",
        "      - rack2",
        "      - rack2:\n          inventry: inventory/rack2",
        "inventory",
    ),
    "a variable of a template": (
        "nightly",
        "    builds: 120",
        "    builds: 120\n    artefacts: 3",
        "artifacts",
    ),
    "a template that no project uses": (
        "project",
        "      - leaselab-release\n",
        "",
        "no project uses",
    ),
    "a macro that no job calls": (
        "macros",
        "# How many builds",
        "- trigger:\n    name: unused\n    triggers: []\n\n# How many builds",
        "no job calls trigger macro 'unused'",
    ),
    "a schedule": (
        "project",
        "check_cron: H * * * *",
        "check_cron: H 25 * * *",
        "hour: 25 is not in 0 to 23",
    ),
    "an option that is deprecated": (
        "macros",
        "          wipe-workspace: false",
        "          wipe-workspace: false\n          clean: {before: true}",
        "is deprecated",
    ),
    "a tag that is deprecated": (
        "branches",
        "    description: >-\n      The branches of the server's repository that contain "
        "leaselab.Jenkinsfile.",
        "    description: !include-raw-escape: views.yaml",
        "'!include-raw-escape:' is deprecated",
    ),
    "what jenkins-jobs refuses by itself": (
        "commit",
        "          cron: '{poll_cron}'",
        "          crn: '{poll_cron}'",
        "Missing 'cron'",
    ),
    "what is no YAML": ("check", "concurrent: false", "concurrent: [", ""),
}


def complaints(folder):
    """What the check says of a folder, a line each."""
    try:
        return [str(finding) for finding in checked(folder).findings]
    except LeaselabError as error:
        return [str(error)]


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_found_and_named_with_its_file_and_line(what, tmp_path):
    name, old, new, said = WRONG[what]
    folder = few(tmp_path)
    change(folder, f"{name}.yaml", old, new)
    findings = complaints(folder)
    text = "\n".join(findings)
    assert text
    assert said in text
    if f"perhaps {said}" in text and "column" not in text:
        (wrong,) = set(re.findall(rf"found (\S+), wanted perhaps {said}\)", text))
        lines = (folder / f"{name}.yaml").read_text("utf-8").splitlines()
        places = tuple(
            f"{folder / name}.yaml:{number}:"
            for number, line in enumerate(lines, 1)
            if f"{wrong}:" in line
        )
        assert any(finding.startswith(places) for finding in findings), text
        once = text.count(f"found {wrong},") == 1
        assert once or name != "defaults", "a key that many jobs share is named once"


def test_the_command_says_it_in_the_houses_words(tmp_path):
    folder = few(tmp_path)
    change(folder, "commit.yaml", "    triggers:", "    trigers:")
    done = check(folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(line.startswith("leaselab: ") for line in done.stderr.splitlines())
    assert "found trigers, wanted perhaps triggers" in done.stderr


def test_a_schedule_without_h_is_only_a_warning(tmp_path):
    folder = few(tmp_path)
    change(folder, "project.yaml", "night_cron: H H(20-23) * * *", "night_cron: 0 2 * * *")
    done = check(folder)
    assert done.returncode == 0
    said = "warning: no H in the schedule of leaselab/leaselab-nightly-v4-memfile"
    assert said in done.stderr


def test_a_folder_that_is_not_there_or_empty_is_bad_input(tmp_path):
    assert check(tmp_path / "nowhere").returncode == 2
    (tmp_path / "empty").mkdir()
    done = check(tmp_path / "empty")
    assert done.returncode == 2
    assert "no job is defined" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        b'"text"',
        b"- job:",
        b"- job: []",
        b"- job: {name: x, triggers: 5}",
        b"- job: {name: x, triggers: [timed: 5]}",
        b"- job: {name: x, builders: [shell: ]}",
        b"- job: {name: x, parameters: [string: {}]}",
        b"\xff\xfe",
        b"- job: {name: x\0y}",
    ],
)
def test_what_jenkins_jobs_breaks_on_is_bad_input(text, tmp_path):
    (tmp_path / "hostile.yaml").write_bytes(text)
    assert "jenkins-jobs fails on these definitions: " in "".join(complaints(tmp_path))


HOOKED = """
- job:
    name: hooked
    triggers:
      - pollscm: {cron: ""}
    builders:
      - shell: "true"
"""


def test_an_empty_schedule_is_taken_and_subfolders_are_read_if_asked(tmp_path):
    (tmp_path / "below" / "deeper").mkdir(parents=True)
    (tmp_path / "below" / "deeper" / "other.yml").write_text(HOOKED, "utf-8")
    done = check(tmp_path)
    assert done.returncode == 2
    assert "no job is defined; read subfolders, too, with -r" in done.stderr
    (tmp_path / "hooked.yaml").write_text(HOOKED.replace("hooked", "top"), "utf-8")
    done = check(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 jobs, 0 views" in done.stdout
    assert "1 YAML files of subfolders are not read without -r" in done.stdout
    done = run(ROOT / "scripts/ci/check-jobs", "-r", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 jobs, 0 views" in done.stdout
    assert "not read" not in done.stdout
