"""What a controller would be sent is what was agreed on, to the letter."""

import shutil

import pytest
from tests.jobs.definitions import GOLDEN, ROOT, change, copy, made, run


def golden(*arguments):
    return run(ROOT / "scripts/ci/golden.sh", *arguments)


@pytest.fixture
def folders(tmp_path):
    """A copy of the definitions, and one of what was agreed on."""
    kept = tmp_path / "golden"
    shutil.copytree(GOLDEN, kept)
    return copy(tmp_path), kept


def test_every_job_and_view_is_as_agreed_on():
    done = golden()
    assert done.returncode == 0, done.stdout


def test_there_is_one_file_for_each_job_and_view():
    names = {name.replace("/", ".") for name in [*made().jobs, *made().views]}
    assert {path.stem for path in GOLDEN.glob("*.xml")} == names


def test_a_change_is_shown_and_fails_as_do_jobs_that_are_gone_or_new(folders):
    jobs, kept = folders
    change(jobs, "commit.yaml", "quiet-period: 30", "quiet-period: 31")
    change(jobs, "project.yaml", "      - leaselab-release\n", "")
    change(jobs, "project.yaml", "      - rack2\n", "      - rack2\n      - rack3\n")
    done = golden(jobs, kept)
    assert done.returncode == 1
    assert "-  <quietPeriod>30</quietPeriod>" in done.stdout
    assert "+  <quietPeriod>31</quietPeriod>" in done.stdout
    assert "leaselab.leaselab-release.xml" in done.stdout
    assert "leaselab.leaselab-lab-check-rack3.xml" in done.stdout
    assert "scripts/ci/golden.sh --renew" in done.stderr


def test_renewing_takes_what_is_made_now_and_removes_what_is_not(folders):
    jobs, kept = folders
    change(jobs, "project.yaml", "      - rack2\n", "      - rack3\n")
    assert golden("--renew", jobs, kept).returncode == 0
    assert not (kept / "leaselab.leaselab-lab-check-rack2.xml").exists()
    assert golden(jobs, kept).returncode == 0


def test_definitions_that_jenkins_jobs_refuses_say_so(folders):
    jobs, kept = folders
    change(jobs, "project.yaml", "      - leaselab-range\n", "      - leaselab-rnge\n")
    done = golden(jobs, kept)
    assert done.returncode == 2
    assert "leaselab-rnge" in done.stderr
