"""A scenario asks of its server only what the server's role declares."""

import dataclasses
from pathlib import Path

import pytest

from leaselab.lab.catalog import find_scenario, load_scenarios
from leaselab.lab.server_kind import check_kind
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.scenario import HighAvailability, MultiThreading

SCENARIOS = Path(__file__).parents[2] / "scenarios"
DNSMASQ = find_scenario(SCENARIOS, "v4-dnsmasq")
KEA = find_scenario(SCENARIOS, "v4-memfile")
PAIR = HighAvailability(mode="hot-standby")
FOUR = MultiThreading(enabled=True, threads=4, queue_size=64)


def test_every_scenario_that_ships_is_one_that_its_server_has():
    assert {scenario.server for scenario in load_scenarios(SCENARIOS).values()} == {
        "kea",
        "dnsmasq",
    }


@pytest.mark.parametrize(
    ("scenario", "changes", "said"),
    [
        (
            DNSMASQ,
            {"backend": "memroy"},
            "no such backend (found memroy, wanted memory or file)",
        ),
        (DNSMASQ, {"multi_threading": FOUR}, "dnsmasq has no multi threading"),
        (DNSMASQ, {"high_availability": PAIR}, "dnsmasq has no pair mode"),
        (DNSMASQ, {"memfile_persist": False}, "dnsmasq has no memfile persist"),
        (KEA, {"backend": "memory"}, "wanted memfile or mysql or postgresql"),
        (KEA, {"server": "kae"}, "unknown kind of server 'kae'; did you mean 'kea'?"),
        (KEA, {"server": "mysql"}, "unknown kind of server 'mysql'"),
        (KEA, {"tuning": {"mysql_sync_binlog": 0}}, "unknown setting of the backend"),
        (
            KEA,
            {"backend": "mysql", "tuning": {"mysql_inodb_flush": 1}},
            "unknown setting of the backend 'mysql_inodb_flush'",
        ),
    ],
)
def test_what_a_server_does_not_have_is_refused_by_name(scenario, changes, said):
    with pytest.raises(LeaselabError) as caught:
        check_kind(dataclasses.replace(scenario, **changes))
    assert caught.value.outcome is Outcome.USAGE
    assert said in str(caught.value)
    assert f"scenario {scenario.name}" in str(caught.value)
