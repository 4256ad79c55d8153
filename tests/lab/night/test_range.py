"""A range of commits on the real lab: built, measured, interrupted, gone on with, repeated."""

import json
import signal

import pytest
from tests.lab.building import BUILD_S
from tests.lab.commands import Engine, leaselab

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

SCENARIO = "v4-dnsmasq"
QUICK = [
    "--set=rounds=1",
    "--set=trial_s=1",
    "--set=wait_s=0.5",
    "--set=late_s=0.25",
    "--set=relative_width=0.5",
]
QUICK += ["--set=warm_up_s=0", "--set=confirm_s=0"]


def run(source, *arguments, results):
    words = ["run", SCENARIO, "--repo", source.path, *QUICK, "--results", results]
    return leaselab(*words, *arguments, "--json", timeout_s=BUILD_S)


@pytest.fixture(scope="module")
def measured_range(source, tmp_path_factory):
    """The folder of a range's results, the rows of it, and what was said at its end.

    Of two commits the first does not build; the command is interrupted in the sweep of the
    second, and given again.
    """
    results = tmp_path_factory.mktemp("range") / "results"
    commits = ("--commits", source.range)
    words = ["run", "v4-dnsmasq", "--repo", source.path, *QUICK, "--results", results]
    stopped = Engine(*words, *commits)
    try:
        stopped.saw(r"^v4-dnsmasq at \w+: run 1/1: \d+/s for", BUILD_S)
        stopped.process.send_signal(signal.SIGTERM)
    finally:
        assert stopped.end()[0] == 130
    done = run(source, *commits, results=results)
    assert done.returncode == 5, done.stderr
    return results, json.loads(done.stdout), done.stderr


def test_a_range_is_built_and_measured_and_goes_on_after_an_interrupt(source, measured_range):
    """The broken commit is reported, and nothing is measured twice."""
    results, rows, reported = measured_range
    assert [row["commit"] for row in rows] == [source.broken, source.mended]
    by_name = {row["commit"]: row["results"]["v4-dnsmasq"] for row in rows}
    assert reported.count("measured before: ") == 1
    assert "v4-dnsmasq: deployed as it was" in reported
    assert " (from the journal)" in reported
    assert by_name[source.broken]["outcome"] == "build-failed"
    assert by_name[source.mended]["value"]

    again = run(source, "--commits", source.range, results=results)
    assert again.stderr.count("measured before: ") == 2
    assert leaselab("dev", "archive", "verify", "--results", results).returncode == 0


def test_a_rerun_measures_the_same_build_again(measured_range):
    results, _, _ = measured_range
    shown = leaselab("show", "last", "--results", results, "--json")
    again = leaselab("rerun", "last", "--results", results, "--json", timeout_s=BUILD_S)
    assert again.returncode == 0, again.stderr
    before, after = (
        json.loads(done.stdout)["servers"]["server"]["build"]["artifact_sha256"]
        for done in (shown, again)
    )
    assert before == after
