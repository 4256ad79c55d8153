"""What a controller would be sent is what was agreed on, to the letter."""

import shutil

import pytest
from tests.jobs.definitions import GOLDEN, ROOT, change, copy, few, made, run


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


def kept_names(folder):
    """Names of all jobs, each with the name of the job whose file is its own."""
    lines = (folder / "jobs.txt").read_text(encoding="ascii").splitlines()
    return dict(line.split() for line in lines)


def test_every_job_and_view_has_a_file_or_shares_that_of_its_template():
    names = {name.replace("/", ".") for name in [*made().jobs, *made().views]}
    kept = kept_names(GOLDEN)
    assert kept.keys() == names
    assert {path.stem for path in GOLDEN.glob("*.xml")} == set(kept.values())


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
    first = "leaselab.leaselab-lab-check-rack1"
    assert f"+leaselab.leaselab-lab-check-rack3 {first}" in done.stdout
    assert "scripts/ci/golden.sh --renew" in done.stderr


def test_renewing_takes_what_is_made_now_and_removes_what_is_not(tmp_path):
    jobs, kept = few(tmp_path), tmp_path / "golden"
    shutil.copytree(GOLDEN, kept)
    change(jobs, "project.yaml", "      - rack2\n", "      - rack3\n")
    assert golden("--renew", jobs, kept).returncode == 0
    names = kept_names(kept)
    assert "leaselab.leaselab-lab-check-rack2" not in names
    assert "leaselab.leaselab-lab-check-rack3" in names
    assert golden(jobs, kept).returncode == 0


def test_definitions_that_jenkins_jobs_refuses_say_so(folders):
    jobs, kept = folders
    change(jobs, "project.yaml", "      - leaselab-range\n", "      - leaselab-rnge\n")
    done = golden(jobs, kept)
    assert done.returncode == 2
    assert "leaselab-rnge" in done.stderr
