"""Counts in the local lab: one of a package, and two of equal servers that are compared."""

import json

import pytest
from tests.lab.commands import leaselab

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

SCENARIO = "v4-dnsmasq"
SMALL = ["--set=rounds=2", "--set=transactions=40", "--set=clients=40", "--set=more_clients=90"]


def test_equal_servers_cost_the_same_on_any_machine(tmp_path):
    results = ("--results", tmp_path)
    words = ("package", "package", "--cost", "--scenario", SCENARIO)
    done = leaselab("compare", *words, *SMALL, *results, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["word"] == "equal"
    parts = {part["name"]: part for part in said["cost"]["parts"]}
    assert parts["instructions"]["a"] > 10_000
    assert not any(part["changed"] for part in parts.values())
    assert parts["growth"]["a"] > 50  # it walks its list of leases
    share = said["cost"]["counted_share"]
    assert share is None or 0 <= share <= 1  # of so few transactions it may not be known
    assert len([*tmp_path.glob("2*/*/*/result.json")]) == 2
