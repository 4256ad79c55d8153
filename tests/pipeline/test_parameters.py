"""Parameters of a build: what a user can and cannot pass to the scripts."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.hostile import FOREIGN, NAME

from leaselab.cli.commands import find

SCRIPTS = Path(__file__).parents[2] / "scripts" / "ci"
LEASELAB = """#!/bin/sh
printf '%s\\n' "$@" >>calls
"""
GIVEN = {
    "SCENARIO": "v4-memfile-mt",
    "REPO": "ssh://git@git.example.org/kea.git",
    "COMMIT": "origin/feature/x_1",
    "BASELINE": "previous",
    "ANCHOR": "Kea-2.6.3",
    "THRESHOLD": "2.5",
    "OPTIONS": "--set rounds=9 --set=late_s=0.25",
    "INVENTORY": "inventory/racks",
    "BENCH": "rack1",
}
COMMITS = {"COMMITS": "Kea-2.6.2..master"}


@pytest.fixture
def stage(tmp_path):
    """Run a stage in a checkout whose `leaselab` notes its words; what ended, and these."""
    folder = tmp_path / "scripts" / "ci"
    folder.mkdir(parents=True)
    for script in SCRIPTS.glob("*.sh"):
        (folder / script.name).write_bytes(script.read_bytes())
    (tmp_path / "leaselab").write_text(LEASELAB)
    (tmp_path / "leaselab").chmod(0o755)

    def run(name, **environment):
        (tmp_path / "ci").mkdir(exist_ok=True)
        (tmp_path / "ci" / "ids").write_text("20261121T113005Z-v4-memfile-3f9a\n")
        done = subprocess.run(
            ["bash", folder / f"{name}.sh"],
            env={"PATH": os.environ["PATH"], **environment},
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )
        calls = tmp_path / "calls"
        words = calls.read_text().splitlines() if calls.exists() else []
        return done, words

    return run


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INVENTORY", "server/benches.yml"),
        ("INVENTORY", "inventory/../server"),
        ("OPTIONS", "--set rounds=3 -i server"),
        ("OPTIONS", "--inventory=server"),
        ("OPTIONS", "--results /etc"),
        ("OPTIONS", "--budget 30"),  # of a duel, and this is none
        ("SCENARIO", "--results=/etc"),
        ("SCENARIO", "v4-memfile --full"),
        ("SCENARIO", "v4-memfile\n--full"),
        ("BASELINE", "--output=/etc"),
        ("BASELINE", "server/forged"),
        ("BASELINE", "/etc"),
        ("ANCHOR", "v2.6.3\n--repo=server"),
        ("ANCHOR", "--repo=server"),
        ("THRESHOLD", "9e9"),
        ("THRESHOLD", "5 --repo=server"),
        ("BENCH", "--take-over"),
        ("COMMIT", "--upload-pack=id"),
        ("BRANCH", "-u"),
        ("REPO", "ext::id"),
        ("REPO", "ext::sh -c id"),
        ("REPO", "--upload-pack=id"),
        ("COMMITS", "--results=/etc"),
        ("COMMITS", "v1,--results=/etc"),
        *((name, NAME) for name in ("COMMIT", "BRANCH", "REPO")),
        *((name, FOREIGN) for name in (*GIVEN, *COMMITS)),
        ("MONTH", "2026-13"),
        ("MONTH", "last --results=/etc"),
    ],
)
def test_a_value_that_is_an_option_or_other_code_is_refused_before_any_command(
    stage, name, value
):
    done, words = stage("check", **{**GIVEN, **COMMITS, name: value})
    assert done.returncode == 2
    assert done.stderr.startswith(f"leaselab: {name} ")
    assert "wanted" in done.stderr
    assert "\x1b" not in done.stderr
    assert words == []


def test_options_of_a_duel_are_its_own_and_a_build_takes_none(stage):
    given = {**GIVEN, "AGAINST": "release", "OPTIONS": "--first-parent"}
    done, words = stage("check", **given)
    assert done.returncode == 2
    assert "OPTIONS has an unknown option of a duel (found '--first-parent'" in done.stderr
    assert words == []
    given["OPTIONS"] = "--budget 30 --set trial_s=5"
    done, words = stage("build", **given)
    assert done.returncode == 0
    assert "--budget" not in words
    done, words = stage("measure", **given)
    assert words[words.index("--budget") :][:4] == ["--budget", "30", "--set", "trial_s=5"]


def test_the_report_of_a_duel_is_of_its_two_results(stage):
    done, words = stage("report", **{**GIVEN, "AGAINST": "release", "OPTIONS": ""})
    assert done.returncode == 0
    assert not [word for word in words if word.startswith("--against")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BASELINE", "last~2"),
        ("BASELINE", "20261121T113005Z-v4-memfile-3f9a"),
        ("BASELINE", ""),
        ("REPO", "git@git.example.org:group/kea.git"),
        ("REPO", "/srv/git/kea.git"),
        ("REPO", "https://git.example.org/~ana/kea.git"),
        ("COMMIT", "*/main"),
        ("COMMIT", "3b78831"),
        ("COMMITS", "Kea-2.6.2,Kea-2.6.3"),
        ("COMMITS", "master"),
        ("MONTH", "last"),
        ("MONTH", "2026-12"),
    ],
)
def test_a_value_as_people_give_them_is_taken(stage, name, value):
    done, words = stage("check", **{**GIVEN, **COMMITS, name: value})
    assert (done.returncode, done.stderr) == (0, "")
    assert words[:2] == ["lab", "take"]


SAYING_ONE = ("check", "provision", "build", "deploy", "tune", "measure", "archive")
SAYING_ONE += ("report", "verdict", "range", "release")


@pytest.mark.parametrize(
    ("script", "anchor"), [*((script, "") for script in SAYING_ONE), ("measure", "Kea-2.6.3")]
)
def test_what_a_stage_says_is_understood_and_names_follow_the_options(stage, script, anchor):
    """The true command's parser reads it, and a value that begins with `--` stays a value."""
    done, words = stage(script, **{**GIVEN, **COMMITS, "ANCHOR": anchor})
    assert done.returncode == 0, done.stderr
    command, words = find(words)
    parser = command.parser()
    parser.parse_args(words)
    if "--" in words:
        place = words.index("--")
        hostile = [*words[:place], "--", *("--results=/etc" for _ in words[place + 1 :])]
        assert "/etc" not in str(getattr(parser.parse_args(hostile), "results", ""))
    else:
        assert GIVEN["SCENARIO"] not in words
