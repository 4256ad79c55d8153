"""A profile of the packaged server, and what is said where there can be none."""

import gzip
import json

import pytest
from tests.lab.commands import complaint, leaselab

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

SCENARIO = "v4-dnsmasq"
QUICK = [
    "--procedure=profile",
    "--set=rounds=1",
    "--set=rate=1000",
    "--set=duration_s=2",
    "--set=wait_s=0.5",
]
QUICK += ["--set=late_s=0.25", "--set=warm_up_s=0"]
PERF = "/usr/bin/perf"


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """The folder of results with one profile, and its document."""
    results = tmp_path_factory.mktemp("profiled") / "results"
    done = leaselab("run", SCENARIO, *QUICK, "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    (path,) = results.glob("2*/*/*/result.json")
    return path.parent, json.loads(path.read_text(encoding="utf-8"))


def test_where_cpu_time_goes_is_sampled_in_the_local_lab(profiled):
    """Half of it or more in the program itself, with whole stacks; nothing is lost."""
    place, document = profiled
    (round_,) = document["rounds"]
    text = gzip.decompress((place / round_["files"]["stacks"]).read_bytes()).decode()
    stacks = [line.rpartition(" ")[0] for line in text.splitlines()]
    assert all(stack.startswith("dnsmasq;") for stack in stacks)
    assert sum("[dnsmasq]" in stack for stack in stacks) > 0.9 * len(stacks)
    assert round_["metrics"]["samples"] > 20
    assert round_["metrics"]["lost_samples"] == 0
    assert 0.2 < round_["metrics"]["sampled_us"] / round_["metrics"]["cpu_us"] < 1


@pytest.mark.usefixtures("profiled")
def test_without_perf_there_is_no_profile_and_one_line_says_why(on_host, tmp_path):
    on_host("server", f"mv {PERF} {PERF}.away")
    try:
        done = leaselab("run", SCENARIO, *QUICK, "--results", tmp_path)
    finally:
        on_host("server", f"mv {PERF}.away {PERF}")
    assert done.returncode == 3, done.stderr
    assert f"there is no profile: {PERF} is not installed" in complaint(done)
    (path,) = tmp_path.glob("2*/*/*/result.json")
    assert json.loads(path.read_text(encoding="utf-8"))["outcome"] == "invalid"
