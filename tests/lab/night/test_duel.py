"""Duels on the real lab: dnsmasq of two commits, and a server that is braked."""

import json

import pytest
from tests.dnsmasq_changes import PACKET, SPIN
from tests.lab.commands import SHORT_DUEL, leaselab
from tests.sources import SourceLists, change, repository_of

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

SCENARIO = "v4-dnsmasq"
DUEL_S = 1800
"""Two builds, six deployments and a count on a busy machine, before the duel begins (s)."""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """dnsmasq's repository, a release, and a commit that is much slower: path and hashes."""
    folder = tmp_path_factory.mktemp("source")
    path = folder / "dnsmasq"
    lists = SourceLists(folder / "lists", ["trixie"])
    (base,) = repository_of("dnsmasq", ["trixie"], path, lists).values()
    slow = change(path, "src/dhcp.c", PACKET, PACKET + SPIN, "Spin for each packet", minute=1)
    return path, base, slow


def test_two_commits_that_are_both_up_are_distinguished_and_the_function_is_named(
    source, results, tmp_path
):
    path, base, slow = source
    words = ["compare", base, slow, "--live", "--repo", path, "--scenario", SCENARIO]
    words += [*SHORT_DUEL, "--code-quality", tmp_path / "quality.json"]
    done = leaselab(*words, "--results", results, "--json", timeout_s=DUEL_S)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["word"] == "slower"
    assert document["ratio"] < 0.9
    assert [document["a"]["commit"], document["b"]["commit"]] == [base, slow]
    instructions, *_ = document["cost"]["parts"]
    assert instructions["changed"]
    assert instructions["b"] > instructions["a"] + 300_000, "it was counted first"
    # What spins is inlined into whatever calls it, or is the function itself.
    grown = [
        function["name"]
        for function in document["profile"]["functions"]
        if function["own"]["seen"]
    ]
    assert "dhcp_packet" in grown[:2]
    findings = json.loads((tmp_path / "quality.json").read_text())
    assert "src/dhcp.c" in {finding["location"]["path"] for finding in findings}
    reported = leaselab("show", document["b"]["id"], "--results", results, "--json")
    assert json.loads(reported.stdout)["experiment"]["both_up"] is True


def test_a_braked_server_is_slower_by_about_the_time_of_the_brake(results):
    """The completed rate of dnsmasq falls by less: fewer clients are cheaper for it."""
    words = ["calibrate", "--error-budget", SCENARIO, "--pairs=1", "--slowdown=30", *SHORT_DUEL]
    done = leaselab(*words, "--results", results, "--json", timeout_s=DUEL_S)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["equal"]["duels"], document["slowed"]["duels"]) == (1, 1)
    assert document["slowed"]["slower"] == 1
    assert 0.6 < document["slowed"]["ratio"] < 0.95
    assert 0.85 < document["equal"]["ratio"] < 1.15
