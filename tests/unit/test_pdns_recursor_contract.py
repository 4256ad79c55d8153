"""What PowerDNS Recursor does for the server contract, where its control program says so."""

import pytest
from tests.contracts import contract_module

FIGURES = {
    **dict.fromkeys(("questions", "noerror-answers", "nxdomain-answers"), 7),
    **dict.fromkeys(("servfail-answers", "policy-drops", "over-capacity-drops"), 0),
    **dict.fromkeys(("packetcache-hits", "cache-misses", "all-outqueries"), 9),
    "cache-entries": 20,
    "negcache-entries": 3,
    "packetcache-entries": 5,
}


@pytest.fixture(scope="module")
def recursor():
    with contract_module("pdns_recursor", "pdns_recursor_contract.server") as module:
        yield module


@pytest.fixture
def control(tmp_path):
    """A control program that prints figures, whatever it is asked."""
    rows = "".join(f"{name}\t{value}\n" for name, value in FIGURES.items())
    (tmp_path / "figures").write_text(f"{rows}x-our-latency\t1.5\n")
    program = tmp_path / "rec_control"
    program.write_text(f'#!/bin/sh\necho "$2" >> {tmp_path}/asked\ncat {tmp_path}/figures\n')
    program.chmod(0o755)
    return {"control": str(program), "socket_folder": str(tmp_path)}


def test_caches_that_stay_warm_are_no_reset(recursor, control, tmp_path):
    with pytest.raises(recursor.ContractError, match="28 entries in the caches after wiping"):
        recursor.Server(control).reset()
    assert (tmp_path / "asked").read_text().split().count("wipe-cache") == recursor.TRIES


def test_it_counts_what_it_had_to_ask(recursor, control):
    counters, held = recursor.Server(control).counted()
    assert (counters["QUERY"], counters["QryRecursion"], counters["Queryv4"]) == (7, 9, 9)
    assert held == 28
