"""The stages Measure and Verdict: alone, in turn with a fixed build, or as a duel."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts" / "ci"
LEASELAB = """#!/bin/sh
echo "$*" >> calls
case $1 in review) echo "of $5"; exit ${REVIEW_ENDS:-0} ;; esac
for word; do case $word in ci/anchor.md) exit ${ANCHOR_ENDS:-0} ;; esac; done
for word; do case $word in --live) exit ${DUEL_ENDS:-0} ;; esac; done
exit ${PREVIOUS_ENDS:-0}
"""
HERE = {"PATH": os.environ["PATH"], "INVENTORY": "inventory/docker", "REPO": "ssh://git/kea"}
BOTH = "20261121T113005Z-v4-memfile-3f9a\n20261121T113005Z-v4-memfile-77aa\n"


@pytest.fixture
def stage(tmp_path):
    """Run a stage in a checkout whose `leaselab` notes its calls; exit code and calls."""
    folder = tmp_path / "scripts" / "ci"
    folder.mkdir(parents=True)
    for name in ("lib.sh", "measure.sh", "publish.sh", "verdict.sh"):
        (folder / name).write_bytes((SCRIPTS / name).read_bytes())
    (tmp_path / "leaselab").write_text(LEASELAB)
    (tmp_path / "leaselab").chmod(0o755)
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "ids").write_text("20261121T113005Z-v4-memfile-3f9a\n")

    def run(name, ids=None, **environment):
        if ids is not None:
            (tmp_path / "ci" / "ids").write_text(ids)
        done = subprocess.run(
            ["bash", folder / f"{name}.sh"],
            env={**HERE, **environment},
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )
        notes = tmp_path / "calls"
        calls = notes.read_text().splitlines() if notes.exists() else []
        notes.unlink(missing_ok=True)
        return done.returncode, calls

    return run


def test_without_an_anchor_there_is_one_verdict(stage):
    code, (call,) = stage("verdict")
    assert code == 0
    assert call.startswith("compare --threshold=5 --markdown ci/comment.md --junit ci/j")
    assert call.endswith(" -- previous 20261121T113005Z-v4-memfile-3f9a")


@pytest.mark.parametrize(
    ("previous", "anchor", "code"), [("0", "0", 0), ("0", "1", 1), ("1", "0", 1), ("3", "1", 3)]
)
def test_an_anchor_is_asked_whatever_the_baseline_said(stage, previous, anchor, code):
    """Ten commits that each lose 2 % pass the one before each of them."""
    ends = {"PREVIOUS_ENDS": previous, "ANCHOR_ENDS": anchor}
    judgement, calls = stage("verdict", BOTH, ANCHOR="v1", **ends)
    assert judgement == code
    of_anchor, of_commit = BOTH.split()
    assert [call.split()[-2:] for call in calls] == [
        ["previous", of_commit],
        [of_anchor, of_commit],
    ]
    assert "--markdown ci/anchor.md --junit ci/junit-anchor.xml" in calls[1]


def test_a_commit_is_measured_in_turn_with_its_anchor_or_alone(stage):
    alone = "step sweep .leaselab/bench.json --id-file ci/ids"
    assert stage("measure") == (0, [alone])
    code, (call,) = stage(
        "measure", ANCHOR="v1", SCENARIO="v4-memfile", OPTIONS="--set rounds=3"
    )
    assert code == 0
    assert call == (
        "run -i inventory/docker --repo server --commit HEAD --anchor=v1 --id-file ci/ids "
        "--set rounds=3 -- v4-memfile"
    )

    packages = {"ANCHOR": "v1", "REPO": "", "SCENARIO": "v4-memfile"}
    assert stage("measure", **packages) == (0, [alone]), "packages have no anchor"
    code, (call,) = stage("verdict", **packages)
    assert code == 0
    assert call.endswith(" -- previous 20261121T113005Z-v4-memfile-3f9a")


@pytest.mark.parametrize("ends", ["0", "1", "3"])
def test_a_duel_is_measured_whatever_it_says_and_the_stage_verdict_reports_it(stage, ends):
    code, (call,) = stage(
        "measure", BOTH, AGAINST="release", SCENARIO="v4-memfile", DUEL_ENDS=ends
    )
    assert code == 0
    assert "--live --repo server --scenario=v4-memfile --id-file ci/ids" in call
    assert call.endswith(" -- release HEAD")
    code, (call,) = stage("verdict", AGAINST="release", ANCHOR="v1", PREVIOUS_ENDS=ends)
    assert code == int(ends)
    assert call.endswith(f" --policy=server -- {' '.join(BOTH.split())}")


@pytest.mark.parametrize(
    ("ends", "ids"), [("4", BOTH), ("2", ""), ("3", ""), ("3", BOTH.splitlines()[0])]
)
def test_a_duel_that_was_not_measured_ends_the_stage(stage, ends, ids):
    code, _ = stage("measure", ids, AGAINST="release", SCENARIO="v4-memfile", DUEL_ENDS=ends)
    assert code == int(ends)
    code, calls = stage("measure", "", AGAINST="--inventory=x", SCENARIO="v4-memfile")
    assert (code, calls) == (2, [])


@pytest.mark.parametrize(("ends", "code"), [("0", 0), ("1", 0), ("2", 1)])
def test_the_comment_ends_with_the_known_changes_which_do_not_fail_it(
    stage, tmp_path, ends, code
):
    comment = tmp_path / "ci" / "comment.md"
    comment.write_text("A verdict\n")
    published, calls = stage("publish", SCENARIO="v4-memfile", REVIEW_ENDS=ends)
    assert published == code
    assert calls[-1] == "review --markdown - -- v4-memfile"
    assert comment.read_text() == "A verdict\nof v4-memfile\n"
