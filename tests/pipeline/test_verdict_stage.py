"""The stage Verdict: against the baseline, and against a fixed result where there is one."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts" / "ci"
LEASELAB = """#!/bin/sh
echo "$*" >> calls
for word; do case $word in version:*) exit ${ANCHOR_ENDS:-0} ;; esac; done
exit ${PREVIOUS_ENDS:-0}
"""


@pytest.fixture
def verdict(tmp_path):
    """Run the stage in a checkout whose `leaselab` notes its calls; exit code and calls."""
    folder = tmp_path / "scripts" / "ci"
    folder.mkdir(parents=True)
    for name in ("lib.sh", "verdict.sh"):
        (folder / name).write_bytes((SCRIPTS / name).read_bytes())
    (tmp_path / "leaselab").write_text(LEASELAB)
    (tmp_path / "leaselab").chmod(0o755)
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "ids").write_text("20261121T113005Z-v4-memfile-3f9a\n")

    def run(**environment):
        done = subprocess.run(
            ["bash", folder / "verdict.sh"],
            env={"PATH": os.environ["PATH"], "INVENTORY": "inventory/docker", **environment},
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )
        calls = (tmp_path / "calls").read_text().splitlines()
        (tmp_path / "calls").unlink()
        return done.returncode, calls

    return run


def test_without_an_anchor_there_is_one_verdict(verdict):
    code, (call,) = verdict()
    assert code == 0
    assert call.startswith("compare --threshold=5 --markdown ci/comment.md --junit ci/j")
    assert call.endswith(" -- previous 20261121T113005Z-v4-memfile-3f9a")


@pytest.mark.parametrize(
    ("previous", "anchor", "code"), [("0", "0", 0), ("0", "1", 1), ("1", "0", 1), ("3", "1", 3)]
)
def test_an_anchor_is_asked_whatever_the_baseline_said(verdict, previous, anchor, code):
    """Ten commits that each lose 2 % pass the one before each of them."""
    found, calls = verdict(ANCHOR="version:2.6.3", PREVIOUS_ENDS=previous, ANCHOR_ENDS=anchor)
    assert found == code
    assert [call.split()[-2] for call in calls] == ["previous", "version:2.6.3"]
    assert "--markdown ci/anchor.md --junit ci/junit-anchor.xml" in calls[1]
