"""A range of commits on the real lab: built, measured, interrupted, gone on with, repeated."""

import json
import signal

import pytest
from tests.dnsmasq_changes import break_build, mend_build
from tests.lab.commands import Engine, leaselab
from tests.sources import SourceLists, repository_of

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
BUILD_S = 900


class Source:
    """dnsmasq's repository with a commit that does not build and one that does."""

    def __init__(self, folder):
        self.path = folder / "dnsmasq"
        lists = SourceLists(folder / "lists", ["trixie"])
        (self.base,) = repository_of("dnsmasq", ["trixie"], self.path, lists).values()
        self.broken = break_build(self.path, minute=10)
        self.mended = mend_build(self.path, "  /* a packet, a reply */\n", minute=11)
        self.range = f"{self.base}..{self.mended}"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return Source(tmp_path_factory.mktemp("source"))


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
